"""The problems of the comparison: reference networks that pgmpy brings along, and random DAGs."""

import gzip
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

import outpoint as op
from benchmarks.large import sparse_gaussian

REFERENCE = ("asia", "sachs", "child", "alarm", "water")
GAUSSIAN = (40, 100)
N_OBS = 1000
MAX_PARENTS = 3
LARGEST_EXACT = 20
"""Variables up to which the exact posterior is the reference."""


class Network(NamedTuple):
    """Data, the DAG they come from, and the limit on parents."""

    name: str
    data: pd.DataFrame
    dag: op.Dag
    max_parents: int | None

    @property
    def has_exact(self) -> bool:
        """Whether its posterior can be computed."""
        return len(self.dag.names) <= LARGEST_EXACT


def reference_network(name: str, seed: int = 1) -> Network:
    """Data simulated from a network of pgmpy; states that do not occur are not known to exist.

    One of the states is called "None", which is no missing value.
    """
    from pgmpy.readwrite import BIFReader

    packed = files("pgmpy").joinpath("utils", "example_models", f"{name}.bif.gz").read_bytes()
    model = BIFReader(string=gzip.decompress(packed).decode()).get_model()
    names = sorted(model.nodes())
    data = "is " + model.simulate(N_OBS, seed=seed, show_progress=False)[names].astype(str)
    return Network(name, data, op.Dag.from_edges(names, model.edges()), MAX_PARENTS)


def gaussian_network(n_nodes: int, seed: int = 1) -> Network:
    """A sparse random DAG and data from it, with the limit on parents that outpoint chooses."""
    data, dag = sparse_gaussian(n_nodes, seed)
    frame = pd.DataFrame(data.values, columns=list(data.names))
    return Network(f"gaussian {n_nodes}", frame, dag, None)
