"""The law of held sets, written down a second time: states (partition, what each node holds).

A node holds one outside set, or nothing: then its weight is the sum over the inside sets that fit.
A set fits if it lies within the earlier layers and meets the one right before; only the empty set
fits in the first layer. To the power b inside sums weigh w^b, held sets exp(b s - p(b)), with the
penalty p of :meth:`HeldTarget.penalty`. Everything comes from listing sets and partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import kernel
from outpoint.mcmc.crossover import Crossover, make_crossover
from outpoint.mcmc.moves.blocks import DagBlock, make_dag_block
from outpoint.mcmc.moves.families import Redraws, focus_on, make_redraws, redraw_together
from outpoint.mcmc.moves.node_gibbs import make_placement, place_node
from outpoint.mcmc.moves.outside import (
    Redrawing,
    hold_or_release,
    make_redrawing,
    redraw_node,
)
from outpoint.mcmc.moves.proposals import try_move
from outpoint.mcmc.moves.rev import reverse_edges
from outpoint.mcmc.partition import PartitionState, copy_partition, make_partition, score_partition
from outpoint.mcmc.trace import Trace, make_trace
from outpoint.tables import ScoreTable
from outpoint.tables.build import assemble_table, score_families
from outpoint.tables.view import TableView, most_parents, view_table
from tests.exact.problems import Problem, random_scores
from tests.mcmc.laws import (
    Floats,
    Layers,
    Target,
    count_rows,
    index_of,
    levels,
    metropolis,
    neighbours,
    parent_sets,
    partition_of_dags,
    partitions,
    without,
)
from tests.mcmc.loops import differs, is_valid, make_state, set_code
from tests.reference import log_sum_exp, subsets

Holding = tuple[frozenset[int] | None, ...]
State = tuple[int, Holding]

PLACE, REDRAW, REVERSE, METROPOLIS, TOGETHER, HOLD = 0, 1, 2, 3, 4, 5


def table_over(
    problem: Problem, candidates: Sequence[Sequence[int]], *, is_pruned: bool = False
) -> ScoreTable:
    """The table of a problem over these candidates, all other sets outside."""
    families = score_families(
        problem.scorer, problem.prior, max_parents=problem.max_parents, is_complete=False
    )
    return assemble_table(
        problem.names,
        families,
        problem.scorer,
        problem.prior,
        padded_rows(candidates),
        problem.max_parents,
        is_pruned=is_pruned,
    )


def padded_rows(candidates: Sequence[Sequence[int]]) -> NDArray[np.int32]:
    """Lists of candidates as rows, short ones filled up with -1."""
    width = max(map(len, candidates))
    rows = [[*own, *[-1] * (width - len(own))] for own in candidates]
    return np.array(rows, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class HeldTarget:
    """A problem whose parent sets are inside or outside the candidates, and its states."""

    target: Target  # over all parent sets
    candidates: tuple[tuple[int, ...], ...]
    table: ScoreTable

    @classmethod
    def of(cls, problem: Problem, candidates: Sequence[Sequence[int]]) -> "HeldTarget":
        n = len(problem.names)
        table = table_over(problem, candidates)
        family = {}
        for v in range(n):
            for s in subsets(set(range(n)) - {v}):
                score = -np.inf
                if len(s) <= problem.max_parents:
                    own = problem.scorer.families(v, np.array([s], dtype=np.int16))
                    score = float(own[0]) + problem.prior.log_weight(v, s)
                family[v, frozenset(s)] = score
        target = Target(n, view_table(table), problem.enumerate().log_weights, family)
        return cls(target, tuple(map(tuple, candidates)), table)

    @property
    def n(self) -> int:
        return self.target.n

    def is_inside(self, v: int, s: frozenset[int]) -> bool:
        return s <= set(self.candidates[v])

    def is_tabulated(self, v: int, s: frozenset[int]) -> bool:
        """Whether a set is inside or near, with one member outside the candidates."""
        return len(s - set(self.candidates[v])) <= 1

    def sets(self, v: int, *, inside: bool) -> list[frozenset[int]]:
        return [
            s
            for (u, s), score in self.target.family.items()
            if u == v and score > -np.inf and self.is_inside(v, s) == inside
        ]

    def penalty(self, v: int, power: float) -> float:
        """What outside sets of v lose at a power, by the formula at multiples of 1/16.

        Nothing if there are none.
        """
        scores = [self.target.family[v, s] for s in self.sets(v, inside=False)]
        if not scores:
            return 0.0

        def exact(b: float) -> float:
            fading = 8.0 * (1.0 - b) ** 4
            return log_sum_exp(b * s for s in scores) - b * log_sum_exp(scores) + fading

        below, part = divmod(16 * power, 1.0)
        above = exact((below + 1) / 16) if part else 0.0
        return (1.0 - part) * exact(below / 16) + part * above

    @cached_property
    def states(self) -> list[State]:
        """All states with a positive weight."""
        out = []
        for x, layers in enumerate(partitions(self.n)):
            options: list[list[frozenset[int] | None]] = []
            for v in range(self.n):
                own: list[frozenset[int] | None] = []
                if self.log_inside(v, layers) > -np.inf:
                    own.append(None)
                options.append(own + [s for s in self.sets(v, inside=False) if fits(v, s, layers)])
            out += [(x, holding) for holding in product(*options)]
        return out

    @cached_property
    def index(self) -> dict[State, int]:
        return {state: i for i, state in enumerate(self.states)}

    def log_inside(self, v: int, layers: Layers) -> float:
        fitting = [s for s in self.sets(v, inside=True) if fits(v, s, layers)]
        return log_sum_exp(self.target.family[v, s] for s in fitting)

    @cached_property
    def n_held(self) -> NDArray[np.int64]:
        return np.array([sum(s is not None for s in o) for _, o in self.states])

    def penalties(self, power: float) -> Floats:
        """The penalties of what each state holds."""
        each = [self.penalty(v, power) for v in range(self.n)]
        return np.array(
            [sum(each[v] for v, s in enumerate(o) if s is not None) for _, o in self.states]
        )

    @cached_property
    def log_weight(self) -> Floats:
        """Log weights at power 1: inside sums, and the scores of what is held."""
        out = []
        for x, o in self.states:
            layers = partitions(self.n)[x]
            out.append(
                sum(
                    self.log_inside(v, layers) if s is None else self.target.family[v, s]
                    for v, s in enumerate(o)
                )
            )
        return np.array(out)

    def log_law(self, power: float) -> Floats:
        return power * self.log_weight - self.penalties(power)

    def log_excess(self, power: float) -> Floats:
        """How much more a state weighs in the posterior than at this power."""
        return self.log_weight - self.log_law(power)

    def law(self, power: float = 1.0) -> Floats:
        log_law = self.log_law(power)
        return np.exp(log_law - log_sum_exp(log_law))

    @cached_property
    def state_of_dags(self) -> NDArray[np.int64]:
        """The state that each DAG belongs to; -1 for a DAG that is impossible."""
        out = np.full(len(self.target.log_dag), -1)
        for dag in np.flatnonzero(self.target.log_dag > -np.inf):
            x = int(partition_of_dags(self.n)[dag])
            sets = parent_sets(self.n)[dag]
            held = tuple(None if self.is_inside(v, s) else s for v, s in enumerate(sets))
            out[dag] = self.index[x, held]
        return out

    # Kernels as matrices

    def gibbs_matrix(self, node: int, log_law: Floats, *, redrawn: bool) -> Floats:
        """Draw the place of ``node`` by the law, and what it holds if that is redrawn, too."""
        groups: dict[object, list[int]] = {}
        for i, (x, o) in enumerate(self.states):
            kept = (*o[:node], *o[node + 1 :]) if redrawn else o
            groups.setdefault((without(partitions(self.n)[x], node), kept), []).append(i)
        out = np.zeros((len(self.states),) * 2)
        for group in groups.values():
            law = np.exp(log_law[group] - log_sum_exp(log_law[group]))
            out[np.ix_(group, group)] = law
        return out

    def move_matrix(self, move: str, log_law: Floats) -> Floats:
        """A move of partitions with all held sets kept; it may lead to no state at all."""
        size = len(self.states)
        around = neighbours(self.n, move)
        proposal, log_size = np.zeros((size, size)), np.zeros(size)
        for i, (x, o) in enumerate(self.states):
            log_size[i] = np.log(max(1, len(around[x])))
            for layers in around[x]:
                j = self.index.get((index_of(self.n)[layers], o))
                if j is not None:
                    proposal[i, j] = 1.0 / len(around[x])
        return metropolis(proposal, log_size[:, None] - log_size[None, :], log_law)

    def hold_matrix(self, node: int, log_law: Floats, *, log_back: float = 1.0) -> Floats:
        """Hold an outside set of ``node``, or none, where it stands.

        The set number r = 1, 2, ... of N, the best first, is proposed with the probability
        log((r + 1) / r) / log(N + 1). The log ratio of proposals counts ``log_back`` times.
        """
        size, sets = len(self.states), self.sets(node, inside=False)
        sets.sort(key=lambda s: -self.target.family[node, s])
        shares = {
            s: np.log((r + 1) / r) / np.log(len(sets) + 1) for r, s in enumerate(sets, start=1)
        }
        proposal, log_ratio = np.zeros((size, size)), np.zeros((size, size))
        for i, (x, o) in enumerate(self.states):
            for s in sets if o[node] is None else [None]:
                j = self.index.get((x, (*o[:node], s, *o[node + 1 :])))
                if j is not None:
                    proposal[i, j] = 1.0 if s is None else shares[s]
                    there = 0.0 if s is None else np.log(shares[s])
                    back = 0.0 if o[node] is None else np.log(shares[o[node]])
                    log_ratio[i, j] = log_back * (back - there)
        return metropolis(proposal, log_ratio, log_law)

    def through_dags(self, on_dags: Floats) -> Floats:
        """Draw a DAG from the state, apply a kernel to it, go to its state."""
        possible = np.flatnonzero(self.state_of_dags >= 0)
        draws = np.zeros((len(self.states), len(on_dags)))
        own = self.state_of_dags[possible]
        draws[own, possible] = np.exp(self.target.log_dag[possible] - self.log_weight[own])
        back = np.zeros((len(on_dags), len(self.states)))
        back[possible, own] = 1.0
        return draws @ on_dags @ back

    def swap_matrix(self, log_first: Floats, log_second: Floats) -> Floats:
        """Replicas with these laws, states [a * n_states + b]: exchange a and b by their ratio."""
        size = len(self.states)
        a, b = np.divmod(np.arange(size * size), size)
        gap = log_first - log_second
        accepted = np.exp(np.minimum(0.0, gap[b] - gap[a]))
        out = np.diag(1.0 - accepted)
        out[a * size + b, b * size + a] += accepted
        return out


def fits(v: int, s: frozenset[int], layers: Layers) -> bool:
    level = levels(layers)
    return max((level[u] for u in s), default=-1) == level[v] - 1


# The problems


@lru_cache
def held_target(name: str) -> HeldTarget:
    """Few candidates, all other sets outside."""
    if name == "three":  # one candidate each
        return HeldTarget.of(random_scores(3, spread=1.2, seed=5), [[1], [2], [0]])
    if name == "three, mutual":
        return HeldTarget.of(random_scores(3, spread=2.0, seed=6), [[2], [0], [0]])
    if name == "four, one":
        return HeldTarget.of(random_scores(4, spread=1.0, seed=7), [[3], [0], [1], [0]])
    if name == "four, two":
        return HeldTarget.of(random_scores(4, spread=1.5, seed=8), [[1, 2], [0, 3], [0, 1], [1, 2]])
    if name == "four, uneven":  # as many candidates as each happens to have
        return HeldTarget.of(random_scores(4, spread=1.2, seed=10), [[1], [0, 2, 3], [0, 1], [2]])
    if name == "four, limited":  # at most two parents, some edges forbidden
        problem = random_scores(
            4, spread=1.0, seed=9, max_parents=2, forbidden=[("a", "b"), ("c", "a")]
        )
        return HeldTarget.of(problem, [[1, 2], [0, 3], [0, 1], [1, 2]])
    raise ValueError(name)


SMALL = ("three", "three, mutual")
ALL = (*SMALL, "four, one", "four, two", "four, uneven", "four, limited")


# Compiled steps


@kernel
def take_steps(view, start, kind, argument, power, work, trace, rng, layers, held):
    """One step from ``start``, again and again; returns whether the states stayed right.

    ``argument`` is the node to place, to redraw or to hold a set, the length of a block, or the
    move.
    """
    n = start.order.size
    state, full = make_partition(n), make_partition(n)
    placement = make_placement(n)
    fine = True
    for draw in range(len(layers)):
        copy_partition(start, state)
        if kind == PLACE:
            place_node(view, state, argument, power, placement, rng)
        elif kind == REDRAW:
            redraw_node(view, state, argument, power, placement, work.redrawing.redraw, rng)
        elif kind == REVERSE:
            reverse_edges(view, state, work.reversals, argument, power, power == 1.0, trace, rng)
        elif kind == HOLD:
            hold_or_release(view, state, argument, power, rng)
        elif kind == TOGETHER:
            redraw_together(
                view, state, work.redraws, argument, work.focus, power, power == 1.0, trace, rng
            )
        else:
            try_move(view, state, work.proposal, argument, power, rng)
        copy_partition(state, full)
        for v in range(n):
            full.log_tau[v] = 0.0
        score_partition(view, full)
        fine &= is_valid(state) and not differs(full, state)
        layers[draw] = state.layer
        held[draw] = state.held
    return fine


class Workspace(NamedTuple):
    """Scratch space of all steps."""

    proposal: PartitionState
    redrawing: Redrawing
    reversals: DagBlock
    redraws: Redraws
    focus: Floats
    crossover: Crossover


def make_workspace(view: TableView) -> Workspace:
    n = len(view.candidates)
    return Workspace(
        make_partition(n),
        make_redrawing(view),
        make_dag_block(view),
        make_redraws(view),
        focus_on(np.zeros((1, n), dtype=np.int32)),
        make_crossover(n, most_parents(view)),
    )


@dataclass(frozen=True)
class Stepper:
    """Compiled steps from the states of a problem, counted by where they lead."""

    problem: HeldTarget
    rng: np.random.Generator
    work: Workspace
    trace: Trace

    @classmethod
    def of(cls, problem: HeldTarget, seed: int) -> "Stepper":
        trace = make_trace(problem.n, 0, problem.table.candidates.shape[1], with_outside=True)
        work = make_workspace(problem.target.view)
        return cls(problem, np.random.default_rng(seed), work, trace)

    def state(self, i: int) -> PartitionState:
        """State i, scored."""
        x, holding = self.problem.states[i]
        state = make_state(partitions(self.problem.n)[x], self.rng)
        state.held[:] = self.codes(holding)
        state.log_tau[:] = 0.0
        assert score(self.problem.target.view, state) > -np.inf
        return state

    def codes(self, holding: Holding) -> list[int]:
        view = self.problem.target.view
        return [-1 if s is None else ~set_code(view, v, s) for v, s in enumerate(holding)]

    def counts(
        self, start: int, kind: int, argument: int, power: float, n_draws: int
    ) -> NDArray[np.int64]:
        """How often a step leads to each state."""
        n = self.problem.n
        layers = np.empty((n_draws, n), dtype=np.int64)
        held = np.empty((n_draws, n), dtype=np.int64)
        assert take_steps(
            self.problem.target.view,
            self.state(start),
            kind,
            argument,
            power,
            self.work,
            self.trace,
            self.rng,
            layers,
            held,
        )
        found, times = count_rows(np.column_stack([layers, held]))
        counts = np.zeros(len(self.problem.states), dtype=np.int64)
        for row, count in zip(found.tolist(), times.tolist(), strict=True):
            counts[self.known[tuple(row)]] += count
        return counts

    @cached_property
    def known(self) -> dict[tuple[int, ...], int]:
        return {
            (*levels(partitions(self.problem.n)[x]), *self.codes(o)): i
            for i, (x, o) in enumerate(self.problem.states)
        }


@kernel
def score(view, state):
    return score_partition(view, state)


def chosen_states(problem: HeldTarget, n_states: int, seed: int) -> NDArray[np.int64]:
    """Some states, or all; both those that hold nothing and those that hold much."""
    size = len(problem.states)
    if size <= n_states:
        return np.arange(size)
    rng = np.random.default_rng(seed)
    full = np.flatnonzero(problem.n_held == problem.n_held.max())
    first = [rng.choice(full), rng.choice(np.flatnonzero(problem.n_held == 0))]
    return np.unique([*first, *rng.choice(size, n_states - 2, replace=False)])
