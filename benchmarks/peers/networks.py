"""The problems of the comparison: reference networks that pgmpy brings along, and random DAGs."""

import gzip
from importlib.resources import files
from typing import NamedTuple

import pandas as pd

import outpoint as op
from benchmarks.large import sparse_gaussian

REFERENCE = ("asia", "sachs", "child", "alarm", "water")
GAUSSIAN = {"gaussian40": (40, 1), "gaussian40-2": (40, 2), "gaussian100": (100, 1)}
"""Random networks by name: variables, seed."""

NETWORKS = (*REFERENCE, *GAUSSIAN)
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


def make_network(name: str) -> Network:
    """A network by its name."""
    return gaussian_network(name) if name in GAUSSIAN else reference_network(name)


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


def gaussian_network(name: str) -> Network:
    """A sparse random DAG and data from it, with the limit on parents that outpoint chooses."""
    data, dag = sparse_gaussian(*GAUSSIAN[name])
    frame = pd.DataFrame(data.values, columns=list(data.names))
    return Network(name, frame, dag, None)
