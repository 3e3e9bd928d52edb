"""Searching for the best DAG: annealing over orders and partitions, and hill climbing."""

from outpoint.search.annealing import default_steps
from outpoint.search.hill_climb import PATIENCE, TABU, climb_hills
from outpoint.search.stochastic import SPACES, bound_miss_probability, count_orders, search_dags

__all__ = [
    "PATIENCE",
    "SPACES",
    "TABU",
    "bound_miss_probability",
    "climb_hills",
    "count_orders",
    "default_steps",
    "search_dags",
]
