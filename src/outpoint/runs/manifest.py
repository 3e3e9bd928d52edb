"""The identity of a saved run: what must be the same for its checkpoints to be continued."""

import hashlib
import json
import os
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

SAME_SCORE = 1e-7
"""Relative difference of sums of scores that another processor may make."""


@contextmanager
def opened_run(
    directory: Path, facts: Mapping[str, Any], scores: NDArray[np.float64]
) -> Iterator[str]:
    """Make or find the run in ``directory`` and hold it; gives its name for the chains' files.

    ``facts`` is all that decides the draws, ``scores`` a digest of the score table in numbers. A
    run with other facts or scores is refused.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / LOCK, "wb") as lock:
        _hold(lock, directory)
        name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        if (directory / FILE).exists():
            _check_same(directory / FILE, facts, scores)
        else:
            write_checkpoint(directory / FILE, facts, {"scores": scores})
        yield name


def saved_facts(directory: Path) -> dict[str, Any] | None:
    """The facts of the run in ``directory``, None if there is no run."""
    path = directory / FILE
    return read_checkpoint(path)[0] if path.exists() else None


def _check_same(path: Path, facts: Mapping[str, Any], scores: NDArray[np.float64]) -> None:
    saved, arrays = read_checkpoint(path)
    now = json.loads(json.dumps(facts))
    changed = [key for key in {**saved, **now} if saved.get(key) != now.get(key)]
    if changed:
        shown = "; ".join(
            f"{key} was {_brief(saved.get(key))} and is {_brief(now.get(key))}"
            for key in changed[:3]
        )
        raise CheckpointError(
            f"the run in {path.parent.parent} cannot be resumed with other data or settings: "
            f"{shown}."
        )
    same = scores.shape == arrays["scores"].shape
    if not (same and np.allclose(scores, arrays["scores"], rtol=SAME_SCORE, atol=SAME_SCORE)):
        raise CheckpointError(
            f"the run in {path.parent.parent} cannot be resumed: the score function gives other "
            "values now."
        )


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


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
