"""Steps on DAGs, as a chain on partitions takes them.

A DAG is drawn from the partition and taken through a block of moves that keep the posterior over
DAGs; the chain goes on from the partition it then belongs to. To the power b the target is w^b, w
the weight of the partition, and a DAG drawn from it has P(G) / w: a block is accepted with the
probability min(1, (w / w')^(1 - b)), which is 1 at power 1. Hot replicas take short blocks, as long
ones end near the posterior and would be refused.
"""

from typing import NamedTuple

from outpoint.kernels import inlined
from outpoint.mcmc.dag import DagState, make_dag
from outpoint.mcmc.edges import ListedEdges, list_edges, make_listed_edges
from outpoint.mcmc.metropolis import accepts
from outpoint.mcmc.partition import (
    PartitionState,
    copy_partition,
    dag_to_partition,
    make_partition,
    sample_dag,
)
from outpoint.mcmc.replicas import log_gain
from outpoint.tables.view import TableView, most_parents

LEAST_BLOCK_POWER = 0.15
"""Below this power blocks of steps on DAGs are hardly ever accepted, and not tried."""


class DagBlock(NamedTuple):
    """Scratch space: the DAG, its edges, and the partition it leads to."""

    dag: DagState
    listed: ListedEdges
    proposal: PartitionState


def make_dag_block(view: TableView) -> DagBlock:
    """Scratch space for DAGs over this table."""
    n, most = len(view.candidates), most_parents(view)
    return DagBlock(make_dag(n, most), make_listed_edges(n, most), make_partition(n))


@inlined
def begin_block(view, state, scratch, rng):
    """Draw a DAG from the partition, and list its edges."""
    sample_dag(view, state, rng, scratch.dag)
    list_edges(scratch.dag, scratch.listed)


@inlined
def end_block(view, state, scratch, power, is_cold, rng):
    """Go on from where the DAG has got to, if that is accepted."""
    proposal = scratch.proposal
    dag_to_partition(view, scratch.dag, proposal)
    if is_cold or accepts(log_gain(view, state, proposal, power, 1.0), 0.0, rng):
        copy_partition(proposal, state)
