"""From chains on the sampled parts and sums over the exact ones to one posterior over all nodes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Integers
from outpoint.mcmc.trace import OUTSIDE_ROWS
from outpoint.parts.folding import FoldedScorer, unfold
from outpoint.parts.likely_sets import LikelySets, Members
from outpoint.parts.solution import PartsSolution
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.partly import ExactParts, PartlyExactPosterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.streams import named_seed
from outpoint.tables.missing import Missing
from outpoint.tables.parent_sets import ParentSets

SMALLEST_KEPT = 1e-9
"""Parent sets of nodes in exact parts that are less probable are left out."""


def assemble(
    sampled: SampledPosterior,
    folded: FoldedScorer,
    exact: PartsSolution,
    sampled_sizes: tuple[int, ...],
    model: GaussianModel | None,
) -> PartlyExactPosterior:
    """One posterior of the chains on the nodes of ``folded`` and of all other, exact parts."""
    n, nodes = len(exact.names), folded.nodes
    whole = _Whole(sampled, folded, exact)
    candidates = np.full((n, sampled.candidates.shape[1]), -1, dtype=np.int32)
    inner = sampled.candidates
    candidates[nodes] = np.where(inner >= 0, nodes[inner], -1)
    missing = sampled._missing
    together = SampledPosterior(
        sampled.info,
        exact.names,
        ParentSets(candidates, whole.members),
        [whole.record(chain) for chain in range(sampled.n_chains)],
        model=model,
        is_complete=sampled.is_complete,
        lost_mass=sampled.lost_mass,
        missing=None if missing is None else _spread_missing(missing, nodes, n),
    )
    none: Members = np.zeros((0, 1), dtype=np.int16)
    known = [
        exact.likely_arrays(child, SMALLEST_KEPT)
        if child in exact.children
        else (none, np.zeros(0))
        for child in range(n)
    ]
    parts = ExactParts(
        edges=exact.edges,
        sets=LikelySets.join(known),
        sizes=exact.part_sizes,
        sampled_sizes=sampled_sizes,
        discrepancy=exact.discrepancy,
    )
    return PartlyExactPosterior(together, parts, sampled._log_scores())


class _Whole:
    """Draws, best and first DAGs of all chains, with the parents of all nodes.

    They are rows of one list: the draws of all chains, then the best DAG of each, then the first.
    The parents of sampled nodes that are in exact parts are drawn for draws, and the best for the
    others.
    """

    def __init__(
        self, sampled: SampledPosterior, folded: FoldedScorer, exact: PartsSolution
    ) -> None:
        self._sampled, self._nodes, self._n = sampled, folded.nodes, len(exact.names)
        self._shape = sampled.n_chains, sampled.n_draws
        self._n_draws = sampled.n_chains * sampled.n_draws
        records = sampled.records
        ends = [getattr(r, name) for name in ("best_code", "start_code") for r in records]
        draws = [sampled._codes(record) for record in records]
        dags = sampled.parent_sets.adjacencies(np.concatenate([*draws, np.array(ends)]))
        self._codes = np.zeros((len(dags), self._n), dtype=np.int32)
        self._best_codes = np.zeros_like(self._codes)
        self._scores, self._best_scores = np.zeros(len(dags)), np.zeros(len(dags))
        self._edges = np.zeros((sampled.n_chains, self._n, self._n))
        self._batches = np.zeros((sampled.n_chains, self._n_batches, self._n, self._n))
        sets = SetList(folded.max_parents)
        self._add_sampled(folded, dags, sets)
        self._add_exact(exact, sets)
        self.members = sets.members

    @property
    def _n_batches(self) -> int:
        """Number of batches of draws: that of batches of steps, if those counted outside edges."""
        if self._sampled.parent_sets.are_narrow:
            counted = min(len(record.outside_batches) for record in self._sampled.records)
            return min(counted, self._shape[1])
        return min(OUTSIDE_ROWS, self._shape[1])

    def _add_sampled(self, folded: FoldedScorer, dags: Booleans, sets: SetList) -> None:
        rng = np.random.default_rng(named_seed(self._sampled.info.seed, "unfold"))
        for child in range(folded.n_nodes):
            own = unfold(folded, child, dags, self._n, rng)
            both = sets.encode(np.concatenate([own.drawn, own.best])).reshape(2, -1)
            self._codes[:, own.node], self._best_codes[:, own.node] = both
            self._scores += own.scores
            self._best_scores += own.best_scores
            by_chain = own.probabilities[: self._n_draws].reshape(*self._shape, len(own.earlier))
            self._edges[:, own.earlier, own.node] = by_chain.mean(axis=1)
            ends = np.linspace(0, self._shape[1], self._n_batches + 1).astype(np.intp)
            for batch, (begin, end) in enumerate(pairwise(ends)):
                means = by_chain[:, begin:end].mean(axis=1)
                self._batches[:, batch, own.earlier, own.node] = means

    def _add_exact(self, exact: PartsSolution, sets: SetList) -> None:
        seed = named_seed(self._sampled.info.seed, "exact parts")
        for own, numbers in exact.draw_parents(self._n_draws, seed):
            parents = np.zeros((self._n_draws + 1, self._n), dtype=np.bool_)
            own.fill_edges(numbers, parents[:-1])
            parents[-1] = exact.best_adjacency[:, own.child]
            codes = sets.encode(parents)
            self._codes[: self._n_draws, own.child] = codes[:-1]
            self._best_codes[:, own.child] = codes[-1]
            self._scores[: self._n_draws] += own.scores[numbers]
        self._best_scores += exact.best_log_score

    def record(self, chain: int) -> ChainRecord:
        """What a chain has recorded, of all nodes."""
        sampled, n, nodes = self._sampled, self._n, self._nodes
        record = sampled.records[chain]
        n_chains, n_draws = self._shape
        draws = slice(chain * n_draws, (chain + 1) * n_draws)
        rows = np.append(np.arange(draws.start, draws.stop), self._n_draws + chain)
        best = int(rows[self._best_scores[rows].argmax()])
        batches, edges = self._batches[chain], self._edges[chain]
        if sampled.parent_sets.are_narrow:
            inner = record.outside_batches[len(record.outside_batches) - len(batches) :]
            batches[(..., *np.ix_(nodes, nodes))] = inner
            edges[np.ix_(nodes, nodes)] = record.outside_edges
        return replace(
            record,
            codes=self._codes[draws],
            log_score=self._scores[draws],
            log_weight=record.log_weight[-sampled.n_draws :],
            edge_batches=_spread_rows(record.edge_batches, nodes, n),
            edges=_spread_rows(record.edges, nodes, n),
            outside_batches=batches,
            outside_edges=edges,
            best_code=self._best_codes[best],
            best_log_score=float(self._best_scores[best]),
            start_code=self._best_codes[self._n_draws + n_chains + chain],
        )


class SetList:
    """Parent sets that are listed as they come, each with its code."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._members: list[NDArray[np.int16]] = []
        self._n_sets = 0

    def encode(self, parents: Booleans) -> NDArray[np.int32]:
        """Codes of the parent sets (row, parent) of one node."""
        packed, which = np.unique(np.packbits(parents, axis=1), axis=0, return_inverse=True)
        sets = np.unpackbits(packed, axis=1, count=parents.shape[1]).astype(np.bool_)
        rows, nodes = np.nonzero(sets)
        places = np.arange(len(rows)) - np.searchsorted(rows, rows)
        members = np.full((len(sets), self._width), -1, dtype=np.int16)
        members[rows, places] = nodes
        self._members.append(members)
        codes = ~(self._n_sets + which.reshape(-1)).astype(np.int32)
        self._n_sets += len(sets)
        return codes

    @property
    def members(self) -> NDArray[np.int16]:
        """All sets so far, padded with -1."""
        return np.concatenate(self._members)


def _spread_missing(missing: Missing, nodes: Integers, n: int) -> Missing:
    """What tables of some nodes lack; those of all others lack nothing."""
    out = Missing.none(n)
    out.mass[nodes] = missing.mass
    out.edges[np.ix_(nodes, nodes)] = missing.edges
    return out


def _spread_rows(values: NDArray[Any], nodes: Integers, n: int) -> NDArray[Any]:
    """Values (..., node, candidate) of some nodes, with 0 for all others."""
    out = np.zeros((*values.shape[:-2], n, values.shape[-1]), dtype=values.dtype)
    out[..., nodes, :] = values
    return out
