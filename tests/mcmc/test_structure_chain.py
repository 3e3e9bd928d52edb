"""Structure MCMC: the neighbourhoods it counts, the law it declares, the steps it takes.

Neighbours are found by changing one edge in all ways and looking for cycles. Frequencies are
compared by chi-square; ``FALSE_ALARM`` is the probability that a correct sampler fails a test with
another seed (seeds are fixed).
"""

from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

import outpoint as op
from outpoint.mcmc import Settings, make_chain
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.structure_chain import (
    StructureState,
    make_structure_chain,
    run_structure_chain,
    start_structure_chain,
)
from outpoint.mcmc.trace import Trace, make_trace
from outpoint.scores import build_prior
from outpoint.tables import build_table
from outpoint.tables.view import TableView, most_parents, view_table
from tests.exact.problems import gaussian, random_scores
from tests.grids import first
from tests.mcmc.chains import advance_taking_draws, summed_edges
from tests.mcmc.laws import (
    Floats,
    Target,
    check_balanced,
    check_counts,
    check_invariant,
    list_reversals,
    metropolis,
    reversal_matrix,
    uniform_proposal,
)
from tests.mcmc.loops import set_code
from tests.mcmc.targets import target
from tests.reference import all_dags

FALSE_ALARM = 1e-6
LIMITS = (1, 2, None)
Bools = NDArray[np.bool_]


# Oracles


def is_acyclic(adjacency: Bools) -> bool:
    left = np.ones(len(adjacency), dtype=bool)
    while left.any():
        outpoints = left & ~adjacency[left].any(axis=0)
        if not outpoints.any():
            return False
        left &= ~outpoints
    return True


def neighbours(dag: Bools, max_parents: int, with_reversals: bool) -> list[Bools]:
    """All DAGs that differ in one edge, which may also be turned; ``dag`` itself first."""
    n = len(dag)
    out = [dag]
    for u in range(n):
        for v in range(n):
            changed = dag.copy()
            if dag[u, v]:
                changed[u, v] = False
                out.append(changed)
                turned = changed.copy()
                turned[v, u] = True
                fits = turned[:, u].sum() <= max_parents
                if with_reversals and fits and is_acyclic(turned):
                    out.append(turned)
            elif u != v:
                changed[u, v] = True
                if changed[:, v].sum() <= max_parents and is_acyclic(changed):
                    out.append(changed)
    return out


@lru_cache
def problem_of(n: int, limit: int | None) -> Target:
    return Target.of(random_scores(n, spread=0.5, seed=n, max_parents=limit))


def within(n: int, limit: int | None) -> NDArray[np.int64]:
    """The DAGs that respect the limit."""
    return np.flatnonzero(all_dags(n).sum(axis=1).max(axis=1) <= (limit or n - 1))


@lru_cache
def edge_matrix(
    problem: Target, limit: int, with_reversals: bool, *, ratio: bool = True, still: bool = True
) -> Floats:
    """The declared law: uniform over the neighbours, nbd(G) / nbd(G') in the acceptance."""
    dags = all_dags(problem.n)
    index = {dag.tobytes(): i for i, dag in enumerate(dags)}
    adjacent = np.zeros((len(dags), len(dags)))
    for x in np.flatnonzero(dags.sum(axis=1).max(axis=1) <= limit):
        near = neighbours(dags[x], limit, with_reversals)
        for dag in near if still else near[1:]:
            adjacent[x, index[dag.tobytes()]] += 1
    proposal, log_ratio = uniform_proposal(adjacent)
    return metropolis(proposal, log_ratio if ratio else 0.0 * log_ratio, problem.log_dag)


# Running the compiled chain


def codes_of(view: TableView, dag: Bools) -> NDArray[np.int32]:
    return np.array(
        [set_code(view, v, np.flatnonzero(dag[:, v]).tolist()) for v in range(len(dag))],
        dtype=np.int32,
    )


def chain_at(view: TableView, dag: Bools, limit: int, with_reversals: bool) -> StructureState:
    chain = make_structure_chain(len(dag), most_parents(view))
    start_structure_chain(view, chain, codes_of(view, dag), limit, with_reversals)
    return chain


def run_chain(
    view: TableView,
    chain: StructureState,
    rev: float,
    limits: tuple[int, bool],
    trace: Trace,
    n_steps: int,
    rng: np.random.Generator,
    recording: bool = False,
) -> None:
    run_structure_chain(view, chain, rev, *limits, 1, 1, trace, 0, n_steps, recording, rng)


def adjacency_of(view: TableView, chain: StructureState) -> Bools:
    n = len(chain.dag.code)
    out = np.zeros((n, n), dtype=bool)
    for v in range(n):
        out[chain.dag.parents[v, : chain.dag.n_parents[v]], v] = True
    assert np.array_equal(codes_of(view, out), chain.dag.code)
    return out


# Sizes of neighbourhoods


@pytest.mark.parametrize("with_reversals", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("n", [3, 4])
def test_size_of_the_neighbourhood(n, limit, with_reversals):
    problem, most = problem_of(n, limit), limit or n - 1
    for x in within(n, limit):
        dag = all_dags(n)[x]
        chain = chain_at(problem.view, dag, most, with_reversals)
        assert chain.n_neighbours[0] == len(neighbours(dag, most, with_reversals))


def test_known_sizes():
    view = problem_of(3, None).view
    empty, full = np.zeros((3, 3), dtype=bool), np.triu(np.ones((3, 3), dtype=bool), 1)
    assert chain_at(view, empty, 2, True).n_neighbours[0] == 7
    assert chain_at(view, full, 2, False).n_neighbours[0] == 4
    assert chain_at(view, full, 2, True).n_neighbours[0] == 6  # 0 -> 2 cannot be turned


@lru_cache
def wide_view(n: int) -> TableView:
    """Many nodes with few candidates each, and all other sets outside."""
    rng = np.random.default_rng(n)
    data = op.simulate(op.random_dag(n, rng), 100, rng, coefficients="bounded")
    table = build_table(
        data.names,
        op.BGe(standardize=False).bind(data),
        build_prior(data.names, max_parents=2),
        max_parents=2,
        n_candidates=6,
        is_pruned=False,
    )
    return view_table(table)


def random_dag_within(n: int, limit: int, rng: np.random.Generator) -> Bools:
    place = rng.permutation(n)
    dag = np.zeros((n, n), dtype=bool)
    for v in range(n):
        earlier = np.flatnonzero(place < place[v])
        size = min(len(earlier), int(rng.integers(limit + 1)))
        dag[rng.choice(earlier, size, replace=False) if size else [], v] = True
    return dag


@pytest.mark.parametrize("n", first([65, 64, 70]))
def test_more_nodes_than_bits_in_a_word(n):
    view, rng = wide_view(n), np.random.default_rng(1)
    for with_reversals in (False, True):
        dag = random_dag_within(n, 2, rng)
        chain = chain_at(view, dag, 2, with_reversals)
        found = neighbours(dag, 2, with_reversals)
        assert chain.n_neighbours[0] == len(found)
        run_chain(view, chain, 0.07, (2, with_reversals), make_trace(n, 0), 3000, rng)
        after = adjacency_of(view, chain)
        assert is_acyclic(after)
        assert not np.array_equal(after, dag)
        assert chain.n_neighbours[0] == len(neighbours(after, 2, with_reversals))


def test_descendants_across_words():
    """A path through all nodes: every later node is a descendant."""
    n = 70
    table = build_table(
        tuple(f"x{v}" for v in range(n)),
        op.CustomScore(lambda v, parents: -abs(v - 1 - sum(parents))).bind(
            op.Dataset([f"x{v}" for v in range(n)], np.zeros((1, n)))
        ),
        build_prior([f"x{v}" for v in range(n)], max_parents=1),
        max_parents=1,
        n_candidates=4,
    )
    view = view_table(table)
    dag = np.eye(n, k=1, dtype=bool)
    reach = chain_at(view, dag, 1, True).near.reach
    bits = reach[:, np.arange(n) // 64] >> (np.arange(n) % 64).astype(np.uint64) & np.uint64(1)
    assert np.array_equal(bits.astype(bool), np.triu(np.ones((n, n), dtype=bool), 1))


# The declared law


@pytest.mark.parametrize("with_reversals", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("n", [3, 4])
def test_declared_law_keeps_the_posterior(n, limit, with_reversals):
    problem = problem_of(n, limit)
    matrix = edge_matrix(problem, limit or n - 1, with_reversals)
    check_invariant(problem.dags, matrix)
    check_balanced(problem.dags, matrix)
    allowed = within(n, limit)
    many = np.linalg.matrix_power(matrix[np.ix_(allowed, allowed)], 1 << 12)
    np.testing.assert_allclose(many, np.tile(problem.dags[allowed], (len(allowed), 1)), atol=1e-6)


@pytest.mark.parametrize("with_reversals", [False, True])
def test_a_law_without_the_ratio_is_found_out(with_reversals):
    problem = problem_of(3, None)
    wrong = edge_matrix(problem, 2, with_reversals, ratio=False)
    with pytest.raises(AssertionError):
        check_invariant(problem.dags, wrong)


# The compiled steps


def recorded_states(
    problem: Target, limit: int, with_reversals: bool, rev: float, n_steps: int, seed: int
) -> NDArray[np.int64]:
    """The DAG after every step, as an index into ``all_dags``."""
    view, n = problem.view, problem.n
    start = all_dags(n)[int(np.argmax(problem.log_dag))]
    chain = chain_at(view, start, limit, with_reversals)
    trace = make_trace(n, n_steps, n_candidates=view.candidates.shape[1])
    rng = np.random.default_rng(seed)
    run_chain(view, chain, rev, (limit, with_reversals), trace, n_steps, rng, recording=True)
    assert trace.attempts.sum() == n_steps
    assert trace.n_draws[0] == trace.n_edge_sums[0] == n_steps
    width = view.candidates.shape[1]
    shift = width * np.arange(n)
    table = np.full(1 << (width * n), -1)
    for x in np.flatnonzero(problem.log_dag > -np.inf):
        dag = all_dags(n)[x]
        table[int((codes_of(view, dag).astype(np.int64) << shift).sum())] = x
    states = table[(trace.codes.astype(np.int64) << shift).sum(axis=1)]
    assert (states >= 0).all(), "a cycle, or a set that must not occur"
    assert np.allclose(trace.log_score, problem.log_dag[states], atol=1e-9, rtol=0)
    assert np.array_equal(trace.log_score, trace.log_weight)
    assert np.allclose(summed_edges(view, trace), all_dags(n)[states].sum(axis=0))
    assert trace.best_log_score[0] == trace.log_score.max()
    moved = (np.diff(states) != 0).sum()
    accepted = trace.accepted.sum()
    assert moved <= accepted <= moved + trace.accepted[MOVES.index("rev")] + 1
    return states


def check_steps(states: NDArray[np.int64], matrix: Floats, least: int) -> int:
    """Every row of the transition counts against the matrix; returns the number of rows tested."""
    counts = np.zeros(matrix.shape, dtype=np.int64)
    np.add.at(counts, (states[:-1], states[1:]), 1)
    rows = np.flatnonzero(counts.sum(axis=1) >= least)
    for row in rows:
        check_counts(counts[row], np.maximum(matrix[row], 0.0), FALSE_ALARM / len(rows))
    return len(rows)


@pytest.mark.parametrize("rev", [0.0, 0.07, 0.5])
@pytest.mark.parametrize("with_reversals", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
def test_compiled_steps_follow_the_law(limit, with_reversals, rev):
    problem, most = problem_of(3, limit), limit or 2
    matrix = (1 - rev) * edge_matrix(problem, most, with_reversals)
    if rev:
        matrix = matrix + rev * reversal_matrix(problem, list_reversals(problem))
    states = recorded_states(problem, most, with_reversals, rev, 200_000, seed=1)
    assert check_steps(states, matrix, least=300) == len(within(3, limit))


@pytest.mark.parametrize("name", ["bge", "required", "forbidden", "candidates"])
def test_compiled_steps_with_background_knowledge(name):
    problem = target(name, 3)
    limit = 2
    dags = all_dags(3)
    index = {dag.tobytes(): i for i, dag in enumerate(dags)}
    adjacent = np.zeros((25, 25))
    for x, dag in enumerate(dags):
        if dag.sum(axis=0).max() <= limit:
            for near in neighbours(dag, limit, True):
                adjacent[x, index[near.tobytes()]] += 1
    proposal, log_ratio = uniform_proposal(adjacent)
    matrix = metropolis(proposal, log_ratio, problem.log_dag)
    check_invariant(problem.dags, matrix)
    states = recorded_states(problem, limit, True, 0.0, 200_000, seed=2)
    assert check_steps(states, matrix, least=100) > 3


def test_wrong_laws_are_told_apart():
    """The chi-square sees a missing ratio, a neighbourhood without the DAG, missing reversals."""
    problem = problem_of(3, None)
    states = recorded_states(problem, 2, True, 0.0, 200_000, seed=1)
    for wrong in (
        edge_matrix(problem, 2, True, ratio=False),
        edge_matrix(problem, 2, True, still=False),
        edge_matrix(problem, 2, False),
    ):
        with pytest.raises(AssertionError):
            check_steps(states, wrong, least=300)


@pytest.mark.parametrize("rev", [0.0, 0.2])
def test_counts_are_kept_up_to_date(rev):
    """What the chain carries along equals what a fresh start at its DAG computes."""
    problem = Target.of(gaussian(5, max_parents=3))
    rng, trace = np.random.default_rng(5), make_trace(5, 0)
    chain = chain_at(problem.view, np.zeros((5, 5), dtype=bool), 3, True)
    for _ in range(300):
        run_chain(problem.view, chain, rev, (3, True), trace, 1, rng)
        dag = adjacency_of(problem.view, chain)
        fresh = chain_at(problem.view, dag, 3, True)
        assert chain.n_neighbours[0] == fresh.n_neighbours[0]
        assert np.array_equal(chain.near.additions, fresh.near.additions)
        assert np.array_equal(chain.near.reversals, fresh.near.reversals)
        assert np.array_equal(chain.near.reach, fresh.near.reach)
        assert np.array_equal(chain.dag.log_score, fresh.dag.log_score)


@pytest.mark.parametrize("reversals", [False, True])
@pytest.mark.parametrize("method", ["structure", "structure+rev"])
def test_sampler_visits_dags_by_the_posterior(method, reversals):
    problem = problem_of(4, 2)
    settings = Settings(
        method=method,
        start=np.zeros(4, dtype=np.int32),
        max_parents=2,
        edge_reversals=reversals,
        seed=3,
        n_warmup=10_000,
        n_draws=3000,
        thin=100,
        edge_thin=100,
    )
    chain = make_chain(problem.view, settings)
    drawn = advance_taking_draws(chain, 310_000)
    shift = 3 * np.arange(4)
    codes = (drawn.codes.astype(np.int64) << shift).sum(axis=1)
    found = {
        int((codes_of(problem.view, dag).astype(np.int64) << shift).sum()): x
        for x, dag in enumerate(all_dags(4))
    }
    counts = np.zeros(543, dtype=np.int64)
    np.add.at(counts, [found[code] for code in codes.tolist()], 1)
    check_counts(counts, problem.dags, FALSE_ALARM)
