"""Tables as people have them: each is read, or refused with the option that helps."""

import random
import time
from pathlib import Path

import pytest

from tests.data import everyday
from tests.data.everyday import CASES, Case

DOCS = Path(__file__).parents[2] / "docs" / "data.md"
SECONDS = 30.0
"""Far more than any of the files takes; a quadratic step would take longer."""


def test_there_are_enough() -> None:
    assert len(CASES) >= 40
    assert len({case.title for case in CASES if not case.title.startswith("the same")}) >= 40


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_everyday_file(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    start = time.monotonic()
    works, said = everyday.outcome(case)
    assert time.monotonic() - start < SECONDS
    assert works is case.works, said
    assert case.fragment in said
    if not works:
        assert said.endswith(".")
        assert "\n" not in said


SNIPPETS = [b",", b";", b"\t", b"\n", b"\r", b'"', b"#", b"NA", b"1e999", b"-", b"9" * 500, b"\xff"]
SNIPPETS += [b"\0", b"sep=;\n", b"1_0", b"inf", b"2024-01-01", b"1,234", "²٣€".encode()]


def damaged(rng: random.Random) -> Case:
    """One of the smaller files with a few random changes and other options."""
    case = rng.choice([case for case in CASES if len(case.content) < 20_000])
    content = case.content
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content) + 1)
        gone = rng.choice([0, 0, 1, 20])
        content = content[:place] + rng.choice(SNIPPETS) + content[place + gone :]
    options = rng.choice(
        [{}, {"missing": "drop"}, {"categorical": "all"}, {"continuous": "all", "missing": "drop"}]
    )
    return case._replace(content=content, options=options)


@pytest.mark.parametrize("seed", range(300))
def test_damaged_files_give_data_or_a_sentence(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    works, said = everyday.outcome(damaged(random.Random(seed)))
    assert works or said.endswith((".", "?"))
    assert "\n" not in said


def test_the_documentation_shows_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert everyday.table() in DOCS.read_text(encoding="utf-8"), "run python -m tests.data.everyday"
