"""What is done with a completed table: its exact posterior, or steps that keep that posterior."""

from dataclasses import dataclass, replace

import numpy as np

from outpoint.arrays import Booleans
from outpoint.exact import solve
from outpoint.graphs.blocks import add_ancestors
from outpoint.mcmc import SWEEP, Settings
from outpoint.mcmc.samplers.partition import PartitionChain
from outpoint.mcmc.samplers.tempered import FAMILIES_PER_NODE
from outpoint.mcmc.trace import spread_edges
from outpoint.missing.chain import Solved
from outpoint.missing.excluded import look_around
from outpoint.missing.rescoring import CandidateScores
from outpoint.model import Model
from outpoint.parts import Split, solve_parts
from outpoint.runs.record import record_chain
from outpoint.scores import FamilyScorer
from outpoint.tables import ScoreTable
from outpoint.tables.view import view_table

DRAWS = 4
"""DAGs that are drawn for each completed table."""

SWEEPS_OF_TABLE = 12
"""Sweeps that chains take on each completed table, each with a block of reversals of edges and one
of joint redraws of parents."""

REVERSALS_PER_NODE = 3
"""Reversals in a block."""


@dataclass(frozen=True)
class ExactTables:
    """Sums over all DAGs, by parts if the problem has several."""

    model: Model
    split: Split

    def solve(self, scorer: FamilyScorer, dag: Booleans, seed: int) -> Solved:
        """The exact posterior and draws from it, whatever the last DAG was."""
        model = replace(self.model, scorer=scorer)
        if len(self.split.parts) > 1:
            names, prior = model.data.names, model.prior
            parts = solve_parts(names, scorer, prior, self.split, model.max_parents)[0]
            best = parts.best_adjacency, parts.best_log_score
            return Solved(parts.edges, parts.ancestors, *parts.draw(DRAWS, seed), *best)
        found = solve(model.problem.tabulate(model.data.n_nodes - 1))
        best = found.best_adjacency, found.best_log_score
        return Solved(found.edges, found.ancestors, *found.draw(DRAWS, seed), *best)


@dataclass(frozen=True)
class SampledTables:
    """A partition chain that begins at the last DAG, at power 1.

    Tempered replicas of the table before would be draws from another law than the one they have to
    follow on this table, so there are none.
    """

    scores: CandidateScores

    def solve(self, scorer: FamilyScorer, dag: Booleans, seed: int) -> Solved:
        """What the chain has recorded, and draws of which the last is where it ended."""
        table = self.scores.tabulate(scorer)
        chain = TableChain(table, dag, seed)
        chain.advance(SWEEPS_OF_TABLE * SWEEP)
        record = record_chain(chain, chain.take_draws())
        dags = table.parent_sets.adjacencies(record.codes)
        ancestors = np.zeros(dag.shape)
        add_ancestors(dags, np.ones(len(dags)), ancestors)
        return Solved(
            np.clip(spread_edges(record.edges, table.candidates), 0.0, 1.0),
            ancestors / len(dags),
            dags,
            record.log_score,
            table.parent_sets.adjacencies(record.best_code[None])[0],
            record.best_log_score,
            lambda: look_around(self.scores, table, scorer, dags[-1]),
        )


class TableChain(PartitionChain):
    """Placements, blocks of reversals and joint redraws: our sampler without its ladder."""

    def __init__(self, table: ScoreTable, dag: Booleans, seed: int) -> None:
        start = table.codes_of(dag)
        n_steps = SWEEPS_OF_TABLE * SWEEP
        settings = Settings(
            method="partition",
            start=start,
            max_parents=table.max_parents,
            moves={"node_gibbs": float(SWEEP), "rev": 1.0, "families": 1.0},
            n_draws=DRAWS,
            thin=n_steps // DRAWS,
            edge_thin=SWEEP,
        )
        super().__init__(view_table(table), settings, start, np.random.default_rng(seed))
        n = table.n_nodes
        self._plan = self._plan._replace(
            block=REVERSALS_PER_NODE * n, families=max(1, int(FAMILIES_PER_NODE * n))
        )
