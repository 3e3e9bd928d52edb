"""What the graph of a report can show: legible at first, nothing left out that matters."""

import numpy as np
import pytest

from outpoint.report import payload
from outpoint.report.layout import NODE_HEIGHT
from tests.report.posteriors import fabricated


def symmetric(n: int, values: np.ndarray) -> np.ndarray:
    """An upper triangle with these values."""
    connection = np.zeros((n, n))
    connection[np.triu_indices(n, 1)] = values
    return connection


def test_a_sparse_posterior_is_shown_from_one_half_on():
    values = np.zeros(45)
    values[:40] = np.linspace(0.2, 1, 40)
    assert payload.choose_threshold(symmetric(10, values)) == 0.5


def test_the_threshold_rises_until_the_graph_is_legible():
    n = 20
    values = np.random.default_rng(1).uniform(0.4, 0.85, n * (n - 1) // 2)
    threshold = payload.choose_threshold(symmetric(n, values))
    assert 0.5 < threshold < 0.9
    assert 0 < (values >= threshold).sum() <= payload.FEW_CONNECTIONS
    assert (values >= threshold - 0.01).sum() > payload.FEW_CONNECTIONS, "not higher than needed"


def test_probable_connections_are_shown_however_many_they_are():
    n = 20
    values = np.full(n * (n - 1) // 2, 0.97)
    assert payload.choose_threshold(symmetric(n, values)) == payload.LARGEST_THRESHOLD


def test_pairs_are_the_most_probable_and_those_of_the_best_dags():
    n = 120
    rng = np.random.default_rng(2)
    connection = symmetric(n, rng.random(n * (n - 1) // 2) ** 2)
    wanted = np.zeros((n, n), dtype=bool)
    connection[0, 1] = 0.0
    wanted[1, 0] = True
    pairs, least = payload.choose_pairs(connection, wanted)
    assert len(pairs) <= payload.MOST_PAIRS + 1
    chosen = np.zeros((n, n), dtype=bool)
    chosen[tuple(pairs.T)] = True
    np.testing.assert_array_equal(np.triu(chosen, 1), (connection >= least) | np.triu(wanted.T, 1))
    assert payload.choose_pairs(np.zeros((3, 3)), wanted[:3, :3])[0].tolist() == [[0, 1]]
    assert payload.choose_pairs(np.zeros((3, 3)), wanted[:3, :3])[1] == payload.LEAST_SHOWN


def around(n: int) -> tuple[list[dict], np.ndarray, np.ndarray, np.ndarray]:
    posterior = fabricated(n)
    edges = posterior.edge_probabilities.to_numpy()
    blanket = posterior.blanket_probabilities.to_numpy()
    pairs, _ = payload.choose_pairs(np.triu(edges + edges.T, 1), np.zeros((n, n), dtype=bool))
    return (
        payload.draw_neighbourhoods(edges, blanket, pairs, list(posterior.names)),
        edges,
        blanket,
        pairs,
    )


def test_a_neighbourhood_has_whoever_is_connected_or_in_the_blanket():
    drawn, edges, blanket, pairs = around(25)
    connection = edges + edges.T
    for node, scene in enumerate(drawn):
        near = (connection[node] >= payload.NEAR) | (blanket[node] >= 0.5)
        near[node] = True
        assert near.sum() <= payload.MOST_NEIGHBOURS
        assert scene["nodes"] == np.flatnonzero(near).tolist()
        inside = {i for i, pair in enumerate(pairs.tolist()) if near[pair].all()}
        assert {number for number, *_ in scene["lines"]} == inside


def test_a_crowded_neighbourhood_keeps_the_most_probable():
    n = 60
    edges = np.zeros((n, n))
    edges[0, 1:] = np.linspace(0.2, 1, n - 1)
    pairs, _ = payload.choose_pairs(np.triu(edges, 1), np.zeros((n, n), dtype=bool))
    scene = payload.draw_neighbourhoods(edges, edges + edges.T, pairs, ["v"] * n)[0]
    assert scene["nodes"] == [0, *range(n - payload.MOST_NEIGHBOURS, n)]
    assert len(scene["lines"]) <= payload.MOST_LINES


@pytest.mark.parametrize("n", [5, 60])
def test_curves_lead_from_node_to_node(n):
    drawn, _, _, pairs = around(n)
    for scene in drawn:
        place = dict(zip(scene["nodes"], scene["places"], strict=True))
        for number, turned, numbers in scene["lines"]:
            upper, lower = pairs[number][::-1] if turned else pairs[number]
            curve = np.reshape(numbers, (-1, 2))
            for (x, y), node in ((curve[0], upper), (curve[-1], lower)):
                assert abs(x - place[node][0]) <= place[node][2] / 2 + 1
                assert abs(abs(y - place[node][1]) - NODE_HEIGHT / 2) <= 1


def test_squeezed_scenes_do_not_overlap():
    """Where there is less room, the page divides all x by up to the stretch of the scene."""
    for scene in around(25)[0]:
        places = np.array(scene["places"], dtype=float)
        places[:, 0] /= scene["stretch"]
        for i, (x, y, width) in enumerate(places):
            for other_x, other_y, other_width in places[:i]:
                apart = abs(x - other_x) >= (width + other_width) / 2 - 2
                assert apart or abs(y - other_y) >= NODE_HEIGHT


def test_large_graphs_are_not_called_legible():
    for n, wanted in ((14, True), (60, True), (200, False)):
        posterior = fabricated(n)
        edges = posterior.edge_probabilities.to_numpy()
        labels = [f"variable {i}" for i in range(n)]
        scene, legible = payload.draw_whole(edges, np.zeros((0, 2), dtype=int), labels, 0.5)
        assert legible == wanted
        assert scene["nodes"] == list(range(n))
