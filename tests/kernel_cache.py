"""Compiled kernels that belong to the sources: stale ones are forgotten, common ones compiled once.

Numba caches a kernel until its own file changes; a change in a kernel or a constant of another file
that it uses goes unseen. ``./dev`` runs ``python -m tests.kernel_cache`` before anything else;
the tests do the same by themselves.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

SOURCES = Path(__file__).parent.parent / "src"
STAMP = Path("outpoint", "__pycache__", "kernels-of")
WARM = STAMP.with_name("kernels-warm")
KERNEL = re.compile(r"^@(kernel|inlined)\b", re.M)
IMPORT = re.compile(r"^from (outpoint[\w.]*) import (\([^)]*\)|.*)", re.M)

WARM_UP = """
import numpy as np
import outpoint as op

data = np.random.default_rng(0).normal(size=(40, 5))
many = np.random.default_rng(0).normal(size=(60, 22))
exact = op.learn(data, seed=1)
exact.ancestor_probabilities, exact.causal_effects(), exact.dags()
op.learn("asia", seed=1)
for method in ("partition", "partition+rev", "order", "structure", "structure+rev", "mcmc"):
    op.learn(data, method=method, steps=400, chains=2, draws=20, seed=1).diagnostics()
op.learn(many, n_candidates=5, max_parents=3, steps=400, chains=2, draws=20, seed=1)
op.find_map(data, method="exact", seed=1)
for space in ("order", "partition"):
    op.find_map(data, method="search", space=space, runs=2, seed=1)
op.find_map(data, method="hill_climb", seed=1)
op.learn(data, score="bic", seed=1)
"""
"""Work that uses most of the kernels."""


def imported(source: str, sources: Path) -> Iterator[Path]:
    """Files of the package that a module imports from, the packages they are in included."""
    for module, names in IMPORT.findall(source):
        place = sources.joinpath(*module.split("."))
        members = [place, *(place / name for name in re.findall(r"\w+", names))]
        files = [member.with_suffix(".py") for member in members]
        yield from filter(Path.is_file, [*files, place / "__init__.py"])


def kernel_sources(sources: Path = SOURCES) -> dict[Path, str]:
    """Every file that compiled code depends on: those with kernels, and all that they import."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(sources.rglob("*.py"))}
    waiting = [path for path, text in texts.items() if KERNEL.search(text)]
    found = set(waiting)
    while waiting:
        new = set(imported(texts[waiting.pop()], sources)) - found
        found |= new
        waiting += new
    return {path: text for path, text in texts.items() if path in found}


def forget_stale(sources: Path = SOURCES) -> None:
    """Delete all compiled kernels unless they are those of the present sources."""
    digest = sha256()
    for path, text in kernel_sources(sources).items():
        digest.update(f"{path.relative_to(sources)}\n{text}".encode())
    stamp = sources / STAMP
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    for compiled in sources.rglob("*.nb[ic]"):
        compiled.unlink(missing_ok=True)
    (sources / WARM).unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest.hexdigest())


def compile_common(sources: Path = SOURCES) -> None:
    """Compile the kernels that most tests use, unless that was done since the sources changed."""
    if not (sources / WARM).is_file():
        print("compiling the kernels that the workers share ...", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-c", WARM_UP], check=True)
        (sources / WARM).touch()


if __name__ == "__main__":
    forget_stale()
