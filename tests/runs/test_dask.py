"""Chains and tables by the processes of a Dask cluster: the same numbers as those of threads."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.runs import driving, teams
from outpoint.runs.checkpoint import read_checkpoint
from outpoint.runs.dask import dask_executor
from outpoint.scores import build_prior
from outpoint.tables import build_table
from outpoint.tables.view import open_view, save_view, view_table
from tests import grids
from tests.runs.problems import (
    NUMBERS,
    Stopwatch,
    differing,
    environment,
    interrupt,
    learn,
    python,
    same_draws,
)

distributed = pytest.importorskip("distributed")


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
def engine(cluster: Any, short_rounds: pytest.MonkeyPatch) -> dict[str, Any]:
    short_rounds.setattr(driving, "FIRST_ROUND", 1000)
    return {"engine": "dask", "scheduler": cluster.scheduler_address}


@pytest.mark.parametrize("case", grids.first(["mcmc", "partition+rev", "order until converged"]))
def test_same_files(case: str, engine: dict[str, Any], tmp_path: Path) -> None:
    learn(case, tmp_path / "threads")
    learn(case, tmp_path / "dask", **engine)
    assert differing(tmp_path / "threads", tmp_path / "dask") == []


@pytest.mark.parametrize("first", grids.first(["threads", "dask"]))
def test_one_engine_continues_what_the_other_began(
    first: str, engine: dict[str, Any], tmp_path: Path
) -> None:
    case = "structure until converged"
    learn(case, tmp_path / "whole")
    engines = [{}, engine] if first == "threads" else [engine, {}]
    interrupt(case, tmp_path / "run", 1200, **engines[0])
    learn(case, tmp_path / "run", **engines[1])
    assert differing(tmp_path / "whole", tmp_path / "run") == []


@pytest.mark.long
@pytest.mark.parametrize("first", ["threads", "dask"])
def test_ladders_tuned_by_both_engines(
    first: str, engine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some tuning by one, some by the other; then a longer run of what has ended."""
    monkeypatch.setattr(driving, "FIRST_ROUND", 400)
    options: dict[str, Any] = {"n_candidates": 2, "max_parents": 2, "steps": 12_000}
    longer = options | {"steps": 15_000}
    learn("mcmc", tmp_path / "whole", **options)
    engines = [{}, engine] if first == "threads" else [engine, {}]
    interrupt("mcmc", tmp_path / "run", 400, **options, **engines[0])
    interrupt("mcmc", tmp_path / "run", 1600, **options, **engines[1])
    learn("mcmc", tmp_path / "run", **options, **engines[0])
    assert differing(tmp_path / "whole", tmp_path / "run") == []
    learn("mcmc", tmp_path / "whole", **longer)
    learn("mcmc", tmp_path / "run", **longer, **engines[1])
    assert differing(tmp_path / "whole", tmp_path / "run") == []


class WorkerKiller(Thread):
    """Kills workers that have a task, one after the other."""

    def __init__(self, address: str, run: Path, kills: int) -> None:
        super().__init__()
        self._address = address
        self._run = run
        self._wanted = kills
        self.kills = 0
        self.over = Event()

    def run(self) -> None:
        with distributed.Client(self._address, set_as_default=False) as client:
            while self.kills < self._wanted and not self.over.wait(0.1):
                if not (self._run / "checkpoint" / "chain-0.checkpoint").exists():
                    continue
                busy = [worker for worker, tasks in client.processing().items() if tasks]
                pids = client.run(os.getpid, workers=busy, on_error="ignore") if busy else {}
                if pids:
                    os.kill(next(iter(pids.values())), signal.SIGKILL)
                    self.kills += 1
                    self.over.wait(1.0)


@pytest.mark.long
@pytest.mark.attack("a Dask worker killed", "the same draws")
def test_killed_workers(
    cluster: Any, engine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers die with SIGKILL while they work; the result does not change."""
    monkeypatch.setattr(driving, "FIRST_ROUND", 40_000)
    options: dict[str, Any] = {"steps": 240_000, "draws": 500}
    learn("partition", tmp_path / "threads", **options)
    killer = WorkerKiller(cluster.scheduler_address, tmp_path / "dask", kills=1)
    killer.start()
    try:
        learn("partition", tmp_path / "dask", **options, **engine)
    finally:
        killer.over.set()
        killer.join()
    assert killer.kills >= 1
    assert differing(tmp_path / "threads", tmp_path / "dask") == []


@pytest.mark.long
def test_workers_of_our_own(short_rounds: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a scheduler processes are started, and a place on disk is found."""
    short_rounds.setattr(driving, "FIRST_ROUND", 1000)
    short_rounds.setattr("outpoint.runs.dask.n_threads", lambda: 2)
    assert same_draws(learn("mcmc", resume=False), learn("mcmc", resume=False, engine="dask"))


@pytest.mark.long
def test_interrupted(engine: dict[str, Any], tmp_path: Path) -> None:
    """What the workers had done is saved; the posterior of it says that it is not all."""
    learn("mcmc", tmp_path / "whole")
    posterior = learn("mcmc", tmp_path / "run", **engine, progress=Stopwatch(2000))
    assert not posterior.is_complete
    assert posterior.verdict.startswith("interrupted after ")
    learn("mcmc", tmp_path / "run", **engine)
    assert differing(tmp_path / "whole", tmp_path / "run") == []


def test_tasks_under_way_are_stopped(
    cluster: Any, engine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while workers are at a long round: they save what they have, and do not go on."""
    monkeypatch.setattr(driving, "FIRST_ROUND", 10**9)
    submit = teams.WorkerTeam.advance_to

    def interrupted(team: teams.WorkerTeam, target: int) -> None:
        interruption = Thread(
            target=lambda: (Event().wait(1.5), os.kill(os.getpid(), signal.SIGINT))
        )
        interruption.start()
        try:
            submit(team, target)
        finally:
            interruption.join()

    monkeypatch.setattr(teams.WorkerTeam, "advance_to", interrupted)
    options: dict[str, Any] = {"steps": 10**9, "draws": 1000, "warmup": 0}
    with suppress(KeyboardInterrupt):  # if no draw is kept yet
        learn("partition", tmp_path / "run", **options, **engine)
    steps = [
        read_checkpoint(path)[1]["counters"][0]
        for path in (tmp_path / "run" / "checkpoint").glob("chain-*.checkpoint")
    ]
    assert len(steps) >= 2, "two workers had a chain each"
    assert 0 < max(steps) < 10**9
    with distributed.Client(cluster.scheduler_address, set_as_default=False) as client:
        assert not any(client.processing().values())


@pytest.mark.long
def test_time_is_remembered(engine: dict[str, Any], tmp_path: Path) -> None:
    """Order MCMC is never said to have converged, so that its state is kept."""
    options: dict[str, Any] = {"method": "order", "draws": 50, "seed": 1, "out": tmp_path / "a"}
    first = op.learn(NUMBERS, **options, time=1.0, **engine)
    again = op.learn(NUMBERS, **options, time=1.0, resume=True, **engine)
    assert again.steps_per_chain == first.steps_per_chain, "the time was up"
    more = op.learn(NUMBERS, **options, time=2.0, resume=True, **engine)
    assert more.steps_per_chain > first.steps_per_chain


@pytest.mark.attack("a Dask worker that fails", "one sentence")
def test_failure_of_a_worker(engine: dict[str, Any], tmp_path: Path) -> None:
    """A worker's failure is told in the words of the worker."""
    interrupt("mcmc", tmp_path / "run", 1000, **engine)
    path = tmp_path / "run" / "checkpoint" / "chain-1.checkpoint"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(op.CheckpointError, match=r"checkpoint .*damaged, as its end is missing"):
        learn("mcmc", tmp_path / "run", **engine)


def test_workers_that_cannot_see_the_directory(
    engine: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose_the_table(team: teams.WorkerTeam, target: int) -> None:
        for path in (tmp_path / "run" / "checkpoint").glob("table-*"):
            shutil.rmtree(path)
        advance(team, target)

    advance = teams.WorkerTeam.advance_to
    monkeypatch.setattr(teams.WorkerTeam, "advance_to", lose_the_table)
    with pytest.raises(op.CheckpointError, match=r"the workers have failed \(FileNotFoundError"):
        learn("partition", tmp_path / "run", seed=1234, structure_prior="uniform", **engine)


@pytest.mark.attack("an address without a Dask scheduler", "a sentence, in seconds", times=3)
def test_no_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens, or somebody who is no scheduler and never says a word."""
    monkeypatch.setattr("outpoint.runs.dask.CONNECTING", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        used = f"tcp://127.0.0.1:{mute.getsockname()[1]}"
        for address in ("nonsense://x", "tcp://127.0.0.1:1", used):
            with pytest.raises(op.OptionError, match="no Dask scheduler answers at"):
                learn("mcmc", tmp_path / "run", engine="dask", scheduler=address)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(op.OptionError, match="belongs to engine='dask'"):
        learn("mcmc", tmp_path / "run", scheduler="tcp://x:1")
    with pytest.raises(op.OptionError, match="give a directory"):
        learn("mcmc", resume=False, engine="dask", scheduler="tcp://x:1")


# Clusters that are lost


def dask(*words: str) -> subprocess.Popen[bytes]:
    """A process of Dask's command line."""
    return subprocess.Popen(
        [sys.executable, "-m", *words],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture
def scheduler() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler without workers, in a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    process = dask("distributed.cli.dask_scheduler", *words)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            break
        time.sleep(0.1)
    yield f"tcp://127.0.0.1:{port}", process
    process.kill()
    process.wait()


@pytest.mark.attack("a Dask cluster without workers", "a sentence, in seconds")
def test_no_workers(
    scheduler: tuple[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("outpoint.runs.dask.PATIENCE", 1.0)
    with pytest.raises(op.OptionError, match="has no workers: start some"):
        learn("mcmc", tmp_path / "run", engine="dask", scheduler=scheduler[0], time=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
@pytest.mark.attack("a Dask scheduler, or all workers, killed", "a sentence, can be continued")
@pytest.mark.parametrize("victim", ["scheduler", "worker"])
def test_a_lost_cluster(
    victim: str,
    scheduler: tuple[str, subprocess.Popen[bytes]],
    tmp_path: Path,
    short_rounds: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """In the middle of a run; the sentence is all that is said, and threads can go on."""
    short_rounds.setattr("outpoint.runs.dask.PATIENCE", 8.0)
    short_rounds.setattr(driving, "FIRST_ROUND", 1000)
    address, process = scheduler
    words = ["--nthreads", "1", "--no-dashboard", "--no-nanny"]
    worker = dask("distributed.cli.dask_worker", address, *words)
    options: dict[str, Any] = {"steps": 200_000, "draws": 500}

    def kill(progress: Any) -> None:
        if progress.chains and progress.chains[0].step > 5000:
            (process if victim == "scheduler" else worker).kill()

    try:
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
        with pytest.raises(op.CheckpointError, match=r"no workers any more.* resume=True"):
            learn(
                "partition",
                tmp_path / "run",
                **options,
                engine="dask",
                scheduler=address,
                progress=kill,
            )
    finally:
        worker.kill()
        worker.wait()
    assert "Traceback" not in capfd.readouterr().err
    learn("partition", tmp_path / "run", **options)
    learn("partition", tmp_path / "whole", **options)
    assert differing(tmp_path / "whole", tmp_path / "run") == []


LISTENING = """
import psutil
from http.client import HTTPConnection, HTTPException
from outpoint.processors import limited_threads
from outpoint.runs.dask import dask_executor

def shows_a_page(port):
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/status")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()

with limited_threads(1), dask_executor(None):
    own = psutil.Process()
    places = [
        place.laddr
        for process in (own, *own.children(recursive=True))
        for place in process.net_connections(kind="inet")
        if place.status == "LISTEN"
    ]
    print(*sorted({place.ip for place in places}), any(shows_a_page(p.port) for p in places))
"""


def test_a_local_cluster_is_seen_from_here_only() -> None:
    """Nothing listens to other machines, and there is no dashboard."""
    pytest.importorskip("psutil")
    done = python("-c", LISTENING)
    assert done.stdout == "127.0.0.1 False\n", done.stderr


# Tables


@lru_cache
def random_scores(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(5, 32))


def custom(seed: int) -> op.CustomScore:
    def score(child: int, parents: tuple[int, ...]) -> float:
        return float(random_scores(seed)[child, sum(1 << u for u in parents)])

    return op.CustomScore(score)


@pytest.mark.parametrize("kind", grids.first(["bge", "bdeu", "custom"]))
def test_tables(kind: str, cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outpoint.scores.base.PART", 7)
    data = op.datasets.asia() if kind == "bdeu" else NUMBERS
    score = {"bge": op.BGe(), "bdeu": op.BDeu(), "custom": custom(1)}[kind]
    scorer, prior = score.bind(data), build_prior(data.names)
    limit = 3
    alone = build_table(data.names, scorer, prior, max_parents=limit)
    with dask_executor(cluster.scheduler_address) as pool:
        spread = build_table(data.names, scorer, prior, max_parents=limit, pool=pool)
    np.testing.assert_array_equal(alone.dense.values, spread.dense.values)
    np.testing.assert_array_equal(alone.candidates, spread.candidates)
    for one, other in zip(alone.ranked, spread.ranked, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.long
def test_two_custom_scores_in_one_directory(engine: dict[str, Any], tmp_path: Path) -> None:
    """Workers live longer than runs: they must not take the table of one for that of the next."""
    for seed in (1, 2):
        options: dict[str, Any] = {"score": custom(seed), "resume": False, "overwrite": True}
        threads = learn("partition", **options | {"overwrite": False})
        assert same_draws(threads, learn("partition", tmp_path / "run", **options, **engine))


def test_tables_with_other_outside_sets_have_other_names() -> None:
    """One candidate each: with a higher limit on parents all that changes are the outside sets."""
    data = op.datasets.asia()
    scorer, prior = op.BDeu().bind(data), build_prior(data.names)
    one, other = (
        view_table(build_table(data.names, scorer, prior, max_parents=k, n_candidates=1))
        for k in (2, 3)
    )
    np.testing.assert_array_equal(one.dense, other.dense)
    np.testing.assert_array_equal(one.candidates, other.candidates)
    assert len(one.outside.score) != len(other.outside.score)
    assert teams._digest(one) != teams._digest(other)
    assert teams._digest(one) == teams._digest(one._replace(dense=one.dense.copy()))


def test_views_on_disk(tmp_path: Path) -> None:
    data = op.datasets.asia()
    table = build_table(data.names, op.BDeu().bind(data), build_prior(data.names), max_parents=2)
    view = view_table(table)
    save_view(view, tmp_path / "table")
    read = open_view(tmp_path / "table")
    for one, other in zip(view, read, strict=True):
        pairs = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
        for array, again in pairs:
            np.testing.assert_array_equal(array, again)
            assert array.dtype == again.dtype
