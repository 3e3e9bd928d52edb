"""A posterior in files for other programs: single DAGs, weighted graphs, tables.

The suffix of the file chooses the format, as for every graph (:mod:`outpoint.graphs.files`), and
``what`` the content. A DAG in DOT or GraphML has the probability of each of its edges beside it.
Names in tables are protected from spreadsheets (:mod:`outpoint.graphs.formats`);
:func:`read_edges` gives them back.

Draws are given in the forms of other programs, too: ArviZ, and Benchpress's trajectories.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from outpoint.arguments import PATH, takes
from outpoint.arrays import Booleans
from outpoint.errors import DataError, OptionError, require
from outpoint.files import read_text, understood, write_text
from outpoint.graphs.files import (
    FORMATS,
    SUFFIXES,
    WEIGHTED,
    WEIGHTED_FORMATS,
    format_dag,
    format_probabilities,
)
from outpoint.graphs.formats import protect_cell, restore_cell

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from outpoint.posterior.posterior import Posterior

GRAPHS = ("map", "median", "consensus")
MOST_BYTES = 500_000_000
"""Largest table of edges that is read, that of some thousand variables."""

MOST_COLUMNS = 100
"""Columns of such a table, which has about ten."""

CONTENTS = (*GRAPHS, "probabilities", "edges")


def check_content(path: str | Path, what: str, threshold: float | None) -> None:
    """Refuse what cannot be written, before any work is done."""
    if what not in CONTENTS:
        raise OptionError(f"what to export must be one of {', '.join(CONTENTS)}, not {what!r}.")
    if threshold is not None and what not in ("consensus", "probabilities"):
        raise OptionError(f"a threshold belongs to consensus and probabilities, not to {what}.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise OptionError(f"the threshold must be a probability from 0 to 1, not {threshold!r}.")
    allowed, shown = {
        "probabilities": ((*WEIGHTED, ".csv"), WEIGHTED_FORMATS),
        "edges": ((".csv",), ".csv"),
    }.get(what, (SUFFIXES, FORMATS))
    if Path(path).suffix.lower() not in allowed:
        raise OptionError(f"{what} can be written to {shown}, not to {path}.")


def format_content(
    posterior: Posterior, path: str | Path, what: str = "map", threshold: float | None = None
) -> str:
    """The text of the file that :func:`export` writes."""
    check_content(path, what, threshold)
    probabilities = posterior.edge_probabilities.to_numpy()
    if what == "edges":
        return format_table(posterior.diagnostics(), ("parent", "child"))
    if what == "probabilities":
        return format_probabilities(posterior.names, probabilities, path, threshold or 0.0)
    if what == "map":
        return format_dag(posterior.map_dag, path, probabilities)
    dag = posterior.consensus_dag(0.5 if threshold is None else threshold)
    return format_dag(dag, path, probabilities)


def export(
    posterior: Posterior, path: str | Path, what: str = "map", threshold: float | None = None
) -> None:
    """Write a DAG or the probabilities of a posterior to a file."""
    write_text(Path(path), format_content(posterior, path, what, threshold))


def format_table(table: pd.DataFrame, named: Sequence[str]) -> str:
    """A table as CSV, safe to open in a spreadsheet; ``named`` columns hold names of variables."""
    safe = table.assign(**{column: table[column].map(protect_cell) for column in named})
    broken = any("\r" in name for column in named for name in safe[column])
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if broken else csv.QUOTE_MINIMAL
    text: str = safe.to_csv(index=False, lineterminator="\n", quoting=quoting)
    return text


@takes(path=PATH)
def read_edges(path: str | Path) -> pd.DataFrame:
    """The table of edges of a run, its ``edges.csv``, with the names of the variables as they were.

    In the file, an apostrophe keeps names such as ``=1+1`` from being formulas in a spreadsheet.
    """
    import pandas as pd

    place = Path(path)
    text = read_text(place, DataError, MOST_BYTES)
    try:
        with understood(place, DataError):
            header, *rows = csv.reader(io.StringIO(text, newline=""))
            require(len(set(header)) == len(header) <= MOST_COLUMNS, "these are other columns")
            require(all(len(row) == len(header) for row in rows), "rows are of unequal length")
            cells = zip(*rows, strict=True) if rows else [()] * len(header)
            columns: dict[str, list[Any]] = dict(zip(header, map(list, cells), strict=True))
            for name in ("parent", "child"):
                columns[name] = [restore_cell(cell) for cell in columns[name]]
            for name in columns.keys() - {"parent", "child", "status"}:
                columns[name] = [float(cell or "nan") for cell in columns[name]]
            return pd.DataFrame(columns)
    except (ValueError, KeyError, csv.Error):
        raise DataError(f"{path} is not a table of edges that outpoint has written.") from None


SEPARATORS = (",", ";", "->", "[", "]", '"')
"""What a name must not contain, besides line breaks, to be written into a trajectory."""


def make_tree(posterior: Posterior) -> xr.DataTree:
    """The draws as ArviZ takes them: groups ``posterior`` and ``sample_stats``."""
    import xarray as xr

    dags, log_scores = posterior.dags(), posterior.log_scores
    attributes: dict[str, Any] = {
        "inference_library": "outpoint",
        "inference_library_version": posterior.info.version,
        "method": posterior.method,
        "seed": str(posterior.info.seed),  # it may exceed the integers of netCDF
        "data_sha256": posterior.info.fingerprint,
    }
    draws = np.arange(dags.sizes["draw"])
    n_edges = dags.sum(("parent", "child")).rename("n_edges")
    parameters = xr.Dataset({"dag": dags, "n_edges": n_edges}).assign_coords(draw=draws)
    statistics = xr.Dataset({"lp": log_scores}).assign_coords(draw=draws)
    return xr.DataTree.from_dict(
        {
            "posterior": parameters.assign_attrs(attributes),
            "sample_stats": statistics.assign_attrs(attributes),
        }
    )


def write_trajectory(posterior: Posterior, path: str | Path, chain: int = 0) -> None:
    """Write the draws of one chain as a Benchpress trajectory: the first DAG, then changes only.

    The rows are ``index,score,added,removed``; two rows before the first name the variables. The
    last draw has a row even if it brings no change, so that the length of the chain is known.
    """
    write_text(Path(path), format_trajectory(posterior, chain))


def format_trajectory(posterior: Posterior, chain: int = 0) -> str:
    """The text that :func:`write_trajectory` writes."""
    for name in posterior.names:
        if name.splitlines() != [name] or any(mark in name for mark in SEPARATORS):
            raise OptionError(
                f"the name {name!r} cannot be written into a trajectory: rename the variable."
            )
    log_scores = posterior.log_scores.to_numpy()
    if not 0 <= chain < len(log_scores):
        which = (
            "there is only chain 0"
            if len(log_scores) == 1
            else (f"choose one from 0 to {len(log_scores) - 1}")
        )
        raise OptionError(f"there is no chain {chain}: {which}.")
    dags = posterior.dags().to_numpy()[chain]
    return "".join(f"{row}\n" for row in _rows(posterior.names, dags, log_scores[chain]))


def _rows(names: tuple[str, ...], dags: Booleans, log_scores: Any) -> Iterator[str]:
    first = ";".join(f"{names[0]}->{name}" for name in names[1:])
    yield "index,score,added,removed"
    yield f"-2,0.0,[{first}],[]"
    yield f"-1,0.0,[],[{first}]"
    before = np.zeros_like(dags[0])
    for index, (dag, log_score) in enumerate(zip(dags, log_scores, strict=True)):
        if index in (0, len(dags) - 1) or not np.array_equal(dag, before):
            added, removed = _listed(names, dag & ~before), _listed(names, before & ~dag)
            yield f"{index},{float(log_score)!r},[{added}],[{removed}]"
        before = dag


def _listed(names: tuple[str, ...], edges: Booleans) -> str:
    return ";".join(f"{names[u]}->{names[v]}" for u, v in np.argwhere(edges))
