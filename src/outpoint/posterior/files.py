"""A run on disk: ``edges.csv``, ``summary.json`` and ``map.dot`` in one directory.

The directory appears complete or not at all: everything is written beside it and renamed.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from outpoint.errors import OptionError
from outpoint.posterior.posterior import Posterior


def summarize(posterior: Posterior) -> dict[str, Any]:
    """The facts of a run, as written to ``summary.json``."""
    info = posterior.info
    return {
        "method": posterior.method,
        "score": info.score,
        "structure_prior": info.structure_prior,
        "data": info.source,
        "data_sha256": info.fingerprint,
        "n_nodes": len(posterior.names),
        "n_observations": info.n_observations,
        "max_parents": info.max_parents,
        "map_log_score": posterior.map_log_score,
        "map_probability": posterior.map_probability,
        "log_evidence": posterior.log_evidence,
        "converged": posterior.converged,
        "verdict": posterior.verdict,
        "elapsed_seconds": info.elapsed_seconds,
        "seed": info.seed,
        "version": info.version,
    }


def check_writable(directory: Path, *, overwrite: bool) -> None:
    """Refuse, before any work is done, a place where the run cannot be written."""
    if directory.exists() and not directory.is_dir():
        raise OptionError(f"{directory} is a file; --out names a directory.")
    if directory.exists() and any(directory.iterdir()):
        if not overwrite:
            raise OptionError(f"{directory} already exists: choose another --out or --overwrite.")
        if not (directory / "summary.json").exists():
            raise OptionError(
                f"{directory} holds other files and no earlier run: choose another --out."
            )
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=directory.parent).close()
    except OSError as error:
        raise OptionError(f"cannot write to {directory.parent}: {error.strerror}.") from None


def write_run(posterior: Posterior, directory: Path, *, overwrite: bool = False) -> None:
    """Write the run to ``directory``."""
    check_writable(directory, overwrite=overwrite)
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    except OSError as error:
        raise OptionError(f"cannot write to {directory.parent}: {error.strerror}.") from None
    try:
        posterior.diagnostics().to_csv(staging / "edges.csv", index=False)
        summary = json.dumps(summarize(posterior), indent=2, ensure_ascii=False, allow_nan=False)
        (staging / "summary.json").write_text(summary + "\n", encoding="utf-8")
        (staging / "map.dot").write_text(posterior.map_dag.to_dot(), encoding="utf-8")
        staging.chmod(0o755)
        if directory.exists():
            shutil.rmtree(directory)
        staging.rename(directory)
    except OSError as error:
        raise OptionError(f"cannot write the run to {directory}: {error.strerror}.") from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)
