"""The posterior sampled by Markov chains."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import Context
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import NODE, SHARE, takes
from outpoint.arrays import Booleans, Floats, Integers
from outpoint.exact import MAX_TOLD_NODES, describe_cost
from outpoint.graphs import Dag
from outpoint.graphs.blocks import add_ancestors
from outpoint.mcmc.trace import spread_edges
from outpoint.naming import count_of, enumerate_items, named, option
from outpoint.posterior.assessment import assess_records, last_batches, outside_pairs
from outpoint.posterior.convergence import Assessment
from outpoint.posterior.diagnostics import MIN_BATCHES, Status, with_rare_events
from outpoint.posterior.draws import Draws
from outpoint.posterior.estimates import Estimate, estimate_from_batches, relative_efficiency
from outpoint.posterior.features import Adjacent, Edge, Feature, FeatureFunction, Not
from outpoint.posterior.info import RunInfo
from outpoint.posterior.posterior import Posterior
from outpoint.processors import n_threads
from outpoint.runs import ChainRecord
from outpoint.tables.missing import Missing
from outpoint.tables.parent_sets import Codes, ParentSets, count_candidates

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior.effects import GaussianModel

BLOCK = 512
"""Draws that are counted at a time."""

POOR_SHARE = 0.5
"""Share of draws with an outside set above which the candidates of a node were poor."""

MISSING_CHANGE = 0.025
"""Estimated change of an edge above which sets of a node that were never admitted matter. Errors
were at most twice the estimates while the share of such sets was below 0.2."""

MISSING_SHARE = 0.2
"""Share of the posterior in such sets above which they matter whatever the estimate is."""

MAX_QUICK_NODES = 20
"""Up to this number of nodes nobody needs to be told that the exact posterior can be had."""

FULL_SHARE = 0.5
"""Share of draws with as many parents as there may be above which the limit is mentioned."""


class SampledPosterior(Posterior):
    """A posterior sampled by several chains.

    Edge probabilities are averages of the probabilities given the visited partitions or orders,
    not only of the kept draws; ancestors and other features come from the draws. ``candidates[v]``
    are the nodes among which the parents of v were chosen; ``is_complete`` says whether the run
    has done what it was meant to do, or was interrupted. Steps are called by ``step_noun``.
    """

    step_noun = "step"

    def __init__(
        self,
        info: RunInfo,
        names: tuple[str, ...],
        parent_sets: ParentSets,
        records: Sequence[ChainRecord],
        *,
        model: GaussianModel | None = None,
        is_complete: bool = True,
        lost_mass: float = 0.0,
        missing: Missing | None = None,
    ) -> None:
        self.info = info
        self.names = names
        self.parent_sets = parent_sets
        self.candidates = parent_sets.candidates
        self.lost_mass = lost_mass
        if missing is None and not parent_sets.are_narrow:
            missing = Missing.none(len(names))
        self._missing = missing
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
        edges = spread_edges(np.stack([record.edges for record in self.records]), self.candidates)
        outside = [record.outside_edges for record in self.records]
        sums = edges + np.stack(outside) if outside[0].size else edges
        return np.clip(sums, 0.0, 1.0)  # averages of rounded sums

    @property
    def map_dag(self) -> Dag:
        """The best DAG that any chain has met or begun at."""
        codes = self._best_record().best_code
        return Dag.from_adjacency(self.parent_sets.adjacencies(codes[None])[0], self.names)

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
        """Whether chains agree on everything, all moved, and nothing that matters was left out."""
        return self.assessment.converged

    @property
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""
        verdict = self.assessment.verdict
        if not self.is_complete:
            done = count_of(self.steps_per_chain, self.step_noun)
            verdict = f"interrupted after {done} per chain; {verdict}"
        return verdict + self._on_candidates() + self._on_limit() + self._on_exact()

    @property
    def outside_shares(self) -> pd.Series | None:
        """How often each node had a parent set outside its candidates; None if all are candidates.

        Such sets are sampled like all others; where they are frequent, chains mix slowly.
        """
        import pandas as pd

        if not self.parent_sets.are_narrow:
            return None
        shares = np.mean(
            [(self._codes(record) < 0).mean(axis=0) for record in self.records], axis=0
        )
        return pd.Series(shares, index=list(self.names), name="outside_share")

    @property
    def missing_mass(self) -> pd.Series | None:
        """Share of the posterior in parent sets of each node that were never admitted, estimated.

        Where sets are too many to be all scored, those with two or more members outside the
        candidates are not sampled. The estimate looks at those that are one exchange or addition
        away from the draws; 0 where all sets are admitted. It is None for a file of an earlier
        version, which does not say.
        """
        import pandas as pd

        if self._missing is None:
            return None
        return pd.Series(self._missing.mass, index=list(self.names), name="missing_mass")

    @property
    def missing_change(self) -> pd.Series | None:
        """By how much sets of each node that were never admitted would change an edge into it.

        An estimate for the edge that would change most, with ``missing_mass``.
        """
        import pandas as pd

        if self._missing is None:
            return None
        changes = self._missing.changes(self.chain_edges.mean(axis=0))
        return pd.Series(changes, index=list(self.names), name="missing_change")

    @property
    def on_candidates(self) -> dict[str, Any] | None:
        """Candidates of nodes, shares of draws with outside sets, and what was left out.

        ``lost_mass`` bounds what pruning has removed, ``missing_mass`` is estimated for each node
        (None if it is not known), and ``missing_change`` with it.
        """
        shares = self.outside_shares
        if shares is None:
            return None
        numbers = self._candidate_numbers
        missing, changes = self.missing_mass, self.missing_change
        return {
            "per_node": float(numbers.mean()),
            "fewest": int(numbers.min()),
            "most": int(numbers.max()),
            "mean_outside_share": float(shares.mean()),
            "largest_outside_share": float(shares.max()),
            "lost_mass": self.lost_mass,
            "missing_mass": None if missing is None else missing.to_dict(),
            "missing_change": None if changes is None else changes.to_dict(),
        }

    @property
    def _candidate_numbers(self) -> NDArray[np.int64]:
        """How many candidates each node has that was sampled."""
        return count_candidates(self.candidates)

    def _on_candidates(self) -> str:
        """What the verdict says about sets outside the candidates, if there can be any."""
        shares = self.outside_shares
        if shares is None:
            return ""
        numbers = self._candidate_numbers
        few, many = int(numbers.min()), int(numbers.max())
        missing, changes = self.missing_mass, self.missing_change
        text = (
            " No edge is excluded: parent sets outside the "
            f"{few if few == many else f'{few} to {many}'} candidates of each node are sampled, "
            f"too; of all others, those pruned have at most {self.lost_mass:.1g} of the posterior, "
        )
        if missing is None or changes is None:
            text += "and nothing is known of those that were never admitted."
        else:
            text += (
                "and those that were never admitted, by an estimate from the draws, at most "
                f"{missing.max():.1g} for any variable; they would change no edge by more than "
                f"{changes.max():.1g}."
            )
            shares = shares[~_matter(missing, changes)]
        poor = shares[shares > POOR_SHARE]
        if len(poor):
            worst = ", ".join(
                f"{name} ({share:.0%})"
                for name, share in poor.sort_values(ascending=False)[:3].items()
            )
            text += f" The candidates were poor for {worst}: more candidates would be faster."
        return text

    def _on_missing(self) -> str:
        """What the verdict says about sets that were never admitted, where they matter."""
        if self.missing_mass is None or self.missing_change is None:
            return ""
        missing = self.missing_mass[_matter(self.missing_mass, self.missing_change)]
        missing = missing.sort_values(ascending=False)
        if missing.empty:
            return ""
        worst = ", ".join(f"{name} (about {share:.0%})" for name, share in missing[:3].items())
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        return (
            "parent sets that were never admitted have a part of the posterior that matters, for "
            f"{worst}{more}: more candidates ({named('n_candidates')}) would change the answer."
        )

    @property
    def limit_shares(self) -> pd.Series:
        """How often each node had as many parents as ``max_parents`` allows, among the draws."""
        import pandas as pd

        at_limit = [
            self.parent_sets.count_members(self._codes(record)) == self.info.max_parents
            for record in self.records
        ]
        shares = np.mean([own.mean(axis=0) for own in at_limit], axis=0)
        return pd.Series(shares, index=list(self.names), name="limit_share")

    def _on_limit(self) -> str:
        """What the verdict says about a limit on parents that may exclude better sets."""
        limit = self.info.max_parents
        if limit >= len(self.names) - 1:
            return ""
        shares = self.limit_shares
        full = shares[shares > FULL_SHARE]
        if full.empty:
            return ""
        return (
            f" {enumerate_items([str(name) for name in full.index], limit=3)} mostly had {limit} "
            f"{'parent' if limit == 1 else 'parents'}, as many as {named('max_parents')} allows: "
            "a larger limit may give other answers."
        )

    def _on_exact(self) -> str:
        """What the verdict says about the exact posterior, where one can still be had."""
        n = self._largest_part
        if not MAX_QUICK_NODES < n <= MAX_TOLD_NODES:
            return ""
        cost = describe_cost(n, Context().run(n_threads))  # of the machine, whatever this run used
        return f" An exact run would take {cost} here ({option('method', 'exact')})."

    @property
    def _largest_part(self) -> int:
        """Number of nodes that an exact run would have to sum over together."""
        return len(self.names)

    @property
    def _judged(self) -> Sequence[ChainRecord]:
        """The records by which the chains are judged."""
        return self.records

    @cached_property
    def assessment(self) -> Assessment:
        """The verdict in numbers: R-hat, effective draws, agreement between the chains."""
        found = self._agreement()
        missing = self._on_missing()
        if not missing:
            return found
        if found.converged:
            verdict = f"not converged, although the chains agree: {missing}"
        else:
            verdict = f"{found.verdict} And {missing}"
        return replace(found, converged=False, verdict=verdict)

    def _agreement(self) -> Assessment:
        """What the chains say, whatever was never admitted."""
        return assess_records(self._judged, self.names, self.parent_sets, self.method)

    @cached_property
    def _n_effective(self) -> float:
        """The effective number of draws, judged by their log scores."""
        log_scores = self._log_scores()
        return log_scores.size * relative_efficiency(log_scores)

    def _estimate_recorded(self, feature: Feature | FeatureFunction) -> Estimate | None:
        """Edges, adjacencies and their opposites, with the error of their recorded batches."""
        if isinstance(feature, Not):
            found = self._estimate_recorded(feature.part)
            return None if found is None else replace(found, value=1 - found.value)
        settled = super()._estimate_recorded(feature)
        if settled is not None:
            return settled
        value, batches = self._known(feature), self._batches_of(feature)
        if value is None or batches is None or batches.shape[1] < MIN_BATCHES:
            return None
        return estimate_from_batches(batches, value, self._n_effective)

    def _batches_of(self, feature: Feature | FeatureFunction) -> Floats | None:
        """Means (chain, batch) of a feature that batches of steps have recorded."""
        if isinstance(feature, Edge):
            return self._edge_batches(feature.parent, feature.child)
        if isinstance(feature, Adjacent):
            there = self._edge_batches(feature.a, feature.b)
            back = self._edge_batches(feature.b, feature.a)
            n_batches = min(there.shape[1], back.shape[1])
            return _coarsened(there, n_batches) + _coarsened(back, n_batches)
        return None

    def _edge_batches(self, parent: int, child: int) -> Floats:
        """Means (chain, batch) of an edge, whose batches are longer outside the candidates."""
        place = np.flatnonzero(self.candidates[child] == parent)
        if len(place):
            return last_batches(
                [record.edge_batches[:, child, place[0]] for record in self.records]
            )
        return last_batches([record.outside_batches[:, parent, child] for record in self.records])

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

    @takes(child=NODE, at_least=SHARE)
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their frequencies in the draws."""
        node = self._node(child)
        codes = np.concatenate([self._codes(record)[:, node] for record in self.records])
        found, counts = np.unique(codes, return_counts=True)
        ranked = np.argsort(-counts, kind="stable")
        return [
            (
                tuple(self.names[u] for u in self.parent_sets.members_of(node, int(found[i]))),
                float(counts[i] / len(codes)),
            )
            for i in ranked
            if counts[i] >= at_least * len(codes)
        ]

    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, ess_tail, status.

        They are computed from the probabilities of the edge given the visited partitions or orders,
        averaged over batches of steps. ``status`` is ``"ok"`` or says what is wrong, or why a
        number is not defined (edges from outside the candidates that hardly ever occur are
        ``"negligible"``; the probability of a ``"precise"`` one is known so well that R-hat and
        effective draws do not matter). ``attrs["round_trips"]`` has the round trips of each chain.
        """
        return self._diagnosed.copy()

    @cached_property
    def _diagnosed(self) -> pd.DataFrame:
        """All rows; kept, as a command asks for them for each file and for the terminal."""
        rows = self._edge_rows(**self._edge_matrices())
        rows.attrs["round_trips"] = self.round_trips
        return rows

    def _edge_matrices(self) -> dict[str, NDArray[Any]]:
        """The columns of :meth:`diagnostics` as matrices [parent, child]."""
        edges = self.assessment.edges
        children, places = np.nonzero(self.candidates >= 0)
        parents = self.candidates[children, places]
        outer = outside_pairs(self.records)
        parents, children = np.append(parents, outer[:, 0]), np.append(children, outer[:, 1])
        n = len(self.names)
        columns = {name: np.full((n, n), np.nan) for name in ("mcse", "rhat", "ess", "ess_tail")}
        for name, values in columns.items():
            values[parents, children] = getattr(edges, name)
        status = np.full((n, n), Status.NEGLIGIBLE.value, dtype=object)
        status[parents, children] = edges.status
        columns["mcse"] = self._honest_errors(columns["mcse"], status)
        return {**columns, "status": status}

    def _honest_errors(self, mcse: Floats, status: NDArray[np.object_]) -> Floats:
        """Errors [parent, child] that allow for rare events; 0 for edges that are known beforehand.

        Edges that have not been diagnosed, all of them rare, have the errors of counted draws.
        """
        edges, n_effective = self._edges(), self._n_effective
        is_counted = np.isnan(mcse) & (status == Status.NEGLIGIBLE.value)
        counted = np.sqrt(edges * (1.0 - edges) / n_effective)
        errors = with_rare_events(np.where(is_counted, counted, mcse), edges, n_effective)
        return np.where(self.admissible.settled, 0.0, errors)

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
        counts = np.zeros((len(self.names), len(self.names)))
        for record in self.records:
            codes = self._codes(record)
            for start in range(0, len(codes), BLOCK):
                dags = self.parent_sets.adjacencies(codes[start : start + BLOCK])
                add_ancestors(dags, np.ones(len(dags)), counts)
        return counts / (self.n_chains * self.n_draws)

    def _log_scores(self) -> Floats:
        return np.stack([record.log_score[-self.n_draws :] for record in self.records])

    def _codes(self, record: ChainRecord) -> Codes:
        return record.codes[-self.n_draws :]

    def _draws(self) -> tuple[Booleans, Floats]:
        return self._all_draws

    @cached_property
    def _all_draws(self) -> tuple[Booleans, Floats]:
        dags = np.stack(
            [self.parent_sets.adjacencies(self._codes(record)) for record in self.records]
        )
        return dags, self._log_scores()

    def _graph_draws(self) -> Draws:
        n_draws = self.n_draws
        chains = [self._codes(record) for record in self.records]

        def read(numbers: Integers) -> Booleans:
            ends = np.searchsorted(numbers, np.arange(len(chains) + 1) * n_draws)
            parts = [
                codes[numbers[begin:end] - chain * n_draws]
                for chain, (codes, begin, end) in enumerate(
                    zip(chains, ends[:-1], ends[1:], strict=True)
                )
            ]
            return self.parent_sets.adjacencies(np.concatenate(parts))

        return Draws(len(self.names), self._log_scores(), read)

    def _best_record(self) -> ChainRecord:
        return max(self.records, key=lambda record: record.best_log_score)


def _coarsened(batches: Floats, n_batches: int) -> Floats:
    """The last batches (chain, batch) joined into ``n_batches``, without those left over."""
    length = batches.shape[1] // max(1, n_batches)
    last = batches[:, batches.shape[1] - length * n_batches :]
    return last.reshape(len(batches), n_batches, length).mean(axis=2)


def _matter(missing: pd.Series, changes: pd.Series) -> pd.Series:
    """Whether sets of each node that were never admitted matter."""
    return (changes > MISSING_CHANGE) | (missing > MISSING_SHARE)
