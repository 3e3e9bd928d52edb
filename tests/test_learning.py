"""``learn`` and ``log_score`` from end to end, and the names that the package offers."""

import json
import subprocess
import sys
from itertools import permutations
from math import comb, e, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import outpoint as op
from outpoint.model import prepare
from outpoint.options import Options
from tests.grids import first
from tests.reference import bge_family_score, enumerate_posterior

NAMES = ("a", "b", "c", "d")
RNG = np.random.default_rng(11)
FRAME = pd.DataFrame(RNG.normal(size=(40, 4)), columns=list(NAMES))
FRAME["b"] += FRAME["a"]
FRAME["d"] += FRAME["b"] - FRAME["c"]
STANDARD = ((FRAME - FRAME.mean()) / FRAME.std()).to_numpy()
"""What the default score sees of it."""


def run_python(code: str) -> Any:
    """What a fresh interpreter prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


# The package as a module


def test_import_does_no_work() -> None:
    seconds, loaded = run_python(
        "import json, sys, time\n"
        "start = time.perf_counter(); import outpoint; took = time.perf_counter() - start\n"
        "names = sorted({module.split('.')[0] for module in sys.modules})\n"
        "print(json.dumps([took, names]))"
    )
    assert seconds < 0.5
    heavy = {"numba", "numpy", "pandas", "xarray", "networkx", "typer", "rich"}
    assert "outpoint" in loaded
    assert not heavy & set(loaded)


@pytest.mark.parametrize("order", first(["shuffled", "sorted", "reversed", "learn first"], 2))
def test_every_public_name_resolves_in_any_order(order: str) -> None:
    names = sorted(op.__all__)
    if order == "reversed":
        names.reverse()
    elif order == "shuffled":
        names = np.random.default_rng(5).permutation(names).tolist()
    elif order == "learn first":
        names.sort(key=lambda name: name != "learn")
    found = run_python(
        "import json, outpoint\n"
        f"names = {names!r}\n"
        "values = [getattr(outpoint, name) for name in names]\n"
        "again = [getattr(outpoint, name) for name in names]\n"
        "same = all(a is b for a, b in zip(values, again))\n"
        "print(json.dumps([same, [getattr(v, '__name__', '') for v in values]]))"
    )
    shown = [op._MODULES.get(name, name) for name in names]
    assert found == [True, shown]


def test_public_names() -> None:
    promised = {
        *("learn", "log_score", "Dag", "Dataset", "BGe", "BDeu", "CustomScore", "Posterior"),
        *("count_dags", "random_dag", "simulate", "datasets", "OutpointError"),
    }
    assert promised <= set(op.__all__) <= set(dir(op))
    assert len(set(op.__all__)) == len(op.__all__)
    assert op.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="'lern'"):
        _ = op.lern


def test_errors_are_one_family() -> None:
    for error in (op.DataError, op.OptionError, op.GraphError, op.TooLargeError):
        assert issubclass(error, op.OutpointError)
    assert issubclass(op.DataError, ValueError)


# The same data in every form


def same_results(first: op.Posterior, second: op.Posterior) -> bool:
    return (
        first.log_evidence == second.log_evidence
        and first.map_log_score == second.map_log_score
        and np.array_equal(first.edge_probabilities, second.edge_probabilities)
        and np.array_equal(first.ancestor_probabilities, second.ancestor_probabilities)
        and np.array_equal(first.map_dag.adjacency, second.map_dag.adjacency)
        and np.array_equal(first.dags(50), second.dags(50))
    )


@pytest.mark.parametrize("form", ["path", "text path", "pandas", "polars", "array", "rows", "own"])
def test_all_forms_of_data_agree(form: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)  # 17 digits: read back without loss
    forms: dict[str, Any] = {
        "path": path,
        "text path": str(path),
        "pandas": FRAME,
        "polars": pl.DataFrame({name: FRAME[name].tolist() for name in NAMES}),
        "array": FRAME.to_numpy(),
        "rows": FRAME.to_numpy().tolist(),
        "own": op.Dataset(NAMES, FRAME.to_numpy()),
    }
    posterior = op.learn(forms[form], seed=3)
    assert same_results(posterior, op.learn(FRAME, seed=3))
    if form in ("array", "rows"):
        assert posterior.names == ("x1", "x2", "x3", "x4")
    else:
        assert posterior.names == NAMES
        assert posterior.info.fingerprint == op.learn(FRAME).info.fingerprint


def test_bundled_name_and_bundled_data_agree() -> None:
    by_name = op.learn("asia", seed=1)
    assert same_results(by_name, op.learn(op.datasets.asia(), seed=1))
    assert same_results(by_name, op.learn(op.datasets.asia().to_frame(), seed=1))
    assert by_name.info.source == "asia"


def test_data_are_left_alone() -> None:
    frame = FRAME.copy()
    array = FRAME.to_numpy().copy()
    op.learn(frame, score="bge")
    op.learn(array, score="bge")
    pd.testing.assert_frame_equal(frame, FRAME)
    assert np.array_equal(array, FRAME.to_numpy())


# Scores


def test_score_by_name_by_object_and_by_kind_of_data() -> None:
    auto = op.learn(FRAME, seed=1)
    assert auto.info.score == "bge"
    assert same_results(auto, op.learn(FRAME, "bge", seed=1))
    assert same_results(auto, op.learn(FRAME, op.BGe(alpha_mu=1.0), seed=1))
    assert not same_results(auto, op.learn(FRAME, op.BGe(alpha_mu=0.1), seed=1))
    categories = op.learn(FRAME > 0, seed=1)
    assert categories.info.score == "bdeu"
    assert same_results(categories, op.learn(FRAME > 0, "bdeu", seed=1))


def test_custom_score_by_name_and_by_number() -> None:
    def by_number(child: int, parents: tuple[int, ...]) -> float:
        return bge_family_score(STANDARD, child, parents)

    def by_name(child: str, parents: tuple[str, ...]) -> float:
        return by_number(NAMES.index(child), tuple(NAMES.index(name) for name in parents))

    built_in = op.learn(FRAME, structure_prior="uniform")
    for custom in (op.CustomScore(by_number), op.CustomScore(by_name, by_name=True)):
        posterior = op.learn(FRAME, custom)
        assert posterior.info.score == "custom"
        assert posterior.log_evidence == pytest.approx(built_in.log_evidence, abs=1e-8)
        np.testing.assert_allclose(
            posterior.edge_probabilities, built_in.edge_probabilities, atol=1e-9
        )
        assert op.log_score(FRAME, built_in.map_dag, custom) == pytest.approx(
            built_in.map_log_score, abs=1e-8
        )


def test_three_nodes_with_one_unit_per_edge() -> None:
    """The number of edges of a uniform draw weighted by e per edge: 1, 6, 12 and 6 DAGs."""
    n_draws = 5000
    score = op.CustomScore(lambda child, pa: len(pa))
    posterior = op.learn(np.zeros((1, 3)), score, structure_prior="uniform", seed=2024)
    weights = np.array([1, 6 * e, 12 * e**2, 6 * e**3])
    assert posterior.log_evidence == pytest.approx(np.log(weights.sum()), abs=1e-12)
    law = weights / weights.sum()
    assert law == pytest.approx([0.0044, 0.0720, 0.3915, 0.5321], abs=5e-5)
    found = [posterior.probability(lambda dag, k=k: len(dag.edges) == k, n_draws) for k in range(4)]
    assert sum(found) == pytest.approx(1)
    # Five standard errors: another seed would fail with probability about 4 * 6e-7.
    errors = [abs(f - p) / sqrt(p * (1 - p) / n_draws) for f, p in zip(found, law, strict=True)]
    assert max(errors) < 5
    biased = [0.0195, 0.1586, 0.4312, 0.3907]  # the law of order MCMC, which must be told apart
    wrong = [abs(f - p) / sqrt(p * (1 - p) / n_draws) for f, p in zip(found, biased, strict=True)]
    assert max(wrong) > 5


def test_posterior_agrees_with_all_dags_listed() -> None:
    listed = enumerate_posterior(4, lambda v, parents: bge_family_score(STANDARD, v, parents))
    posterior = op.learn(FRAME, structure_prior="uniform")
    assert posterior.log_evidence == pytest.approx(listed.log_evidence, abs=1e-8)
    np.testing.assert_allclose(posterior.edge_probabilities, listed.edges, atol=1e-9)
    np.testing.assert_allclose(posterior.ancestor_probabilities, listed.ancestors, atol=1e-9)


def test_known_answers_for_boston() -> None:
    raw = op.BGe(standardize=False)
    limited = op.learn("boston", raw, max_parents=3, structure_prior="uniform")
    assert limited.log_evidence == pytest.approx(-20414.638948995, abs=1e-6)
    assert limited.map_log_score == pytest.approx(-20419.778010134, abs=1e-6)
    empty = op.Dag.empty(limited.names)
    assert op.log_score("boston", empty, raw) == pytest.approx(-22590.93197, abs=1e-5)
    usual = op.learn("boston", max_parents=3)
    assert usual.log_evidence == pytest.approx(-7800.280897, abs=1e-6)
    assert usual.map_log_score == pytest.approx(-7804.691017, abs=1e-6)


# Priors and background knowledge


def test_the_default_prior_is_fair_everywhere() -> None:
    learned = op.learn(FRAME, seed=1)
    assert learned.info.structure_prior == "fair"
    found = op.find_map(FRAME, seed=1)
    assert found.info.structure_prior == "fair"
    estimated = op.OutpointLearner(seed=1).fit(FRAME).posterior_
    assert estimated.info.structure_prior == "fair"
    fair = op.log_score(FRAME, learned.map_dag, structure_prior="fair")
    assert op.log_score(FRAME, learned.map_dag) == fair == pytest.approx(learned.map_log_score)
    assert fair != op.log_score(FRAME, learned.map_dag, structure_prior="uniform")


@pytest.mark.parametrize("score", [op.CustomScore(lambda child, parents: 1.0), "bic"])
def test_scores_that_are_complete_have_no_prior_of_ours(score: Any) -> None:
    assert op.learn(FRAME, score, seed=1).info.structure_prior == "uniform"
    asked = op.learn(FRAME, score, seed=1, structure_prior="fair")
    assert asked.info.structure_prior == "fair"


def expected_edges(n: int, n_obs: int, **options: Any) -> float:
    """Expected number of edges between independent columns, exactly."""
    data = np.random.default_rng([n, n_obs]).normal(size=(n_obs, n))
    return float(op.learn(data, method="exact", **options).edge_probabilities.to_numpy().sum())


@pytest.mark.parametrize(("n", "n_obs"), [(8, 100), pytest.param(18, 200, marks=pytest.mark.long)])
def test_independent_columns_have_hardly_any_edges(n: int, n_obs: int) -> None:
    assert expected_edges(n, n_obs) < 2
    if n == 8:  # the prior of the paper, which must be told apart
        assert expected_edges(n, n_obs, structure_prior="uniform") > 3


def test_edge_prior_forms_agree() -> None:
    one = op.learn(FRAME, edge_prior=0.2, seed=1)
    table = pd.DataFrame(0.2, index=list("dcba"), columns=list("bdac"))
    assert same_results(one, op.learn(FRAME, edge_prior=table, seed=1))
    assert same_results(one, op.learn(FRAME, edge_prior=np.full((4, 4), 0.2), seed=1))
    assert one.log_evidence != pytest.approx(op.learn(FRAME).log_evidence)


def test_edge_prior_of_0_and_1_forbids_and_requires() -> None:
    table = pd.DataFrame(0.5, index=list(NAMES), columns=list(NAMES))
    table.loc["a", "b"] = 0.0
    table.loc["c", "a"] = 1.0
    posterior = op.learn(FRAME, edge_prior=table, seed=1)
    edges = op.learn(FRAME, forbidden=[("a", "b")], required=[("c", "a")], seed=1)
    np.testing.assert_allclose(posterior.edge_probabilities, edges.edge_probabilities, atol=1e-12)


def test_knowledge_as_one_value(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "forbidden": [("a", "b")],
        "required": [("a", "d")],
        "tiers": [["b"], ["d"]],
        "roots": ["c"],
        "edge_prior": 0.2,
    }
    expected = op.learn(FRAME, seed=1, **options)
    known = op.Knowledge(**options)
    known.write(tmp_path / "known.csv")
    for form in (known, tmp_path / "known.csv", str(tmp_path / "known.csv")):
        assert same_results(expected, op.learn(FRAME, seed=1, knowledge=form))
    for name, value in options.items():
        rest = op.Knowledge(**{k: v for k, v in options.items() if k != name})
        assert same_results(expected, op.learn(FRAME, seed=1, knowledge=rest, **{name: value}))
        assert not same_results(expected, op.learn(FRAME, seed=1, knowledge=rest))
    with pytest.raises(op.OptionError, match="a -> d is both required and forbidden"):
        op.learn(FRAME, knowledge=known, forbidden=[("a", "d")])


def test_the_model_keeps_its_knowledge() -> None:
    """By name, also where a table had none."""
    table = np.full((4, 4), 0.2)
    table[0, 1] = 0.7
    model = prepare(
        op.load_dataset(FRAME),
        Options(structure_prior="uniform", knowledge=op.Knowledge(edge_prior=table)),
    )
    expected = {"others": 0.2, "edges": [("a", "b", 0.7)]}
    assert model.knowledge == op.Knowledge(edge_prior=expected)


def test_the_log_score_of_an_excluded_dag() -> None:
    dag = op.Dag.from_edges(list(NAMES), [("a", "b"), ("c", "d")])
    plain = op.log_score(FRAME, dag)
    for admitting in ({"required": ["a -> b"]}, {"forbidden": ["b -> a"]}, {"roots": ["a"]}):
        assert op.log_score(FRAME, dag, knowledge=op.Knowledge(**admitting)) == plain
    for excluding in (
        {"required": ["b -> a"]},
        {"forbidden": ["c -> d"]},
        {"roots": ["d"]},
        {"tiers": [["b"], ["a"]]},
        {"edge_prior": {"edges": [("a", "b", 0.0)]}},
    ):
        assert op.log_score(FRAME, dag, knowledge=op.Knowledge(**excluding)) == -np.inf
    odds = op.log_score(FRAME, dag, knowledge=op.Knowledge(edge_prior=0.2)) - plain
    assert odds == pytest.approx(2 * np.log(0.25))
    both = op.log_score(
        FRAME, dag, edge_prior=0.2, knowledge=op.Knowledge(edge_prior={"edges": [("a", "b", 0.5)]})
    )
    assert both - plain == pytest.approx(np.log(0.25))


def test_background_knowledge_holds_in_every_draw() -> None:
    posterior = op.learn(
        FRAME,
        forbidden=[("a", "b")],
        required=[("a", "d")],
        tiers=[["c"], ["a", "b"]],
        roots=["c"],
        max_parents=2,
    )
    for dag in (*posterior.iter_dags(100), posterior.map_dag):
        edges = set(dag.edges)
        assert ("a", "d") in edges
        assert not {("a", "b"), ("a", "c"), ("b", "c"), ("d", "c")} & edges
        assert max(len(parents) for parents in dag.parent_sets) <= 2
    probabilities = posterior.edge_probabilities
    assert probabilities.loc["a", "d"] == pytest.approx(1)
    assert probabilities.loc["a", "b"] == 0
    assert (probabilities["c"] == 0).all()


# Scores of single DAGs


def test_log_score_is_the_sum_over_families() -> None:
    dag = op.Dag.from_edges(NAMES, [("a", "b"), ("b", "d"), ("c", "d")])
    families = [(0, ()), (1, (0,)), (2, ()), (3, (1, 2))]
    expected = sum(bge_family_score(STANDARD, child, parents) for child, parents in families)
    uniform = op.log_score(FRAME, dag, structure_prior="uniform")
    assert uniform == pytest.approx(expected, abs=1e-9)
    fair = uniform - log(comb(3, 1)) - log(comb(3, 2))  # b has one of three possible parents, d two
    assert op.log_score(FRAME, dag) == pytest.approx(fair, abs=1e-9)


def test_log_score_does_not_depend_on_the_order_of_the_nodes() -> None:
    edges = [("a", "b"), ("b", "d"), ("c", "d")]
    scores = {op.log_score(FRAME, op.Dag.from_edges(names, edges)) for names in permutations(NAMES)}
    assert len(scores) == 1


@pytest.mark.parametrize("prior", [{}, {"structure_prior": "uniform"}], ids=["default", "uniform"])
@pytest.mark.parametrize("edge_prior", [None, 0.3])
def test_log_score_is_that_of_learn(prior: dict[str, str], edge_prior: float | None) -> None:
    options: dict[str, Any] = {**prior, "edge_prior": edge_prior}
    posterior = op.learn(FRAME, **options)
    score = op.log_score(FRAME, posterior.map_dag, **options)
    assert score == pytest.approx(posterior.map_log_score, abs=1e-9)


def test_log_score_refuses() -> None:
    with pytest.raises(op.GraphError, match="not the columns of the data"):
        op.log_score(FRAME, op.Dag.empty(["a", "b", "c", "x"]))
    with pytest.raises(op.GraphError, match="not the columns of the data"):
        op.log_score(FRAME, op.Dag.empty(["a", "b", "c"]), op.CustomScore(lambda child, parents: 0))
    with pytest.raises(op.GraphError, match="not the columns of the data"):
        op.log_score(FRAME, op.Dag.empty(["a", "b", "c"]), columns=NAMES)
    with pytest.raises(op.OptionError, match="drop names 'z'"):
        op.log_score(FRAME, op.Dag.empty(NAMES), drop=["z"])
    with pytest.raises(op.OptionError, match="unknown score"):
        op.log_score(FRAME, op.Dag.empty(NAMES), "aic")
    with pytest.raises(op.DataError, match="constant"):
        op.log_score(FRAME.assign(a=1.0), op.Dag.empty(NAMES))
    assert np.isfinite(
        op.log_score(FRAME.assign(a=1.0), op.Dag.empty(NAMES), allow_degenerate=True)
    )


def test_log_score_reads_the_columns_of_the_dag() -> None:
    """Others are not looked at, and none of these is left out, whatever the door would do."""
    dag = op.Dag.from_edges(["a", "b", "c"], [("a", "c")])
    expected = op.log_score(FRAME[["a", "b", "c"]], dag)
    holes = FRAME.assign(d=np.nan, e=[f"k{i}" for i in range(len(FRAME))])
    assert op.log_score(holes, dag) == expected
    counting = FRAME.assign(id=np.arange(len(FRAME)))
    assert "id" not in op.learn(counting).names
    with_id = op.Dag.from_edges([*NAMES, "id"], [("a", "id")])
    found = op.log_score(counting, with_id)
    assert found == op.log_score(counting, with_id, continuous=["id"])
    assert found != op.log_score(counting, op.Dag.empty([*NAMES, "id"]))


def test_a_score_of_ones_own_sees_all_columns(tmp_path: Path) -> None:
    table = FRAME.assign(id=np.arange(len(FRAME)), one=1.0)
    every = [*FRAME.columns, "id", "one"]
    seen = set()
    custom = op.CustomScore(lambda child, parents: seen.add(child) or 0.0, by_name=True)
    assert op.learn(table, custom, max_parents=1).names == tuple(every)
    assert seen == set(every)
    assert op.log_score(table, op.Dag.empty(every), custom, structure_prior="uniform") == 0.0
    op.write_jkl(tmp_path / "s.jkl", op.load_dataset(table, keep=True), custom, max_parents=1)
    assert op.learn(table, str(tmp_path / "s.jkl")).names == tuple(every)
    op.log_score(table, op.Dag.empty(every), str(tmp_path / "s.jkl"))


# Options


def test_record_of_the_run() -> None:
    posterior = op.learn(FRAME, max_parents=2, structure_prior="uniform", seed=np.int64(9))
    info = posterior.info
    assert (info.n_observations, info.max_parents, info.seed) == (40, 2, 9)
    assert type(info.seed) is int
    assert (info.score, info.structure_prior, info.version) == ("bge", "uniform", op.__version__)
    assert info.elapsed_seconds > 0
    assert op.learn(FRAME).info.max_parents == 3


def test_fresh_seeds_differ() -> None:
    assert op.learn(FRAME).info.seed != op.learn(FRAME).info.seed


def test_progress_is_reported() -> None:
    calls: list[tuple[str, float]] = []
    op.learn("asia", progress=lambda now: calls.append((now.stage, now.fraction)))
    assert list(dict.fromkeys(stage for stage, _ in calls)) == [
        "scoring parent sets",
        "summing over all DAGs",
    ]
    fractions = [fraction for stage, fraction in calls if stage == "summing over all DAGs"]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == pytest.approx(1, abs=0.01)


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "method": (
        {"method": "magic"},
        op.OptionError,
        "method must be one of auto, exact, mcmc, partition, partition+rev, order, structure, "
        "structure+rev, not 'magic'.",
    ),
    "score": ({"score": "aic"}, op.OptionError, "unknown score 'aic'"),
    "score object": ({"score": 5}, op.OptionError, "score must be a name, BGe()"),
    "no score": ({"score": None}, op.OptionError, "score must be a name, BGe()"),
    "bdeu of numbers": ({"score": "bdeu"}, op.DataError, "BDeu needs categorical"),
    "structure prior": ({"structure_prior": "x"}, op.OptionError, "fair, uniform"),
    "edge prior": ({"edge_prior": 1.0}, op.OptionError, "between 0 and 1"),
    "edge prior table": ({"edge_prior": np.full((4, 4), 2.0)}, op.OptionError, "from 0 to 1"),
    "edge prior shape": ({"edge_prior": np.full((3, 3), 0.5)}, op.OptionError, "shape"),
    "edge prior names": (
        {"edge_prior": pd.DataFrame(0.5, index=list("abcx"), columns=list("abcd"))},
        op.OptionError,
        "must be the columns of the data",
    ),
    "no parents": ({"max_parents": 0}, op.OptionError, "from 1 to 3"),
    "many parents": ({"max_parents": 4}, op.OptionError, "from 1 to 3"),
    "half parents": ({"max_parents": 1.5}, op.OptionError, "whole number"),
    "truth as parents": ({"max_parents": True}, op.OptionError, "whole number"),
    "seed": ({"seed": -1}, op.OptionError, "whole number from 0"),
    "seed of text": ({"seed": "1"}, op.OptionError, "whole number from 0"),
    "seed of truth": ({"seed": True}, op.OptionError, "whole number from 0"),
    "seed with decimals": ({"seed": 1.5}, op.OptionError, "whole number from 0"),
    "one pair": ({"forbidden": ("a", "b")}, op.OptionError, "pairs"),
    "triple": ({"required": [("a", "b", "c")]}, op.OptionError, "pairs"),
    "unknown": ({"required": [("a", "zz")]}, op.OptionError, "'zz'"),
    "tiers of text": ({"tiers": "abcd"}, op.OptionError, "list of lists"),
    "cycle": ({"required": [("a", "b"), ("b", "a")]}, op.OptionError, "cycle"),
    "memory": ({"method": "exact", "memory_limit": 1000}, op.TooLargeError, "fewer variables"),
    "custom nan": (
        {"score": op.CustomScore(lambda v, pa: float("nan"))},
        op.OptionError,
        "custom score of a given no parents is nan",
    ),
    "custom infinity": (
        {"score": op.CustomScore(lambda v, pa: float("inf"))},
        op.OptionError,
        "must be a number or -inf",
    ),
    "custom excludes all": (
        {"score": op.CustomScore(lambda v, pa: float("-inf"))},
        op.OptionError,
        "no DAG is admissible",
    ),
}


@pytest.mark.parametrize(("options", "kind", "fragment"), BAD.values(), ids=BAD.keys())
def test_bad_options(options: dict[str, Any], kind: type[Exception], fragment: str) -> None:
    with pytest.raises(kind) as caught:
        op.learn(FRAME, **options)
    assert fragment in str(caught.value)


def test_too_many_variables_for_exact() -> None:
    wide = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.raises(op.TooLargeError, match=r"40 variables .* fewer variables"):
        op.learn(wide, method="exact")


@pytest.mark.parametrize("column", [1.0, FRAME["b"]], ids=["constant", "identical"])
def test_degenerate_columns_need_consent(column: Any) -> None:
    frame = FRAME.drop(columns="c").assign(c=column)
    with pytest.raises(op.DataError, match=r"constant|identical"):
        op.learn(frame, strict=True)
    left = op.learn(frame)
    assert left.names == tuple(name for name in frame.columns if name != "c")
    assert "left out 'c'" in left.info.notes[0]
    kept = op.learn(frame, allow_degenerate=True)
    assert kept.names == tuple(frame.columns)
    assert np.isfinite(kept.log_evidence)


def test_too_little_memory_makes_auto_sample() -> None:
    data = np.random.default_rng(0).normal(size=(30, 3))
    sampled = op.learn(data, memory_limit=1000, steps=200, chains=2, seed=1)
    assert sampled.method == "mcmc"
    assert op.learn(data, memory_limit=4e9).method == "exact"
    assert op.find_map(data, memory_limit=1000, seed=1).method == "search"


def test_options_of_sampling_are_not_ignored_in_silence() -> None:
    data = np.random.default_rng(0).normal(size=(30, 3))
    message = "nothing is sampled: steps, n_candidates and time are not used"
    with pytest.warns(op.IgnoredOptionWarning, match=message) as caught:
        found = op.learn(data, method="exact", steps=100, n_candidates=2, time="1m", chains=4)
    assert caught[0].filename == __file__, "the warning points at the call"
    assert found.log_evidence == op.learn(data, method="exact", seed=3).log_evidence
    with pytest.warns(op.IgnoredOptionWarning, match="sampled: candidates is not used"):
        op.learn(data, method="exact", candidates={"x1": ["x2"]})
    op.learn(data, steps=100, seed=1)  # the options are for the case that "auto" samples
