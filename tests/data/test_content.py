"""Endless and huge input: a sentence, in bounded time and memory."""

import gzip
import os
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from outpoint.data import load_dataset, textfile
from outpoint.errors import DataError

LIMIT = 4_000_000


@contextmanager
def at_most(n_bytes: int) -> Iterator[None]:
    """Fail if Python holds more than this at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


def bomb(unit: bytes, n_units: int) -> bytes:
    """A gzip file of so many units, made without holding them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    piece = unit * 1000
    packed = [packer.compress(piece) for _ in range(n_units // 1000)]
    return b"".join([*packed, packer.flush()])


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_devices_without_end(device: str) -> None:
    with at_most(10_000_000), pytest.raises(DataError, match="is not a text file"):
        load_dataset(device)


def test_gzip_bomb_of_zeros(tmp_path: Path) -> None:
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(bomb(b"\0" * 1000, 100_000))
    assert path.stat().st_size < 2_000_000
    with at_most(20_000_000), pytest.raises(DataError, match="is not a text file"):
        load_dataset(path)


@pytest.mark.parametrize("name", ["bomb.csv.gz", "bomb.csv"])
def test_gzip_bomb_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(textfile, "MAX_BYTES", LIMIT)
    path = tmp_path / name
    path.write_bytes(bomb(b"1,2\n", 10_000_000))
    assert path.stat().st_size < 1_000_000
    with at_most(3 * LIMIT), pytest.raises(DataError, match=r"more than 4 MB of text.*DataFrame"):
        load_dataset(path)


def test_the_limit_is_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"a,b\n0.5,1.5\n2.5,3.5\n"
    path = tmp_path / "data.csv"
    path.write_bytes(text)
    monkeypatch.setattr(textfile, "MAX_BYTES", len(text))
    assert load_dataset(path, keep=True).n_obs == 2
    monkeypatch.setattr(textfile, "MAX_BYTES", len(text) - 1)
    with pytest.raises(DataError, match="too much for a table"):
        load_dataset(path)


def test_number_of_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "0.5,1.5\n" * 4)
    monkeypatch.setattr(textfile, "MAX_CELLS", 8)
    assert load_dataset(path, keep=True).n_obs == 4
    monkeypatch.setattr(textfile, "MAX_CELLS", 7)
    with pytest.raises(DataError, match="million cells"):
        load_dataset(path)


def test_far_too_many_cells_are_not_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "1,2\n" * 100)
    monkeypatch.setattr(textfile, "MAX_CELLS", 50)
    monkeypatch.setattr(textfile, "_iterate_rows", lambda *a: pytest.fail("split"))
    with pytest.raises(DataError, match="million cells"):
        load_dataset(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["text", "gzip"])
def test_pipes_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    sent = pack(b"a,b\n0.5,1.5\n2.5,3.5\n")
    writer = threading.Thread(target=path.write_bytes, args=(sent,))
    writer.start()
    assert load_dataset(path, continuous="all", keep=True).values.tolist() == [
        [0.5, 1.5],
        [2.5, 3.5],
    ]
    writer.join()


FORMATS = {
    "xlsx": (b"PK\x03\x04\x14\x00", "an Excel or other zipped file"),
    "xls": (b"\xd0\xcf\x11\xe0\xa1", "an Excel workbook"),
    "parquet": (b"PAR1\x15", "a Parquet file"),
    "sav": (b"$FL2@(#)", "an SPSS file"),
    "rds": (gzip.compress(b"X\n\x00\x00"), "an R data file"),
}


@pytest.mark.parametrize(("raw", "what"), FORMATS.values(), ids=FORMATS.keys())
def test_other_formats_are_named(tmp_path: Path, raw: bytes, what: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(raw)
    with pytest.raises(DataError, match=f"is {what}, not a text file; save the table as CSV"):
        load_dataset(path)


def test_stray_control_characters_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = "".join(f"{i % 7},{i * i}.5\n" for i in range(20))
    path.write_text(f"a,b\n{rows}\x1a", encoding="utf-8")
    data = load_dataset(path)
    assert (data.names, data.n_obs) == (("a", "b"), 20)
    assert data.notes == ("left out 1 control character of the text",)
    path.write_text(f"a,b\n{rows}" + "\x01" * 10, encoding="utf-8")
    with pytest.raises(DataError, match="is not a text file"):
        load_dataset(path)
