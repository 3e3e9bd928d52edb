"""What a chain on partitions can do in a step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from outpoint.kernels import inlined
from outpoint.tables.view import TableView


class Step(NamedTuple):
    """A move as a chain takes it: a kernel, and the scratch space that it alone uses.

    ``take(move, view, state, scratch, plan, power, is_cold, trace, rng)`` changes ``state``, a
    scored partition, in place, and leaves the posterior to the ``power`` as it is. It returns how
    often it tried to, and how often it did. ``move`` is its number. The replica that is recorded
    is cold; only there the best DAG is remembered.
    """

    name: str
    take: Callable[..., Any]
    make_scratch: Callable[[TableView], Any]


@inlined
def once(is_done):
    """What a step that has tried once returns."""
    return np.int64(1), np.int64(is_done)
