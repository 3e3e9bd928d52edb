"""Learning as an estimator: options first, ``fit(X)`` later, results in attributes with a ``_``.

These are the conventions of scikit-learn, as pgmpy's causal discovery estimators follow them, so
that a learner can be cloned, put into a loop over options or compared with others. Nothing of
scikit-learn is needed.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.data import Dataset, load_dataset
from outpoint.errors import OptionError
from outpoint.learning import learn

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.graphs import Dag
    from outpoint.posterior import Posterior

OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(learn).parameters.items()
    if name not in ("data", "progress")
}
"""The options of :func:`outpoint.learn` and their defaults."""
FITTED = "posterior_"


class OutpointLearner:
    """An estimator of the posterior over DAGs.

    Takes ``threshold``, the support from which an edge counts, and every option of
    :func:`outpoint.learn` by name; nothing is checked or computed before ``fit``. After it:

    ``posterior_``
        What :func:`outpoint.learn` returns.
    ``edge_support_``
        Probability of every edge, a DataFrame [parent, child].
    ``causal_graph_``
        The most probable DAG.
    ``adjacency_matrix_``
        The edges whose support is at least ``threshold``, as 0 and 1 [parent, child]; with
        ``threshold=None`` those of ``causal_graph_``.
    ``feature_names_in_``, ``n_features_in_``
        Names and number of the columns.
    """

    def __init__(self, *, threshold: float | None = None, **options: Any) -> None:
        unknown = sorted(options.keys() - OPTIONS.keys())
        if unknown:
            raise TypeError(f"OutpointLearner has no option {unknown[0]!r}; see outpoint.learn.")
        self.threshold = threshold
        for name, default in OPTIONS.items():
            setattr(self, name, options.get(name, default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name; ``deep`` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in ("threshold", *OPTIONS)}

    def set_params(self, **options: Any) -> OutpointLearner:
        """Change options; returns the estimator."""
        for name in options:
            if name != "threshold" and name not in OPTIONS:
                raise ValueError(f"OutpointLearner has no option {name!r}; see get_params().")
        for name, value in options.items():
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any = None) -> OutpointLearner:
        """Learn the posterior from a table; ``y`` is ignored. Returns the estimator."""
        import pandas as pd

        threshold = self.threshold
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise OptionError(f"threshold is a probability or None, not {threshold!r}.")
        data = X if isinstance(X, Dataset) else load_dataset(X)
        posterior = learn(data, **{name: getattr(self, name) for name in OPTIONS})
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
        self.feature_names_in_ = np.array(data.names, dtype=object)
        self.n_features_in_ = len(data.names)
        return self

    def fit_predict(self, X: Any, y: Any = None) -> pd.DataFrame:
        """Fit, and return ``adjacency_matrix_``."""
        return self.fit(X).adjacency_matrix_

    def __sklearn_is_fitted__(self) -> bool:
        """Whether ``fit`` has been called."""
        return hasattr(self, FITTED)

    def __repr__(self) -> str:
        """The options that differ from their defaults."""
        defaults = {"threshold": None, **OPTIONS}
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if value is not defaults[name] and value != defaults[name]
        ]
        return f"OutpointLearner({', '.join(changed)})"
