"""A chain over completed tables: scores of the table, a DAG, then the missing cells.

Each step takes a completed table to its posterior over DAGs, by an engine that either sums over all
DAGs or takes steps that keep that posterior, from the DAG before. The DAG that goes on is a draw of
it, and the cells are drawn given that DAG, in several sweeps; both draws keep the joint
distribution of DAG and cells given what was observed (Tanner & Wong 1987). What is recorded of a
table is the probability of every edge, not only the DAGs that were drawn.

Formulas: docs/math.md#missing-values.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import require
from outpoint.mcmc.restoring import read_generator
from outpoint.missing.cells import Cells
from outpoint.missing.exclusion import Exclusion
from outpoint.scores import FamilyScorer

SWEEPS = 3
"""How often all missing cells are drawn before a table is solved again."""

KEPT_TABLES = 64
"""Most completed tables of a chain that are kept, and at least half as many of a long one."""

LOOK_EVERY = 4
"""Recorded tables from one around whose DAG is looked for what is excluded to the next."""


class Solved(NamedTuple):
    """What is taken from the posterior of a completed table.

    ``edges`` and ``ancestors`` are probabilities; ``dags`` (draw, parent, child) are draws with
    their ``log_scores``, of which the last goes on; ``best`` is the best DAG, with
    ``best_log_score``. ``look`` tells what is excluded around the last draw, if anything is.
    """

    edges: Floats
    ancestors: Floats
    dags: Booleans
    log_scores: Floats
    best: Booleans
    best_log_score: float
    look: Callable[[], Exclusion] | None = None


class Engine(Protocol):
    """Takes a completed table, by its scores, to its posterior."""

    def solve(self, scorer: FamilyScorer, dag: Booleans, seed: int) -> Solved:
        """The posterior; draws depend on the seed and, if they are not exact, on the last DAG."""


class AugmentedChain:
    """DAGs and completed tables, one after the other; the first ``n_warmup`` are not recorded.

    It begins at the table ``values`` and the DAG ``dag``, or at a table drawn from the columns.
    """

    def __init__(
        self,
        cells: Cells,
        engine: Engine,
        n_warmup: int,
        seed: np.random.SeedSequence,
        dag: Booleans | None = None,
        values: Floats | None = None,
    ) -> None:
        n = cells.data.n_nodes
        self._cells = cells
        self._engine = engine
        self._rng = np.random.default_rng(seed)
        self.n_warmup = n_warmup
        self._values = cells.start(self._rng) if values is None else values
        self._dag: Booleans = np.zeros((n, n), dtype=np.bool_) if dag is None else dag
        self._spacing = 1
        self.step = 0
        self.first: Booleans | None = None
        self.edges: list[Floats] = []
        self.dags: list[Booleans] = []
        self.log_scores: list[Floats] = []
        self.best: list[tuple[bytes, float]] = []
        self.tables: list[Floats] = []
        self.ancestors = np.zeros((n, n))
        self.excluded = Exclusion.none(n)

    @property
    def n_steps(self) -> int:
        """Number of recorded tables."""
        return len(self.edges)

    @property
    def state(self) -> tuple[Booleans, Floats]:
        """The last DAG, and the table that was completed given it."""
        return self._dag.copy(), self._values.copy()

    @property
    def spacing(self) -> int:
        """Recorded tables from one that is kept to the next."""
        return self._spacing

    def advance(self, n_tables: int) -> None:
        """Go on by ``n_tables`` completed tables."""
        self.advance_to(self.step + n_tables)

    def advance_to(self, target: int, is_stopped: Callable[[], bool] = lambda: False) -> None:
        """Go on until ``target`` tables have been solved, or until it is stopped."""
        while self.step < target and not is_stopped():
            self._advance()

    def _advance(self) -> None:
        """Solve the table, record what it says, and complete it anew."""
        scorer = self._cells.scorer(self._values)
        solved = self._engine.solve(scorer, self._dag, int(self._rng.integers(2**63)))
        if self.first is None:
            self.first = solved.dags[0]
        if self.step >= self.n_warmup:
            self._record(solved)
        self._dag = solved.dags[-1]
        for _ in range(SWEEPS):
            self._cells.redraw(self._values, self._dag, self._rng)
        self.step += 1

    def _record(self, solved: Solved) -> None:
        if len(self.edges) % self._spacing == 0:
            self.tables.append(self._cells.drawn(self._values))
            if len(self.tables) == KEPT_TABLES:
                self.tables = self.tables[::2]
                self._spacing *= 2
        if solved.look is not None and len(self.edges) % LOOK_EVERY == 0:
            self.excluded += solved.look()
        self.edges.append(solved.edges)
        self.dags.append(solved.dags)
        self.log_scores.append(solved.log_scores)
        self.best.append((np.packbits(solved.best).tobytes(), solved.best_log_score))
        self.ancestors += solved.ancestors

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that ``restore`` needs to go on bit for bit."""
        n = len(self._dag)
        n_bytes = -(-n * n // 8)
        generator = json.dumps(self._rng.bit_generator.state).encode()
        packed = [np.frombuffer(one, dtype=np.uint8) for one, _ in self.best]
        n_draws = len(self.dags[0]) if self.dags else 0
        cells = self._values[self._cells.missing]
        first = np.zeros((0, n, n), dtype=np.bool_) if self.first is None else self.first[None]
        return {
            "counters": np.array([self.step, self._spacing, self.n_warmup, self.excluded.n_looks]),
            "generator": np.frombuffer(generator, dtype=np.uint8).copy(),
            "cells": cells,
            "dag": self._dag,
            "first": first,
            "edges": np.array(self.edges).reshape(len(self.edges), n, n),
            "dags": np.array(self.dags, dtype=np.bool_).reshape(len(self.dags), n_draws, n, n),
            "log_scores": np.array(self.log_scores).reshape(len(self.dags), n_draws),
            "best": np.array(packed, dtype=np.uint8).reshape(len(packed), n_bytes),
            "best_log_scores": np.array([score for _, score in self.best]),
            "tables": np.array(self.tables).reshape(len(self.tables), len(cells)),
            "ancestors": self.ancestors,
            "excluded_edges": self.excluded.edges,
            "excluded": np.stack([self.excluded.mass, self.excluded.larger]),
        }

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of a chain on the same table.

        It may be damaged or forged: a ValueError says what no chain can have left.
        """
        before = self.snapshot()
        for name, own in before.items():
            given = snapshot[name]
            require(given.dtype == own.dtype and given.ndim == own.ndim, f"{name} has a wrong type")
            require(
                own.dtype.kind != "f" or bool(np.isfinite(given).all()), f"{name} is not a number"
            )
        excluded = "excluded_edges", "excluded"
        for name in ("counters", "cells", "dag", "ancestors", *excluded):
            require(snapshot[name].shape == before[name].shape, f"{name} has another size")
        self.step, self._spacing, self.n_warmup, n_looks = snapshot["counters"].tolist()
        require(min(self.step, self.n_warmup) >= 0 and self._spacing >= 1, "its counters are wrong")
        require(0 <= n_looks <= self.step, "its counters are wrong")
        n_recorded = max(0, self.step - self.n_warmup)
        n = len(self._dag)
        n_draws = snapshot["dags"].shape[1]
        shapes = {
            "first": (min(self.step, 1), n, n),
            "edges": (n_recorded, n, n),
            "dags": (n_recorded, n_draws, n, n),
            "log_scores": (n_recorded, n_draws),
            "best": (n_recorded, before["best"].shape[1]),
            "best_log_scores": (n_recorded,),
            "tables": (-(-n_recorded // self._spacing), before["tables"].shape[1]),
        }
        for name, shape in shapes.items():
            require(snapshot[name].shape == shape, f"{name} has another size")
        self._values[self._cells.missing] = self._cells.checked(snapshot["cells"])
        self._dag = snapshot["dag"]
        self.first = snapshot["first"][0] if len(snapshot["first"]) else None
        for name in ("edges", "dags", "log_scores", "tables"):
            setattr(self, name, list(snapshot[name]))
        scores = snapshot["best_log_scores"].tolist()
        self.best = [(one.tobytes(), s) for one, s in zip(snapshot["best"], scores, strict=True)]
        self.ancestors = snapshot["ancestors"].copy()
        self.excluded = Exclusion(
            snapshot["excluded_edges"].copy(),
            snapshot["excluded"][0].copy(),
            snapshot["excluded"][1].copy(),
            n_looks,
        )
        own_state = self._rng.bit_generator.state
        self._rng.bit_generator.state = read_generator(snapshot["generator"], own_state)
