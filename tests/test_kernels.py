"""Where kernels cannot be cached, or what is cached cannot be read, they are compiled again."""

import fcntl
import importlib.util
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numba
import pytest
from numba.core.caching import CacheImpl, IndexDataCacheFile, UserProvidedCacheLocator

from outpoint import kernels
from outpoint.progress import compile_seconds

SOURCE = """
from outpoint.kernels import kernel

@kernel
def add(a, b):
    return a + b
"""

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source" / "some_kernels.py"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Neither the source nor the home can be written; gives the directory of temporary files."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [UserProvidedCacheLocator])
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kernels._private_directory.cache_clear()
    yield tmp_path
    kernels._private_directory.cache_clear()


def load(source: Path) -> ModuleType:
    """The module as another process would import it."""
    spec = importlib.util.spec_from_file_location("some_kernels", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cached(place: Path) -> list[str]:
    return sorted(path.suffix for path in place.rglob("*.nb?"))


def hits(module: ModuleType) -> int:
    return sum(module.add.stats.cache_hits.values())


def test_kernels_are_cached_beside_their_source(source: Path) -> None:
    assert load(source).add(1, 2) == 3
    assert cached(source.parent) == [".nbc", ".nbi"]
    again = load(source)
    assert again.add(1, 2) == 3
    assert hits(again) == 1


@pytest.mark.attack("kernels that cannot be cached", "they are compiled again")
def test_a_private_temporary_directory(source: Path, nowhere: Path) -> None:
    assert load(source).add(1, 2) == 3
    place = nowhere / f"outpoint-kernels-{os.getuid()}"
    assert cached(place) == [".nbc", ".nbi"]
    assert place.stat().st_mode & 0o777 == 0o700
    numba.config.CACHE_DIR = ""
    again = load(source)
    assert again.add(1, 2) == 3
    assert hits(again) == 1


@pytest.mark.attack("kernels that cannot be cached")
@pytest.mark.parametrize("trap", ["link", "open to all", "file", "no directory"])
def test_a_directory_of_others_is_not_used(
    source: Path, nowhere: Path, trap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = nowhere / f"outpoint-kernels-{os.getuid()}"
    if trap == "link":
        (nowhere / "theirs").mkdir(mode=0o700)
        place.symlink_to(nowhere / "theirs")
    elif trap == "open to all":
        place.mkdir()
        place.chmod(0o777)
    elif trap == "file":
        place.touch()
    else:
        monkeypatch.setattr(tempfile, "tempdir", str(nowhere / "missing"))
    module = load(source)
    assert module.add(1, 2) == 3
    assert cached(nowhere) == []


@pytest.mark.attack("kernels that cannot be cached")
def test_a_full_disk(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", fail)
    assert load(source).add(1, 2) == 3
    monkeypatch.undo()
    assert load(source).add(1, 2) == 3
    assert cached(source.parent) == [".nbc", ".nbi"]


@pytest.mark.attack("damaged files of cached kernels", "they are compiled again")
@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("length", [0, 1, 20, 60, -1])
def test_a_truncated_file_is_replaced(source: Path, suffix: str, length: int) -> None:
    assert load(source).add(1, 2) == 3
    [path] = source.parent.rglob(f"*.{suffix}")
    path.write_bytes(path.read_bytes()[:length])
    module = load(source)
    assert module.add(1, 2) == 3
    assert hits(module) == 0
    repaired = load(source)
    assert repaired.add(1, 2) == 3
    assert hits(repaired) == 1


@contextmanager
def lock_held(module: ModuleType) -> Iterator[None]:
    """Another process seems to compile the kernel of the module."""
    cache = module.add._cache
    cache.lock.parent.mkdir(exist_ok=True)
    with cache.lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.attack("two processes that compile the same kernel", "one waits for the other")
def test_what_another_process_compiles_is_waited_for(source: Path) -> None:
    done = load(source)
    assert done.add(1, 2) == 3
    files = {path: path.read_bytes() for path in source.parent.rglob("*.nb?")}
    for path in files:
        path.unlink()
    module, begun = load(source), compile_seconds()
    with ThreadPoolExecutor() as pool:
        with lock_held(module):
            assert module.add._cache.is_held
            result = pool.submit(module.add, 1, 2)
            with pytest.raises(TimeoutError):
                result.result(0.3)
            for path, content in files.items():
                path.write_bytes(content)
        assert result.result() == 3
    assert hits(module) == 1
    assert compile_seconds() - begun > 0.2  # which the time of a run does not count
    assert not module.add._cache.is_held


@pytest.mark.attack("two processes that compile the same kernel")
def test_patience_ends(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "PATIENCE", 0.1)
    module = load(source)
    with lock_held(module):
        assert module.add(1, 2) == 3
    assert hits(module) == 0


def test_only_what_is_not_there_is_compiled_ahead(source: Path) -> None:
    module = load(source)
    kinds = (numba.int64, numba.int64)
    with lock_held(module):
        module.add.compile_ahead(kinds)
    assert cached(source.parent) == []
    module.add.compile_ahead(kinds)
    assert cached(source.parent) == [".nbc", ".nbi"]
    again = load(source)
    assert again.add.is_cached(kinds)
    assert not again.add.is_cached((numba.float64, numba.int64))
    again.add.compile_ahead(kinds)
    assert again.add.overloads == {}


def test_helpers_are_called_from_kernels_only() -> None:
    """Called from Python they would crash: what that takes is not compiled."""

    @kernels.inlined
    def halve(x):
        return x / 2

    @numba.njit
    def quarter(x):
        return halve(halve(x))

    assert quarter(8.0) == 2.0
    with pytest.raises(TypeError, match="halve is compiled into kernels"):
        halve(8.0)
