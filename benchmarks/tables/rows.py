"""What came of every table, in a form that may be kept: no content of a table is in it."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.pages import RESULTS
from benchmarks.tables.trial import DONE, FAILED, GIVEN, LATE, REFUSED, Step

ROWS = RESULTS / "tables.json"


@dataclass
class Row:
    """A table and what came of it.

    ``outcome`` and ``said`` are those of ``learn``; ``kinds`` counts the columns of each kind,
    ``decisions`` the notes on reading the table. ``commands`` has the outcome of every other
    command, and ``complaints`` what was said by those that were not done.
    """

    collection: str
    name: str
    rows: int
    columns: int
    outcome: str = LATE
    said: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    kinds: dict[str, int] = field(default_factory=dict)
    decisions: int = 0
    method: str = ""
    converged: bool | None = None
    commands: dict[str, str] = field(default_factory=dict)
    complaints: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name among the tables of all collections."""
        return f"{self.collection}/{self.name}"

    @property
    def over_time(self) -> bool:
        """Whether the run took more than twice the time that it was given."""
        return self.seconds > 2 * GIVEN

    @property
    def broken(self) -> list[str]:
        """The commands that failed, had no answer in time or could not read the run."""
        return [
            name
            for name, outcome in self.commands.items()
            if outcome in (FAILED, LATE) or _UNREADABLE in self.complaints.get(name, "")
        ]


_UNREADABLE = "posterior.npz"


def make_row(
    collection: str,
    name: str,
    size: tuple[int, int],
    facts: Mapping[str, Any],
    steps: Sequence[Step],
) -> Row:
    """The row of a table of some rows and columns."""
    row = Row(collection, name, *size)
    for step in steps:
        said = "" if step.outcome == DONE else without_content(step.said)
        if step.name == "learn":
            row.outcome, row.said = _learned(step), said
            row.seconds = round(step.seconds, 1)
            row.processor_seconds = round(step.processor_seconds, 1)
            continue
        row.commands[step.name] = step.outcome
        if said:
            row.complaints[step.name] = said
    if facts:
        row.kinds = dict(Counter(facts["kinds"].values()))
        row.decisions = len(facts["notes"])
        row.method, row.converged = facts["method"], facts["converged"]
    return row


def _learned(step: Step) -> str:
    """A sentence on bad input is a refusal, unless it speaks of the unexpected."""
    words = ("Traceback", "unexpected failure")
    if step.outcome == REFUSED and any(word in step.said for word in words):
        return FAILED
    return step.outcome


def without_content(text: str) -> str:
    """A message without the names and cells that it quotes, in one line."""
    text = " ".join(text.removeprefix("outpoint: ").split())
    text = re.sub(r" \(such as .*?\)(?=[ ,;.])", "", text)
    text = re.sub(r"(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)|\"[^\"]*\"", "‘…’", text)
    return re.sub(r"(--[a-z-]+) (?!‘)\S*[^\s;:).,]", r"\1 …", text)


@dataclass
class Results:
    """How the tables were chosen, and what came of them."""

    suitable: dict[str, int]
    left_out: dict[str, int]
    rows: list[Row] = field(default_factory=list)

    def sort(self, order: Sequence[str]) -> None:
        """Put the rows into the order of ``order``, names with their collections."""
        self.rows.sort(key=lambda row: order.index(row.key))


def load(path: Path = ROWS) -> Results:
    """The results of an earlier run."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Results(**{**found, "rows": [Row(**row) for row in found["rows"]]})


def save(results: Results, path: Path = ROWS) -> None:
    """Write results where ``load`` finds them."""
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(asdict(results), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
