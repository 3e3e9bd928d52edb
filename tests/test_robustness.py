"""The table of attacks counts what the tests have tried, and what was withstood."""

from pathlib import Path

from tests.runs.problems import python

TESTS = """
import pytest

@pytest.mark.attack("torn apart", "is refused", times=3)
def test_held():
    pass

@pytest.mark.attack("torn apart")
@pytest.mark.parametrize("way", [1, 2])
def test_more(way, record_property):
    record_property("attacks", 10)
    assert way == 1

@pytest.mark.attack("left alone")
def test_skipped():
    pytest.skip("not here")

def test_no_attack():
    pytest.fail("is not run")
"""


def test_the_table(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    tests = str(tmp_path / "test_some.py")
    done = python("-m", "benchmarks", "robustness", "-m", "attack", "-c", "pyproject.toml", tests)
    assert done.returncode == 1, "one attack was not withstood"
    assert "| torn apart | is refused | 23 | 13 |" in done.stdout
    assert "| all | | 23 | 13 |" in done.stdout
    assert "| left alone" not in done.stdout
