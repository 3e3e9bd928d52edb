"""Tables that nobody here wrote, run as a new user would: what is refused, what fails, what waits.

``python -m benchmarks tables`` takes them from two public collections, tries every command on each
and writes ``docs/tables.md``.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables import page
from benchmarks.tables.children import AT_ONCE, LIMIT, Job, try_all
from benchmarks.tables.public import EACH, Index, list_tables
from benchmarks.tables.rows import ROWS, Results, Row, load, make_row, save
from benchmarks.tables.trial import DONE, Step
from benchmarks.tables.warming import write_examples

AGAIN = 10
"""Of so many tables the run of one is made again."""

COMPILING = 1200.0
"""Seconds for a command that has to compile."""


def main(arguments: Sequence[str]) -> None:
    """Run the benchmark."""
    options = _parse(arguments)
    if options.page:
        page.write(load())
        return
    out = Path(options.out)
    with tempfile.TemporaryDirectory() as folder:
        _compile(Path(folder))
        index = list_tables(Path(options.folder or folder), options.each)
        results = Results(index.suitable, index.left_out)
        if options.more and out.exists():
            results.rows = load(out).rows
        _try_tables(index, results, options)
    save(results, out)
    if out == ROWS:
        page.write(results)
    print(page.totals(results.rows))


def _try_tables(index: Index, results: Results, options: argparse.Namespace) -> None:
    """Add a row for every table that has none, and keep what there is after each."""
    entries = {entry.key: entry for entry in index.entries}
    known = {row.key for row in results.rows}
    jobs = [
        Job(key, entry.file, again=number % AGAIN == 0)
        for number, (key, entry) in enumerate(entries.items())
        if key not in known and (not options.only or key in options.only)
    ]
    details = []
    for job, facts, steps in try_all(jobs, limit=options.limit, at_once=options.at):
        entry = entries[job.key]
        row = make_row(entry.collection, entry.name, (entry.rows, entry.columns), facts, steps)
        results.rows.append(row)
        results.sort(list(entries))
        save(results, Path(options.out))
        print(_progress(len(results.rows), len(entries), row), file=sys.stderr, flush=True)
        if options.details:
            details.append(_detail(job.key, facts, steps))
            Path(options.details).write_text(json.dumps(details, indent=1))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--each", type=int, default=EACH, help="tables of either collection")
    parser.add_argument("--only", nargs="+", help="only these tables, as collection/name")
    parser.add_argument("--more", action="store_true", help="keep results that are there")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for every command")
    parser.add_argument("--at", type=int, default=AT_ONCE, help="how many at once")
    parser.add_argument("--folder", help="keep the tables here, or take those that are there")
    parser.add_argument("--details", help="write all that was said to this file")
    parser.add_argument("--out", default=str(ROWS), help="results; the page follows the usual ones")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    return parser.parse_args(arguments)


def _compile(folder: Path) -> None:
    """Have all kernels compiled that the tables may need."""
    files = write_examples(folder)
    for job, _, steps in try_all([Job(f.stem, f, again=False) for f in files], limit=COMPILING):
        wrong = [step for step in steps if step.name == "learn" and step.outcome != DONE]
        print(f"prepared: {job.key}", *(step.said for step in wrong), file=sys.stderr, flush=True)


def _detail(key: str, facts: dict[str, Any], steps: Sequence[Step]) -> dict[str, Any]:
    """All that is known of a table, to look into; not to be kept, as it quotes the table."""
    return {"table": key, **facts, "steps": [step.as_dict() for step in steps]}


def _progress(number: int, of: int, row: Row) -> str:
    broken = f"; broken: {', '.join(row.broken)}" if row.broken else ""
    said = f": {row.said[:100]}" if row.said else ""
    return (
        f"{number}/{of} {row.collection}/{row.name} ({row.rows} x {row.columns}): {row.outcome}, "
        f"{row.seconds:.0f} s, {row.processor_seconds:.0f} processor s{said}{broken}"
    )
