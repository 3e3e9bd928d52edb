"""The directory of a run: one process at a time, and never anything of somebody else's."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import outpoint as op
from outpoint.runs import RunDirectory, directory
from outpoint.runs.directory import DISCARDED, LOCK, RUN_FILES, STAGING
from tests.grids import covering
from tests.runs.problems import NUMBERS, environment, interrupt, learn


def exact(out: Path, **options: Any) -> op.Posterior:
    return op.learn(NUMBERS, seed=1, out=out, **options)


def names_in(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def contents(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


# Two at a time

HOLD = """
    import sys
    from outpoint.runs import RunDirectory
    with RunDirectory(sys.argv[1]).held(overwrite=True):
        print("held", flush=True)
        sys.stdin.read()
"""


def start_holder(place: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(HOLD), str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.mark.attack("a second run in the same directory", "refused, nothing changes", times=6)
def test_a_second_run_is_refused(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Exact or sampled, new or to be replaced; until the first one ends, or is killed."""
    place = tmp_path / "run"
    exact(place)
    before = contents(place)
    for end in ("", "kill"):
        holder = start_holder(place)
        try:
            for options in ({"overwrite": True}, {"resume": True}):
                with pytest.raises(op.CheckpointError, match="in use by another process"):
                    exact(place, **options)
            with pytest.raises(op.CheckpointError, match="in use by another process"):
                learn("mcmc", place, resume=False, overwrite=True)
            assert {k: v for k, v in contents(place).items() if LOCK not in k} == before
        finally:
            if end:
                holder.kill()
            holder.communicate("")
        assert (LOCK in names_in(place)) == bool(end), "only what is killed leaves its lock"
    exact(place, overwrite=True)
    assert names_in(place) == sorted(RUN_FILES)


def test_the_lock_is_held_until_the_results_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_rounds: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    write = op.learning.write_run

    def look(posterior: op.Posterior, run: RunDirectory, **options: Any) -> None:
        with (
            pytest.raises(op.CheckpointError, match="in use"),
            RunDirectory(run.path).held(overwrite=True),
        ):
            pass
        held.append(True)
        write(posterior, run, **options)

    monkeypatch.setattr("outpoint.learning.write_run", look)
    exact(tmp_path / "exact")
    learn("mcmc", tmp_path / "mcmc")
    assert held == [True, True]


RACE = """
    import os, sys, time
    from pathlib import Path
    from outpoint.errors import CheckpointError
    from outpoint.runs import RunDirectory, directory
    place, counter, n_processes, n_times = Path(sys.argv[1]), Path(sys.argv[2]), 4, 50
    counter.write_text("0")
    for _ in range(n_processes):
        if os.fork() == 0:
            for _ in range(n_times):
                while True:
                    try:
                        with RunDirectory(place).held(overwrite=True):
                            number = int(counter.read_text())
                            time.sleep(0.0002)
                            counter.write_text(str(number + 1))
                        break
                    except CheckpointError:
                        time.sleep(0.0001)
            os._exit(0)
    codes = [os.wait()[1] for _ in range(n_processes)]
    print(codes, counter.read_text())
"""


@pytest.mark.attack("processes that race for one directory", "one at a time", times=200)
def test_a_race(tmp_path: Path) -> None:
    """The lock is made and removed 200 times by four processes that count together."""
    (tmp_path / "run").mkdir()
    words = ["-c", textwrap.dedent(RACE), str(tmp_path / "run"), str(tmp_path / "counter")]
    done = subprocess.run(
        [sys.executable, *words], env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "[0, 0, 0, 0] 200\n", done.stderr
    assert list((tmp_path / "run").iterdir()) == []


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_lock_that_was_removed_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_checked: bool
) -> None:
    """Another process removes its lock between our opening and our locking it.

    Without the look whether the file is still there, we would hold what nobody else can see.
    """
    path, lock = tmp_path / LOCK, directory._lock
    removals = iter([True])

    def lock_late(handle: int, run: str) -> None:
        if next(removals, False):
            path.unlink()
        lock(handle, run)

    monkeypatch.setattr(directory, "_lock", lock_late)
    if not is_checked:
        monkeypatch.setattr("os.path.samestat", lambda one, other: True)
        path.touch()
        monkeypatch.setattr(Path, "lstat", lambda self: None)
    handle = directory._acquire(path, "run")
    monkeypatch.undo()
    is_visible = path.exists() and os.path.samestat(os.fstat(handle), path.lstat())
    os.close(handle)
    assert is_visible == is_checked


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import fcntl

    def fail(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    exact(tmp_path / "run")
    assert names_in(tmp_path / "run") == sorted(RUN_FILES)


# Files of others

THEIRS: dict[str, str] = {
    "a directory like ours": ".outpoint-mine/notes.txt",
    "files in our staging directory": f"{STAGING}/thesis.tex",
    "files among discarded checkpoints": f"{DISCARDED}/model.pt",
    "a lock with something in it": LOCK,
    "a file": "notes.txt",
}


@pytest.mark.attack("files of the user in the directory of a run", "refused, nothing changes")
@pytest.mark.parametrize(
    ("kind", "options"), covering(list(THEIRS), [{}, {"overwrite": True}, {"resume": True}])
)
def test_files_of_others(tmp_path: Path, kind: str, options: dict[str, Any]) -> None:
    place = tmp_path / "run"
    if options:
        exact(place)
    mine = place / THEIRS[kind]
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("mine")
    before = contents(place)
    with pytest.raises(op.OptionError, match="holds other files"):
        exact(place, **options)
    assert contents(place) == before


def test_an_empty_directory_like_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "run" / ".outpoint-mine").mkdir(parents=True)
    exact(tmp_path / "run")
    assert names_in(tmp_path / "run") == sorted([*RUN_FILES, ".outpoint-mine"])


@pytest.mark.attack("links in the place of our files", "refused, the target stays")
@pytest.mark.parametrize("name", [LOCK, STAGING, DISCARDED])
@pytest.mark.parametrize("kind", ["file", "directory", "nowhere"])
def test_links(tmp_path: Path, name: str, kind: str) -> None:
    """Nothing is written, truncated or removed where they lead."""
    place, target = tmp_path / "run", tmp_path / "target"
    place.mkdir()
    if kind == "file":
        target.write_text("mine")
    elif kind == "directory":
        target.mkdir()
        (target / "posterior.npz").write_text("mine")
    (place / name).symlink_to(target)
    with pytest.raises(op.OptionError, match="holds other files"):
        exact(place)
    assert (place / name).is_symlink()
    assert target.exists() == (kind != "nowhere")
    if kind == "file":
        assert target.read_text() == "mine"
    elif kind == "directory":
        assert (target / "posterior.npz").read_text() == "mine"


def test_a_link_that_comes_at_the_last_moment(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / LOCK).symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic link"):
        directory._acquire(tmp_path / LOCK, "run")
    assert (tmp_path / "target").read_text() == "mine"


# What killed processes leave


@pytest.mark.attack("what a killed process leaves in the directory", "removed by the next run")
@pytest.mark.parametrize("options", [{"overwrite": True}, {"resume": True}])
def test_left_overs_are_removed(tmp_path: Path, options: dict[str, Any]) -> None:
    place = tmp_path / "run"
    (place / STAGING / ".outpoint-x7_y").mkdir(parents=True)
    (place / STAGING / "posterior.npz").write_text("half of it")
    (place / STAGING / ".outpoint-x7_y" / "report.html").write_text("half of it")
    (place / DISCARDED / "table-0123abcd").mkdir(parents=True)
    (place / DISCARDED / "chain-0.draws-10").write_text("some")
    (place / LOCK).touch()
    exact(place, **options)
    assert names_in(place) == sorted(RUN_FILES)


def test_a_run_without_its_lock_can_be_resumed(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    interrupt("mcmc", tmp_path / "run")
    assert LOCK not in names_in(tmp_path / "run")
    assert learn("mcmc", tmp_path / "run").is_complete


def test_a_failure_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(op.OptionError, match="method must be one of"):
        exact(tmp_path / "deep" / "run", method="nonsense")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"data": "no such file"}, {"data": NUMBERS, "score": "bdeu"}])
def test_a_run_is_not_replaced_by_a_mistake(
    tmp_path: Path, wrong: dict[str, Any], short_rounds: pytest.MonkeyPatch
) -> None:
    """With --overwrite the earlier run goes when there is something to put into its place."""
    interrupt("mcmc", tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(op.OutpointError):
        op.learn(**wrong, out=tmp_path / "run", overwrite=True)
    assert contents(tmp_path / "run") == before
    exact(tmp_path / "run", overwrite=True)
    assert names_in(tmp_path / "run") == sorted(RUN_FILES), "the exact run has no checkpoints"


def test_foreign_files_among_checkpoints_are_not_removed(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    interrupt("mcmc", tmp_path / "run")
    mine = tmp_path / "run" / "checkpoint" / "notes.txt"
    mine.write_text("mine")
    with pytest.raises(op.CheckpointError, match="holds files, but no run of outpoint"):
        learn("mcmc", tmp_path / "run", resume=False, overwrite=True)
    assert mine.read_text() == "mine"
    assert learn("mcmc", tmp_path / "run").is_complete, "to continue, nothing has to go"


def test_a_checkpoint_that_is_a_link(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """To a larger disk, say: used, and left alone when the run is replaced."""
    (tmp_path / "large").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").symlink_to(tmp_path / "large")
    interrupt("mcmc", tmp_path / "run")
    assert "run.checkpoint" in names_in(tmp_path / "large")
    assert learn("mcmc", tmp_path / "run").is_complete
    exact(tmp_path / "run", overwrite=True)
    assert names_in(tmp_path / "run") == sorted(RUN_FILES)
    assert "run.checkpoint" in names_in(tmp_path / "large")


def test_every_name_in_a_directory_is_known(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    learn("mcmc", tmp_path / "run")
    run = RunDirectory(tmp_path / "run")
    run.scores.touch()
    found = names_in(run.checkpoint)
    assert "run.checkpoint" in found
    assert "chain-0.checkpoint" in found
    assert all(directory.IN_CHECKPOINT.fullmatch(name) for name in found)
    with run.held(overwrite=True):
        run.discard_checkpoint()
    assert names_in(run.path) == sorted(RUN_FILES)
