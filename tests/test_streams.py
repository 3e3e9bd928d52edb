"""Named streams: nothing in runs with neighbouring seeds begins alike."""

import ast
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.streams import named_seed

NAMES = {
    "search": 1,
    "quick searches": 1,
    "trial": 1,
    "pilot": 6,
    "augment": 1,
    "first tables": 6,
    "widening": 6,
    "unfold": 1,
    "exact parts": 1,
    "parameters": 1,
    "effect": 1,
    "effects": 1,
    "rows": 1,
    "tables": 1,
    "prediction": 1,
    "ancestors": 4,
}
"""All names in the code, and how many numbered streams of each are compared."""

N_SPAWNED = 4


def names_in_the_code() -> set[str]:
    """The names that the package gives to streams."""
    found = set()
    for path in Path(op.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "named_seed":
                assert isinstance(node.args[1], ast.Constant), f"{path}:{node.lineno}"
                found.add(str(node.args[1].value))
    return found


def test_all_names_are_compared() -> None:
    assert names_in_the_code() == set(NAMES)


def beginnings(seed: int) -> list[bytes]:
    """The first numbers of all streams of a run: its own, those with names, those of these."""
    named = [(name,) for name in NAMES]
    named += [(name, i) for name, number in NAMES.items() for i in range(number) if number > 1]
    roots = [np.random.SeedSequence(seed)]
    roots += [np.random.SeedSequence(named_seed(seed, *name)) for name in named]
    children = [child for root in roots for child in root.spawn(N_SPAWNED)]
    grandchildren = [one for child in children for one in child.spawn(2)]
    sequences = [*roots, *children, *grandchildren]
    return [np.random.default_rng(one).bytes(16) for one in sequences]


def test_no_two_streams_begin_alike() -> None:
    found = [one for seed in range(200) for one in beginnings(seed)]
    assert len(found) > 200 * 300
    assert len(set(found)) == len(found)


def test_seeds_counted_up_would_share_streams() -> None:
    """What names are for: the second stream of one seed is the first of the next."""
    streams = [{np.random.default_rng(seed + i).bytes(16) for i in range(2)} for seed in range(2)]
    assert streams[0] & streams[1]


@pytest.mark.parametrize(("seed", "name"), list(product((0, 1, 2**64), ("search", "pilot"))))
def test_a_name_gives_the_same_seed_again(seed: int, name: str) -> None:
    assert named_seed(seed, name) == named_seed(seed, name)
    assert 0 <= named_seed(seed, name) < 2**128
