"""Scores of families, kept in the directory of a run: the next session need not compute them.

They are found by their content: a digest of the data, the score and the prior. A file that is
damaged or belongs to something else is ignored.
"""

from contextlib import suppress

import numpy as np

from outpoint.errors import CheckpointError
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from outpoint.runs.directory import RunDirectory
from outpoint.tables.build import Families

DIGEST = "digest"


def keep_scores(run: RunDirectory, digest: str, families: Families) -> None:
    """Write the scores; where that fails they will be computed again."""
    arrays = {name: np.asarray(value) for name, value in families._asdict().items()}
    with suppress(OSError):
        run.checkpoint.mkdir(exist_ok=True)
        write_checkpoint(run.scores, {DIGEST: digest}, arrays)


def kept_scores(run: RunDirectory, digest: str) -> Families | None:
    """The scores with this digest, if they have been kept."""
    try:
        header, arrays = read_checkpoint(run.scores)
        if header[DIGEST] != digest:
            return None
        scores, needed = arrays["scores"], arrays["needed"]
        if not (np.isfinite(scores) | np.isneginf(scores)).all() or np.isnan(needed).any():
            return None
        return Families(scores, int(arrays["scored_parents"]), needed)
    except (CheckpointError, KeyError, TypeError, ValueError):
        return None
