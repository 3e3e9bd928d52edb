"""The identity of a saved run: what must be the same for its checkpoints to be continued."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import CheckpointError
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint

FILE = "run.checkpoint"
LOCK = ".lock"
SCORES, START, CANDIDATES, HOTTEST = "scores", "start", "candidates", "hottest"
STARTS = "starts"
STOPPING = "stopping"
"""What a saved run says about when it was to stop; the rest of it decides the draws."""

PRIVATE = ".outpoint-"
"""How the names of directories begin that hold what is not yet, or no longer, part of a run."""

SAME_SCORE = 1e-7
"""Relative difference of sums of scores that another processor may make."""


@contextmanager
def opened_run(
    directory: Path,
    facts: Mapping[str, Any],
    stopping: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> Iterator[str]:
    """Make or find the run in ``directory`` and hold it; gives its name for the chains' files.

    ``facts`` is all that decides the draws; among the ``arrays`` are a digest of the score table in
    numbers and where the first chain starts. A run with other facts or scores is refused.
    ``stopping`` says when the run is to stop, and may be another each time.
    """
    name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    _refuse_foreign(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = open(directory / LOCK, "wb")  # noqa: SIM115 -- closed below
    except OSError as error:
        raise _unusable(directory, error) from None
    with lock:
        _hold(lock, directory)
        saved = None
        if (directory / FILE).exists():
            saved = _check_same(directory / FILE, facts, arrays[SCORES])
        if saved != stopping:
            header = {**facts, STOPPING: stopping}
            try:
                write_checkpoint(directory / FILE, header, arrays)
            except OSError as error:
                raise _unusable(directory, error) from None
        yield name


def remove_run(directory: Path) -> None:
    """Delete the run in ``directory``, as a whole or not at all; one in use is refused."""
    if not directory.is_dir():
        return
    _refuse_foreign(directory)
    try:
        with open(directory / LOCK, "wb") as lock:
            _hold(lock, directory)
            private = tempfile.mkdtemp(prefix=PRIVATE, dir=directory.parent)
            directory.rename(Path(private) / directory.name)
        shutil.rmtree(private)
    except OSError as error:
        raise _unusable(directory, error) from None


def saved_facts(directory: Path) -> dict[str, Any] | None:
    """The facts of the run in ``directory``, None if there is no run."""
    path = directory / FILE
    if not path.exists():
        return None
    facts = read_checkpoint(path)[0]
    if "seed" not in facts or STOPPING not in facts:
        raise CheckpointError(f"{path} does not describe a run of outpoint.")
    return facts


def saved_arrays(directory: Path) -> dict[str, NDArray[Any]]:
    """The arrays of the run in ``directory``, none if there is no run."""
    path = directory / FILE
    return read_checkpoint(path)[1] if path.exists() else {}


def _check_same(path: Path, facts: Mapping[str, Any], scores: NDArray[np.float64]) -> Any:
    """Refuse another run than the saved one; returns when that was to stop."""
    saved, arrays = read_checkpoint(path)
    stopping = saved.pop(STOPPING, None)
    now = json.loads(json.dumps(facts))
    changed = [key for key in {**now, **saved} if saved.get(key) != now.get(key)]
    if changed:
        shown = "; ".join(
            f"{key} was {_brief(saved.get(key))} and is {_brief(now.get(key))}"
            for key in changed[:3]
        )
        raise CheckpointError(
            f"the run in {path.parent.parent} cannot be resumed with other data or settings: "
            f"{shown}."
        )
    known = arrays.get(SCORES, np.zeros(0))
    same = scores.shape == known.shape
    if not (same and np.allclose(scores, known, rtol=SAME_SCORE, atol=SAME_SCORE)):
        raise CheckpointError(
            f"the run in {path.parent.parent} cannot be resumed: the scores of parent sets are "
            "other ones now, so the score function or the edge prior is not the same."
        )
    return stopping


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse_foreign(directory: Path) -> None:
    """What is in the directory of a run will be removed with it, and must be part of it."""
    is_foreign = directory.is_dir() and not (directory / LOCK).exists()
    if is_foreign and any(directory.iterdir()):
        raise CheckpointError(
            f"{directory} holds files, but no run of outpoint: choose another directory (--out)."
        )


def _unusable(directory: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"cannot keep the state of a run in {directory} ({error.strerror or error}): make that "
        "possible, or choose another directory (--out)."
    )


def _hold(lock: BinaryIO, directory: Path) -> None:
    """Keep other processes from the same run; the system lets go when this one ends."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CheckpointError(
            f"the run in {directory.parent} is in use by another process: wait for it to end."
        ) from None
