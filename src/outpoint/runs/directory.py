"""The directory of a run: what is in it, who may write there, and how results get into it.

::

    RUN/posterior.npz, edges.csv, map.dot, report.html, summary.json    the results
    RUN/checkpoint/                  what is needed to continue a sampled run
        run.checkpoint               what the run is
        chain-I.checkpoint           the state of a chain
        chain-I.draws-THIN           its draws
        table-DIGEST/                the score table, for workers that map it into memory
        scores.checkpoint            scores of families, kept for the next session
        stop                         tells workers to end
    RUN/.outpoint-lock               there while a process works on the run
    RUN/.outpoint-staging/           results while they are being written
    RUN/.outpoint-discarded/         checkpoints on their way out

These names are written nowhere else. Whoever writes to the directory holds its lock, from the first
look at what is in it until the results are in their places; what a killed process has left is
removed by the next one that holds the lock. The directory itself is never replaced, as it may be a
link, a mounted volume or the place where the user is working, and nothing is ever removed from it
but what has one of these names and looks as we leave it.
"""

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from outpoint.errors import CheckpointError, OptionError
from outpoint.files import absolute
from outpoint.naming import named, option

POSTERIOR, EDGES, BEST_DAG = "posterior.npz", "edges.csv", "map.dot"
REPORT, SUMMARY = "report.html", "summary.json"
RUN_FILES = (POSTERIOR, EDGES, BEST_DAG, REPORT, SUMMARY)
"""The results, in the order in which they are moved into place: the last one says that all are."""

EARLIER_POSTERIOR = "posterior.nc"
"""The posterior of a run that an earlier version has made; it is replaced with the run."""

CHECKPOINT = "checkpoint"
LOCK, STAGING, DISCARDED = ".outpoint-lock", ".outpoint-staging", ".outpoint-discarded"
PART = re.compile(r"\.outpoint-\w+")
"""Names of directories in which single files, such as a new report, are written."""

IN_CHECKPOINT = re.compile(
    r"(run|scores|chain-\d+)\.checkpoint|\.(run|scores|chain-\d+)\.checkpoint\.\d+"
    r"|chain-\d+\.draws-\d+|table-[0-9a-f]+|stop"
)
IN_STAGING = re.compile("|".join([*map(re.escape, RUN_FILES), PART.pattern]))


class RunDirectory:
    """The directory of one run, which need not exist yet."""

    def __init__(self, path: str | Path) -> None:
        self._given = str(path)
        self.path = absolute(path, CheckpointError)  # wherever the user goes meanwhile

    def __str__(self) -> str:
        """The path, as the user gave it."""
        return self._given

    # Where things are

    @property
    def posterior(self) -> Path:
        """The posterior itself."""
        return self.path / POSTERIOR

    @property
    def found_posterior(self) -> Path:
        """The posterior, or the one that an earlier version has left in its place."""
        earlier = self.path / EARLIER_POSTERIOR
        is_earlier = os.path.exists(earlier) and not os.path.exists(self.posterior)
        return earlier if is_earlier else self.posterior

    @property
    def summary(self) -> Path:
        """The facts of the run; written last."""
        return self.path / SUMMARY

    @property
    def checkpoint(self) -> Path:
        """Where chains leave what is needed to continue them."""
        return self.path / CHECKPOINT

    @property
    def identity(self) -> Path:
        """What the run is, for those who want to continue it."""
        return self.checkpoint / "run.checkpoint"

    @property
    def scores(self) -> Path:
        """Scores of families that need not be computed again when the run is continued."""
        return self.checkpoint / "scores.checkpoint"

    @property
    def stop(self) -> Path:
        """A file that tells the tasks of a run to end at the next piece."""
        return self.checkpoint / "stop"

    def chain(self, index: int) -> Path:
        """The state of a chain."""
        return self.checkpoint / f"chain-{index}.checkpoint"

    def draws(self, index: int, thin: int) -> Path:
        """The file with the draws of a chain that are ``thin`` steps apart."""
        return self.checkpoint / f"chain-{index}.draws-{thin}"

    def table(self, digest: str) -> Path:
        """The score table with this digest."""
        return self.checkpoint / f"table-{digest}"

    # What is there

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to continue."""
        return os.path.isdir(self.checkpoint)  # Path.is_dir fails on endless names

    def check(self, *, overwrite: bool, resume: bool) -> None:
        """Refuse, before any work is done, a place where the run cannot be written."""
        try:
            self._check_content(overwrite, resume)
            tempfile.TemporaryFile(dir=_existing(self.path)).close()
        except OSError as error:
            raise OptionError(self.failure(error)) from None

    def _check_content(self, overwrite: bool, resume: bool) -> None:
        """A run goes to a new or empty directory; nothing but an earlier run is ever replaced."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        if not self.path.is_dir():
            raise OptionError(f"{self} is a file; {elsewhere()}.")
        entries = [path for path in sorted(self.path.iterdir()) if not _is_left_over(path)]
        known = (*RUN_FILES, EARLIER_POSTERIOR, CHECKPOINT)
        others = [path.name for path in entries if path.name not in known]
        if others:
            raise OptionError(
                f"{self} holds other files (such as {others[0]!r}), which a run must not mix "
                f"with: {elsewhere()}."
            )
        content = {path.name for path in entries}
        if resume:
            if content and not content & {CHECKPOINT, POSTERIOR}:
                raise OptionError(nothing_to_resume(self))
        elif content and not overwrite:
            if CHECKPOINT in content:
                raise OptionError(
                    f"{self} holds a run that can be continued: do so with "
                    f"{option('resume', True)}, {elsewhere()}, or replace the run with "
                    f"{option('overwrite', True)}."
                )
            raise OptionError(
                f"{self} holds an earlier run: {elsewhere()}, or replace the run with "
                f"{option('overwrite', True)}."
            )
        if self.has_checkpoint and not (resume and self.identity.exists()):
            self._refuse_foreign()

    def _refuse_foreign(self) -> None:
        """Refuse a checkpoint with files that are not ours, which would be removed with it."""
        if not _holds_only(self.checkpoint, IN_CHECKPOINT):
            raise CheckpointError(
                f"{self.checkpoint} holds files, but no run of outpoint: {elsewhere()}."
            )

    def failure(self, error: OSError) -> str:
        """A sentence about something that could not be written."""
        why = error.strerror or error
        if self.has_checkpoint:
            return (
                f"cannot write to {self} ({why}); the state of the run is kept: make that "
                f"possible and continue with {option('resume', True)}."
            )
        return f"cannot write to {self} ({why}): {elsewhere()}."

    # Writing

    @contextmanager
    def held(self, *, overwrite: bool = False, resume: bool = False) -> Iterator[None]:
        """Keep other processes away while a run is made, replaced or continued here.

        A directory that was made here and stays empty is removed again.
        """
        self.check(overwrite=overwrite, resume=resume)
        made = _missing(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = _acquire(self.path / LOCK, str(self))
        except OSError as error:
            raise OptionError(self.failure(error)) from None
        try:
            self.check(overwrite=overwrite, resume=resume)  # once more: now nobody else writes here
            self._remove_left_overs()
            yield
        finally:
            with suppress(OSError):
                (self.path / LOCK).unlink()  # while it is locked; see _acquire
            os.close(handle)
            for directory in made:
                with suppress(OSError):
                    directory.rmdir()

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """A place to write results, which are moved into theirs when all are there.

        Results of an earlier run that have no successor are removed.
        """
        staging = self.path / STAGING
        staging.mkdir()
        try:
            yield staging
            for name in (*RUN_FILES, EARLIER_POSTERIOR):
                if (staging / name).exists():
                    (staging / name).replace(self.path / name)
                else:
                    (self.path / name).unlink(missing_ok=True)
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    def discard_checkpoint(self) -> None:
        """Delete what continues the run, as a whole or not at all."""
        if not self.has_checkpoint:
            return
        self._refuse_foreign()
        try:
            if self.checkpoint.is_symlink():
                self.checkpoint.unlink()  # where it leads to is not ours
            else:
                self.checkpoint.rename(self.path / DISCARDED)
                self._remove_left_overs()
        except OSError as error:
            raise OptionError(self.failure(error)) from None

    def _remove_left_overs(self) -> None:
        """Delete what is not, or no longer, part of the run; the lock must be held."""
        for name in (STAGING, DISCARDED):
            path = self.path / name
            if path.exists() and _is_left_over(path):
                shutil.rmtree(path)


def elsewhere() -> str:
    """What to do where a run cannot be written."""
    return f"choose another directory for the run ({named('out')})"


def nothing_to_resume(run: RunDirectory) -> str:
    """A sentence about a run without checkpoints."""
    return (
        f"the run in {run} has left nothing that could be resumed: replace it with "
        f"{option('overwrite', True)}, or {elsewhere()}."
    )


def _is_left_over(path: Path) -> bool:
    """Whether something in the directory of a run is ours, but not part of the run."""
    if path.name == LOCK:
        try:
            kind = path.lstat()
        except FileNotFoundError:
            return True
        return stat.S_ISREG(kind.st_mode) and kind.st_size == 0
    if path.name == DISCARDED:
        return _holds_only(path, IN_CHECKPOINT)
    return bool(PART.fullmatch(path.name)) and _holds_only(path, IN_STAGING)


def _holds_only(directory: Path, names: re.Pattern[str]) -> bool:
    """Whether all that is in a directory has one of these names; a link to one is not ours."""
    if directory.is_symlink() and directory.name != CHECKPOINT:
        return False
    try:
        return all(names.fullmatch(path.name) for path in directory.iterdir())
    except NotADirectoryError:
        return False
    except FileNotFoundError:
        return True


def _existing(directory: Path) -> Path:
    """The directory itself, or its nearest ancestor that exists."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    return directory


def _missing(directory: Path) -> list[Path]:
    """The directory and those above it that do not exist, innermost first."""
    missing = []
    while not directory.exists() and directory != directory.parent:
        missing.append(directory)
        directory = directory.parent
    return missing


def _acquire(path: Path, run: str) -> int:
    """Lock a file, which is made if need be; the system lets go when this process ends.

    Whoever lets go of the lock removes the file before: a file that is no longer there when we
    have locked it was that of another process, and does not count.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            _lock(handle, run)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), path.lstat()):
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int, run: str) -> None:
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise CheckpointError(
                f"the run in {run} is in use by another process: wait for it to end."
            ) from None
        # a file system without locks: then nobody can hold one
