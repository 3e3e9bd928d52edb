"""What scores ask of data and of their settings, and how they are bound to data.

Columns of the wrong kind are refused, and so are data on which a score is defined but says little,
unless the user insists.

A node is scored by the rows in which it was not set from outside. Where v was set, its value says
nothing about its parents; where a parent was set, it is a value of that parent like any other
(Cooper & Yoo 1999). So the likelihood of v given its parents is the usual one, of fewer rows.
Whatever the score, it is bound once for each set of rows that some nodes have in common, and a node
asks the one that has its rows. Everything that must not depend on the rows, such as units, levels
and priors, is settled before: on all of them.

A score that is the same for Markov equivalent DAGs remains so for those that have, after cutting
the edges into each set of targets, the same skeleton and v-structures (``graphs.validation``): a
covered edge may be turned if its ends were always set together, and then they share their rows.

Formulas: docs/math.md#interventions.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.data.cells import parse_numbers
from outpoint.data.dataset import Kind, describe_holes
from outpoint.data.interventions import sets_of_rows
from outpoint.errors import DataError, OptionError
from outpoint.kinds import in_brief
from outpoint.naming import count_of, enumerate_items, enumerate_names, option
from outpoint.scores.base import FamilyScorer, LocalScore, Nodes, Scores
from outpoint.scores.prior import StructurePrior


def go_on() -> str:
    """The end of a refusal that the user may overrule."""
    return f"or go on with {option('allow_degenerate', True)}"


def _cut() -> str:
    return f"cut the continuous ones into levels with {option('discretize', {'all': 3})}"


def require_kind(data: Dataset, kind: Kind, score: str) -> None:
    """Refuse data with columns of the other kind, all of which are named."""
    other: Kind = "categorical" if kind == "continuous" else "continuous"
    wrong = data.columns_of(other)
    if not wrong:
        return
    ways = _readings(data, kind)
    if kind == "categorical":
        ways.append(_cut())
    if len(wrong) < data.n_nodes:
        ways.append(f"leave columns out with {option('drop', wrong)}")
    raise DataError(
        f"{score} needs {kind} columns, but {enumerate_names(wrong)} "
        f"{'is' if len(wrong) == 1 else 'are'} {other}: "
        f"{enumerate_items([*ways, 'choose another score'], ', or ')}."
    )


def require_complete(data: Dataset) -> None:
    """Refuse a table with holes, which has no score."""
    if not data.is_complete:
        raise DataError(
            f"Only a complete table has a score, but {describe_holes(data)}: drop the rows with "
            f"{option('missing', 'drop')}."
        )


def refuse_mixture(data: Dataset, what: str) -> None:
    """Refuse data of both kinds; ``what`` begins the sentence that says why."""
    if data.is_continuous or data.is_categorical:
        return
    continuous, categorical = data.columns_of("continuous"), data.columns_of("categorical")
    rarer = min(categorical, continuous, key=len)
    ways = [*_readings(data, "continuous"), *_readings(data, "categorical"), _cut()]
    ways += [
        f"leave columns out, as with {option('drop', rarer)}",
        "choose the score blocks or conditional-gaussian",
    ]
    raise DataError(
        f"{what}, but the table has continuous columns ({enumerate_names(continuous)}) and "
        f"categorical ones ({enumerate_names(categorical)}): "
        f"{enumerate_items(ways, ', or ')}."
    )


def _readings(data: Dataset, kind: Kind) -> list[str]:
    """How columns can be read as this kind: levels that are numbers, or whole numbers."""
    able = []
    for v, (name, levels) in enumerate(zip(data.names, data.levels, strict=True)):
        column = data.values[:, v]
        if kind == "continuous" and levels is not None and parse_numbers(levels) is not None:
            able.append(name)
        if kind == "categorical" and levels is None and (column == np.floor(column)).all():
            able.append(name)
    return [f"read whole numbers as {kind} with {option(kind, able)}"] if able else []


def refuse_degenerate(
    data: Dataset, score: str, allowed: bool, *, counts_unobserved: bool = True
) -> None:
    """Refuse constant columns and copies of columns.

    Where a score counts unobserved levels, these make a constant categorical column meaningful:
    only one that cannot take a second value is constant then. A table that declares its states may
    have copies, as benchmark networks with variables that follow from others do.
    """
    if allowed:
        return
    constant = [
        name
        for name in data.constant_columns
        if not counts_unobserved
        or (levels := data.levels[data.index(name)]) is None
        or len(levels) == 1
    ]
    if constant:
        one = len(constant) == 1
        raise DataError(
            f"column{'' if one else 's'} {enumerate_names(constant)} {'is' if one else 'are'} "
            f"constant, so the data say nothing about {'its' if one else 'their'} edges: leave "
            f"{'it' if one else 'them'} out with {option('drop', constant)}, {go_on()}."
        )
    if data.copied_columns and not data.declares_states:
        raise DataError(_describe_copies(data, score))


def note_few_rows(data: Dataset) -> tuple[str, ...]:
    """A sentence on a table with fewer rows than columns."""
    if data.n_obs >= data.n_nodes:
        return ()
    return (
        f"with fewer rows ({data.n_obs}) than columns ({data.n_nodes}) the prior decides most "
        "edges",
    )


MOSTLY_EMPTY = 0.5
"""Share of missing values above which a column gets a sentence of its own."""


def note_holes(data: Dataset) -> tuple[str, ...]:
    """Sentences on missing values: how many, what becomes of them, and how else."""
    if data.is_complete:
        return ()
    n_rows = int(data.missing.any(axis=1).sum())
    notes = [
        f"{describe_holes(data)}: {count_of(n_rows, 'row')} of {data.n_obs}; what is missing is "
        "integrated out, assuming that it is missing at random; drop such rows with "
        f"{option('missing', 'drop')}, or refuse them with {option('missing', 'refuse')}"
    ]
    columns = data.names
    if data.slices is not None:  # of which those are read that have no lag
        columns = tuple(name for name, _ in data.slices.past(data.names))
    shares: dict[str, float] = {}
    for name, share in zip(columns, data.missing.mean(axis=0).tolist(), strict=True):
        shares[name] = max(share, shares.get(name, 0.0))
    notes += [
        f"{name!r} lacks {share:.0%} of its values, so that little is known of it "
        f"beyond what the others say; leave it out with {option('drop', [name])}"
        for name, share in shares.items()
        if share > MOSTLY_EMPTY
    ]
    return tuple(notes)


def _describe_copies(data: Dataset, score: str) -> str:
    """All copies, and how to leave out the second of each pair."""
    pairs = data.copied_columns
    listed = enumerate_items([f"{first!r} and {second!r}" for first, second in pairs], "; ")
    second = list(dict.fromkeys(second for _, second in pairs))
    columns = [data.values[:, [data.index(name) for name in pair]] for pair in pairs]
    how = "identical"
    if not all((pair[:, 0] == pair[:, 1]).all() for pair in columns):
        linear = data.is_continuous
        means = "one is a linear function of the other" if linear else "their levels correspond"
        how = f"copies ({means})"
    return (
        f"columns {listed} are {how}; {score} stays defined, but no data can tell the two apart, "
        f"so every edge of one is shared out between both: leave one out, as with "
        f"{option('drop', second)}, {go_on()}."
    )


def refuse_many_levels(data: Dataset, limit: int, score: str) -> None:
    """Refuse a categorical column with more levels than a score can have."""
    for name, levels in zip(data.names, data.levels, strict=True):
        if levels is not None and len(levels) > limit:
            raise DataError(
                f"column {name!r} has more than {limit} levels, too many for {score}: drop it if "
                "it is an identifier, or group its values."
            )


def check_sample_size(value: Any, score: str) -> None:
    """Refuse an equivalent sample size that is not a positive number."""
    if not is_positive_number(value):
        raise OptionError(
            f"{score} needs a positive equivalent sample size, not {in_brief(value)}."
        )


def is_positive_number(value: Any) -> bool:
    """Whether a setting is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, float | int | np.number):
        return False
    return bool(0 < value < inf)


Rows = NDArray[np.bool_]
"""Whether a row is used."""


def score_observed(data: Dataset, make: Callable[[Rows], FamilyScorer]) -> FamilyScorer:
    """Scores of nodes by rows in which they were not set; ``make`` scores all by given rows."""
    require_complete(data)
    every = np.ones(data.n_obs, dtype=np.bool_)
    if not data.interventions:
        return make(every)
    patterns, group = sets_of_rows(data.is_set)
    scorers = [make(rows) if rows.any() else UnobservedScorer(make(every)) for rows in patterns]
    return InterventionScorer(scorers, group)


def bind_score(score: LocalScore, data: Dataset, *, allow_degenerate: bool) -> FamilyScorer:
    """Bind a score to data; refuses interventions for a score that cannot deal with them."""
    require_complete(data)
    scorer = score.bind(data, allow_degenerate=allow_degenerate)
    if data.interventions and not isinstance(scorer, InterventionScorer):
        raise OptionError(
            f"the score {score.name} knows nothing of the rows, so it cannot leave out those in "
            "which a variable was set: score without interventions, or choose another score."
        )
    return scorer


def refuse_unobserved(data: Dataset, prior: StructurePrior, *, allow_degenerate: bool) -> None:
    """Refuse variables that were set in every row, unless they are known to have no parents."""
    may_have_parents = (prior.edge_log_weight > -np.inf).any(axis=0)
    always = np.flatnonzero(data.is_set.all(axis=0) & may_have_parents)
    if allow_degenerate or not always.size:
        return
    names = [data.names[v] for v in always]
    one = len(names) == 1
    raise DataError(
        f"{enumerate_names(names)} {'was' if one else 'were'} set in every row, so the data say "
        f"nothing about {'its' if one else 'their'} parents, all of which score the same: declare "
        f"{'it a root' if one else 'them roots'} with {option('roots', names)}, {go_on()}."
    )


class InterventionScorer(FamilyScorer):
    """Node v is scored by ``scorers[group[v]]``."""

    def __init__(self, scorers: Sequence[FamilyScorer], group: NDArray[np.integer]) -> None:
        self.n_nodes = len(group)
        self._scorers = tuple(scorers)
        self._group = group
        self.possible_edges = scorers[0].possible_edges
        sensible = [s.sensible_parents for s in scorers if s.sensible_parents is not None]
        self.sensible_parents = min(sensible, default=None)

    def of(self, child: int) -> FamilyScorer:
        """The scorer that has the rows of this node."""
        return self._scorers[self._group[child]]

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        return self.of(child).families(child, parents)

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Each scorer writes the rows of its own nodes."""
        for number, scorer in enumerate(self._scorers):
            own = children[self._group[children] == number]
            if own.size:
                scorer.fill_families(own, max_parents, out, pool)


class UnobservedScorer(FamilyScorer):
    """Scores of no rows at all: the probability of nothing is 1, whatever the parents.

    Families that the score of other rows excludes are excluded here, too.
    """

    def __init__(self, other: FamilyScorer) -> None:
        self.n_nodes = other.n_nodes
        self.possible_edges = other.possible_edges
        self._other = other

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        is_possible = self._other.families(child, parents) > -np.inf
        return np.where(is_possible, 0.0, -np.inf)
