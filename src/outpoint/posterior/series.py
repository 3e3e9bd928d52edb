"""Answers about time series: edges by lag, the graph rolled up, effects after some steps.

The columns of a table of slices are x, x[-1], x[-2], ... for every variable, and static ones. The
same edges and coefficients hold at every time, so that the network can be unrolled: with T_l the
total effects of the values l times before on those of now, the effect after h steps of setting a
variable once is R_h = R_(h-1) T_1 + ... + R_(h-L) T_L, R_0 being the total effects within a slice.
Formulas: docs/math.md#time-series.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from outpoint.arguments import DRAWS, PROBABILITY, takes
from outpoint.arrays import Floats
from outpoint.data.dataset import lagged_name
from outpoint.errors import OptionError
from outpoint.kinds import PROGRESS, SEED, whole
from outpoint.posterior.info import RunInfo
from outpoint.showing import GivenProgress

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.models.unrolling import Lags
    from outpoint.posterior.effects import CausalEffects

LAGGED = re.compile(r"(.*)\[-(\d+)\]", re.S)
SMALLEST = 1e-12
"""Parent sets that are less probable do not count."""


class SeriesAnswers(ABC):
    """The answers of a posterior that is that of a time series."""

    info: RunInfo
    names: tuple[str, ...]

    @property
    @abstractmethod
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge, [parent, child]."""

    @abstractmethod
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their probabilities, most probable first."""

    @abstractmethod
    def causal_effects(
        self,
        *,
        n_draws: int | None = None,
        seed: int | None = None,
        level: float = 0.95,
        units: str = "original",
        progress: GivenProgress = None,
    ) -> CausalEffects:
        """Posterior of the total linear effects."""

    @abstractmethod
    def _unrolled(
        self,
        lags: Lags,
        steps: int,
        n_draws: int | None,
        seed: int | None,
        progress: GivenProgress,
    ) -> Floats | None:
        """Draws (step, draw, cause, effect) of effects; None where all of the model is linear."""

    @property
    def is_series(self) -> bool:
        """Whether the data are a table of slices."""
        return any(
            (found := LAGGED.fullmatch(name)) and found[1] in self.names for name in self.names
        )

    @cached_property
    def _slices(self) -> tuple[tuple[str, ...], int]:
        """The variables of a series, and the number of lags."""
        found = [match for name in self.names if (match := LAGGED.fullmatch(name))]
        lagged = {one[0]: (one[1], int(one[2])) for one in found if one[1] in self.names}
        bases = {base for base, _ in lagged.values()}
        if not bases:
            raise OptionError(
                "this posterior is not that of a time series: read the data with load_series."
            )
        n_lags = max(lag for _, lag in lagged.values())
        given = {*lagged, *self.info.knowledge.get("roots", ())} - bases
        return tuple(name for name in self.names if name not in given), n_lags

    @property
    def lagged_probabilities(self) -> pd.DataFrame:
        """For a time series: the probability of every edge, rows (lag, parent), columns children.

        Lag 0 has the edges within a time. Edges from static columns are in ``edge_probabilities``.
        """
        import pandas as pd

        variables, n_lags = self._slices
        edges = self.edge_probabilities
        columns = edges[list(variables)]
        blocks = {  # earlier values that say nothing new are not columns of the data
            lag: columns.reindex([lagged_name(name, lag) for name in variables], fill_value=0.0)
            for lag in range(n_lags + 1)
        }
        for block in blocks.values():
            block.index = pd.Index(variables)
        return pd.concat(blocks, names=["lag", "parent"])

    @property
    def rolled_up_probabilities(self) -> pd.DataFrame:
        """For a time series: the probability of an edge at any lag, [parent, child].

        The diagonal says whether a variable depends on its own past.
        """
        import pandas as pd

        variables, n_lags = self._slices
        lags = range(n_lags + 1)
        base = {lagged_name(name, lag): i for i, name in enumerate(variables) for lag in lags}
        total = np.zeros((len(variables), len(variables)))
        for child, name in enumerate(variables):
            for parents, probability in self.parent_set_probabilities(name, at_least=SMALLEST):
                total[list({base[u] for u in parents if u in base}), child] += probability
        index = pd.Index(variables, name="parent"), pd.Index(variables, name="child")
        return pd.DataFrame(np.minimum(total, 1.0), *index)

    @takes(steps=whole(0, 10**6), n_draws=DRAWS, seed=SEED, level=PROBABILITY, progress=PROGRESS)
    def effects_over_time(
        self,
        steps: int,
        *,
        n_draws: int | None = None,
        seed: int | None = None,
        level: float = 0.95,
        progress: GivenProgress = None,
    ) -> pd.DataFrame:
        """For a time series: the effect of setting a variable now on others after 0 to ``steps``.

        A variable is set once, one unit higher, or from its first to its last level, and then left
        alone; what changes is the mean of a continuous variable, or the probability of the last
        level of a categorical one. One row for each (steps, cause, effect): mean, sd, the limits of
        the central interval, and the share of draws in which there is no effect. Averaged over DAGs
        and parameters, in the units of the data; with categorical variables also over what was
        observed before. ``progress`` is that of :func:`~outpoint.learn`.
        """
        import pandas as pd

        variables, _ = self._slices
        responses = self._responses(steps, n_draws, seed, progress)
        limits = [(1 - level) / 2, (1 + level) / 2]
        n = len(variables)
        lower, upper = np.quantile(responses, limits, axis=1)
        columns = {
            "steps": np.repeat(np.arange(steps + 1), n * n),
            "cause": np.tile(np.repeat(variables, n), steps + 1),
            "effect": np.tile(variables, n * (steps + 1)),
            "mean": responses.mean(axis=1).ravel(),
            "sd": responses.std(axis=1).ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
            "p_zero": (responses == 0).mean(axis=1).ravel(),
        }
        return pd.DataFrame(columns)

    def _responses(
        self, steps: int, n_draws: int | None, seed: int | None, progress: GivenProgress
    ) -> Floats:
        """Draws (steps, draw, cause, effect) of the effects after each number of steps."""
        variables, n_lags = self._slices
        found = self._unrolled(self._lags(), steps, n_draws, seed, progress)
        if found is not None:
            return found
        effects = self.causal_effects(
            n_draws=n_draws, seed=seed, units="original", progress=progress
        )
        place = {name: i for i, name in enumerate(effects.names)}
        now = [place[name] for name in variables]
        total = effects.samples.astype(np.float64)
        by_lag = [np.zeros((len(total), len(now), len(now))) for _ in range(n_lags + 1)]
        for lag, own in enumerate(by_lag):
            for i, name in enumerate(variables):
                if lagged_name(name, lag) in place:  # not those that say nothing new
                    own[:, i] = total[:, place[lagged_name(name, lag)], now]
        after = [by_lag[0]]
        for step in range(1, steps + 1):
            terms = [after[step - lag] @ by_lag[lag] for lag in range(1, min(step, n_lags) + 1)]
            after.append(np.sum(terms, axis=0))
        return np.stack(after)

    def _lags(self) -> Lags:
        """Which variable each column holds, and how long ago."""
        from outpoint.models.unrolling import Lags

        variables, n_lags = self._slices
        place = {name: v for v, name in enumerate(self.names)}
        base, lag = [-1] * len(place), [0] * len(place)
        roots = self.info.knowledge.get("roots", ())
        for name in variables:
            if name in roots:
                continue  # it follows from its earlier values
            for ago in range(n_lags + 1):
                column = place.get(lagged_name(name, ago))
                if column is not None:
                    base[column], lag[column] = place[name], ago
        return Lags(tuple(place[name] for name in variables), tuple(base), tuple(lag))
