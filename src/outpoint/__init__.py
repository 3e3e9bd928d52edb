"""Bayesian inference over directed acyclic graphs.

``outpoint.learn(data)`` returns the posterior over the structures of Bayesian networks. Names
are imported when first used, so that importing the package does no work.
"""

from outpoint import starting as _starting  # noqa: F401, I001 (before all other imports)

from importlib import import_module
from typing import TYPE_CHECKING, Any

from outpoint import variables as _variables  # noqa: F401 (before anything imports Numba)

__version__ = "0.1.0"

if TYPE_CHECKING:
    from outpoint.data import Dataset, load_dataset, load_series, simulate, simulate_series
    from outpoint.data import bundled as datasets
    from outpoint.errors import (
        CheckpointError,
        DataError,
        GraphError,
        OptionError,
        OutpointError,
        TooLargeError,
    )
    from outpoint.estimator import OutpointLearner
    from outpoint.graphs import (
        Cpdag,
        Dag,
        LabelledPartition,
        Order,
        compare_graphs,
        count_dags,
        count_members,
        random_dag,
        read_dag,
        sample_uniform_dags,
        write_dag,
    )
    from outpoint.learning import IgnoredOptionWarning, learn
    from outpoint.map_finding import MapResult, find_map
    from outpoint.posterior import (
        ConsensusWarning,
        Posterior,
        WeightWarning,
        compare_posteriors,
        load,
        read_edges,
    )
    from outpoint.report import plots
    from outpoint.scores import (
        BIC,
        BDeu,
        BGe,
        Blocks,
        ConditionalGaussian,
        CustomScore,
        JklScore,
        Knowledge,
        read_jkl,
    )
    from outpoint.scoring import log_score
    from outpoint.tables import write_jkl

_HOMES = {
    "outpoint.data": ("Dataset", "load_dataset", "load_series", "simulate", "simulate_series"),
    "outpoint.errors": (
        "CheckpointError",
        "DataError",
        "GraphError",
        "OptionError",
        "OutpointError",
        "TooLargeError",
    ),
    "outpoint.estimator": ("OutpointLearner",),
    "outpoint.graphs": (
        "Cpdag",
        "Dag",
        "LabelledPartition",
        "Order",
        "compare_graphs",
        "count_dags",
        "count_members",
        "random_dag",
        "read_dag",
        "sample_uniform_dags",
        "write_dag",
    ),
    "outpoint.learning": ("IgnoredOptionWarning", "learn"),
    "outpoint.scoring": ("log_score",),
    "outpoint.map_finding": ("MapResult", "find_map"),
    "outpoint.posterior": (
        "ConsensusWarning",
        "Posterior",
        "WeightWarning",
        "compare_posteriors",
        "load",
        "read_edges",
    ),
    "outpoint.scores": (
        "BIC",
        "BDeu",
        "BGe",
        "Blocks",
        "ConditionalGaussian",
        "CustomScore",
        "JklScore",
        "Knowledge",
        "read_jkl",
    ),
    "outpoint.tables": ("write_jkl",),
}
_MODULES = {"datasets": "outpoint.data.bundled", "plots": "outpoint.report.plots"}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BIC",
    "BDeu",
    "BGe",
    "Blocks",
    "CheckpointError",
    "ConditionalGaussian",
    "ConsensusWarning",
    "Cpdag",
    "CustomScore",
    "Dag",
    "DataError",
    "Dataset",
    "GraphError",
    "IgnoredOptionWarning",
    "JklScore",
    "Knowledge",
    "LabelledPartition",
    "MapResult",
    "OptionError",
    "Order",
    "OutpointError",
    "OutpointLearner",
    "Posterior",
    "TooLargeError",
    "WeightWarning",
    "compare_graphs",
    "compare_posteriors",
    "count_dags",
    "count_members",
    "datasets",
    "find_map",
    "learn",
    "load",
    "load_dataset",
    "load_series",
    "log_score",
    "plots",
    "random_dag",
    "read_dag",
    "read_edges",
    "read_jkl",
    "sample_uniform_dags",
    "simulate",
    "simulate_series",
    "write_dag",
    "write_jkl",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = import_module(_MODULES[name])
    elif name in _HOME_OF:
        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'outpoint' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
