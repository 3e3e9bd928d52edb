"""What scores ask of data and of their settings.

Columns of the wrong kind are refused, and so are data on which a score is defined but says little,
unless the user insists.
"""

from math import inf
from typing import Any

import numpy as np

from outpoint.data import Dataset
from outpoint.data.cells import parse_numbers
from outpoint.data.dataset import Kind, describe_holes
from outpoint.errors import DataError, OptionError
from outpoint.kinds import in_brief
from outpoint.naming import count_of, enumerate_items, enumerate_names, option


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
