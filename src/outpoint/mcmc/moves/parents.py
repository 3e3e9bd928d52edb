"""Draw one node's parents anew, given the rest of the DAG: a Gibbs step on DAGs.

All parent sets that avoid the node's descendants are possible, inside and outside sets alike, each
with its score. Partition moves keep every edge constraint on the way, and required edges can leave
partitions that no move connects; this step can always take away what is not required, and so
connects all DAGs.
"""

from outpoint.kernels import borrowed, inlined, kernel
from outpoint.mcmc.dag import set_parents
from outpoint.mcmc.edges import list_edges, mark_below
from outpoint.mcmc.moves.blocks import begin_block, make_dag_block
from outpoint.mcmc.moves.step import Step, once
from outpoint.mcmc.partition import dag_to_partition
from outpoint.mcmc.sums import draw_any


@inlined
def resample_parents(view, dag, listed, node, rng):
    """Replace the parents of ``node``, and return whether they differ from those before.

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


@kernel
def take_new_parents(move, view, state, scratch, plan, power, is_cold, trace, rng):
    """One step: draw a DAG, one node's parents anew, and return to partitions.

    Replicas other than 0, at other powers, leave this step to the one they swap with.
    """
    if not is_cold:
        return once(False)
    view, state, scratch = borrowed(view), borrowed(state), borrowed(scratch)
    begin_block(view, state, scratch, rng)
    node = int(rng.random() * state.order.size)
    if not resample_parents(view, scratch.dag, scratch.listed, node, rng):
        return once(False)
    dag_to_partition(view, scratch.dag, state)
    return once(True)


NEW_PARENTS = Step("parents", take_new_parents, make_dag_block)
