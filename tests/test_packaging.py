"""What is said about the package elsewhere agrees with the package."""

import tomllib
from pathlib import Path

import outpoint as op

ROOT = Path(__file__).parent.parent


def test_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["dynamic"] == ["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {op.__version__}" in citation
