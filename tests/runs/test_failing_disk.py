"""Disks that are full, directories that go: a sentence, and nothing lost that was good before."""

import resource
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import outpoint as op
from outpoint.cli import main
from outpoint.posterior import files
from outpoint.runs import Progress, runner
from tests.grids import first
from tests.runs.problems import NUMBERS, differing, interrupt, learn

MANY_DRAWS: dict[str, Any] = {"steps": 9000, "draws": 9000}
"""Draws that take more room than anything else."""


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file can become larger, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing happens to."""
    out = tmp_path_factory.mktemp("whole") / "run"
    learn("mcmc", out)
    return out


def failure(out: Path, **options: Any) -> str:
    with pytest.raises(op.OutpointError) as caught:
        learn("mcmc", out, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    assert str(out) in sentence
    return sentence


@pytest.mark.attack("a full disk", "one sentence, what was good is kept", times=2)
@pytest.mark.parametrize("limit", first([1000, 0, 20_000]))
def test_no_room_for_a_checkpoint(
    tmp_path: Path, whole: Path, limit: int, short_rounds: pytest.MonkeyPatch
) -> None:
    """At the very beginning, and after a number of good ones."""
    with largest_file(limit):
        sentence = failure(tmp_path / "run")
    assert "File too large" in sentence
    interrupt("mcmc", tmp_path / "run", 1500)
    with largest_file(limit):
        sentence = failure(tmp_path / "run")
    assert "File too large" in sentence
    assert "continue with resume=True" in sentence
    learn("mcmc", tmp_path / "run")
    assert differing(whole, tmp_path / "run") == []


@pytest.mark.long
@pytest.mark.attack("a full disk")
def test_no_room_for_draws(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    short_rounds.setattr("outpoint.runs.driving.FIRST_ROUND", 1000)
    learn("mcmc", tmp_path / "whole", **MANY_DRAWS)
    for limit in (150_000, 150_001, 200_000):
        with largest_file(limit):
            sentence = failure(tmp_path / "run", **MANY_DRAWS)
        assert "(File too large); the last good state is kept" in sentence
        draws = sorted((tmp_path / "run" / "checkpoint").glob("chain-*.draws-*"))
        assert max(path.stat().st_size for path in draws) > 100_000, "the draws were the problem"
    learn("mcmc", tmp_path / "run", **MANY_DRAWS)
    assert differing(tmp_path / "whole", tmp_path / "run") == []


@pytest.mark.attack("a full disk")
@pytest.mark.parametrize("share", first([0.2, 0.0, 0.95]))
def test_no_room_for_the_results(
    tmp_path: Path, whole: Path, share: float, short_rounds: pytest.MonkeyPatch
) -> None:
    """The disk is full after a share of the bytes of the posterior."""
    write = files.write_posterior
    limit = int(share * (whole / "posterior.npz").stat().st_size)

    def write_little(posterior: op.Posterior, path: Path) -> None:
        with largest_file(limit):
            write(posterior, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "write_posterior", write_little)
        sentence = failure(tmp_path / "run")
        assert "continue with resume=True" in sentence
        assert [path.name for path in (tmp_path / "run").iterdir()] == ["checkpoint"]
        posterior = op.load(whole)
        with pytest.raises(op.OptionError, match=r"cannot write .*posterior.npz"):
            posterior.save(tmp_path / "posterior.npz")
        assert not list(tmp_path.glob("*posterior.npz*"))
    learn("mcmc", tmp_path / "run")
    assert differing(whole, tmp_path / "run") == []


class AtStep:
    """Does something once, when the chains have taken so many steps."""

    def __init__(self, step: int, action: Any) -> None:
        self._step = step
        self._action = action

    def __call__(self, progress: Progress) -> None:
        if self._action and progress.chains and progress.chains[0].step >= self._step:
            action, self._action = self._action, None
            action()


@pytest.mark.attack("a directory that goes or cannot be written", "one sentence")
@pytest.mark.parametrize("step", [200, 2000])
def test_removed_directory(tmp_path: Path, step: int, short_rounds: pytest.MonkeyPatch) -> None:
    remove = AtStep(step, lambda: shutil.rmtree(tmp_path / "run"))
    sentence = failure(tmp_path / "run", progress=remove)
    assert "has disappeared while the run was going on" in sentence
    assert not (tmp_path / "run").exists()


@pytest.mark.attack("a directory that goes or cannot be written")
def test_a_directory_that_is_moved_away(
    tmp_path: Path, whole: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    move = AtStep(2000, lambda: (tmp_path / "run").rename(tmp_path / "elsewhere"))
    assert "has disappeared" in failure(tmp_path / "run", progress=move)
    learn("mcmc", tmp_path / "elsewhere")
    assert differing(whole, tmp_path / "elsewhere") == []


@pytest.mark.attack("a directory that goes or cannot be written")
def test_unwritable_directory(
    tmp_path: Path, whole: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The system refuses to write, whoever we are."""
    write = runner.write_checkpoint
    calls = 0

    def refuse(path: Path, *rest: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise PermissionError(13, "Permission denied")
        write(path, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "write_checkpoint", refuse)
        assert "(Permission denied); the last good state is kept" in failure(tmp_path / "run")
    learn("mcmc", tmp_path / "run")
    assert differing(whole, tmp_path / "run") == []


@pytest.mark.long
def test_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    short_rounds: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit code 2, one sentence; and then the run goes on."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OUTPOINT_TRACEBACK", raising=False)
    NUMBERS.to_frame().to_csv("data.csv", index=False)
    words = ["outpoint", "learn", "data.csv", "--method", "mcmc", "--steps", "9000"]
    words += ["--draws", "9000", "--seed", "1", "--quiet"]
    monkeypatch.setattr(sys, "argv", [*words, "--out", "whole"])
    main()
    monkeypatch.setattr(sys, "argv", [*words, "--out", "run"])
    with largest_file(150_000), pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (sentence,) = shown.err.splitlines()
    assert sentence.startswith("outpoint: cannot write to ")
    assert sentence.endswith("make room there and continue with --resume.")
    monkeypatch.setattr(sys, "argv", [*words, "--out", "run", "--resume"])
    main()
    assert differing(tmp_path / "whole", tmp_path / "run") == []
