"""Which parts are exact beside larger ones, and the problem that is left of these."""

from dataclasses import dataclass

import numpy as np

from outpoint.exact.feasibility import estimate_memory
from outpoint.graphs import Dag
from outpoint.model import MOST_TOGETHER, Model, Problem
from outpoint.options import Options
from outpoint.parts.folding import FoldedScorer
from outpoint.parts.split import Split, can_be_scored, limit_parents

MOST_BESIDE = 20
"""The largest number of variables of a part that is exact beside larger ones."""

WORTH_A_LIMIT = 4
"""Of variables that can have parents, one in this many must become exact to justify fewer
parents."""


@dataclass(frozen=True, eq=False)
class Beside:
    """The parts that are exact, and the scores that all others see.

    ``sizes`` are those of the others, which are sampled or searched together.
    """

    exact: Split
    folded: FoldedScorer
    sizes: tuple[int, ...]

    def problem(self, names: tuple[str, ...]) -> Problem:
        """The problem of the others, with ``names`` of all variables."""
        folded = self.folded
        assert folded.possible_edges is not None
        most = max(1, int(folded.possible_edges.sum(axis=0).max()))
        own = tuple(names[v] for v in folded.nodes)
        return Problem(own, folded, folded.prior_within, min(folded.max_parents, most))


def may_separate(split: Split, asked: Options) -> bool:
    """Whether there are exact parts beside larger ones, and nothing speaks against it.

    A start or lists of candidates that a user gives concern all variables.
    """
    small, large = split.separate(MOST_BESIDE)
    if not small.parts or not len(large):
        return False
    if isinstance(asked.start, Dag) or asked.candidates is not None:
        return False
    limit = asked.memory_limit
    return limit is None or estimate_memory(small.largest) <= limit


def limit_beside(model: Model, split: Split, asked: Options) -> Model | None:
    """The model, with as many parents as can be scored in all parts; None if it stays whole.

    It stays whole if a given limit is too high, and if the usual one would be lowered for the sake
    of a few exact variables.
    """
    if not may_separate(split, asked):
        return None
    if asked.max_parents is not None:
        return model if can_be_scored(split, asked.max_parents) else None
    limited = limit_parents(model, split, None)
    has_parents = split.possible.any(axis=0)
    n_exact = int(np.delete(has_parents, split.separate(MOST_BESIDE)[1]).sum())
    is_worth_it = WORTH_A_LIMIT * n_exact >= has_parents.sum()
    fits_whole = model.data.n_nodes <= MOST_TOGETHER
    if limited.max_parents < model.max_parents and fits_whole and not is_worth_it:
        return None
    return limited


def separate_parts(model: Model, split: Split, *, best: bool = False) -> Beside:
    """The exact parts, and the scores of the others: sums over earlier parents, or the best."""
    small, large = split.separate(MOST_BESIDE)
    folded = FoldedScorer(
        model.scorer, model.prior, large, split.possible, model.max_parents, best=best
    )
    sizes = tuple(size for size in split.sizes if size > MOST_BESIDE)
    return Beside(small, folded, sizes)
