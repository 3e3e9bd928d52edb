"""What a saved run has beside its chains: its identity, and scores that it has computed.

The identity is what must be the same for checkpoints to be continued. Scores of families are found
by their content: a digest of the data, the score and the prior. Where they are damaged, or belong
to something else, they are computed again.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import CheckpointError
from outpoint.naming import named
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from outpoint.runs.directory import RunDirectory
from outpoint.store import Field, checked_arrays
from outpoint.tables.build import Families
from outpoint.tables.parent_sets import check_lists

SCORES, START, CANDIDATES, HOTTEST = "scores", "start", "candidates", "hottest"
STARTS, EFFORT, LIMITS = "starts", "effort", "limits"
STOPPING, REQUEST = "stopping", "request"
"""What a saved run says about when it was to stop, which may change, and what was asked for when it
began; the rest of it decides the draws."""

FACTS = {
    "data": str,
    "method": str,
    "structure prior": str,
    "seed": int,
    "max_parents": int,
    "remarks": list,
    STOPPING: dict,
    REQUEST: dict,
}
"""Facts that a run is continued by, and their types."""

FIELDS = {
    CANDIDATES: Field(("node", "candidate"), "i4"),
    SCORES: Field(("node",), finite=False),
    START: Field(("node",), "i4"),
    STARTS: Field(("state", "node"), "i4"),
    HOTTEST: Field(("power",), least=0.0, most=np.nextafter(1.0, 0.0)),
    EFFORT: Field(("search",), least=np.nextafter(0.0, 1.0)),
    LIMITS: Field(("node",), "i4", least=0),
}
"""The arrays of a run: its candidates, sums of its scores, where its chains start, the power of
the hottest replicas, how much was searched, and how many parents of each node are listed on
completed tables (0 where there are none)."""

SCORES_DIGEST = "digest"
SCORES_FIELDS = {
    "scores": Field(("node", "set"), finite=False),
    "needed": Field(("needy", "parent"), finite=False),
    "scored_parents": Field((), "i8", 0),
}
"""Kept scores, and what they are found by."""

WORDS = 60
"""Most characters of a fact in a sentence."""

SAME_SCORE = 1e-7
"""Relative difference of sums of scores that another processor may make."""


def open_run(
    directory: RunDirectory,
    facts: Mapping[str, Any],
    stopping: Mapping[str, Any],
    request: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
) -> str:
    """Make or find the run in a directory that is held; return its name for the chains' files.

    ``facts`` is all that decides the draws; among the ``arrays`` are a digest of the score table in
    numbers and where the first chain starts. A run with other facts or scores is refused.
    ``stopping`` says when the run is to stop, and may be another each time; ``request`` is what was
    asked for, and stays what it was when the run began.
    """
    name = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    try:
        directory.checkpoint.mkdir(parents=True, exist_ok=True)
        saved = None
        if directory.identity.exists():
            saved, request = _check_same(directory, facts, arrays[SCORES])
        if saved != stopping:
            header = {**facts, STOPPING: stopping, REQUEST: request}
            write_checkpoint(directory.identity, header, arrays)
    except OSError as error:
        raise CheckpointError(
            f"cannot keep the state of a run in {directory.checkpoint} "
            f"({error.strerror or error}): make that possible, or choose another directory "
            f"({named('out')})."
        ) from None
    return name


def saved_facts(directory: RunDirectory) -> dict[str, Any] | None:
    """The facts of the run in ``directory``, None if there is no run."""
    path = directory.identity
    if not path.exists():
        return None
    facts = read_checkpoint(path)[0]
    if any(type(facts.get(name)) is not kind for name, kind in FACTS.items()):
        raise CheckpointError(f"{path} does not describe a run of outpoint.")
    return facts


def saved_arrays(directory: RunDirectory) -> dict[str, NDArray[Any]]:
    """The arrays of the run in ``directory``, empty if there is no run."""
    path = directory.identity
    if not path.exists():
        return {}
    arrays = read_checkpoint(path)[1]
    try:
        return _checked(arrays)
    except ValueError as error:
        raise CheckpointError(f"{path} does not describe a run of outpoint ({error}).") from None


def _checked(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of a run, checked, as far as that is possible without the table."""
    sizes = {"power": 1, "search": 2}
    nothing = np.zeros((0, 0))
    starts, n_nodes = arrays.get(STARTS, nothing), len(arrays.get(CANDIDATES, nothing))
    if starts.shape == (0,):  # all replicas start where the chain does
        arrays = {**arrays, STARTS: starts.reshape(0, n_nodes)}
    if LIMITS not in arrays:
        arrays = {**arrays, LIMITS: np.zeros(n_nodes, dtype=np.int32)}
    checked = checked_arrays(arrays, FIELDS, sizes)
    check_lists(checked[CANDIDATES])
    return checked


def refuse_changes(run: RunDirectory, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to continue a run with other facts than the saved ones, naming those that differ."""
    now = json.loads(json.dumps(now))
    changed = [key for key in {**now, **saved} if saved.get(key) != now.get(key)]
    if changed:
        shown = "; ".join(
            f"{key} was {{}} and is {{}}".format(*_brief(saved.get(key), now.get(key)))
            for key in changed[:3]
        )
        raise CheckpointError(
            f"the run in {run} cannot be resumed with other data or settings: {shown}."
        )


def other_scores(run: RunDirectory) -> CheckpointError:
    """The error about scores that have changed, although all that is known of them is the same."""
    return CheckpointError(
        f"the run in {run} cannot be resumed: the scores of parent sets are different now, so "
        "the score function or the edge prior is not the same."
    )


def _check_same(
    directory: RunDirectory, facts: Mapping[str, Any], scores: NDArray[np.float64]
) -> tuple[Any, Any]:
    """Refuse any but the saved run; return when that was to stop, and what was asked for."""
    saved, arrays = read_checkpoint(directory.identity)
    stopping, request = saved.pop(STOPPING, None), saved.pop(REQUEST, None)
    refuse_changes(directory, saved, facts)
    known = arrays.get(SCORES, np.zeros(0))
    same = scores.shape == known.shape
    if not (same and np.allclose(scores, known, rtol=SAME_SCORE, atol=SAME_SCORE)):
        raise other_scores(directory)
    return stopping, request


def _brief(*values: Any) -> list[str]:
    """Values in a few words each, from about where they begin to differ."""
    texts = [json.dumps(value, ensure_ascii=False) for value in values]
    same = next((i for i, two in enumerate(zip(*texts, strict=False)) if len(set(two)) > 1), 0)
    start = same - WORDS // 2 if same > WORDS - 10 else 0
    parts = [("..." if start else "") + text[start:] for text in texts]
    return [part if len(part) <= WORDS else part[: WORDS - 3] + "..." for part in parts]


def keep_scores(run: RunDirectory, digest: str, families: Families) -> None:
    """Write the scores; where that fails they will be computed again."""
    arrays = {name: np.asarray(value) for name, value in families._asdict().items()}
    with suppress(OSError):
        run.checkpoint.mkdir(exist_ok=True)
        write_checkpoint(run.scores, {SCORES_DIGEST: digest}, arrays)


def kept_scores(run: RunDirectory, digest: str) -> Families | None:
    """The scores with this digest, if they have been kept."""
    try:
        header, arrays = read_checkpoint(run.scores)
        if header.get(SCORES_DIGEST) != digest:
            return None
        found = checked_arrays(arrays, SCORES_FIELDS, {})
        scores, needed = found["scores"], found["needed"]
        is_usual = not np.isnan(needed).any() and (scores < np.inf).all()
        return Families(scores, int(found["scored_parents"]), needed) if is_usual else None
    except (CheckpointError, ValueError):
        return None
