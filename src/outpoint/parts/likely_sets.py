"""The likely parent sets of all nodes and their probabilities, as arrays: there can be millions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import require

Members = NDArray[np.int16]
"""Sets as rows of nodes in order, padded with -1."""

LikelySet = tuple[tuple[int, ...], float]
"""A parent set and the log of its probability."""


@dataclass(frozen=True, eq=False)
class LikelySets:
    """Parent sets of each node, most probable first, with the logs of their probabilities.

    Those of a node stand at ``starts[node]`` to ``starts[node + 1]``; nodes may have none.
    """

    members: Members
    log_probability: Floats
    starts: Integers

    @classmethod
    def join(cls, of_nodes: Iterable[tuple[Members, Floats]]) -> LikelySets:
        """The sets of all nodes, one after the other."""
        found = list(of_nodes)
        width = max(1, *(members.shape[1] for members, _ in found))
        padded = [
            np.pad(members, ((0, 0), (0, width - members.shape[1])), constant_values=-1)
            for members, _ in found
        ]
        starts = np.cumsum([0, *(len(logs) for _, logs in found)])
        return cls(np.concatenate(padded), np.concatenate([logs for _, logs in found]), starts)

    @classmethod
    def read(cls, children: Integers, members: Members, logs: Floats, n: int) -> LikelySets:
        """Sets in any order, checked: those of a node add up to 1, if there are any."""
        require(
            members.size and -1 <= members.min() <= members.max() < n,
            "a member of a parent set is not a node",
        )
        require(children.min() >= 0 and children.max() < n, "a parent set belongs to no node")
        totals = np.bincount(children, np.exp(logs), minlength=n)
        counts = np.bincount(children, minlength=n)
        are_whole = (abs(totals - 1) < 1e-3) | (counts == 0)
        require(are_whole.all(), "probabilities of parent sets do not add up to 1")
        ordered = np.where(members < 0, n + np.arange(members.shape[1]), members)
        is_set = (np.diff(ordered, axis=1) > 0).all() and not (members == children[:, None]).any()
        require(is_set, "a parent set holds its child, or a node twice")
        order = np.lexsort((-logs, children))
        return cls(members[order], logs[order], np.append(0, np.cumsum(counts)))

    @property
    def has_sets(self) -> Booleans:
        """Which nodes have parent sets."""
        return np.asarray(np.diff(self.starts) > 0)

    @property
    def children(self) -> Integers:
        """The child of each set."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def arrays(self, child: int) -> tuple[Members, Floats]:
        """The sets of a node, and the logs of their probabilities."""
        own = slice(self.starts[child], self.starts[child + 1])
        return self.members[own], self.log_probability[own]

    def of(self, child: int, at_least: float) -> list[LikelySet]:
        """The sets of a node of at least this probability."""
        members, logs = self.arrays(child)
        n_likely = int(np.count_nonzero(logs >= np.log(at_least)))
        return list_sets(members[:n_likely], logs[:n_likely])

    def log_of(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node; -inf if that is not likely."""
        members, logs = self.arrays(child)
        if len(parents) > members.shape[1]:
            return -np.inf
        wanted = np.full(members.shape[1], -1)
        wanted[: len(parents)] = sorted(parents)
        found = np.flatnonzero((members == wanted).all(axis=1))
        return float(logs[found[0]]) if len(found) else -np.inf


def list_sets(members: Members, logs: Floats) -> list[LikelySet]:
    """Rows of members as tuples, with their logs."""
    sizes = (members >= 0).sum(axis=1)
    rows: Sequence[list[int]] = members.tolist()
    return [
        (tuple(row[:size]), log)
        for row, size, log in zip(rows, sizes.tolist(), logs.tolist(), strict=True)
    ]
