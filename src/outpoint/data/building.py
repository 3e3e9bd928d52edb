"""From columns to a data set: the door that lets in whatever can be learned from.

Columns that are hardly variables are set aside, rows with holes are kept or dropped,
and each column that is left gets its kind. Every such decision becomes a note, one line that
also names the option that changes it. With ``strict`` nothing is decided: what would have been is
refused, all of it in one message.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from outpoint.data import decisions
from outpoint.data.cardinality import are_codes, has_cardinality_row, take_cardinality_row
from outpoint.data.columns import (
    Column,
    Where,
    as_categorical,
    as_continuous,
    assemble,
    decide_kind,
    order_levels,
)
from outpoint.data.copies import find_copies
from outpoint.data.dataset import Asked, Dataset, Kind, are_constant, check_column_names
from outpoint.data.interventions import Entry, Interventions, check_length, parse_interventions
from outpoint.data.problems import ColumnProblem, Missing, refuse, refuse_empty, refuse_sparse
from outpoint.data.reading import Reading
from outpoint.data.rows import find_counts, refuse_correlations, repeat_rows
from outpoint.data.sources import Made, Source
from outpoint.data.suitability import find_units, find_unsuitable, judge_levels, judge_words
from outpoint.errors import DataError, OptionError
from outpoint.naming import count_of

LEAST_KEPT = 2 / 3
"""Rows with missing values are dropped unasked if at least this share of all rows stays."""

MOST_MISSING = 1 - LEAST_KEPT
"""A column with a larger share of missing values, which alone would cost too many rows, is set
aside unasked."""

LEAST_PRESENT = 0.05
"""Where missing values are integrated out, a column with a smaller share of values is set aside
unasked: it would say next to nothing, and the more of it chains make up, the longer they take to
forget what they made up."""


def build(
    source: Source,
    reading: Reading,
    given: dict[str, object] | None,
    entries: Iterable[Entry] | None,
) -> Dataset:
    """The data set that a source and the options give, or one error about all columns."""
    return build_rows(source, reading, given, entries)[0]


def build_rows(
    source: Source,
    reading: Reading,
    given: dict[str, object] | None,
    entries: Iterable[Entry] | None,
) -> tuple[Dataset, npt.NDArray[np.int64]]:
    """The data set as :func:`build` makes it, and which rows of the source it has."""
    names = tuple(source.names[v] for v in reading.choose(source.names))
    check_column_names(names)
    if source.n_rows == 0:
        raise DataError("The data have no rows; at least one observation is needed.")
    asked = source.kinds_said(names) | reading.kinds_of(names)
    made, n_above = _make(source, reading, asked, names)
    interventions = _interventions(source, reading, entries, names, n_above)
    rows = _rows(source, reading, n_above)
    made = [one.take(rows) if isinstance(one, Column) else one for one in made]
    keep = reading.keep or source.is_let_in
    where = _where(source, rows + n_above)
    door = _Door(reading, asked, where, rows.size, keep)
    door.let_in(made)
    door.treat_missing()
    door.set_units_aside()
    kinds = door.decide_kinds()
    names, values, levels = assemble(
        door.columns, kinds, reading.bins_of(kinds), reading.ranked(kinds)
    )
    door.note_rows(values, levels, kinds)
    declares_states = n_above > 0 or source.declares_states
    chosen: Sequence[int] = range(len(names))
    if not declares_states:
        chosen = door.without_copies(names, values, levels)
    values = values[:, chosen]
    values = values[door.with_values(values)]
    dataset = Dataset(
        tuple(names[v] for v in chosen),
        values,
        tuple(levels[v] for v in chosen),
        source.label,
        reading=given,
        notes=source.notes + tuple(door.notes),
        interventions=_set_in(interventions, [names[v] for v in chosen], rows[door.kept]),
        declares_states=declares_states,
    )
    return dataset, rows[door.kept] + n_above


class _Door:
    """What is known of a table while it is read: its columns, and what was decided so far."""

    def __init__(
        self,
        reading: Reading,
        asked: Mapping[str, Asked],
        where: Where,
        n_rows: int,
        keep: bool,
    ) -> None:
        self.reading = reading
        self.asked = asked
        self.where = where
        self.keep = keep
        self.columns: list[Column] = []
        self.notes: list[str] = []
        self.aside: list[ColumnProblem] = []
        self.kept: npt.NDArray[np.bool_] = np.ones(n_rows, dtype=bool)

    def let_in(self, made: Iterable[Made]) -> None:
        """Take the columns that can be variables; refuse what the user has asked to take."""
        columns, problems = _separate(made)
        self.columns, unfit = _separate(self._judged(column) for column in columns)
        unfit = [judge_levels(problem, columns) for problem in unfit]
        problems = [*map(judge_words, problems), *unfit]
        doubts = [column.doubt for column in self.columns if column.doubt is not None]
        if self.reading.strict:
            missing, n_incomplete = self._missing()
            if self.reading.missing in ("drop", "augment"):
                missing = []
            refuse(problems + doubts, missing, (n_incomplete, len(self.kept)))
        wanted = [problem for problem in problems if self.keep or problem.name in self.asked]
        refuse(wanted, [], (0, 0))
        self.set_aside(problems)
        self.notes += decisions.describe_doubts(doubts)

    def _judged(self, column: Column) -> Made:
        """A column as it was asked for, or judged by its content."""
        asked = self.asked.get(column.name)
        present = column.take(~column.missing)
        if not present.values.size and self.reading.missing == "augment":
            return ColumnProblem("empty", column.name)
        if asked == "ordinal":
            return order_levels(column, self.reading.orders[column.name])
        if asked == "continuous":
            found = as_continuous(present)
            return found if isinstance(found, ColumnProblem) else _as_numbers(column)
        if asked is not None or self.keep:
            return column
        share = column.missing.mean()
        if self.reading.missing == "auto" and not self.reading.strict and share > MOST_MISSING:
            return ColumnProblem("sparse", column.name, f"{share:.0%}")
        if self.reading.missing == "augment" and 1 - share < LEAST_PRESENT:
            values = f"{present.values.size} in {count_of(column.values.size, 'row')}"
            return ColumnProblem("scarce", column.name, values, column.levels is None)
        problem = find_unsuitable(present)
        if problem is not None and column.doubt is not None and column.doubt.kind == "text":
            return column.doubt
        return problem or column

    def set_aside(self, problems: Sequence[ColumnProblem]) -> None:
        """Leave columns out, and say so."""
        gone = {problem.name for problem in problems}
        self.columns = [column for column in self.columns if column.name not in gone]
        self.aside += problems
        self.notes += decisions.describe_aside(problems)
        if len(self.columns) < 2:
            decisions.refuse_nothing_left(self.columns, self.aside)

    def treat_missing(self) -> None:
        """Keep missing values for whoever integrates them out, drop their rows, or refuse."""
        treatment = self.reading.missing
        missing, n_incomplete = self._missing()
        if treatment == "augment":
            return
        if treatment == "refuse" or (treatment == "auto" and self.reading.strict):
            refuse([], missing, (n_incomplete, len(self.kept)))
        incomplete = self._incomplete()
        if not incomplete.any():
            return
        if incomplete.all():
            refuse_empty(missing, len(self.kept))
        if treatment == "auto" and (~incomplete).mean() < LEAST_KEPT:
            refuse_sparse(missing, self._costs(), (int(incomplete.sum()), len(self.kept)))
        self.kept = ~incomplete
        self.columns = [column.take(self.kept) for column in self.columns]
        self.notes.append(decisions.describe_dropped(int(incomplete.sum()), missing, self.kept))

    def _incomplete(self) -> npt.NDArray[np.bool_]:
        return np.any([column.missing for column in self.columns], axis=0)

    def _missing(self) -> tuple[list[Missing], int]:
        """The columns with missing values, and the number of rows that have one."""
        found = []
        for column in self.columns:
            gone = column.missing
            if gone.any():
                first = self.where(int(np.argmax(gone)))
                is_text = column.levels is not None
                found.append(Missing(column.name, int(gone.sum()), first, column.spelling, is_text))
        n_incomplete = int(self._incomplete().sum()) if self.columns else 0
        return found, n_incomplete

    def _costs(self) -> list[str]:
        """The columns with most missing values, without which enough rows are complete."""
        left = sorted(self.columns, key=lambda column: column.missing.sum())
        costly: list[str] = []
        while len(left) > 2:
            costly.append(left.pop().name)
            if (~np.any([column.missing for column in left], axis=0)).mean() >= LEAST_KEPT:
                break
        return costly

    def set_units_aside(self) -> None:
        """Leave out columns that only say which rows belong together."""
        if self.keep:
            return
        free = [
            column
            for column in self.columns
            if column.name not in self.asked and not column.missing.any()
        ]
        found = find_units(free)
        if self.reading.strict:
            refuse(found, [], (0, 0))
        self.set_aside(found)

    def decide_kinds(self) -> dict[str, Kind | None]:
        """The kind of every column; whole tables of codes are categories."""
        prefer = self.reading.prefer
        if prefer is None and not self.asked and are_codes([one.present for one in self.columns]):
            prefer = "categorical"
            self.notes.append(decisions.describe_coded())
        kinds = {
            column.name: "continuous"
            if self.asked.get(column.name) == "ordinal"
            else decide_kind(column.present, _plain(self.asked.get(column.name)), prefer)
            for column in self.columns
        }
        self.columns = [
            _as_numbers(column)
            if kinds[column.name] == "continuous" and not column.ordered
            else column
            for column in self.columns
        ]
        self.notes += decisions.describe_orders(self.columns, kinds)
        return kinds

    def note_rows(
        self,
        values: npt.NDArray[np.float64],
        levels: Sequence[tuple[str, ...] | None],
        kinds: Mapping[str, Kind | None],
    ) -> None:
        """Say what the rows seem to be, if not observations; refuse matrices of correlations."""
        if self.keep or self.reading.weights is not None:
            return
        if all(one is None for one in levels):
            refuse_correlations([column.name for column in self.columns], values)
        if np.isnan(values).any():
            return
        counts = find_counts(self.columns, list(kinds.values()))
        if counts is not None:
            self.notes.append(decisions.describe_counts(counts))

    def without_copies(
        self,
        names: Sequence[str],
        values: npt.NDArray[np.float64],
        levels: Sequence[tuple[str, ...] | None],
    ) -> Sequence[int]:
        """The positions of the columns that are neither constant nor copies of earlier ones."""
        every = range(len(names))
        if self.keep or self.reading.strict or self.reading.allow_degenerate:
            return every
        declared = {column.name for column in self.columns if column.declared}
        is_constant = are_constant(values)
        constant = {
            v
            for v in every
            if is_constant[v] and not (names[v] in declared and len(levels[v] or ()) > 1)
        }
        pairs = find_copies(values, [one is None for one in levels])
        copies = {b: a for a, b in reversed(pairs) if not {a, b} & constant}
        problems = [ColumnProblem("constant", names[v]) for v in sorted(constant)]
        problems += [ColumnProblem("copy", names[b], names[a]) for b, a in sorted(copies.items())]
        self.set_aside(problems)
        return [v for v in every if v not in constant and v not in copies]

    def with_values(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Which rows have any value; those that have none say nothing, and are left out."""
        filled = np.any(~np.isnan(values), axis=1)
        if not filled.all():
            self.kept[np.flatnonzero(self.kept)[~filled]] = False
            self.notes.append(decisions.describe_empty_rows(int((~filled).sum())))
        return filled


def _where(source: Source, rows: npt.NDArray[np.int64]) -> Where:
    """A function that says in words where a row of data is, given its rows in the source."""
    return lambda row: source.where(int(rows[row]))


def _plain(asked: Asked | None) -> Kind | None:
    return None if asked == "ordinal" else asked


def _as_numbers(column: Column) -> Column:
    """A column with its levels, which are numbers, as values; NaN stays where one is missing."""
    if column.levels is None:
        return column
    found = as_continuous(column.take(~column.missing))
    assert isinstance(found, Column)
    values = np.full(column.values.size, np.nan)
    values[~column.missing] = found.values
    return replace(column, values=values, levels=None)


def _make(
    source: Source, reading: Reading, asked: Mapping[str, Asked], names: Sequence[str]
) -> tuple[list[Made], int]:
    """The columns as their source has them, and how many rows of cardinalities are above them."""
    number = {name: v for v, name in enumerate(source.names)}
    made = [source.make(number[name], _plain(asked.get(name))) for name in names]
    if not _has_cardinalities(source, reading, asked, dict(zip(names, made, strict=True))):
        return made, 0
    forced = [name for name, kind in asked.items() if kind == "continuous"]
    if forced:
        raise OptionError(
            f"Column {forced[0]!r} cannot be continuous in data with a cardinality row; "
            "drop one of the two options."
        )
    columns, problems = _separate(made)
    return [*take_cardinality_row(columns), *problems], 1


def _has_cardinalities(
    source: Source, reading: Reading, asked: Mapping[str, Asked], known: Mapping[str, Made]
) -> bool:
    """Whether the first row holds cardinalities, judged by all columns, even those left out."""
    if reading.cardinality_row is not None:
        return reading.cardinality_row
    if not source.maybe_cardinalities or "continuous" in asked.values():
        return False
    every = [
        known.get(name) or source.make(v, None)
        for v, name in enumerate(source.names)
        if name != reading.interventions
    ]
    columns, problems = _separate(every)
    return not problems and has_cardinality_row(columns)


def _interventions(
    source: Source,
    reading: Reading,
    entries: Iterable[Entry] | None,
    names: Sequence[str],
    n_above: int,
) -> Interventions:
    """What was set in each row, according to a column, the user, or the source itself."""
    if reading.interventions is not None:
        entries = _entries_of(source, reading.interventions)[n_above:]
    elif entries is None:
        entries = source.interventions
    found = parse_interventions(entries, names, lambda row: source.where(row + n_above))
    check_length(found, source.n_rows - n_above)
    return found


def _entries_of(source: Source, name: str) -> list[str]:
    """The texts of the column that says what was set; empty where there is none."""
    column = source.make(source.names.index(name), "categorical")
    if isinstance(column, ColumnProblem):
        raise DataError(
            f"Column {name!r} holds no names of variables, so it does not say what was set."
        )
    present = ~column.missing
    found = as_categorical(column.take(present))
    texts = np.full(len(present), "", dtype=object)
    texts[present] = [(found.levels or ())[int(code)] for code in found.values]
    return list(texts)


def _set_in(
    interventions: Interventions, names: Sequence[str], rows: npt.NDArray[np.int64]
) -> Interventions:
    """The interventions in these rows, on variables that are left."""
    if not interventions:
        return ()
    known = set(names)
    left = [tuple(name for name in one if name in known) for one in interventions]
    return tuple(left[row] for row in rows)


def _rows(source: Source, reading: Reading, n_above: int) -> npt.NDArray[np.int64]:
    """The rows of data, each as often as its weight says."""
    if reading.weights is None:
        return np.arange(source.n_rows - n_above)
    column = source.make(source.names.index(reading.weights), "continuous")
    if isinstance(column, ColumnProblem):
        raise DataError(
            f"The weights in column {reading.weights!r} are not all numbers; correct them."
        )
    below = column.take(np.arange(column.values.size) >= n_above)
    return repeat_rows(below, lambda row: source.where(row + n_above))


def _separate(made: Iterable[Made]) -> tuple[list[Column], list[ColumnProblem]]:
    """The columns, and what is wrong with the others."""
    found = list(made)
    return (
        [column for column in found if isinstance(column, Column)],
        [problem for problem in found if isinstance(problem, ColumnProblem)],
    )
