"""Compiled kernels are forgotten when, and only when, something that they depend on has changed."""

import re
from pathlib import Path

import pytest

from tests.kernel_cache import SOURCES, forget_stale, kernel_sources

FILES = {
    "kernels.py": "def kernel(function): ...\n",
    "tables/sums.py": "from outpoint.kernels import kernel\n\n@kernel\ndef total(): ...\n",
    "mcmc/chain.py": (
        "from outpoint.kernels import kernel\nfrom outpoint.mcmc import codes\n"
        "from outpoint.tables.sums import (\n    total,\n)\n\n@kernel\ndef run(): ...\n"
    ),
    "mcmc/__init__.py": "STILL = 0\n",
    "mcmc/codes.py": "from outpoint.mcmc.numbers import REV\n",
    "mcmc/numbers.py": "REV = 1\n",
    "cli/learn.py": "from outpoint.mcmc.chain import run\n",
}


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "outpoint" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    forget_stale(tmp_path)
    return tmp_path


def compiled(sources: Path) -> list[Path]:
    places = [sources / "outpoint" / part / "__pycache__" for part in ("tables", "mcmc")]
    for place in places:
        place.mkdir(exist_ok=True)
    found = [place / f"kernel.{suffix}" for place in places for suffix in ("nbi", "1.nbc")]
    for path in found:
        path.touch()
    return found


@pytest.mark.parametrize("name", [name for name in FILES if name != "cli/learn.py"])
def test_a_change_that_kernels_can_see(sources: Path, name: str) -> None:
    kernels = compiled(sources)
    path = sources / "outpoint" / name
    path.write_text(f"{FILES[name]}# changed\n")
    forget_stale(sources)
    assert not any(kernel.exists() for kernel in kernels)
    kernels = compiled(sources)
    forget_stale(sources)
    assert all(kernel.exists() for kernel in kernels)


def test_other_changes_keep_them(sources: Path) -> None:
    kernels = compiled(sources)
    (sources / "outpoint" / "cli" / "learn.py").write_text("changed = 1\n")
    forget_stale(sources)
    assert all(kernel.exists() for kernel in kernels)
    (sources / "outpoint" / "mcmc" / "numbers.py").unlink()
    forget_stale(sources)
    assert not any(kernel.exists() for kernel in kernels)


def test_the_sources_of_the_package() -> None:
    """All modules that ask for compilation are seen, in whatever way they write it."""
    found = kernel_sources()
    asks = re.compile(r"outpoint\.kernels import .*\b(kernel|inlined)\b")
    asking = [path for path in SOURCES.rglob("*.py") if asks.search(path.read_text("utf-8"))]
    assert len(asking) > 30
    assert set(asking) <= found.keys()
    assert SOURCES / "outpoint" / "cli" / "learn.py" not in found
