"""The laws of random DAGs, held to exact counts by chi-square tests with fixed seeds.

A correct sampler fails one such test with the probability FALSE_ALARM over the choice of seed.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare

from outpoint.errors import GraphError, OptionError
from outpoint.graphs import Dag, count_dags, count_linear_extensions, random_dag
from outpoint.graphs.random import _sample_parents
from tests.grids import first

from .helpers import all_dags

FALSE_ALARM = 1e-4
N_NODES = 4


def uniformity_p_value(
    draw: Callable[[np.random.Generator], Dag], cells: set[bytes], n_draws: int, seed: int
) -> float:
    """Chi-square p-value of `n_draws` DAGs against equal probabilities of the cells."""
    rng = np.random.default_rng(seed)
    found = Counter(draw(rng).adjacency.tobytes() for _ in range(n_draws))
    assert set(found) <= cells, "a draw lies outside of the support"
    return chisquare([found[cell] for cell in sorted(cells)]).pvalue


def cells_with(max_parents: int) -> set[bytes]:
    small = (dag.adjacency for dag in all_dags(N_NODES))
    return {a.tobytes() for a in small if a.sum(axis=0).max() <= max_parents}


def test_uniform_law() -> None:
    cells = cells_with(N_NODES - 1)
    assert len(cells) == 543
    assert uniformity_p_value(lambda rng: random_dag(N_NODES, rng), cells, 15_000, 1) > FALSE_ALARM


def test_random_orders_fail_the_same_check() -> None:
    def draw(rng: np.random.Generator) -> Dag:
        return random_dag(N_NODES, rng, law="erdos_renyi", edge_probability=0.5)

    assert uniformity_p_value(draw, cells_with(N_NODES - 1), 15_000, 1) < 1e-12


@pytest.mark.parametrize(("max_parents", "n_dags"), first([(1, 125), (2, 443)]))
def test_uniform_law_with_bounded_parents(max_parents: int, n_dags: int) -> None:
    cells = cells_with(max_parents)
    assert len(cells) == count_dags(N_NODES, max_parents=max_parents) == n_dags

    def draw(rng: np.random.Generator) -> Dag:
        return random_dag(N_NODES, rng, max_parents=max_parents)

    assert uniformity_p_value(draw, cells, 10_000, 2) > FALSE_ALARM


@pytest.mark.parametrize("bound", [None, 3])
def test_parent_sets_are_uniform_among_those_that_touch_the_last_layer(bound: int | None) -> None:
    # Six nodes are placed, the last four of them in the layer before.
    largest = 6 if bound is None else bound
    sets = [
        members
        for size in range(1, largest + 1)
        for members in combinations(range(6), size)
        if members[-1] >= 2
    ]
    rng = np.random.default_rng(6)
    found = Counter(tuple(sorted(_sample_parents(6, 4, bound, rng).tolist())) for _ in range(5_000))
    assert set(found) == set(sets)
    assert chisquare([found[members] for members in sets]).pvalue > FALSE_ALARM


def test_trimming_parents_is_not_uniform() -> None:
    def draw(rng: np.random.Generator) -> Dag:
        return random_dag(N_NODES, rng, law="paper", max_parents=2)

    assert uniformity_p_value(draw, cells_with(2), 10_000, 2) < 1e-12


@pytest.mark.parametrize("edge_probability", [0.5, 0.2])
def test_random_orders_have_their_known_law(edge_probability: float) -> None:
    """P(DAG) = linear extensions / n! times p^edges (1-p)^(pairs - edges); p = 1/2 is "paper"."""
    expected = {}
    for dag in all_dags(N_NODES):
        edges = edge_probability**dag.n_edges * (1 - edge_probability) ** (6 - dag.n_edges)
        expected[dag] = 12_000 * count_linear_extensions(dag) / 24 * edges
    rng = np.random.default_rng(3)
    if edge_probability == 0.5:
        drawn = [random_dag(N_NODES, rng, law="paper") for _ in range(12_000)]
    else:
        drawn = [
            random_dag(N_NODES, rng, law="erdos_renyi", edge_probability=edge_probability)
            for _ in range(12_000)
        ]
    found = Counter(drawn)
    # Cells with small expectations are put together, as the chi-square law needs.
    common = [dag for dag, value in expected.items() if value >= 5]
    counts = [found[dag] for dag in common]
    values = [expected[dag] for dag in common]
    if len(common) < len(expected):
        counts.append(12_000 - sum(counts))
        values.append(12_000 - sum(values))
    assert chisquare(counts, values).pvalue > FALSE_ALARM


def test_paper_law_removes_parents_evenly() -> None:
    """On three nodes with one parent at most, the laws of the trimmed graphs follow by hand."""
    # In order a, b, c: b has parent a with 1/2; c has none with 1/4, else a or b with 3/8 each.
    law = {(b, c): 0.5 * (0.25 if c is None else 0.375) for b in (None, 0) for c in (None, 0, 1)}
    expected: Counter[Dag] = Counter()
    for order in np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]):
        for (second, third), probability in law.items():
            edges = [(int(order[0]), int(order[1]))] if second is not None else []
            edges += [(int(order[third]), int(order[2]))] if third is not None else []
            expected[Dag.from_edges(["x1", "x2", "x3"], edges)] += probability / 6
    rng = np.random.default_rng(4)
    found = Counter(random_dag(3, rng, law="paper", max_parents=1) for _ in range(10_000))
    assert set(found) == set(expected)
    cells = list(expected)
    values = [10_000 * expected[dag] for dag in cells]
    assert chisquare([found[dag] for dag in cells], values).pvalue > FALSE_ALARM


@pytest.mark.parametrize("law", ["uniform", "paper", "erdos_renyi"])
def test_bound_names_and_seeds_are_kept(law) -> None:
    options = {"edge_probability": 0.9} if law == "erdos_renyi" else {}
    names = [f"gene {i}" for i in range(30)]
    dag = random_dag(30, 7, law=law, max_parents=3, names=names, **options)
    assert dag.names == tuple(names)
    assert dag.adjacency.sum(axis=0).max() == 3
    assert dag == random_dag(
        30, np.random.default_rng(7), law=law, max_parents=3, names=names, **options
    )
    assert dag != random_dag(30, 8, law=law, max_parents=3, names=names, **options)
    assert random_dag(np.int64(3), 1, law=law, **options).names == ("x1", "x2", "x3")
    assert random_dag(0, law=law, **options) == Dag.empty([])
    assert random_dag(1, law=law, **options) == Dag.empty(["x1"])


def test_large_uniform_dags() -> None:
    rng = np.random.default_rng(5)
    drawn = [random_dag(100, rng) for _ in range(20)]
    # About half of all pairs are connected, and layers hold 1.3 to 1.5 nodes on average.
    pairs = 100 * 99 / 2
    assert np.mean([dag.n_edges for dag in drawn]) == pytest.approx(pairs / 2, rel=0.05)
    assert 65 < np.mean([len(dag.partition()) for dag in drawn]) < 80
    # Labels are exchangeable: x1 comes before x2 about as often as after.
    first = [dag.partition().layer_of[0] < dag.partition().layer_of[1] for dag in drawn]
    assert 2 <= sum(first) <= 18
    forest = random_dag(200, rng, max_parents=1)
    assert forest.adjacency.sum(axis=0).max() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be a whole number"),
        ({"n": 2.5}, "n must be a whole number"),
        ({"n": 3, "law": "gaussian"}, "law must be one of uniform, paper, erdos_renyi"),
        ({"n": 3, "max_parents": -1}, "max_parents"),
        ({"n": 3, "edge_probability": 0.5}, "belongs to law"),
        ({"n": 3, "law": "erdos_renyi"}, "needs an edge_probability"),
        (
            {"n": 3, "law": "erdos_renyi", "edge_probability": 1.5},
            "edge_probability must be a number from 0 to 1",
        ),
        ({"n": 3, "names": ["a"]}, "1 names for 3 nodes"),
        ({"n": 3, "rng": "seed"}, "rng must be a NumPy Generator"),
        ({"n": 3, "rng": -1}, "rng must be a NumPy Generator"),
    ],
)
def test_bad_options_are_refused(options, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        random_dag(**options)


def test_bad_names_are_refused() -> None:
    with pytest.raises(GraphError, match="occurs twice"):
        random_dag(2, names=["a", "a"])
