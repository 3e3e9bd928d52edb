"""The layered drawing: parents above children, nothing overlaps, every edge meets its nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import outpoint as op
from outpoint.posterior.exact import FEATURE_DRAWS, ExactPosterior
from outpoint.report.layout import (
    BEST_WIDTH,
    NODE_HEIGHT,
    Router,
    assign_layers,
    clip_label,
    compute_layout,
    node_labels,
    orient_pairs,
)
from outpoint.report.payload import count_features
from tests.grids import first
from tests.report.posteriors import exact, fabricated


def random_adjacency(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return op.random_dag(n, rng, max_parents=3).adjacency


def labels_for(n: int) -> list[str]:
    return [clip_label("x" * (1 + 5 * v % 23)) for v in range(n)]


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 30), st.integers(0, 10**6))
def test_parents_are_above_and_nothing_overlaps(n, seed):
    adjacency = random_adjacency(n, seed)
    layout = compute_layout(adjacency, labels_for(n))
    x, y = layout.positions.T
    for parent, child in np.argwhere(adjacency):
        assert y[parent] < y[child]
    for a in range(n):
        for b in range(a):
            apart = abs(x[a] - x[b]) >= (layout.widths[a] + layout.widths[b]) / 2
            assert apart or abs(y[a] - y[b]) >= NODE_HEIGHT
    width, height = layout.size
    assert (x - layout.widths / 2 >= -1e-9).all()
    assert (x + layout.widths / 2 <= width + 1e-9).all()
    assert (y + NODE_HEIGHT / 2 <= height).all()


@pytest.mark.parametrize("n", [2, 14, 60, 200])
def test_layers_are_not_wider_than_asked(n):
    adjacency = random_adjacency(n, 1)
    connected = (adjacency | adjacency.T).any(axis=0)
    layers = assign_layers(adjacency, connected, 6)
    assert np.bincount(layers[connected]).max() <= 6
    for parent, child in np.argwhere(adjacency):
        assert layers[parent] < layers[child]


def test_nodes_without_edges_lie_below_the_others():
    adjacency = np.zeros((6, 6), dtype=bool)
    adjacency[0, 1] = True
    y = compute_layout(adjacency, labels_for(6)).positions[:, 1]
    assert y[0] < y[1] < y[2:].min()
    assert len(compute_layout(np.zeros((3, 3), dtype=bool), labels_for(3)).positions) == 3


def test_order_goes_down_the_page():
    adjacency = random_adjacency(12, 3)
    layout = compute_layout(adjacency, labels_for(12))
    y = layout.positions[layout.order, 1]
    assert (np.diff(y) >= 0).all()
    assert sorted(layout.order) == list(range(12))


def test_barycentres_undo_crossings():
    """Two parallel edges in crossed order: drawn without a crossing."""
    adjacency = np.zeros((4, 4), dtype=bool)
    adjacency[0, 3] = adjacency[1, 2] = True
    x = compute_layout(adjacency, labels_for(4)).positions[:, 0]
    assert (x[0] - x[1]) * (x[3] - x[2]) > 0


@settings(max_examples=30, deadline=None)
@given(st.integers(3, 20), st.integers(0, 10**6))
def test_routes_lead_from_node_to_node(n, seed):
    layout = compute_layout(random_adjacency(n, seed), labels_for(n))
    router = Router(layout)
    for a in range(n):
        for b in range(a):
            (upper, lower), curve = router.route(a, b)
            assert {upper, lower} == {a, b}
            assert len(curve) % 3 == 1
            for node, end, beside in ((upper, curve[0], curve[1]), (lower, curve[-1], curve[-2])):
                x, y = layout.positions[node]
                assert abs(end[0] - x) <= layout.widths[node] / 2
                assert abs(end[1] - y) == pytest.approx(NODE_HEIGHT / 2)
                assert beside[0] == pytest.approx(end[0])  # it arrives vertically


def test_long_labels_are_cut_and_control_characters_replaced():
    assert clip_label("a" * 200, 10) == "a" * 9 + "…"
    assert clip_label("ab\n\x1b\u202ec") == "ab���c"
    assert clip_label("naïve 日本") == "naïve 日本"


@pytest.mark.parametrize("n", [5])
def test_names_are_whole_where_there_is_room(n: int) -> None:
    """A graph with names of 24 letters fits the page."""
    names = [f"{v:024d}" for v in range(n)]
    assert node_labels(names) == names
    rng = np.random.default_rng(n)
    dag = op.random_dag(n, rng, law="erdos_renyi", edge_probability=3 / (n - 1))
    assert compute_layout(dag.adjacency, node_labels(names)).size[0] <= BEST_WIDTH
    assert {len(label) for label in node_labels(names * 10)} == {16}


# Which way pairs point in the drawing


def test_pairs_point_the_more_probable_way():
    edges = np.array([[0, 0.6, 0.1], [0.3, 0, 0.9], [0.05, 0.1, 0]])
    expected = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_array_equal(orient_pairs(edges), expected)
    assert orient_pairs(edges, at_least=0.1)[0, 2]


def test_a_pair_is_turned_if_it_would_close_a_cycle():
    edges = np.zeros((3, 3))
    edges[0, 1], edges[1, 2], edges[2, 0] = 0.9, 0.8, 0.7
    np.testing.assert_array_equal(orient_pairs(edges), [[0, 1, 1], [0, 0, 1], [0, 0, 0]])


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_pairs_make_a_dag_with_all_strong_pairs(n, seed):
    edges = np.random.default_rng(seed).random((n, n)) / 2
    np.fill_diagonal(edges, 0.0)
    kept = orient_pairs(edges)
    op.Dag.from_adjacency(kept)  # refuses cycles
    np.testing.assert_array_equal(kept | kept.T, edges + edges.T >= 0.3)


@pytest.mark.parametrize("kind", first(["fabricated", "exact"]))
def test_features_are_counted_over_draws(kind):
    """Against the same counts, written down with the values Dag and Cpdag."""
    posterior = exact(5) if kind == "exact" else fabricated(6)
    n = len(posterior.names)
    directed, undirected, blanket = (np.zeros((n, n)) for _ in range(3))
    exactly = isinstance(posterior, ExactPosterior)
    dags = list(posterior.iter_dags(FEATURE_DRAWS) if exactly else posterior.iter_dags())
    place = {name: i for i, name in enumerate(posterior.names)}
    for dag in dags:
        for a, b in dag.cpdag().directed:
            directed[place[a], place[b]] += 1
        for a, b in dag.cpdag().undirected:
            undirected[place[a], place[b]] += 1
        for node in dag.names:
            for other in dag.markov_blanket(node):
                blanket[place[other], place[node]] += 1
    features = count_features(posterior)
    np.testing.assert_allclose(features.compelled, directed / len(dags))
    np.testing.assert_allclose(features.reversible, (undirected + undirected.T) / len(dags))
    np.testing.assert_allclose(features.blanket, blanket / len(dags))
    assert blanket.any()
