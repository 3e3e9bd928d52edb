"""The posterior of a table with missing values, averaged over completed tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.data import Data, Dataset, load_dataset
from outpoint.errors import OptionError
from outpoint.kinds import in_brief
from outpoint.mcmc.trace import spread_edges
from outpoint.posterior.assessment import last_batches
from outpoint.posterior.convergence import Assessment, assess
from outpoint.posterior.features import Feature, FeatureFunction, Path
from outpoint.posterior.frames import name_matrix
from outpoint.posterior.info import RunInfo
from outpoint.posterior.sampled import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import ParentSets
from outpoint.whole_numbers import is_whole

if TYPE_CHECKING:
    import pandas as pd

METHOD = "augment"
"""How posteriors of tables with holes are named."""


@dataclass(frozen=True)
class Holes:
    """The missing cells and what was drawn for them.

    ``cells`` are their (row, column), ``tables`` (chain, table, cell) the drawn values or level
    codes of some completed tables. ``squares`` (chain, node, candidate) are the means of the
    squared probabilities of edges over all tables, ``ancestors`` (chain, ancestor, descendant) of
    those of ancestors.
    """

    cells: NDArray[np.int32]
    tables: Floats
    squares: Floats
    ancestors: Floats


def assess_augmented(
    records: Sequence[ChainRecord], names: Sequence[str], parent_sets: ParentSets
) -> Assessment:
    """Judge chains over completed tables; the series of an edge are its exact probabilities."""
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

    Every completed table has its exact posterior; probabilities of edges, paths and their errors
    are averages of these over the tables of several chains, everything else comes from DAGs drawn
    for each of them. ``data`` is the table with its holes, None where only a file was read.
    """

    def __init__(
        self,
        info: RunInfo,
        names: tuple[str, ...],
        parent_sets: ParentSets,
        records: Sequence[ChainRecord],
        *,
        holes: Holes,
        data: Dataset | None = None,
        **more: Any,
    ) -> None:
        super().__init__(info, names, parent_sets, records, **more)
        self.holes = holes
        self.data = data

    @cached_property
    def assessment(self) -> Assessment:
        """The verdict in numbers: R-hat, effective draws, agreement between the chains."""
        return assess_augmented(self.records, self.names, self.parent_sets)

    def _on_exact(self) -> str:
        return ""

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

    def completed(self, k: int = 0, *, data: Data | None = None) -> pd.DataFrame:
        """The k-th of the completed tables that were kept, of ``n_completed``, as a data frame.

        A posterior that was read from a file takes the table from where it was read before;
        ``data`` gives it where that is not known.
        """
        if not is_whole(k) or not 0 <= k < self.n_completed:
            raise OptionError(
                f"completed tables are numbered from 0 to {self.n_completed - 1}, not "
                f"{in_brief(k)}."
            )
        table = self._table(data)
        values = table.values.copy()
        rows, columns = self.holes.cells.T
        n_chains = len(self.holes.tables)
        values[rows, columns] = self.holes.tables[k % n_chains, k // n_chains]
        return replace(table, values=values, reading=None).to_frame()

    def _table(self, data: Data | None) -> Dataset:
        """The table with its holes, from where it can be had; it must be the one of the run."""
        found = self.data
        if data is not None:
            found = load_dataset(data, **{**(self.info.reading or {}), "missing": "augment"})
        elif found is None and self.info.path is not None and self.info.reading is not None:
            found = load_dataset(self.info.path, **self.info.reading)
        if found is None:
            raise OptionError("the table is not at hand: give it with data=.")
        if found.fingerprint() != self.info.fingerprint:
            raise OptionError("these data are not those that the posterior was computed from.")
        return found

    def _ancestors(self) -> Floats:
        return np.clip(self.holes.ancestors.mean(axis=0), 0.0, 1.0)

    def _known(self, feature: Feature | FeatureFunction) -> float | None:
        if isinstance(feature, Path):
            return float(self._ancestors()[feature.source, feature.target])
        return super()._known(feature)

    def __repr__(self) -> str:
        return (
            f"Posterior({self.method}, {len(self.names)} nodes, {self.info.n_observations} "
            f"observations, {len(self.holes.cells)} missing cells, score {self.info.score}, "
            f"{self.n_chains} chains of {self.steps_per_chain:,} completed tables)"
        )
