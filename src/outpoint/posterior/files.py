"""What a run leaves behind: its files, and the Python code that makes it again.

The files are the posterior, the table of edges, the best DAG, the report and the summary.

The posterior is sealed, and read back without pickle: parent sets by their codes, log scores,
batches of edge probabilities, counts. Its file depends on nothing but the posterior, so that two
runs with the same draws write the same bytes; how long a run took is in its ``summary.json``.
Whatever a computation relies on is checked when a file is read (`store`, `checks`), as anyone may
have made it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from outpoint.arguments import PATH, takes
from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError, OutpointError, require
from outpoint.files import replaced
from outpoint.options import OPTIONS, Role, names_of
from outpoint.posterior import checks
from outpoint.posterior.augmented import METHODS, AugmentedPosterior
from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.export import format_table
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
from outpoint.runs.directory import BEST_DAG, EDGES, POSTERIOR, REPORT, SUMMARY
from outpoint.store import Content, Kind, opened_sealed, write_sealed

LENGTH = names_of(Role.STOP, Role.PACE)
"""Options that say how long a run is to be, which ``RunInfo.taken`` knows better afterwards."""


def run_again(posterior: Posterior) -> str:
    """Python code that makes the run again; if it needs something of the user's, a comment says so.

    Whatever has ended a run, a clock, its chains' agreement or a continuation, it is made again
    with as many steps as it took.
    """
    info = posterior.info
    options = {
        "score": _score(info),
        "method": repr(METHODS.get(info.method, info.method)),
        "max_parents": repr(info.max_parents),
        "structure_prior": repr(info.structure_prior),
    }
    if info.knowledge:
        options["knowledge"] = f"op.Knowledge.from_dict({info.knowledge!r})"
    lines = ["import outpoint as op"]
    if not info.score_settings:
        lines.append("# score: the score that the run was given")
    lines += note_again(posterior)
    given = info.options
    if info.taken:
        given = {name: given[name] for name in given if name not in LENGTH} | info.taken
    options |= {name: _written(name, value) for name, value in given.items()}
    options["seed"] = repr(info.seed)
    data = _data(info, lines)
    written = "".join(f"    {name}={value},\n" for name, value in options.items())
    return "\n".join(lines) + f"\npost = op.learn(\n    {data},\n{written})"


def note_again(posterior: Posterior) -> list[str]:
    """A comment for Python and the shell, if what can be made again is not quite the same."""
    if posterior.method == "exact" or posterior.info.taken:
        return []
    if not posterior.is_complete:
        return ["# The run was interrupted: this makes the whole of it."]
    return ["# The run was continued within a sweep: made in one go it has other draws."]


def _score(info: RunInfo) -> str:
    """The score as Python code, or a name for one that only the user has."""
    return f"op.{info.score_settings}" if info.score_settings else "score"


def _data(info: RunInfo, lines: list[str]) -> str:
    """The data as Python code, or a name for those that only the user has."""
    if info.path is None or info.reading is None:
        also = " (and its interventions)" if info.interventions else ""
        lines.append(f"# data: the table{also} with the SHA-256 {info.fingerprint}")
        return "data"
    if not info.reading:
        return repr(info.path)
    options = "".join(f", {name}={value!r}" for name, value in info.reading.items())
    function = "load_series" if "lags" in info.reading else "load_dataset"
    return f"op.{function}({info.path!r}{options})"


def _written(name: str, value: Any) -> str:
    return OPTIONS[name].kind.as_python(value) if name in OPTIONS else repr(value)


EDGE_COLUMNS = ["parent", "child", "probability", "mcse", "rhat", "ess", "status"]


def summarize(posterior: Posterior) -> dict[str, Any]:
    """The facts of a run, as written to ``summary.json``."""
    info = posterior.info
    return {
        "method": posterior.method,
        **info.as_summary(posterior.names),
        "map_log_score": posterior.map_log_score,
        "map_probability": posterior.map_probability,
        "log_evidence": posterior.log_evidence,
        "log_evidence_normalized": posterior.log_evidence_normalized,
        "converged": posterior.converged,
        "verdict": posterior.verdict,
        "round_trips": posterior.round_trips,
        "candidates": posterior.on_candidates,
        "run_again": run_again(posterior),
    }


def write_run(
    posterior: Posterior,
    run: RunDirectory,
    *,
    data: Dataset | None = None,
    command: str | None = None,
) -> None:
    """Write the results to a directory that is held; ``data`` and ``command`` are in the report."""
    summary = json.dumps(summarize(posterior), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        with run.staged() as staging:
            write_posterior(posterior, staging / POSTERIOR)
            edges = format_table(posterior.diagnostics()[EDGE_COLUMNS], ("parent", "child"))
            (staging / EDGES).write_bytes(edges.encode("utf-8"))
            (staging / BEST_DAG).write_text(posterior.map_dag.to_dot(), encoding="utf-8")
            (staging / SUMMARY).write_text(summary + "\n", encoding="utf-8")
            unread = _read_back(posterior, staging / POSTERIOR)
            problem = _draw_report(posterior, staging / REPORT, data, command)
    except OSError as error:
        raise OptionError(run.failure(error)) from None
    if unread is not None:
        raise OutpointError(
            f"the results are in {run}, but {POSTERIOR} does not read back as it was written "
            f"({unread}): keep the other files, and tell the developers."
        )
    if problem is not None:
        raise OutpointError(
            f"the results are in {run}, but their report could not be drawn ({problem}): try "
            "'outpoint report' there, and tell the developers."
        ) from problem


def _read_back(posterior: Posterior, path: Path) -> str | None:
    """What is wrong with the file of a posterior; None if it gives the same answers."""
    try:
        stored = load(path)
    except OutpointError as error:
        return str(error).rstrip(".")
    if not stored.edge_probabilities.equals(posterior.edge_probabilities):
        return "its edges have other probabilities"
    if stored.map_dag != posterior.map_dag or stored.map_log_score != posterior.map_log_score:
        return "its best DAG is another one"
    if (stored.model is None) != (posterior.model is None):
        return "its model of the columns is missing"
    return None


def _draw_report(
    posterior: Posterior, path: Path, data: Dataset | None, command: str | None
) -> Exception | None:
    """Write the report; return an error that is met there, as it must not cost the results."""
    try:
        posterior.report(path, data=data, command=command)
    except OSError:
        raise
    except Exception as error:
        return error
    return None


STORED = Kind(
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
        write_sealed(file, STORED, header, arrays | own)


@takes(path=PATH)
def load(path: str | Path) -> Posterior:
    """Read a posterior from a file written by ``Posterior.save``, or from a run's directory."""
    place = Path(path)
    seconds = None
    if os.path.isdir(place):
        run = RunDirectory(place)
        seconds = _elapsed_seconds(run.summary)
        place = place / run.found_posterior.name
    with opened_sealed(place, STORED) as content:
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
