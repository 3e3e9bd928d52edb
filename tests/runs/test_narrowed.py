"""Runs over few candidates: these are chosen once, kept with the run, and used when it goes on."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.narrowing import Narrowed
from outpoint.runs import CANDIDATES, HOTTEST, START, RunDirectory, saved_arrays
from tests.grids import first
from tests.quick_choice import choose_quickly
from tests.runs.problems import differing, interrupt, learn, same_draws

NARROW: dict[str, Any] = {"n_candidates": 2, "steps": 3000}
GIVEN: dict[str, Any] = {
    "candidates": {"a": "bc", "b": "de", "c": "ab", "d": "ec", "e": "ad"},
    "steps": 3000,
}


@pytest.fixture(autouse=True)
def quick_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_quickly(monkeypatch)


def kept(out: Path) -> dict[str, np.ndarray]:
    return saved_arrays(RunDirectory(out))


@pytest.mark.parametrize(("step", "kind"), first(product([1500, 200], ["by gains", "given"])))
def test_resumed_bit_for_bit(
    step: int, kind: str, tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    options = NARROW if kind == "by gains" else GIVEN
    whole = learn("mcmc", tmp_path / "whole", **options)
    assert whole.outside_shares.max() > 0
    interrupt("mcmc", tmp_path / "run", step, **options)
    resumed = learn("mcmc", tmp_path / "run", **options)
    assert same_draws(whole, resumed)
    assert differing(tmp_path / "whole", tmp_path / "run") == []
    for name in (CANDIDATES, START, HOTTEST):
        np.testing.assert_array_equal(kept(tmp_path / "whole")[name], kept(tmp_path / "run")[name])


def test_what_is_kept(tmp_path: Path) -> None:
    posterior = learn("mcmc", tmp_path / "run", **NARROW)
    arrays = kept(tmp_path / "run")
    np.testing.assert_array_equal(arrays[CANDIDATES], posterior.candidates)
    np.testing.assert_array_equal(arrays[START], posterior.records[0].start_code)
    assert [record.power[-1] for record in posterior.records] == [arrays[HOTTEST][0]] * 3
    wide = learn("mcmc", tmp_path / "wide")
    assert kept(tmp_path / "wide")[CANDIDATES].shape == (5, 4)
    assert kept(tmp_path / "wide")[HOTTEST].tolist() == [0.0]
    assert wide.outside_shares is None


def test_the_choice_is_not_made_again(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Neither searches nor pilots: on another machine they might end in another place."""
    whole = learn("mcmc", tmp_path / "whole", **NARROW)
    interrupt("mcmc", tmp_path / "run", 1500, **NARROW)

    def fail(*_: Any) -> Any:
        pytest.fail("it was chosen again")

    for name in ("_search", "_run_pilot", "choose_candidates"):
        short_rounds.setattr(f"outpoint.narrowing.{name}", fail)
    assert same_draws(whole, learn("mcmc", tmp_path / "run", **NARROW))
    more = learn("mcmc", tmp_path / "run", **NARROW | {"steps": 4000})
    assert more.steps_per_chain == 4000
    np.testing.assert_array_equal(more.candidates, whole.candidates)
    with pytest.raises(pytest.fail.Exception, match="chosen again"):
        learn("mcmc", tmp_path / "other", **NARROW)


@pytest.mark.long
def test_a_longer_run_is_the_same_in_one_go_or_two(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        learn("mcmc", tmp_path / name, **NARROW)
    learn("mcmc", tmp_path / "two", **NARROW | {"steps": 5000})
    for name in ("one", "two"):
        learn("mcmc", tmp_path / name, **NARROW | {"steps": 7000})
    assert differing(tmp_path / "one", tmp_path / "two") == []


def test_another_number_of_candidates_is_refused(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    interrupt("mcmc", tmp_path / "run", 1500, **NARROW)
    with pytest.raises(op.CheckpointError, match="candidates was 2 and is 3"):
        learn("mcmc", tmp_path / "run", **NARROW | {"n_candidates": 3})
    continued = learn("mcmc", tmp_path / "run", steps=3000)
    assert continued.candidates.shape[1] == 2, "a number that is not given is the run's own"


@pytest.mark.long
def test_other_data_in_the_same_place(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Replaced as a whole: candidates and start are those of the new run."""
    learn("mcmc", tmp_path / "run", **GIVEN)
    fresh = learn("mcmc", **NARROW, seed=8, resume=False)
    again = learn("mcmc", tmp_path / "run", **NARROW, seed=8, resume=False, overwrite=True)
    assert same_draws(fresh, again)


@pytest.mark.long
def test_a_run_in_memory_is_the_same(tmp_path: Path) -> None:
    assert same_draws(
        learn("mcmc", tmp_path / "run", **NARROW), learn("mcmc", **NARROW, resume=False)
    )


@pytest.mark.long
def test_a_saved_start_is_where_the_first_chain_begins(
    tmp_path: Path, short_rounds: pytest.MonkeyPatch
) -> None:
    """Whatever a search would find now."""
    interrupt("mcmc", tmp_path / "run", 200, **NARROW)
    start = kept(tmp_path / "run")[START]
    seen: list[Narrowed] = []
    sample_posterior = op.learning.sample_posterior

    def listen(narrowed: Narrowed, *rest: Any) -> Any:
        seen.append(narrowed)
        return sample_posterior(narrowed, *rest)

    short_rounds.setattr("outpoint.learning.sample_posterior", listen)
    found = learn("mcmc", tmp_path / "run", **NARROW)
    np.testing.assert_array_equal(seen[0].start, start)
    np.testing.assert_array_equal(found.records[0].start_code, start)
