"""What an experiment is expected to tell, against a listing of all DAGs and their classes."""

from collections import defaultdict
from collections.abc import Callable, Hashable

import numpy as np
import pytest

import outpoint as op
from outpoint.graphs import Dag
from outpoint.graphs.blocks import compute_cpdags
from outpoint.graphs.validation import find_separated
from outpoint.posterior.designs import rank_experiments
from outpoint.posterior.draws import number_matrices
from tests.posterior.problems import all_graphs, random_problem


def skeleton(adjacency: np.ndarray) -> bytes:
    return (adjacency | adjacency.T).tobytes()


def shown(dag: Dag, targets: list[str]) -> Hashable:
    """What observations and experiments show: independences, and the skeletons after cutting."""
    cut = []
    for target in targets:
        adjacency = dag.adjacency.copy()
        adjacency[:, dag.names.index(target)] = False
        cut.append(skeleton(adjacency))
    return skeleton(dag.adjacency), tuple(sorted(dag.v_structures)), tuple(cut)


def within(problem, label: Callable[[Dag], Hashable], targets: list[str]) -> dict:
    """Probabilities of labels, by what is shown."""
    found: dict = defaultdict(lambda: defaultdict(float))
    for dag, probability in zip(problem.dags, problem.truth.probabilities, strict=True):
        found[shown(dag, targets)][label(dag)] += probability
    return found


def entropy(problem, label: Callable[[Dag], Hashable], targets: list[str]) -> float:
    total = 0.0
    for labels in within(problem, label, targets).values():
        share = sum(labels.values())
        total -= sum(p * np.log2(p / share) for p in labels.values())
    return total


def variance(problem, value: Callable[[Dag], float], targets: list[str]) -> float:
    total = 0.0
    for values in within(problem, value, targets).values():
        share = sum(values.values())
        mean = sum(p * x for x, p in values.items()) / share
        total += sum(p * (x - mean) ** 2 for x, p in values.items())
    return total


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("targets", [[], ["b"]])
def test_entropy_of_dags(n, targets):
    problem = random_problem(n)
    separated = find_separated(problem.names, [[name] for name in targets])
    table = rank_experiments(all_graphs(problem), problem.names, separated)
    before = entropy(problem, lambda dag: dag, targets)
    assert before > 0.2
    for row in table.itertuples():
        after = entropy(problem, lambda dag: dag, [*targets, row.variable])
        assert row.before == pytest.approx(before, abs=1e-10)
        assert row.after == pytest.approx(after, abs=1e-10)
        assert row.removed == pytest.approx(1 - after / before, abs=1e-10)
    assert list(table["removed"]) == sorted(table["removed"], reverse=True)
    if targets:
        assert table.set_index("variable").loc["b", "removed"] == pytest.approx(0, abs=1e-12)
    assert table.attrs["unit"] == "bits"


def test_entropy_of_a_feature():
    problem = random_problem(4)
    is_cause = np.array(["a" in dag.ancestors("d") for dag in problem.dags])
    nothing = find_separated(problem.names, [])
    table = rank_experiments(all_graphs(problem), problem.names, nothing, labels=is_cause * 1)
    before = entropy(problem, lambda dag: "a" in dag.ancestors("d"), [])
    for row in table.itertuples():
        after = entropy(problem, lambda dag: "a" in dag.ancestors("d"), [row.variable])
        assert row.before == pytest.approx(before, abs=1e-10)
        assert row.after == pytest.approx(after, abs=1e-10)


def test_variance_of_values():
    problem = random_problem(4)
    nothing = find_separated(problem.names, [])

    def value(dag: Dag) -> float:
        return 0.5 * len(dag.parents("d")) - len(dag.children("a"))

    values = np.array([value(dag) for dag in problem.dags])
    table = rank_experiments(all_graphs(problem), problem.names, nothing, values=values)
    before = variance(problem, value, [])
    for row in table.itertuples():
        after = variance(problem, value, [row.variable])
        assert row.before == pytest.approx(np.sqrt(before), abs=1e-10)
        assert row.after == pytest.approx(np.sqrt(after), abs=1e-10)
        assert row.removed == pytest.approx(1 - after / before, abs=1e-10)
    assert table.attrs["unit"] == "sd"


def test_wrong_classes_are_caught():
    """An experiment that forgot the class, or one that showed skeletons alone, tells otherwise."""
    problem = random_problem(4)
    nothing = find_separated(problem.names, [])
    table = rank_experiments(all_graphs(problem), problem.names, nothing).set_index("variable")
    without_class: dict = defaultdict(float)
    for dag, probability in zip(problem.dags, problem.truth.probabilities, strict=True):
        without_class[tuple(dag.children("a"))] += probability
    shares = np.array(list(without_class.values()))
    whole = -problem.truth.probabilities @ np.log2(problem.truth.probabilities)
    assert abs(whole + shares @ np.log2(shares) - table.loc["a", "after"]) > 0.1


def test_children_divide_a_class_as_experiments_do():
    """The classes that the matrices of interventional CPDAGs make, for all DAGs of four nodes."""
    problem = random_problem(4)
    dags = problem.truth.adjacencies
    classes = number_matrices([compute_cpdags(dags)])
    for v, name in enumerate(problem.names):
        divided = number_matrices([compute_cpdags(dags, find_separated(problem.names, [[name]]))])
        pairs = {(c, tuple(row), d) for c, row, d in zip(classes, dags[:, v], divided, strict=True)}
        assert len(pairs) == len({pair[:2] for pair in pairs}) == len({pair[2] for pair in pairs})


def test_of_a_posterior():
    """A chain a -> b -> c has no v-structure: setting its middle tells all directions."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=300)
    b = a + rng.normal(size=300)
    data = op.Dataset(("a", "b", "c"), np.column_stack([a, b, b + rng.normal(size=300)]))
    posterior = op.learn(data, seed=1)
    table = posterior.next_experiment()
    assert table["variable"].iloc[0] == "b"
    assert table["removed"].iloc[0] > 0.9
    assert table["before"].iloc[0] == pytest.approx(np.log2(3), abs=0.5), "three DAGs in the class"
    by_feature = posterior.next_experiment("a -> b").set_index("variable")
    assert by_feature.loc["a", "removed"] == pytest.approx(1.0)
    known = op.learn(data, seed=1, tiers=[["a"], ["b"], ["c"]]).next_experiment()
    assert known["before"].iloc[0] == 0
    assert (known["removed"] == 0).all()
