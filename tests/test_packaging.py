"""What is said about the package elsewhere agrees with the package."""

import json
import re
import tomllib
from pathlib import Path

import outpoint as op

ROOT = Path(__file__).parent.parent


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def test_one_version() -> None:
    assert PROJECT["dynamic"] == ["version"]
    assert f"version: {op.__version__}" in read("CITATION.cff").splitlines()
    module = json.loads(read("contrib/benchpress/outpoint_learn/info.json"))
    assert module["version"] == op.__version__


def test_what_is_supported_is_what_the_workflow_tests() -> None:
    workflow, said = read(".github/workflows/tests.yml"), read("docs/stability.md")
    classifiers = "\n".join(PROJECT["classifiers"])
    versions = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.M)
    tested = re.search(r"python: \[(.*)\]", workflow)
    assert tested is not None
    assert re.findall(r"3\.\d+", tested[1]) == versions
    assert PROJECT["requires-python"] == f">={versions[0]}"
    assert f"Python {versions[0]} to {versions[-1]}, on Linux" in said
    assert re.findall(r"^Operating System :: (.*)$", classifiers, re.M) == ["POSIX :: Linux"]
    for job in re.split(r"^  (?=\w+:$)", workflow, flags=re.M)[1:]:
        assert ("runs-on: ubuntu-latest" in job) == (".ci/run" in job or "pytest" in job)
