"""Files of posteriors that somebody has made: a sentence or valid answers, and nothing else.

As a program it reads many such files one after the other, in bounded memory and time, and prints
what came of them: ``python -m tests.posterior.crafted DIRECTORY FIRST LAST``.
"""

import io
import json
import resource
import signal
import sys
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import outpoint as op
from outpoint.posterior import summarize
from outpoint.store import HEADER, SEAL, SEALED_BYTES, SUFFIX, digest_of

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


@dataclass
class Loose:
    """What is in a file, to be changed; its header and arrays can be given as their bytes."""

    header: dict[str, Any]
    arrays: dict[str, Any]
    members: list[tuple[str, bytes]] = field(default_factory=list)
    text: bytes | None = None
    method: int = zipfile.ZIP_DEFLATED

    @classmethod
    def of(cls, content: bytes) -> "Loose":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            header = json.loads(archive.read(HEADER))
            names = [name for name in archive.namelist() if name != HEADER]
            arrays = {name.removesuffix(SUFFIX): npy(archive.read(name)) for name in names}
        return cls(header, arrays)

    def sealed(self) -> bytes:
        """The file with a checksum that matches."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", self.method) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that are there twice
            archive.comment = bytes(SEALED_BYTES)
            archive.writestr(HEADER, json.dumps(self.header) if self.text is None else self.text)
            for name, array in self.arrays.items():
                archive.writestr(name + SUFFIX, npy_bytes(array))
            for name, content in self.members:
                archive.writestr(name, content)
        return seal(buffer.getvalue())


def npy(content: bytes) -> Any:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def npy_bytes(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def declared(shape: tuple[int, ...], dtype: Any, n_bytes: int = 0) -> bytes:
    """An array of which little is there but its shape."""
    buffer = io.BytesIO()
    described = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, described)
    return buffer.getvalue() + bytes(n_bytes)


def seal(content: bytes) -> bytes:
    """The content with a checksum that matches in place of the last bytes."""
    body = content[:-SEALED_BYTES]
    return body + SEAL + digest_of(body)


def altered(good: bytes, change: Callable[[Loose], Any]) -> bytes:
    """The file after a change to what it holds, with a checksum that matches."""
    loose = Loose.of(good)
    change(loose)
    return loose.sealed()


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
    content = bytearray(good)
    for _ in range(rng.integers(1, 6)):
        content[rng.integers(len(content) - SEALED_BYTES)] = rng.integers(256)
    return seal(bytes(content))


def _some_array(file: Loose, rng: np.random.Generator) -> str:
    names = sorted(file.arrays)
    return names[rng.integers(len(names))]


def _hostile(dtype: np.dtype[Any], rng: np.random.Generator) -> Any:
    if dtype.kind == "f":
        return REALS[rng.integers(len(REALS))]
    limits = np.iinfo(dtype)
    fitting = [number for number in NUMBERS if limits.min <= number <= limits.max]
    return fitting[rng.integers(len(fitting))]


def change_values(file: Loose, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    values = np.array(file.arrays[name])
    if values.size:
        places = rng.integers(values.size, size=rng.integers(1, 4))
        values.reshape(-1)[places] = _hostile(values.dtype, rng)
        file.arrays[name] = values


def fill_values(file: Loose, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    file.arrays[name] = np.full_like(file.arrays[name], _hostile(file.arrays[name].dtype, rng))


def shuffle_values(file: Loose, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    old = file.arrays[name]
    file.arrays[name] = rng.permutation(old.ravel()).reshape(old.shape)


def change_shape(file: Loose, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    values = file.arrays[name]
    ways = [values.ravel(), values[None], values.T]
    if values.ndim:
        ways += [values[..., :0], np.repeat(values, 2, axis=-1)]
    file.arrays[name] = ways[rng.integers(len(ways))]


def change_type(file: Loose, rng: np.random.Generator) -> None:
    name = _some_array(file, rng)
    types = ["f4", "f8", ">f8", "i1", "i8", ">i4", "u8", "u1", "S3", "c16", "?"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.arrays[name] = file.arrays[name].astype(types[rng.integers(len(types))])


def declare_much(file: Loose, rng: np.random.Generator) -> None:
    """A huge array of which nothing, or nothing but zeros, is stored."""
    name = _some_array(file, rng)
    old = file.arrays.pop(name)
    shape = [int(size * 10 ** rng.integers(0, 5)) + 1 for size in old.shape]
    n_bytes = int(np.prod(shape, dtype=float)) * old.dtype.itemsize
    n_there = n_bytes if n_bytes < 1 << 26 and rng.integers(2) else 0
    file.members.append((name + SUFFIX, declared(tuple(shape), old.dtype, n_there)))


def remove(file: Loose, rng: np.random.Generator) -> None:
    del file.arrays[_some_array(file, rng)]


def put_elsewhere(file: Loose, rng: np.random.Generator) -> None:
    """The array has another place in the archive, or occurs twice."""
    name = _some_array(file, rng)
    content = npy_bytes(file.arrays[name])
    if rng.integers(2):
        del file.arrays[name]
    places = [f"../{name}{SUFFIX}", f"/etc/{name}{SUFFIX}", f"{name}{SUFFIX}/", name + SUFFIX]
    file.members.append((places[rng.integers(len(places))], content))


def change_number(file: Loose, rng: np.random.Generator) -> None:
    names = sorted(name for name, value in file.header.items() if isinstance(value, int | float))
    name = names[rng.integers(len(names))]
    kind = rng.integers(4)
    if kind == 0:
        del file.header[name]
    elif kind == 1:
        file.header[name] = [0.0] * 3 if rng.integers(2) else "text"
    else:
        file.header[name] = REALS[rng.integers(len(REALS))]


def change_text(file: Loose, rng: np.random.Generator) -> None:
    name = ["info", "names", "posterior", "outpoint", "moves"][rng.integers(5)]
    if rng.random() < 0.1:
        file.text = b"[" * int(rng.integers(1, 20_000))
    else:
        file.header[name] = _other_value(file.header[name], rng)


def _other_value(told: Any, rng: np.random.Generator) -> Any:
    odd = VALUES[rng.integers(len(VALUES))]
    if isinstance(told, dict) and told:
        key = sorted(told)[rng.integers(len(told))]
        return told | {key if rng.random() < 0.9 else "more": odd}
    if isinstance(told, list) and told:
        told = list(told)
        told[rng.integers(len(told))] = odd if rng.random() < 0.5 else told[0]
        return told[: rng.integers(1, len(told) + 1)] if rng.random() < 0.3 else told
    return odd


CHANGES: list[Callable[[Loose, np.random.Generator], None]] = [
    change_values,
    change_values,
    fill_values,
    shuffle_values,
    change_shape,
    change_type,
    declare_much,
    remove,
    put_elsewhere,
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
    goods = sorted(place.glob("*.npz"))
    for good in goods:
        assert outcome(good) == "answered"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY,) * 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts: Counter[str] = Counter()
    bad = place / "mutated" / "posterior.npz"
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
