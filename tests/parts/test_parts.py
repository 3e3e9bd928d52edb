"""Exact by parts against the sum over all DAGs at once, for every kind of knowledge."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import outpoint as op
from outpoint.exact.engine import log_scores_of
from outpoint.parts import Split, find_split, solve_parts
from outpoint.parts import part as part_module
from outpoint.parts.families import NodeFamilies, score_node
from outpoint.parts.split import describe_parts
from tests.exact import problems

TIERS = [["a", "e"], ["b", "f"], ["c", "d"]]
BACK = [(late, early) for late in "def" for early in "abc"]
EDGE_PRIOR = np.random.default_rng(8).uniform(0.05, 0.95, (6, 6))

PROBLEMS = {
    "tiers": (lambda: problems.random_scores(6, tiers=TIERS), [2, 2, 2]),
    "tiers, 2 parents": (lambda: problems.gaussian(6, tiers=TIERS, max_parents=2), [2, 2, 2]),
    "tiers, fair": (
        lambda: problems.categorical(
            7, tiers=[["g", "a", "b"], ["c", "d", "e", "f"]], structure_prior="fair"
        ),
        [3, 4],
    ),
    "roots": (lambda: problems.random_scores(8, roots=["c", "e"], spread=5.0), [1, 1, 6]),
    "forbidden": (lambda: problems.gaussian(6, forbidden=BACK, max_parents=3), [3, 3]),
    "required": (
        lambda: problems.random_scores(
            6, required=[("a", "b")], forbidden=[(x, "a") for x in "cdef"], spread=3.0
        ),
        [1, 5],
    ),
    "edge prior": (
        lambda: problems.categorical(6, tiers=TIERS, edge_prior=EDGE_PRIOR, max_parents=4),
        [2, 2, 2],
    ),
    "everything": (
        lambda: problems.gaussian(
            8,
            tiers=[["a", "b", "c"], ["d", "e", "f"], ["g", "h"]],
            required=[("a", "d"), ("d", "g")],
            forbidden=[("b", "e")],
            roots=["c"],
            edge_prior=0.3,
            structure_prior="fair",
            max_parents=3,
        ),
        None,
    ),
    "nine variables": (
        lambda: problems.gaussian(
            9, tiers=[["a", "e", "i"], ["b", "f", "g"], ["c", "d", "h"]], max_parents=4
        ),
        [3, 3, 3],
    ),
    "wide spread": (lambda: problems.random_scores(6, tiers=TIERS, spread=3000.0), [2, 2, 2]),
}


def by_parts(problem):
    split = find_split(problem.scorer, problem.prior)
    solution, _ = solve_parts(
        problem.names, problem.scorer, problem.prior, split, problem.max_parents
    )
    return solution


def deviations(found, exact):
    """How far evidence, edges, ancestors and parent sets are from those of all DAGs at once."""
    sets = [
        np.exp(found.log_parent_set(child, parents)) - np.exp(log_probability)
        for child in range(len(exact.names))
        for parents, log_probability in exact.likely_sets(child, 1e-300)
    ]
    return {
        "evidence": abs(found.log_evidence - exact.log_evidence) / max(1, abs(exact.log_evidence)),
        "edges": abs(found.edges - exact.edges).max(),
        "ancestors": abs(found.ancestors - exact.ancestors).max(),
        "parent sets": np.abs(sets).max(),
        "best": abs(found.best_log_score - exact.best_log_score) / abs(exact.best_log_score),
    }


@pytest.mark.parametrize("name", PROBLEMS)
def test_equals_the_sum_over_all_dags(name):
    make, sizes = PROBLEMS[name]
    problem = make()
    found, exact = by_parts(problem), problem.solve()
    if sizes is not None:
        assert sorted(found.part_sizes) == sorted(sizes)
    assert len(found.part_sizes) > 1
    for what, deviation in deviations(found, exact).items():
        assert deviation < 1e-10, what
    assert not found.drawn_ancestors.any()
    assert found.discrepancy < 1e-10
    best = log_scores_of(exact.table, found.best_adjacency[None])[0]
    assert best == pytest.approx(exact.best_log_score, rel=1e-12)


def test_equals_a_listing_of_all_dags():
    problem = problems.random_scores(5, tiers=[["b", "d"], ["a", "c", "e"]], max_parents=2)
    found, reference = by_parts(problem), problem.enumerate()
    assert found.log_evidence == pytest.approx(reference.log_evidence, abs=1e-10)
    np.testing.assert_allclose(found.edges, reference.edges, atol=1e-10)
    np.testing.assert_allclose(found.ancestors, reference.ancestors, atol=1e-10)


def test_a_score_that_excludes_edges_splits_as_well():
    rng = np.random.default_rng(3)
    mixed = op.Dataset(
        tuple("abcde"),
        np.column_stack([rng.integers(0, 2, (80, 2)), rng.normal(size=(80, 3))]),
        (("0", "1"), ("0", "1"), None, None, None),
    )
    scorer = op.ConditionalGaussian().bind(mixed)
    problem = problems._problem(scorer, mixed.names, None)
    found = by_parts(problem)
    assert found.part_sizes == (2, 3)
    assert max(deviations(found, problem.solve()).values()) < 1e-10


TWO_TIERS = {"tiers": [["a", "b", "c"], ["d", "e", "f"]], "max_parents": 2}


@pytest.mark.parametrize("left_out", [0, 1])
def test_a_part_that_is_left_out_is_noticed(left_out):
    """In the evidence, in the edges into its nodes, and in the draws."""
    problem = problems.random_scores(6, **TWO_TIERS)
    exact, split = problem.solve(), find_split(problem.scorer, problem.prior)
    kept = Split(split.possible, (split.parts[1 - left_out],))
    own = (problem.scorer, problem.prior, kept, problem.max_parents)
    wrong, _ = solve_parts(problem.names, *own)
    assert abs(wrong.log_evidence - exact.log_evidence) > 0.1
    drawn = wrong.draw(2000, seed=1)[0].mean(axis=0)
    gone = split.parts[left_out]
    for edges in (wrong.edges, drawn):
        assert (edges[:, gone] == 0).all()
        assert abs(edges - exact.edges)[:, gone].max() > 0.1
    assert abs(wrong.edges - exact.edges)[:, kept.parts[0]].max() < 1e-10


def test_a_fold_without_the_limit_on_parents_is_noticed(monkeypatch):
    """Sets within the part keep the limit, and any earlier parents join them."""
    problem = problems.random_scores(6, **TWO_TIERS)
    exact, score = problem.solve(), score_node

    def without_limit(child, part, possible, scorer, prior, max_parents, pool=None):
        found = score(child, part, possible, scorer, prior, len(possible), pool)
        too_large = np.bitwise_count(found.masks) > max_parents
        return replace(found, scores=np.where(too_large, -np.inf, found.scores))

    monkeypatch.setattr("outpoint.parts.solution.score_node", without_limit)
    wrong = deviations(by_parts(problem), exact)
    assert min(wrong["evidence"], wrong["edges"], wrong["parent sets"]) > 1e-3


def test_a_fold_that_forgets_earlier_parents_is_noticed(monkeypatch):
    problem = problems.random_scores(6, tiers=[["a", "b", "c"], ["d", "e", "f"]])
    fold = NodeFamilies.fold

    def without_earlier(self, values, apart=None):
        inner = np.bitwise_count(self.masks) == sizes(self)
        return fold(self, np.where(inner, values, -np.inf), apart)

    def sizes(families):
        return np.concatenate([np.full(len(rows), rows.shape[1]) for _, rows in families.blocks()])

    monkeypatch.setattr(part_module.NodeFamilies, "fold", without_earlier)
    wrong = by_parts(problem)
    assert abs(wrong.log_evidence - problem.solve().log_evidence) > 0.1


def test_draws_have_the_law_of_the_posterior():
    """A chi-squared test of 5,000 draws at a level of 1e-4: a false alarm in 10,000 seeds."""
    problem = problems.random_scores(5, tiers=[["b", "d"], ["a", "c", "e"]], max_parents=2)
    found, reference = by_parts(problem), problem.enumerate()
    dags, log_scores = found.draw(5000, seed=3)
    number = {dag.tobytes(): i for i, dag in enumerate(reference.adjacencies)}
    which = np.array([number[dag.tobytes()] for dag in dags])
    np.testing.assert_allclose(log_scores, reference.log_weights[which], rtol=1e-12)
    assert chi_squared(which, reference.probabilities) > 1e-4
    wrong = np.exp(0.5 * reference.log_weights)
    assert chi_squared(which, wrong / wrong.sum()) < 1e-9
    few, _ = found.draw(100, seed=3)
    assert (few == dags[:100]).all()


def chi_squared(which, probabilities):
    expected = len(which) * probabilities
    counts = np.bincount(which, minlength=len(probabilities))
    large = expected >= 5
    observed = np.append(counts[large], counts[~large].sum())
    return stats.chisquare(observed, np.append(expected[large], expected[~large].sum())).pvalue


def test_ancestors_that_are_too_many_to_sum_come_from_draws(monkeypatch):
    """The largest of 36 deviations of means of 10,000 draws: 0.025 is five standard errors."""
    problem = problems.random_scores(6, tiers=TIERS)
    exact = problem.solve()
    monkeypatch.setattr("outpoint.parts.ancestors.WORK", 0.0)
    found = by_parts(problem)
    assert found.drawn_ancestors.sum() == 12
    deviation = abs(found.ancestors - exact.ancestors)
    assert deviation.max() < 0.025
    assert deviation[~found.drawn_ancestors].max() < 1e-10


def test_words_for_parts():
    assert describe_parts([15, 15, 15]) == "three parts of 15, 15 and 15 variables"
    assert describe_parts([1, 1, 20]) == "one part of 20 variables and 2 variables on their own"
    assert describe_parts([10] * 10) == "10 parts of 10 variables"
    assert describe_parts([1, 1]) == "2 variables on their own"


def test_a_part_without_any_dag_is_refused():
    def score(v, parents):
        return -np.inf if v == 0 else 0.0

    problem = problems.custom(4, score, tiers=[["a"], ["b", "c", "d"]])
    with pytest.raises(op.errors.OptionError, match="no DAG is admissible"):
        by_parts(problem)
