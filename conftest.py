"""What every run of the tests does, however started: current kernels, long tests on request."""

import pytest
from tests.kernel_cache import compile_common, forget_stale

LONG = "long: left to ./dev test --all"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the long statistical tests too")


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def pytest_configure(config: pytest.Config) -> None:
    if not is_worker(config):
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
