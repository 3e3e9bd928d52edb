"""Local scores in a file: the format of GOBNILP and Gibby, ``.jkl``.

The first line is the number of variables. For each follow a line with its name and its number of
parent sets, and a line for each set: the score, the number of parents, their names. Everything is
separated by white space. Sets that are not listed cannot occur. Programs that look for one best DAG
leave out sets that a subset beats; for a posterior, all sets have to be there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import file_digest
from math import inf, isnan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import PATH, TEXT, takes
from outpoint.data import Dataset
from outpoint.errors import DataError
from outpoint.files import opened, read_lines, understood
from outpoint.kinds import checked
from outpoint.scores.base import FamilyScorer, Scores, binomial_table, count_subsets, size_offsets

SUFFIX = ".jkl"

MOST_BYTES = 4_000_000_000
"""Largest file of scores that is read, one line after the other."""

LONGEST_LINE = 1_000_000
"""Bytes of the longest line that is read."""

DIGITS = 16
"""Digits of the digest of a file that a score remembers."""


@takes(path=PATH)
def read_jkl(path: str | Path) -> dict[str, dict[frozenset[str], float]]:
    """The local scores in a ``.jkl`` file: for each variable its parent sets and their scores."""
    with understood(Path(path), DataError):
        return _JklReader(path, read_lines(Path(path), DataError, MOST_BYTES, LONGEST_LINE)).read()


class _JklReader:
    """Goes through the lines of a file and says in which one something is wrong."""

    def __init__(self, path: str | Path, lines: Iterator[str]) -> None:
        self.path = path
        self.lines = self._fields(lines)
        self.line = 0

    def _fields(self, lines: Iterator[str]) -> Iterator[list[str]]:
        for number, line in enumerate(lines, start=1):
            self.line = number
            if fields := line.split():
                yield fields

    def fail(self, what: str) -> DataError:
        return DataError(f"line {self.line} of {self.path} is not {what}.")

    def read(self) -> dict[str, dict[frozenset[str], float]]:
        n_variables = self.number(next(self.lines, []), "the number of variables", n_fields=1)
        scores: dict[str, dict[frozenset[str], float]] = {}
        for _ in range(n_variables):
            fields = next(self.lines, [])
            n_sets = self.number(fields, "a name and a number of parent sets", n_fields=2)
            if fields[0] in scores:
                raise self.fail(f"the first about {fields[0]}")
            scores[fields[0]] = {}
            for _ in range(n_sets):
                parents, score = self.family(fields[0], next(self.lines, []))
                if parents in scores[fields[0]]:
                    raise self.fail(f"the first about this parent set of {fields[0]}")
                scores[fields[0]][parents] = score
        if next(self.lines, None) is not None:
            raise self.fail(f"expected: there were {n_variables} variables to read")
        self.check_parents(scores)
        return scores

    def number(self, fields: list[str], what: str, n_fields: int) -> int:
        if len(fields) != n_fields or not re.fullmatch("[1-9][0-9]{,9}", fields[-1]):
            raise self.fail(what)
        return int(fields[-1])

    def family(self, child: str, fields: list[str]) -> tuple[frozenset[str], float]:
        what = f"a score of {child}, a number of parents and their names"
        try:
            score, n_parents = float(fields[0]), int(fields[1])
        except (IndexError, ValueError):
            raise self.fail(what) from None
        parents = frozenset(fields[2:])
        if len(fields) != n_parents + 2 or len(parents) != n_parents or child in parents:
            raise self.fail(what)
        if isnan(score) or score == inf:
            raise self.fail("a score that is a number or -inf")
        return parents, score

    def check_parents(self, scores: Mapping[str, Mapping[frozenset[str], float]]) -> None:
        for child, families in scores.items():
            for parents in families:
                if unknown := sorted(parents - scores.keys()):
                    raise DataError(
                        f"{self.path} gives {child} the parent {unknown[0]}, which is not one of "
                        "its variables."
                    )


def _digest(path: str) -> str:
    """The beginning of the SHA-256 of a file; empty if it cannot be read."""
    try:
        with opened(Path(path), DataError, MOST_BYTES, is_stored=True) as file:
            return file_digest(file, "sha256").hexdigest()[:DIGITS]  # type: ignore[arg-type]
    except DataError:
        return ""


@dataclass(frozen=True)
class JklScore:
    """Local scores from a ``.jkl`` file, whatever computed them; natural logs, larger is better.

    The data only name the variables, which must be those of the file, in any order. Parent sets
    that the file does not list cannot occur. ``sha256``, the beginning of a digest of the file, is
    found if it is not given; a file that has another one is refused.
    """

    path: str
    sha256: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", str(checked("path", PATH, self.path)))
        object.__setattr__(self, "sha256", checked("sha256", TEXT, self.sha256))
        if not self.sha256:
            object.__setattr__(self, "sha256", _digest(self.path))

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "jkl"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> "JklScorer":
        """Read the file and number its variables like the columns of the data."""
        if self.sha256 not in ("", _digest(self.path)):
            raise DataError(f"{self.path} is not the file that it was: its content has changed.")
        scores = read_jkl(self.path)
        if different := sorted(scores.keys() ^ set(data.names)):
            where = "the file" if different[0] in scores else "the data"
            raise DataError(
                f"{self.path} and the data must have the same variables, but only {where} "
                f"has {different[0]!r}."
            )
        number = {name: v for v, name in enumerate(data.names)}
        return JklScorer(
            [
                {
                    tuple(sorted(number[parent] for parent in parents)): score
                    for parents, score in scores[name].items()
                }
                for name in data.names
            ]
        )


class JklScorer(FamilyScorer):
    """Scores that were read from a file; -inf for families that are not in it."""

    def __init__(self, scores: list[dict[tuple[int, ...], float]]) -> None:
        self.n_nodes = len(scores)
        self._scores = scores

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        known = self._scores[child]
        return np.array([known.get(tuple(row), -inf) for row in parents.tolist()], dtype=np.float64)

    def every_family(self, max_parents: int, pool: object = None) -> Scores:
        """All scores with at most ``max_parents`` parents: those read, each put in its place."""
        n = self.n_nodes
        out = np.full((n, count_subsets(n - 1, max_parents)), -inf)
        binomials, offsets = binomial_table(n, max_parents), size_offsets(n - 1, max_parents)
        for child, known in enumerate(self._scores):
            for size in range(max_parents + 1):
                listed = [(row, score) for row, score in known.items() if len(row) == size]
                if not listed:
                    continue
                rows = np.array([row for row, _ in listed], dtype=np.int64).reshape(
                    len(listed), size
                )
                members = rows - (rows > child)
                places = offsets[size] + binomials[members, np.arange(1, size + 1)].sum(axis=1)
                out[child, places] = [score for _, score in listed]
        return out
