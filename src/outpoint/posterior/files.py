"""What a run leaves behind: its files, and the Python code that makes it again.

The files are the posterior, the table of edges, the best DAG, the report and the summary.
"""

import json
from pathlib import Path
from typing import Any

from outpoint.data import Dataset
from outpoint.errors import OptionError, OutpointError
from outpoint.options import OPTIONS, Role, names_of
from outpoint.posterior.augmented import METHODS
from outpoint.posterior.export import format_table
from outpoint.posterior.info import RunInfo
from outpoint.posterior.posterior import Posterior
from outpoint.runs import RunDirectory
from outpoint.runs.directory import BEST_DAG, EDGES, POSTERIOR, REPORT, SUMMARY

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
    from outpoint.posterior.storage import write_posterior

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
    from outpoint.posterior.storage import load

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
