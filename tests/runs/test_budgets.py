"""How long runs go on, and which draws they keep."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.mcmc import SAMPLERS, SWEEP
from outpoint.mcmc.trace import KeptDags
from outpoint.options import LEARN, Options
from outpoint.posterior import SampledPosterior
from outpoint.runs import ChainRecord, Progress
from outpoint.runs.driving import Budget
from outpoint.runs.runner import FileDraws, MemoryDraws
from outpoint.sampling import Plan
from tests.grids import covering, first
from tests.runs.problems import (
    NUMBERS,
    USUAL_STEPS,
    Stopwatch,
    differing,
    interrupt,
    judge_by,
    learn,
    same_draws,
)

START = np.zeros(5, dtype=np.int32), np.zeros((5, 5), dtype=np.bool_), 0.0


def options_of(method: str = "mcmc", n_nodes: int = 5, **options: Any) -> Plan:
    asked = Options.read(LEARN, {"max_parents": 3, "seed": 1, **options})
    return Plan(asked, SAMPLERS[method], n_nodes)


def parse_seconds(time: Any) -> float | None:
    return Options.read(LEARN, {"time": time}).time


def sample(**options: Any) -> SampledPosterior:
    chosen = {"method": "partition", "chains": 2, "seed": 1} | options
    posterior = op.learn(NUMBERS, **chosen)
    assert isinstance(posterior, SampledPosterior)
    return posterior


# Steps


@pytest.mark.parametrize("steps", first([1, 19, 1234, 20, 21, 399, 401], 3))
def test_steps_are_kept_to(steps: int, short_rounds: pytest.MonkeyPatch) -> None:
    for method in SAMPLERS:
        posterior = sample(method=method, steps=steps, draws=10)
        assert [record.n_steps for record in posterior.records] == [steps, steps]
        assert posterior.n_draws == (9 if steps == 19 else min(10, steps))
        assert posterior.is_complete


# Time


def test_time(short_rounds: pytest.MonkeyPatch) -> None:
    """About the time asked for; the first round, in which kernels are compiled, comes on top."""
    short_rounds.undo()
    short_rounds.setattr("outpoint.runs.teams.ThreadTeam.round_seconds", 0.2)
    sample(time=0.01)
    begun = perf_counter()
    posterior = sample(time=1.5)
    took = perf_counter() - begun
    assert 1.5 <= took < 6.0
    assert posterior.is_complete
    assert posterior.n_draws >= 8


@pytest.mark.parametrize("draws", first([500, 5, 10, 1000, 5000], 2))
def test_no_time_at_all_still_gives_some_draws(
    draws: int, short_rounds: pytest.MonkeyPatch
) -> None:
    short_rounds.setattr("outpoint.runs.driving.FIRST_ROUND", SWEEP)
    for method in SAMPLERS:
        posterior = sample(method=method, time=1e-9, draws=draws)
        record = posterior.records[0]
        assert record.n_steps >= 8 * (USUAL_STEPS // min(draws, USUAL_STEPS))
        assert posterior.n_draws >= 3
        assert posterior.edge_probabilities.to_numpy().max() > 0
        assert posterior.verdict


def test_steps_limit_the_time(short_rounds: pytest.MonkeyPatch) -> None:
    for steps in (1, 50, 777):
        posterior = sample(time="1h", steps=steps)
        assert posterior.steps_per_chain == steps
        assert posterior.n_draws >= 1


@pytest.mark.long
def test_more_time_continues_the_run(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Order MCMC is never said to have converged, so that nothing else ends it."""
    out = tmp_path / "run"
    first = sample(method="order", time=0.1, out=out)
    with pytest.raises(op.OptionError, match="can be continued: do so with resume=True"):
        sample(method="order", time=0.1, out=out)
    same = sample(method="order", time=0.1, out=out, resume=True)
    assert same_draws(first, same), "the time was up"
    more = sample(method="order", time=0.4, out=out, resume=True)
    assert more.steps_per_chain > first.steps_per_chain
    assert same_draws(more, op.load(out))
    steps = more.steps_per_chain
    again = sample(
        method="order", until_converged=True, steps=steps - steps % SWEEP, out=out, resume=True
    )
    assert same_draws(more, again), "nothing to do"


@pytest.mark.parametrize(
    ("steps", "draws", "thin"),
    [(1000, 1000, 1), (1999, 1000, 2), (100, 33, 3), (2500, 1000, 3), (50_000, 1000, 50)],
)
def test_draws_are_spread_over_the_run(steps: int, draws: int, thin: int) -> None:
    """Rather a few draws less than none of the second half of the run."""
    assert options_of(steps=steps, draws=draws).settings(*START).thin == thin


def test_a_single_chain_is_not_prolonged() -> None:
    """It can never show that it has converged."""
    assert options_of(chains=1).budget.steps == 20_000
    assert options_of().budget.steps == 500_000
    assert options_of(n_nodes=40).budget.steps == 500_000
    assert options_of(n_nodes=100).budget.steps == 200_000
    assert options_of(n_nodes=2_000).budget.steps == 20_000
    assert options_of(n_nodes=100, until_converged=True).budget.steps == 5_000_000
    assert options_of(n_nodes=100, steps=300_000).budget.steps == 300_000
    assert options_of().budget.first_check == 20_000
    assert options_of("partition").budget == Budget(steps=1_000_000)


def test_no_candidates_are_refused() -> None:
    with pytest.raises(op.OptionError, match="at least one candidate"):
        sample(n_candidates=0)


def test_times() -> None:
    for text, seconds in {
        "90": 90,
        "90s": 90,
        " 1.5 h ": 5400,
        "10m": 600,
        "10min": 600,
        "2d": 172800,
        5: 5,
        0.5: 0.5,
        1e-9: 1e-9,
        1e9: 1e9,
        ".5s": 0.5,
    }.items():
        assert parse_seconds(text) == seconds
    assert parse_seconds(None) is None
    for text in ("", "s", "-1s", "1y", "1 2", "1e3", "inf", "nan", True, "0", 0, -1, float("nan")):
        with pytest.raises(op.OptionError):
            parse_seconds(text)


@pytest.mark.parametrize("value", [-1, float("nan"), "30", None, True])
def test_time_between_checkpoints(value: Any) -> None:
    with pytest.raises(op.OptionError, match="checkpoint_seconds must be a number from 0"):
        sample(steps=10, checkpoint_seconds=value)


# Until converged


def check_steps(first: int, last: int) -> list[int]:
    """The points where convergence is looked at, by the rule as it is documented."""
    points = [first]
    while points[-1] < last:
        points.append(int(points[-1] * 1.25) // SWEEP * SWEEP + SWEEP)
    return points


def test_points_of_checks() -> None:
    budget = Budget(steps=None, until_converged=True, first_check=1000)
    points = check_steps(1000, 40_000)
    assert points[:4] == [1000, 1260, 1580, 1980]
    found = [step for step in range(SWEEP, 40_001, SWEEP) if budget.checks_after(step) == step]
    assert found == [point for point in points if point <= 40_000]
    assert all(1.25 <= b / a < 1.3 for a, b in pairwise(points))


def test_ends_at_the_first_check_that_says_so(short_rounds: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def late(records: Sequence[ChainRecord]) -> bool:
        asked.append(min(record.n_steps for record in records))
        return asked[-1] > 4000

    judge_by(short_rounds, late)
    posterior = sample(until_converged=True)
    points = check_steps(USUAL_STEPS, 4000)
    assert asked == points
    assert posterior.steps_per_chain == points[-1]


@pytest.mark.parametrize("steps", [1, 20, 50, 500, 1500, 4000])
def test_the_limit_is_kept_to(steps: int, short_rounds: pytest.MonkeyPatch) -> None:
    """Up to whole sweeps; order MCMC is biased and never said to have converged."""
    posterior = sample(method="order", until_converged=True, steps=steps)
    assert posterior.steps_per_chain == -(-steps // SWEEP) * SWEEP
    assert not posterior.converged
    assert posterior.is_complete


def test_time_limits_it_too(short_rounds: pytest.MonkeyPatch) -> None:
    posterior = sample(method="order", until_converged=True, time=0.3)
    assert not posterior.converged
    assert posterior.steps_per_chain >= 100


def test_some_hundred_times_the_usual_is_enough() -> None:
    options = options_of(until_converged=True)
    assert options.budget.steps == 250 * 20_000
    assert options.budget.first_check == 20_000


@pytest.mark.parametrize("case", first(["mcmc until converged", "structure until converged"]))
def test_continued_to_the_same_end(
    case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    whole = learn(case, tmp_path / "whole")
    interrupt(case, tmp_path / "run", 900)
    assert same_draws(whole, learn(case, tmp_path / "run"))
    assert differing(tmp_path / "whole", tmp_path / "run") == []


def test_a_higher_limit_continues_the_run(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    options = {"method": "order", "until_converged": True}
    sample(**options, steps=2000, out=tmp_path / "run")
    more = sample(**options, steps=7000, out=tmp_path / "run", resume=True)
    assert same_draws(more, sample(**options, steps=7000))


# Draws


@pytest.mark.parametrize(
    ("steps", "draws"), covering([500, 1000, 2000, 2020, 5000, 16000], [1, 7, 45, 499, 1000])
)
def test_draws_of_a_run_of_unknown_length(
    steps: int, draws: int, short_rounds: pytest.MonkeyPatch
) -> None:
    """Structure MCMC keeps draws without random numbers: a run that keeps them all is the oracle.

    Up to the planned steps ``draws`` are kept, then between them and twice as many, evenly spaced,
    a power of two times the first spacing apart; the first quarter is left out if the run took more
    than the usual steps.
    """
    options: dict[str, Any] = {"method": "structure", "chains": 2}
    judge_by(short_rounds, lambda records: False)
    found = sample(**options, until_converged=True, steps=steps, draws=draws)
    expected = min(steps, USUAL_STEPS)
    base = expected // min(draws, expected)
    warmup = -(-(expected // 4) // SWEEP) * SWEEP
    whole = sample(**options, steps=steps, draws=steps, warmup=warmup)
    for record, all_draws in zip(found.records, whole.records, strict=True):
        times = int(np.log2(record.thin // base))
        assert record.thin == base * 2**times
        which = slice(record.thin - 1, None, record.thin)
        kept = all_draws.codes[which]
        wanted = min(draws, expected)
        assert len(kept) < 2 * wanted
        assert len(kept) >= (wanted if times else 1)
        chosen = slice(len(kept) // 4, None) if steps > USUAL_STEPS else slice(wanted)
        np.testing.assert_array_equal(record.codes, kept[chosen])
        scores = all_draws.log_score[which]
        np.testing.assert_array_equal(record.log_score, scores[chosen])
        assert record.best_log_score == all_draws.best_log_score
        np.testing.assert_array_equal(record.attempts, all_draws.attempts)


def test_edges_of_a_run_of_unknown_length(short_rounds: pytest.MonkeyPatch) -> None:
    """The first quarter of the batches is left out."""
    options: dict[str, Any] = {"method": "structure", "chains": 2, "draws": 1000}
    judge_by(short_rounds, lambda records: False)
    found = sample(**options, until_converged=True, steps=16_000)
    options["draws"] = 16_000  # as many as steps: edges are recorded as often in both
    whole = sample(**options, steps=16_000, warmup=260)
    for record, known in zip(found.records, whole.records, strict=True):
        batches = known.edge_batches[len(known.edge_batches) // 4 :]
        np.testing.assert_array_equal(record.edge_batches, batches)
        np.testing.assert_allclose(record.edges, batches.mean(axis=0), atol=1e-15)
        assert not np.array_equal(record.edges, known.edges)


def make_draws(count: int, first: int) -> KeptDags:
    numbers = np.arange(first, first + count)
    return KeptDags(
        np.repeat(numbers[:, None], 3, axis=1).astype(np.int32), numbers * 1.5, -numbers * 1.0
    )


@pytest.mark.parametrize("block", [2, 6, 65536])
def test_stores_of_draws(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory or in a file: the same draws, however they come and go."""
    monkeypatch.setattr("outpoint.runs.runner.BLOCK", block)

    def place(thin: int) -> Path:
        return tmp_path / f"draws-{thin}"

    memory, file = MemoryDraws(3), FileDraws(place, 3, 10)
    known: list[int] = []
    number = 0
    for count in (0, 3, 1, 4, 0, 12):
        for store in (memory, file):
            store.append(make_draws(count, number))
        known += range(number, number + count)
        number += count
        if len(known) in (8, 16):
            memory.halve()
            file.halve()
            known = known[1::2]
        for store in (memory, file):
            assert len(store) == len(known)
            assert store.read().log_score.tolist() == [1.5 * k for k in known]
            assert store.read().codes[:, 2].tolist() == known
            assert store.read().log_weight.tolist() == [-k for k in known]
    saved = file.flush()
    assert saved["thin"] == 40
    assert len(list(tmp_path.iterdir())) == 3
    file.forget_outdated()
    assert [path.name for path in tmp_path.iterdir()] == ["draws-40"]
    again = FileDraws(place, 3, 10)
    file.append(make_draws(5, 100))
    again.restore(saved)
    assert again.read().codes[:, 0].tolist() == known


# Ctrl-C


def test_interrupted_run(short_rounds: pytest.MonkeyPatch) -> None:
    posterior = learn("mcmc", resume=False, progress=Stopwatch(2000))
    assert not posterior.is_complete
    assert posterior.verdict.startswith("interrupted after ")
    assert 0 < posterior.steps_per_chain < 3000
    assert posterior.dags().shape[1] == posterior.n_draws > 0
    assert not posterior.converged or "interrupted" in posterior.verdict


@pytest.mark.parametrize("method", first(SAMPLERS, 2))
def test_interrupted_at_any_time(method: str, short_rounds: pytest.MonkeyPatch) -> None:
    """Either there is nothing to return, or a posterior that answers everything."""
    outcomes = set()
    for step in (20, 260, 280, 300, 360, 400, 700):
        short_rounds.setattr("outpoint.runs.driving.FIRST_ROUND", 20)
        try:
            posterior = sample(
                method=method, steps=1000, draws=1000, warmup=260, progress=Stopwatch(step)
            )
        except KeyboardInterrupt:
            outcomes.add("nothing")
            continue
        outcomes.add("something")
        assert posterior.verdict.startswith("interrupted after ")
        assert len(posterior.diagnostics()) == 20
        assert posterior.edge_probabilities.to_numpy().max() <= 1 + 1e-12
    assert outcomes == {"nothing", "something"}


def test_interrupted_chains_of_unequal_length(short_rounds: pytest.MonkeyPatch) -> None:
    """The last draws of each are used, as many as all of them have."""
    records = list(sample(steps=2000, draws=100).records)
    short = sample(steps=1000, draws=50, warmup=500).records[1]
    posterior = sample(steps=100)
    unequal = SampledPosterior(
        posterior.info,
        posterior.names,
        posterior.parent_sets,
        [records[0], short],
        is_complete=False,
    )
    assert unequal.n_draws == 50
    assert unequal.dags().shape == (2, 50, 5, 5)
    np.testing.assert_array_equal(unequal.log_scores[0], records[0].log_score[50:])
    assert unequal.steps_per_chain == 1000


def test_a_failing_report_keeps_the_state(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    def fail(progress: Progress) -> None:
        if progress.chains and progress.chains[0].step > 1000:
            raise ZeroDivisionError

    whole = learn("mcmc", tmp_path / "whole")
    with pytest.raises(ZeroDivisionError):
        learn("mcmc", tmp_path / "run", progress=fail)
    assert same_draws(whole, learn("mcmc", tmp_path / "run"))


def test_records_without_beginning() -> None:
    record = sample(steps=400, draws=40).records[0]
    for _ in range(30):
        before = record
        record = record.without_beginning()
        assert isinstance(record, ChainRecord)
        assert record.n_draws == before.n_draws - before.n_draws // 4
        assert len(record.edge_batches) >= 1
        np.testing.assert_array_equal(record.codes[-1], before.codes[-1])
