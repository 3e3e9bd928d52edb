"""Annealing over partitions: every placement against the best DAG with exactly those layers."""

import numpy as np
import pytest

from outpoint.graphs import LabelledPartition
from outpoint.kernels import kernel
from outpoint.search.partition_search import (
    anneal_partitions,
    climb_partitions,
    make_partition_search,
    weigh_placements,
    write_placement,
)
from outpoint.search.winners import list_winners, view_maxima
from outpoint.tables.dense import containing_maxima
from tests.graphs.helpers import all_partitions
from tests.search.helpers import TABLES, best_of_layers, best_score, floor
from tests.tables.helpers import random_table


@kernel
def weigh(view, state, node):
    return weigh_placements(view, state, node)


@kernel
def write(state, node, chosen, layer):
    write_placement(state, node, chosen, layer)


@pytest.mark.parametrize("name", TABLES)
def test_every_placement_is_weighed_as_the_partition_it_makes(name: str) -> None:
    known = TABLES[name](4)
    view = view_maxima(known.table, list_winners(known.table))
    state = make_partition_search(4)
    layer = np.empty(4, dtype=np.int64)
    # Sets that a subset beats are dropped outside the candidates, not within them: there the best
    # DAG of some layers may be missed, but never the best DAG of all.
    is_complete = known.table.is_complete
    for partition in all_partitions(4):
        for node in range(4):
            state.layer[:] = partition.layer_of
            n_placements = weigh(view, state, node)
            reached = set()
            for chosen in range(n_placements):
                write(state, node, chosen, layer)
                reached.add(tuple(layer.tolist()))
                layers = LabelledPartition.from_layer_of(layer.tolist()).layers
                expected = best_of_layers(known.score, [list(part) for part in layers])
                found = floor(state.log_weight[chosen])
                if is_complete:
                    assert found == pytest.approx(expected)
                else:
                    assert found <= expected + 1e-9
            assert len(reached) == n_placements, "each placement makes another partition"
            assert tuple(partition.layer_of.tolist()) in reached


def test_the_best_layers_keep_their_score() -> None:
    """Dropping beaten sets costs nothing where the best DAG of all is."""
    for name in TABLES:
        known = TABLES[name](4)
        view = view_maxima(known.table, list_winners(known.table))
        optimum = best_score(known, 4)
        best = -np.inf
        state = make_partition_search(4)
        for partition in all_partitions(4):
            state.layer[:] = partition.layer_of
            n_placements = weigh(view, state, 0)
            best = max(best, state.log_weight[:n_placements].max())
        assert best == pytest.approx(optimum)


@pytest.mark.parametrize("name", TABLES)
def test_the_optimum_is_found(name: str) -> None:
    known = TABLES[name](5)
    view = view_maxima(known.table, list_winners(known.table))
    optimum = best_score(known, 5)
    scores = []
    for seed in range(8):
        state = make_partition_search(5)
        rng = np.random.default_rng(seed)
        anneal_partitions(view, state, np.geomspace(0.1, 3.0, 30), 60, rng)
        climb_partitions(view, state)
        scores.append(state.best_score[0])
        layers = LabelledPartition.from_layer_of(state.best_layer.tolist()).layers
        expected = best_of_layers(known.score, [list(part) for part in layers])
        assert state.best_score[0] <= expected + 1e-9
    assert max(scores) == pytest.approx(optimum)


def test_maxima_over_sets_that_contain_a_candidate() -> None:
    known = random_table(5, 3, seed=9)
    dense = known.table.dense
    found = containing_maxima(dense)
    for v in range(5):
        for i in range(4):
            for rest in range(8):
                low = rest & ((1 << i) - 1)
                wide = low | (rest >> i) << (i + 1)
                within = [m for m in range(16) if m >> i & 1 and not m & ~(wide | 1 << i)]
                assert found[v, 8 * i + rest] == dense[v, within].max()
