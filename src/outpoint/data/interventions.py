"""Which variables were set from outside, row by row: the entries of a column or of a list.

An entry names the variables that were set in its row, such as ``a``, ``a;b``, ``a|b``, ``a, b`` or
``a b``; it is empty where the row was only observed.
"""

from collections.abc import Callable, Iterable, Sequence
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from outpoint.arrays import Booleans
from outpoint.errors import DataError, OptionError
from outpoint.kinds import in_brief, list_of
from outpoint.naming import enumerate_names, suggest

Targets = tuple[str, ...]
Interventions = tuple[Targets, ...]

Entry = str | Iterable[str] | float | None
"""What may name the variables that were set in a row; None, NaN and empty text name none."""

SEPARATORS = (";", "|", ",", None)
"""What may stand between names, tried in this order; None is white space."""


def parse_interventions(
    entries: Any, names: Sequence[str], where: Callable[[int], str] = lambda row: f"row {row + 1}"
) -> Interventions:
    """The names set in each row, in the order of ``names``; an empty tuple if no row has any."""
    try:
        listed = list_of(entries)
    except Exception:
        raise OptionError(
            "interventions must have one entry for each row, the variables set in it, not "
            f"{in_brief(entries)}."
        ) from None
    number = {name: v for v, name in enumerate(names)}
    known: dict[Any, Targets] = {}
    rows = []
    for row, entry in enumerate(listed):
        key = entry if isinstance(entry, str) else None
        if key is None or key not in known:
            targets = _names_of(entry, number, where(row))
            unknown = [name for name in targets if name not in number]
            if unknown:
                raise DataError(_describe_unknown(unknown[0], names, where(row)))
            known[key] = tuple(sorted(set(targets), key=number.__getitem__))
        rows.append(known[key])
    return tuple(rows) if any(rows) else ()


def check_length(interventions: Interventions, n_obs: int) -> None:
    """Refuse more or fewer entries than rows."""
    if interventions and len(interventions) != n_obs:
        raise DataError(
            f"interventions has {len(interventions)} entries for {n_obs} rows; give one for each "
            "row, empty where nothing was set."
        )


def mark_targets(interventions: Interventions, names: Sequence[str], n_obs: int) -> Booleans:
    """Whether a variable was set from outside (row, column)."""
    is_set = np.zeros((n_obs, len(names)), dtype=np.bool_)
    number = {name: v for v, name in enumerate(names)}
    for row, targets in enumerate(interventions):
        is_set[row, [number[name] for name in targets]] = True
    return is_set


def sets_of_rows(is_set: Booleans) -> tuple[Booleans, npt.NDArray[np.int64]]:
    """The different sets of rows in which variables were not set, and the number of each one's.

    Sets are compared as bytes: there may be a million rows.
    """
    unset = ~is_set.T
    keys = [own.tobytes() for own in np.packbits(unset, axis=1)]
    different = sorted(set(keys))
    chosen = [keys.index(one) for one in different]
    return unset[chosen], np.array([different.index(one) for one in keys], dtype=np.int64)


def write_entries(interventions: Interventions, names: Sequence[str]) -> list[str]:
    """The entries of all rows as texts that can be read again."""
    separator = next((one for one in ";|," if not any(one in name for name in names)), ";")
    return [separator.join(targets) for targets in interventions]


def count_rows_by_targets(interventions: Interventions) -> list[tuple[Targets, int]]:
    """The distinct sets of targets and their numbers of rows, smaller sets first."""
    counts: dict[Targets, int] = {}
    for targets in interventions:
        counts[targets] = counts.get(targets, 0) + 1
    return sorted(counts.items(), key=lambda item: len(item[0]))


def _names_of(entry: Any, number: dict[str, int], where: str) -> list[str]:
    """The names in one entry; a text is split at the separator that gives known names."""
    if (
        entry is None
        or type(entry).__name__ == "NAType"
        or (isinstance(entry, float) and isnan(entry))
    ):
        return []
    if not isinstance(entry, str):
        try:
            return [str(name) for name in entry]
        except Exception:  # whatever an entry does that is not a collection of names
            shown = in_brief(entry)
            raise DataError(
                f"the interventions in {where} are {shown}, not names of variables."
            ) from None
    text = entry.strip()
    if not text or text in number:
        return [text] if text else []
    splits = [_split(text, separator) for separator in SEPARATORS]
    several = [names for names in splits if len(names) > 1]
    fitting = [names for names in several if all(name in number for name in names)]
    return (fitting or several or splits)[0]


def _split(text: str, separator: str | None) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]


def _describe_unknown(name: str, names: Sequence[str], where: str) -> str:
    hint = suggest(name, names) or (
        f"the variables are {enumerate_names(names)}, and the entry is empty where nothing was set."
    )
    return f"the interventions in {where} name {name!r}, which is not one of the variables; {hint}"
