"""Whether graphs that are given by the codes of their parent sets are acyclic, compiled.

Posterior files and checkpoints hold graphs like that, thousands at a time. Graphs in other forms
are sorted where they are used: values (`graphs.layers`), one matrix in a kernel (`graphs.sorting`),
and the states of chains, where layers are what is asked for (`mcmc.dag`).
"""

import numpy as np

from outpoint.kernels import kernel
from outpoint.tables.parent_sets import Codes, ParentSets


def are_acyclic(codes: Codes, parent_sets: ParentSets) -> bool:
    """Whether all graphs (..., node) are acyclic; the codes must stand for existing parent sets."""
    candidates = parent_sets.candidates.astype(np.int64)
    members = parent_sets.members.astype(np.int64)
    return bool(_are_acyclic(codes.reshape(-1, len(candidates)), candidates, members))


@kernel
def _are_acyclic(codes, candidates, members):
    """Walk from every node to its parents; meeting a node of the same walk again is a cycle."""
    n, n_candidates = candidates.shape
    state = np.empty(n, dtype=np.int8)  # 0: not met, 1: on the walk, 2: done
    walk = np.empty(n, dtype=np.int64)
    place = np.empty(n, dtype=np.int64)  # of the next parent to look at
    for d in range(codes.shape[0]):
        state[:] = 0
        for first in range(n):
            if state[first] != 0:
                continue
            depth = 0
            walk[0], place[0], state[first] = first, 0, 1
            while depth >= 0:
                v = walk[depth]
                code = codes[d, v]
                parent = -1
                if code < 0:
                    while place[depth] < members.shape[1] and parent < 0:
                        parent = members[~code, place[depth]]
                        place[depth] += 1
                else:
                    while place[depth] < n_candidates and parent < 0:
                        if code >> place[depth] & 1:
                            parent = candidates[v, place[depth]]
                        place[depth] += 1
                if parent < 0:
                    state[v] = 2
                    depth -= 1
                elif state[parent] == 1:
                    return False
                elif state[parent] == 0:
                    depth += 1
                    walk[depth], place[depth], state[parent] = parent, 0, 1
    return True
