"""Draws in the forms of other programs: ArviZ, and Benchpress's trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.arrays import Booleans
from outpoint.errors import OptionError
from outpoint.files import write_text
from outpoint.posterior.posterior import Posterior

if TYPE_CHECKING:
    import xarray as xr

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
