"""The posterior sampled by Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.graphs import Dag
from outpoint.mcmc.ancestors import count_ancestors
from outpoint.mcmc.trace import spread_edges
from outpoint.posterior.assessment import assess_records
from outpoint.posterior.convergence import Assessment
from outpoint.posterior.draws import Booleans, Draws, Floats
from outpoint.posterior.posterior import Posterior, RunInfo
from outpoint.runs import ChainRecord

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior.effects import GaussianModel

BLOCK = 4096
"""Draws that are counted at a time."""


class SampledPosterior(Posterior):
    """A posterior sampled by several chains.

    Edge probabilities are averages of the probabilities given the visited partitions or orders,
    not only of the kept draws; ancestors and other features come from the draws. ``candidates[v]``
    are the nodes among which the parents of v were chosen; ``is_complete`` says whether the run
    has done what it was meant to do, or was interrupted.
    """

    def __init__(
        self,
        info: RunInfo,
        names: tuple[str, ...],
        candidates: NDArray[np.int32],
        records: Sequence[ChainRecord],
        *,
        model: GaussianModel | None = None,
        is_complete: bool = True,
    ) -> None:
        self.info = info
        self.names = names
        self.candidates = candidates
        self.records = tuple(records)
        self.model = model
        self.is_complete = is_complete

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.records)

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return min(record.n_draws for record in self.records)

    @property
    def steps_per_chain(self) -> int:
        """Recorded steps of each chain."""
        return min(record.n_steps for record in self.records)

    @cached_property
    def chain_edges(self) -> Floats:
        """Edge probabilities of each chain (chain, parent, child)."""
        return spread_edges(np.stack([record.edges for record in self.records]), self.candidates)

    @property
    def map_dag(self) -> Dag:
        """The best DAG that any chain has met."""
        masks = self._best_record().best_mask
        return Dag.from_adjacency(self._adjacencies(masks[None])[0], self.names)

    @property
    def map_log_score(self) -> float:
        """Log score, prior included, of the best DAG met."""
        return self._best_record().best_log_score

    @property
    def largest_difference(self) -> float:
        """Largest difference between two chains' probabilities of the same edge."""
        return float(np.ptp(self.chain_edges, axis=0).max())

    @property
    def round_trips(self) -> list[int] | None:
        """Round trips of each chain's tempered replicas; None for methods without a ladder."""
        crossing = self.assessment.crossing
        return None if crossing is None else list(crossing.round_trips)

    def ladder(self) -> pd.DataFrame:
        """The tempered replicas: chain, replica, power, and how often it swapped with the next."""
        import pandas as pd

        rows = []
        for chain, record in enumerate(self.records):
            rates = record.swap_accepted / np.maximum(record.swap_attempts, 1)
            for replica, power in enumerate(record.power):
                rate = rates[replica] if replica < len(rates) else np.nan
                rows.append((chain, replica, float(power), float(rate)))
        return pd.DataFrame(rows, columns=["chain", "replica", "power", "swap_rate"])

    @property
    def converged(self) -> bool:
        """Whether several chains agree on everything, all moved, and the method is unbiased."""
        return self.assessment.converged

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        verdict = self.assessment.verdict
        if not self.is_complete:
            verdict = f"interrupted after {self.steps_per_chain:,} steps per chain; {verdict}"
        n_candidates = self.candidates.shape[1]
        if n_candidates < len(self.names) - 1:
            verdict += (
                f" Parents were chosen among the {n_candidates} most promising candidates of each "
                "node."
            )
        return verdict

    @cached_property
    def assessment(self) -> Assessment:
        """The verdict in numbers: R-hat, effective draws, agreement between the chains."""
        return assess_records(self.records, self.names, self.candidates, self.method)

    def acceptance(self) -> pd.DataFrame:
        """How often each move was tried and accepted, by chain."""
        import pandas as pd

        rows = [
            {
                "chain": chain,
                "move": move,
                "attempts": int(record.attempts[i]),
                "accepted": int(record.accepted[i]),
            }
            for chain, record in enumerate(self.records)
            for i, move in enumerate(record.moves)
            if record.attempts[i]
        ]
        return pd.DataFrame(rows)

    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their frequencies in the draws."""
        node = self._node(child)
        masks = np.concatenate([self._masks(record)[:, node] for record in self.records])
        found, counts = np.unique(masks, return_counts=True)
        ranked = np.argsort(-counts, kind="stable")
        return [
            (self._named_set(node, int(found[i])), float(counts[i] / len(masks)))
            for i in ranked
            if counts[i] >= at_least * len(masks)
        ]

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, ess_tail, status.

        They are computed from the probabilities of the edge given the visited partitions or orders,
        averaged over batches of steps. ``status`` is ``"ok"`` or says what is wrong, or why a
        number is not defined (an edge that is not among the candidates is ``"excluded"``; the
        probability of a ``"precise"`` one is known so well that R-hat and effective draws do not
        matter). ``attrs["round_trips"]`` has the round trips of each chain.
        """
        edges = self.assessment.edges
        shape = self.candidates.shape
        columns = {
            name: spread_edges(getattr(edges, name).reshape(shape), self.candidates)
            for name in ("mcse", "rhat", "ess", "ess_tail")
        }
        status = np.full((len(self.names), len(self.names)), "excluded", dtype=object)
        for child, candidates in enumerate(self.candidates):
            status[candidates, child] = edges.status.reshape(shape)[child]
        for values in columns.values():
            values[status == "excluded"] = np.nan
        rows = self._edge_rows(**columns, status=status)
        rows.attrs["round_trips"] = self.round_trips
        return rows

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
        counts = np.zeros((len(self.names), len(self.names)), dtype=np.int64)
        for record in self.records:
            masks = self._masks(record)
            for start in range(0, len(masks), BLOCK):
                block = np.ascontiguousarray(masks[start : start + BLOCK])
                counts += count_ancestors(block, self.candidates)
        return np.divide(counts, self.n_chains * self.n_draws)

    def _log_scores(self) -> Floats:
        return np.stack([record.log_score[-self.n_draws :] for record in self.records])

    def _masks(self, record: ChainRecord) -> NDArray[np.uint32]:
        return record.masks[-self.n_draws :]

    def _draws(self) -> tuple[Booleans, Floats]:
        return self._all_draws

    @cached_property
    def _all_draws(self) -> tuple[Booleans, Floats]:
        dags = np.stack([self._adjacencies(self._masks(record)) for record in self.records])
        return dags, self._log_scores()

    def _graph_draws(self) -> Draws:
        n_draws = self.n_draws
        chains = [self._masks(record) for record in self.records]

        def read(numbers: NDArray[np.intp]) -> Booleans:
            ends = np.searchsorted(numbers, np.arange(len(chains) + 1) * n_draws)
            parts = [
                masks[numbers[begin:end] - chain * n_draws]
                for chain, (masks, begin, end) in enumerate(
                    zip(chains, ends[:-1], ends[1:], strict=True)
                )
            ]
            return self._adjacencies(np.concatenate(parts))

        return Draws(len(self.names), self._log_scores(), read)

    def _adjacencies(self, masks: NDArray[np.uint32]) -> Booleans:
        """Adjacency matrices from parent masks (draw, node)."""
        n = len(self.names)
        out = np.zeros((len(masks), n, n), dtype=np.bool_)
        for child, candidates in enumerate(self.candidates):
            bits = masks[:, child, None] >> np.arange(len(candidates), dtype=np.uint32) & 1
            out[:, candidates, child] = bits.astype(np.bool_)
        return out

    def _best_record(self) -> ChainRecord:
        return max(self.records, key=lambda record: record.best_log_score)
