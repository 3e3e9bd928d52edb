"""``docs/tables.md``, written from the results."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.pages import DOCS, markdown, replace_blocks
from benchmarks.tables.rows import Results, Row
from benchmarks.tables.trial import DONE, FAILED, GIVEN, LATE, ORDER, REFUSED

PAGE = DOCS / "tables.md"


def write(results: Results, path: Path = PAGE) -> None:
    """Write the tables of the page."""
    replace_blocks(
        path,
        {
            "selection": selection(results),
            "totals": totals(results.rows),
            "commands": commands(results.rows),
            "refused": listing(results.rows, REFUSED, FAILED, LATE),
            "late": over_time(results.rows),
            "names": names(results.rows),
        },
    )


def selection(results: Results) -> str:
    """How many tables there are, and why others were left out."""
    tried = Counter(row.collection for row in results.rows)
    found = [
        [f"`{name}`: suitable, each once", str(count)] for name, count in results.suitable.items()
    ]
    found += [[f"`{name}`: tried", str(tried[name])] for name in results.suitable]
    left_out = sorted(results.left_out.items(), key=lambda item: -item[1])
    found += [[f"left out: {reason}", str(count)] for reason, count in left_out]
    return markdown(("tables", "number"), found)


def totals(rows: Sequence[Row]) -> str:
    """What came of the tables, and what they took."""
    ran = [row for row in rows if row.outcome == DONE]
    counts = {
        "tried": len(rows),
        "ran at once": len(ran),
        "refused": _count(rows, REFUSED),
        "failed": _count(rows, FAILED),
        f"no answer: {LATE}": _count(rows, LATE),
        "of those that ran, all other commands work": sum(not row.broken for row in ran),
        f"took more than {2 * GIVEN:.0f} s": sum(row.over_time for row in rows),
        "exact": sum(row.method == "exact" for row in ran),
        "sampled and converged": sum(row.method != "exact" and bool(row.converged) for row in ran),
        "sampled, not converged": sum(row.converged is False for row in ran),
    }
    lines = [[name, str(count), _share(count, len(rows))] for name, count in counts.items()]
    for name, values in {
        "seconds": [row.seconds for row in ran],
        "processor seconds": [row.processor_seconds for row in ran],
    }.items():
        lines.append([f"{name}: median, 9 in 10, largest", _quantiles(values), ""])
    return markdown(("", "tables", "share"), lines)


def _count(rows: Sequence[Row], outcome: str) -> int:
    return sum(row.outcome == outcome for row in rows)


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.1f} %" if of else ""


def _quantiles(values: Sequence[float]) -> str:
    if not values:
        return ""
    return ", ".join(f"{value:.1f}" for value in np.quantile(values, [0.5, 0.9, 1.0]))


def commands(rows: Sequence[Row]) -> str:
    """How often each command was done on a run, and what was said where it was not."""
    lines = []
    for name in ORDER[1:]:
        tried = [row for row in rows if name in row.commands]
        found = Counter(row.commands[name] for row in tried)
        said = Counter(row.complaints[name] for row in tried if name in row.complaints)
        lines.append(
            [
                name,
                *(str(found[outcome]) for outcome in (DONE, REFUSED, FAILED, LATE)),
                "; ".join(f"{_cell(text)} ({count})" for text, count in said.most_common(3)),
            ]
        )
    return markdown(("command", DONE, "explained", FAILED, LATE, "what was said"), lines)


def listing(rows: Sequence[Row], *outcomes: str) -> str:
    """The tables of some outcomes, with what was said."""
    found = [row for row in rows if row.outcome in outcomes]
    lines = [[_name(row), row.outcome, _cell(row.said)] for row in found]
    return markdown(("table", "outcome", "reason"), lines) if found else "None.\n"


def over_time(rows: Sequence[Row]) -> str:
    """The tables that took more than twice their time."""
    lines = [
        [
            _name(row),
            f"{row.rows:,} × {row.columns}",
            row.method,
            f"{row.seconds:.0f}",
            f"{row.processor_seconds:.0f}",
        ]
        for row in rows
        if row.over_time
    ]
    if not lines:
        return "None.\n"
    return markdown(("table", "size", "method", "seconds", "processor s"), lines)


def names(rows: Sequence[Row]) -> str:
    """All tables that were tried, by collection."""
    collections = dict.fromkeys(row.collection for row in rows)
    return "\n\n".join(
        f"`{one}`: {', '.join(sorted(row.name for row in rows if row.collection == one))}."
        for one in collections
    )


def _name(row: Row) -> str:
    return f"{row.collection}: {row.name}"


def _cell(text: str) -> str:
    """A text that does not end its cell."""
    return text.replace("|", "\\|")
