"""The table of slices: each row holds a time and those before it, side by side.

What was one column becomes several, and some of these may say nothing new: one that does not change
within a subject is its own past, and so is a clock. Such columns are known beforehand, like static
ones.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from outpoint.arrays import Floats, Integers
from outpoint.data.dataset import Dataset, Slices, lagged_name
from outpoint.data.decisions import describe_aside
from outpoint.data.problems import ColumnProblem
from outpoint.errors import DataError
from outpoint.naming import count_of, enumerate_items, enumerate_names, named, option


def stack(table: Dataset, rows: Integers, last: Integers, slices: Slices) -> Dataset:
    """The table of slices that end at the places ``last`` of the ordered ``rows``."""
    moving = [name for name in table.names if name not in slices.static]
    pieces = [
        (table.index(name), lagged_name(name, lag), lag)
        for lag in range(slices.lags + 1)
        for name in moving
    ]
    pieces += [(table.index(name), name, 0) for name in slices.static]
    was_set = table.interventions
    return replace(
        table,
        names=tuple(name for _, name, _ in pieces),
        values=np.column_stack([table.values[rows[last - lag], v] for v, _, lag in pieces]),
        levels=tuple(table.levels[v] for v, _, _ in pieces),
        interventions=tuple(was_set[rows[place]] for place in last if was_set),
        slices=slices,
    )


LEAST_CHANGES = 5
"""Pairs of times that have to agree before missing values are taken to be told by other times."""


def fill_told(
    table: Dataset, static: Sequence[str], rows: Integers, subject: Integers, time: Floats
) -> Dataset:
    """The table with missing values filled in where other times of the subject tell them.

    These are values of ``static`` columns, and of those that, wherever they are known, do not
    change within a subject, or change as a clock does. ``rows`` are ordered, with the ``subject``
    and ``time`` of each.
    """
    values, filled = table.values.copy(), []
    for v in np.flatnonzero(table.missing.any(axis=0)):
        column = values[rows, v]
        known = np.flatnonzero(~np.isnan(column))
        same = np.diff(subject[known]) == 0
        change, passed = np.diff(column[known])[same], np.diff(time[known])[same]
        slope = change[0] / passed[0] if len(change) and table.levels[v] is None else 0.0
        is_told = len(change) >= LEAST_CHANGES and np.allclose(change, slope * passed, rtol=1e-9)
        if not is_told and table.names[v] not in static:
            continue
        last = np.clip(np.searchsorted(known, np.arange(len(column)), side="right") - 1, 0, None)
        after = known[np.minimum(last + 1, len(known) - 1)]
        nearest = np.where(subject[known[last]] == subject, known[last], after)
        told = np.isnan(column) & (subject[nearest] == subject)
        if told.any():
            by_time = column[nearest] + slope * (time - time[nearest])
            values[rows[told], v] = by_time[told]
            filled.append(f"{table.names[v]!r} ({int(told.sum())})")
    if not filled:
        return table
    note = f"filled in what other times of the same subject tell: {enumerate_items(filled)}"
    return replace(table, values=values, notes=(*table.notes, note))


def leave_out_repeated(data: Dataset, *, strict: bool) -> Dataset:
    """The table without columns that say nothing beside others, and a note on each decision.

    A variable that follows from its earlier values is taken as given, and these are left out, as
    are constants and other copies of earlier values. With ``strict`` all of this is refused.
    """
    assert data.slices is not None
    lags, given = data.slices.lags, data.slices.given(data.names)
    constant = data.constant_columns
    gone = {lagged_name(name, lag) for name in constant for lag in range(lags + 1)}
    followed: list[str] = []
    problems = [ColumnProblem("constant", name) for name in constant]
    for one, other in data.copied_columns:
        if gone & {one, other} or other not in given:
            continue
        gone.add(other)
        if one not in given:
            followed.append(one)
            given = (*given, one)
        elif one not in followed:
            problems.append(ColumnProblem("copy", other, one))
    kept = [name for name in data.names if name not in gone]
    if not set(kept) - set(given):
        raise DataError(
            f"No variable is left in {count_of(data.n_obs, 'row')} of slices: all of "
            f"{enumerate_names(followed or constant)} follow from earlier values or do not change."
        )
    if strict and gone:
        raise DataError(_refusal(followed, [one.name for one in problems]))
    notes = [*describe_aside(problems), *([_note(followed)] if followed else [])]
    static = tuple(name for name in (*data.slices.static, *followed) if name not in gone)
    return replace(
        _select(data, kept),
        slices=replace(data.slices, static=static),
        notes=(*data.notes, *notes),
    )


def _select(data: Dataset, names: list[str]) -> Dataset:
    """These columns; interventions on the others are forgotten."""
    chosen = [data.index(name) for name in names]
    return replace(
        data,
        names=tuple(names),
        values=data.values[:, chosen],
        levels=tuple(data.levels[v] for v in chosen),
        interventions=tuple(tuple(x for x in own if x in names) for own in data.interventions),
    )


def _note(followed: list[str]) -> str:
    it = "it" if len(followed) == 1 else "them"
    return (
        f"took {enumerate_names(followed)} as static, as earlier values determine {it}; keep {it} "
        f"among the variables with {option('allow_degenerate', True)}"
    )


def _refusal(followed: list[str], others: list[str]) -> str:
    """What strict reading has to say about columns that say nothing new."""
    told = [f"{enumerate_names(followed)}, determined by earlier values"] if followed else []
    told += [f"{enumerate_names(others)}, constant or copied"] if others else []
    return (
        f"Columns say nothing beside others in a table of slices ({'; '.join(told)}): leave them "
        f"out with {named('drop')}, name those that do not change in {named('static')}, or keep "
        f"them with {option('allow_degenerate', True)}."
    )
