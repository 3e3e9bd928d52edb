"""A posterior of which some parts are exact and the others sampled.

Chains run on the nodes of the large parts alone, with the parents before them summed out of the
scores (``parts.folding``). What they recorded becomes records of all nodes here: each draw gets
the parents in exact parts drawn for it, and the exact parts themselves are drawn beside it. Edges
into nodes of exact parts have no sampling error. Formulas: docs/math.md#exact-by-parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import NODE, SHARE, takes
from outpoint.arrays import Booleans, Floats
from outpoint.parts import describe_parts
from outpoint.parts.likely_sets import LikelySets
from outpoint.posterior.estimates import Estimate
from outpoint.posterior.features import Adjacent, Edge, Feature, FeatureFunction, ParentSet, Root
from outpoint.posterior.sampled import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import count_candidates

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ExactParts:
    """What is known exactly: the likely parent sets of the nodes of exact parts, and their edges.

    ``edges`` are 0 and ``sets`` are empty for the nodes that are sampled. ``sizes`` are those of
    the exact parts, ``sampled_sizes`` of the others; probabilities of parent sets add up to 1
    except for ``discrepancy``.
    """

    edges: Floats
    sets: LikelySets
    sizes: tuple[int, ...]
    sampled_sizes: tuple[int, ...]
    discrepancy: float

    @property
    def nodes(self) -> Booleans:
        """Which nodes are in exact parts."""
        return self.sets.has_sets


class PartlyExactPosterior(SampledPosterior):
    """A posterior with parts that are exact beside others that chains have sampled.

    ``part_log_score`` (chain, draw) are the log scores of the draws within the sampled parts, as
    the chains saw them: by these they are judged.
    """

    def __init__(
        self, sampled: SampledPosterior, exact: ExactParts, part_log_score: Floats
    ) -> None:
        super().__init__(
            sampled.info,
            sampled.names,
            sampled.parent_sets,
            sampled.records,
            model=sampled.model,
            is_complete=sampled.is_complete,
            lost_mass=sampled.lost_mass,
            missing=sampled._missing,
        )
        self.exact = exact
        self.part_log_score = part_log_score

    @cached_property
    def chain_edges(self) -> Floats:
        """Edge probabilities of each chain (chain, parent, child), the exact ones in all."""
        return np.clip(super().chain_edges + self.exact.edges, 0.0, 1.0)

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        exact, sampled = (
            describe_parts(own) for own in (self.exact.sizes, self.exact.sampled_sizes)
        )
        return (
            f"partly exact: {exact} computed over all DAGs, {sampled} sampled. "
            f"For the sampled parts: {super().verdict}"
        )

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"{text[:-1]}, {int(self.exact.nodes.sum())} nodes exact)"

    @property
    def outside_shares(self) -> pd.Series | None:
        """How often each sampled node had sampled parents outside its candidates."""
        import pandas as pd

        sampled = np.flatnonzero(~self.exact.nodes)
        if (self._candidate_numbers == len(sampled) - 1).all():
            return None
        members, shares = self.parent_sets.members, []
        for node in sampled:
            free = np.isin(np.arange(len(self.names)), sampled)
            free[self.candidates[node, self.candidates[node] >= 0]] = False
            is_outside = np.any((members >= 0) & free[members], axis=1)
            codes = np.concatenate([self._codes(record)[:, node] for record in self.records])
            shares.append(float(is_outside[~codes].mean()))
        names = [self.names[node] for node in sampled]
        return pd.Series(shares, index=names, name="outside_share")

    @property
    def missing_mass(self) -> pd.Series | None:
        """As of every sampled posterior, of the sampled nodes."""
        missing = super().missing_mass
        return None if missing is None else missing[~self.exact.nodes]

    @property
    def missing_change(self) -> pd.Series | None:
        """As of every sampled posterior, of the sampled nodes."""
        changes = super().missing_change
        return None if changes is None else changes[~self.exact.nodes]

    @property
    def _candidate_numbers(self) -> NDArray[np.int64]:
        return count_candidates(self.candidates)[~self.exact.nodes]

    @property
    def _largest_part(self) -> int:
        return max(self.exact.sampled_sizes)

    @property
    def _judged(self) -> Sequence[ChainRecord]:
        return [
            replace(record.with_draws(slice(-self.n_draws, None)), log_score=own)
            for record, own in zip(self.records, self.part_log_score, strict=True)
        ]

    @takes(child=NODE, at_least=SHARE)
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child``: exact, or with their frequencies in the draws."""
        node = self._node(child)
        if not self.exact.nodes[node]:
            return super().parent_set_probabilities(node, at_least=at_least)
        return [
            (tuple(self.names[u] for u in parents), float(np.exp(log_probability)))
            for parents, log_probability in self.exact.sets.of(node, max(at_least, 1e-300))
        ]

    def _known(self, feature: Feature | FeatureFunction) -> float | None:
        wanted: tuple[int, tuple[int, ...]] | None = None
        if isinstance(feature, Root):
            wanted = feature.node, ()
        if isinstance(feature, ParentSet):
            wanted = feature.child, tuple(sorted(feature.parents))
        if wanted is None or not self.exact.nodes[wanted[0]]:
            return super()._known(feature)
        return float(np.exp(self.exact.sets.log_of(*wanted)))

    def _estimate_recorded(self, feature: Feature | FeatureFunction) -> Estimate | None:
        known = self._known(feature)
        if known is not None and self._is_exact(feature):
            return Estimate.exact(known)
        return super()._estimate_recorded(feature)

    def _is_exact(self, feature: Feature | FeatureFunction) -> bool:
        """Whether a feature that is known has no sampling error."""
        settled = self.admissible.settled | self.exact.nodes
        if isinstance(feature, Edge):
            return bool(settled[feature.parent, feature.child])
        if isinstance(feature, Adjacent):
            return bool(settled[feature.a, feature.b] and settled[feature.b, feature.a])
        return isinstance(feature, Root | ParentSet)

    def _edge_matrices(self) -> dict[str, NDArray[Any]]:
        found = super()._edge_matrices()
        columns = self.exact.nodes
        found["status"][:, columns] = "exact"
        found["mcse"][:, columns] = 0.0
        return found
