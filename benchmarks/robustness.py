"""What was tried to break the program, how often, and whether it held: a table made by the tests.

A test that attacks says so: ``@pytest.mark.attack("killed at a random time", "continues to the same
bytes", times=3)``: what is tried, what must then happen, and how often the test tries it. A test
that knows the number only when it runs gives it to pytest's ``record_property("attacks", number)``.
The tests run, are counted, and make the rows of ``docs/robustness.md``. What a test has tried was
withstood if the test has passed.
"""

from dataclasses import dataclass
from typing import Any

import pytest


@dataclass
class Row:
    """One kind of attack."""

    then: str = ""
    tried: int = 0
    withstood: int = 0


class Counter:
    """A plugin for pytest that counts the attacks of the tests that run."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """Count what the test has tried, once it has run."""
        report = yield
        if report.when == "call" and not report.skipped:
            for marker in item.iter_markers("attack"):
                self._count(report, *marker.args, **marker.kwargs)
        return report

    def _count(self, report: Any, what: str, then: str = "", times: int = 1) -> None:
        times = dict(report.user_properties).get("attacks", times)
        row = self.rows.setdefault(what, Row())
        row.then = row.then or then
        row.tried += times
        row.withstood += times if report.passed else 0

    def table(self) -> str:
        """The rows in Markdown, in the order of their names."""
        lines = ["| what was tried | what must happen | times | withstood |", "|---|---|---:|---:|"]
        lines += [
            f"| {what} | {row.then} | {row.tried:,} | {row.withstood:,} |"
            for what, row in sorted(self.rows.items())
        ]
        total = sum(row.tried for row in self.rows.values())
        held = sum(row.withstood for row in self.rows.values())
        return "\n".join([*lines, f"| all | | {total:,} | {held:,} |"])


def main(arguments: list[str]) -> None:
    """Arguments go to pytest: ``-m 'attack and not long'`` leaves the long attacks out."""
    counter = Counter()
    chosen = [] if "-m" in arguments else ["--all", "-m", "attack"]
    code = pytest.main(["-q", *chosen, *arguments], plugins=[counter])
    print("\n" + counter.table())
    if code:
        raise SystemExit(int(code))
