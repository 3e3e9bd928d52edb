"""From a score and a prior to the table of all families.

The prior alone gives a table, too: what its weights add up to makes evidences comparable.
"""

from concurrent.futures import Executor
from fractions import Fraction
from math import comb, exp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.errors import OptionError, TooLargeError
from outpoint.graphs.counting import log_weight_of_dags
from outpoint.kinds import is_whole
from outpoint.naming import named
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.scores.base import Scores, count_subsets
from outpoint.tables.dense import add_larger_sets, fill_dense
from outpoint.tables.outside import LargerSets, OwnSets, list_outside, no_outside, score_larger
from outpoint.tables.pruning import Candidates, choose_candidates, rank_needed
from outpoint.tables.table import ScoreTable


def prior_table(table: ScoreTable, prior: StructurePrior) -> ScoreTable:
    """The log prior weights of all families that have a score in a complete table."""
    n, size = table.n_nodes, table.max_parents
    families = np.zeros((n, count_subsets(n - 1, size)))
    prior.add_to(families, size)
    dense = fill_dense(families, size, table.candidates)
    dense.values[np.isneginf(table.dense.values)] = -np.inf
    return ScoreTable(table.names, size, table.candidates, dense, no_outside(n))


def log_sum_by_size(table: ScoreTable, prior: StructurePrior) -> float | None:
    """Log of the sum of the prior weights of all DAGs if a family's depends on its size alone.

    None if it does not, or if the score excludes families.
    """
    n, most = table.n_nodes, table.max_parents
    odds = prior.edge_log_weight[~np.eye(n, dtype=np.bool_)]
    n_scored = n * count_subsets(n - 1, most)
    is_alike = not prior.required.any() and np.isfinite(odds).all() and (odds == odds[:1]).all()
    if not is_alike or np.isfinite(table.dense.values).sum() != n_scored:
        return None
    factor = Fraction(exp(odds[0])) if n > 1 else Fraction(1)
    return log_weight_of_dags(
        [
            Fraction(exp(prior.size_log_weight[k])) * factor**k if k <= most else Fraction(0)
            for k in range(n)
        ]
    )


ALL_CANDIDATES = 20
"""The largest number of nodes with which every node is a candidate parent of every other."""

USUAL_CANDIDATES = 10
"""Candidate parents per node beyond that, for nodes that need no more."""

MOST_NEEDED = 20
"""Candidates of a node that needs many, if there is room."""

MAX_CANDIDATES = 28

MAX_FAMILIES = 50_000_000
"""Most families that are scored one by one."""

USUAL_FAMILIES = 1_500_000
"""Most families of more than 3 parents that are scored one by one.

Larger sets have at most one member outside the candidates.
"""

MAX_TABLE_BYTES = 2**31
"""Room for all tables of sums over candidates, see :func:`table_bytes`."""


def default_max_parents(
    n_nodes: int, affordable: int = FamilyScorer.affordable, n_candidates: int = USUAL_CANDIDATES
) -> int:
    """The default limit: none up to 20 nodes; beyond, what can be scored in seconds, at least 3.

    Larger sets with one member outside the candidates are at most ``affordable``.
    """
    if n_nodes <= ALL_CANDIDATES:
        return n_nodes - 1
    scored = scored_parents(n_nodes, n_nodes - 1)
    n_candidates = min(max(n_candidates, USUAL_CANDIDATES), n_nodes - 1)
    limit, n_larger = max(scored, 3), 0
    while limit < USUAL_CANDIDATES:
        n_larger += n_nodes * (n_nodes - 1 - n_candidates) * comb(n_candidates, limit)
        if n_larger > affordable:
            break
        limit += 1
    return limit


def scored_parents(n_nodes: int, max_parents: int, *, is_complete: bool = False) -> int:
    """The size up to which all sets are scored, whether they leave the candidates or not."""
    if is_complete:
        return max_parents
    size = min(1, max_parents)
    while size < max_parents and n_nodes * count_subsets(n_nodes - 1, size + 1) <= (
        MAX_FAMILIES if size < 3 else USUAL_FAMILIES
    ):
        size += 1
    return size


def check_max_parents(
    n_nodes: int,
    max_parents: Any,
    affordable: int = FamilyScorer.affordable,
    n_candidates: Any = None,
) -> int:
    """The limit to use, or a refusal."""
    if max_parents is None:
        known = n_candidates if is_whole(n_candidates) else USUAL_CANDIDATES
        return default_max_parents(n_nodes, affordable, known)
    if not is_whole(max_parents):
        raise OptionError(f"{named('max_parents')} must be a whole number, not {max_parents!r}.")
    if not 1 <= max_parents <= n_nodes - 1:
        raise OptionError(
            f"{named('max_parents')} must be from 1 to {n_nodes - 1} for {n_nodes} variables, "
            f"not {max_parents}."
        )
    return int(max_parents)


def table_bytes(n_nodes: int, n_candidates: int, max_parents: int) -> int:
    """Memory of all tables that samplers read, outside sets excepted.

    Scores, their sums and maxima by mask; sums by mask and member; ranked masks, all and by member.
    """
    masks = 2**n_candidates
    ranked = count_subsets(n_candidates, min(max_parents, n_candidates))
    by_member = sum(k * comb(n_candidates, k) for k in range(min(max_parents, n_candidates) + 1))
    per_node = 3 * 8 * masks + 8 * n_candidates * masks // 2 + 4 * ranked + 4 * by_member
    return n_nodes * per_node


def default_candidates(n_nodes: int, max_parents: int) -> int:
    """How many candidates each node has: all others where tables over them fit, otherwise fewer."""
    n_candidates = n_nodes - 1 if n_nodes <= ALL_CANDIDATES else USUAL_CANDIDATES
    while n_candidates > 1 and table_bytes(n_nodes, n_candidates, max_parents) > MAX_TABLE_BYTES:
        n_candidates -= 1
    return n_candidates


def share_candidates(
    usual: int,
    per_use: Floats,
    unused: Floats,
    used: NDArray[np.int64],
    max_parents: int,
    affordable: int,
    enough: float,
) -> NDArray[np.int64]:
    """The number of candidates of each node: more than ``usual`` where they are needed most.

    ``unused[v, k]`` is the use of the parents that are left out if v has k candidates. What the
    table then lacks has two members from outside, so that the need of v is ``per_use[v]`` times the
    square of that; sets with more are not in it, so that needy nodes get the ``used[v]`` parents
    that they use clearly in any case. The neediest node gets one more until no need is above
    ``enough``. Tables of sums have ``MAX_TABLE_BYTES`` together, and at most ``affordable``
    families are scored for nodes with more than the usual number.
    """
    n = len(per_use)
    nodes = np.arange(n)
    scored = scored_parents(n, max_parents)
    most = min(MOST_NEEDED, n - 1)

    def costs(number: int) -> NDArray[np.int64]:
        inside = count_subsets(number, max_parents) - count_subsets(number, scored)
        outer = count_subsets(number, max_parents - 1) - count_subsets(number, scored - 1)
        n_sets = inside + (n - 1 - number) * outer
        return np.array([table_bytes(1, number, max_parents), n_sets * (number > USUAL_CANDIDATES)])

    of_number = np.array([costs(number) for number in range(max(most, usual) + 1)])
    out = np.full(n, usual)
    left = np.array([MAX_TABLE_BYTES, affordable]) - of_number[out].sum(axis=0)
    can_grow = out < most
    is_needy = per_use * unused[nodes, out] ** 2 > enough
    while True:
        needs = per_use * unused[nodes, out] ** 2
        wants = can_grow & (needs > enough) | can_grow & is_needy & (out < used)
        if not wants.any():
            return out
        node = int(np.argmax(np.where(wants, needs, -1.0)))
        more = of_number[out[node] + 1] - of_number[out[node]]
        if (more > left).any():
            can_grow[node] = False
            continue
        left -= more
        out[node] += 1
        can_grow[node] = out[node] < most


class Families(NamedTuple):
    """All parent sets of at most ``scored_parents`` nodes, scored, prior included.

    ``needed`` ranks parents by these scores, see :func:`~outpoint.tables.pruning.rank_needed`;
    it is empty for a complete table.
    """

    scores: Scores
    scored_parents: int
    needed: Scores

    def are_for(self, n_nodes: int, max_parents: int, *, is_complete: bool) -> bool:
        """Whether these are all families of such a problem, by their number."""
        size = scored_parents(n_nodes, max_parents, is_complete=is_complete)
        n_needed = 0 if is_complete else n_nodes
        return (
            self.scored_parents == size
            and self.scores.shape == (n_nodes, count_subsets(n_nodes - 1, size))
            and self.needed.shape == (n_needed, n_needed)
            and self.scores.dtype == self.needed.dtype == np.float64
        )


def score_families(
    scorer: FamilyScorer,
    prior: StructurePrior,
    *,
    max_parents: int,
    is_complete: bool,
    pool: Executor | None = None,
) -> Families:
    """Score every admissible family, by the workers of ``pool`` if there is one.

    Where there would be too many, the size of the sets is limited further, unless the table is to
    be complete.
    """
    n = scorer.n_nodes
    size = scored_parents(n, max_parents, is_complete=is_complete)
    if not is_complete and n * comb(n - 1, size) > MAX_FAMILIES:
        raise TooLargeError(f"{n} variables are too many for a table of single parents.")
    scores = scorer.every_family(size, pool)
    prior.add_to(scores, size)
    needed = np.zeros((0, 0)) if is_complete else rank_needed(scores, size)
    return Families(scores, size, needed)


def check_n_candidates(n_candidates: int, prior: StructurePrior) -> None:
    """Refuse impossible numbers of candidates."""
    if n_candidates < 0:
        raise OptionError(f"{named('n_candidates')} must not be negative, but is {n_candidates}.")
    if n_candidates > MAX_CANDIDATES:
        raise TooLargeError(
            f"a dense table over {n_candidates} candidate parents does not fit; "
            f"use at most {MAX_CANDIDATES}."
        )
    max_required = int(prior.required.sum(axis=0).max())
    if max_required > n_candidates:
        raise OptionError(
            f"a node has {max_required} required parents, more than the {n_candidates} candidates."
        )


def assemble_table(
    names: tuple[str, ...],
    families: Families,
    scorer: FamilyScorer,
    prior: StructurePrior,
    candidates: Candidates,
    max_parents: int,
    *,
    is_pruned: bool = True,
    only_winners: bool = False,
    known: dict[int, OwnSets] | None = None,
) -> ScoreTable:
    """The table over these candidates, with the sets outside them.

    With ``only_winners`` it lists, of the sets outside, only those that can be in a best DAG:
    enough for a search, and far fewer. ``known`` keeps the lists of sets from one table to the
    next, for nodes whose candidates stay.
    """
    scored = families.scored_parents
    n_candidates = candidates.shape[1]
    dense = fill_dense(families.scores, scored, candidates)
    if scored < max_parents:
        sizes = range(scored + 1, min(max_parents, n_candidates) + 1)
        add_larger_sets(dense, candidates, scorer, prior, sizes)
    table = ScoreTable(names, max_parents, candidates, dense, no_outside(len(names)), 0.0)
    if table.is_complete:
        return table
    larger = None
    sizes = range(scored + 1, min(max_parents, n_candidates + 1) + 1)
    if sizes:

        def larger(child: int) -> LargerSets:
            return score_larger(child, candidates[child], dense[child], scorer, prior, sizes)

    outside, lost = list_outside(
        families.scores,
        scored,
        candidates,
        larger,
        in_threads=scorer.is_for_threads,
        is_pruned=is_pruned,
        only_winners=only_winners,
        known=known,
    )
    return ScoreTable(names, max_parents, candidates, dense, outside, lost)


def build_table(
    names: tuple[str, ...],
    scorer: FamilyScorer,
    prior: StructurePrior,
    *,
    max_parents: int,
    n_candidates: int | None = None,
    is_pruned: bool = True,
    only_winners: bool = False,
    pool: Executor | None = None,
) -> ScoreTable:
    """Score every admissible family, and tabulate them over candidates chosen by the scores."""
    n = len(names)
    if n_candidates is None:
        n_candidates = default_candidates(n, max_parents)
    n_candidates = min(n_candidates, n - 1)
    check_n_candidates(n_candidates, prior)
    families = score_families(
        scorer, prior, max_parents=max_parents, is_complete=n_candidates == n - 1, pool=pool
    )
    candidates = choose_candidates(*families, n_candidates, prior.required)
    return assemble_table(
        names,
        families,
        scorer,
        prior,
        candidates,
        max_parents,
        is_pruned=is_pruned,
        only_winners=only_winners,
    )
