"""Draw one node's parents anew, given the rest of the DAG: a Gibbs step on DAGs.

All parent sets that avoid the node's descendants are possible, each with its score. Partition
moves keep every edge constraint on the way, and required edges can leave partitions that no move
connects; this step can always take away what is not required, and so connects all DAGs.
"""

from outpoint.kernels import inlined
from outpoint.mcmc.dag import mark_descendants, set_parents
from outpoint.mcmc.sums import log_sum_any, sample_any


@inlined
def resample_parents(view, dag, node, blocked, rng):
    """Replace the parents of ``node``, and return whether they are others than before.

    ``blocked`` is scratch space.
    """
    for u in range(blocked.size):
        blocked[u] = 0
    mark_descendants(dag, node, blocked)
    log_total = log_sum_any(view, node, blocked, 1)
    code = sample_any(view, node, blocked, 1, log_total, rng)
    is_new = code != dag.code[node]
    set_parents(view, dag, node, code)
    return is_new
