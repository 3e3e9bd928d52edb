"""How time and memory grow with variables, rows and parents; what dominates.

``./dev bench scaling [PART...] [SIZE...]`` measures each case in a process of its own, draws the
figures of ``docs/scaling.md`` and writes its tables. Parts: ``nodes``, ``rows``, ``parents``,
``exact``; ``page`` draws and writes again from the results of earlier runs. With sizes, only the
cases of a part with so many variables, rows or parents.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.measuring import measure
from benchmarks.pages import RESULTS
from benchmarks.problems import compile_kernels
from benchmarks.scaling.page import write_page
from benchmarks.scaling.tables import FEW, MANY, Case

FILE = RESULTS / "scaling.json"
LIMIT = 1200.0
NODES = (5, 10, 20, 50, 100, 200, 441)
ROWS = (100, 1_000, 10_000, 100_000)
PARENTS = (1, 2, 3, 4, 5, 6)
EXACT = (10, 12, 14, 16, 18, 20)
PARTS = {"nodes": "n_nodes", "rows": "n_obs", "parents": "max_parents", "exact": "n_nodes"}
"""The parts, and what varies in them."""

KINDS = ("gaussian", "categorical")


def cases(part: str) -> list[dict[str, Any]]:
    """What a part measures."""
    if part == "nodes":
        return [
            {"case": "sampled", "n_nodes": n, "n_obs": 500, "steps": 10_000 if n <= 100 else 2_000}
            for n in NODES
        ]
    if part == "rows":
        sampled = [
            {"case": "sampled", "n_nodes": 20, "n_obs": n, "steps": 2_000, "kind": kind}
            for kind in KINDS
            for n in ROWS
        ]
        scored = [
            {"case": "scored", "n_nodes": 40, "n_obs": n, "max_parents": 3, "kind": kind}
            for kind in KINDS
            for n in ROWS
        ]
        return scored + sampled
    if part == "parents":
        sampled = [
            {"case": "sampled", "n_nodes": 40, "n_obs": 500, "steps": 2_000, "max_parents": k}
            for k in PARENTS
        ]
        scored = [
            {"case": "scored", "n_nodes": 25, "n_obs": 500, "max_parents": k, "kind": kind}
            for kind in KINDS
            for k in PARENTS
        ]
        return scored + sampled
    sums = [{"case": "exact", "n_nodes": n, "n_obs": n_obs} for n_obs in (FEW, MANY) for n in EXACT]
    return [{"case": "machine"}, *sums]


def main(arguments: list[str]) -> None:
    """Measure the parts, keep what was found, and write the page."""
    sizes = {int(word) for word in arguments if word.isdigit()}
    chosen = [word for word in arguments if not word.isdigit()]
    if unknown := [part for part in chosen if part not in (*PARTS, "page")]:
        sys.exit(f"no part {unknown[0]!r}; there are: {', '.join((*PARTS, 'page'))}")
    results = json.loads(FILE.read_text()) if FILE.exists() else {}
    measured_parts = [part for part in chosen or PARTS if part != "page"]
    if measured_parts:
        compile_kernels()
    for part in measured_parts:
        for case in cases(part):
            if sizes and case.get(PARTS[part]) not in sizes:
                continue
            measured = measure(
                [sys.executable, "-m", "benchmarks.scaling.case", json.dumps(case)], limit=LIMIT
            )
            if measured.failure:
                print(f"{case}: {measured.failure}", flush=True)
                continue
            found = json.loads(measured.printed) | {"peak_megabytes": measured.peak_bytes / 1e6}
            results[part] = merge(part, results.get(part, []), case | found)
            print(json.dumps(case | found), flush=True)
            FILE.parent.mkdir(exist_ok=True)
            FILE.write_text(json.dumps(results, indent=1) + "\n")
    write_page(results)


def merge(part: str, old: Sequence[Case], new: Case) -> list[Case]:
    """What was found for the cases of a part, in their order, with a new one in its place."""
    found = [new, *old]
    in_order = [next((f for f in found if case.items() <= f.items()), None) for case in cases(part)]
    return [case for case in in_order if case is not None]
