"""Simulation-based calibration with holes: DAGs, parameters and data from the prior.

As in ``tests/scores/test_calibration.py``, but a quarter of all cells is then taken away at random.
Over such replications an edge is there, on average, as often as its posterior probability says:
for each of six edges and for their number, the mean of (indicator - probability) is within 4
standard errors of 0, a false alarm in at most 7 of 15,800 cases for each score. The chain of every
replication is short, which adds noise to the probabilities but shifts no mean.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from outpoint.augmentation import prepare_completed
from outpoint.data import Dataset
from outpoint.errors import OutpointError
from outpoint.missing import AugmentedChain, make_cells
from outpoint.missing.engines import ExactTables
from outpoint.options import LEARN, Options
from outpoint.parts import find_split
from outpoint.processors import limited_threads
from outpoint.scores import BDeu, BGe, ConditionalGaussian
from tests.reference import all_dags
from tests.scores.helpers import categorical, continuous, mixed
from tests.scores.priors import draw_blocks, draw_conditional

N_OBS, N_RUNS = 25, 400
SHARE = 0.25
ALPHA_MU, ESS = 0.7, 3.0
LEVELS, MIXED = [2, 3, 2], [0, 2, 0]
DAGS = all_dags(3)
OBSERVED = np.zeros((N_OBS, 3), dtype=bool)
SCORES: dict[str, Any] = {
    "bge": BGe(alpha_mu=ALPHA_MU, standardize=False),
    "bdeu": BDeu(equivalent_sample_size=ESS),
    "conditional-gaussian": ConditionalGaussian(
        alpha_mu=ALPHA_MU, equivalent_sample_size=ESS, standardize=False
    ),
}


def draw_table(name: str, rng: np.random.Generator, dag: np.ndarray) -> Dataset:
    """Rows of a DAG with parameters from the prior, cells missing at random."""
    if name == "bge":
        data = continuous(draw_blocks(rng, dag, [1, 1, 1], OBSERVED, ALPHA_MU))
    elif name == "bdeu":
        data = categorical(draw_conditional(rng, dag, LEVELS, OBSERVED, ALPHA_MU, ESS), LEVELS)
    else:
        data = mixed(draw_conditional(rng, dag, MIXED, OBSERVED, ALPHA_MU, ESS), MIXED)
    gone = rng.random(OBSERVED.shape) < SHARE
    return replace(data, values=np.where(gone, np.nan, data.values))


def edges_of(data: Dataset, score: Any, seed: int, n_warmup: int, n_tables: int) -> np.ndarray:
    """The probabilities of edges, by a chain of the package."""
    asked = Options.read(LEARN, {"score": score, "structure_prior": "uniform"})
    model = prepare_completed(data, asked)
    engine = ExactTables(model, find_split(model.scorer, model.prior))
    cells = make_cells(data, score)
    chain = AugmentedChain(cells, engine, n_warmup, np.random.SeedSequence(seed))
    chain.advance(n_warmup + n_tables)
    return np.mean(chain.edges, axis=0)


def edge_gaps(name: str, n_warmup: int, n_tables: int) -> np.ndarray:
    """Edges minus their probabilities, and their sums, for every replication."""
    rng = np.random.default_rng(11)
    dags = DAGS if name != "conditional-gaussian" else DAGS[~DAGS[:, [0, 2], 1].any(axis=1)]
    gaps = []
    with limited_threads(1):
        for run in range(N_RUNS):
            dag = dags[rng.integers(len(dags))]
            data = draw_table(name, rng, dag)
            try:
                edges = edges_of(data, SCORES[name], run, n_warmup, n_tables)
            except OutpointError:  # a column without any value has no table
                continue
            gaps.append((dag - edges)[~np.eye(3, dtype=bool)])
    assert len(gaps) > 0.99 * N_RUNS
    found = np.array(gaps)
    return np.column_stack([found, found.sum(axis=1)])


def is_calibrated(gaps: np.ndarray) -> bool:
    error = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps))
    return bool((np.abs(gaps.mean(axis=0)) <= 4 * error).all())


@pytest.mark.long
@pytest.mark.parametrize("name", SCORES)
def test_probabilities_are_those_of_the_prior(name: str) -> None:
    assert is_calibrated(edge_gaps(name, n_warmup=15, n_tables=5))


@pytest.mark.long
@pytest.mark.parametrize("name", SCORES)
def test_a_single_imputation_is_found_out(name: str) -> None:
    """Cells drawn from the observed ones of their columns once, and never again."""
    assert not is_calibrated(edge_gaps(name, n_warmup=0, n_tables=1))
