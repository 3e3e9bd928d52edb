"""Runs that have ended are continued, with more steps or time, as if they had been meant to."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.mcmc import SWEEP
from outpoint.posterior import SampledPosterior
from outpoint.runs import Budget, RunDirectory, saved_facts
from outpoint.runs.checkpoint import read_checkpoint
from outpoint.sampling import ENOUGH_ESS
from tests.grids import covering, first
from tests.runs.problems import (
    CASES,
    NUMBERS,
    USUAL_STEPS,
    Stopwatch,
    differing,
    interrupt,
    judge_by,
    learn,
    same_draws,
)


def sample(out: Path | None = None, **options: Any) -> SampledPosterior:
    chosen = {"method": "structure", "chains": 2, "seed": 1, "resume": out is not None} | options
    posterior = op.learn(NUMBERS, out=out, **chosen)
    assert isinstance(posterior, SampledPosterior)
    return posterior


def stopping(out: Path) -> dict[str, Any]:
    facts = saved_facts(RunDirectory(out))
    assert facts is not None
    found: dict[str, Any] = facts["stopping"]
    return found


def steps_of(out: Path) -> list[int]:
    """Steps of each chain, the warm-up included, as the checkpoints have them."""
    paths = sorted((out / "checkpoint").glob("chain-*.checkpoint"))
    return [int(read_checkpoint(path)[1]["counters"][0]) for path in paths]


# A given number of steps


@pytest.mark.parametrize(("more", "draws"), covering([2000, 8000, 1600, 3000], [64, 100, 1]))
def test_more_steps(
    more: int, draws: int, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Structure MCMC keeps draws without random numbers: a run that keeps them all is the oracle.

    Warm-up and thinning stay as they were; draws are halved when there are twice as many.
    """
    first = sample(tmp_path / "run", steps=1600, draws=draws)
    found = sample(tmp_path / "run", steps=more, draws=draws)
    assert found.steps_per_chain == more
    assert found.is_complete
    whole = sample(steps=more, draws=more, warmup=400)
    base = 1600 // draws
    for record, begun, everything in zip(found.records, first.records, whole.records, strict=True):
        assert begun.thin == base
        assert begun.n_draws == draws
        factor = record.thin // base
        assert factor in (1, 2, 4, 8)
        kept = everything.codes[record.thin - 1 :: record.thin]
        if more == 1600:
            np.testing.assert_array_equal(record.codes, begun.codes)
        else:
            assert draws <= len(kept) < 2 * draws
            np.testing.assert_array_equal(record.codes, kept[len(kept) // 4 :])
        assert record.best_log_score == everything.best_log_score
        np.testing.assert_array_equal(record.attempts, everything.attempts)
    assert same_draws(found, op.load(tmp_path / "run"))


@pytest.mark.parametrize(
    ("steps", "draws"), first([(1999, 150), (1050, 1000), (777, 70), (1000, 330)], 2)
)
def test_draws_stay_evenly_spaced(
    steps: int, draws: int, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Also where the draws of the first part end before it does, or in the middle of a sweep."""
    sample(tmp_path / "run", steps=steps, draws=draws)
    found = sample(tmp_path / "run", steps=5 * steps, draws=draws)
    warmup = -(-(steps // 4) // SWEEP) * SWEEP
    whole = sample(steps=5 * steps, draws=5 * steps, warmup=warmup)
    for record, everything in zip(found.records, whole.records, strict=True):
        kept = everything.codes[record.thin - 1 :: record.thin]
        assert draws <= len(kept) < 2 * draws
        np.testing.assert_array_equal(record.codes, kept[len(kept) // 4 :])


@pytest.mark.long
@pytest.mark.parametrize("case", ["mcmc", "partition", "order"])
def test_one_way_to_more_steps(case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Interrupted before its end, after its end, or never: the longer run is the same."""
    for name in ("once", "twice", "early", "late"):
        if name == "early":
            interrupt(case, tmp_path / name, 1500)
        else:
            learn(case, tmp_path / name)
        if name == "twice":
            learn(case, tmp_path / name, steps=5000)
        if name == "late":
            interrupt(case, tmp_path / name, 6000, steps=9000)
        learn(case, tmp_path / name, steps=9000)
    for name in ("twice", "early", "late"):
        assert differing(tmp_path / "once", tmp_path / name) == []
    assert op.load(tmp_path / "once").steps_per_chain == 9000
    assert stopping(tmp_path / "once") == {
        "steps": 9000,
        "time": None,
        "until_converged": None,
        "planned_steps": 3000,
    }


@pytest.mark.long
@pytest.mark.parametrize("fewer", [1000, 1, 2999])
def test_fewer_steps_than_were_taken(
    fewer: int, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Nothing is taken back, and nothing is lost for the next time."""
    first = learn("mcmc", tmp_path / "run")
    same = learn("mcmc", tmp_path / "run", steps=fewer)
    assert same_draws(first, same)
    assert same.steps_per_chain == 3000
    learn("mcmc", tmp_path / "other")
    assert same_draws(
        learn("mcmc", tmp_path / "run", steps=6000), learn("mcmc", tmp_path / "other", steps=6000)
    )


@pytest.mark.long
def test_fewer_steps_after_an_interruption(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The run ends where it is, or at the fewer steps; it can still be taken to its first end."""
    learn("mcmc", tmp_path / "whole")
    interrupt("mcmc", tmp_path / "run", 1500)
    shorter = learn("mcmc", tmp_path / "run", steps=1800)
    assert shorter.is_complete
    assert shorter.steps_per_chain == 1800
    learn("mcmc", tmp_path / "run", steps=3000)
    assert differing(tmp_path / "whole", tmp_path / "run") == []


@pytest.mark.long
def test_fewer_steps_for_a_run_that_was_prolonged(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The chains are as long as they are, and what is made of them depends on nothing else."""
    learn("mcmc", tmp_path / "run")
    longer = learn("mcmc", tmp_path / "run", steps=6000)
    for fewer in (5000, 3000, 1000):
        assert same_draws(longer, learn("mcmc", tmp_path / "run", steps=fewer))


@pytest.mark.long
def test_a_lost_checkpoint_of_a_prolonged_run(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """The chain catches up with the others, and its draws come from all of its steps."""
    learn("mcmc", tmp_path / "run")
    whole = learn("mcmc", tmp_path / "run", steps=9000)
    (tmp_path / "run" / "checkpoint" / "chain-1.checkpoint").unlink()
    again = learn("mcmc", tmp_path / "run", steps=3000)
    assert [record.n_steps for record in again.records] == [9000, 9000, 9000]
    np.testing.assert_array_equal(again.records[1].codes[-100:], whole.records[1].codes[-100:])
    assert same_draws(whole, learn("mcmc", tmp_path / "run", steps=9000))


# A given time


@pytest.mark.long
def test_more_time_for_a_run_of_a_given_number_of_steps(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    first = sample(out, method="order", steps=1600, draws=100)
    seconds = read_checkpoint(out / "checkpoint" / "chain-0.checkpoint")[0]["seconds"]
    up = sample(out, method="order", time=seconds or 1e-9, draws=100)
    assert up.steps_per_chain == 1600, "the time was up"
    assert same_draws(up, first)
    more = sample(out, method="order", time=seconds + 0.3, draws=100)
    assert more.is_complete
    assert more.steps_per_chain > 1600
    assert stopping(out)["planned_steps"] == 1600
    assert stopping(out)["steps"] is None
    steps = more.steps_per_chain
    fixed = tmp_path / "fixed"
    sample(fixed, method="order", steps=1600, draws=100)
    assert same_draws(more, sample(fixed, method="order", steps=steps, draws=100))


def test_a_number_of_steps_for_a_run_of_a_given_time(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    timed = sample(out, method="order", time=0.1, draws=50)
    steps = (timed.steps_per_chain // SWEEP + 100) * SWEEP
    more = sample(out, method="order", steps=steps, draws=50)
    assert more.steps_per_chain == steps
    assert more.n_draws < 100
    assert more.is_complete


# Until the chains agree


@pytest.mark.long
def test_more_steps_for_a_run_that_has_converged(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """By default our sampler goes on until it has converged."""
    out = tmp_path / "run"
    options: dict[str, Any] = {"method": "mcmc", "draws": 45}
    judge_by(short_rounds, lambda records: True)
    first = sample(out, **options)
    assert first.steps_per_chain == USUAL_STEPS
    assert same_draws(first, sample(out, **options)), "it has converged already"
    judge_by(short_rounds, lambda records: records[0].n_steps > 4000)
    more = sample(out, **options, steps=3000)
    assert more.steps_per_chain == 3000
    assert more.is_complete
    on = sample(out, **options, until_converged=True)
    assert on.steps_per_chain > 4000
    assert same_draws(on, sample(**options, until_converged=True))


def test_a_converged_run_keeps_its_state(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    judge_by(short_rounds, lambda records: True)
    out = tmp_path / "run"
    first = sample(out, time=60, until_converged=True)
    assert (out / "checkpoint" / "chain-1.checkpoint").exists()
    assert same_draws(first, sample(out)), "until it has converged, which it has"
    with pytest.raises(op.OptionError, match="can be continued: do so with resume=True"):
        sample(out, resume=False)
    again = sample(out, resume=False, overwrite=True, seed=2)
    assert not same_draws(first, again)
    assert same_draws(again, sample(out, seed=2))


# Saved options


STOPPING: dict[str, dict[str, Any]] = {
    "steps": {"steps": 3000},
    "until converged": {"until_converged": True, "steps": 5000},
    "a long time": {"time": 3600, "steps": 4000},
    "by default": {},
}


@pytest.mark.parametrize("kind", first(STOPPING))
def test_without_options_the_saved_ones_are_taken(
    kind: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    judge_by(short_rounds, lambda records: kind == "by default" and records[0].n_steps > 3000)
    options: dict[str, Any] = {"method": "mcmc", "draws": 45}
    whole = sample(tmp_path / "whole", **options, **STOPPING[kind])
    try:
        sample(tmp_path / "run", **options, **STOPPING[kind], progress=Stopwatch(1300))
    except KeyboardInterrupt:
        pytest.fail("there was nothing to return")
    assert steps_of(tmp_path / "run") < steps_of(tmp_path / "whole")
    saved = stopping(tmp_path / "run")
    bare = sample(tmp_path / "run", **options, seed=None)
    assert bare.is_complete
    assert same_draws(whole, bare)
    assert stopping(tmp_path / "run") == saved == stopping(tmp_path / "whole")
    assert differing(tmp_path / "whole", tmp_path / "run") == []


def test_any_option_replaces_all_saved_ones(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    sample(out, method="order", until_converged=True, steps=2000)
    sample(out, method="order", steps=2400)
    assert stopping(out) == {
        "steps": 2400,
        "time": None,
        "until_converged": None,
        "planned_steps": USUAL_STEPS,
    }
    assert sample(out, method="order").steps_per_chain == 2400


# Ladders that are tuned on the way


LADDERS: dict[str, dict[str, Any]] = {
    "all partitions": {"steps": 6000},
    "few candidates": {"n_candidates": 2, "max_parents": 2, "steps": 12_000},
    "constraints": {"required": [("a", "b")], "tiers": [["a", "b"], ["c", "d"]], "steps": 12_000},
}


def ladders(out: Path) -> list[tuple[float, ...]]:
    paths = sorted((out / "checkpoint").glob("chain-*.checkpoint"))
    return [tuple(read_checkpoint(path)[1]["ladder.power"].tolist()) for path in paths]


@pytest.mark.parametrize("kind", first(LADDERS))
def test_interrupted_while_the_ladder_is_tuned(
    kind: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    options = LADDERS[kind]
    warmup = options["steps"] // 4
    whole = learn("mcmc", tmp_path / "whole", **options)
    seen = set()
    for step in (200, 600, 1200, warmup, warmup + 200):
        interrupt("mcmc", tmp_path / "run", step, **options)
        seen.add(ladders(tmp_path / "run")[0])
    assert len(seen) >= 3, "the ladder was built anew between the interruptions"
    assert same_draws(whole, learn("mcmc", tmp_path / "run", **options))
    assert differing(tmp_path / "whole", tmp_path / "run") == []
    assert ladders(tmp_path / "whole") == ladders(tmp_path / "run")
    assert [tuple(record.power) for record in whole.records] == ladders(tmp_path / "run")
    lengths = {len(power) for power in ladders(tmp_path / "run")}
    assert all(2 <= length <= 20 for length in lengths)


def test_the_ladder_is_kept_when_a_run_is_prolonged(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Tuning ends with the warm-up; round trips are counted on."""
    first = learn("mcmc", tmp_path / "run")
    more = learn("mcmc", tmp_path / "run", steps=6000)
    for record, longer in zip(first.records, more.records, strict=True):
        np.testing.assert_array_equal(record.power, longer.power)
        assert longer.round_trips > record.round_trips
        assert (longer.swap_attempts > record.swap_attempts).all()
        np.testing.assert_array_equal(record.start_code, longer.start_code)


# The verdict


def may_stop(found: Any) -> bool:
    return found.converged and (found.smallest_ess is None or found.smallest_ess >= ENOUGH_ESS)


@pytest.mark.parametrize("case", first([case for case in CASES if "until" in case]))
def test_the_run_ends_by_the_verdict_of_its_posterior(
    case: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """What ends the loop is what the posterior, in memory and from its file, says."""
    heard: list[Any] = []
    assess = op.sampling.assess_records

    def listen(*values: Any) -> Any:
        heard.append(assess(*values))
        return heard[-1]

    short_rounds.setattr("outpoint.sampling.assess_records", listen)
    checks = Budget(steps=None, until_converged=True, first_check=USUAL_STEPS)
    for steps in (1000, checks.checks_after(1001), checks.checks_after(200_000)):
        posterior = learn(case, tmp_path / str(steps), steps=steps, checkpoint_seconds=60.0)
        last = heard[-1]
        for found in (posterior, op.load(tmp_path / str(steps))):
            assert found.verdict == last.verdict
            assert found.converged == last.converged
            assert found.assessment.worst_rhat == last.worst_rhat
            assert found.assessment.crossing == last.crossing
        assert not any(may_stop(earlier) for earlier in heard[:-1])
        heard.clear()
    assert posterior.converged == (not case.startswith("order"))
