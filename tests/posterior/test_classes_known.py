"""Classes of DAGs under background knowledge: all weigh the same, by their admissible members."""

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.arrays import Booleans
from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.posterior import Posterior
from outpoint.posterior.admissible import Admissible
from outpoint.posterior.draws import Draws, WeightedGraphs
from outpoint.posterior.reweighting import reweight
from tests.grids import first
from tests.reference import all_dags

A, B, C = range(3)

KNOWN: dict[str, dict[str, Any]] = {
    "tiers": {"tiers": [["a"], ["b"]]},
    "roots": {"roots": ["b"]},
    "forbidden": {"forbidden": [("a", "b"), ("c", "a")]},
    "required": {"required": [("a", "b")]},
    "certain": {"edge_prior": {"edges": [("a", "b", 1.0), ("c", "b", 0.0)]}},
    "few parents": {"max_parents": 2},
    "all": {"tiers": [["c"], ["a", "b"]], "required": [("a", "b")], "max_parents": 2},
    "nothing": {},
}


def is_possible(dag: Booleans, known: dict[str, Any]) -> bool:
    """Whether knowledge of the names above allows a matrix [parent, child], in plain words."""
    none, all_of = [], []
    if "tiers" in known:
        early, late = known["tiers"]
        none += [(v, u) for u in early for v in late]
    none += [(name, root) for root in known.get("roots", ()) for name in "abcd"]
    none += known.get("forbidden", [])
    all_of += known.get("required", [])
    for u, v, p in known.get("edge_prior", {"edges": []})["edges"]:
        (all_of if p else none).append((u, v))
    n = len(dag)
    has = {
        (u, v): bool(dag["abcd".index(u), "abcd".index(v)]) for u in "abcd"[:n] for v in "abcd"[:n]
    }
    allowed = not any(has.get(edge) for edge in none) and all(has[edge] for edge in all_of)
    return allowed and bool((dag.sum(axis=0) <= known.get("max_parents", n)).all())


def class_weights(posterior: Posterior, dags: Sequence[Booleans]) -> list[float]:
    """The weight of every class if each of these DAGs is drawn once: no sampling error."""
    matrices = np.array(dags)[None]
    graphs = WeightedGraphs.from_draws(Draws.from_arrays(matrices, np.zeros(matrices.shape[:2])))
    weighted = reweight(posterior, graphs, "equivalence_classes")
    totals: dict[Any, float] = {}
    for matrix, weight in zip(matrices[0], weighted.weights.to_numpy()[0], strict=True):
        graph = Dag.from_adjacency(matrix, posterior.names).cpdag(posterior.info.targets)
        totals[graph] = totals.get(graph, 0.0) + weight
    return list(totals.values())


def flat(child: int, parents: tuple[int, ...]) -> float:
    return 0.0


def learn(n: int, score: Any = flat, **known: Any) -> Posterior:
    names = tuple("abcd"[:n])
    data = op.Dataset(names, np.zeros((1, n)))
    return op.learn(
        data, op.CustomScore(score), "exact", structure_prior="uniform", seed=1, **known
    )


@pytest.mark.filterwarnings("ignore::outpoint.WeightWarning")  # few draws, as chains go
class TestClassesWeighTheSame:
    @pytest.mark.parametrize("kind", KNOWN)
    @pytest.mark.parametrize("n", [3, 4])
    def test_knowledge(self, n, kind):
        dags = [dag for dag in all_dags(n) if is_possible(dag, KNOWN[kind])]
        weights = class_weights(learn(n, **KNOWN[kind]), dags)
        assert weights == pytest.approx([1 / len(weights)] * len(weights), abs=1e-12)

    def test_three_nodes_in_tiers(self):
        """Ten classes of a flat score: 0.042 to 0.128 if all members are counted."""
        dags = [dag for dag in all_dags(3) if is_possible(dag, KNOWN["tiers"])]
        weights = class_weights(learn(3, **KNOWN["tiers"]), dags)
        assert weights == pytest.approx([0.1] * 10, abs=1e-12)

    @pytest.mark.parametrize("n", [3, 4])
    def test_scores_that_exclude_families(self, n):
        def score(child: int, parents: tuple[int, ...]) -> float:
            return (
                -inf if (child == C and len(parents) == 2) or (child == A and B in parents) else 0.0
            )

        def is_scored(dag: Booleans) -> bool:
            return dag[:, C].sum() != 2 and not dag[B, A]

        dags = [dag for dag in all_dags(n) if is_scored(dag)]
        weights = class_weights(learn(n, score), dags)
        assert weights == pytest.approx([1 / len(weights)] * len(weights), abs=1e-12)

    def test_interventions(self):
        """Targets split classes, tiers leave some of their members."""
        frame = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 4)), columns=list("abcd"))
        rows = ["a"] * 10 + [""] * 30
        posterior = op.learn(
            frame, "bge", "exact", structure_prior="uniform", interventions=rows,
            tiers=[["c"], ["d"]], seed=1,
        )  # fmt: skip
        assert posterior.info.targets
        dags = [dag for dag in all_dags(4) if is_possible(dag, {"tiers": [["c"], ["d"]]})]
        weights = class_weights(posterior, dags)
        assert weights == pytest.approx([1 / len(weights)] * len(weights), abs=1e-12)

    @pytest.mark.parametrize("is_loaded", [False, True])
    def test_conditional_gaussian(self, is_loaded, tmp_path):
        """No edges from continuous to categorical variables, which files know, too."""
        rng = np.random.default_rng(1)
        frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
        frame["c"] = rng.choice(["x", "y"], 60)
        frame["d"] = rng.choice(["u", "v", "w"], 60)
        posterior = op.learn(
            frame, "conditional-gaussian", "exact", structure_prior="uniform", seed=1
        )
        if is_loaded:
            posterior.save(tmp_path / "post.nc")
            posterior = op.load(tmp_path / "post.nc")
        dags = [dag for dag in all_dags(4) if not dag[:2, 2:].any()]
        weights = class_weights(posterior, dags)
        assert weights == pytest.approx([1 / len(weights)] * len(weights), abs=1e-12)

    @pytest.mark.parametrize(
        "kind", [kind for kind in KNOWN if kind not in ("nothing", "few parents")]
    )
    def test_counting_all_members_is_caught(self, monkeypatch, kind):
        monkeypatch.setattr(Admissible, "is_unlimited", True)
        dags = [dag for dag in all_dags(4) if is_possible(dag, KNOWN[kind])]
        weights = class_weights(learn(4, **KNOWN[kind]), dags)
        assert max(weights) > 1.2 * min(weights)

    def test_files_do_not_hold_a_score_of_the_users_own(self, tmp_path):
        learn(3).save(tmp_path / "post.nc")
        with pytest.raises(OptionError, match="which its file does not hold"):
            op.load(tmp_path / "post.nc").reweighted("equivalence_classes")


@pytest.mark.parametrize("seed", first(range(12), 4))
def test_admissible_members_against_listing(seed):
    """Families of five nodes are excluded at random; members are counted one by one."""
    rng = np.random.default_rng(seed)
    excluded = rng.random((5, 32)) < 0.3
    dags = all_dags(5)
    names = list("abcde")

    def admits(child: int, parents: Sequence[int]) -> bool:
        return not excluded[child, sum(1 << u for u in parents)]

    masks = (dags * (1 << np.arange(5))[None, :, None]).sum(axis=1)
    is_admissible = ~excluded[np.arange(5), masks].any(axis=1)
    for number in rng.choice(len(dags), 20, replace=False):
        dag = Dag.from_adjacency(dags[number], names)
        skeleton = dag.adjacency | dag.adjacency.T
        alike = ((dags | dags.transpose(0, 2, 1)) == skeleton).all(axis=(1, 2))
        members = [
            place
            for place in np.flatnonzero(alike)
            if Dag.from_adjacency(dags[place], names).cpdag() == dag.cpdag()
        ]
        assert op.count_members(dag, (), admits) == sum(is_admissible[members])
        assert op.count_members(dag, (), lambda child, parents: True) == op.count_members(dag)
        assert op.count_members(dag) == len(members)
