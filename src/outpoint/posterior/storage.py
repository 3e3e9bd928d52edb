"""Posteriors in files: what they were made of, sealed, and read back without pickle.

The file holds parent sets by their codes, log scores, batches of edge probabilities, counts. It
depends on nothing but the posterior, so that two runs with the same draws write the same bytes; how
long a run took is in its ``summary.json``. Whatever a computation relies on is checked when a file
is read (`store`, `checks`), as anyone may have made it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from pathlib import Path

from outpoint.arguments import PATH, takes
from outpoint.errors import DataError, OptionError, require
from outpoint.files import replaced
from outpoint.posterior import checks
from outpoint.posterior.augmented import AugmentedPosterior
from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.info import RunInfo
from outpoint.posterior.partly import PartlyExactPosterior
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.posterior.stored_chains import (
    augmented_parts,
    partly_parts,
    read_augmented,
    read_partly,
    read_sampled,
    sampled_parts,
)
from outpoint.posterior.stored_models import model_parts, read_model, read_network
from outpoint.posterior.stored_solutions import exact_parts, read_by_parts, read_exact
from outpoint.runs import RunDirectory
from outpoint.store import Content, Kind, opened_sealed, write_sealed

POSTERIOR = Kind(
    "posterior",
    format=7,
    error=DataError,
    again=lambda: "make the run again (for the directory of a run, its summary.json says how)",
    is_packed=True,
)

MOST_SUMMARY = 1 << 26
"""Bytes of a ``summary.json`` that is looked into."""

READERS: dict[str, Callable[[RunInfo, tuple[str, ...], Content], Posterior]] = {
    "sampled": read_sampled,
    "augmented": read_augmented,
    "partly exact": read_partly,
    "exact": read_exact,
    "parts": read_by_parts,
}
"""What reads the posterior in a file, by the kind that the file names."""


def save(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a file, replacing the file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OptionError(f"cannot write {path}: it is not a file that can be replaced.")
    with replaced(path) as place:
        write_posterior(posterior, place)


def write_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a new file; raises OSError if that fails."""
    if isinstance(posterior, AugmentedPosterior):
        header, arrays = augmented_parts(posterior)
    elif isinstance(posterior, PartlyExactPosterior):
        header, arrays = partly_parts(posterior)
    elif isinstance(posterior, SampledPosterior):
        header, arrays = sampled_parts(posterior)
    elif isinstance(posterior, ExactPosterior):
        header, arrays = exact_parts(posterior)
    else:
        raise OptionError(
            f"a {type(posterior).__name__} cannot be saved: save the posterior it was made from."
        )
    info = asdict(posterior.info)
    del info["elapsed_seconds"]
    models, own = model_parts(posterior)
    header |= {"info": info, "names": posterior.names, **models}
    with path.open("wb") as file:
        write_sealed(file, POSTERIOR, header, arrays | own)


@takes(path=PATH)
def load(path: str | Path) -> Posterior:
    """Read a posterior from a file written by ``Posterior.save``, or from a run's directory."""
    place = Path(path)
    seconds = None
    if os.path.isdir(place):
        run = RunDirectory(place)
        seconds = _elapsed_seconds(run.summary)
        place = place / run.found_posterior.name
    with opened_sealed(place, POSTERIOR) as content:
        names = checks.checked_names(content.header.get("names"))
        info = checks.checked_info(content.header.get("info"), names, seconds)
        n = len(names)
        content.sizes |= {"node": n, "parent": n, "child": n, "end": 2}
        kind = str(content.header.get("posterior"))
        require(kind in READERS, f"there is no {kind!r} posterior")
        posterior = READERS[kind](info, names, content)
        posterior.model = read_model(names, content)
        posterior.network_model = read_network(names, content)
        return posterior


def _elapsed_seconds(path: Path) -> float | None:
    """How long the run took, if its summary says so."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_SUMMARY:
            return None
        seconds = float(json.loads(path.read_text(encoding="utf-8"))["elapsed_seconds"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None
