"""Named streams: nothing in runs with neighbouring seeds begins alike."""

from itertools import product

import numpy as np
import pytest

from outpoint.streams import named_seed

NAMES = [
    ("search",),
    ("quick searches",),
    ("trial",),
    ("effects",),
    *(("pilot", i) for i in range(6)),
]


def beginnings(seed: int) -> set[bytes]:
    """The first numbers of all streams of a run: those of its chains, and those with names."""
    named = [np.random.SeedSequence(named_seed(seed, *name)) for name in NAMES]
    of_searches = [stream for sequence in named for stream in sequence.spawn(4)]
    sequences = [*np.random.SeedSequence(seed).spawn(8), *named, *of_searches]
    return {np.random.default_rng(one).bytes(16) for one in sequences}


def test_no_two_streams_begin_alike() -> None:
    found = [beginnings(seed) for seed in range(200)]
    size = 8 + 5 * len(NAMES)
    assert {len(one) for one in found} == {size}
    assert len(set().union(*found)) == 200 * size


def test_seeds_counted_up_would_share_streams() -> None:
    """What names are for: the second stream of one seed is the first of the next."""
    streams = [{np.random.default_rng(seed + i).bytes(16) for i in range(2)} for seed in range(2)]
    assert streams[0] & streams[1]


@pytest.mark.parametrize(("seed", "name"), list(product((0, 1, 2**64), ("search", "pilot"))))
def test_a_name_gives_the_same_seed_again(seed: int, name: str) -> None:
    assert named_seed(seed, name) == named_seed(seed, name)
    assert 0 <= named_seed(seed, name) < 2**128
