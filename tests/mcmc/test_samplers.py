"""Chains by name: what they start from, when they stop adapting, how they may be cut in pieces."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from outpoint.mcmc import SAMPLERS, SWEEP, Chain, Settings, is_possible, make_chain
from outpoint.mcmc.ladder import early_ends
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.samplers import scattered_start
from outpoint.mcmc.samplers.partition import PartitionChain, partition_of
from outpoint.mcmc.samplers.tempered import TemperedChain
from outpoint.mcmc.trace import EDGE_ROWS
from outpoint.tables.view import TableView
from tests.exact.problems import custom, gaussian, random_scores
from tests.grids import covering
from tests.mcmc.chains import summed_edges
from tests.mcmc.laws import Floats, Target, check_counts, parent_sets, peel
from tests.mcmc.loops import candidate_masks
from tests.mcmc.targets import target
from tests.reference import all_dags

FALSE_ALARM = 1e-6
PAPER = ("partition", "partition+rev", "order", "structure", "structure+rev")


BGE = Target.of(gaussian(5)).view
ROUGH = Target.of(random_scores(5, spread=8.0, seed=3)).view


def settings_of(method: str, n: int = 5, **changes: Any) -> Settings:
    options: dict[str, Any] = {
        "start": np.zeros(n, dtype=np.int32),
        "max_parents": 4,
        "n_draws": 200,
        "thin": 10,
        "edge_thin": 10,
    }
    return Settings(method=method, **options | changes)


def begin(method: str, seed: int = 1, view: TableView = BGE, **changes: Any) -> Chain:
    return make_chain(view, settings_of(method, len(view.candidates), seed=seed, **changes))


def same_trace(one: Chain, other: Chain) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.trace, other.trace, strict=True))


def same_state(one: Chain, other: Chain) -> bool:
    ours, theirs = one.snapshot(), other.snapshot()
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)


# Cutting a run in pieces


@pytest.mark.parametrize("method", PAPER)
def test_pieces_do_not_matter(method):
    whole, cut = begin(method, n_warmup=500), begin(method, n_warmup=500)
    whole.advance(2500)
    for piece in (3, 490, 8, 2, 17, 480, 0, 999, 501):
        cut.advance(piece)
    assert whole.trace.n_draws[0] == 200
    assert same_trace(whole, cut)
    assert same_state(whole, cut)


CONSTRAINED = Target.of(random_scores(5, spread=8.0, seed=3, forbidden=[("a", "b")])).view


@pytest.mark.parametrize("view", [BGE, ROUGH, CONSTRAINED], ids=["bge", "rough", "constrained"])
def test_pieces_of_whole_sweeps_do_not_matter_with_replicas(view):
    whole, cut = (begin("mcmc", view=view, n_warmup=1000) for _ in range(2))
    whole.advance(3000)
    for sweeps in (2, 40, 9, 0, 7, 42, 50):
        cut.advance(sweeps * SWEEP)
    assert whole.trace.n_draws[0] == 200
    assert same_trace(whole, cut)
    assert same_state(whole, cut)


@pytest.mark.parametrize("method", SAMPLERS)
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
    assert same_state(whole, second)


@pytest.mark.parametrize("view", [ROUGH, CONSTRAINED], ids=["rough", "constrained"])
def test_a_ladder_is_restored_amid_its_tuning(view):
    """Also in a chain that has another number of replicas at that time."""
    whole, first, second = (begin("mcmc", seed, view, n_warmup=5000) for seed in (1, 1, 9))
    whole.advance(7000)
    first.advance(1400)
    snapshot = first.snapshot()
    sizes = [len(begin("mcmc", view=view, n_warmup=5000).ladder.power), len(first.ladder.power)]
    assert sizes[0] != sizes[1] == len(snapshot["ladder.power"])
    assert first.ladder.attempts.sum() > 0
    second.restore(snapshot)
    assert len(second.ladder.power) == sizes[1]
    assert same_state(first, second)
    second.advance(7000 - 1400)
    assert same_state(whole, second)
    assert same_trace(whole, second)
    assert whole.trace.n_draws[0] == 200


@pytest.mark.parametrize("n_replicas", [1, 201])
def test_a_snapshot_with_an_impossible_ladder_is_refused(n_replicas):
    snapshot = begin("mcmc").snapshot()
    snapshot["ladder.power"] = np.linspace(1.0, 0.0, n_replicas)
    with pytest.raises(ValueError, match=f"{n_replicas} replicas"):
        begin("mcmc").restore(snapshot)


def test_a_snapshot_of_another_problem_is_refused():
    other = begin("mcmc", view=Target.of(gaussian(4)).view, max_parents=3).snapshot()
    with pytest.raises(ValueError, match=r"has the shape \(.*\) and not \("):
        begin("mcmc").restore(other)


def test_draws_are_taken_once_and_make_room():
    chain = begin("partition", n_draws=5)
    chain.advance(50)
    first = chain.take_draws()
    chain.advance(30)
    assert [len(first.codes), len(chain.take_draws().codes)] == [5, 3]
    assert len(chain.take_draws().codes) == 0


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
    chain = begin("mcmc", 4, problem.view, n_draws=4000, thin=40, max_parents=2, n_warmup=500)
    chain.advance(500)
    index = {tuple(candidate_masks(problem.view, x).tolist()): x for x in range(25)}
    for _ in range(160_000 // 35):
        chain.advance(7)
        chain.advance(28)
        for masks in chain.take_draws().codes:
            counts[index[tuple(masks.tolist())]] += 1
    assert counts.sum() > 3900
    check_counts(counts, problem.dags, FALSE_ALARM)


@pytest.mark.parametrize("method", SAMPLERS)
def test_same_seed_same_chain_and_other_seed_another(method):
    chains = [begin(method, seed, n_warmup=200) for seed in (5, 5, 6)]
    for chain in chains:
        chain.advance(2200)
    assert same_trace(chains[0], chains[1])
    assert not same_trace(chains[0], chains[2])


@pytest.mark.parametrize("method", SAMPLERS)
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


@pytest.mark.parametrize(
    ("n", "name"), covering([3, 4], ["random", "rough", "forbidden", "required"])
)
def test_tuned_ladders_against_listing_all_dags(n, name):
    """Means of 20 chains within 6 standard errors, exceeded by chance once in 100,000 edges."""
    problem = target(name, n)
    start = candidate_masks(problem.view, int(np.argmax(problem.log_dag))).astype(np.int32)
    settings = settings_of(
        "mcmc", n, start=start, max_parents=n - 1, n_chains=20, n_warmup=1000, edge_thin=1
    )
    edges = []
    for index in range(20):
        chain = make_chain(problem.view, settings, index)
        chain.advance(6000)
        assert chain.trace.n_edge_sums[0] == 5000
        edges.append(summed_edges(problem.view, chain.trace) / 5000)
    error = np.std(edges, axis=0, ddof=1) / np.sqrt(20)
    assert np.all(np.abs(np.mean(edges, axis=0) - problem.edges) <= 6 * error + 1e-4)
    assert np.max(error) < 0.02


# Starts


@pytest.mark.parametrize("n", [3, 4])
def test_partition_of_a_start(n):
    problem = target("random", n)
    for x, dag in enumerate(parent_sets(n)):
        masks = candidate_masks(problem.view, x).astype(np.int32)
        state = partition_of(problem.view, masks)
        layers = peel([set(s) for s in dag])
        assert state.n_layers[0] == len(layers)
        assert all(state.layer[v] == level for level, own in enumerate(layers) for v in own)
        assert is_possible(problem.view, masks) == (problem.log_dag[x] > -np.inf)


@pytest.mark.parametrize("method", SAMPLERS)
def test_order_start_is_possible_and_used(method):
    view = Target.of(gaussian(5, required=[("a", "b")], max_parents=2)).view
    start = np.zeros(5, dtype=np.int32)
    start[1] = 1 << int(view.position[1, 0])
    chains = [
        begin(method, seed, view, start=start, order_steps=300, max_parents=2)
        for seed in (1, 2, 3, 4)
    ]
    for chain in chains:
        chain.advance(10)
        assert chain.trace.n_draws[0] == 1, "the draws of the order chain are not counted"
        assert is_possible(view, chain.trace.codes[0])
        assert chain.trace.codes[0, 1] >> int(view.position[1, 0]) & 1


EAGER = Target.of(custom(5, lambda v, parents: 5.0 * len(parents), required=[("d", "a")]))
EAGER_REQUIRED = np.zeros((5, 5), dtype=bool)
EAGER_REQUIRED[3, 0] = True
EAGER_START = np.zeros(5, dtype=np.int32)
EAGER_START[0] = 1 << int(EAGER.view.position[0, 3])


def fall_back(required: np.ndarray | None) -> int:
    """How many of 50 scattered chains begin at the common start.

    Drawn from an order, its single edge would have probability e^-40 or so.
    """
    settings = settings_of(
        "mcmc", start=EAGER_START, scatter=True, required=required, n_chains=51, seed=3
    )
    chains = [make_chain(EAGER.view, settings, index) for index in range(51)]
    assert np.array_equal(chains[0].start, EAGER_START), "the first chain begins where it is told"
    for chain in chains:
        assert is_possible(EAGER.view, chain.start)
        assert chain.start[0] & EAGER_START[0]
    return sum(np.array_equal(chain.start, EAGER_START) for chain in chains[1:])


def test_scattered_starts_respect_required_edges():
    assert fall_back(EAGER_REQUIRED) == 0


def test_orders_that_forget_required_edges_are_found_out():
    assert fall_back(None) > 5


def scattered_law(problem: Target, required: np.ndarray) -> Floats:
    """Mean over the orders that allow the required edges of P(DAG | order)."""
    laws = []
    for order in permutations(range(problem.n)):
        place = np.argsort(order)
        forward = place[:, None] < place[None, :]
        if (required <= forward).all():
            law = problem.dags * (all_dags(problem.n) <= forward).all(axis=(1, 2))
            laws.append(law / law.sum())
    return np.mean(laws, axis=0)


@pytest.mark.parametrize("name", ["random", "required"])
def test_scattered_starts_are_drawn_from_orders(name):
    """With one required edge b -> a of three nodes the three orders are not equally likely."""
    problem = target(name, 3)
    required = np.zeros((3, 3), dtype=bool)
    required[1, 0] = name == "required"
    settings = settings_of("mcmc", 3, required=required)
    rng = np.random.default_rng(5)
    index = {tuple(candidate_masks(problem.view, x).tolist()): x for x in range(25)}
    starts = [scattered_start(problem.view, settings, rng) for _ in range(5_000)]
    counts = np.bincount([index[tuple(start.tolist())] for start in starts], minlength=25)
    law = scattered_law(problem, required)
    if name == "random":
        check_counts(counts, law, FALSE_ALARM)
        with pytest.raises(AssertionError):
            check_counts(counts, problem.dags, FALSE_ALARM)
    else:
        assert np.array_equal(counts > 0, law > 0)


def test_chains_differ_and_depend_on_their_number_only():
    settings = settings_of("mcmc", scatter=True, n_chains=4, seed=7)
    chains = [make_chain(BGE, settings, index) for index in (3, 1, 3)]
    for chain in chains:
        chain.advance(500)
    assert same_state(chains[0], chains[2])
    assert not same_state(chains[0], chains[1])


# What counts as accepted


def frozen_view() -> TableView:
    """a -> b -> c and no other DAG."""
    forbidden = [(u, v) for u in "abc" for v in "abc" if u != v and u + v not in ("ab", "bc")]
    required = [("a", "b"), ("b", "c")]
    return Target.of(custom(3, lambda v, parents: 0.0, required=required, forbidden=forbidden)).view


@pytest.mark.parametrize("method", SAMPLERS)
def test_nothing_is_accepted_where_nothing_changes(method):
    view = frozen_view()
    start = np.array([0, 1 << int(view.position[1, 0]), 1 << int(view.position[2, 1])], np.int32)
    chain = begin(method, 2, view, start=start, max_parents=2)
    chain.advance(2000)
    assert (chain.trace.codes[: chain.trace.n_draws[0]] == start).all()
    assert chain.trace.attempts.sum() >= 2000
    assert chain.trace.accepted.tolist() == [0] * len(MOVES)


# Adaptation


def tuned(chain: PartitionChain) -> tuple[Any, ...]:
    plan = chain._kernel_plan()
    power = chain._rungs.power.tolist()
    return (*power, plan.block, *plan.cumulative.tolist(), plan.thin, plan.sweep)


def stays_fixed(chain: PartitionChain, n_pieces: int = 20) -> bool:
    """Whether nothing that is tuned changes while steps are being recorded."""
    before = tuned(chain)
    for _ in range(n_pieces):
        chain.advance(100)
        if tuned(chain) != before:
            return False
    return True


class Restless(TemperedChain):
    """Wrong: the ladder goes on adapting, so every step depends on the whole past."""

    def advance(self, n_steps: int) -> None:
        super().advance(n_steps)
        block = self._block.copy()
        self._tune()
        self._block[:] = block


class StretchingBlocks(TemperedChain):
    """Wrong: the blocks of reversals go on being tuned."""

    def advance(self, n_steps: int) -> None:
        super().advance(n_steps)
        rungs, replicas = self._rungs, self._replicas
        self._tune()
        self._rungs, self._replicas = rungs, replicas


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
    settings = settings_of("mcmc", n_warmup=2000)
    chain = wrong(ROUGH, settings, settings.start, np.random.default_rng(1))
    chain.advance(2000)
    assert not stays_fixed(chain)


def test_own_moves_keep_their_weights():
    moves = {"split_join": 1.0, "rev": 1.0}
    for method, has_ladder in (("mcmc", True), ("partition", False), ("partition+rev", False)):
        chain = begin(method, moves=moves, n_warmup=400)
        chain.advance(2400)
        assert isinstance(chain, PartitionChain)
        assert SAMPLERS[method].has_ladder == (chain.ladder is not None) == has_ladder
        assert (len(chain._rungs.power) > 1) == has_ladder
        used = {MOVES[i] for i in np.flatnonzero(chain.trace.attempts)}
        assert used == {"split_join", "rev"}


# A shorter warm-up


@pytest.mark.parametrize("method", ["mcmc", "structure+rev"])
@pytest.mark.parametrize("n_warmup", [5000, 5020])
@pytest.mark.parametrize("early", [0, 200])
def test_a_shortened_warm_up_is_a_shorter_warm_up(method, n_warmup, early):
    """At its end or announced before, it is as if it had been planned, bit for bit."""
    ends = early_ends(n_warmup, SWEEP)
    assert len(ends) == 4
    for end in ends:
        planned, shortened = begin(method, n_warmup=end), begin(method, n_warmup=n_warmup)
        shortened.advance(end - early)
        shortened.shorten_warm_up(end)
        shortened.advance(early)
        planned.advance(end)
        for chain in (planned, shortened):
            chain.advance(2000)
        assert planned.n_warmup == shortened.n_warmup == end
        assert same_trace(planned, shortened)
        assert shortened.trace.n_draws[0] == 200


def test_a_shortened_warm_up_is_restored():
    chain, other = (begin("mcmc", n_warmup=200) for _ in range(2))
    chain.advance(100)
    chain.shorten_warm_up(160)
    other.restore(chain.snapshot())
    for each in (chain, other):
        each.advance(560)
    assert chain.trace.n_draws[0] == 50
    assert same_trace(chain, other)


def test_a_warm_up_that_ends_where_it_was_just_tuned_keeps_what_was_tuned():
    chain = begin("mcmc", view=ROUGH, n_warmup=10_000)
    chain.advance(2240)
    before = tuned(chain)
    chain.shorten_warm_up(2240)
    assert tuned(chain) == before


def test_the_warm_up_cannot_end_in_the_past_or_be_prolonged():
    chain = begin("mcmc", n_warmup=200)
    chain.advance(100)
    for step in (80, 220, 140):
        with pytest.raises(ValueError, match="cannot end at step"):
            chain.shorten_warm_up(step)
    chain.shorten_warm_up(160)
    chain.advance(500)
    assert chain.trace.n_draws[0] == 44


def test_the_warm_up_cannot_end_where_a_shorter_one_would_have_been_tuned_otherwise():
    chain = begin("mcmc", n_warmup=5000)
    chain.advance(320)
    for step in (360, 600):
        with pytest.raises(ValueError, match="cannot end at step"):
            chain.shorten_warm_up(step)
    chain.shorten_warm_up(640)


# Cuts


def test_cuts_within_a_sweep_are_noticed():
    """They may change the draws of a chain with replicas, which take turns within a sweep."""
    for method, n_steps, is_cut in [
        ("mcmc", 130, True),
        ("mcmc", 140, False),
        ("structure", 130, False),
    ]:
        chain = begin(method, n_warmup=200)
        for n in (100, 100, n_steps):
            chain.advance(n)
            assert not chain.is_cut
        for _ in range(2):
            chain.advance(100)
            other = begin(method, n_warmup=200)
            other.restore(chain.snapshot())
            assert chain.is_cut == other.is_cut == is_cut
