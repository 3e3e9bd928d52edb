"""Labelled partitions: the layers of outpoints that DAGs are grouped by.

The nodes of a DAG fall into layers: layer 0 holds the nodes without parents, and each later layer
the nodes that have none once the earlier layers are taken away. Read the other way round, a
sequence of layers stands for all the DAGs in which (paper, section 4.1)

- no two nodes of one layer are connected,
- edges only go from earlier to later layers, and
- every node outside layer 0 has at least one parent in the layer just before its own.

Each DAG belongs to exactly one labelled partition, which is why sampling partitions, unlike
sampling orders, is unbiased. The paper draws outpoints on the right and numbers from the left: its
last partition element is our layer 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from outpoint.arguments import takes
from outpoint.errors import GraphError
from outpoint.graphs.layers import Layers
from outpoint.graphs.validation import DAG, validate_indices
from outpoint.kinds import Items, checked

if TYPE_CHECKING:
    from outpoint.graphs.dag import Dag


@dataclass(frozen=True)
class LabelledPartition:
    """Nodes 0..n-1 in layers, layer 0 being the outpoints; order inside a layer does not matter.

    Examples
    --------
    >>> LabelledPartition(((0, 2, 4), (3,), (1,))).n_dags()
    56
    """

    layers: Layers

    def __post_init__(self) -> None:
        """Sort each layer and check that the layers hold every node once."""
        given = checked("layers", Items("a list of lists of nodes"), self.layers)
        layers = tuple(tuple(sorted(validate_indices(layer))) for layer in given)
        if not all(layers):
            raise GraphError("a layer of a labelled partition must not be empty")
        nodes = sorted(v for layer in layers for v in layer)
        if nodes != list(range(len(nodes))):
            raise GraphError(
                f"the layers must hold each of the nodes 0 to {len(nodes) - 1} exactly once"
            )
        object.__setattr__(self, "layers", layers)

    @classmethod
    @takes(dag=DAG)
    def from_dag(cls, dag: Dag) -> LabelledPartition:
        """The one labelled partition that a DAG belongs to."""
        return dag.partition()

    @classmethod
    def from_layer_of(cls, layer_of: Iterable[int]) -> LabelledPartition:
        """The partition in which node `v` lies in layer `layer_of[v]`."""
        assigned = validate_indices(layer_of)
        if any(layer < 0 for layer in assigned):
            raise GraphError("layers are numbered from 0")
        layers: list[list[int]] = [[] for _ in range(max(assigned, default=-1) + 1)]
        for node, layer in enumerate(assigned):
            layers[layer].append(node)
        return cls(tuple(map(tuple, layers)))

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return sum(self.sizes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of nodes of each layer, outpoints first."""
        return tuple(len(layer) for layer in self.layers)

    @cached_property
    def layer_of(self) -> npt.NDArray[np.int64]:
        """For each node the number of its layer."""
        layer_of = np.empty(self.n_nodes, dtype=np.int64)
        for number, layer in enumerate(self.layers):
            layer_of[list(layer)] = number
        layer_of.setflags(write=False)
        return layer_of

    @takes(dag=DAG)
    def contains(self, dag: Dag) -> bool:
        """Whether this is the labelled partition of the DAG."""
        return dag.partition() == self

    def n_dags(self) -> int:
        """The exact number of DAGs that belong to this labelled partition.

        A node takes any non-empty set of parents from the previous layer and any set from the
        layers before that one: (2^previous - 1) 2^earlier choices.
        """
        count = 1
        earlier = 0
        for previous, size in pairwise(self.sizes):
            count *= (((1 << previous) - 1) << earlier) ** size
            earlier += previous
        return count

    def __len__(self) -> int:
        """The number of layers."""
        return len(self.layers)
