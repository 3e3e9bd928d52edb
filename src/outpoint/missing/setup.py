"""Where chains over completed tables begin, and what they do: the same for whoever runs them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.missing.cells import Cells
from outpoint.missing.chain import AugmentedChain, Engine
from outpoint.missing.engines import ExactTables, SampledTables
from outpoint.missing.models import make_cells
from outpoint.missing.rescoring import CandidateScores
from outpoint.model import Model
from outpoint.parts import Split


class Beginning(NamedTuple):
    """Where chains begin: candidates, and the DAG and table of each; none if tables are solved.

    ``n_tables`` is the number of tables that have suggested the candidates.
    """

    candidates: NDArray[np.int32]
    dags: list[Booleans]
    tables: list[Floats]
    n_tables: int


@dataclass(frozen=True)
class Setup:
    """All that makes the chains of a run, except for how far they are."""

    model: Model
    split: Split
    is_exact: bool
    begin: Beginning
    n_warmup: int
    seeds: tuple[np.random.SeedSequence, ...]

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.seeds)

    def make_chains(self, *numbers: int) -> list[AugmentedChain]:
        """Chains by their numbers, at their beginnings."""
        cells = make_cells(self.model.data, self.model.score)
        engine = self._make_engine(cells)
        dags, tables = self.begin.dags, self.begin.tables
        return [
            AugmentedChain(
                cells,
                engine,
                self.n_warmup,
                self.seeds[i],
                dags[i % len(dags)] if dags else self.model.prior.required,
                tables[i % len(tables)].copy() if tables else None,
            )
            for i in numbers
        ]

    def _make_engine(self, cells: Cells) -> Engine:
        if self.is_exact:
            return ExactTables(self.model, self.split)
        scores = CandidateScores(
            self.model.data.names,
            self.begin.candidates,
            self.model.prior,
            self.model.max_parents,
            np.asarray(cells.missing.any(axis=0)),
            cells.scorer(cells.start(np.random.default_rng(0))),
        )
        return SampledTables(scores)
