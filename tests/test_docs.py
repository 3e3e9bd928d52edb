"""The README and the docs do what they say: their blocks run, in order, page by page.

Python blocks are executed; a line that is an expression with a comment that starts with numbers has
these values, up to one unit of the last digit. Lines of ``sh`` blocks that call ``outpoint`` are
run, except those that end in ``# not run``; a ``text`` block right after is what they print, with
``...`` for anything and running times left out of the comparison.
"""

import ast
import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from outpoint.cli import app
from tests.cli.conftest import COLOURS
from tests.figures import leave_out_figures

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONGER = ("answers", "mixed", "report", "runs", "tutorial")
"""Pages that take many seconds; ``.ci/run`` runs them, too."""
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```\n\n?(?=(```text)?)", re.M | re.S)
NUMBERS = re.compile(r"# (-?\d[\d.]*(?:, -?\d[\d.]*)*)(?![\d,.]*\w)")
VARYING = re.compile(r"\d+\.\d+ s$|(?<=agree to )\S+", re.M)


def blocks(page: Path) -> list[tuple[str, str, bool]]:
    """Language and content of each block, and whether a block of output follows."""
    text = page.read_text(encoding="utf-8")
    return [(found[1], found[2], bool(found[3])) for found in BLOCK.finditer(text)]


def stated_values(code: str) -> Iterator[tuple[str, list[str]]]:
    """Expressions that stand on a line of their own, and the numbers in their comments."""
    lines = code.splitlines()
    for node in ast.parse(code).body:
        stated = NUMBERS.search(lines[(node.end_lineno or 0) - 1])
        if isinstance(node, ast.Expr) and stated:
            yield ast.unparse(node), stated[1].split(", ")


def run_python(code: str, page: Path, namespace: dict[str, object]) -> None:
    exec(compile(code, str(page), "exec"), namespace)
    for expression, numbers in stated_values(code):
        values = np.atleast_1d(eval(expression, namespace))
        unit = [10.0 ** -len(number.partition(".")[2]) for number in numbers]
        wrong = np.abs(values - np.array(numbers, dtype=float)) > unit
        assert not wrong.any(), f"{page.name}: {expression} is {values}, not {numbers}"


def run_shell(code: str) -> str:
    printed = ""
    for line in code.replace("\\\n", " ").splitlines():
        if line.startswith("outpoint ") and not line.endswith("# not run"):
            done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
            assert done.exit_code == 0, f"{line}: {done.output} {done.exception}"
            printed += done.stdout
    return printed


def check_output(stated: str, printed: str) -> None:
    stated, printed = VARYING.sub("_", stated), VARYING.sub("_", printed)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(stated, printed, flags), printed


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.long if page.stem in LONGER else (), id=page.stem)
        for page in PAGES
    ],
)
def test_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    leave_out_figures(monkeypatch)
    for variable in COLOURS:
        monkeypatch.delenv(variable, raising=False)
    namespace: dict[str, object] = {}
    printed = None
    for language, code, output_follows in blocks(page):
        if language == "text" and printed is not None:
            check_output(code, printed)
        printed = None
        if language == "python":
            run_python(code, page, namespace)
        if language == "sh":
            shown = run_shell(code)
            printed = shown if output_follows else None


def test_readme_has_code():
    languages = [language for language, _, _ in blocks(ROOT / "README.md")]
    assert languages.count("python") >= 2
    assert languages.count("sh") >= 2


def test_wrong_statements_are_caught(tmp_path):
    page = tmp_path / "page.md"
    run_python("x = 0.5\nx  # 0.5: a half\nx, 2 * x  # 0.50, 1.0\n", page, {})
    with pytest.raises(AssertionError, match=r"not \['0\.75'\]"):
        run_python("x = 0.5\nx  # 0.75\n", page, {})
    listed = run_shell("outpoint datasets\nfalse\noutpoint learn nothing.csv # not run\n")
    check_output("boston ...\nasia ...", listed)
    with pytest.raises(AssertionError):
        check_output("boston ...\ncars ...", listed)
    with pytest.raises(AssertionError, match=r"nothing\.csv"):
        run_shell("outpoint learn nothing.csv")


def test_links_and_images_exist():
    link = re.compile(r"\]\((?!https?://|#)([^)#]+)")
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_images_are_small():
    for path in (ROOT / "docs" / "images").glob("*.png"):
        assert path.stat().st_size < 150_000, path.name
