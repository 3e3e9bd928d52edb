"""The law of exchanges between two replicas, written down a second time, on pairs of DAGs.

Two DAGs differ in the parents of some nodes. One of these is drawn, and a distance; the nodes
within it, along the edges of both DAGs from one differing node to the next, change parents. A
result with a cycle is refused. Drawn from a replica at the power b a DAG weighs P(G) / w * w_b: w
and w_b are the weights of the state (partition, what is held) that it belongs to, in the posterior
and at the power. Rules and parts can be replaced by wrong ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from outpoint.kernels import kernel
from outpoint.mcmc.crossover import cross_over
from outpoint.mcmc.partition import copy_partition, make_partition, score_partition
from outpoint.mcmc.replicas import make_replicas, replica_state, set_state
from tests.exact.problems import random_scores
from tests.mcmc.held import HeldTarget, Stepper, held_target
from tests.mcmc.laws import Floats, check_counts, count_rows, dag_index, parent_sets
from tests.mcmc.loops import candidate_masks, differs, is_valid

Parents = tuple[frozenset[int], ...]
Part = frozenset[int]
Parts = dict[Part, float]
Powers = tuple[float, float]
Pair = tuple[int, int]

DISTANCES: tuple[float, ...] = (0, 1, 2, 3, 4, np.inf)


# Problems


@lru_cache
def crossing_target(name: str) -> HeldTarget:
    """Complete tables, and those of ``held_target`` where sets are held."""
    if name == "complete":
        return HeldTarget.of(random_scores(3, spread=1.5, seed=3), everybody(3))
    if name == "rough":
        return HeldTarget.of(random_scores(3, spread=4.0, seed=4), everybody(3))
    if name == "complete, limited":  # one parent at most, and edges that are forbidden
        problem = random_scores(3, seed=5, max_parents=1, forbidden=[("a", "b"), ("c", "a")])
        return HeldTarget.of(problem, everybody(3))
    if name == "four, complete":
        return HeldTarget.of(random_scores(4, spread=1.5, seed=6), everybody(4))
    return held_target(name)


def everybody(n: int) -> list[list[int]]:
    return [[u for u in range(n) if u != v] for v in range(n)]


# Parts


def differing(first: Parents, second: Parents) -> list[int]:
    return [v for v in range(len(first)) if first[v] != second[v]]


def ball(seed: int, distance: float, around: dict[int, set[int]]) -> Part:
    """What can be reached from ``seed`` in so many steps."""
    reached, rim, step = {seed}, {seed}, 0
    while rim and step < distance:
        rim = {u for v in rim for u in around[v]} - reached
        reached |= rim
        step += 1
    return frozenset(reached)


def neighbours_along(nodes: list[int], dags: tuple[Parents, ...]) -> dict[int, set[int]]:
    """Among ``nodes``, those with an edge between them in one of the DAGs."""
    return {v: {u for u in nodes if any(u in dag[v] or v in dag[u] for dag in dags)} for v in nodes}


def parts_from(seeds: list[int], around: dict[int, set[int]]) -> Parts:
    """A uniform seed, a uniform distance."""
    out: Parts = {}
    for seed in seeds:
        for distance in DISTANCES:
            part = ball(seed, distance, around)
            out[part] = out.get(part, 0.0) + 1.0 / len(seeds) / len(DISTANCES)
    return out


def parts_of(first: Parents, second: Parents) -> Parts:
    """The law of the part that changes places."""
    nodes = differing(first, second)
    return parts_from(nodes, neighbours_along(nodes, (first, second)))


def exchanged(first: Parents, second: Parents, part: Part) -> tuple[Parents, Parents]:
    nodes = range(len(first))
    return (
        tuple(second[v] if v in part else first[v] for v in nodes),
        tuple(first[v] if v in part else second[v] for v in nodes),
    )


# Rules: the log factors of all states, for both replicas, of which the ratio is made


def log_factors(problem: HeldTarget, powers: Powers) -> tuple[Floats, Floats]:
    return -problem.log_excess(powers[0]), -problem.log_excess(powers[1])


Rule = Callable[[HeldTarget, Powers], tuple[Floats, Floats]]
PartLaw = Callable[[Parents, Parents], Parts]


@dataclass(frozen=True, eq=False)
class Crossing:
    """The kernel on pairs of DAGs of a problem, and on pairs of states."""

    problem: HeldTarget
    powers: Powers
    rule: Rule = log_factors
    parts: PartLaw = parts_of
    keeps_one_side: bool = False  # a mistake: of two results, the one without a cycle is kept
    _known: dict[Pair, dict[Pair, float]] = field(default_factory=dict)

    @cached_property
    def factors(self) -> tuple[Floats, Floats]:
        return self.rule(self.problem, self.powers)

    @cached_property
    def dags(self) -> list[int]:
        """The DAGs that are possible."""
        return np.flatnonzero(self.problem.state_of_dags >= 0).tolist()

    def row(self, a: int, b: int) -> dict[Pair, float]:
        """Where one try leads from the DAGs a and b."""
        if (a, b) not in self._known:
            self._known[a, b] = self._find_row(a, b)
        return self._known[a, b]

    def _find_row(self, a: int, b: int) -> dict[Pair, float]:
        n, state = self.problem.n, self.problem.state_of_dags
        index, both = dag_index(n), (parent_sets(n)[a], parent_sets(n)[b])
        out: dict[Pair, float] = {(a, b): 1.0}
        for part, probability in self.parts(*both).items():
            ends = [index.get(dag) for dag in exchanged(*both, part)]
            if None in ends and not (self.keeps_one_side and any(e is not None for e in ends)):
                continue
            c, d = (own if end is None else end for own, end in zip((a, b), ends, strict=True))
            ours, theirs = self.factors
            log_r = ours[state[c]] - ours[state[a]] + theirs[state[d]] - theirs[state[b]]
            accepted = probability * float(np.exp(min(0.0, log_r)))
            out[c, d] = out.get((c, d), 0.0) + accepted
            out[a, b] -= accepted
        return out

    @cached_property
    def matrix(self) -> Floats:
        """One try on all pairs of possible DAGs, [i * n_dags + j]."""
        size, place = len(self.dags), {dag: i for i, dag in enumerate(self.dags)}
        out = np.zeros((size * size,) * 2)
        for i, a in enumerate(self.dags):
            for j, b in enumerate(self.dags):
                for (c, d), probability in self.row(a, b).items():
                    out[i * size + j, place[c] * size + place[d]] += probability
        return out

    def dag_law(self, power: float) -> Floats:
        """The law of a DAG drawn from a replica at this power."""
        state = self.problem.state_of_dags[self.dags]
        log_law = self.problem.target.log_dag[self.dags]
        log_law = log_law - self.problem.log_excess(power)[state]
        weight = np.exp(log_law - log_law.max())
        return weight / weight.sum()

    @cached_property
    def draws(self) -> Floats:
        """P(DAG | state)."""
        state = self.problem.state_of_dags[self.dags]
        out = np.zeros((len(self.problem.states), len(self.dags)))
        log_law = self.problem.target.log_dag[self.dags] - self.problem.log_weight[state]
        out[state, np.arange(len(self.dags))] = np.exp(log_law)
        return out

    def on_states(self, n_tries: int = 1) -> Floats:
        """Draw both DAGs, try so often, go to their states: [i * n_states + j]."""
        back = (self.draws > 0.0).astype(float).T
        on_dags = np.linalg.matrix_power(self.matrix, n_tries)
        return np.kron(self.draws, self.draws) @ on_dags @ np.kron(back, back)

    def outcomes(self, i: int, j: int) -> dict[Pair, float]:
        """DAGs after one try from the states i and j."""
        out: dict[Pair, float] = {}
        for a, p in zip(self.dags, self.draws[i], strict=True):
            for b, q in zip(self.dags, self.draws[j], strict=True):
                if p * q > 0.0:
                    for pair, probability in self.row(a, b).items():
                        out[pair] = out.get(pair, 0.0) + p * q * probability
        return out


def check_flows(kernel: Crossing, n_pairs: int) -> None:
    """Detailed balance, flow by flow, from some pairs of DAGs: for more than a matrix can hold."""
    place = {dag: i for i, dag in enumerate(kernel.dags)}
    first, second = (kernel.dag_law(power) for power in kernel.powers)
    for a, b in np.random.default_rng(5).choice(kernel.dags, (n_pairs, 2)).tolist():
        there = kernel.row(a, b)
        assert min(there.values()) > -1e-12
        assert abs(sum(there.values()) - 1.0) < 1e-12
        for (c, d), probability in there.items():
            flow = first[place[a]] * second[place[b]] * probability
            back = first[place[c]] * second[place[d]] * kernel.row(c, d).get((a, b), 0.0)
            np.testing.assert_allclose(flow, back, rtol=1e-11, atol=1e-300)


# Compiled exchanges


@kernel
def remember(view, replicas):
    """Copies of the states of all replicas."""
    before = [make_partition(view.candidates.shape[0]) for _ in range(replicas.slot.size)]
    for r in range(len(before)):
        copy_partition(replica_state(replicas, r), before[r])
    return before


@kernel
def put_back(before, replicas):
    for r in range(len(before)):
        copy_partition(before[r], replica_state(replicas, r))


@kernel
def look(view, replicas, before, upper, n_accepted, crossover, codes, layers, held):
    """Write down where an exchange has led; returns whether everything else is right.

    Replicas that take no part stay as they are, and so does everything if nothing is accepted.
    """
    n = view.candidates.shape[0]
    full, fine = make_partition(n), True
    for r in range(len(before)):
        state = replica_state(replicas, r)
        if n_accepted == 0 or r < upper or r > upper + 1:
            fine &= not differs(before[r], state)
        copy_partition(state, full)
        for v in range(n):
            full.log_tau[v] = 0.0
        score_partition(view, full)
        fine &= is_valid(state) and not differs(full, state)
    for side in range(2):
        state = replica_state(replicas, upper + side)
        layers[side] = state.layer
        held[side] = state.held
    codes[0] = crossover.first.code
    codes[1] = crossover.second.code
    return fine


@kernel
def draw_crossings(view, replicas, power, upper, n_tries, crossover, rng, codes, layers, held):
    """Exchanges from the same states; returns whether everything else was right."""
    before, fine = remember(view, replicas), True
    for draw in range(len(codes)):
        put_back(before, replicas)
        n_accepted = cross_over(view, replicas, power, upper, n_tries, crossover, rng)
        fine &= 0 <= n_accepted <= n_tries
        fine &= look(
            view,
            replicas,
            before,
            upper,
            n_accepted,
            crossover,
            codes[draw],
            layers[draw],
            held[draw],
        )
    return fine


@dataclass(frozen=True)
class Crosser:
    """Compiled exchanges between the last two of three replicas, counted by where they lead."""

    stepper: Stepper

    @classmethod
    def of(cls, problem: HeldTarget, seed: int) -> "Crosser":
        return cls(Stepper.of(problem, seed))

    @cached_property
    def dag_of(self) -> dict[tuple[int, ...], int]:
        problem = self.stepper.problem
        possible = np.flatnonzero(problem.state_of_dags >= 0).tolist()
        view = problem.target.view
        return {tuple(candidate_masks(view, dag).tolist()): dag for dag in possible}

    def counts(
        self, i: int, j: int, powers: Powers, n_draws: int, *, n_tries: int = 1, draw=draw_crossings
    ) -> dict[Pair, int]:
        """How often exchanges between the states i and j end in each pair of DAGs."""
        stepper, n = self.stepper, self.stepper.problem.n
        replicas = make_replicas(3, stepper.state(0))
        replicas.slot[:] = stepper.rng.permutation(3)  # states are found through their slots
        set_state(replicas, 1, stepper.state(i))
        set_state(replicas, 2, stepper.state(j))
        codes, layers, held = (np.empty((n_draws, 2, n), dtype=np.int64) for _ in range(3))
        assert draw(
            stepper.problem.target.view,
            replicas,
            np.array([0.05, *powers]),
            1,
            n_tries,
            stepper.work.crossover,
            stepper.rng,
            codes,
            layers,
            held,
        )
        found, times = count_rows(np.concatenate([codes, layers, held], axis=2))
        out: dict[Pair, int] = {}
        for sides, count in zip(found.tolist(), times.tolist(), strict=True):
            pair = tuple(self._dag(side, n) for side in sides)
            out[pair] = out.get(pair, 0) + count
        return out

    def _dag(self, side: list[int], n: int) -> int:
        """The number of a DAG, of which the replica must be in the right state."""
        dag = self.dag_of.get(tuple(side[:n]))
        assert dag is not None, "not a DAG"
        assert self.stepper.known[tuple(side[n:])] == self.stepper.problem.state_of_dags[dag]
        return dag


def check_pairs(counts: dict[Pair, int], law: dict[Pair, float], false_alarm: float) -> None:
    """Counted pairs against their law by chi-square."""
    pairs = sorted(set(counts) | set(law))
    seen = np.array([counts.get(pair, 0) for pair in pairs])
    check_counts(seen, np.array([law.get(pair, 0.0) for pair in pairs]), false_alarm)


def by_state(problem: HeldTarget, pairs: dict[Pair, float]) -> dict[Pair, float]:
    """What was said about pairs of DAGs, said about pairs of states."""
    out: dict[Pair, float] = {}
    for (a, b), value in pairs.items():
        key = (int(problem.state_of_dags[a]), int(problem.state_of_dags[b]))
        out[key] = out.get(key, 0) + value
    return out
