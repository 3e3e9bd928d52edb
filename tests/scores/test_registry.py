"""One registry: everything that names scores names those in it."""

import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import outpoint as op
from outpoint import scores
from outpoint.cli.options import declared
from outpoint.naming import flag
from outpoint.registry import SCORES, list_scores, score_title

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SCORES)
def test_a_line_is_all_that_is_needed(name: str) -> None:
    entry = SCORES[name]
    kind = getattr(op, entry.class_name)
    assert scores.SCORES[name] is kind
    assert kind().name == name
    assert score_title(name) == entry.class_name
    assert f"{name} ({entry.suits})" in list_scores()


@pytest.mark.parametrize("name", SCORES)
def test_the_documentation_knows_every_score(name: str) -> None:
    choosing = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    assert f"`{name}`" in choosing
    assert f"| {SCORES[name].class_name}" in choosing
    reference = (ROOT / "docs" / "api" / "scores.md").read_text(encoding="utf-8")
    assert f"::: outpoint.{SCORES[name].class_name}\n" in reference


def test_options_of_the_command_line_are_settings_of_scores() -> None:
    settings = {own.name for kind in scores.SCORES.values() for own in fields(kind)}
    offered = {f"--{name.replace('_', '-')}" for name in declared("log_score").options}
    given = {setting for setting in settings if flag(setting) in offered}
    assert given == {"standardize", "equivalent_sample_size"}
    assert scores.scores_with("standardize") == ["bge", "blocks", "conditional-gaussian"]
    assert scores.scores_with("equivalent_sample_size") == ["bdeu", "conditional-gaussian"]


def test_names_are_known_before_anything_heavy_is_imported() -> None:
    code = "import sys, outpoint.cli.options; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_other_scores_keep_their_names() -> None:
    assert score_title("custom") == "custom"
