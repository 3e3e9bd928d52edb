"""Runs that are killed at any moment, and continued, end like runs that never were.

``edges.csv``, ``map.dot`` and ``posterior.npz`` must be the same byte for byte, and
``summary.json`` but for the time it took.
"""

import json
from pathlib import Path
from typing import Any

import pytest

import outpoint as op
from outpoint.runs.directory import LOCK, RUN_FILES
from tests.grids import first
from tests.runs.problems import CASES, learn, python

WRITE = "outpoint.runs.runner:write_checkpoint"
APPEND = "outpoint.runs.runner:FileDraws._write"
REMOVE_TREE = "outpoint.runs.directory:shutil.rmtree"

HALVE = "outpoint.runs.runner:FileDraws.halve"
STAGE = "outpoint.posterior.files:_draw_report"

WINDOWS: dict[str, list[list[Any]]] = {
    "mcmc": [
        [WRITE, 20, False],  # draws are on the disk, the checkpoint is not
        ["outpoint.runs.directory:Path.replace", 3, True],  # the report made, two files in place
    ],
    "structure until converged": [
        ["halving", 1, True],
        ["outpoint.runs.runner:FileDraws.forget_outdated", 37, False],
    ],
}
MORE_WINDOWS: dict[str, list[list[Any]]] = {
    "mcmc": [
        ["outpoint.runs.manifest:write_checkpoint", 1, False],  # an empty checkpoint
        [WRITE, 1, False],
        [WRITE, 2, False],  # one chain has a checkpoint, the others have none
        [WRITE, 20, True],
        ["outpoint.runs.checkpoint:os.replace", 8, False],  # written, not renamed
        ["outpoint.runs.runner:FileDraws.flush", 30, True],
        [APPEND, 37, True],
        [STAGE, 1, False],  # files written, none in its place
        [STAGE, 1, True],
        [REMOVE_TREE, 2, False],  # all files in place, the lock still there
    ],
    "structure until converged": [
        ["halving", 2, True],
        [HALVE, 2, False],
        [HALVE, 2, True],
        [HALVE, 9, True],
        ["outpoint.runs.runner:FileDraws.forget_outdated", 38, False],
        [STAGE, 1, True],
    ],
}


def kill(place: Path, case: str, **job: Any) -> dict[str, Any]:
    words = json.dumps({"case": case, "directory": str(place), **job})
    done = python("-m", "tests.runs.killing", words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def check_random_kills(place: Path, case: str, kills: int, seed: int) -> None:
    found = kill(place, case, kills=kills, seed=seed)
    assert found["different"] == []
    assert found["kills"] == kills
    assert found["continued"] > 0, "no kill came after a checkpoint"


@pytest.mark.attack("a sampled run killed at a random time", "continues to the same bytes", times=3)
@pytest.mark.parametrize("case", first(["mcmc", "structure until converged"]))
def test_random_kills(tmp_path: Path, case: str) -> None:
    check_random_kills(tmp_path, case, kills=3, seed=1)


@pytest.mark.attack("a sampled run killed at a random time", times=7)
@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_fifty_random_kills(tmp_path: Path, case: str) -> None:
    """Seven for each of eight cases."""
    check_random_kills(tmp_path, case, kills=7, seed=2)


def check_windows(place: Path, case: str, deaths: list[list[Any]]) -> dict[str, Any]:
    found = kill(place, case, windows=deaths)
    assert "failed" not in found, found
    windows: dict[str, Any] = found["windows"]
    for window in windows.values():
        assert window["different"] == []
        assert [name for name in window["now"] if name.startswith(".")] == []
        assert "checkpoint/run.checkpoint" in window["now"], "it can be continued"
    return windows


@pytest.mark.attack("a run killed at a critical moment", "continues to the same bytes")
@pytest.mark.parametrize("case", first(WINDOWS))
def test_deaths_in_critical_moments(tmp_path: Path, case: str) -> None:
    windows = check_windows(tmp_path, case, WINDOWS[case])
    if case == "mcmc":
        left = windows["outpoint.runs.directory:Path.replace 3 after"]["left"]
        assert "posterior.npz" in left
        assert "summary.json" not in left
        assert any(name.startswith(".outpoint-") for name in left)
    else:
        left = windows["outpoint.runs.runner:FileDraws.forget_outdated 37 before"]["left"]
        assert {"checkpoint/chain-0.draws-22", "checkpoint/chain-0.draws-44"} <= set(left)


@pytest.mark.attack("a run killed at a critical moment")
@pytest.mark.long
@pytest.mark.parametrize("case", MORE_WINDOWS)
def test_deaths_in_more_critical_moments(tmp_path: Path, case: str) -> None:
    check_windows(tmp_path, case, MORE_WINDOWS[case])


EXACT: list[list[Any]] = [
    [STAGE, 1, False],  # the posterior written, nothing in its place
    [STAGE, 1, True],
    ["outpoint.runs.directory:Path.replace", 3, True],
    [REMOVE_TREE, 2, False],
    ["outpoint.learning:solve", 1, True],
]


@pytest.mark.attack(
    "an exact run that dies at a given place", "made anew, nothing is left", times=5
)
def test_exact_runs_that_die(tmp_path: Path) -> None:
    found = kill(tmp_path, "exact", windows=EXACT)
    for window in found["windows"].values():
        assert window["different"] == []
        assert LOCK in window["left"]
        assert window["now"] == sorted(RUN_FILES)


@pytest.mark.long
@pytest.mark.attack("an exact run killed at a random time", "made anew, the same bytes", times=30)
def test_random_kills_of_exact_runs(tmp_path: Path) -> None:
    found = kill(tmp_path, "exact", kills=30, seed=4)
    assert found["kills"] == 30
    assert found["different"] == []


class Death(BaseException):
    """As far as the program can tell."""


@pytest.mark.attack("a run killed at a critical moment")
def test_a_killed_removal_leaves_nothing_to_continue(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The state of a run goes as a whole: half of it could not be continued."""
    run = tmp_path / "run"
    learn("partition", run)

    def die(*_: Any, **__: Any) -> None:
        raise Death

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("outpoint.runs.directory.shutil.rmtree", die)
        with pytest.raises(Death):
            learn("partition", run, resume=False, overwrite=True)
    assert not (run / "checkpoint").exists()
    assert (run / "summary.json").exists()
    with pytest.raises(op.CheckpointError, match="has left nothing that could be resumed"):
        learn("partition", run, steps=6000)
    assert learn("partition", run).is_complete, "the results are there"
    learn("partition", run, resume=False, overwrite=True)
    assert not list(run.glob(".*"))


FAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    "forgets_generator": ("mcmc", {"kills": 4, "seed": 3}),
    "forgets_sums": ("mcmc", {"kills": 4, "seed": 3}),
    "forgets_best": ("order", {"kills": 12, "seed": 3}),
    "keeps_all_draws": ("mcmc", {"windows": [[APPEND, 37, True]]}),
    "removes_draws_early": (
        "structure until converged",
        {"windows": [[HALVE, 1, True]]},
    ),
    "halves_by_pieces": ("order until converged", {"kills": 2, "seed": 3}),
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_noticed(tmp_path: Path, fault: str) -> None:
    case, job = FAULTS[fault]
    words = json.dumps({"case": case, "directory": str(tmp_path), "broken": fault, **job})
    done = python("-m", "tests.runs.killing", words)
    if done.returncode == 0:
        found = json.loads(done.stdout)
        windows = found.get("windows", {}).values()
        assert found.get("different") or any(window["different"] for window in windows)
    else:
        assert "did not end well" in done.stderr


@pytest.mark.long
def test_pieces_of_random_length_are_no_fault(tmp_path: Path) -> None:
    found = kill(tmp_path, "order until converged", kills=6, seed=3, broken="random_pieces")
    assert found["different"] == []
