"""A run on disk: table of edges, best DAG, draws, report and summary in one directory.

A new directory appears complete or not at all: everything is written beside it and renamed. In a
directory that is there already (empty, or an earlier run to be replaced) the finished files are
moved into place one by one; the directory itself is kept, as it may be a link, a mounted volume or
the place where the user is working.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from outpoint.data import Dataset
from outpoint.errors import OptionError, OutpointError
from outpoint.posterior.again import run_again
from outpoint.posterior.export import format_table
from outpoint.posterior.posterior import Posterior
from outpoint.runs import PRIVATE

RUN_FILES = ("edges.csv", "map.dot", "posterior.nc", "report.html", "summary.json")
"""Everything a run consists of, in the order in which it is moved into place."""

EDGE_COLUMNS = ["parent", "child", "probability", "mcse", "rhat", "ess", "status"]

CHECKPOINT = "checkpoint"
"""Directory in that of a run where its chains leave what is needed to continue them."""


def summarize(posterior: Posterior) -> dict[str, Any]:
    """The facts of a run, as written to ``summary.json``."""
    info = posterior.info
    return {
        "method": posterior.method,
        **info.as_summary(posterior.names),
        "map_log_score": posterior.map_log_score,
        "map_probability": posterior.map_probability,
        "log_evidence": posterior.log_evidence,
        "converged": posterior.converged,
        "verdict": posterior.verdict,
        "round_trips": posterior.round_trips,
        "candidates": posterior.on_candidates,
        "run_again": run_again(info, posterior.steps_per_chain),
    }


def check_writable(directory: Path, *, overwrite: bool, resume: bool = False) -> None:
    """Refuse, before any work is done, a place where the run cannot be written."""
    try:
        _check_content(directory, overwrite, resume)
        tempfile.TemporaryFile(dir=_existing(directory)).close()
    except OSError as error:
        raise OptionError(_failure(directory, error)) from None


def write_run(
    posterior: Posterior,
    directory: Path,
    *,
    overwrite: bool = False,
    data: Dataset | None = None,
    command: str | None = None,
) -> None:
    """Write the run to ``directory``; ``data`` and ``command`` are described in its report."""
    from outpoint.posterior.storage import write_posterior

    check_writable(directory, overwrite=overwrite)
    summary = json.dumps(summarize(posterior), indent=2, ensure_ascii=False, allow_nan=False)
    try:
        place = directory if directory.exists() else directory.parent
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=PRIVATE, dir=place) as private:
            staging = Path(private) / "run"
            staging.mkdir()
            write_posterior(posterior, staging / "posterior.nc")
            edges = format_table(posterior.diagnostics()[EDGE_COLUMNS], ("parent", "child"))
            (staging / "edges.csv").write_bytes(edges.encode("utf-8"))
            (staging / "map.dot").write_text(posterior.map_dag.to_dot(), encoding="utf-8")
            (staging / "summary.json").write_text(summary + "\n", encoding="utf-8")
            problem = _draw_report(posterior, staging / "report.html", data, command)
            _publish(staging, directory)
    except OSError as error:
        raise OptionError(_failure(directory, error)) from None
    if problem is not None:
        raise OutpointError(
            f"the results are in {directory}, but their report could not be drawn ({problem}): try "
            "'outpoint report' there, and tell the developers."
        ) from problem


def _draw_report(
    posterior: Posterior, path: Path, data: Dataset | None, command: str | None
) -> Exception | None:
    """Write the report; what goes wrong there must not cost the results."""
    try:
        posterior.report(path, data=data, command=command)
    except OSError:
        raise
    except Exception as error:
        return error
    return None


def _publish(staging: Path, directory: Path) -> None:
    """Move the finished files: the directory at once, or file by file into an existing one."""
    if not directory.exists():
        staging.rename(directory)
        return
    for name in RUN_FILES:
        if (staging / name).exists():
            (staging / name).replace(directory / name)
        else:
            (directory / name).unlink(missing_ok=True)  # of an earlier run
    for left in directory.glob(f"{PRIVATE}*"):
        if left != staging.parent:  # of a process that was killed
            shutil.rmtree(left, ignore_errors=True)


def _check_content(directory: Path, overwrite: bool, resume: bool) -> None:
    """A run goes to a new or empty directory; nothing but an earlier run is ever replaced."""
    if not directory.exists() and not directory.is_symlink():
        return
    if not directory.is_dir():
        raise OptionError(f"{directory} is a file; choose another directory for the run (--out).")
    names = (path.name for path in directory.iterdir())
    content = sorted(name for name in names if not name.startswith(PRIVATE))
    others = [name for name in content if name not in (*RUN_FILES, CHECKPOINT)]
    if others:
        raise OptionError(
            f"{directory} holds other files (such as {others[0]!r}), which a run must not mix "
            "with: choose another directory for the run (--out)."
        )
    if resume:
        if content and CHECKPOINT not in content:
            raise OptionError(f"the run in {directory} has left nothing that could be resumed.")
    elif content and not overwrite:
        if CHECKPOINT in content:
            raise OptionError(
                f"{directory} holds a run that can be continued: do so with --resume, choose "
                "another directory (--out), or replace the run with --overwrite."
            )
        raise OptionError(
            f"{directory} holds an earlier run: choose another directory (--out), or replace "
            "the run with --overwrite."
        )


def _existing(directory: Path) -> Path:
    """The directory itself, or its nearest ancestor that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory


def _failure(directory: Path, error: OSError) -> str:
    why = error.strerror or error
    if os.path.exists(directory / CHECKPOINT):  # Path.exists fails on endless names
        return (
            f"cannot write to {directory} ({why}); the state of the run is kept: make that "
            "possible and continue with --resume."
        )
    return f"cannot write to {directory} ({why}): choose another directory for the run (--out)."
