"""The rules of the source tree that a reader can rely on, checked by parsing every import."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import outpoint

ROOT = Path(outpoint.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# A part imports only parts with a smaller number; parts with the same number are independent.
RANK = {
    "arrays": 0,
    "errors": 0,
    "naming": 0,
    "notebook": 0,
    "registry": 0,
    "signals": 0.05,
    "starting": 0,
    "variables": 0,
    "progress": 0.25,
    "files": 0.1,
    "store": 0.1,
    "kinds": 0.2,
    "arguments": 0.3,
    "processors": 0.25,
    "streams": 0,
    "borrowing": 0.3,
    "kernels": 0.5,
    "ahead": 0.6,
    "showing": 0.6,
    "graphs": 1,
    "options": 1.5,
    "data": 2,
    "scores": 3,
    "models": 3.5,
    "tables": 4,
    "exact": 5,
    "mcmc": 5,
    "search": 5,
    "parts": 5.5,
    "runs": 6,
    "missing": 6.2,
    "posterior": 7,
    "model": 5,
    "pacing": 6.5,
    "narrowing": 7,
    "sampling": 8,
    "augmentation": 8,
    "resumption": 9.5,
    "learning": 10,
    "map_finding": 9,
    "scoring": 9,
    "estimator": 11,
    "report": 12,
    "__init__": 12.5,  # the public names
    "experiments": 13,
    "cli": 14,
    "__main__": 15,
}
ENGINES = ("exact", "mcmc", "search")
LOADED_LATE = {("posterior", "report")}
"""A posterior can be asked for its report, which is loaded when that happens."""

MAX_LINES = 700


def part_of(path: Path) -> str:
    """The folder below the package, or the module that lies directly in it."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imported_modules(source: str, package: str) -> Iterator[str]:
    """Every module of the package that the source imports, wherever the import stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            if base == "outpoint":
                yield from (f"outpoint.{alias.name}" for alias in node.names)
            else:
                yield base


def imported_parts(source: str, package: str = "outpoint") -> set[str]:
    """The parts of the package that the source imports; public names count as their homes."""
    parts = set()
    for module in imported_modules(source, package):
        words = module.split(".")
        if words[0] != "outpoint" or module in ("outpoint", "outpoint.__version__"):
            continue
        homes = outpoint._HOME_OF | outpoint._MODULES
        parts.add(homes.get(words[1], module).split(".")[1])
    return parts


def imports_at_top(source: str, part: str) -> bool:
    """Whether a module imports the part when it is imported itself."""
    top = ast.Module(
        [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)],
        [],
    )
    return part in imported_parts(ast.unparse(top))


def violations(part: str, source: str, package: str = "outpoint") -> list[str]:
    """What is wrong with the imports of a source file that belongs to ``part``."""
    wrong = []
    for other in sorted(imported_parts(source, package) - {part}):
        if other not in RANK:
            wrong.append(f"{part} imports {other}, which has no place in the order of parts")
        elif (part, other) in LOADED_LATE and not imports_at_top(source, other):
            continue
        elif RANK[other] >= RANK[part]:
            wrong.append(f"{part} imports {other}, which comes later or beside it")
        elif part in ENGINES and other in ("data", "scores"):
            wrong.append(f"{part} imports {other}, but an engine sees only tables")
    return wrong


def modules_called_by_name(source: str) -> list[str]:
    """The arguments of calls that import a module given as text."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    loading = ("import_module", "__import__")
    return [
        ast.unparse(call.args[0])
        for call in calls
        if ast.unparse(call.func).rpartition(".")[2] in loading and call.args
    ]


def module_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_every_part_has_a_place() -> None:
    assert len(MODULES) > 40, "the source tree was not found"
    assert {part_of(path) for path in MODULES} <= RANK.keys()


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_imports_point_one_way(path: Path) -> None:
    package = ".".join(["outpoint", *path.relative_to(ROOT).parent.parts])
    assert violations(part_of(path), path.read_text(encoding="utf-8"), package) == []


def test_public_names_come_from_below_the_command_line() -> None:
    homes = {home.split(".")[1] for home in [*outpoint._HOMES, *outpoint._MODULES.values()]}
    assert all(RANK[home] <= RANK["report"] for home in homes)


def test_no_part_reaches_for_another_by_name() -> None:
    """The package, which stands above its parts, may, and what compiles the kernels of a list."""
    found = {
        module_id(path): modules_called_by_name(path.read_text(encoding="utf-8"))
        for path in MODULES
        if part_of(path) not in ("__init__", "ahead")
    }
    assert {path: names for path, names in found.items() if names} == {}
    assert modules_called_by_name("importlib.import_module('outpoint.cli')") == ["'outpoint.cli'"]


@pytest.mark.parametrize(
    ("part", "source", "fragment"),
    [
        ("exact", "from outpoint.mcmc.partition import score", "exact imports mcmc"),
        ("mcmc", "def f():\n    import outpoint.exact.engine", "mcmc imports exact"),
        ("exact", "from outpoint.data import Dataset", "sees only tables"),
        ("data", "from outpoint import learn", "data imports learning"),
        ("scores", "from outpoint import tables", "scores imports tables"),
        ("posterior", "from outpoint.cli import main", "posterior imports cli"),
        ("posterior", "from outpoint.report import write", "posterior imports report"),
        ("learning", "from outpoint.report import write", "learning imports report"),
        ("learning", "from outpoint import plots", "learning imports report"),
        ("learning", "from outpoint import OutpointLearner", "learning imports estimator"),
        ("graphs", "from ..data import Dataset", "graphs imports data"),
        ("tables", "from outpoint.novelty import x", "no place"),
        ("errors", "import outpoint.kernels", "errors imports kernels"),
    ],
)
def test_a_violation_is_found(part: str, source: str, fragment: str) -> None:
    found = violations(part, source, f"outpoint.{part}")
    assert len(found) == 1
    assert fragment in found[0]


@pytest.mark.parametrize(
    ("part", "source"),
    [
        ("cli", "from outpoint.report import write"),
        ("cli", "from outpoint import __version__, learn, datasets, plots"),
        ("report", "from outpoint.posterior import Posterior\nfrom outpoint import Dag"),
        ("data", "from outpoint import Dag\nimport numpy as np\nfrom . import columns"),
        ("mcmc", "from outpoint.tables import ScoreTable\nfrom outpoint.kernels import kernel"),
        ("runs", "from outpoint.mcmc import order"),
    ],
)
def test_what_is_allowed_is_not_a_violation(part: str, source: str) -> None:
    assert violations(part, source, f"outpoint.{part}") == []


@pytest.mark.parametrize("path", MODULES, ids=module_id)
def test_modules_are_short_and_finished(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MAX_LINES
    marked = [line for line in lines if re.search(r"\b(TODO|FIXME|XXX)\b", line)]
    assert marked == []
    assert not lines or ast.get_docstring(ast.parse("\n".join(lines))), "say what the module is for"
