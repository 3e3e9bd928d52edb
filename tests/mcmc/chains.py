"""Running compiled partition chains as a user of the kernel would, and their exact step laws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from outpoint import mcmc
from outpoint.graphs.counting import partition_size_law
from outpoint.mcmc import ROOM
from outpoint.mcmc.dag import make_dag
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.moves.blocks import LEAST_BLOCK_POWER
from outpoint.mcmc.moves.rev import HOT_BLOCK
from outpoint.mcmc.partition import PartitionState
from outpoint.mcmc.partition_chain import Plan, run_partition_chain
from outpoint.mcmc.replicas import Ladder, Replicas, make_ladder, make_replicas
from outpoint.mcmc.steps import compile_steps
from outpoint.mcmc.trace import KeptDags, Trace, make_trace, spread_edges
from outpoint.tables.view import TableView, most_parents
from tests.mcmc.laws import (
    MOVE_NAMES,
    Floats,
    Target,
    list_reversals,
    move_matrix,
    partitions,
    placement_matrix,
    reversal_matrix,
    tempered,
    through_dags,
)
from tests.mcmc.loops import scored_state


@dataclass(frozen=True)
class Recipe:
    """What a chain does, in words: the probability of each move, the rest stays still."""

    moves: Mapping[str, float]
    block: int = 1
    powers: Sequence[float] = (1.0,)
    sweep: int = 20
    fresh: bool = False  # the last replica is drawn afresh; its power is 0
    exchanges: int = 0  # of parts of DAGs, between swaps
    rounds: int = 1  # of swaps and exchanges

    def plan(self, n: int, thin: int = 1, edge_thin: int = 1) -> Plan:
        shares = [self.moves.get(move, 0.0) for move in MOVES]
        shares[MOVES.index("still")] = 1.0 - sum(shares)
        cumulative = np.cumsum(shares)
        cumulative[-1] = 1.0
        sizes = partition_size_law(n) if self.fresh else np.zeros((0, 0))
        return Plan(
            cumulative,
            self.block,
            families=1,
            focus=np.arange(1.0, n + 1.0) / n,
            hot_redraws=0.5,
            sweep=self.sweep,
            fresh_sizes=sizes,
            exchanges=self.exchanges,
            rounds=self.rounds,
            thin=thin,
            edge_thin=edge_thin,
        )

    def matrix(self, target: Target, power: float = 1.0) -> Floats:
        """The law of one step; hot replicas take short blocks of reversals, or none."""
        out = (1.0 - sum(self.moves.values())) * np.eye(len(target.log_weight))
        for move, share in self.moves.items():
            if move in MOVE_NAMES:
                out += share * move_matrix(target, move, power)
            elif move == "node_gibbs":
                out += share * placement_matrix(target, power)
            elif move == "rev" and power >= LEAST_BLOCK_POWER:
                on_dags = reversal_matrix(target, list_reversals(target))
                hot = self.block if power == 1.0 else int(HOT_BLOCK / (1.0 - power))
                block = min(self.block, hot)
                inside = through_dags(target, np.linalg.matrix_power(on_dags, block))
                out += share * tempered(inside, target.log_weight, 1.0 - power)
            else:
                out += share * np.eye(len(out))
        return out


@dataclass
class Chain:
    """A chain with its state and random numbers; every run continues it."""

    target: Target
    recipe: Recipe
    seed: int
    thin: int = 1
    edge_thin: int = 1
    step: int = 0
    replicas: Replicas = field(init=False)
    ladder: Ladder = field(init=False)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        n = self.target.n
        start = partitions(n)[int(np.flatnonzero(self.target.possible)[-1])]
        state = scored_state(self.target.view, start, np.random.default_rng(0))
        self.replicas = make_replicas(len(self.recipe.powers), state)
        self.ladder = make_ladder(np.array(self.recipe.powers))
        self.drawn = make_dag(n, most_parents(self.target.view))
        self.plan = self.recipe.plan(n, self.thin, self.edge_thin)
        self.steps, self.scratch = compile_steps(
            self.target.view, self.replicas, self.ladder, self.plan, self.make_trace(0), self.rng
        )

    def run(self, n_steps: int, trace: Trace | None = None, recording: bool = True) -> Trace:
        if trace is None:
            trace = self.make_trace(n_steps // self.thin)
        run_partition_chain(
            self.target.view,
            self.replicas,
            self.ladder,
            self.steps,
            self.drawn,
            self.plan,
            trace,
            self.step,
            n_steps,
            recording,
            self.rng,
        )
        self.step += n_steps
        return trace

    def make_trace(self, n_draws: int) -> Trace:
        n, n_candidates = self.target.view.candidates.shape
        return make_trace(n, n_draws, n_candidates)

    def put(self, states: Sequence[PartitionState]) -> None:
        """Put replica r into the state r."""
        for row, state in zip(self.replicas.slot, states, strict=True):
            for stacked, own in zip(self.replicas.states, state, strict=True):
                stacked[row] = own

    def level_of(self, replica: int) -> tuple[int, ...]:
        """The layer of each node in the partition of a replica."""
        return tuple(self.replicas.states.layer[self.replicas.slot[replica]].tolist())


def advance_taking_draws(chain: mcmc.Chain, n_steps: int) -> KeptDags:
    """Take steps, and the draws away before there is no more room for them."""
    end, taken = chain.step + n_steps, []
    while chain.step < end:
        chain.advance(min(ROOM * chain.thin, end - chain.step))
        taken.append(chain.take_draws())
    return KeptDags(*(np.concatenate(parts) for parts in zip(*taken, strict=True)))


def summed_edges(view: TableView, trace: Trace) -> Floats:
    """The summed edge probabilities of all batches, [parent, child]."""
    return spread_edges(trace.edge_sum.sum(axis=0), view.candidates)


def paper_mix(n: int, *, rev: float = 0.0) -> dict[str, float]:
    """Partition : permutation = 3 : 2, the larger move of each class with 6n / (n^2 + 10n - 24)."""
    larger = min(1.0, 6 * n / (n * n + 10 * n - 24))
    moving = 0.99 - rev
    return {
        "split_join": moving * 0.6 * (1 - larger),
        "node_move": moving * 0.6 * larger,
        "swap_any": moving * 0.4 * larger,
        "swap_adjacent": moving * 0.4 * (1 - larger),
        "rev": rev,
    }
