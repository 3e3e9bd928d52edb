"""Draws in the forms of other programs: ArviZ, and Benchpress's trajectories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from outpoint.errors import OptionError
from outpoint.posterior.draws import Booleans
from outpoint.posterior.posterior import Posterior

if TYPE_CHECKING:
    import xarray as xr

SEPARATORS = (",", ";", "->", "[", "]", '"', "\n", "\r")
"""What a name must not contain to be written into a trajectory."""


def make_tree(posterior: Posterior) -> xr.DataTree:
    """The draws as ArviZ takes them: groups ``posterior`` and ``sample_stats``."""
    import xarray as xr

    dags, log_scores = posterior.dags(), posterior.log_scores
    attributes: dict[str, Any] = {
        "inference_library": "outpoint",
        "inference_library_version": posterior.info.version,
        "method": posterior.method,
        "seed": posterior.info.seed,
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
    wrong = [name for name in posterior.names if any(mark in name for mark in SEPARATORS)]
    if wrong:
        raise OptionError(
            f"the name {wrong[0]!r} cannot be written into a trajectory: rename the variable."
        )
    dags, log_scores = posterior.dags().to_numpy(), posterior.log_scores.to_numpy()
    if not 0 <= chain < len(dags):
        raise OptionError(f"there is no chain {chain}: choose one from 0 to {len(dags) - 1}.")
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(
                f"{row}\n" for row in _rows(posterior.names, dags[chain], log_scores[chain])
            )
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}.") from None


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
