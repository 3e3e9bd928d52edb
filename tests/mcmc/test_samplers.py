"""Chains by name: what they start from, when they stop adapting, how they may be cut in pieces."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from outpoint.mcmc import METHODS, Chain, Settings, is_possible, start_chain
from outpoint.mcmc.chain import SWEEP
from outpoint.mcmc.ladder import default_replicas, make_ladder, respace
from outpoint.mcmc.samplers import PartitionChain, partition_of
from outpoint.mcmc.trace import EDGE_ROWS, MOVES
from outpoint.tables.view import TableView
from tests.exact.problems import gaussian, random_scores
from tests.mcmc.laws import Target, check_counts, parent_sets, peel
from tests.mcmc.targets import target

FALSE_ALARM = 1e-6
PAPER = ("partition", "partition+rev", "order", "structure", "structure+rev")


def settings_of(method: str, **changes: Any) -> Settings:
    options: dict[str, Any] = {"n_draws": 200, "thin": 10, "edge_thin": 10, "max_parents": 4}
    return Settings(method=method, **options | changes)


BGE = Target.of(gaussian(5)).view


def begin(method: str, seed: int = 1, view: TableView = BGE, **changes: Any) -> Chain:
    start = np.zeros(len(view.candidates), dtype=np.uint32)
    return start_chain(view, settings_of(method, **changes), start, np.random.default_rng(seed))


def same_trace(one: Chain, other: Chain) -> bool:
    return all(
        np.array_equal(a, b) for a, b in zip(one.trace, other.trace, strict=True) if a is not None
    )


# Cutting a run in pieces


@pytest.mark.parametrize("method", PAPER)
def test_pieces_do_not_matter(method):
    whole, cut = begin(method, n_warmup=500), begin(method, n_warmup=500)
    whole.advance(2500)
    for piece in (3, 490, 8, 2, 17, 480, 0, 999, 501):
        cut.advance(piece)
    assert whole.trace.n_draws[0] == 200
    assert same_trace(whole, cut)


def test_pieces_of_whole_sweeps_do_not_matter_with_replicas():
    whole, cut = begin("mcmc", n_warmup=1000), begin("mcmc", n_warmup=1000)
    whole.advance(3000)
    for sweeps in (2, 40, 9, 0, 7, 42, 50):
        cut.advance(sweeps * SWEEP)
    assert whole.trace.n_draws[0] == 200
    assert same_trace(whole, cut)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [0, 260, 1000, 1700])
def test_a_restored_chain_goes_on_bit_for_bit(method, at):
    """Also in another chain of another seed, and also within the warm-up."""
    whole, first, second = (begin(method, seed, n_warmup=1000) for seed in (1, 1, 9))
    whole.advance(3000)
    second.advance(40)
    first.advance(at)
    early = first.take_draws()
    snapshot = first.snapshot()
    first.advance(100)  # a snapshot holds no references to the chain
    second.take_draws()
    second.restore(snapshot)
    second.advance(3000 - at)
    late = second.take_draws()
    for kept, before, after in zip(whole.take_draws(), early, late, strict=True):
        assert np.array_equal(kept, np.concatenate([before, after]))
    assert all(np.array_equal(whole._arrays()[k], v) for k, v in second._arrays().items())
    assert whole.snapshot()["generator"].tobytes() == second.snapshot()["generator"].tobytes()


def test_a_snapshot_of_another_problem_is_refused():
    other = begin("mcmc", view=Target.of(gaussian(4)).view, max_parents=3).snapshot()
    with pytest.raises(ValueError, match="another shape"):
        begin("mcmc").restore(other)


def test_draws_are_taken_once_and_make_room():
    chain = begin("partition", n_draws=5)
    chain.advance(50)
    first = chain.take_draws()
    chain.advance(30)
    assert [len(first.masks), len(chain.take_draws().masks)] == [5, 3]
    assert len(chain.take_draws().masks) == 0


def test_batches_of_edges_double_when_they_are_full():
    chain = begin("partition", edge_thin=1)
    means = []
    for _ in range(5):
        chain.advance(EDGE_ROWS // 2)
        trace = chain.trace
        rows = int(trace.n_edge_sums[0] / trace.batch_size[0])
        assert EDGE_ROWS // 2 <= rows <= EDGE_ROWS
        assert (trace.edge_sum[rows + 1 :] == 0).all()
        means.append(trace.edge_sum.sum(axis=0) / trace.n_edge_sums[0])
    assert trace.batch_size[0] == 4
    single = begin("partition", edge_thin=1)
    total = np.zeros_like(means[0])
    for _ in range(5 * EDGE_ROWS // 2):
        single.trace.edge_sum[:] = single.trace.n_edge_sums[:] = 0
        single.advance(1)
        total += single.trace.edge_sum[0]
    np.testing.assert_allclose(means[-1], total / (5 * EDGE_ROWS // 2), rtol=1e-12)


def test_a_cut_within_sweeps_keeps_the_law():
    """The draws change, their law does not: pieces of 7 steps against the exact posterior."""
    problem = target("random", 3)
    counts = np.zeros(25, dtype=np.int64)
    settings = settings_of("mcmc", n_draws=4000, thin=40, max_parents=2, n_warmup=500)
    start = np.zeros(3, dtype=np.uint32)
    chain = start_chain(problem.view, settings, start, np.random.default_rng(4))
    chain.advance(500)
    for _ in range(160_000 // 35):
        chain.advance(7)
        chain.advance(28)
    index = {
        tuple(sum(1 << int(problem.view.position[v, u]) for u in s) for v, s in enumerate(dag)): x
        for x, dag in enumerate(parent_sets(3))
    }
    drawn = chain.trace.masks[: chain.trace.n_draws[0]]
    for masks in drawn:
        counts[index[tuple(masks.tolist())]] += 1
    assert counts.sum() > 3900
    check_counts(counts, problem.dags, FALSE_ALARM)


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_chain_and_other_seed_another(method):
    chains = [begin(method, seed, n_warmup=200) for seed in (5, 5, 6)]
    for chain in chains:
        chain.advance(2200)
    assert same_trace(chains[0], chains[1])
    assert not same_trace(chains[0], chains[2])


@pytest.mark.parametrize("method", METHODS)
def test_counts_start_after_the_warm_up(method):
    chain = begin(method, n_warmup=700)
    chain.advance(700)
    trace = chain.trace
    assert trace.n_draws[0] == trace.n_edge_sums[0] == 0
    assert trace.attempts.sum() == trace.accepted.sum() == 0
    assert (trace.edge_sum == 0).all()
    chain.advance(2000)
    assert trace.n_draws[0] == trace.n_edge_sums[0] == 200
    rev = MOVES.index("rev")
    if method != "mcmc":  # there a step of reversals counts as many attempts
        assert trace.attempts.sum() == 2000
    assert (trace.attempts[rev] > 0) == (method in ("mcmc", "partition+rev", "structure+rev"))
    assert (trace.accepted <= trace.attempts).all()
    assert trace.accepted[MOVES.index("still")] == 0


# Starts


@pytest.mark.parametrize("n", [3, 4])
def test_partition_of_a_start(n):
    problem = target("random", n)
    for x, dag in enumerate(parent_sets(n)):
        masks = np.array(
            [sum(1 << int(problem.view.position[v, u]) for u in s) for v, s in enumerate(dag)],
            dtype=np.uint32,
        )
        state = partition_of(problem.view, masks)
        layers = peel([set(s) for s in dag])
        assert state.n_layers[0] == len(layers)
        assert all(state.layer[v] == level for level, own in enumerate(layers) for v in own)
        assert is_possible(problem.view, masks) == (problem.log_dag[x] > -np.inf)


@pytest.mark.parametrize("method", METHODS)
def test_order_start_is_possible_and_used(method):
    view = Target.of(gaussian(5, required=[("a", "b")], max_parents=2)).view
    start = np.zeros(5, dtype=np.uint32)
    start[1] = 1 << int(view.position[1, 0])
    settings = settings_of(method, order_steps=300, max_parents=2)
    chains = [start_chain(view, settings, start, np.random.default_rng(s)) for s in (1, 2, 3, 4)]
    for chain in chains:
        chain.advance(10)
        assert chain.trace.n_draws[0] == 1, "the draws of the order chain are not counted"
        assert is_possible(view, chain.trace.masks[0])
        assert chain.trace.masks[0, 1] >> int(view.position[1, 0]) & 1


# Adaptation


def tuned(chain: PartitionChain) -> tuple[Any, ...]:
    plan = chain._plan
    return (*chain.power.tolist(), plan.block, *plan.cumulative.tolist(), plan.thin, plan.sweep)


def stays_fixed(chain: PartitionChain, n_pieces: int = 20) -> bool:
    """Whether nothing that is tuned changes while steps are being recorded."""
    before = tuned(chain)
    for _ in range(n_pieces):
        chain.advance(100)
        if tuned(chain) != before:
            return False
    return True


class Restless(PartitionChain):
    """Wrong: the ladder goes on adapting, so every step depends on the whole past."""

    def advance(self, n_steps: int) -> None:
        super().advance(n_steps)
        trace = self.trace
        power = respace(self._plan.power, trace.swap_attempts, trace.swap_accepted, gain=0.5)
        self._plan = self._plan._replace(power=power)


class StretchingBlocks(PartitionChain):
    """Wrong: the blocks of reversals go on being tuned."""

    def advance(self, n_steps: int) -> None:
        super().advance(n_steps)
        self._plan = self._plan._replace(block=self._tuned_block())


ROUGH = Target.of(random_scores(5, spread=8.0, seed=3)).view


@pytest.mark.parametrize("method", ["mcmc", "partition", "partition+rev"])
def test_adaptation_stops_with_the_warm_up(method):
    chain = begin(method, view=ROUGH, n_draws=10, thin=200, n_warmup=2000)
    assert isinstance(chain, PartitionChain)
    fresh = tuned(chain)
    chain.advance(2000)
    assert (tuned(chain) != fresh) == (method == "mcmc"), "only our sampler tunes itself"
    assert stays_fixed(chain)


@pytest.mark.parametrize("wrong", [Restless, StretchingBlocks])
def test_a_chain_that_goes_on_adapting_is_found_out(wrong):
    start = np.zeros(5, dtype=np.uint32)
    chain = wrong(ROUGH, settings_of("mcmc", n_warmup=2000), start, np.random.default_rng(1))
    chain.advance(2000)
    assert not stays_fixed(chain)


def test_own_moves_keep_their_weights():
    moves = {"split_join": 1.0, "rev": 1.0}
    for method, replicas in (("mcmc", 4), ("partition", 1), ("partition+rev", 1)):
        chain = begin(method, moves=moves, n_warmup=400)
        chain.advance(2400)
        assert isinstance(chain, PartitionChain)
        assert len(chain.power) == replicas
        used = {MOVES[i] for i in np.flatnonzero(chain.trace.attempts)}
        assert used == {"split_join", "rev"}


# The ladder


@pytest.mark.parametrize("n_replicas", [1, 2, 4, 6])
def test_ladder(n_replicas):
    power = make_ladder(n_replicas)
    assert power[0] == 1.0
    assert (np.diff(power) < 0).all()
    assert power[-1] == (1.0 if n_replicas == 1 else pytest.approx(0.3 if n_replicas < 5 else 0.2))
    assert default_replicas(20) == 4
    assert default_replicas(21) == 6


@pytest.mark.parametrize("gain", [0.1, 1.0])
def test_respacing_widens_the_gaps_that_are_crossed_often(gain):
    power = make_ladder(4)
    attempts = np.array([100, 100, 100, 0])

    def gaps(accepted: list[int]) -> NDArray[np.float64]:
        moved = respace(power, attempts, np.array([*accepted, 0]), gain)
        assert moved[0] == 1.0
        assert moved[-1] == power[-1]
        assert (np.diff(moved) < 0).all()
        return -np.diff(np.log(moved))

    even = gaps([50, 50, 50])
    np.testing.assert_allclose(even, even[0])
    skewed = gaps([90, 50, 0])
    assert skewed[0] > even[0] > skewed[2]
    np.testing.assert_array_equal(respace(power[:2], attempts, attempts, gain), power[:2])


# A shorter warm-up


@pytest.mark.parametrize("method", ["mcmc", "structure+rev"])
def test_a_shortened_warm_up_is_a_shorter_warm_up(method):
    """Announced before its first tenth has passed, it is as if it had been planned.

    Both have an odd number of sweeps, after which the same pairs of replicas are swapped.
    """
    planned, shortened = begin(method, n_warmup=20), begin(method, n_warmup=1020)
    shortened.advance(20)
    shortened.shorten_warm_up(20)
    planned.advance(20)
    for chain in (planned, shortened):
        chain.advance(2000)
    assert planned.n_warmup == shortened.n_warmup == 20
    assert same_trace(planned, shortened)
    assert shortened.trace.n_draws[0] == 200


def test_the_warm_up_cannot_end_in_the_past_or_be_prolonged():
    chain = begin("mcmc", n_warmup=200)
    chain.advance(100)
    for step in (80, 220):
        with pytest.raises(ValueError, match="cannot end at step"):
            chain.shorten_warm_up(step)
    chain.shorten_warm_up(140)
    other = begin("mcmc", n_warmup=200)
    other.restore(chain.snapshot())
    for each in (chain, other):
        each.advance(500)
    assert chain.trace.n_draws[0] == 46
    assert same_trace(chain, other)
