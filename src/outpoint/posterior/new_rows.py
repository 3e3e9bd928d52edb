"""New rows for a posterior: tables and files whose columns become the values of its model.

They are read as the data were: the same marks for decimals and missing values, the same levels.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from outpoint.arrays import Floats
from outpoint.data import Dataset, bundled
from outpoint.data.columns import Column, as_categorical, as_continuous
from outpoint.data.problems import ColumnProblem
from outpoint.data.reading import Reading
from outpoint.data.sources import Source, source_of_dataset, source_of_file, source_of_memory
from outpoint.data.transforms import distinct_labels
from outpoint.errors import DataError
from outpoint.models import Coding
from outpoint.naming import enumerate_names
from outpoint.options import LOAD, Options

AS_BEFORE = ("separator", "decimal", "na")
"""Options of reading that hold for new files as for the first one."""

CUT = re.compile(r"<= (.+)|\(.+, (.+)\]", re.S)
"""Levels of a column that was cut, all but the last: their upper end."""


@dataclass(frozen=True)
class NewRows:
    """Values (row, variable), NaN where a cell is blank or a column absent, and their index."""

    values: Floats
    index: pd.Index


@dataclass(frozen=True)
class RowReader:
    """What new columns must be; ``reading`` holds the options that the data were read with."""

    coding: Coding
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ranked(self) -> Collection[str]:
        """Continuous variables that are normal scores of what was read."""
        chosen = {*self.reading.get("normal_scores", ()), *self.reading.get("ordinal", ())}
        return [
            name
            for name, levels in zip(self.coding.names, self.coding.levels, strict=True)
            if levels is None and (name in chosen or "all" in chosen - {*self.coding.names})
        ]

    def read(self, new: Any) -> NewRows:
        """The values of new rows; columns that are not variables are left alone."""
        source = self._source(new)
        known = [name for name in source.names if name in self.coding.names]
        if not known:
            raise DataError(
                f"none of the columns {enumerate_names(source.names)} is a variable: the variables "
                f"are {enumerate_names(self.coding.names)}."
            )
        if len(set(known)) < len(known):
            twice = next(name for name in known if known.count(name) > 1)
            raise DataError(f"there are several columns {twice!r}: keep one of them.")
        ranked = [name for name in known if name in self.ranked]
        if ranked and not isinstance(new, Dataset):
            raise DataError(
                f"{enumerate_names(ranked)} entered as normal scores, but those of new rows would "
                "be others: leave the column out."
            )
        values = np.full((source.n_rows, len(self.coding.names)), np.nan)
        for place, name in enumerate(source.names):
            if name in self.coding.names:
                v = self.coding.names.index(name)
                is_number = self.coding.levels[v] is None
                made = source.make(place, "continuous" if is_number else "categorical")
                values[:, v] = self._values(v, made, source)
        index = getattr(new, "index", None)
        if not isinstance(index, pd.Index):
            index = pd.RangeIndex(source.n_rows)
        return NewRows(values, index)

    def _source(self, new: Any) -> Source:
        if isinstance(new, Dataset):
            return source_of_dataset(replace(new, reading=None))
        given = {name: self.reading[name] for name in AS_BEFORE if name in self.reading}
        reading = Reading.of(Options.read(LOAD, given))
        if isinstance(new, str) and new in bundled.available() and not Path(new).is_file():
            return source_of_dataset(bundled.load(new))
        if isinstance(new, str | Path):
            return source_of_file(Path(new), reading, least_columns=1)
        if isinstance(new, Mapping):
            try:
                new = pd.DataFrame(new)
            except Exception:  # whatever the values do when they are looked at
                raise DataError("new rows in a dict need a list of values for each name.") from None
        return source_of_memory(new, reading.words)

    def _values(self, v: int, made: Column | ColumnProblem, source: Source) -> Floats:
        """The numbers of a column: values, or the codes of the variable's levels."""
        name, levels = self.coding.names[v], self.coding.levels[v]
        if isinstance(made, Column) and made.missing.all():
            return np.full(source.n_rows, np.nan)
        if levels is None:
            if isinstance(made, Column):
                made = as_continuous(made)
            if isinstance(made, ColumnProblem):
                raise DataError(
                    f"column {name!r} has {made.detail or 'other values'}, but it is continuous: "
                    "give finite numbers, or leave cells blank."
                )
            return made.values
        if isinstance(made, ColumnProblem):
            raise DataError(f"column {name!r} has {made.detail}, which is not one of its levels.")
        return self._codes(v, levels, made, source)

    def _codes(self, v: int, levels: tuple[str, ...], made: Column, source: Source) -> Floats:
        """The codes of levels."""
        present = ~made.missing
        numbers = made.values[present]
        own = as_categorical(made.take(present))
        found = own.levels or ()
        place = {label: float(code) for code, label in enumerate(levels)}
        cuts = [CUT.fullmatch(label) for label in levels[:-1]]
        if made.levels is None and all(cuts) and not set(found) <= set(levels):
            ends = [one[1] or one[2] for one in cuts if one]
            codes = np.array([_bin(number, ends) for number in numbers])
        else:
            self._check_levels(v, levels, own, present, source)
            codes = np.array([place[label] for label in found])[own.values.astype(np.intp)]
        out = np.full(source.n_rows, np.nan)
        out[present] = codes
        return out

    def _check_levels(
        self,
        v: int,
        levels: tuple[str, ...],
        own: Column,
        present: np.ndarray,
        source: Source,
    ) -> None:
        name, codes = self.coding.names[v], self.coding.codes[v]
        rows = np.flatnonzero(present)
        for code in dict.fromkeys(own.values.astype(np.intp).tolist()):
            label = (own.levels or ())[code]
            if label not in levels:
                row = int(rows[np.argmax(own.values == code)])
                raise DataError(
                    f"column {name!r} has {label!r} in {source.where(row)}, but its levels are "
                    f"{enumerate_names(levels)}: correct it, or leave it blank."
                )
            if codes is not None and np.isnan(codes[levels.index(label)]).any():
                raise DataError(
                    f"the level {label!r} of {name!r} was never observed: leave it blank."
                )


def _bin(number: float, ends: list[str]) -> float:
    """The code of a number's interval; as ends are written with few digits, so is the number."""
    label = distinct_labels(np.array([number]))[0]
    below = [number <= float(end) or label == end for end in ends]
    return float(below.index(True)) if any(below) else float(len(ends))
