"""Features of DAGs as values: what can be true of a graph, and evaluating it on many at once.

A feature is a small tree of frozen dataclasses over node numbers, made by
:func:`outpoint.posterior.feature_parser.parse_feature` from text. ``evaluate`` takes a block of
adjacency matrices (block, parent, child) and says for each DAG whether the feature is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, SupportsFloat

import numpy as np

from outpoint.arrays import Booleans
from outpoint.graphs import Dag
from outpoint.graphs.adjustment import find_adjusted
from outpoint.graphs.blocks import find_paths


class Feature(Protocol):
    """Something that is true of some DAGs."""

    def evaluate(self, dags: Booleans) -> Booleans:
        """Whether it is true of each DAG of a block (block, parent, child)."""
        ...


FeatureFunction = Callable[[Dag], SupportsFloat]
"""A feature as a function of one DAG: true or false, or a number."""


@dataclass(frozen=True)
class Edge:
    """parent -> child."""

    parent: int
    child: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Read off the matrices."""
        return dags[:, self.parent, self.child]


@dataclass(frozen=True)
class Adjacent:
    """a -- b: an edge in one direction or the other."""

    a: int
    b: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Read off the matrices."""
        return dags[:, self.a, self.b] | dags[:, self.b, self.a]


@dataclass(frozen=True)
class Path:
    """source -> ... -> target: a directed path of one edge or more."""

    source: int
    target: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Search from the source."""
        return find_paths(dags, self.source, self.target)


@dataclass(frozen=True)
class VStructure:
    """a -> collider <- b, with a and b not adjacent."""

    a: int
    collider: int
    b: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Both edges, and none between the parents."""
        both = dags[:, self.a, self.collider] & dags[:, self.b, self.collider]
        return both & ~Adjacent(self.a, self.b).evaluate(dags)


@dataclass(frozen=True)
class InBlanket:
    """member in mb(node): a parent, a child or another parent of a child of the node."""

    member: int
    node: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Adjacent, or with a common child."""
        spouses = (dags[:, self.member] & dags[:, self.node]).any(axis=1)
        return Adjacent(self.member, self.node).evaluate(dags) | spouses


@dataclass(frozen=True)
class Root:
    """root(node): no parents."""

    node: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """An empty column."""
        return np.logical_not(dags[:, :, self.node].any(axis=1))


@dataclass(frozen=True)
class Leaf:
    """leaf(node): no children."""

    node: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """An empty row."""
        return np.logical_not(dags[:, self.node].any(axis=1))


@dataclass(frozen=True)
class Isolated:
    """isolated(node): no edges at all."""

    node: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """Root and leaf."""
        return Root(self.node).evaluate(dags) & Leaf(self.node).evaluate(dags)


@dataclass(frozen=True)
class ParentSet:
    """parents(child) = {...}: exactly these parents."""

    child: int
    parents: frozenset[int]

    def evaluate(self, dags: Booleans) -> Booleans:
        """A column of exactly this pattern."""
        wanted = np.zeros(dags.shape[1], dtype=np.bool_)
        wanted[list(self.parents)] = True
        return (dags[:, :, self.child] == wanted).all(axis=1)


@dataclass(frozen=True)
class Adjusts:
    """adjusts({...}, cause, effect): a valid adjustment set for the effect of one on another."""

    members: frozenset[int]
    cause: int
    effect: int

    def evaluate(self, dags: Booleans) -> Booleans:
        """The complete criterion of adjustment."""
        members = np.zeros(dags.shape[1], dtype=np.bool_)
        members[list(self.members)] = True
        return find_adjusted(dags, self.cause, self.effect, members)


@dataclass(frozen=True)
class Not:
    """The opposite of a feature."""

    part: Feature

    def evaluate(self, dags: Booleans) -> Booleans:
        """Where the part is not true."""
        return ~self.part.evaluate(dags)


@dataclass(frozen=True)
class And:
    """All of several features."""

    parts: tuple[Feature, ...]

    def evaluate(self, dags: Booleans) -> Booleans:
        """Where all parts are true."""
        return np.logical_and.reduce([part.evaluate(dags) for part in self.parts])


@dataclass(frozen=True)
class Or:
    """At least one of several features."""

    parts: tuple[Feature, ...]

    def evaluate(self, dags: Booleans) -> Booleans:
        """Where some part is true."""
        return np.logical_or.reduce([part.evaluate(dags) for part in self.parts])
