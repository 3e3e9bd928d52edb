"""Tables completed by the processes of a Dask cluster: the same files as those of threads."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.missing import teams
from tests.figures import leave_out_reports
from tests.missing.test_learn import FRAME, NUMBERS
from tests.runs.problems import Stopwatch, differing, same_draws

distributed = pytest.importorskip("distributed")

CASES: dict[str, dict[str, Any]] = {
    "exact": {"data": NUMBERS, "method": "exact", "steps": 30},
    "mcmc": {"data": FRAME, "method": "mcmc", "steps": 16},
    "until converged": {"data": NUMBERS, "until_converged": True, "steps": 160},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A scheduler and two worker processes, which know the program from the disk only."""
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    ) as local:
        yield local


@pytest.fixture
def engine(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Options for that cluster; rounds are short, and reports empty."""
    leave_out_reports(monkeypatch)
    monkeypatch.setattr(teams.ThreadTeam, "round_seconds", 0.02)
    monkeypatch.setattr(teams.WorkerTeam, "round_seconds", 0.2)
    return {"engine": "dask", "scheduler": cluster.scheduler_address}


def learn(case: str, out: Path | None, **options: Any) -> op.Posterior:
    usual = {"seed": 3, "chains": 2, "warmup": 4, "checkpoint_seconds": 0.0}
    return op.learn(**usual | CASES[case] | {"out": out, "resume": out is not None} | options)


@pytest.mark.parametrize(
    "case", ["exact", *[pytest.param(one, marks=pytest.mark.long) for one in list(CASES)[1:]]]
)
def test_same_files(case: str, engine: dict[str, Any], tmp_path: Path) -> None:
    threads = learn(case, tmp_path / "threads")
    dask = learn(case, tmp_path / "dask", **engine)
    assert threads.is_complete
    assert dask.is_complete
    assert differing(tmp_path / "threads", tmp_path / "dask") == []


@pytest.mark.parametrize("first", ["dask", pytest.param("threads", marks=pytest.mark.long)])
def test_one_engine_continues_what_the_other_began(
    first: str, engine: dict[str, Any], tmp_path: Path
) -> None:
    learn("exact", tmp_path / "whole")
    engines = [{}, engine] if first == "threads" else [engine, {}]
    begun = learn("exact", tmp_path / "run", **engines[0], progress=Stopwatch(8))
    assert not begun.is_complete
    learn("exact", tmp_path / "run", **engines[1])
    assert differing(tmp_path / "whole", tmp_path / "run") == []


@pytest.mark.long
@pytest.mark.attack("a Dask worker killed while it completes tables", "the same tables")
def test_a_killed_worker(
    cluster: Any, engine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, killed = teams.await_workers, []

    def kill_first(futures: Any) -> Any:
        with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
            if not killed:
                killed.extend(client.run(os.getpid).values())
                os.kill(killed[0], signal.SIGKILL)
        return submit(futures)

    monkeypatch.setattr(teams, "await_workers", kill_first)
    learn("exact", tmp_path / "dask", **engine)
    learn("exact", tmp_path / "threads")
    assert killed
    assert differing(tmp_path / "threads", tmp_path / "dask") == []


@pytest.mark.attack("a damaged chain that a Dask worker finds", "one sentence")
def test_a_damaged_chain(engine: dict[str, Any], tmp_path: Path) -> None:
    learn("exact", tmp_path / "run", **engine, progress=Stopwatch(8))
    path = tmp_path / "run" / "checkpoint" / "chain-1.checkpoint"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(op.CheckpointError, match=r"checkpoint .*damaged, as its end is missing"):
        learn("exact", tmp_path / "run", **engine)


@pytest.mark.long
def test_workers_of_our_own(engine: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a scheduler processes are started, and a place on disk is found."""
    monkeypatch.setattr("outpoint.runs.dask.n_threads", lambda: 2)
    threads, dask = learn("exact", None), learn("exact", None, engine="dask")
    assert same_draws(threads, dask)
    assert np.array_equal(threads.holes.tables, dask.holes.tables)
