"""Learning as an estimator: options first, ``fit(X)`` later, results in attributes with a ``_``.

These are the conventions of scikit-learn, as pgmpy's causal discovery estimators follow them, so
that a learner can be cloned, put into a loop over options or compared with others. Nothing of
scikit-learn is needed: it is imported only when it asks for its tags itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.augmentation import INTEGRATING
from outpoint.data import Data, Dataset, Entry
from outpoint.data.cells import DecimalMark
from outpoint.data.reading import Names, Treatment
from outpoint.errors import DataError, OptionError
from outpoint.learning import learn
from outpoint.mcmc import Moves
from outpoint.model import read
from outpoint.options import FIT, LEARN, Options, Role, keeps_arguments, options_of
from outpoint.sampling import Start
from outpoint.scores import GivenEdgePrior, Knowledge, Score

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.graphs import Dag
    from outpoint.posterior import Posterior

FITTED = "posterior_"


class _needs_target:
    """A method that exists once the estimator has a target, as scikit-learn asks with hasattr."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, learner: Any, owner: type) -> Any:
        if learner is None:
            return self._method
        if learner.target is None:
            raise AttributeError(
                f"{self._method.__name__} needs the column to predict: OutpointLearner(target=...)."
            )
        return MethodType(self._method, learner)


class OutpointLearner:
    """An estimator of the posterior over DAGs.

    Takes the options of :func:`outpoint.learn` that are not about files, under the same names
    except that ``score`` is called ``local_score`` here, as ``score`` is a method of estimators.
    Nothing is checked or computed before ``fit``. After it:

    ``posterior_``
        What :func:`outpoint.learn` returns.
    ``edge_support_``
        Probability of every edge, a DataFrame [parent, child].
    ``causal_graph_``
        The most probable DAG.
    ``adjacency_matrix_``
        The edges whose support is at least ``threshold``, as 0 and 1 [parent, child]; with
        ``threshold=None`` those of ``causal_graph_``.
    ``n_features_in_``, ``feature_names_in_``
        Number of the columns of ``X``, and their names if it had any. Columns that reading leaves
        out, such as identifiers, are among them; graphs and tables are over the variables that were
        learned, ``posterior_.names``.
    ``classes_``
        The levels of a categorical ``target``, in the order of :meth:`predict_proba`.

    Parameters
    ----------
    threshold
        The least support of an edge that counts; None for the edges of the most probable DAG.
    target
        The column that ``predict`` is about; it is learned from like all others.
    local_score
        The ``score`` of :func:`outpoint.learn`.
    """

    @keeps_arguments
    def __init__(
        self,
        *,
        threshold: float | None = None,
        target: str | None = None,
        local_score: Score = "auto",
        method: str = "auto",
        max_parents: int | None = None,
        chains: int = 4,
        steps: int | None = None,
        seed: int | None = None,
        warmup: int | None = None,
        draws: int = 1000,
        moves: Moves | None = None,
        edge_reversals: bool = True,
        start: Start | None = None,
        n_candidates: int | None = None,
        candidates: Mapping[str, Sequence[str]] | None = None,
        structure_prior: str | None = None,
        knowledge: Knowledge | str | Path | None = None,
        edge_prior: GivenEdgePrior | None = None,
        forbidden: Iterable[tuple[str, str]] = (),
        required: Iterable[tuple[str, str]] = (),
        tiers: Sequence[Sequence[str]] | None = None,
        roots: Iterable[str] = (),
        columns: Names | None = None,
        drop: Names = (),
        categorical: Names = (),
        continuous: Names = (),
        ordinal: Names | Mapping[str, Sequence[str]] = (),
        normal_scores: Names = (),
        discretize: Mapping[str, int] | None = None,
        weights: str | None = None,
        missing: Treatment = "auto",
        na: Names | None = None,
        decimal: DecimalMark | None = None,
        separator: str | None = None,
        cardinality_row: bool | None = None,
        interventions: str | Iterable[Entry] | None = None,
        strict: bool = False,
        allow_degenerate: bool = False,
        memory_limit: float | None = None,
        time: str | float | None = None,
        until_converged: bool | None = None,
        planned_steps: int | None = None,
        engine: str = "threads",
        scheduler: str | None = None,
        threads: int | None = None,
    ) -> None:
        """Keep the options as they are; ``fit`` checks them."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The parameters and their defaults."""
        parameters = inspect.signature(cls).parameters
        return {name: parameter.default for name, parameter in parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; ``deep`` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> OutpointLearner:
        """Change parameters; returns the estimator."""
        unknown = sorted(repr(name) for name in params.keys() - self._defaults().keys())
        if unknown:
            raise OptionError(
                f"OutpointLearner has no parameter {', '.join(unknown)}; see get_params()."
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Data, y: Any = None) -> OutpointLearner:
        """Learn the posterior from a table; ``y`` is ignored. Returns the estimator."""
        import pandas as pd

        options = self.get_params()
        options["score"] = options.pop("local_score")
        asked = Options.read(FIT, options)
        _refuse_unusable(X, asked.allow_degenerate)
        data = read(X, asked, keeps_holes=asked.method in INTEGRATING)
        if asked.target is not None and asked.target not in data.names:
            raise OptionError(f"the target {asked.target!r} is not one of the variables.")
        not_reading = [one for one in options_of(LEARN) if one.role != Role.READING]
        posterior = learn(data, **asked.chosen(not_reading))
        threshold = asked.threshold
        self.posterior_: Posterior = posterior
        self.edge_support_: pd.DataFrame = posterior.edge_probabilities
        self.causal_graph_: Dag = posterior.map_dag
        if threshold is None:
            present = posterior.map_dag.adjacency
        else:
            present = self.edge_support_.to_numpy() >= threshold
            np.fill_diagonal(present, False)
        self.adjacency_matrix_ = pd.DataFrame(
            present.astype(np.int64),
            index=self.edge_support_.index,
            columns=self.edge_support_.columns,
        )
        names = [str(name) for name in getattr(X, "columns", data.names)]
        shape: tuple[int, ...] = getattr(X, "shape", ())
        self.n_features_in_ = shape[1] if len(shape) == 2 else len(names)
        for name in ("feature_names_in_", "classes_"):
            vars(self).pop(name, None)
        if asked.target is not None:
            levels = data.levels[data.names.index(asked.target)]
            if levels is not None:
                self.classes_ = np.array(levels, dtype=object)
        if _has_names(X):
            self.feature_names_in_ = np.array(names, dtype=object)
        return self

    def fit_predict(self, X: Data, y: Any = None) -> pd.DataFrame:
        """Fit, and return ``adjacency_matrix_``."""
        return self.fit(X).adjacency_matrix_

    @_needs_target
    def predict(self, X: Any) -> NDArray[Any]:
        """The ``target`` in new rows: its mean, or its most probable level.

        ``X`` may have any of the columns; blank cells and absent columns are unknown, and those of
        the target are not looked at. ``posterior_.predict`` says how sure that is.
        """
        found = self._predicted(X)
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[found.to_numpy().argmax(axis=1)])
        return found["mean"].to_numpy()

    @_needs_target
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The probability of each level of a categorical ``target`` in new rows."""
        if self.__sklearn_is_fitted__() and not hasattr(self, "classes_"):
            raise OptionError("probabilities of levels need a categorical target.")
        return self._predicted(X).to_numpy()

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log predictive density of rows, the target's columns included; ``y`` is ignored.

        The larger the better: the averaged model is compared with others on rows that neither has
        seen.
        """
        return float(self._fitted(X).log_predictive(X).mean())

    def _predicted(self, X: Any) -> pd.DataFrame:
        return self._fitted(X).predict(X, self.get_params()["target"])

    def _fitted(self, X: Any) -> Posterior:
        """What was learned; refuses columns without names unless they are as many as in ``fit``."""
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()
        shape: tuple[int, ...] = X.shape if hasattr(type(X), "shape") else ()
        if not _has_names(X) and len(shape) == 2 and shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return self.posterior_

    def __sklearn_is_fitted__(self) -> bool:
        """Whether ``fit`` has been called."""
        return hasattr(self, FITTED)

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect: tables of numbers or categories, blanks too, no target."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(allow_nan=True, categorical=True, string=True),
        )

    def __repr__(self) -> str:
        """The parameters that differ from their defaults."""
        defaults = self._defaults()
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if type(value) is not type(defaults[name]) or value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _not_fitted() -> Exception:
    """The exception that scikit-learn expects, where scikit-learn is installed."""
    text = "this OutpointLearner is not fitted yet: call fit first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return OptionError(text)
    return NotFittedError(text)


def _has_names(X: Any) -> bool:
    """Whether the columns were named by the user; those of an array are called x1, x2, ...

    What is no table is refused where it is read: here its type is asked, which cannot fail.
    """
    columns = X.columns if hasattr(type(X), "columns") else ()
    is_labelled = len(columns) > 0 and all(isinstance(name, str) for name in columns)
    return is_labelled or isinstance(X, str | Path | Dataset)


def _refuse_unusable(X: Any, allow_degenerate: bool) -> None:
    """Say what is wrong with an array in the words that callers of estimators look for."""
    if hasattr(type(X), "toarray"):
        raise DataError("sparse data are not supported: give X.toarray().")
    if not hasattr(type(X), "shape") or len(X.shape) != 2:
        return
    shape: tuple[int, ...] = X.shape
    if np.iscomplexobj(X):
        raise DataError("Complex data not supported: give real numbers.")
    counts = {"feature": shape[1], "sample": 2 if allow_degenerate else shape[0]}
    for what, count in counts.items():
        if count < 2:
            raise DataError(
                f"X has {count} {what}(s) (shape={tuple(shape)}) while a minimum of 2 is required."
            )
