"""What interventions tell beyond observations: the pairs of nodes whose edge gets a direction.

Setting the nodes of a target set from outside cuts all edges into them. Two DAGs stay equally good
for observations and experiments if they are Markov equivalent and remain so after every cut
(Hauser & Bühlmann, JMLR 2012, theorem 10): the same edges are cut in both, which makes a difference
exactly where a target set holds one end of an edge and not the other. Such an edge has the same
direction in the whole class.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from outpoint.arguments import NAMES
from outpoint.arrays import Booleans
from outpoint.errors import GraphError
from outpoint.kinds import in_brief

Targets = Iterable[Iterable[str]]
"""Sets of nodes, each set together in some of the data; none are needed for observations."""


def find_separated(names: Sequence[str], targets: Targets) -> Booleans:
    """[a, b]: whether a target set holds one of the two nodes and not the other."""
    number = {name: v for v, name in enumerate(names)}
    separated = np.zeros((len(names), len(names)), dtype=np.bool_)
    for target in targets:
        if isinstance(target, str):
            shown = in_brief(target)
            raise GraphError(f"a target set is a list of nodes, not the single text {shown}.")
        is_set = np.zeros(len(names), dtype=np.bool_)
        try:
            members = NAMES.read(target)
        except Exception:
            raise GraphError(f"a target set is a list of nodes, not {in_brief(target)}.") from None
        for name in members:
            if name not in number:
                raise GraphError(f"a target set holds {in_brief(name)}, which is not a node.")
            is_set[number[name]] = True
        separated |= is_set[:, None] != is_set[None, :]
    return separated
