"""Streams of random numbers, named by what they are for.

A run has one seed. Its chains take theirs from it directly; whatever else needs random numbers asks
for a seed of its own by name, so that no two parts of a run, nor of runs with neighbouring seeds,
ever share a stream.
"""

from hashlib import sha256

import numpy as np


def named_seed(seed: int, *name: str | int) -> int:
    """A seed of 128 bits that depends on the run's seed and on the name."""
    digest = sha256("/".join(map(str, name)).encode()).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    words = np.random.SeedSequence(seed, spawn_key=key).generate_state(4)
    return int.from_bytes(words.astype("<u4").tobytes(), "little")
