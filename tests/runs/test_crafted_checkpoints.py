"""Checkpoints that somebody has made, with a matching checksum: read as they are, or refused."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outpoint.errors import CheckpointError
from outpoint.runs.checkpoint import CHECKPOINT, read_checkpoint, write_checkpoint
from outpoint.store import HEADER as HEADER_NAME
from outpoint.store import SEALED_BYTES
from tests.posterior.crafted import seal

HEADER = {"run": "x", "chain": 0, "seconds": 1.5}
ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3),
    "b": np.array(7),
    "c": np.zeros((0, 4), dtype=np.int32),
}


def refusal(path: Path, payload: bytes) -> str | None:
    path.write_bytes(seal(payload))
    try:
        header, arrays = read_checkpoint(path)
    except CheckpointError as error:
        sentence = str(error)
    else:
        sentence = None
    if sentence is not None:
        assert str(path) in sentence
        assert "\n" not in sentence
        return sentence
    assert isinstance(header, dict)
    assert all(array.nbytes <= len(payload) for array in arrays.values())
    return None


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        file.comment = bytes(SEALED_BYTES)
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def npy(array: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **options)
    return buffer.getvalue()


def header(text: str) -> dict[str, bytes]:
    return {HEADER_NAME: text.encode()}


ITSELF = {"kind": "checkpoint", "format": CHECKPOINT.format}
GOOD = header(json.dumps({**HEADER, "outpoint": ITSELF}))
HUGE = npy(np.zeros(4)).replace(b"(4,), }" + b" " * 9, b"(4000000000,), }")

CRAFTED = {
    "nothing": (b"", "not a checkpoint"),
    "no archive": (b"PK" * 50, "not a complete checkpoint"),
    "no header": (archive({"a.npy": npy(np.zeros(3))}), "header"),
    "a header that is no table": (archive(header("[]")), "not a table"),
    "a deep header": (archive(header("[" * 60_000)), "nested too deeply"),
    "a bomb": (
        archive({**GOOD, "a.npy": npy(np.zeros(10**6))}, zipfile.ZIP_BZIP2),
        "stored in an unusual way",
    ),
    "32 GB": (archive({**GOOD, "a.npy": HUGE}), "does not have its size"),
    "objects": (
        archive({**GOOD, "a.npy": npy(np.array([{}], dtype=object), allow_pickle=True)}),
        "does not have its size",
    ),
    "no array": (archive({**GOOD, "a.npy": b"some text"}), "not a complete checkpoint"),
}


@pytest.mark.attack("checkpoints with crafted content", "one sentence, or read as they are")
@pytest.mark.parametrize(("payload", "fragment"), CRAFTED.values(), ids=CRAFTED.keys())
def test_crafted(tmp_path: Path, payload: bytes, fragment: str) -> None:
    sentence = refusal(tmp_path / "chain-0.checkpoint", payload)
    assert sentence is not None
    assert fragment in sentence


@pytest.mark.attack("checkpoints with crafted content", times=1000)
def test_random_changes(tmp_path: Path) -> None:
    path = tmp_path / "chain-0.checkpoint"
    write_checkpoint(path, HEADER, ARRAYS)
    good = path.read_bytes()
    assert refusal(path, good) is None
    rng = np.random.default_rng(1)
    outcomes = set()
    for _ in range(1000):
        bad = bytearray(good)
        for place in rng.integers(0, len(bad) - SEALED_BYTES, rng.integers(1, 5)):
            bad[place] = rng.integers(256)
        if rng.random() < 0.2:
            bad = bad[: rng.integers(len(bad))]
        outcomes.add(refusal(path, bytes(bad)) is None)
    assert outcomes == {True, False}
