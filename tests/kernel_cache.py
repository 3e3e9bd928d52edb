"""Compiled kernels that belong to the sources: stale ones are forgotten, common ones compiled once.

Numba caches a kernel until its own file changes; a change in a kernel or a constant of another file
that it uses goes unseen. ``./dev`` runs ``python -m tests.kernel_cache`` before anything else;
the tests do the same by themselves.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from outpoint.files import write_text

ROOT = Path(__file__).parent.parent
STAMP = Path("__pycache__", "kernels-of.json")
WARM = ROOT / "src" / STAMP.with_name("kernels-warm")
KERNEL = re.compile(r"^@(kernel|inlined|numba\.njit)\b", re.M)
CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*")
IMPORT = re.compile(r"^from ((?:outpoint|tests)[\w.]*) import (\([^)]*\)|.*)", re.M)

DATA = """
import numpy as np
import outpoint as op

data = np.random.default_rng(0).normal(size=(40, 5))
short = {"steps": 400, "chains": 2, "draws": 20, "seed": 1}
"""
WARM_UPS = (
    """
for method in ("mcmc", "partition", "partition+rev"):
    op.learn(data, method=method, **short).diagnostics()
many = np.random.default_rng(0).normal(size=(60, 22))
op.learn(many, n_candidates=5, max_parents=3, **short)
""",
    """
exact = op.learn(data, seed=1)
exact.ancestor_probabilities, exact.causal_effects(), exact.dags()
op.learn(data, score="bic", seed=1)
op.learn("asia", seed=1)
for method in ("order", "structure", "structure+rev"):
    op.learn(data, method=method, **short)
op.find_map(data, method="exact", seed=1)
op.find_map(data, method="hill_climb", seed=1)
for space in ("order", "partition"):
    op.find_map(data, method="search", space=space, runs=2, seed=1)
""",
)
"""Work that uses most of the kernels, in parts that have few kernels in common."""


def imported(source: str, root: Path) -> Iterator[Path]:
    """Files that kernels in a module may depend on, of those that the module imports from.

    These are modules that are imported whole, and those from which it takes a constant or which
    have kernels themselves; the packages they are in included.
    """
    for module, names in IMPORT.findall(source):
        place = root.joinpath(*([] if module.startswith("tests") else ["src"]), *module.split("."))
        taken = re.findall(r"\w+", names)
        yield from filter(Path.is_file, [(place / name).with_suffix(".py") for name in taken])
        has_constant = any(map(CONSTANT.fullmatch, taken))
        for path in filter(Path.is_file, [place.with_suffix(".py"), place / "__init__.py"]):
            matters = path.name in ("kernels.py", "__init__.py") or has_constant
            if matters or KERNEL.search(path.read_text("utf-8")):
                yield path


def kernel_sources(folder: str, root: Path = ROOT) -> dict[Path, dict[Path, str]]:
    """For each file in ``folder`` that has kernels: the files they depend on, with their texts."""
    texts: dict[Path, str] = {}

    def text_of(path: Path) -> str:
        if path not in texts:
            texts[path] = path.read_text("utf-8")
        return texts[path]

    found = {}
    for path in sorted((root / folder).rglob("*.py")):
        if KERNEL.search(text_of(path)):
            found[path] = _with_imports(path, text_of, root)
    return found


def _with_imports(path: Path, text_of: Callable[[Path], str], root: Path) -> dict[Path, str]:
    """A file and all that it imports, directly or not."""
    waiting, found = [path], dict[Path, str]()
    while waiting:
        path = waiting.pop()
        if path not in found:
            found[path] = text_of(path)
            waiting += imported(found[path], root)
    return found


def forget_stale(root: Path = ROOT) -> None:
    """Delete compiled kernels, of the package or of the tests, whose sources have changed."""
    for folder in ("src", "tests"):
        digests = {
            str(path.relative_to(root)): _digest(sources, root)
            for path, sources in kernel_sources(folder, root).items()
        }
        stamp = root / folder / STAMP
        known = _read_stamp(stamp)
        if known == digests:
            continue
        for compiled in (root / folder).rglob("*.nb[ic]"):
            module = compiled.parent.parent / f"{compiled.name.partition('.')[0]}.py"
            name = str(module.relative_to(root))
            if name not in digests or known.get(name) != digests[name]:
                compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        write_text(stamp, json.dumps(digests))
        stamp.with_name(WARM.name).unlink(missing_ok=True)


def _read_stamp(stamp: Path) -> dict[str, str]:
    """What the compiled kernels were made of; nothing is known if that cannot be read."""
    try:
        return dict(json.loads(stamp.read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def _digest(sources: dict[Path, str], root: Path) -> str:
    digest = sha256()
    for path, text in sorted(sources.items()):
        digest.update(f"{path.relative_to(root)}\n{text}".encode())
    return digest.hexdigest()


def compile_common() -> None:
    """Compile the kernels that most tests use, unless that was done since the sources changed."""
    if not WARM.is_file():
        print("compiling the kernels that the workers share ...", file=sys.stderr, flush=True)
        parts = [subprocess.Popen([sys.executable, "-c", DATA + work]) for work in WARM_UPS]
        codes = [part.wait() for part in parts]
        if any(codes):
            raise RuntimeError("the kernels cannot be compiled: see the error above.")
        WARM.touch()


if __name__ == "__main__":
    forget_stale()
