"""How many threads are used: what the user says, the environment, the container, the machine."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import outpoint as op
from outpoint import processors
from outpoint.processors import limited_threads, n_threads, thread_pool


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight processors, no limits; returns where those of control groups would stand."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)), raising=False)
    for variable in processors.VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(processors, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(processors, "OWN_GROUPS", tmp_path / "own")
    (tmp_path / "groups").mkdir()
    return tmp_path


def test_all_processors(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_threads() == 8
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert n_threads() == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [("3", 3), (" 2 ", 2), ("4,2", 4), ("64", 8), ("0", 8), ("-1", 8), ("", 8), ("many", 8)],
)
@pytest.mark.parametrize("variable", processors.VARIABLES)
def test_environment(
    machine: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: int
) -> None:
    monkeypatch.setenv(variable, value)
    assert n_threads() == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("350000 100000", 3),
        ("50000 100000", 1),
        ("6400000 100000", 8),
        ("nonsense", 8),
        ("100000 0", 8),
    ],
)
def test_quota_of_a_container(machine: Path, content: str, expected: int) -> None:
    (machine / "groups" / "cpu.max").write_text(content + "\n")
    assert n_threads() == expected


def test_quota_of_a_group_and_of_those_above_it(machine: Path) -> None:
    """A group has no more than those that it is part of."""
    group = machine / "groups" / "slice" / "job" / "step"
    group.mkdir(parents=True)
    (machine / "own").write_text("0::/slice/job/step\n")
    (group / "cpu.max").write_text("700000 100000")
    assert n_threads() == 7
    (group.parent / "cpu.max").write_text("300000 100000")
    assert n_threads() == 3
    (group.parent.parent / "cpu.max").write_text("max 100000")
    assert n_threads() == 3


def test_quota_of_the_first_version(machine: Path) -> None:
    group = machine / "groups" / "cpu" / "docker" / "x"
    group.mkdir(parents=True)
    (machine / "own").write_text("4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n0::/\n")
    (group / "cpu.cfs_quota_us").write_text("-1\n")
    (group / "cpu.cfs_period_us").write_text("100000\n")
    assert n_threads() == 8
    (group / "cpu.cfs_quota_us").write_text("250000\n")
    assert n_threads() == 2


def test_the_user_decides(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with limited_threads(5):
        assert n_threads() == 5
        with limited_threads(None):
            assert n_threads() == 5
    assert n_threads() == 2


def test_threads_use_no_further_ones() -> None:
    with limited_threads(4), thread_pool(2) as pool:
        assert set(pool.map(lambda _: n_threads(), range(8))) == {1}
        assert n_threads() == 4


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_refused(threads: object) -> None:
    for ask in (op.learn, op.find_map):
        with pytest.raises(op.OptionError, match="threads must be a whole number from 1"):
            ask("asia", threads=threads)  # type: ignore[operator]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_threads_than_allowed(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables, exact sums, searches and chains: nothing starts a pool of another size."""
    sizes: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, max_workers: int, **options: Any) -> None:
            sizes.append(max_workers)
            super().__init__(max_workers, **options)

    monkeypatch.setattr(processors, "ThreadPoolExecutor", Pool)
    data = op.datasets.asia()

    def compute(threads: int) -> list[float | None]:
        sizes.clear()
        exact = op.learn(data, seed=1, threads=threads)
        best = op.find_map(data, method="search", seed=1, runs=4, threads=threads)
        sampled = op.learn(data, method="mcmc", steps=200, seed=1, threads=threads)
        assert set(sizes) == {threads}
        return [exact.log_evidence, best.log_score, sampled.map_log_score]

    assert compute(threads) == compute(2)
