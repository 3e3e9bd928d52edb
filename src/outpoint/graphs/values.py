"""Graphs as arguments: how they are recognized, and the words for them."""

from typing import Any

from outpoint.kinds import Items, Tested


def is_dag(value: Any) -> bool:
    """Whether this is a :class:`outpoint.Dag`."""
    from outpoint.graphs.dag import Dag

    return isinstance(value, Dag)


DAG = Tested("a Dag", test=is_dag)
TARGETS = Items("a list of sets of nodes")
