"""Time series and panels: from rows (subject, time) to a table of slices.

With ``lags`` L the table has a row for every time that follows L others without a gap, and the
columns x of that time, x[-1] to x[-L] of the times before, and static ones. Rows of different
subjects, or across a gap, are never paired. All but the first columns are *given*: they are roots,
and are not scored themselves. Formulas: docs/math.md#time-series.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from outpoint.arguments import COLUMN, COLUMNS, takes
from outpoint.arrays import Floats, Integers
from outpoint.data.columns import Column
from outpoint.data.dataset import MOST_LAGS, Dataset, Slices
from outpoint.data.loading import load_rows
from outpoint.data.reading import Names, Reading
from outpoint.data.sources import Data
from outpoint.data.stacking import fill_told, leave_out_repeated, stack
from outpoint.errors import DataError, OptionError
from outpoint.kinds import TRUTH, whole
from outpoint.naming import count_of, named


def load_series(
    data: Data,
    time: str | None = None,
    subject: str | None = None,
    lags: int = 1,
    static: Names = (),
    *,
    contemporaneous: bool = True,
    **reading: Any,
) -> Dataset:
    """Load a time series, or a panel of several subjects, as a table of slices.

    Parameters
    ----------
    data
        A table with one row for each time (of each subject), as for :func:`load_dataset`.
    time
        The column of times: numbers, or dates such as 2024-05-31. Without it rows are in order, and
        there are no gaps.
    subject
        The column that says whose a row is; rows of different subjects are never paired.
    lags
        How many earlier times a variable may depend on.
    static
        Columns that do not change within a subject, such as sex or site; they are only ever causes.
    contemporaneous
        Whether variables may depend on others at the same time; otherwise on earlier ones only.
    reading
        All other options of :func:`load_dataset`.

    Returns
    -------
    Dataset
        A column ``x`` for each variable, ``x[-1]`` for its value one time before, and so on.
        ``learn`` takes lagged and static columns as given: they have no parents and no score.
    """
    return read_series(
        data,
        time,
        subject,
        lags,
        static,
        contemporaneous=contemporaneous,
        keeps_holes=True,
        **reading,
    )


@takes(time=COLUMN, subject=COLUMN, lags=whole(1, MOST_LAGS), static=COLUMNS, contemporaneous=TRUTH)
def read_series(
    data: Data,
    time: str | None = None,
    subject: str | None = None,
    lags: int = 1,
    static: Names = (),
    *,
    contemporaneous: bool = True,
    keeps_holes: bool,
    **reading: Any,
) -> Dataset:
    """What :func:`load_series` does; with ``keeps_holes``, ``missing="auto"`` keeps holes."""
    fixed = tuple(static)
    if reading.get("weights") is not None:
        raise OptionError(
            f"rows of a series cannot count more than once: leave out {named('weights')}."
        )
    series = {"time": time, "subject": subject}
    apart = {what: name for what, name in series.items() if name is not None}
    by_option = {_option(what): name for what, name in apart.items()}
    table, rows, columns = load_rows(
        _with_texts(data, time), by_option, reading, keeps_holes=keeps_holes
    )
    order = _Order.of(rows, *(columns.get(name or "") for name in (time, subject)))
    Reading.require_known("static", fixed, table.names)
    order.check_static(table, fixed)
    table = fill_told(table, fixed, order.rows, order.subject, order.time)
    last, n_gaps = order.find_slices(lags)
    origin = np.column_stack([order.subject[last], last])
    made = stack(table, order.rows, last, Slices(lags, fixed, contemporaneous, origin))
    if not (reading.get("keep") or reading.get("allow_degenerate")):
        made = leave_out_repeated(made, strict=bool(reading.get("strict")))
    own = {**apart, "lags": lags, "static": list(fixed), "contemporaneous": contemporaneous}
    return replace(
        made,
        notes=(*made.notes, order.describe(last, n_gaps, lags)),
        reading=None if table.reading is None else {**table.reading, **own},
    )


@dataclass(frozen=True, eq=False)
class _Order:
    """The rows of a table by subject and time: where they stand, whose they are, and when."""

    rows: Integers
    subject: Integers
    time: Floats
    is_panel: bool

    @classmethod
    def of(cls, numbers: Integers, time: Column | None, subject: Column | None) -> "_Order":
        """Sort the rows; ``numbers``, their places in the file, are times for want of others."""
        whose = np.zeros(len(numbers), dtype=np.intp)
        if subject is not None:
            whose = _complete(subject, "subject").values[numbers].astype(np.intp)
            _, whose_by_number, counts = np.unique(whose, return_inverse=True, return_counts=True)
            if counts.max() == 1:
                raise DataError(
                    f"Every row has a subject of its own in column {subject.name!r}, so that no "
                    "row follows another: name the column whose values repeat, or leave out "
                    f"{_flag('subject')}."
                )
            whose = whose_by_number
        when = numbers.astype(np.float64) if time is None else _times(time)[numbers]
        rows = np.lexsort((when, whose))
        found = cls(rows, whose[rows], when[rows], subject is not None)
        if time is not None:
            found._refuse_repeated(time, subject, numbers)
        return found

    def _refuse_repeated(self, time: Column, subject: Column | None, numbers: Integers) -> None:
        twice = (np.diff(self.subject) == 0) & (np.diff(self.time) == 0)
        if not twice.any():
            return
        row = int(numbers[self.rows[np.argmax(twice)]])
        when = _text_at(time, row)
        if subject is None:
            raise DataError(
                f"Time {when} occurs more than once in column {time.name!r}: name the column that "
                f"tells subjects apart with {_flag('subject')}, or keep one row for each time."
            )
        raise DataError(
            f"Subject {_text_at(subject, row)} has more than one row for time {when}: keep one row "
            "for each time."
        )

    def check_static(self, table: Dataset, names: Sequence[str]) -> None:
        """Refuse static columns that change."""
        for name in names:
            column = table.values[self.rows, table.index(name)]
            known = ~np.isnan(column)
            changes = (np.diff(self.subject[known]) == 0) & (np.diff(column[known]) != 0)
            if changes.any():
                when = "within a subject" if self.is_panel else "over time"
                raise DataError(
                    f"Column {name!r} is not static, as it changes {when}: leave it out of "
                    f"{named('static')}, so that it is a variable like others."
                )

    def find_slices(self, lags: int) -> tuple[Integers, int]:
        """The places of rows that follow ``lags`` others without a gap, and the number of gaps."""
        apart = np.diff(self.time)
        same = np.diff(self.subject) == 0
        steps, counts = np.unique(np.round(apart[same], 9), return_counts=True)
        step = steps[np.argmax(counts)] if len(steps) else 1.0
        follows = same & np.isclose(apart, step, rtol=1e-6, atol=0.0)
        run = np.zeros(len(self.time), dtype=np.intp)  # rows before without a gap
        for place in range(1, len(run)):
            run[place] = run[place - 1] + 1 if follows[place - 1] else 0
        last = np.flatnonzero(run >= lags)
        if not len(last):
            raise DataError(
                f"{count_of(lags, 'lag')} would need {lags + 1} rows without a gap, but at most "
                f"{int(run.max()) + 1} follow each other: use fewer lags"
                + (", or check the times." if (same & ~follows).any() else ".")
            )
        return last, int((same & ~follows).sum())

    def describe(self, last: Integers, n_gaps: int, lags: int) -> str:
        """How many slices there are, and what was left out."""
        what = "pair" if lags == 1 else "run"
        size = "slices" if lags == 1 else f"{lags + 1} slices"
        words = f"{count_of(len(last), what)} of {size}"
        n_subjects, n_used = (len(np.unique(own)) for own in (self.subject, self.subject[last]))
        if self.is_panel:
            words += f" from {count_of(n_used, 'subject')}"
        left_out = [f"{count_of(n_gaps, 'gap')} skipped"] if n_gaps else []
        if n_gaps > len(last):
            left_out[0] += ", as times are not evenly spaced: number them 1, 2, 3, ... to pair rows"
        if n_used < n_subjects:
            left_out.append(
                f"{count_of(n_subjects - n_used, 'subject')} with too few rows left out"
            )
        return "; ".join([words, *left_out])


def _with_texts(data: Any, time: str | None) -> Any:
    """A pandas frame with its dates as texts; anything else as it is."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame) or time not in data.columns:
        return data
    if getattr(data[time].dtype, "kind", "") != "M":
        return data
    texts = data.copy()
    texts[time] = data[time].dt.strftime("%Y-%m-%d")
    return texts


def _option(name: str) -> str:
    """The option that names a column: ``subject`` in Python, ``subject_column`` in the shell."""
    return f"{name}_column" if named("lags").startswith("--") else name


def _flag(name: str) -> str:
    """How a reader writes the option: ``subject=``, or ``--subject-column``."""
    return named(_option(name))


def _complete(column: Column, what: str) -> Column:
    if column.missing.any():
        raise DataError(
            f"Column {column.name!r} has no {what} in row {int(np.argmax(column.missing)) + 1}: "
            "fill it in, or leave the row out."
        )
    return column


def _text_at(column: Column, row: int) -> str:
    value = column.values[row]
    return repr(column.levels[int(value)]) if column.levels is not None else f"{value:g}"


def _times(column: Column) -> Floats:
    """Times as numbers: dates count in months if all are on one day of the month, or at its end."""
    _complete(column, "time")
    if column.levels is None:
        return column.values
    try:
        return np.array([float(text) for text in column.levels])[column.values.astype(np.intp)]
    except ValueError:
        pass
    try:
        days = np.array([text.strip() for text in column.levels], dtype="datetime64[D]")
    except ValueError:
        raise DataError(
            f"The times in column {column.name!r} are neither numbers nor dates such as "
            "2024-05-31: number them."
        ) from None
    months = days.astype("datetime64[M]")
    day = (days - months.astype("datetime64[D]")).astype(np.int64)
    is_last = (days + 1).astype("datetime64[M]") > months
    counted = months if (day == day[0]).all() or is_last.all() else days
    return counted.astype(np.int64).astype(np.float64)[column.values.astype(np.intp)]
