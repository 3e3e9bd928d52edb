"""Draw one node's parents anew, given the rest of the DAG: a Gibbs step on DAGs.

All parent sets that avoid the node's descendants are possible, inside and outside sets alike, each
with its score. Partition moves keep every edge constraint on the way, and required edges can leave
partitions that no move connects; this step can always take away what is not required, and so
connects all DAGs.
"""

from outpoint.kernels import inlined
from outpoint.mcmc.dag import set_parents
from outpoint.mcmc.moves.rev import list_edges, mark_below
from outpoint.mcmc.sums import draw_any


@inlined
def resample_parents(view, dag, listed, node, rng):
    """Replace the parents of ``node``, and return whether they are others than before.

    The edges of ``dag`` must have been ``listed``; they still are afterwards.
    """
    listed.stamp[0] += 1
    mark_below(listed, node, node, node, listed.below_first)
    code = draw_any(view, node, listed.below_first, listed.stamp[0], rng)
    if code == dag.code[node]:
        return False
    set_parents(view, dag, node, code)
    list_edges(dag, listed)
    return True
