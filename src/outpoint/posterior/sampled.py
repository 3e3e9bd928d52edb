"""The posterior sampled by Markov chains."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.graphs import Dag
from outpoint.mcmc.ancestors import count_ancestors
from outpoint.mcmc.trace import MOVES, Trace
from outpoint.posterior.posterior import Booleans, Floats, Posterior, RunInfo
from outpoint.tables import ScoreTable

if TYPE_CHECKING:
    import pandas as pd

Masks = NDArray[np.uint32]

AGREEMENT = 0.1
"""Chains are said to agree if no edge probability differs by more than this between two chains."""


class SampledPosterior(Posterior):
    """A posterior sampled by several chains.

    Edge probabilities are averages of the probabilities given the visited partitions or orders,
    not only of the kept draws; ancestors and other features come from the draws.
    """

    def __init__(
        self, info: RunInfo, table: ScoreTable, traces: list[Trace], steps_per_chain: int
    ) -> None:
        self.info = info
        self.table = table
        self.traces = traces
        self.steps_per_chain = steps_per_chain

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.traces)

    @cached_property
    def chain_edges(self) -> Floats:
        """Edge probabilities of each chain (chain, parent, child)."""
        return np.stack([trace.edge_sum / max(1, trace.n_edge_sums[0]) for trace in self.traces])

    @property
    def map_dag(self) -> Dag:
        """The best DAG that any chain has met."""
        masks = self._best_trace().best_mask
        return Dag.from_adjacency(self._adjacencies(masks[None])[0], self.names)

    @property
    def map_log_score(self) -> float:
        """Log score, prior included, of the best DAG met."""
        return float(self._best_trace().best_log_score[0])

    @property
    def largest_difference(self) -> float:
        """Largest difference between two chains' probabilities of the same edge."""
        return float(np.ptp(self.chain_edges, axis=0).max())

    @property
    def converged(self) -> bool:
        """Whether several chains agree on every edge, all moved, and the method is unbiased."""
        return (
            self.n_chains > 1
            and self.largest_difference <= AGREEMENT
            and not self._frozen_chains()
            and self.method != "order"
        )

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        agreement = self._agreement()
        if self.method == "order":
            agreement += (
                " Order MCMC is biased towards DAGs with many linear extensions, however long it "
                "runs: use method 'mcmc' for the posterior."
            )
        if not self.table.is_complete:
            agreement += (
                f" Parents were chosen among the {self.table.candidates.shape[1]} most promising "
                "candidates of each node."
            )
        return agreement

    def _agreement(self) -> str:
        steps = f"{self.steps_per_chain:,} steps"
        if self.n_chains == 1:
            return f"unknown: a single chain of {steps} cannot show whether it has converged."
        frozen = self._frozen_chains()
        if frozen:
            return (
                f"not converged: {frozen} of the {self.n_chains} chains never left the DAG they "
                "started from; run longer (steps) or use another method."
            )
        difference = self.largest_difference
        if difference <= AGREEMENT:
            return (
                f"the {self.n_chains} chains of {steps} agree on every edge "
                f"(largest difference {difference:.3f})."
            )
        disagreeing = int((np.ptp(self.chain_edges, axis=0) > AGREEMENT).sum())
        return (
            f"not converged: the {self.n_chains} chains of {steps} disagree on {disagreeing} "
            f"edge{'s' if disagreeing > 1 else ''} by up to {difference:.2f}; run longer (steps)."
        )

    def _frozen_chains(self) -> int:
        """Number of chains in which no proposal was accepted."""
        return sum(not trace.accepted.any() for trace in self.traces)

    def acceptance(self) -> pd.DataFrame:
        """How often each move was tried and accepted, by chain."""
        import pandas as pd

        rows = [
            {
                "chain": chain,
                "move": move,
                "attempts": int(trace.attempts[i]),
                "accepted": int(trace.accepted[i]),
            }
            for chain, trace in enumerate(self.traces)
            for i, move in enumerate(MOVES)
            if trace.attempts[i]
        ]
        return pd.DataFrame(rows)

    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their frequencies in the draws."""
        node = self._node(child)
        masks = np.concatenate([self._masks(trace)[:, node] for trace in self.traces])
        found, counts = np.unique(masks, return_counts=True)
        ranked = np.argsort(-counts, kind="stable")
        return [
            (self._named_set(node, int(found[i])), float(counts[i] / len(masks)))
            for i in ranked
            if counts[i] >= at_least * len(masks)
        ]

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, status.

        The Monte Carlo standard error comes from the spread between the chains.
        """
        if self.n_chains == 1:
            mcse = np.full_like(self._edges(), np.nan)
        else:
            mcse = self.chain_edges.std(axis=0, ddof=1) / np.sqrt(self.n_chains)
        return self._edge_rows(mcse, "sampled")

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, "
            f"{self.info.n_observations} observations, score {self.info.score}, "
            f"{self.n_chains} chains of {self.steps_per_chain:,} steps)"
        )

    def _edges(self) -> Floats:
        edges: Floats = self.chain_edges.mean(axis=0)
        return edges

    def _ancestors(self) -> Floats:
        masks = np.concatenate([self._masks(trace) for trace in self.traces])
        return np.divide(count_ancestors(masks, self.table.candidates), len(masks))

    def _draws(self) -> tuple[Booleans, Floats]:
        return self._all_draws

    @cached_property
    def _all_draws(self) -> tuple[Booleans, Floats]:
        dags = np.stack([self._adjacencies(self._masks(trace)) for trace in self.traces])
        scores = np.stack([trace.log_score[: trace.n_draws[0]] for trace in self.traces])
        return dags, scores

    @staticmethod
    def _masks(trace: Trace) -> Masks:
        return trace.masks[: trace.n_draws[0]]

    def _adjacencies(self, masks: Masks) -> Booleans:
        """Adjacency matrices from parent masks (draw, node)."""
        n = len(self.names)
        out = np.zeros((len(masks), n, n), dtype=np.bool_)
        for child, candidates in enumerate(self.table.candidates):
            bits = masks[:, child, None] >> np.arange(len(candidates), dtype=np.uint32) & 1
            out[:, candidates, child] = bits.astype(np.bool_)
        return out

    def _best_trace(self) -> Trace:
        return max(self.traces, key=lambda trace: float(trace.best_log_score[0]))
