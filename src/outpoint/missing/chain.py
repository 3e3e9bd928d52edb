"""A chain over completed tables: scores of the table, a DAG, then the missing cells.

Each step solves the completed table exactly. The DAG that goes on is drawn from its posterior, and
the cells are drawn given that DAG, in several sweeps; both draws keep the joint distribution of DAG
and cells given what was observed (Tanner & Wong 1987). What is recorded of a table is the
probability of every edge, not only the DAGs that were drawn.

Formulas: docs/math.md#missing-values.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.missing.cells import Cells
from outpoint.scores import FamilyScorer

SWEEPS = 3
"""How often all missing cells are drawn before a table is solved again."""

KEPT_TABLES = 64
"""Most completed tables of a chain that are kept, and at least half as many of a long one."""


class Solved(NamedTuple):
    """What is taken from the exact posterior of a completed table.

    ``edges`` and ``ancestors`` are probabilities; ``dags`` (draw, parent, child) are draws with
    their ``log_scores``; ``best`` is the best DAG, with ``best_log_score``.
    """

    edges: Floats
    ancestors: Floats
    dags: Booleans
    log_scores: Floats
    best: Booleans
    best_log_score: float


CompletedTable = Callable[[FamilyScorer, int], Solved]
"""Solves the table that a scorer has scored; draws depend on the seed alone."""


class AugmentedChain:
    """DAGs and completed tables, one after the other; the first ``n_warmup`` are not recorded."""

    def __init__(
        self, cells: Cells, solve: CompletedTable, n_warmup: int, seed: np.random.SeedSequence
    ) -> None:
        self._cells = cells
        self._solve = solve
        self._rng = np.random.default_rng(seed)
        self._n_warmup = n_warmup
        self._values = cells.start(self._rng)
        self._spacing = 1
        self.step = 0
        self.first: Booleans | None = None
        self.edges: list[Floats] = []
        self.dags: list[Booleans] = []
        self.log_scores: list[Floats] = []
        self.best: list[tuple[bytes, float]] = []
        self.tables: list[Floats] = []
        self.ancestors = np.zeros((cells.data.n_nodes, cells.data.n_nodes))

    @property
    def n_steps(self) -> int:
        """Recorded tables."""
        return len(self.edges)

    def advance(self, n_tables: int) -> None:
        """Go on by so many completed tables."""
        for _ in range(n_tables):
            self._advance()

    def _advance(self) -> None:
        """Solve the table, record what it says, and complete it anew."""
        scorer = self._cells.scorer(self._values)
        solved = self._solve(scorer, int(self._rng.integers(2**63)))
        if self.first is None:
            self.first = solved.dags[0]
        self.step += 1
        if self.step > self._n_warmup:
            self._record(solved)
        for _ in range(SWEEPS):
            self._cells.redraw(self._values, solved.dags[0], self._rng)

    def _record(self, solved: Solved) -> None:
        if len(self.edges) % self._spacing == 0:
            self.tables.append(self._cells.drawn(self._values))
            if len(self.tables) == KEPT_TABLES:
                self.tables = self.tables[::2]
                self._spacing *= 2
        self.edges.append(solved.edges)
        self.dags.append(solved.dags)
        self.log_scores.append(solved.log_scores)
        self.best.append((np.packbits(solved.best).tobytes(), solved.best_log_score))
        self.ancestors += solved.ancestors
