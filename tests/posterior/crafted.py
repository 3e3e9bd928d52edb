"""Files of posteriors that somebody has made: a sentence or valid answers, and nothing else.

As a program it reads many such files one after the other, in bounded memory and time, and prints
what came of them: ``python -m tests.posterior.crafted DIRECTORY FIRST LAST``.
"""

import hashlib
import io
import json
import resource
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import outpoint as op
from outpoint.posterior import summarize
from outpoint.posterior.sealed import SEAL

MORE_MEMORY = 3 << 30
"""Bytes of address space beyond those of a process that has read a good file."""

SECONDS = 60
"""For one file."""

NUMBERS = [0, 1, -1, 2, -5, 7, 30, 31, 32, 127, 255, -128, 2**15, 2**31 - 1, -(2**31), 2**62]
REALS = [0.0, -0.0, 1.0, -1.0, -5.0, 0.5, 1.5, 1e300, -1e300, 1e-300, np.nan, np.inf, -np.inf]
VALUES: list[Any] = [
    None,
    True,
    [],
    {},
    "",
    "x",
    0,
    -1,
    10**30,
    1.5,
    [[]],
    {"a": 1},
    "a\nb",
    "\x00",
]


def seal(content: bytes) -> bytes:
    return content + SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def altered(good: bytes, change: Callable[[h5py.File], None]) -> bytes:
    """The file after a change to what it holds, with a checksum that matches."""
    buffer = io.BytesIO(good.rpartition(SEAL)[0])
    with h5py.File(buffer, "r+") as file:
        change(file)
    return seal(buffer.getvalue())


def put(file: h5py.File, name: str, values: Any, **options: Any) -> None:
    """Replace an array, whatever its shape and type."""
    if name in file:
        del file[name]
    file.create_dataset(name, data=values, **options)


def mutated(good: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three random changes of what it holds, or of its bytes."""
    if rng.random() < 0.15:
        return with_flipped_bytes(good, rng)
    for _ in range(rng.integers(1, 4)):
        change = CHANGES[rng.integers(len(CHANGES))]
        try:
            good = altered(good, lambda file, change=change: change(file, rng))
        except Exception:  # nothing like that can be done to this file
            continue
    return good


def with_flipped_bytes(good: bytes, rng: np.random.Generator) -> bytes:
    content = bytearray(good.rpartition(SEAL)[0])
    for _ in range(rng.integers(1, 6)):
        content[rng.integers(len(content))] = rng.integers(256)
    return seal(bytes(content))


def _some_array(file: h5py.File, rng: np.random.Generator) -> str:
    names = sorted(name for name, kind in file.items() if isinstance(kind, h5py.Dataset))
    return names[rng.integers(len(names))]


def _hostile(dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    if dtype.kind == "f":
        return REALS[rng.integers(len(REALS))]
    limits = np.iinfo(dtype)
    fitting = [number for number in NUMBERS if limits.min <= number <= limits.max]
    return fitting[rng.integers(len(fitting))]


def change_values(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    values = file[name][()]
    if np.size(values):
        values = np.array(values)
        places = rng.integers(values.size, size=rng.integers(1, 4))
        values.reshape(-1)[places] = _hostile(values.dtype, rng)
        file[name][...] = values


def fill_values(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    file[name][...] = _hostile(file[name].dtype, rng)


def shuffle_values(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    file[name][...] = rng.permutation(np.array(file[name]).ravel()).reshape(file[name].shape)


def change_shape(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    values = np.array(file[name])
    ways = [values.ravel(), values[None], values.T, values[..., :0], np.repeat(values, 2, axis=-1)]
    put(file, name, ways[rng.integers(len(ways))] if values.ndim else values[None])


def change_type(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    types = ["f4", "f8", ">f8", "i1", "i8", ">i4", "u8", "u1", "S3", "c16", "?"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        put(file, name, np.array(file[name]).astype(types[rng.integers(len(types))]))


def declare_much(file: h5py.File, rng: np.random.Generator) -> None:
    """A huge array of which nothing, or nothing but zeros, is stored."""
    name = _some_array(file, rng)
    old = file[name]
    shape = [int(size * 10 ** rng.integers(0, 5)) + 1 for size in old.shape]
    packed = bool(rng.integers(2)) and len(shape) > 0
    dtype = old.dtype
    del file[name]
    file.create_dataset(
        name, tuple(shape), dtype, compression="gzip" if packed else None, fillvalue=0
    )


def remove(file: h5py.File, rng: np.random.Generator) -> None:
    del file[_some_array(file, rng)]


def link_elsewhere(file: h5py.File, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    del file[name]
    file[name] = [h5py.ExternalLink("/etc/passwd", "/"), h5py.SoftLink(f"/{name}")][rng.integers(2)]


def change_number(file: h5py.File, rng: np.random.Generator) -> None:
    names = sorted(name for name in file.attrs if name != "_NCProperties")
    name = names[rng.integers(len(names))]
    kind = rng.integers(4)
    if kind == 0:
        del file.attrs[name]
    elif kind == 1:
        file.attrs[name] = np.zeros(3) if rng.integers(2) else "text"
    else:
        file.attrs[name] = REALS[rng.integers(len(REALS))]


def get_text(file: h5py.File, name: str) -> str:
    return bytes(np.array(file[name])).decode()


def put_text(file: h5py.File, name: str, text: str) -> None:
    put(file, name, np.frombuffer(text.encode(), dtype=np.uint8))


def change_text(file: h5py.File, rng: np.random.Generator) -> None:
    name = ["info", "names", "posterior", "kind", "moves"][rng.integers(5)]
    deep = "[" * int(rng.integers(1, 20_000))
    put_text(file, name, deep if rng.random() < 0.1 else _other_text(get_text(file, name), rng))


def _other_text(value: str, rng: np.random.Generator) -> str:
    try:
        told = json.loads(value)
    except ValueError:
        return "other"
    odd = VALUES[rng.integers(len(VALUES))]
    if isinstance(told, dict) and told:
        key = sorted(told)[rng.integers(len(told))]
        told[key if rng.random() < 0.9 else "more"] = odd
    elif isinstance(told, list) and told:
        told[rng.integers(len(told))] = odd if rng.random() < 0.5 else told[0]
        told = told[: rng.integers(1, len(told) + 1)] if rng.random() < 0.3 else told
    return json.dumps(told)


CHANGES: list[Callable[[h5py.File, np.random.Generator], None]] = [
    change_values,
    change_values,
    fill_values,
    shuffle_values,
    change_shape,
    change_type,
    declare_much,
    remove,
    link_elsewhere,
    change_number,
    change_text,
    change_text,
]


def check_answers(posterior: op.Posterior) -> None:
    """Ask for everything; what is a probability must be one."""
    n = len(posterior.names)
    for table in (posterior.edge_probabilities, posterior.ancestor_probabilities):
        assert table.shape == (n, n)
        assert ((table.to_numpy() >= 0) & (table.to_numpy() <= 1)).all()
    rows = posterior.diagnostics()
    assert rows["probability"].between(0, 1).all()
    assert isinstance(posterior.verdict, str)
    assert posterior.map_dag.n_nodes == n
    assert np.isfinite(posterior.map_log_score)
    json.dumps(summarize(posterior), allow_nan=False)
    for name in posterior.names:
        shares = [share for _, share in posterior.parent_set_probabilities(name)]
        assert all(0 <= share <= 1 + 1e-6 for share in shares)
    best = posterior.top_dags(3)
    assert best["probability"].between(0, 1 + 1e-6).all()
    assert 0 <= posterior.probability(lambda dag: len(dag.edges) > 2) <= 1
    assert posterior.dags().shape[-1] == n
    for dag in posterior.iter_dags():
        assert dag.n_nodes == n
        break
    if posterior.model is not None and np.count_nonzero(posterior.model.scales) > 1:
        effects = posterior.causal_effects(n_draws=20)
        assert effects.mean.shape == (len(effects.mean),) * 2
        assert set(effects.mean) <= set(posterior.names), "constant columns have none"
    repr(posterior)


def outcome(path: Path) -> str:
    """What becomes of a file: "refused" with a sentence, or "answered"."""
    try:
        posterior = op.load(path)
    except op.DataError as error:
        sentence = str(error)
        assert str(path) in sentence, sentence
        assert sentence.endswith("."), sentence
        assert "\n" not in sentence, sentence
        return "refused"
    check_answers(posterior)
    return "answered"


def main(place: Path, first: int, last: int) -> None:
    """Read mutated files, in turn of each good file in the directory."""
    warnings.simplefilter("ignore")
    goods = sorted(place.glob("*.nc"))
    for good in goods:
        assert outcome(good) == "answered"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY,) * 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts: Counter[str] = Counter()
    bad = place / "mutated" / "posterior.nc"
    bad.parent.mkdir(exist_ok=True)
    for seed in range(first, last):
        bad.write_bytes(mutated(goods[seed % len(goods)].read_bytes(), np.random.default_rng(seed)))
        print(f"file {seed}", file=sys.stderr, flush=True)
        signal.alarm(SECONDS)
        counts[outcome(bad)] += 1
    signal.alarm(0)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({**counts, "megabytes": grown >> 10}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
