"""The same seed gives the same draws: whatever the threads, the rounds and the interpreter."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import outpoint as op
from outpoint.runs import ChainRecord
from outpoint.runs.runner import ChainRunner
from tests.grids import first
from tests.runs.broken import random_pieces
from tests.runs.problems import (
    CASES,
    NUMBERS,
    USUAL_STEPS,
    differing,
    environment,
    interrupt,
    judge_by,
    learn,
    same_draws,
    use_short_rounds,
)

ALWAYS = ("mcmc", "structure+rev")
SOME = [pytest.param(case, marks=() if case in ALWAYS else pytest.mark.long) for case in CASES]


@pytest.mark.parametrize("case", SOME)
def test_threads_rounds_and_pieces(case: str, tmp_path: Path) -> None:
    """In memory and on disk, with pieces of one sweep, of random length, and as long as can be."""
    runs = []
    ways = [(1, 200, 0.0), (2, 340, 0.0), (4, 20, 0.01), (3, 100_000, 1.0)]
    for number, (n_threads, steps, seconds) in enumerate(ways):
        with pytest.MonkeyPatch.context() as patch:
            use_short_rounds(patch, steps=steps, seconds=seconds)
            patch.setattr("outpoint.runs.teams.n_threads", lambda n=n_threads: n)
            patch.setattr("outpoint.kernels.n_threads", lambda n=n_threads: n)
            out = tmp_path / str(number) if number % 2 else None
            if number == 2:
                patch.setattr(ChainRunner, "_next_stop", ChainRunner._next_stop)
                random_pieces()
            runs.append(learn(case, out, checkpoint_seconds=1000.0, resume=False))
    assert all(same_draws(runs[0], other) for other in runs[1:])
    assert not same_draws(runs[0], _other_seed(case))
    assert differing(tmp_path / "1", tmp_path / "3") == []


def _other_seed(case: str) -> op.Posterior:
    with pytest.MonkeyPatch.context() as patch:
        use_short_rounds(patch)
        return learn(case, seed=77, resume=False)


@pytest.mark.parametrize("case", SOME)
def test_interrupted_and_continued(
    case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    learn(case, tmp_path / "whole")
    for step in (0, 600, 1100):
        interrupt(case, tmp_path / "run", step)
    learn(case, tmp_path / "run", progress=None)
    assert differing(tmp_path / "whole", tmp_path / "run") == []


@pytest.mark.parametrize(
    "case", first(["mcmc until converged", "mcmc", "structure until converged"])
)
def test_continued_with_unequal_chains(
    case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Chains that are behind catch up; no check of convergence is missed or added."""
    learn(case, tmp_path / "whole")
    early, late = tmp_path / "early", tmp_path / "late"
    interrupt(case, early, 700)
    interrupt(case, late, 1100)
    for path in (early / "checkpoint").glob("chain-1.*"):
        shutil.copy(path, late / "checkpoint" / path.name)
    learn(case, late)
    assert differing(tmp_path / "whole", late) == []


@pytest.mark.long
def test_chains_are_judged_at_the_same_step(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Even where one of them has lost its checkpoint and starts over."""
    case = "order until converged"
    learn(case, tmp_path / "whole")
    interrupt(case, tmp_path / "run", 4000)
    (tmp_path / "run" / "checkpoint" / "chain-1.checkpoint").unlink()
    judged = []

    def never(records: Sequence[ChainRecord]) -> bool:
        judged.append({record.n_steps for record in records})
        return False

    judge_by(short_rounds, never)
    learn(case, tmp_path / "run")
    assert all(len(steps) == 1 for steps in judged)
    assert min(judged[0]) >= 4000 - 260
    assert differing(tmp_path / "whole", tmp_path / "run") == []


SCRIPT = """
import sys
from collections.abc import Sequence
from pathlib import Path
from tests.runs.problems import learn, use_short_rounds
use_short_rounds(steps=300)
learn(sys.argv[2], Path(sys.argv[1]))
"""


@pytest.mark.long
@pytest.mark.parametrize("case", ["mcmc", "structure until converged"])
def test_hash_seeds(case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Nothing depends on the order of sets; nor do the bytes of the files on the process."""
    learn(case, tmp_path / "here")
    for seed in ("0", "random"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / seed), case],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert differing(tmp_path / "here", tmp_path / seed) == []


def test_a_run_for_some_time_is_the_beginning_of_a_longer_one(
    short_rounds: pytest.MonkeyPatch,
) -> None:
    """Where nothing has been halved, the draws are the first ones of a run of many steps."""
    timed = op.learn(NUMBERS, method="partition", time=1e-9, draws=100, seed=1, chains=2)
    taken = {  # the clock allowed for less
        "search_effort": timed.info.taken["search_effort"],
        "max_parents": timed.info.max_parents,
    }
    length = {"warmup": 260, "steps": 8000, "draws": 800}
    fixed = op.learn(NUMBERS, method="partition", seed=1, chains=2, **length, **taken)
    record = timed.records[0]
    assert record.thin == USUAL_STEPS // 100
    n_kept = record.n_steps // record.thin
    for whole, part in zip(fixed.records, timed.records, strict=True):
        assert (whole.codes[:n_kept] == part.codes).all()
