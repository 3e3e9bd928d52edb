"""Compiled kernels are forgotten when, and only when, something that they depend on has changed."""

import json
import re
from pathlib import Path

import pytest

from tests.kernel_cache import ROOT, STAMP, forget_stale, kernel_sources

FILES = {
    "src/outpoint/kernels.py": "def kernel(function): ...\n",
    "src/outpoint/tables/sums.py": (
        "from outpoint.kernels import kernel\n\n@kernel\ndef total(): ...\n"
    ),
    "src/outpoint/mcmc/chain.py": (
        "from outpoint.kernels import kernel\nfrom outpoint.mcmc import codes\n"
        "from outpoint.data.tables import read\n"
        "from outpoint.tables.sums import (\n    total,\n)\n\n@kernel\ndef run(): ...\n"
    ),
    "src/outpoint/mcmc/__init__.py": "STILL = 0\n",
    "src/outpoint/mcmc/codes.py": "from outpoint.mcmc.numbers import REV\n",
    "src/outpoint/mcmc/numbers.py": "REV = 1\n",
    "src/outpoint/data/tables.py": "def read(): ...\n",
    "src/outpoint/cli/learn.py": "from outpoint.mcmc.chain import run\n",
    "tests/loops.py": (
        "import numba\nfrom outpoint.mcmc.chain import run\nfrom tests.laws import LAW\n\n"
        "@numba.njit(cache=True)\ndef count(): ...\n"
    ),
    "tests/laws.py": "LAW = 1\n",
    "tests/test_words.py": "from tests.loops import count\n",
}
OF_NO_KERNEL = (
    "src/outpoint/cli/learn.py",
    "src/outpoint/data/tables.py",  # whose function a kernel cannot call
    "tests/test_words.py",
)
OF_TESTS = ("tests/loops.py", "tests/laws.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget_stale(tmp_path)
    return tmp_path


def compiled(root: Path) -> dict[str, Path]:
    """A compiled kernel in each folder."""
    found = {
        "src": root / "src" / "outpoint" / "mcmc" / "__pycache__" / "chain.run.nbi",
        "tests": root / "tests" / "__pycache__" / "loops.count.1.nbc",
    }
    for path in found.values():
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return found


def left(kernels: dict[str, Path]) -> list[str]:
    return [folder for folder, path in kernels.items() if path.exists()]


@pytest.mark.parametrize("name", FILES)
def test_what_a_change_leaves(root: Path, name: str) -> None:
    kernels = compiled(root)
    (root / name).write_text(f"{FILES[name]}# changed\n")
    forget_stale(root)
    kept = ["src", "tests"] if name in OF_NO_KERNEL else ["src"] if name in OF_TESTS else []
    assert left(kernels) == kept
    kernels = compiled(root)
    forget_stale(root)
    assert left(kernels) == ["src", "tests"]


def test_two_processes_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of them writes is there as a whole whenever the other one looks."""
    stamp = root / "src" / STAMP
    (root / "src" / "outpoint" / "mcmc" / "numbers.py").write_text("REV = 2\n")
    before, seen = json.loads(stamp.read_text()), []

    def look(self: Path, target: Path) -> Path:
        seen.append(json.loads(stamp.read_text()))
        return replace(self, target)

    replace = Path.replace
    monkeypatch.setattr(Path, "replace", look)
    forget_stale(root)
    assert seen[0] == before != json.loads(stamp.read_text())


@pytest.mark.parametrize("left_behind", ["", "{"])
def test_a_stamp_that_cannot_be_read(root: Path, left_behind: str) -> None:
    kernels = compiled(root)
    (root / "src" / STAMP).write_text(left_behind)
    forget_stale(root)
    assert left(kernels) == ["tests"]


def test_kernels_of_other_files_are_kept(root: Path) -> None:
    kernels = compiled(root)
    other = root / "src" / "outpoint" / "tables" / "__pycache__" / "sums.total.nbi"
    other.parent.mkdir()
    other.touch()
    (root / "src" / "outpoint" / "mcmc" / "numbers.py").write_text("REV = 2\n")
    forget_stale(root)
    assert left(kernels) == []
    assert other.exists()


def test_a_file_that_is_gone(root: Path) -> None:
    kernels = compiled(root)
    (root / "src" / "outpoint" / "mcmc" / "numbers.py").unlink()
    forget_stale(root)
    assert left(kernels) == []


def test_the_sources_of_the_package() -> None:
    """All modules that ask for compilation are seen, in whatever way they write it."""
    found = kernel_sources("src")
    sources = {path for own in found.values() for path in own}
    asks = re.compile(r"outpoint\.kernels import .*\b(kernel|inlined)\b")
    package = ROOT / "src" / "outpoint"
    asking = [path for path in package.rglob("*.py") if asks.search(path.read_text("utf-8"))]
    assert len(asking) > 30
    assert set(asking) <= found.keys()
    assert package / "cli" / "learn.py" not in sources
    assert any(package / "mcmc" / "replicas.py" in own for own in kernel_sources("tests").values())
