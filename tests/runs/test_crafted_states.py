"""Checkpoints whose content somebody has changed: continued to an end, or refused in a sentence.

Kernels check nothing, so what a state must obey is checked when it is read. Every change is made in
a real checkpoint, which gets a matching checksum.
"""

import json
from itertools import product
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import outpoint as op
from outpoint.errors import CheckpointError
from outpoint.mcmc import SAMPLERS
from outpoint.posterior import SampledPosterior
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from tests.figures import leave_out_reports
from tests.grids import first
from tests.posterior.crafted import Loose
from tests.quick_choice import choose_quickly
from tests.runs.problems import make_numbers

Arrays = dict[str, NDArray[Any]]

DATA = make_numbers(6, 30)
RUN: dict[str, Any] = {
    "steps": 400,
    "draws": 40,
    "chains": 1,
    "seed": 3,
    "n_candidates": 3,
    "max_parents": 2,
}
"""Few candidates: states hold sets outside them, and the hottest power is above 0."""


def saved(out: Path, method: str) -> Path:
    op.learn(DATA, method=method, out=out, **RUN)
    return out


def continued(out: Path) -> SampledPosterior | str:
    """The run taken further, or the sentence that refuses it."""
    sentence = ""
    try:
        posterior = op.learn(DATA, out=out, resume=True, steps=600)
    except CheckpointError as error:
        sentence = str(error)
    if sentence:
        assert str(out) in sentence
        assert "\n" not in sentence
        return sentence
    assert isinstance(posterior, SampledPosterior)
    probabilities = posterior.edge_probabilities.to_numpy()
    assert ((probabilities >= 0) & (probabilities <= 1 + 1e-6)).all()
    return posterior


def changed(out: Path, name: str, values: Any) -> SampledPosterior | str:
    """The run continued with other values in an array of its first chain."""
    path = out / "checkpoint" / "chain-0.checkpoint"
    header, arrays = read_checkpoint(path)
    array = arrays[name]
    arrays[name] = np.asarray(values(array.copy()) if callable(values) else values, array.dtype)
    write_checkpoint(path, header, arrays)
    return continued(out)


def put(place: Any, value: Any) -> Any:
    def change(array: NDArray[Any]) -> NDArray[Any]:
        array[place] = value
        return array

    return change


def text(value: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def generator(**changes: Any) -> Any:
    def change(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
        state = json.loads(array.tobytes())
        for name, value in changes.items():
            part = state if name in state else state["state"]
            part[name] = value
        return text(state)

    return change


STATES = "replicas.states."
CRAFTED: dict[str, dict[str, tuple[Any, str]]] = {
    "mcmc": {
        STATES + "order": (put((0, 0), 7), "does not hold every node once"),
        STATES + "layer": (put((0, 0), -3), "a node is in the wrong layer"),
        STATES + "start": (put((0, 1), 40), "a layer is empty"),
        STATES + "n_layers": (put((0, 0), 10**9), "no layers"),
        STATES + "log_tau": (put((0, 0), np.nan), "the weight of a partition"),
        STATES + "held": (put((0, 0), 10**6), "holds no parent set"),
        "replicas.slot": (put(0, 1), "does not hold every node once"),
        "replicas.trip": (put(0, 9), "nowhere on its trip"),
        "ladder.power": (put(1, 2.0), "powers do not fall"),
        "ladder.attempts": (put(0, -1), "more was accepted"),
        "ladder.rejection": (put(0, np.inf), "a swap was never tried"),
        "ladder.round_trips": (put(0, -1), "round trips"),
        "ladder.moments": (put((0, 0), np.nan), "a mean is not a number"),
        "block": (put(0, 10**12), "no length"),
        "trace.n_edge_sums": (put(0, -5), "not counted as often"),
        "trace.batch_size": (put(0, 0), "batches have the wrong size"),
        "trace.edge_sum": (put((0, 0, 0), -1.0), "probability of an edge"),
        "trace.best_code": (put(0, 1 << 20), "a parent set does not exist"),
        "trace.best_log_score": (put(0, 1e9), "score of its best DAG"),
        "trace.accepted": (put(0, 10**12), "more was accepted"),
        "trace.attempts": (put(0, np.iinfo(np.int64).max), "more was tried than a run can try"),
        "counters": (put(0, -1), "number of steps is impossible"),
        "generator": (generator(inc=0), "random numbers is not valid"),
    },
    "order": {
        "order": (put(0, 3), "does not hold every node once"),
        "position": (put(slice(None), 0), "the wrong place in the order"),
        "log_sum": (put(0, -np.inf), "the weight of an order"),
        "counters": (put(2, 0), "thinned differently"),
        "generator": (generator(uinteger=1 << 40), "random numbers is not valid"),
    },
    "structure+rev": {
        "code": (put(0, -(10**6)), "a parent set does not exist"),
        "counters": (put(1, 10**6), "warm-up is longer"),
        "generator": (generator(bit_generator="MT19937"), "random numbers is not valid"),
    },
    "partition": {
        STATES + "held": (put((0, 1), -2), "holds no parent set"),
        "ladder.power": (put(0, 0.5), "powers do not fall"),
        "generator": (text([]), "random numbers is not valid"),
    },
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        choose_quickly(patch)
        leave_out_reports(patch)
        for method in SAMPLERS:
            saved(place / method, method)
    return place


@pytest.mark.attack("checkpoints with an impossible state", "one sentence that says what is wrong")
@pytest.mark.parametrize(
    ("method", "name"),
    [case for method in CRAFTED for case in first(product([method], CRAFTED[method]), 6)],
)
def test_impossible_states(runs: Path, tmp_path: Path, method: str, name: str) -> None:
    out = copytree(runs / method, tmp_path / "run")
    values, fragment = CRAFTED[method][name]
    found = changed(out, name, values)
    assert isinstance(found, str)
    assert fragment in found


@pytest.mark.attack("checkpoints with an impossible state")
def test_cyclic_graphs(runs: Path, tmp_path: Path) -> None:
    """Each node's first candidate as its only parent: six edges on six nodes."""
    for method, name in (("structure", "code"), ("mcmc", "trace.best_code")):
        out = copytree(runs / method, tmp_path / method)
        found = changed(out, name, put(slice(None), 1))
        assert isinstance(found, str)
        assert "a graph has a cycle" in found


HEADERS: dict[str, Any] = {
    "seconds": [-1.0, "long", None, True, 1e400],
    "draws": [None, {}, [], {"thin": "x"}, {"thin": 10, "count": 10**12, "checksum": 0}],
}


@pytest.mark.attack("checkpoints with an impossible state", times=10)
def test_headers(runs: Path, tmp_path: Path) -> None:
    for name, values in HEADERS.items():
        for number, value in enumerate(values):
            out = copytree(runs / "structure", tmp_path / f"{name}-{number}")
            path = out / "checkpoint" / "chain-0.checkpoint"
            loose = Loose.of(path.read_bytes())
            loose.header[name] = value
            path.write_bytes(loose.sealed())
            assert isinstance(continued(out), str)


IDENTITIES: dict[str, Any] = {
    "candidates": [-1, 6, 10**6],
    "start": [1 << 20, -(10**6)],
    "hottest": [-1.0, np.nan, 1.0],
    "starts": [1 << 20, -(10**6)],
    "scores": [np.nan],
}


@pytest.mark.attack("checkpoints with an impossible state", times=11)
def test_identities(runs: Path, tmp_path: Path) -> None:
    for name, values in IDENTITIES.items():
        for number, value in enumerate(values):
            out = copytree(runs / "mcmc", tmp_path / f"{name}-{number}")
            path = out / "checkpoint" / "run.checkpoint"
            header, arrays = read_checkpoint(path)
            arrays[name].flat[0] = value
            write_checkpoint(path, header, arrays)
            assert isinstance(continued(out), str), (name, value)


def mutate(array: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Another value somewhere: a near one, an extreme one, one from elsewhere in the array."""
    if not array.size:
        return array
    flat = array.reshape(-1)
    place = rng.integers(flat.size)
    if array.dtype.kind == "f":
        choices = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2 * flat[place], rng.choice(flat)]
    else:
        limits = np.iinfo(array.dtype)
        near = [int(np.clip(int(flat[place]) + d, limits.min, limits.max)) for d in (-1, 1)]
        choices = [limits.min, limits.max, 0, *near, rng.choice(flat)]
    flat[place] = choices[rng.integers(len(choices))]
    return array


@pytest.mark.attack("checkpoints with random changes", "one sentence, or a run that goes on")
@pytest.mark.parametrize("n_changes", first([30, 500]))
@pytest.mark.parametrize("method", first(SAMPLERS))
def test_random_changes(
    runs: Path, tmp_path: Path, method: str, n_changes: int, record_property: Any
) -> None:
    record_property("attacks", n_changes)
    rng = np.random.default_rng(n_changes)
    out = copytree(runs / method, tmp_path / "run")
    whole = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    path = out / "checkpoint" / "chain-0.checkpoint"
    header, arrays = read_checkpoint(path)
    refused = 0
    for _ in range(n_changes):
        chosen = {name: array.copy() for name, array in arrays.items()}
        name = list(arrays)[rng.integers(len(arrays))]
        chosen[name] = mutate(chosen[name], rng)
        write_checkpoint(path, header, chosen)
        refused += isinstance(continued(out), str)
        for file, content in whole.items():
            file.write_bytes(content)
    assert 0 < refused <= n_changes
