"""How many families the parts of a problem have, and how many parents can be scored."""

from dataclasses import replace

import numpy as np

from outpoint.amounts import count_of
from outpoint.arrays import Booleans
from outpoint.errors import TooLargeError
from outpoint.model import Model
from outpoint.naming import named, option
from outpoint.parts.split import Split
from outpoint.scores.families import count_subsets
from outpoint.tables.build import ALL_CANDIDATES, MAX_FAMILIES, USUAL_FAMILIES

MOST_BY_DEFAULT = 10
"""Most parents beyond 20 variables, unless more are asked for."""


def count_families(possible: Booleans, max_parents: int) -> int:
    """Number of families, of all nodes together."""
    n_parents, n_nodes = np.unique(possible.sum(axis=0), return_counts=True)
    return sum(
        int(count) * count_subsets(int(n), min(int(n), max_parents))
        for n, count in zip(n_parents, n_nodes, strict=True)
    )


def most_parents(possible: Booleans, required: Booleans) -> int:
    """How many parents nodes may have by default.

    There is no limit up to 20 variables. Beyond, all families are scored, up to 50 million with 3
    parents and 1.5 million with more.
    """
    n = len(possible)
    if n <= ALL_CANDIDATES:
        return n - 1
    needed = max(1, int(required.sum(axis=0).max()))
    limit = needed
    while limit < MOST_BY_DEFAULT and count_families(possible, limit + 1) <= (
        MAX_FAMILIES if limit < 3 else USUAL_FAMILIES
    ):
        limit += 1
    return limit


def limit_parents(model: Model, split: Split, given: int | None) -> Model:
    """The model of a problem that is solved by parts, with as many parents as can be scored.

    Nothing is changed if the user has ``given`` a limit, or if there is one part.
    """
    if given is not None or len(split.parts) == 1:
        return model
    limit = most_parents(split.possible, model.prior.required)
    if limit >= split.possible.sum(axis=0).max():
        return replace(model, max_parents=model.data.n_nodes - 1)
    remark = (
        f"at most {count_of(limit, 'parent')}, as more would be too many sets to score; "
        f"{named('max_parents')} changes it"
    )
    return replace(model, max_parents=limit, remarks=(*model.remarks, remark))


def can_be_scored(split: Split, max_parents: int | None) -> bool:
    """Whether the families of all parts can be scored one by one."""
    is_small = len(split.possible) <= ALL_CANDIDATES or len(split.parts) == 1
    if is_small or max_parents is None:
        return True
    return count_families(split.possible, max_parents) <= MAX_FAMILIES


def require_scorable(split: Split, max_parents: int | None) -> None:
    """Refuse more families than can be scored."""
    if max_parents is not None and not can_be_scored(split, max_parents):
        n_families = count_families(split.possible, max_parents)
        raise TooLargeError(
            f"with {max_parents} parents there are {n_families:.1e} families to be scored: allow "
            f"fewer with {named('max_parents')}, or sample with {option('method', 'mcmc')}."
        )
