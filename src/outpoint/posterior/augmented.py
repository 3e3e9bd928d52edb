"""The posterior of a table with missing values, averaged over completed tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import takes
from outpoint.arrays import Floats
from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.graphs.validation import DAG
from outpoint.kinds import in_brief, is_whole
from outpoint.mcmc.trace import spread_edges
from outpoint.missing import make_cells
from outpoint.models import NetworkModel
from outpoint.naming import count_of
from outpoint.posterior.assessment import last_batches
from outpoint.posterior.convergence import Assessment, assess
from outpoint.posterior.draws import Draws, WeightedGraphs, name_matrix
from outpoint.posterior.estimates import Estimate
from outpoint.posterior.features import Feature, FeatureFunction, Path
from outpoint.posterior.info import RunInfo
from outpoint.posterior.sampled import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.scores import LocalScore
from outpoint.streams import named_seed
from outpoint.tables.parent_sets import ParentSets

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.posterior.what_if import Component

EXACT_TABLES, SAMPLED_TABLES = "augment", "augment+mcmc"
METHODS = {EXACT_TABLES: "exact", SAMPLED_TABLES: "mcmc"}
"""How posteriors of tables with holes are named, by what is done with each completed table."""

MOST_TABLES = 64
"""Completed tables behind answers about parameters."""

GIVEN_TABLES = 16
GIVEN_SWEEPS = 20
"""Completed tables behind the parameters of one DAG, and how often cells are drawn for it first."""


@dataclass(frozen=True)
class Holes:
    """The table with its missing cells, and what was drawn for them.

    ``tables`` (chain, table, cell) are the values or level codes, in the units of ``data`` and row
    by row, that complete some tables; ``numbers`` (table,) say which ones these were of those
    recorded. ``squares`` (chain, node, candidate) are the means of the squared probabilities of
    edges over all tables, ``ancestors`` (chain, ancestor, descendant) those of ancestors.
    """

    data: Dataset
    score: LocalScore
    tables: Floats
    numbers: NDArray[np.int64]
    squares: Floats
    ancestors: Floats

    @property
    def cells(self) -> NDArray[np.intp]:
        """Row and column of every missing cell."""
        return np.argwhere(self.data.missing)

    def complete(self, chain: int, place: int) -> Dataset:
        """One of the completed tables."""
        values = self.data.values.copy()
        values[self.data.missing] = self.tables[chain, place]
        return replace(self.data, values=values, reading=None)


def assess_augmented(
    records: Sequence[ChainRecord], names: Sequence[str], parent_sets: ParentSets
) -> Assessment:
    """Judge chains over completed tables by the probabilities of edges in each of them."""
    n_draws = min(record.n_draws for record in records)
    children, places = np.nonzero(parent_sets.candidates >= 0)
    parents = parent_sets.candidates[children, places]
    batches = last_batches([record.edge_batches for record in records])
    n_tables = min(record.n_steps for record in records)
    return assess(
        batches[:, :, children, places],
        [
            f"{names[u]} -> {names[v]}"
            for u, v in zip(parents.tolist(), children.tolist(), strict=True)
        ],
        np.stack([record.log_score[-n_draws:] for record in records]),
        np.stack([parent_sets.count_members(one.codes[-n_draws:]).sum(axis=1) for one in records]),
        basis=f" over {n_tables:,} completed tables each, begun at different ones",
    )


class AugmentedPosterior(SampledPosterior):
    """A posterior over DAGs with the missing cells integrated out.

    Chains go from one completed table to the next. Every completed table has its posterior, exact
    or sampled; probabilities of edges, paths and their errors are averages of these over the tables
    of several chains. Everything else comes from DAGs drawn for each table, and what depends on
    parameters from these DAGs with the table that they were drawn for. ``holes`` has the table.
    """

    step_noun = "completed table"

    def __init__(
        self,
        info: RunInfo,
        names: tuple[str, ...],
        parent_sets: ParentSets,
        records: Sequence[ChainRecord],
        *,
        holes: Holes,
        **more: Any,
    ) -> None:
        super().__init__(info, names, parent_sets, records, **more)
        self.holes = holes

    def _agreement(self) -> Assessment:
        return assess_augmented(self.records, self.names, self.parent_sets)

    def _on_exact(self) -> str:
        return ""

    @property
    def on_candidates(self) -> None:
        """None: there are no sets outside the candidates."""
        return None

    def _on_candidates(self) -> str:
        """What the verdict says about sets not admitted, and chains that stay where they are."""
        if self.info.method != SAMPLED_TABLES:
            return ""
        words = ""
        missing, changes = self.missing_mass, self.missing_change
        is_limited = self.parent_sets.are_narrow or (missing is not None and missing.max() > 0)
        if is_limited and missing is not None and changes is not None:
            few, many = int(self._candidate_numbers.min()), int(self._candidate_numbers.max())
            words = (
                f" Completed tables were sampled with {few if few == many else f'{few} to {many}'} "
                "candidates of each node, which the first of them have suggested, and no larger "
                "sets of them than were needed; all other parent sets, by an estimate from the "
                f"draws, would have at most {missing.max():.1g} of the posterior of any variable "
                f"and change no edge by more than {changes.max():.1g}."
            )
        return (
            f"{words} There were no hot replicas: that chains begun at different tables agree is "
            "the only sign that they missed nothing."
        )

    @property
    def missing_shares(self) -> pd.DataFrame:
        """The share of each edge's uncertainty that missing values cause, [parent, child].

        By the law of total variance: that of its probability between completed tables, over
        p (1 - p). It is 0 for an edge that is certain.
        """
        squares = spread_edges(self.holes.squares, self.candidates).mean(axis=0)
        edges = self._edges()
        total = edges * (1.0 - edges)
        between = np.clip(squares - edges**2, 0.0, total)
        shares = np.divide(between, total, out=np.zeros_like(total), where=total > 1e-12)
        return name_matrix(shares, self.names, "parent", "child")

    @property
    def n_completed(self) -> int:
        """How many completed tables were kept."""
        return int(self.holes.tables.shape[0] * self.holes.tables.shape[1])

    def completed(self, k: int = 0) -> pd.DataFrame:
        """The k-th of the completed tables that were kept, of ``n_completed``, as a data frame.

        They are draws of what the missing values may have been; neighbours come from different
        chains.
        """
        if not is_whole(k) or not 0 <= k < self.n_completed:
            raise OptionError(
                f"completed tables are numbered from 0 to {self.n_completed - 1}, not "
                f"{in_brief(k)}."
            )
        n_chains = len(self.holes.tables)
        return self.holes.complete(k % n_chains, k // n_chains).to_frame()

    def _places(self, n_tables: int) -> Iterator[tuple[int, int]]:
        """Chain and place of at most ``n_tables`` of the kept tables, spread evenly."""
        n_chains, n_kept = self.holes.tables.shape[:2]
        per_chain = min(n_kept, max(1, n_tables // n_chains))
        chosen = np.unique(np.linspace(0, n_kept - 1, per_chain).round().astype(np.intp))
        yield from ((chain, int(place)) for chain in range(n_chains) for place in chosen)

    def _model_of(self, table: Dataset) -> NetworkModel:
        found = NetworkModel.from_score(self.holes.score, table, self.holes.data)
        assert found is not None
        return found

    def _components(self) -> list[Component]:
        return self._table_components

    @cached_property
    def _table_components(self) -> list[Component]:
        """The models of some completed tables, each with the DAGs drawn for it."""
        found: list[Component] = []
        for chain, place in self._places(MOST_TABLES):
            record = self.records[chain]
            n_draws = record.n_draws // record.n_steps
            first = int(self.holes.numbers[place]) * n_draws
            part = slice(first, first + n_draws)
            dags = self.parent_sets.adjacencies(record.codes[part])[None]
            draws = Draws.from_arrays(dags, record.log_score[part][None])
            graphs = WeightedGraphs.from_draws(draws)
            found.append((self._model_of(self.holes.complete(chain, place)), graphs))
        return found

    @takes(dag=DAG)
    def parameters(self, dag: Dag | None = None) -> dict[str, pd.DataFrame]:
        """What the data say about the parameters of a DAG, the most probable one by default.

        The tables are those of :meth:`Posterior.parameters`, averaged over completed tables in
        which the missing cells were drawn given this DAG. Standard deviations have the spread
        between tables in them.
        """
        from outpoint.posterior.parameters import average_parameters

        chosen = (self.map_dag if dag is None else dag).reorder(self.names)
        cells = make_cells(self.holes.data, self.holes.score)
        rng = np.random.default_rng(named_seed(self.info.seed, "parameters"))
        models = []
        for chain, place in self._places(GIVEN_TABLES):
            values = cells.filled(self.holes.tables[chain, place])
            for _ in range(GIVEN_SWEEPS):
                cells.redraw(values, chosen.adjacency, rng)
            tables = replace(self.holes, tables=cells.drawn(values)[None, None])
            models.append(self._model_of(tables.complete(0, 0)))
        return average_parameters(models, chosen)

    def _ancestors(self) -> Floats:
        return np.clip(self.holes.ancestors.mean(axis=0), 0.0, 1.0)

    def _known(self, feature: Feature | FeatureFunction) -> float | None:
        if isinstance(feature, Path):
            return float(self._ancestors()[feature.source, feature.target])
        return super()._known(feature)

    def _estimate(self, feature: Feature | FeatureFunction, graphs: WeightedGraphs) -> Estimate:
        """The estimate from draws; its value is the average over tables if that is known."""
        found, value = super()._estimate(feature, graphs), self._known(feature)
        return found if value is None else replace(found, value=value)

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, {self.info.n_observations} "
            f"observations, {count_of(len(self.holes.cells), 'missing cell')}, "
            f"score {self.info.score}, "
            f"{self.n_chains} chains of {self.steps_per_chain:,} completed tables)"
        )
