"""Samplers with known mistakes, each of which the checks of the other files must reject.

A mistake is put into a declared law and given to the check of invariance, or into a little
sampler whose frequencies are compared, or into the law that the compiled kernel is compared with:
the last shows that frequencies would tell the two apart.
"""

import numpy as np
import pytest

from outpoint.mcmc.replicas import make_ladder, make_replicas
from tests.mcmc.laws import (
    MOVE_NAMES,
    Floats,
    Target,
    adjacency,
    check_counts,
    check_invariant,
    index_of,
    list_reversals,
    metropolis,
    move_matrix,
    neighbours,
    partitions,
    placement_matrix,
    placements,
    reversal_matrix,
    stay_otherwise,
    swap_matrix,
    swap_probability,
    through_dags,
    uniform_proposal,
    without,
)
from tests.mcmc.loops import (
    MOVE_NUMBER,
    code_table,
    count_moves,
    count_placements,
    count_swaps,
    draw_reversals,
    make_dag_state,
    scored_state,
)
from tests.mcmc.targets import target
from tests.mcmc.test_rev import count_dags

FALSE_ALARM = 1e-6


def rejected_by_compiled_steps(
    problem: Target, move: str, wrong: Floats, n_draws: int = 8_000
) -> bool:
    """Whether frequencies of the compiled step show that ``wrong`` is not its law."""
    table, rng = code_table(problem.n), np.random.default_rng(1)
    for x in np.flatnonzero(problem.possible):
        counts = np.zeros(len(table), dtype=np.int64)
        start = scored_state(problem.view, partitions(problem.n)[x], rng)
        count_moves(problem.view, start, MOVE_NUMBER[move], 1.0, n_draws, rng, table, counts)
        try:
            check_counts(counts[: len(wrong)], wrong[x], FALSE_ALARM / len(wrong))
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("move", MOVE_NAMES)
def test_the_comparison_itself_accepts_the_right_law(move):
    problem = target("random", 3)
    assert not rejected_by_compiled_steps(problem, move, move_matrix(problem, move))


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("move", ["split_join", "node_move"])
def test_omitted_proposal_ratio(move, n):
    problem = target("random", n)
    proposal, log_ratio = uniform_proposal(adjacency(n, move))
    for factor in (0.0, -1.0):  # left out; upside down
        wrong = metropolis(proposal, factor * log_ratio, problem.log_weight)
        with pytest.raises(AssertionError):
            check_invariant(problem.law(), wrong)
        assert rejected_by_compiled_steps(problem, move, wrong)


@pytest.mark.parametrize("move", ["split_join", "node_move"])
def test_neighbours_miscounted_by_one(move):
    """The proposal is right, but a partition with several layers is said to have one more."""
    problem = target("random", 3)
    around = adjacency(3, move)
    proposal, _ = uniform_proposal(around)
    size = around.sum(axis=1) + [len(layers) > 1 for layers in partitions(3)]
    log_ratio = np.log(size[:, None] / size[None, :])
    wrong = metropolis(proposal, log_ratio, problem.log_weight)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), wrong)
    assert rejected_by_compiled_steps(problem, move, wrong, 60_000)


def test_node_moves_with_neighbours_that_count_twice():
    """Uniform over (node, place) without the exclusions, but with the count of distinct ones."""
    n, problem = 3, target("random", 3)
    _, log_ratio = uniform_proposal(adjacency(n, "node_move"))
    ways = np.zeros((13, 13))
    for x, layers in enumerate(partitions(n)):
        for v in range(n):
            for y in placements(n, layers, v) - {layers}:
                ways[x, index_of(n)[y]] += 1.0
    assert ways.max() == 2.0
    wrong = metropolis(ways / ways.sum(axis=1)[:, None], log_ratio, problem.log_weight)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), wrong)
    assert rejected_by_compiled_steps(problem, "node_move", wrong)


def split_law(n: int, replacement: bool) -> Floats:
    """Split the only layer: the size by its weight C(n, c), then c nodes; [code of the subset]."""
    sizes = np.array([bin(mask).count("1") for mask in range(1 << n)])
    law = np.zeros(1 << n)
    total = 2**n - 2
    for c in range(1, n):
        share = (sizes == c).sum() / total
        if not replacement:
            law[sizes == c] += share / (sizes == c).sum()
            continue
        for draws in np.ndindex(*(n,) * c):
            law[np.bitwise_or.reduce([1 << v for v in draws])] += share / n**c
    return law


@pytest.mark.parametrize("n", [3, 4])
def test_split_with_replacement(n):
    """Nodes drawn twice make the new layer smaller than its size was meant to be."""
    rng = np.random.default_rng(n)
    one_layer = index_of(n)[(tuple(range(n)),)]
    fair = np.zeros(len(partitions(n)))
    wrong = np.zeros(len(partitions(n)))
    for replacement, law in ((False, fair), (True, wrong)):
        for mask, probability in enumerate(split_law(n, replacement)):
            staying = tuple(v for v in range(n) if not mask >> v & 1)
            moving = tuple(v for v in range(n) if mask >> v & 1)
            if probability:
                law[index_of(n)[staying, moving]] += probability
    declared = adjacency(n, "split_join")[one_layer]
    declared /= declared.sum()
    np.testing.assert_allclose(fair, declared, atol=1e-15)
    check_counts(rng.multinomial(3_000, fair), declared, FALSE_ALARM)
    with pytest.raises(AssertionError):
        check_counts(rng.multinomial(3_000, wrong), declared, FALSE_ALARM)
    problem = target("random", n)
    proposal, log_ratio = uniform_proposal(adjacency(n, "split_join"))
    proposal[one_layer] = wrong
    matrix = metropolis(proposal, log_ratio, problem.log_weight)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), matrix)


@pytest.mark.parametrize("swap", ["swap_any", "swap_adjacent"])
def test_swaps_redrawn_where_there_is_no_neighbour(swap):
    """With one layer another move is drawn instead: each step of a mix, conditioned on a move."""
    problem = target("random", 3)
    split, other = move_matrix(problem, "split_join"), move_matrix(problem, swap)
    right = 0.6 * split + 0.4 * other
    check_invariant(problem.law(), right)
    wrong = right.copy()
    one_layer = index_of(3)[((0, 1, 2),)]
    wrong[one_layer] = split[one_layer]
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), wrong)


@pytest.mark.parametrize("move", MOVE_NAMES)
def test_impossible_partitions_redrawn(move):
    """A proposal of weight 0 is thrown away and another drawn, with the counts as they were."""
    problem = target("required", 4)
    proposal, log_ratio = uniform_proposal(adjacency(4, move))
    check_invariant(problem.law(), metropolis(proposal, log_ratio, problem.log_weight))
    redrawn = proposal * problem.possible[None, :]
    redrawn /= np.maximum(redrawn.sum(axis=1), 1e-300)[:, None]
    wrong = metropolis(redrawn, log_ratio, problem.log_weight)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), wrong)
    assert rejected_by_compiled_steps(problem, move, wrong)


@pytest.mark.parametrize("forgotten", ["first", "last"])
def test_placement_that_forgets_a_gap(forgotten):
    n, problem, table = 3, target("random", 3), code_table(3)
    rng = np.random.default_rng(2)
    wrong = np.zeros((13, 13))
    for node in range(n):
        right = placement_matrix(problem, node=node)
        for x, layers in enumerate(partitions(n)):
            rest = without(layers, node)
            gap = ((node,), *rest) if forgotten == "first" else (*rest, (node,))
            row = right[x].copy()
            row[index_of(n)[gap]] = 0.0
            wrong[x] += row / row.sum() / n
    check_invariant(problem.law(), placement_matrix(problem))
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), wrong)
    counts, weights = np.zeros(len(table), dtype=np.int64), np.empty(7)
    start = scored_state(problem.view, partitions(n)[0], rng)
    for node in range(n):
        count_placements(problem.view, start, node, 1.0, 5_000, rng, table, counts, weights)
    check_counts(counts[:13], placement_matrix(problem)[0], FALSE_ALARM)
    with pytest.raises(AssertionError):
        check_counts(counts[:13], wrong[0], FALSE_ALARM)


def test_placement_by_weights_of_another_power():
    problem = target("random", 3)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(0.5), placement_matrix(problem, 1.0))


@pytest.mark.parametrize("counts", ["none", "N", "1/N'", "N'/N"])
def test_reversals_with_other_edge_counts(counts):
    problem = target("random", 3)
    reversals = list_reversals(problem)
    right = reversal_matrix(problem, reversals)
    wrong = reversal_matrix(problem, reversals, counts=counts)
    check_invariant(problem.dags, right)
    with pytest.raises(AssertionError):
        check_invariant(problem.dags, wrong)
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), through_dags(problem, wrong))
    rng = np.random.default_rng(3)
    caught = 0
    for start in range(25):
        codes = np.empty(20_000, dtype=np.int64)
        draw_reversals(problem.view, make_dag_state(problem.view, start), rng, codes)
        seen = count_dags(problem, codes)
        check_counts(seen, right[start], FALSE_ALARM / 25)
        try:
            check_counts(seen, wrong[start], FALSE_ALARM / 25)
        except AssertionError:
            caught += 1
    assert caught


def test_partition_kept_although_the_dag_moved():
    """REV inside partitions that goes back to the old partition when layers differ."""
    problem = target("random", 3)
    inside = through_dags(problem, reversal_matrix(problem, list_reversals(problem)))
    kept = inside * [[len(x) <= len(y) for y in partitions(3)] for x in partitions(3)]
    with pytest.raises(AssertionError):
        check_invariant(problem.law(), stay_otherwise(kept))


def test_swap_of_replicas_with_the_wrong_sign():
    problem, powers = target("random", 3), (1.0, 0.5)
    law = np.kron(problem.law(powers[0]), problem.law(powers[1]))
    check_invariant(law, swap_matrix(problem, powers))
    with pytest.raises(AssertionError):
        check_invariant(law, swap_matrix(problem, powers, sign=-1.0))
    rng = np.random.default_rng(4)
    order = np.argsort(problem.log_weight)
    low, high = order[0], order[-1]
    replicas = make_replicas(2, scored_state(problem.view, partitions(3)[high], rng))
    replicas.states.log_tau[1] = scored_state(problem.view, partitions(3)[low], rng).log_tau
    counts = np.zeros(1, dtype=np.int64)
    count_swaps(problem.view, replicas, make_ladder(np.array(powers)), 0, 2_000, rng, counts)
    accepted = swap_probability(problem, powers, high, low, sign=-1.0)
    seen, law = np.array([2_000 - counts[0], counts[0]]), np.array([1 - accepted, accepted])
    with pytest.raises(AssertionError):
        check_counts(seen, law, FALSE_ALARM)


def test_neighbours_of_one_move_are_not_those_of_another():
    for n in (3, 4):
        assert len({neighbours(n, move) for move in MOVE_NAMES}) == len(MOVE_NAMES)
