"""What the partition samplers claim to do, written down a second time and as matrices.

Everything is a direct transcription of a definition on the list of all labelled partitions, or of
all DAGs, of a few nodes: neighbourhoods as sets, sums by listing DAGs, cycles found by peeling.
Nothing is shared with the compiled code except the score table that both are given. A partition
is a tuple of ascending tuples, the outpoints first; matrices are [from, to].
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from outpoint.tables import ScoreTable, build_table
from outpoint.tables.outside import no_outside
from outpoint.tables.view import TableView, view_table
from tests.exact.problems import Problem
from tests.reference import all_dags, labelled_partitions, log_sum_exp

Layers = tuple[tuple[int, ...], ...]
Floats = NDArray[np.float64]

MOVE_NAMES = ("split_join", "node_move", "swap_any", "swap_adjacent")
POWERS = (1.0, 0.5, 0.2, 0.0)


# Labelled partitions and their neighbours


@lru_cache
def partitions(n: int) -> tuple[Layers, ...]:
    return tuple(labelled_partitions(range(n)))


@lru_cache
def index_of(n: int) -> dict[Layers, int]:
    return {layers: i for i, layers in enumerate(partitions(n))}


def by_level(level_of: Sequence[float]) -> Layers:
    """The layers of nodes 0.. with these levels, any increasing numbers."""
    levels = sorted(set(level_of))
    return tuple(tuple(v for v, own in enumerate(level_of) if own == level) for level in levels)


def levels(layers: Layers) -> list[int]:
    out = [0] * sum(map(len, layers))
    for level, layer in enumerate(layers):
        for v in layer:
            out[v] = level
    return out


def joined(layers: Layers) -> set[Layers]:
    """All partitions with two adjacent layers made one."""
    return {
        (*layers[:i], tuple(sorted(layers[i] + layers[i + 1])), *layers[i + 2 :])
        for i in range(len(layers) - 1)
    }


def without(layers: Layers, node: int) -> Layers:
    """The partition of the other nodes."""
    rest = (tuple(v for v in layer if v != node) for layer in layers)
    return tuple(layer for layer in rest if layer)


def swapped(layers: Layers, pairs: Iterable[tuple[int, int]]) -> set[Layers]:
    out = set()
    for a, b in pairs:
        level = levels(layers)
        level[a], level[b] = level[b], level[a]
        out.add(by_level(level))
    return out


@lru_cache
def neighbours(n: int, move: str) -> tuple[frozenset[Layers], ...]:
    """The set of distinct partitions that each partition may be sent to, itself left out."""
    everything = partitions(n)
    out: list[set[Layers]] = []
    if move == "split_join":
        out = [joined(x) for x in everything]
        for y in everything:
            for x in joined(y):
                out[index_of(n)[x]].add(y)
    elif move == "node_move":
        for x in everything:
            reached = set().union(*(placements(n, x, v) for v in range(n)))
            out.append(reached - {x})
    elif move == "swap_any":
        for x in everything:
            level = levels(x)
            pairs = combinations(range(n), 2)
            out.append(swapped(x, ((a, b) for a, b in pairs if level[a] != level[b])))
    elif move == "swap_adjacent":
        for x in everything:
            out.append(swapped(x, ((a, b) for up, low in pairwise(x) for a in up for b in low)))
    else:
        raise ValueError(move)
    return tuple(frozenset(reached) for reached in out)


@lru_cache
def _by_rest(n: int, node: int) -> dict[Layers, set[Layers]]:
    groups: dict[Layers, set[Layers]] = {}
    for x in partitions(n):
        groups.setdefault(without(x, node), set()).add(x)
    return groups


def placements(n: int, layers: Layers, node: int) -> set[Layers]:
    """All partitions that differ in the place of ``node`` only, ``layers`` among them."""
    return _by_rest(n, node)[without(layers, node)]


def adjacency(n: int, move: str) -> Floats:
    """1 where the move leads from row to column."""
    out = np.zeros((len(partitions(n)),) * 2)
    for x, reached in enumerate(neighbours(n, move)):
        out[x, [index_of(n)[y] for y in reached]] = 1.0
    return out


# DAGs


def peel(parents: Sequence[set[int]]) -> Layers:
    """Take away the outpoints again and again; what is left over is not acyclic."""
    left, layers = set(range(len(parents))), []
    while left:
        layer = tuple(sorted(v for v in left if not parents[v] & left))
        if not layer:
            raise ValueError("cycle")
        layers.append(layer)
        left -= set(layer)
    return tuple(layers)


@lru_cache
def parent_sets(n: int) -> tuple[tuple[frozenset[int], ...], ...]:
    """The parents of each node in every DAG of ``all_dags``."""
    return tuple(
        tuple(frozenset(np.flatnonzero(dag[:, v]).tolist()) for v in range(n))
        for dag in all_dags(n)
    )


@lru_cache
def dag_index(n: int) -> dict[tuple[frozenset[int], ...], int]:
    return {parents: i for i, parents in enumerate(parent_sets(n))}


@lru_cache
def partition_of_dags(n: int) -> NDArray[np.int64]:
    """The index of each DAG's labelled partition."""
    return np.array([index_of(n)[peel([set(s) for s in dag])] for dag in parent_sets(n)])


# Targets


@dataclass(frozen=True, eq=False)
class Target:
    """A problem with everything that listing its DAGs says about it."""

    n: int
    view: TableView
    log_dag: Floats  # log weight of each DAG
    family: dict[tuple[int, frozenset[int]], float]

    @classmethod
    def of(cls, problem: Problem, n_candidates: int | None = None) -> "Target":
        """The problem, of which sets that leave the candidates are taken away."""
        n = len(problem.names)
        table = build_table(
            problem.names,
            problem.scorer,
            problem.prior,
            max_parents=problem.max_parents,
            n_candidates=n - 1 if n_candidates is None else n_candidates,
        )
        table = ScoreTable(
            table.names, table.max_parents, table.candidates, table.dense, no_outside(n)
        )
        is_candidate = np.zeros((n, n), dtype=bool)
        for v in range(n):
            is_candidate[table.candidates[v], v] = True
        log_dag = problem.enumerate().log_weights.copy()
        log_dag[(all_dags(n) & ~is_candidate).any(axis=(1, 2))] = -np.inf
        family = {}
        for v in range(n):
            for size in range(n):
                for parents in combinations([u for u in range(n) if u != v], size):
                    inside = is_candidate[list(parents), v].all()
                    score = table.log_score(v, parents) if inside else -np.inf
                    family[v, frozenset(parents)] = score
        return cls(n, view_table(table), log_dag, family)

    @cached_property
    def log_evidence(self) -> float:
        return log_sum_exp(self.log_dag)

    @cached_property
    def dags(self) -> Floats:
        """Posterior probability of each DAG."""
        return np.exp(self.log_dag - self.log_evidence)

    @cached_property
    def edges(self) -> Floats:
        return np.tensordot(self.dags, all_dags(self.n), axes=1)

    @cached_property
    def log_weight(self) -> Floats:
        """Log weight of each labelled partition, by listing its DAGs."""
        members: list[list[float]] = [[] for _ in partitions(self.n)]
        for dag, x in enumerate(partition_of_dags(self.n)):
            members[x].append(self.log_dag[dag])
        return np.array([log_sum_exp(logs) for logs in members])

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        return self.log_weight > -np.inf

    def law(self, power: float = 1.0) -> Floats:
        """The distribution over partitions with the posterior to the power."""
        log_law = to_power(self.log_weight - self.log_weight.max(), power)
        return np.exp(log_law - log_sum_exp(log_law))

    @cached_property
    def dags_given_partition(self) -> Floats:
        """P(DAG | partition), rows of zeros for impossible partitions."""
        out = np.zeros((len(self.log_weight), len(self.log_dag)))
        x = partition_of_dags(self.n)
        fine = self.log_dag > -np.inf
        out[x[fine], np.flatnonzero(fine)] = np.exp(self.log_dag[fine] - self.log_weight[x[fine]])
        return out


# Kernels as matrices


def to_power(log_weight: Floats, power: float) -> Floats:
    """Log weights to a power; at power 0 all that is possible weighs the same."""
    return np.where(log_weight > -np.inf, power * np.maximum(log_weight, -1e300), -np.inf)


def metropolis(
    proposal: Floats, log_proposal_ratio: Floats, log_weight: Floats, power: float = 1.0
) -> Floats:
    """Propose by the rows of ``proposal``, accept with min(1, r), else stay; -inf is never entered.

    Rows of ``proposal`` may sum to less than 1: the chain stays then, too.
    """
    with np.errstate(invalid="ignore"):
        change = power * (log_weight[None, :] - log_weight[:, None]) + log_proposal_ratio
    change[:, log_weight == -np.inf] = -np.inf
    change[log_weight == -np.inf, :] = -np.inf
    matrix = proposal * np.exp(np.minimum(change, 0.0))
    return stay_otherwise(matrix)


def stay_otherwise(matrix: Floats) -> Floats:
    return matrix + np.diag(1.0 - matrix.sum(axis=1))


def uniform_proposal(adjacent: Floats) -> tuple[Floats, Floats]:
    """Uniform over the neighbours, and log #nbd(from) - log #nbd(to)."""
    size = adjacent.sum(axis=1)
    log_size = np.log(np.maximum(size, 1.0))
    return adjacent / np.maximum(size, 1.0)[:, None], log_size[:, None] - log_size[None, :]


def move_matrix(target: Target, move: str, power: float = 1.0) -> Floats:
    proposal, log_ratio = uniform_proposal(adjacency(target.n, move))
    return metropolis(proposal, log_ratio, target.log_weight, power)


def placement_law(target: Target, x: int, node: int, power: float = 1.0) -> dict[int, float]:
    """Where ``node`` is put: the posterior to the power, among all its places."""
    layers = partitions(target.n)[x]
    places = sorted(index_of(target.n)[y] for y in placements(target.n, layers, node))
    log_law = to_power(target.log_weight[places], power)
    law = np.exp(log_law - log_sum_exp(log_law))
    return dict(zip(places, law.tolist(), strict=True))


def placement_matrix(target: Target, power: float = 1.0, node: int | None = None) -> Floats:
    """Place one node, or a node chosen uniformly."""
    nodes = range(target.n) if node is None else [node]
    out = np.zeros((len(target.log_weight),) * 2)
    for x in np.flatnonzero(target.possible):
        for v in nodes:
            for y, probability in placement_law(target, x, v, power).items():
                out[x, y] += probability / len(nodes)
    out[~target.possible] = np.eye(len(out))[~target.possible]
    return out


@dataclass(frozen=True)
class Proposed:
    """One outcome of the reversal of one edge: where to, how likely, all parts of the ratio."""

    start: int
    end: int
    probability: float  # given the edge
    n_edges: int
    n_edges_after: int
    log_sums_ratio: float  # log (Z*_i / Z*_j) (Z+_j / Z+_i)


def list_reversals(target: Target) -> list[Proposed]:
    """Every outcome of the REV proposal from every possible DAG, sums by trying all sets."""
    n = target.n
    sums: dict[tuple[object, ...], list[tuple[frozenset[int], float]]] = {}

    def sets(kept: tuple[frozenset[int], ...], child: int, member: int | None):
        """The acyclic choices for ``child``, with scores; ``member`` must be among them."""
        key = (kept, child, member)
        if key not in sums:
            sums[key] = [
                (s, target.family[child, s])
                for v, s in target.family
                if v == child
                and target.family[child, s] > -np.inf
                and (member is None or member in s)
                and with_parents(kept, child, s) in dag_index(n)
            ]
        return sums[key]

    def total(choices):
        return log_sum_exp(score for _, score in choices)

    out = []
    for start in np.flatnonzero(target.log_dag > -np.inf).tolist():
        dag = parent_sets(n)[start]
        n_edges = sum(map(len, dag))
        for j in range(n):
            for i in dag[j]:
                orphaned = with_parents(with_parents(dag, i, frozenset()), j, frozenset())
                for_i = sets(orphaned, i, j)
                z_star_i, z_star_j = total(for_i), total(sets(orphaned, j, i))
                z_plus_i = total(sets(with_parents(orphaned, j, dag[j]), i, None))
                for s_i, score_i in for_i:
                    between = with_parents(orphaned, i, s_i)
                    for_j = sets(between, j, None)
                    z_plus_j = total(for_j)
                    for s_j, score_j in for_j:
                        after = with_parents(between, j, s_j)
                        out.append(
                            Proposed(
                                start,
                                dag_index(n)[after],
                                float(np.exp(score_i - z_star_i + score_j - z_plus_j)),
                                n_edges,
                                sum(map(len, after)),
                                z_star_i - z_star_j + z_plus_j - z_plus_i,
                            )
                        )
    return out


def with_parents(
    dag: tuple[frozenset[int], ...], child: int, parents: frozenset[int]
) -> tuple[frozenset[int], ...]:
    return (*dag[:child], parents, *dag[child + 1 :])


def reversal_matrix(
    target: Target,
    reversals: list[Proposed],
    *,
    counts: str = "N/N'",
) -> Floats:
    """The REV kernel on DAGs; ``counts`` says which edge counts enter the ratio."""
    out = np.zeros((len(target.log_dag),) * 2)
    for move in reversals:
        factor = {
            "N/N'": move.n_edges / move.n_edges_after,
            "none": 1.0,
            "N": move.n_edges,
            "1/N'": 1.0 / move.n_edges_after,
            "N'/N": move.n_edges_after / move.n_edges,
        }[counts]
        accepted = min(1.0, factor * np.exp(move.log_sums_ratio))
        out[move.start, move.end] += move.probability / move.n_edges * accepted
    return stay_otherwise(out)


def through_dags(target: Target, on_dags: Floats) -> Floats:
    """Draw a DAG from the partition, apply a kernel to it, go to its partition."""
    back = np.zeros((len(target.log_dag), len(target.log_weight)))
    back[np.arange(len(back)), partition_of_dags(target.n)] = 1.0
    out = target.dags_given_partition @ on_dags @ back
    out[~target.possible] = np.eye(len(out))[~target.possible]
    return out


def tempered(matrix: Floats, log_weight: Floats, exponent: float) -> Floats:
    """A kernel of which each outcome is accepted with min(1, (w / w')^exponent), else stay."""
    possible = log_weight > -np.inf
    finite = np.where(possible, log_weight, 0.0)
    change = np.where(np.outer(possible, possible), finite[:, None] - finite[None, :], 0.0)
    accepted = matrix * np.exp(np.minimum(0.0, exponent * change))
    np.fill_diagonal(accepted, 0.0)
    return stay_otherwise(accepted)


def swap_matrix(target: Target, powers: tuple[float, float], sign: float = 1.0) -> Floats:
    """Two replicas, states [a * n_partitions + b]: exchange a and b by the swap rule."""
    size = len(target.log_weight)
    out = np.zeros((size * size, size * size))
    for a in range(size):
        for b in range(size):
            accepted = 0.0
            if target.possible[a] and target.possible[b]:
                accepted = swap_probability(target, powers, a, b, sign)
            out[a * size + b, b * size + a] += accepted
            out[a * size + b, a * size + b] += 1.0 - accepted
    return out


def swap_probability(
    target: Target, powers: tuple[float, float], a: int, b: int, sign: float = 1.0
) -> float:
    gap = target.log_weight[b] - target.log_weight[a]
    return float(np.exp(min(0.0, sign * (powers[0] - powers[1]) * gap)))


def expected_rejection(target: Target, powers: tuple[float, float]) -> float:
    """How often a swap of two replicas in equilibrium is rejected."""
    first, second = target.law(powers[0]), target.law(powers[1])
    return sum(
        float(first[a] * second[b] * (1.0 - swap_probability(target, powers, a, b)))
        for a in np.flatnonzero(target.possible)
        for b in np.flatnonzero(target.possible)
    )


# Ladders: laws over the states of all replicas, an axis each


def fresh_matrix(law: Floats) -> Floats:
    """Forget the state and draw another."""
    return np.tile(law, (len(law), 1))


def product_law(target: Target, powers: Sequence[float]) -> Floats:
    out = np.ones(())
    for power in powers:
        out = np.multiply.outer(out, target.law(power))
    return out


def through_sweep(
    law: Floats, steps: Sequence[Floats], swaps: Sequence[Floats], parity: int
) -> Floats:
    """Where a sweep takes ``law``: a step of each replica, then the swaps of every second pair.

    ``steps`` are the matrices of the replicas, ``swaps`` those of all neighbouring pairs.
    """
    for axis, matrix in enumerate(steps):
        law = np.moveaxis(np.tensordot(law, matrix, axes=(axis, 0)), -1, axis)
    for upper in range(parity, len(swaps), 2):
        pairs = np.moveaxis(law, (upper, upper + 1), (-2, -1))
        swapped = pairs.reshape(*pairs.shape[:-2], -1) @ swaps[upper]
        law = np.moveaxis(swapped.reshape(pairs.shape), (-2, -1), (upper, upper + 1))
    return law


def check_sweep(law: Floats, steps: Sequence[Floats], swaps: Sequence[Floats], parity: int) -> None:
    """Stochastic matrices that together keep ``law``, each probability to a relative 1e-12."""
    for matrix in (*steps, *swaps):
        assert np.all(matrix > -1e-12)
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law.sum(), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(through_sweep(law, steps, swaps, parity), law, rtol=1e-12, atol=0)


# Checks, which wrong samplers must fail


def check_invariant(law: Floats, matrix: Floats) -> None:
    """A stochastic matrix that keeps ``law``, each probability to a relative 1e-12."""
    assert np.all(matrix > -1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    np.testing.assert_allclose(law @ matrix, law, rtol=1e-12, atol=0)


def check_balanced(law: Floats, matrix: Floats) -> None:
    """Detailed balance, flow by flow."""
    flow = law[:, None] * matrix
    np.testing.assert_allclose(flow, flow.T, rtol=1e-11, atol=1e-300)


def count_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different rows, and how often each occurs: quicker than ``unique`` along an axis."""
    whole = np.ascontiguousarray(rows).reshape(len(rows), -1)
    packed = whole.view(np.dtype((np.void, whole.itemsize * whole.shape[1]))).ravel()
    _, places, times = np.unique(packed, return_index=True, return_counts=True)
    return rows[places], times


def check_counts(counts: NDArray[np.int64], law: Floats, false_alarm: float) -> None:
    """Independent draws against their law: chi-square, cells expected below 10 pooled.

    ``false_alarm`` is the probability that correct draws fail.
    """
    assert counts.sum() > 0
    law = np.where(law < 1e-15, 0.0, law)
    assert np.all(counts[law == 0.0] == 0), "impossible outcomes occurred"
    expected = counts.sum() * law / law.sum()
    rare = expected < 10.0
    order = np.flatnonzero(~rare)[np.argsort(expected[~rare])]
    seen = np.append(counts[order], counts[rare].sum()).astype(float)
    due = np.append(expected[order], expected[rare].sum())
    if due[-1] < 10.0 and len(due) > 1:  # still rare together: add them to the next cell
        seen[0] += seen[-1]
        due[0] += due[-1]
        seen, due = seen[:-1], due[:-1]
    if len(due) == 1:
        return
    statistic = float(((seen - due) ** 2 / due).sum())
    p_value = stats.chi2.sf(statistic, len(due) - 1)
    assert p_value > false_alarm, f"chi-square {statistic:.1f} on {len(due) - 1}, p = {p_value:.1e}"


def relaxation(law: Floats, matrix: Floats) -> float:
    """Second largest modulus of the eigenvalues of a reversible kernel on its support."""
    support = law > 0
    root = np.sqrt(law[support])
    symmetric = root[:, None] * matrix[np.ix_(support, support)] / root[None, :]
    values = np.linalg.eigvalsh((symmetric + symmetric.T) / 2)
    assert abs(values[-1] - 1.0) < 1e-9
    return float(max(abs(values[0]), abs(values[-2])))
