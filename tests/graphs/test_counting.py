from collections import Counter
from fractions import Fraction
from math import comb, factorial, log

import networkx as nx
import numpy as np
import pytest

from outpoint.errors import OptionError
from outpoint.graphs import LabelledPartition, count_dags
from outpoint.graphs.counting import layer_counts, log_weight_of_dags, partition_size_law
from tests.reference import all_dags

from .helpers import all_partitions

KNOWN_COUNTS = [1, 1, 3, 25, 543, 29281, 3781503, 1138779265, 783702329343]  # OEIS A003024


FUBINI = [1, 1, 3, 13, 75, 541, 4683]  # OEIS A000670


def count_by_outpoints(n: int) -> list[int]:
    """The numbers a_{n,k} of DAGs with exactly k = 1, ..., n outpoints (see ``counting``)."""
    return [comb(n, k) * layer_counts(n).after(0, n - k) for k in range(1, n + 1)]


def series(n_terms: int) -> list[int]:
    """A003024 from its generating function: sum a_n x^n / w_n = 1 / sum (-x)^n / w_n.

    Here w_n = n! 2^(n (n-1) / 2); the reciprocal is taken term by term in rational numbers.
    """
    weight = [factorial(n) * 2 ** (n * (n - 1) // 2) for n in range(n_terms)]
    alternating = [Fraction((-1) ** n, weight[n]) for n in range(n_terms)]
    inverse = [Fraction(1)]
    for n in range(1, n_terms):
        inverse.append(-sum(alternating[k] * inverse[n - k] for k in range(1, n + 1)))
    return [int(term * w) for term, w in zip(inverse, weight, strict=True)]


def test_counts_up_to_forty_nodes() -> None:
    expected = series(41)
    assert expected[:9] == KNOWN_COUNTS
    assert expected[16] == 83756670773733320287699303047996412235223138303  # as listed in OEIS
    assert [count_dags(n) for n in range(41)] == expected


def test_known_counts() -> None:
    assert [count_dags(n) for n in range(9)] == KNOWN_COUNTS
    assert type(count_dags(np.int64(90))) is int
    assert count_dags(np.int64(90)) == count_dags(90)


def test_asymptotic_constants_of_the_paper() -> None:
    # a_n ~ n! 2^(n(n-1)/2) / (M q^n): neighbours give q, then M follows.
    q = 60 * 2**59 * count_dags(59) / count_dags(60)
    assert q == pytest.approx(1.488, abs=1e-3)
    ratio = count_dags(30) / 2 ** (30 * 29 // 2)
    m = float(np.prod(np.arange(1, 31) / q)) / ratio
    assert m == pytest.approx(0.574, abs=1e-3)


def test_outpoints_agree_with_enumeration() -> None:
    for n in (1, 2, 3, 4):
        found = [0] * n
        for adjacency in all_dags(n):
            found[np.count_nonzero(~adjacency.any(axis=0)) - 1] += 1
        assert count_by_outpoints(n) == found
    assert sum(count_by_outpoints(40)) == count_dags(40)


def test_bounded_parents_agree_with_enumeration() -> None:
    fan_in = np.array([a.sum(axis=0).max() for a in all_dags(5)])
    for bound in range(6):
        assert count_dags(5, max_parents=bound) == np.count_nonzero(fan_in <= bound)
    # With one parent at most they are the rooted forests, (n+1)^(n-1) by Cayley.
    assert count_dags(50, max_parents=1) == 51**49
    assert count_dags(50, max_parents=0) == 1
    assert count_dags(50, max_parents=49) == count_dags(50)


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 4, 5, 6])
def test_partitions_add_up_to_all_dags(n_nodes: int) -> None:
    by_sizes: Counter[tuple[int, ...]] = Counter()
    for partition in all_partitions(n_nodes):
        by_sizes[partition.sizes] += partition.n_dags()
    assert len(by_sizes) == 2 ** (n_nodes - 1)
    assert by_sizes.total() == KNOWN_COUNTS[n_nodes]
    # One layer is the empty graph; n layers hold n! 2^(L - n + 1) DAGs (paper, section 4.2).
    assert by_sizes[(n_nodes,)] == 1
    power = n_nodes * (n_nodes - 1) // 2 - n_nodes + 1
    assert by_sizes[(1,) * n_nodes] == np.prod(np.arange(1, n_nodes + 1)) * 2**power


def test_sizes_are_read_from_the_outpoints() -> None:
    # Two outpoints with one child, which has 3 parent sets; one outpoint with two children.
    assert LabelledPartition(((0, 1), (2,))).n_dags() == 3
    assert LabelledPartition(((0,), (1, 2))).n_dags() == 1
    # The paper lists the outpoints last: its a_[1, 1, 3] is 1120, 56 for each of 20 labellings.
    assert LabelledPartition(((0, 2, 4), (3,), (1,))).n_dags() == 56
    assert LabelledPartition((range(70), np.array([70]))).n_dags() == 2**70 - 1


@pytest.mark.parametrize("n_nodes", [0, 1, 2, 3, 4, 5])
def test_enumeration_is_complete(n_nodes: int) -> None:
    seen = set()
    for adjacency in all_dags(n_nodes):
        assert adjacency.shape == (n_nodes, n_nodes)
        assert adjacency.dtype == np.bool_
        # Acyclic: no walk is as long as the number of nodes.
        assert not np.linalg.matrix_power(adjacency.astype(int), n_nodes).any() or n_nodes == 0
        seen.add(adjacency.tobytes())
    assert len(seen) == KNOWN_COUNTS[n_nodes]


def test_enumeration_agrees_with_a_search_over_all_digraphs() -> None:
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    expected = set()
    for code in range(2**6):
        edges = [pair for i, pair in enumerate(pairs) if code >> i & 1]
        graph = nx.DiGraph(edges)
        if nx.is_directed_acyclic_graph(graph):
            expected.add(frozenset(edges))
    found = {frozenset(map(tuple, np.argwhere(a).tolist())) for a in all_dags(3)}
    assert found == expected


@pytest.mark.parametrize("n_nodes", [0, 1, 2, 3, 4, 5, 6])
def test_first_layers_of_uniform_partitions(n_nodes: int) -> None:
    law = partition_size_law(n_nodes)
    assert law.shape == (n_nodes + 1, n_nodes + 1)
    for m in range(1, n_nodes + 1):
        found = [len(partition.layers[0]) for partition in all_partitions(m)]
        assert len(found) == FUBINI[m]
        for k in range(m + 1):
            at_most = sum(size <= k for size in found)
            assert law[m, k] == pytest.approx(at_most / FUBINI[m], rel=1e-15, abs=0)
        assert (law[m, m:] == 1).all()


def test_layer_by_layer_the_law_of_partitions_is_uniform() -> None:
    law = partition_size_law(5)
    for partition in all_partitions(5):
        probability, left = 1.0, 5
        for size in partition.sizes:
            probability *= (law[left, size] - law[left, size - 1]) / comb(left, size)
            left -= size
        assert probability == pytest.approx(1 / 541, rel=1e-12)


def test_first_layers_of_many_nodes() -> None:
    """Numbers beyond doubles; for large m the sizes follow (log 2)^k / k!, k = 1, 2, ..."""
    law = partition_size_law(200)
    assert np.isfinite(law).all()
    assert (np.diff(law, axis=1) >= 0).all()
    assert law[200, 200] == 1
    limit = [np.log(2) ** k / factorial(k) for k in range(1, 6)]
    np.testing.assert_allclose(np.diff(law[200, :6]), limit, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: count_dags(-1), "n_nodes must be a whole number"),
        (lambda: count_dags(2.5), "n_nodes must be a whole number"),
        (lambda: count_dags(3, max_parents=-1), "max_parents"),
    ],
)
def test_bad_numbers_are_refused(make, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()


@pytest.mark.parametrize("n_nodes", [1, 2, 5, 12])
def test_weights_of_one_count_dags(n_nodes: int) -> None:
    found = log_weight_of_dags([Fraction(1)] * n_nodes)
    assert found == pytest.approx(log(count_dags(n_nodes)), rel=1e-14)
    few = [Fraction(int(k <= 2)) for k in range(n_nodes)]
    expected = log(count_dags(n_nodes, max_parents=2))
    assert log_weight_of_dags(few) == pytest.approx(expected, rel=1e-14)
