"""Score tables with known content, and the plain sums they are compared with."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.mcmc.sums import INSIDE
from outpoint.scores import CustomScore, Knowledge, build_prior
from outpoint.tables import ScoreTable, build_table
from outpoint.tables.view import TableView, view_table
from tests.reference import log_sum_exp, subsets
from tests.tables import compiled


def node_names(n: int) -> tuple[str, ...]:
    return tuple(f"v{i}" for i in range(n))


class Sums:
    """The samplers' sums and draws over the parent sets of a table, asked with sets of nodes."""

    LEVEL = 2

    def __init__(self, table: ScoreTable) -> None:
        self.table = table

    @cached_property
    def view(self) -> TableView:
        return view_table(self.table)

    def layers(
        self, child: int, allowed: Iterable[int], required: Iterable[int] = ()
    ) -> NDArray[np.int64]:
        """Layer 1 for the required nodes that are allowed, 0 for the other allowed ones."""
        layer = np.full(self.table.n_nodes, self.LEVEL, dtype=np.int64)
        layer[list(allowed)] = 0
        for u in required:
            if layer[u] == 0:
                layer[u] = 1
        layer[child] = self.LEVEL
        return layer

    def log_sum(self, child: int, allowed: Iterable[int]) -> float:
        """Over all sets within ``allowed``."""
        return float(
            compiled.log_sum_any(self.view, child, self.layers(child, allowed), self.LEVEL)
        )

    def log_tabulated(self, child: int, member: int, allowed: Iterable[int]) -> float:
        """Over inside and near sets within ``allowed`` that contain ``member``, if it is not -1."""
        layer = self.layers(child, allowed)
        return float(compiled.log_tabulated(self.view, child, member, layer, self.LEVEL))

    def is_tabulated(self, child: int, parents: Iterable[int]) -> bool:
        """Whether a set is inside or near."""
        return len(set(parents) - set(self.table.candidates_of(child).tolist())) <= 1

    def log_tau(self, child: int, allowed: Iterable[int], required: Iterable[int]) -> float:
        """Over the sets within ``allowed`` that meet ``required``: summed, or held one by one."""
        layer = self.layers(child, allowed, required)
        held = range(*self.view.outside.start[child : child + 2])
        return log_sum_exp(
            compiled.log_tau(self.view, child, layer, self.LEVEL, place)
            for place in (INSIDE, *held)
        )

    def draw(self, child: int, allowed: Iterable[int], rng: np.random.Generator) -> tuple[int, ...]:
        """A set within ``allowed``."""
        layer = self.layers(child, allowed)
        total = compiled.log_sum_any(self.view, child, layer, self.LEVEL)
        code = compiled.sample_any(self.view, child, layer, self.LEVEL, total, rng)
        return self.table.parent_sets.members_of(child, int(code))

    def draw_tabulated(
        self, child: int, member: int, allowed: Iterable[int], rng: np.random.Generator
    ) -> tuple[int, ...]:
        """An inside or near set within ``allowed`` that contains ``member``, if it is not -1."""
        layer = self.layers(child, allowed)
        total = compiled.log_tabulated(self.view, child, member, layer, self.LEVEL)
        code = compiled.draw_tabulated(self.view, child, member, layer, self.LEVEL, total, rng)
        return self.table.parent_sets.members_of(child, int(code))

    def draw_meeting(
        self,
        child: int,
        allowed: Iterable[int],
        required: Iterable[int],
        rng: np.random.Generator,
    ) -> tuple[int, ...]:
        """A set of candidates within ``allowed`` that meets ``required``."""
        layer = self.layers(child, allowed, required)
        total = compiled.log_inside(self.view, child, layer, self.LEVEL)
        code = compiled.sample_meeting(self.view, child, layer, self.LEVEL, total, rng)
        return self.table.parent_sets.members_of(child, int(code))


@dataclass(frozen=True)
class KnownTable:
    """A table together with a dictionary of the score, prior included, of every family."""

    table: ScoreTable
    scores: dict[tuple[int, tuple[int, ...]], float]

    @cached_property
    def sums(self) -> Sums:
        return Sums(self.table)

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of a family, -inf for one that is not admissible."""
        return self.scores.get((child, tuple(parents)), -inf)


def random_table(
    n: int,
    max_parents: int,
    n_candidates: int | None = None,
    *,
    spread: float = 1.0,
    seed: int = 0,
    is_pruned: bool = False,
    structure_prior: str = "uniform",
    only_winners: bool = False,
    **knowledge: object,
) -> KnownTable:
    """Independent normal scores with standard deviation ``spread`` for every family."""
    rng = np.random.default_rng(seed)
    names = node_names(n)
    drawn = {
        (v, s): float(rng.normal(scale=spread))
        for v in range(n)
        for s in subsets(set(range(n)) - {v}, max_parents)
    }
    prior = build_prior(
        names,
        structure_prior=structure_prior,
        max_parents=max_parents,
        knowledge=Knowledge(**knowledge),  # type: ignore[arg-type]
    )
    scorer = CustomScore(lambda child, parents: drawn[child, parents]).bind(
        Dataset(names, np.zeros((1, n)))
    )
    table = build_table(
        names,
        scorer,
        prior,
        max_parents=max_parents,
        n_candidates=n_candidates,
        is_pruned=is_pruned,
        only_winners=only_winners,
    )
    scores = {(v, s): score + prior.log_weight(v, s) for (v, s), score in drawn.items()}
    return KnownTable(table, scores)
