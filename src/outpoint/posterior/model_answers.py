"""What a posterior answers by its model of the parameters: effects, predictions, simulated rows.

Structures alone say which variables matter. With the posterior of their parameters, which every
score with a model has in closed form, they answer what a variable will be, and what setting another
one does to it, averaged over DAGs. Formulas: docs/math.md#averages-over-structures.

The kinds of what methods of posteriors take, each with its check and its words, stand first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arguments import (
    COUNT,
    DRAWS,
    PROBABILITY,
    VALUE,
    VARIABLE,
    Either,
    ListOf,
    MapOf,
    takes,
)
from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.graphs.validation import DAG
from outpoint.kinds import PROGRESS, SEED, Tested, choice, is_function_of_one, is_path, whole
from outpoint.posterior.draws import Draws, WeightedGraphs
from outpoint.posterior.series import SeriesAnswers
from outpoint.progress import FractionCallback
from outpoint.showing import GivenProgress, shown_stage
from outpoint.streams import named_seed

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.models import Averaged, NetworkModel
    from outpoint.models.unrolling import Lags
    from outpoint.posterior.effects import CausalEffects, GaussianModel
    from outpoint.posterior.new_rows import RowReader
    from outpoint.posterior.what_if import Component, Effect

DATASET = Tested("a Dataset", test=lambda given: isinstance(given, Dataset))
FEATURE = Tested(
    "a function of a Dag or a text such as 'a -> b'",
    test=lambda given: (
        isinstance(given, str)
        or callable(getattr(type(given), "evaluate", None))
        or is_function_of_one(given)
    ),
)
WEIGHTS = Either(
    "a function Dag -> log weight, 'linear_extensions' or 'equivalence_classes'",
    kinds=(
        choice("linear_extensions", "equivalence_classes"),
        Tested("a function", test=is_function_of_one),
    ),
)
PAIR = ListOf("a pair (cause, effect) of variables", item=VARIABLE, size=2)
TWO_VALUES = ListOf("a pair of values, numbers or levels", item=VALUE, size=2)
CAUSE = Either(
    "the name of a variable, or a dictionary of pairs of values such as {'a': (0, 1)}",
    kinds=(VARIABLE, MapOf("a dictionary", item=TWO_VALUES)),
)
ROWS = Tested(
    "a table with named columns, or the path of a file",
    test=lambda given: (
        isinstance(given, Dataset | Mapping | list | tuple | np.ndarray)
        or hasattr(type(given), "columns")
        or is_path(given)
    ),
)
SETTING = MapOf(
    "a dictionary of a value, or a list of values, by variable",
    item=Either("a value", kinds=(VALUE, ListOf("a list", item=VALUE))),
)
QUANTILES = ListOf("a list of probabilities between 0 and 1", item=PROBABILITY)
THRESHOLD = Tested(
    "a probability above 0 and up to 1",
    test=lambda given: isinstance(given, Real) and 0 < float(given) <= 1,
)
UNITS = choice("original", "sd")


class ModelAnswers(SeriesAnswers):
    """The answers of a posterior that its model of the parameters gives.

    ``model`` is what the data say about the parameters of Gaussian DAGs, ``network_model`` about
    those of any DAG; they are None if the score has no such model.
    """

    model: GaussianModel | None = None
    network_model: NetworkModel | None = None

    @property
    @abstractmethod
    def map_dag(self) -> Dag:
        """The most probable DAG (one of the best, if several share the best score)."""

    @abstractmethod
    def _graphs(self) -> WeightedGraphs:
        """The distinct DAGs of the draws, with their weights."""

    @abstractmethod
    def _graph_draws(self) -> Draws:
        """The draws behind effects and features."""

    @takes(n_draws=DRAWS, seed=SEED, level=PROBABILITY, units=UNITS, progress=PROGRESS)
    def causal_effects(
        self,
        *,
        n_draws: int | None = None,
        seed: int | None = None,
        level: float = 0.95,
        units: str = "original",
        progress: GivenProgress = None,
    ) -> CausalEffects:
        """Posterior of the total effect of variables on each other.

        A continuous variable is raised by one unit, a categorical one set from its first to its
        last level; what changes is the mean of a continuous variable, or the probability of a
        categorical one's last level. :meth:`effect` takes other values. In a time series with
        categorical variables, only effects between continuous ones are given, and only with the
        score blocks.

        Averaged over DAGs and parameters: ``n_draws`` DAGs (2,000 by default; 1,000 of an exact
        posterior of more than 15 variables), each with newly drawn parameters. ``level`` is
        that of the intervals in the table; ``units`` are ``"original"`` or ``"sd"``. ``progress``
        is that of :func:`~outpoint.learn`.
        """
        from outpoint.posterior import effects

        n_draws = self._n_effect_draws if n_draws is None else n_draws
        rng = np.random.default_rng(named_seed(self.info.seed, "effects") if seed is None else seed)
        found = self._components()
        if self.model is None and found is None:
            raise OptionError(effects.NEEDS_GAUSSIAN)
        if found is not None and (self.model is None or effects.has_levels(found[0][0])):
            from outpoint.posterior.all_effects import sample_all_effects

            with shown_stage(progress, "drawing effects") as tell:
                return sample_all_effects(found, n_draws, rng, units=units, level=level, tell=tell)
        assert self.model is not None
        with shown_stage(progress, "drawing effects") as tell:
            dags = _counted(self._some_dags(n_draws), n_draws, tell)
            return effects.sample_effects(dags, self.model, rng, level=level, units=units)

    def _components(self) -> list[Component] | None:
        """Models of the parameters, each with the DAGs that go with it; None if there are none.

        There are several where the data are not known completely, and all weigh the same.
        """
        return None if self.network_model is None else [(self.network_model, self._graphs())]

    @takes(
        cause=CAUSE,
        effect=VARIABLE,
        levels=TWO_VALUES,
        level=VALUE,
        n_draws=DRAWS,
        seed=SEED,
        interval_level=PROBABILITY,
        progress=PROGRESS,
    )
    def effect(
        self,
        cause: str | Mapping[str, Sequence[Any]],
        effect: str,
        levels: Sequence[Any] | None = None,
        level: Any = None,
        *,
        n_draws: int | None = None,
        seed: int | None = None,
        interval_level: float = 0.95,
        progress: GivenProgress = None,
    ) -> Effect:
        """Posterior of what setting a variable from outside does to another, for any kind of data.

        The effect is the difference of p(y | do(x)) between two ``levels`` of the cause, by default
        one unit more of a number, and the first and the last level of a categorical variable: in
        the mean of a continuous effect, in the probability of a categorical one's ``level`` (its
        last). Several causes are set together by ``{"a": (0, 1), "b": ("no", "yes")}``. Averaged
        over DAGs, ``n_draws`` of them (1,000 by default), and parameters, drawn for each.
        ``progress`` is that of :func:`~outpoint.learn`.
        """
        from outpoint.posterior import what_if

        found = self._components()
        if found is None:
            raise OptionError(what_if.NEEDS_MODEL)
        n_draws = what_if.WHAT_IF_DRAWS if n_draws is None else n_draws
        asked = what_if.make_contrast(found[0][0], cause, effect, levels, level)
        rng = np.random.default_rng(named_seed(self.info.seed, "effect") if seed is None else seed)
        with shown_stage(progress, "drawing effects") as tell:
            return what_if.sample_effect(
                found, self._graphs(), asked, n_draws, rng, interval_level, tell
            )

    def _unrolled(
        self,
        lags: Lags,
        steps: int,
        n_draws: int | None,
        seed: int | None,
        progress: GivenProgress,
    ) -> Floats | None:
        found = self._components()
        if found is None:
            return None
        levels = found[0][0].coding.levels
        if self.model is not None and all(levels[v] is None for v in lags.variables):
            return None
        from outpoint.posterior.all_effects import sample_responses
        from outpoint.posterior.what_if import WHAT_IF_DRAWS

        n_draws = WHAT_IF_DRAWS if n_draws is None else n_draws
        rng = np.random.default_rng(named_seed(self.info.seed, "effects") if seed is None else seed)
        with shown_stage(progress, "drawing effects") as tell:
            return sample_responses(found, lags, steps, n_draws, rng, tell)

    @property
    def _n_effect_draws(self) -> int:
        """Draws of DAGs behind effects, unless more are asked for."""
        from outpoint.posterior.effects import EFFECT_DRAWS

        return EFFECT_DRAWS

    def _some_dags(self, n_draws: int) -> Iterator[Booleans]:
        """At most ``n_draws`` of the draws, evenly spread, in blocks."""
        from outpoint.posterior.effects import spread_evenly

        draws = self._graph_draws()
        for _, dags in draws.blocks(spread_evenly(draws.log_scores.size, n_draws)):
            yield dags

    @takes(dag=DAG)
    def parameters(self, dag: Dag | None = None) -> dict[str, pd.DataFrame]:
        """What the data say about the parameters of a DAG, the most probable one by default.

        One table for each variable. For a categorical one it is the conditional probability table:
        posterior means, one row for each joint level of the parents. For a continuous one it has
        the coefficients of the regression on the parents, with the intercept, in the units of the
        data: mean, sd and 95 % interval, and the standard deviation of the noise; with the score
        conditional-gaussian for each joint level of the categorical parents, with the score blocks
        those of the contrasts of levels.
        """
        from outpoint.posterior.parameters import tabulate_parameters
        from outpoint.posterior.prediction import require_model

        model = require_model(self.network_model)
        return tabulate_parameters(model, self.map_dag if dag is None else dag)

    @takes(new=ROWS, target=VARIABLE, quantiles=QUANTILES, progress=PROGRESS)
    def predict(
        self,
        new: Any,
        target: str,
        *,
        quantiles: Sequence[float] = (0.025, 0.25, 0.5, 0.75, 0.975),
        progress: GivenProgress = None,
    ) -> pd.DataFrame:
        """What ``target`` will be in new rows, averaged over structures and parameters.

        ``new`` is a table or a file with any of the variables; blank cells and absent columns are
        unknown, and those of the target are not looked at. A continuous target gets columns mean,
        sd and quantiles (``q2.5``, ...), a categorical one the probability of each level.
        ``progress`` is that of :func:`~outpoint.learn`.
        """
        from outpoint.posterior.prediction import check_question, predict

        coding = self._averaged.model.coding
        check_question(coding, target, quantiles)
        rows = self._reader.read(new)
        with shown_stage(progress, "predicting") as tell:
            return predict(self._averaged, rows, target, quantiles, tell)

    @takes(new=ROWS, progress=PROGRESS)
    def log_predictive(self, new: Any, *, progress: GivenProgress = None) -> pd.Series[float]:
        """Log predictive density of the known cells of every new row, in the units of the data.

        Densities are averaged over structures, not their logs. ``attrs["mcse"]`` are the Monte
        Carlo standard errors of rows whose unknown cells had to be sampled, and 0 for others. With
        the score blocks it is the density of the columns that code levels. ``progress`` is that
        of :func:`~outpoint.learn`.
        """
        from outpoint.posterior.prediction import log_predictive

        rows = self._reader.read(new)
        with shown_stage(progress, "predicting") as tell:
            return log_predictive(self._averaged, rows, tell)

    @property
    def _reader(self) -> RowReader:
        """Reads new rows as the data were."""
        from outpoint.posterior.new_rows import RowReader

        return RowReader(self._averaged.model.coding, self.info.reading or {})

    @takes(n=whole(0, 10**7), do=SETTING, seed=SEED)
    def sample(
        self, n: int, *, do: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> pd.DataFrame:
        """``n`` simulated rows from the averaged model, each with a DAG and parameters of its own.

        ``do`` sets variables from outside: a number or a level, or one for each row.
        """
        from outpoint.posterior.prediction import sample

        rng = np.random.default_rng(named_seed(self.info.seed, "rows") if seed is None else seed)
        return sample(self._averaged, n, do, rng)

    @takes(n_tables=COUNT, n_rows=COUNT, seed=SEED)
    def replicate(self, n_tables: int, n_rows: int, *, seed: int | None = None) -> Floats:
        """Simulated tables (table, row, variable), each with one DAG and one set of parameters.

        Categorical variables are level codes. They are what data of this size could have been, to
        compare the data with.
        """
        from outpoint.posterior.prediction import replicate

        rng = np.random.default_rng(named_seed(self.info.seed, "tables") if seed is None else seed)
        return replicate(self._averaged, n_tables, n_rows, rng)

    @cached_property
    def _averaged(self) -> Averaged:
        """The model averaged over the drawn DAGs."""
        from outpoint.posterior.prediction import average

        seed = named_seed(self.info.seed, "prediction")
        return average(self._components(), seed)


def _counted(
    blocks: Iterator[Booleans], n_draws: int, tell: FractionCallback
) -> Iterator[Booleans]:
    """The blocks of DAGs, told how many went before."""
    done = 0
    for block in blocks:
        tell(min(1.0, done / n_draws))
        yield block
        done += len(block)
