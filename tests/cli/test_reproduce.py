"""``outpoint reproduce``: the paper's experiments, in short."""

from pathlib import Path

import pytest

from outpoint.experiments import runs
from tests.cli.conftest import Run

QUICK = ("reproduce", "three-nodes", "--quick", "--seeds", "2", "--out", "again")


def test_quick_run_and_its_files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OUTPOINT_PAPER_DATA", raising=False)
    outcome = run(*QUICK)
    assert outcome.code == 0, outcome.err
    for line in ("best scores", "against the exact posterior", "numbers of edges"):
        assert f"three nodes, log score = number of edges: {line}\n" in outcome.out
    place = Path("again", "three-nodes")
    for name in ("results.md", "traces.png", "densities.png", "seeds-mcmc.png", "order.result"):
        assert (place / name).stat().st_size > 0
    text = (place / "results.md").read_text()
    assert "| posterior, once per order | 0.019 | 0.159 | 0.431 | 0.391 |" in text

    before = (place / "order.result").stat().st_mtime_ns
    assert "--resume" in run(*QUICK).err
    monkeypatch.setattr(runs.op, "learn", None)  # nothing is left to be computed
    again = run(*QUICK, "--resume", "--quiet")
    assert (again.code, again.out, again.err) == (0, "", "")
    assert (place / "order.result").stat().st_mtime_ns == before


def interrupt(*arguments: object) -> None:
    raise KeyboardInterrupt


def test_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.experiments.experiment.run_sampler", interrupt)
    outcome = run(*QUICK, "--quiet")
    assert outcome.code == 130
    assert "continue with: outpoint reproduce --resume three-nodes" in outcome.err
    assert Path("again", "three-nodes", "exact.result").exists()


def test_overwrite_removes_earlier_results(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.experiments.experiment.run_sampler", interrupt)
    place = Path("again", "three-nodes")
    place.mkdir(parents=True)
    for name in ("order.result", "notes.txt"):
        (place / name).write_text("earlier")
    assert run(*QUICK, "--quiet").code == 2
    assert (place / "order.result").exists()
    assert run(*QUICK, "--overwrite", "--quiet").code == 130
    assert sorted(path.name for path in place.iterdir()) == ["exact.result", "notes.txt"]


@pytest.mark.parametrize(
    ("words", "fragment"),
    [
        (("sim15",), "there is no experiment 'sim15': choose three-nodes,"),
        (("boston", "--seeds", "1"), "--seeds must be a whole number from 2"),
        (("boston", "--out", "data.csv"), "cannot write to data.csv"),
    ],
)
def test_bad_input(run: Run, words: tuple[str, ...], fragment: str) -> None:
    outcome = run("reproduce", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert fragment in outcome.err
    assert outcome.err.count("\n") == 1
