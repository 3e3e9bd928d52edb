"""What every run of the tests does, however started: current kernels, long tests on request."""

import os
from collections import Counter
from pathlib import PurePath
from typing import Any

import pytest
from tests.kernel_cache import compile_common, forget_stale

LONG = "left to --all"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the long statistical tests too")


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if is_worker(config):
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers share the processors
    else:
        forget_stale()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers start, compile what they all need: each would compile it for itself."""
    config = session.config
    has_workers = bool(config.getoption("numprocesses", None))
    is_whole = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if has_workers and is_whole and not is_worker(config):
        compile_common()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all") or "long" in config.getoption("markexpr"):
        return
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.skip(reason=LONG))


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Long tests that are not run have a category of their own, apart from other skips."""
    if report.skipped and isinstance(report.longrepr, tuple) and LONG in report.longrepr[2]:
        return LONG, "l", LONG.upper()
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    left = Counter(
        PurePath(report.nodeid.partition("::")[0])
        for report in terminalreporter.stats.get(LONG, [])
    )
    if left:
        terminalreporter.section(f"{left.total()} long tests left to ./dev test --all")
        for folder in sorted({path.parent for path in left}):
            files = {path.stem: n for path, n in sorted(left.items()) if path.parent == folder}
            listed = ", ".join(f"{name} {n}" for name, n in files.items())
            terminalreporter.write_line(f"{folder}: {listed}")
