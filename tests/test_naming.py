"""Messages name an option as their reader writes it, and only so."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import outpoint as op
from outpoint.cli import app
from outpoint.naming import command_line, flag, named, option, speaks_in_flags
from tests.cli.conftest import Run, run  # noqa: F401
from tests.test_architecture import MODULES, ROOT

FLAG = re.compile(r"(?:^|[\s(`'\"])--[a-z]")


@pytest.mark.parametrize(
    ("name", "value", "in_python", "in_a_shell"),
    [
        ("drop", ["x"], 'drop=["x"]', "--drop x"),
        ("drop", ("a b", "c,d"), 'drop=["a b", "c,d"]', "--drop 'a b,\"c,d\"'"),
        ("drop", list("abcdefghi"), "drop=[...]", "--drop ..."),
        ("drop", ..., "drop=", "--drop"),
        ("decimal", ",", "decimal=','", "--decimal ,"),
        ("missing", "drop", "missing='drop'", "--missing drop"),
        ("discretize", {"all": 3}, "discretize={'all': 3}", "--discretize all:3"),
        ("resume", True, "resume=True", "--resume"),
        ("cardinality_row", False, "cardinality_row=False", "--no-cardinality-row"),
        ("standardize", False, "standardize=False", "--raw-units"),
        ("max_parents", 3, "max_parents=3", "--max-parents 3"),
        ("roots", ["a", "b c"], 'roots=["a", "b c"]', "--root a --root 'b c'"),
    ],
)
def test_an_option_with_its_value(name: str, value: Any, in_python: str, in_a_shell: str) -> None:
    assert option(name, value) == in_python
    with command_line():
        assert option(name, value) == in_a_shell
    assert not speaks_in_flags()


def test_the_name_alone() -> None:
    assert named("max_parents") == "max_parents"
    with command_line():
        assert named("max_parents") == "--max-parents"
        assert named("n_candidates") == "--candidates"
        assert named("the number of nodes") == "the number of nodes"


def test_python_is_spoken_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="x"), command_line():
        raise ValueError("x")
    assert named("drop") == "drop"


def strings(source: str) -> Iterator[str]:
    """All texts in a program but for docstrings and the plain expressions that stand for them."""
    tree = ast.parse(source)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def below_the_command_line() -> list[Path]:
    parts = [
        path for path in MODULES if path.relative_to(ROOT).parts[0] not in ("cli", "naming.py")
    ]
    assert len(parts) > 100
    return parts


def test_no_message_below_the_command_line_writes_a_flag() -> None:
    found = {
        str(path.relative_to(ROOT)): [
            text for text in strings(path.read_text()) if FLAG.search(text)
        ]
        for path in below_the_command_line()
    }
    assert {path: texts for path, texts in found.items() if texts} == {}
    assert FLAG.search("continue with --resume.")
    assert FLAG.search("another directory (--out)")


def named_options() -> set[str]:
    """Every option that a message names."""
    calls = [
        node
        for path in below_the_command_line()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("option", "named")
    ]
    return {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}


def test_every_flag_in_a_message_exists() -> None:
    commands = get_command(app).commands.values()  # type: ignore[attr-defined]
    flags = {
        text
        for command in commands
        for parameter in command.params
        for text in (*parameter.opts, *parameter.secondary_opts)
    }
    names = named_options()
    assert {"drop", "missing", "resume", "max_parents"} <= names
    assert {flag(name) for name in names} <= flags


ROWS = "id,x,y\n" + "".join(f"P-{i},{i * 7 % 11}.5,{i * 3 % 7}.5\n" for i in range(30))
"""Identifiers beside two measurements, one of which is missing below."""


def test_the_same_message_for_both_readers(run: Run) -> None:  # noqa: F811
    holes = ROWS.replace("P-3,10.5", "P-3,")
    Path("holes.csv").write_text(holes)
    with pytest.raises(op.OptionError) as caught:
        op.load_dataset("holes.csv", drop=["jd"])
    assert str(caught.value).startswith("drop names 'jd'")
    assert run("learn", "holes.csv", "--drop", "jd").err.startswith("outpoint: --drop names 'jd'")


def test_options_of_python_alone_have_no_flag(run: Run) -> None:  # noqa: F811
    """The command line says by the score which kind is preferred."""
    with (
        pytest.raises(
            op.OptionError, match=r"^prefer must be one of continuous, categorical, not 'both'"
        ),
        command_line(),
    ):
        op.load_dataset("data.csv", prefer="both")  # type: ignore[arg-type]


def test_a_run_in_the_way(run: Run) -> None:  # noqa: F811
    Path("run").mkdir()
    Path("run", "posterior.npz").touch()
    with pytest.raises(op.OptionError) as caught:
        op.learn("data.csv", out="run")
    ways = "choose another directory for the run ({}), or replace the run with {}."
    assert str(caught.value).endswith(ways.format("out", "overwrite=True"))
    shown = run("learn", "data.csv", "--out", "run").err.strip()
    assert shown.endswith(ways.format("--out", "--overwrite"))
