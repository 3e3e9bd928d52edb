"""Data sets that come with the package, exposed as ``outpoint.datasets``.

Where they come from is told in ``bundled/README.md`` next to the files.
"""

from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from outpoint.data.columns import Column, assemble, column_from_text
from outpoint.data.dataset import Dataset, Kind
from outpoint.data.textfile import read_table
from outpoint.errors import DataError, OptionError

if TYPE_CHECKING:
    from outpoint.graphs import Dag

ASIA_NAMES = ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
ASIA_EDGES = (
    ("asia", "tub"),
    ("smoke", "lung"),
    ("smoke", "bronc"),
    ("tub", "either"),
    ("lung", "either"),
    ("either", "xray"),
    ("bronc", "dysp"),
    ("either", "dysp"),
)


def boston(chas: Literal["paper", "original"] = "paper") -> Dataset:
    """Boston Housing: 506 census tracts, 14 variables (Harrison & Rubinfeld 1978).

    ``chas="paper"`` codes the Charles River indicator 1/2, as the partition MCMC paper does;
    ``chas="original"`` codes it 0/1, as in the public table. The BGe score depends on the location
    of the columns, so the two give different scores.
    """
    if chas not in ("paper", "original"):
        raise OptionError(f"chas must be 'paper' (1/2) or 'original' (0/1), not {chas!r}.")
    original = _read("boston", "continuous")
    if chas == "original":
        return replace(original, reading=None)  # the name "boston" means the paper's coding
    values = original.values.copy()
    values[:, original.index("chas")] += 1.0
    return replace(original, values=values)


def asia() -> Dataset:
    """Asia: 1000 rows simulated from the network of Lauritzen & Spiegelhalter (1988)."""
    return _read("asia", "categorical")


def asia_dag() -> "Dag":
    """The graph that :func:`asia` was simulated from."""
    from outpoint.graphs import Dag

    return Dag.from_edges(ASIA_NAMES, ASIA_EDGES)


def asia_tables() -> dict[str, npt.NDArray[np.float64]]:
    """The published probabilities of the Asia network, in the layout of ``simulate_from_tables``.

    Levels are in the order no, yes; the parents of ``dysp`` in the order bronc, either.
    """

    def yes(probability: npt.ArrayLike) -> npt.NDArray[np.float64]:
        p = np.asarray(probability, dtype=np.float64)
        return np.stack([1.0 - p, p], axis=-1)

    return {
        "asia": yes(0.01),
        "tub": yes([0.01, 0.05]),
        "smoke": yes(0.5),
        "lung": yes([0.01, 0.10]),
        "bronc": yes([0.30, 0.60]),
        "either": yes([[0.0, 1.0], [1.0, 1.0]]),
        "xray": yes([0.05, 0.98]),
        "dysp": yes([[0.10, 0.70], [0.80, 0.90]]),
    }


_REGISTRY: dict[str, tuple[Callable[[], Dataset], str]] = {
    "boston": (boston, "Boston Housing, 506 rows of 14 continuous variables"),
    "asia": (asia, "Asia (lung disease) network, 1000 simulated rows of 8 binary variables"),
}


def available() -> dict[str, str]:
    """The names of the bundled data sets, each with a line of description."""
    return {name: description for name, (_, description) in _REGISTRY.items()}


def load(name: str) -> Dataset:
    """The bundled data set of that name."""
    if name not in _REGISTRY:
        raise DataError(
            f"There is no bundled data set {name!r}; there are: {', '.join(_REGISTRY)}."
        )
    return _REGISTRY[name][0]()


def _read(name: str, kind: Kind) -> Dataset:
    """Read a bundled file, all columns of one kind."""
    file = resources.files("outpoint.data").joinpath("bundled", f"{name}.csv")
    with resources.as_file(file) as path:
        table = read_table(path, ",")
    cells = zip(table.names, table.columns, strict=True)
    columns = [column_from_text(n, c, table.where, kind) for n, c in cells]
    readable = [column for column in columns if isinstance(column, Column)]
    return Dataset(*assemble(readable, dict.fromkeys(table.names, kind), {}), name, reading={})
