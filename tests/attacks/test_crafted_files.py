"""Readers of graphs, knowledge and scores answer every file in bounded memory and time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.attacks.crafted_files import GOOD, READERS, complaint, crafted
from tests.runs.problems import python

ATTACK = pytest.mark.attack(
    "crafted graphs, knowledge and scores", "read, or one sentence, within 1 GB and 20 s"
)


def check(place: Path, reader: str, record: Callable[[str, object], None], **job: Any) -> None:
    words = json.dumps({"directory": str(place), "reader": reader, **job})
    done = python("-m", "tests.attacks.crafted_files", words)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    record("attacks", found["tried"])
    assert found["wrong"] == []


@ATTACK
@pytest.mark.parametrize("reader", GOOD)
def test_some(reader: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    """In this process, without limits."""
    (tmp_path / "beside.toml").write_text('edge_prior = "crafted-prior.csv"\n')
    path = tmp_path / f"crafted-{reader}"
    path.write_text(GOOD[reader])
    READERS[reader](path)
    for seed in range(30):
        path.write_bytes(crafted(reader, np.random.default_rng(seed)))
        assert complaint(reader, path) == "", seed
    record_property("attacks", 30)


@ATTACK
@pytest.mark.long
@pytest.mark.parametrize("reader", GOOD)
def test_five_hundred_and_the_largest(
    reader: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    check(tmp_path, reader, record_property, first=30, last=530, special=True)
