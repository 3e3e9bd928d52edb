"""Building the ladder: powers and its end from the barrier, and log weights of its replicas."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from outpoint.mcmc import SWEEP, Settings, make_chain
from outpoint.mcmc.ladder import (
    LEAST_REJECTION,
    MOST_BARRIER,
    MOST_REPLICAS,
    affordable_rung,
    early_ends,
    first_powers,
    mean_log_weight,
    measure_barrier,
    nearest_rungs,
    space_powers,
    tuning_steps,
)
from outpoint.mcmc.replicas import COMING_DOWN, NOWHERE, choose_replicas, hot_batches, make_replicas
from outpoint.mcmc.samplers.tempered import TemperedChain
from outpoint.tables.view import TableView
from tests.exact.problems import gaussian, random_scores
from tests.mcmc.chains import Chain, Recipe
from tests.mcmc.laws import Target, partitions
from tests.mcmc.loops import scored_state
from tests.mcmc.targets import target

# When to tune


def test_tuning_rounds_of_known_warm_ups():
    assert tuning_steps(5000, 20) == [320, 960, 2240, 5000]
    assert tuning_steps(640, 20) == [320, 640]
    assert tuning_steps(639, 20) == [639]
    assert tuning_steps(20, 20) == [20]
    assert tuning_steps(0, 20) == []
    assert tuning_steps(800, 5) == [80, 240, 800]


@pytest.mark.parametrize("n_warmup", [0, 20, 300, 320, 340, 5000, 5020, 1_000_000])
def test_early_ends_are_plans_of_their_own(n_warmup):
    """Until there a shorter warm-up would have been tuned in the same way."""
    ends = early_ends(n_warmup, 20)
    assert len(ends) == sum(end < n_warmup for end in (320, 960, 2240, 4800)) + 7 * (
        n_warmup == 1_000_000
    )
    for end in ends:
        own, whole = tuning_steps(end, 20), tuning_steps(n_warmup, 20)
        assert [step for step in whole if step < end] == own[:-1]
        assert (n_warmup - end) % 40 == 0
        assert 0 < end < n_warmup


@pytest.mark.parametrize("n_warmup", [1, 19, 320, 1000, 1920, 4999, 20_000, 1_000_000])
def test_tuning_rounds_double_and_the_last_is_the_longest(n_warmup):
    steps = tuning_steps(n_warmup, 20)
    lengths = np.diff([0, *steps])
    assert steps[-1] == n_warmup
    for one, next_one in pairwise(lengths[:-1].tolist()):
        assert next_one == 2 * one
    assert lengths[-1] == lengths.max()
    assert all(step % 20 == 0 for step in steps[:-1])
    assert n_warmup < 640 or lengths[-1] >= n_warmup / 2


# Powers


def test_mean_rejection_of_pairs():
    found = measure_barrier(np.array([2.0, 0.0, 0.0, 5.0]), np.array([4, 10, 0, 5]))
    assert found.tolist() == [0.5, 0.0, 0.5, 1.0]


def barrier_at(powers: np.ndarray, scale: float, shape: float) -> np.ndarray:
    """A barrier that grows from 0 at power 1 to ``scale`` at power 0."""
    return scale * (1.0 - powers**shape)


@pytest.mark.parametrize("scale", [1.2, 3.2, 11.3])
@pytest.mark.parametrize("shape", [0.3, 1.0, 2.0])
def test_spacing_makes_rejection_equal(scale, shape):
    """From the first ladder, in rounds, as in a warm-up."""
    powers = first_powers(0.0)
    for _ in range(40):
        rejection = np.minimum(np.diff(barrier_at(powers, scale, shape)), 0.999)
        powers = space_powers(powers, rejection)
        assert powers[[0, -1]].tolist() == [1.0, 0.0]
        assert (np.diff(powers) < 0).all()
    assert len(powers) == int(np.ceil(2 * scale)) + 1
    rejection = np.diff(barrier_at(powers, scale, shape))
    np.testing.assert_allclose(rejection, scale / (len(powers) - 1), rtol=0.01)


@pytest.mark.parametrize("end", [0.0, 0.07])
def test_spacing_is_exact_where_the_barrier_is_linear_between_powers(end):
    powers = np.array([1.0, 0.6, 0.3, end])
    rejection = np.array([0.9, 0.4, 0.6])
    barrier = np.array([0.0, 0.9, 1.3, 1.9])
    spaced = space_powers(powers, rejection)
    assert len(spaced) == int(np.ceil(2 * 1.9)) + 1
    assert spaced[[0, -1]].tolist() == [1.0, end]
    at = np.interp(-spaced, -powers, barrier)
    np.testing.assert_allclose(np.diff(at), 1.9 / (len(spaced) - 1), rtol=1e-12)


@pytest.mark.parametrize(
    ("rejection", "n_replicas"),
    [
        ([0.0, 0.0], 2),
        ([0.1, 0.3], 2),
        ([0.25, 0.25], 2),
        ([0.3, 0.3], 3),
        ([0.8, 0.7], 4),
        ([0.9, 0.9], 5),
        ([0.99] * 150, MOST_REPLICAS),
    ],
)
def test_number_of_replicas(rejection, n_replicas):
    powers = np.linspace(1.0, 0.0, len(rejection) + 1)
    spaced = space_powers(powers, np.array(rejection))
    assert len(spaced) == n_replicas
    assert spaced[[0, -1]].tolist() == [1.0, 0.0]


def test_equal_rejection_is_left_alone():
    powers = np.array([1.0, 0.7, 0.1, 0.05, 0.0])
    np.testing.assert_allclose(space_powers(powers, np.full(4, 0.5)), powers, atol=1e-15)


def test_powers_between_which_every_swap_was_accepted_stay_apart():
    powers = np.array([1.0, 0.5, 0.25, 0.0])
    spaced = space_powers(powers, np.array([0.0, 0.9, 0.0]))
    barrier = np.cumsum([0.0, LEAST_REJECTION, 0.9, LEAST_REJECTION])
    expected = np.interp(np.linspace(0.0, barrier[-1], 3), barrier, powers)
    np.testing.assert_allclose(spaced, expected, atol=1e-15)
    assert (np.diff(spaced) < 0).all()


@pytest.mark.parametrize(
    ("new", "old", "rungs"),
    [
        ([1.0, 0.5, 0.0], [1.0, 0.5, 0.0], [0, 1, 2]),
        ([1.0, 0.9, 0.6, 0.0], [1.0, 0.5, 0.0], [0, 0, 1, 2]),
        ([1.0, 0.0], [1.0, 0.5, 0.2, 0.0], [0, 3]),
        ([1.0, 0.2, 0.1, 0.0], [1.0, 0.2], [0, 1, 1, 1]),
    ],
)
def test_nearest_rungs(new, old, rungs):
    assert nearest_rungs(np.array(new), np.array(old)).tolist() == rungs


def test_chosen_replicas_are_found_through_their_slots_and_begin_anew():
    problem = target("random", 3)
    states = [
        scored_state(problem.view, partitions(3)[x], np.random.default_rng(x)) for x in (2, 7)
    ]
    replicas = make_replicas(2, states[0])
    for stacked, own in zip(replicas.states, states[1], strict=True):
        stacked[1] = own
    replicas.slot[:] = [1, 0]
    replicas.trip[:] = COMING_DOWN
    chosen = choose_replicas(replicas, np.array([0, 0, 1]))
    assert chosen.slot.tolist() == [0, 1, 2]
    assert (chosen.trip == NOWHERE).all()
    for row, state in enumerate((states[1], states[1], states[0])):
        for stacked, own in zip(chosen.states, state, strict=True):
            assert np.array_equal(stacked[row], own)
    chosen.states.layer[:] = -1
    assert (replicas.states.layer >= 0).all(), "the states are copies"


# Log weights of replicas


def weights_of(chain: Chain, rows: np.ndarray) -> np.ndarray:
    return chain.replicas.states.log_tau[rows].sum(axis=1)


def check_log_weights(chain: Chain, weights: np.ndarray, atol: float) -> None:
    """Against those [sweep, replica] seen after each sweep."""
    for replica, seen in enumerate(weights.T):
        moments, origin = chain.ladder.moments[replica], float(chain.ladder.origin[replica])
        assert moments[0] == len(weights)
        expected = seen.mean(), seen.std()
        np.testing.assert_allclose(mean_log_weight(moments, origin), expected, rtol=0, atol=atol)


def check_hot_batches(chain: Chain, weights: np.ndarray, atol: float) -> None:
    """Means over batches of so many sweeps that the complete ones are at most 64."""
    size = 1
    while len(weights) > 64 * size:
        size *= 2
    n_batches = len(weights) // size
    expected = weights[: n_batches * size, -1].reshape(n_batches, size).mean(axis=1)
    found = hot_batches(chain.ladder)
    assert len(found) == n_batches
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def run_sweeps(chain: Chain, n_sweeps: int) -> np.ndarray:
    """Rows keep their states in a swap, so they show where a sweep has left each replica."""
    weights = []
    for _ in range(n_sweeps):
        rows = chain.replicas.slot.copy()
        chain.run(2, recording=False)
        weights.append(weights_of(chain, rows))
    return np.array(weights)


@pytest.mark.parametrize(("name", "fresh"), [("bge", False), ("random", True)])
def test_log_weights_of_compiled_replicas(name, fresh):
    """A replica that is drawn afresh takes no steps."""
    recipe = Recipe({"node_gibbs": 1.0}, powers=(1.0, 0.3, 0.0), sweep=2, fresh=fresh)
    chain = Chain(target(name, 4), recipe, seed=6)
    weights = run_sweeps(chain, 500)
    measured = 2 if fresh else 3
    assert (chain.ladder.moments[measured:] == 0).all()
    assert (weights.std(axis=0) > 0.1).all()
    check_log_weights(chain, weights[:, :measured], atol=1e-9)
    if not fresh:
        check_hot_batches(chain, weights, atol=1e-9)


@pytest.mark.parametrize("n_sweeps", [1, 63, 64, 65, 127, 129, 300])
def test_batches_of_the_hottest_replica(n_sweeps):
    recipe = Recipe({"node_gibbs": 1.0}, powers=(1.0, 0.3), sweep=2)
    chain = Chain(target("bge", 4), recipe, seed=7)
    check_hot_batches(chain, run_sweeps(chain, n_sweeps), atol=1e-9)


def test_log_weights_far_from_zero():
    """Their squares would leave no digits for the spread, hence the origin."""
    near = Target.of(gaussian(4))
    low = {name: getattr(near.view, name) - 1e7 for name in ("dense", "log_sums", "omega")}
    for scores in low.values():
        scores.setflags(write=False)
    far = Target(4, near.view._replace(**low), near.log_dag, near.family)
    recipe = Recipe({"node_gibbs": 1.0}, powers=(1.0, 0.3), sweep=2)
    chain = Chain(far, recipe, seed=6)
    weights = run_sweeps(chain, 400)
    assert (weights < -3.9e7).all()
    check_log_weights(chain, weights, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, -3.7])
def test_a_log_weight_that_never_varies(value):
    assert mean_log_weight(np.array([3.0, 3 * value, 3 * value**2]), 0.2) == pytest.approx(
        (0.2 + value, 0.0), abs=1e-7
    )


# How hot


@pytest.mark.parametrize(
    ("rejection", "rung"),
    [
        ([0.5], 1),
        ([0.0, 0.0, 0.0], 3),
        ([0.5] * 23, 23),
        ([0.5] * 24, 24),
        ([0.5] * 25, 24),
        ([0.5] * 24 + [0.0], 25),
        ([1.0, 0.5, 1.0, 0.75, 1.0, 0.0] * 4, 16),
        ([1.0] * 20, 12),
    ],
)
def test_affordable_rung(rejection, rung):
    assert MOST_BARRIER == 12.0
    assert affordable_rung(np.array(rejection)) == rung


@pytest.mark.parametrize("hottest", [0.0, 0.02, 0.3])
def test_first_powers(hottest):
    powers = first_powers(hottest)
    assert len(powers) == 8
    assert powers[[0, -1]].tolist() == pytest.approx([1.0, hottest])
    factors = powers[1:] / powers[:-1]
    inner = factors if hottest else factors[:-1]
    np.testing.assert_allclose(inner, inner[0], rtol=1e-12)
    assert hottest or powers[-2] == pytest.approx(0.01)


# Tuned chains


def settings_of(view: TableView, n_warmup: int, seed: int = 1, hottest: float = 0.0) -> Settings:
    return Settings(
        method="mcmc",
        start=np.zeros(len(view.candidates), dtype=np.int32),
        max_parents=len(view.candidates) - 1,
        seed=seed,
        hottest=hottest,
        n_warmup=n_warmup,
        n_draws=100,
        thin=SWEEP,
        edge_thin=SWEEP,
    )


def tempered(view: TableView, n_warmup: int, seed: int = 1) -> TemperedChain:
    chain = make_chain(view, settings_of(view, n_warmup, seed))
    assert isinstance(chain, TemperedChain)
    return chain


EASY = Target.of(random_scores(5, spread=0.1, seed=3)).view
ROUGH = Target.of(random_scores(5, spread=8.0, seed=3)).view
FORBIDDEN = Target.of(random_scores(5, spread=8.0, seed=3, forbidden=[("a", "b")])).view


@pytest.mark.parametrize("view", [EASY, ROUGH, FORBIDDEN], ids=["easy", "rough", "forbidden"])
def test_ladders_are_tuned_in_the_warm_up_and_then_frozen(view):
    chain = tempered(view, 10_000)
    assert chain.ladder.power.tolist() == first_powers(0.0).tolist()
    seen = []
    while chain.step < 10_000:
        chain.advance(SWEEP)
        if chain.step in tuning_steps(10_000, SWEEP):
            seen.append(chain.ladder.power.tolist())
            assert chain.ladder.attempts.sum() == chain.ladder.round_trips[0] == 0
    assert len(seen) == len(tuning_steps(10_000, SWEEP)) > 3
    assert seen[0] != first_powers(0.0).tolist()
    assert view is EASY or all(a != b for a, b in pairwise(seen))
    block = chain._block[0]
    for _ in range(20):
        chain.advance(10 * SWEEP)
        assert chain.ladder.power.tolist() == seen[-1]
        assert chain._block[0] == block
        assert len(chain._replicas.slot) == len(seen[-1])
    assert chain.ladder.power[0] == 1.0
    assert chain.ladder.attempts.sum() > 0


class Watched(TemperedChain):
    """Keeps the ladders before and after each tuning, with the log weights of their replicas."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: list[tuple[Any, ...]] = []

    def weights(self) -> np.ndarray:
        return self._replicas.states.log_tau.sum(axis=1)[self._replicas.slot]

    def _tune(self) -> None:
        before = self.ladder.power, self.weights()
        super()._tune()
        self.seen.append((*before, self.ladder.power, self.weights()))


def test_new_replicas_take_over_the_states_of_their_neighbours():
    settings = settings_of(ROUGH, 10_000)
    chain = Watched(ROUGH, settings, settings.start, np.random.default_rng(2))
    chain.advance(10_000)
    assert len(chain.seen) > 3
    for old, old_weights, new, new_weights in chain.seen:
        assert len(set(old_weights)) > 1
        assert np.array_equal(new_weights, old_weights[nearest_rungs(new, old)])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tuned_ladder_rejects_evenly(seed):
    """The barrier of the frozen ladder is that of the tuned one, spread evenly over its pairs."""
    chain = tempered(ROUGH, 40_000, seed)
    chain.advance(80_000)
    ladder = chain.ladder
    rejection = measure_barrier(ladder.rejection, ladder.attempts)
    barrier = rejection.sum()
    assert barrier > 1
    assert len(ladder.power) == pytest.approx(2 * barrier + 1, abs=2)
    np.testing.assert_allclose(rejection, rejection.mean(), atol=0.12)
    assert ladder.round_trips[0] > 20


def test_an_easy_posterior_gets_a_short_ladder():
    lengths = {}
    for name, view in (("easy", EASY), ("rough", ROUGH)):
        chain = tempered(view, 5_000)
        chain.advance(5_000)
        lengths[name] = len(chain.ladder.power)
    assert lengths["easy"] == 2 < lengths["rough"]


def test_ladders_end_at_power_zero_where_all_partitions_are_admissible():
    chain = tempered(ROUGH, 5_000)
    chain.advance(5_000)
    assert chain._plan.fresh_sizes.size > 0
    assert chain.ladder.power[-1] == 0.0
    constrained = tempered(FORBIDDEN, 5_000)
    constrained.advance(5_000)
    assert constrained._plan.fresh_sizes.size == 0
    assert constrained.ladder.power[-1] == 0.0


@pytest.mark.parametrize("hottest", [0.02, 0.3])
def test_ladders_end_where_they_are_told_to(hottest):
    """Where the last power is not 0, nothing is drawn afresh."""
    for view in (ROUGH, FORBIDDEN):
        chain = make_chain(view, settings_of(view, 5_000, hottest=hottest))
        chain.advance(5_000)
        assert isinstance(chain, TemperedChain)
        assert chain._plan.fresh_sizes.size == 0
        assert chain.ladder.power[[0, -1]].tolist() == pytest.approx([1.0, hottest])
        assert (np.diff(chain.ladder.power) < 0).all()


def test_the_best_dag_met_may_be_where_a_replica_begins():
    """Node 1 without parents, or with its best one: the start that is better is remembered."""
    starts = np.zeros((3, 5), dtype=np.int32)
    dense = ROUGH.dense.reshape(5, -1)
    ranked = np.argsort(dense[1, 1 << np.arange(4)])
    starts[0, 1], starts[2, 1] = 1 << ranked[0], 1 << ranked[-1]
    log_scores = dense[:, 0].sum() - dense[1, 0] + dense[1, starts[:, 1]]
    settings = settings_of(ROUGH, 100)
    for given, best in ((starts, int(np.argmax(log_scores))), (None, 1)):
        trace = make_chain(ROUGH, replace(settings, starts=given)).trace
        assert trace.best_log_score[0] == pytest.approx(log_scores[best], rel=1e-12)
        assert trace.best_code.tolist() == starts[best].tolist()
    assert len(set(log_scores)) == 3
