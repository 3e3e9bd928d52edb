"""Where chains over completed tables begin, and what they do: the same for whoever runs them."""

from dataclasses import dataclass

import numpy as np

from outpoint.missing.cells import Cells
from outpoint.missing.chain import AugmentedChain, Engine
from outpoint.missing.engines import ExactTables, SampledTables
from outpoint.missing.models import make_cells
from outpoint.missing.rescoring import CandidateScores
from outpoint.missing.widening import Beginning
from outpoint.model import Model
from outpoint.parts import Split


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
        """Chains by their numbers; those beyond the first tables begin at tables of their own."""
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
                tables[i].copy() if i < len(tables) else None,
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
            self.begin.limits,
            np.asarray(cells.missing.any(axis=0)),
            cells.scorer(cells.start(np.random.default_rng(0))),
        )
        return SampledTables(scores)
