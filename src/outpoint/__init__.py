"""Bayesian inference over directed acyclic graphs.

``outpoint.learn(data)`` returns the posterior over the structures of Bayesian networks. Names
are imported when first used, so that importing the package does no work.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from outpoint.data import Dataset, simulate
    from outpoint.data import bundled as datasets
    from outpoint.errors import (
        CheckpointError,
        DataError,
        GraphError,
        OptionError,
        OutpointError,
        TooLargeError,
    )
    from outpoint.graphs import (
        Cpdag,
        Dag,
        LabelledPartition,
        Order,
        compare_graphs,
        count_dags,
        count_members,
        random_dag,
    )
    from outpoint.learning import learn, log_score
    from outpoint.posterior import (
        ConsensusWarning,
        Posterior,
        WeightWarning,
        compare_posteriors,
        load,
    )
    from outpoint.scores import BDeu, BGe, CustomScore

_HOMES = {
    "outpoint.data": ("Dataset", "simulate"),
    "outpoint.errors": (
        "CheckpointError",
        "DataError",
        "GraphError",
        "OptionError",
        "OutpointError",
        "TooLargeError",
    ),
    "outpoint.graphs": (
        "Cpdag",
        "Dag",
        "LabelledPartition",
        "Order",
        "compare_graphs",
        "count_dags",
        "count_members",
        "random_dag",
    ),
    "outpoint.learning": ("learn", "log_score"),
    "outpoint.posterior": (
        "ConsensusWarning",
        "Posterior",
        "WeightWarning",
        "compare_posteriors",
        "load",
    ),
    "outpoint.scores": ("BDeu", "BGe", "CustomScore"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BDeu",
    "BGe",
    "CheckpointError",
    "ConsensusWarning",
    "Cpdag",
    "CustomScore",
    "Dag",
    "DataError",
    "Dataset",
    "GraphError",
    "LabelledPartition",
    "OptionError",
    "Order",
    "OutpointError",
    "Posterior",
    "TooLargeError",
    "WeightWarning",
    "compare_graphs",
    "compare_posteriors",
    "count_dags",
    "count_members",
    "datasets",
    "learn",
    "load",
    "log_score",
    "random_dag",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        value = import_module("outpoint.data.bundled")
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'outpoint' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
