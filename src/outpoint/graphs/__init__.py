"""Graphs as values: DAGs, CPDAGs, labelled partitions and orders; counting, drawing, comparing."""

from outpoint.graphs.counting import count_dags
from outpoint.graphs.cpdag import Cpdag
from outpoint.graphs.dag import Dag
from outpoint.graphs.files import read_dag, write_dag
from outpoint.graphs.members import count_members
from outpoint.graphs.metrics import EdgeCounts, GraphComparison, compare_graphs
from outpoint.graphs.order import Order, bound_linear_extensions, count_linear_extensions
from outpoint.graphs.partition import LabelledPartition
from outpoint.graphs.random import random_dag, sample_uniform_dags

__all__ = [
    "Cpdag",
    "Dag",
    "EdgeCounts",
    "GraphComparison",
    "LabelledPartition",
    "Order",
    "bound_linear_extensions",
    "compare_graphs",
    "count_dags",
    "count_linear_extensions",
    "count_members",
    "random_dag",
    "read_dag",
    "sample_uniform_dags",
    "write_dag",
]
