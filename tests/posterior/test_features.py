"""Features by text against the same features asked of one Dag at a time."""

from time import perf_counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import outpoint as op
from outpoint.errors import OptionError
from outpoint.graphs import Dag
from outpoint.posterior.feature_parser import parse_feature
from outpoint.posterior.features import Adjacent, Adjusts, And, Edge, Not, Or, Path, VStructure
from tests.graphs.helpers import HOSTILE_NAMES
from tests.graphs.test_adjustment import adjusts
from tests.posterior.problems import all_graphs, random_problem
from tests.reference import all_dags

NAMES = ("a", "b", "c", "d")


def is_adjacent(dag: Dag, x: str, y: str) -> bool:
    return dag.has_edge(x, y) or dag.has_edge(y, x)


FEATURES = {
    "a -> b": lambda d: d.has_edge("a", "b"),
    "a <- b": lambda d: d.has_edge("b", "a"),
    "a--b": lambda d: is_adjacent(d, "a", "b"),
    "a -> ... -> d": lambda d: "a" in d.ancestors("d"),
    "a <- ... <- d": lambda d: "d" in d.ancestors("a"),
    "a -> b -> c": lambda d: d.has_edge("a", "b") and d.has_edge("b", "c"),
    "a <- b -> c": lambda d: d.has_edge("b", "a") and d.has_edge("b", "c"),
    "a -> c <- b": lambda d: ("a", "c", "b") in d.v_structures,
    "b -> a <- d -> c": lambda d: ("b", "a", "d") in d.v_structures and d.has_edge("d", "c"),
    "a -> ... -> c <- b": lambda d: "a" in d.ancestors("c") and d.has_edge("b", "c"),
    "a -- b -- c": lambda d: is_adjacent(d, "a", "b") and is_adjacent(d, "b", "c"),
    "(a -> b <- a)": lambda d: d.has_edge("a", "b"),
    "a in mb(b)": lambda d: "a" in d.markov_blanket("b"),
    "root(c)": lambda d: not d.parents("c"),
    "leaf(c)": lambda d: not d.children("c"),
    "isolated( d )": lambda d: not d.parents("d") and not d.children("d"),
    "parents(a) = {b, c}": lambda d: set(d.parents("a")) == {"b", "c"},
    "parents(a)={}": lambda d: not d.parents("a"),
    "adjusts({}, a, d)": lambda d: adjusts(d.adjacency, set()),
    "adjusts( {b,c} , a, d )": lambda d: adjusts(d.adjacency, {1, 2}),
    "not a -> b": lambda d: not d.has_edge("a", "b"),
    "a -> b and not (c -- d or root(b))": lambda d: (
        d.has_edge("a", "b") and not (is_adjacent(d, "c", "d") or not d.parents("b"))
    ),
    "a -> b or b -> c and c -> d": lambda d: (
        d.has_edge("a", "b") or (d.has_edge("b", "c") and d.has_edge("c", "d"))
    ),
}


@pytest.mark.parametrize("text", FEATURES)
def test_on_all_dags(text):
    dags = all_dags(4)
    expected = [FEATURES[text](Dag.from_adjacency(dag, NAMES)) for dag in dags]
    assert 0 < sum(expected) < len(expected), "a test that can fail"
    np.testing.assert_array_equal(parse_feature(text, NAMES).evaluate(dags), expected)


def test_precedence_and_shape():
    a, b, c = Edge(0, 1), Edge(1, 2), Edge(2, 3)
    assert parse_feature("a -> b or b -> c and c -> d", NAMES) == Or((a, And((b, c))))
    assert parse_feature("(a -> b or b -> c) and c -> d", NAMES) == And((Or((a, b)), c))
    assert parse_feature("not a -> b and b -> c", NAMES) == And((Not(a), b))
    assert parse_feature("a -> b -> c -> d", NAMES) == And((a, b, c))
    assert parse_feature("a->c<-b", NAMES) == VStructure(0, 2, 1)
    assert parse_feature(" a->...->d ", NAMES) == Path(0, 3)
    assert parse_feature("((a -- b))", NAMES) == Adjacent(0, 1)


# Names


@pytest.mark.attack("hostile names of variables")
@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_any_name_can_be_quoted(name):
    names = (*HOSTILE_NAMES, "x")
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    feature = parse_feature(f'"{escaped}" -> ... -> x and root("{escaped}")', names)
    assert isinstance(feature, And)
    assert feature.parts[0] == Path(names.index(name), len(names) - 1)


@given(st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=4, unique=True))
def test_random_names_quoted(names):
    quoted = [name.replace("\\", "\\\\").replace('"', '\\"') for name in names]
    assert parse_feature(f'"{quoted[0]}" -- "{quoted[1]}"', names) == Adjacent(0, 1)


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (("body mass", "blood pressure"), "body mass -> blood pressure", Edge(0, 1)),
        (("x1", "x10", "x"), "x10 -> x1", Edge(1, 0)),
        (("a -> b", "c"), "a -> b -> c", Edge(0, 1)),
        (("not", "or", "and"), "not -> or and and -> or", And((Edge(0, 1), Edge(2, 1)))),
        (("not", "b"), "not not -> b", Not(Edge(0, 1))),
        (("root(a)", "b"), "root(a) -> b", Edge(0, 1)),
        (("1", "2"), "1 -> 2", Edge(0, 1)),
        (("größe", "p.value"), "p.value -> größe", Edge(1, 0)),
        (("a", "...", "b"), "a -> ... <- b", VStructure(0, 1, 2)),
        (("a-b", "c"), "a-b--c", Adjacent(0, 1)),
        (("a", "a -> a", "b"), "a -> a -> b", Edge(1, 2)),
        (("a b", "c, d", "e"), "adjusts({c, d}, a b, e)", Adjusts(frozenset({1}), 0, 2)),
    ],
)
def test_names_as_they_are(names, text, expected):
    assert parse_feature(text, names) == expected


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("a", "b", "c", "a -> b"), "a -> b -> c"),
        (("a", "...", "b"), "a -> ... -> b"),
    ],
)
def test_ambiguous_names_ask_for_quotes(names, text):
    with pytest.raises(OptionError, match=r"in several ways.*double quotes"):
        parse_feature(text, names)


def test_quotes_decide():
    names = ("a", "b", "c", "a -> b")
    assert parse_feature('"a -> b" -> c', names) == Edge(3, 2)
    assert parse_feature('"a" -> "b" -> c', names) == And((Edge(0, 1), Edge(1, 2)))


# Errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rain -> wt", r"no variable 'wt' at character 9 .*did you mean 'wet'\?"),
        ("Rain -> wet", r"no variable 'Rain' at character 1 .*did you mean 'rain'\?"),
        ('"rian" -> wet', r"no variable 'rian' .*did you mean 'rain'\?"),
        ("zzz -> wet", r"no variable 'zzz' .*the variables are 'rain', 'wet'"),
        ("rain in mb(we) and root(wet)", r"no variable 'we' at character 12"),
        ("rain", r"expected '->', .* or 'in' at character 5 of the feature 'rain'"),
        ("", r"expected .* at character 1"),
        ("rain -> ", r"expected the name of a variable at character 9"),
        ("rain -> wet xor wet -> sun", r"expected .*'and'.* or the end at character 13"),
        ("(rain -> wet", r"expected .*'\)'.* at character 13"),
        ("rain -> wet)", r"the end at character 12"),
        ("parents(rain) = wet", r"expected '\{' at character 17"),
        ("rain in wet", r"expected 'mb' at character 9"),
        ("rain -> rain", r"'rain' cannot be linked to itself"),
        ("rain in mb(rain)", r"'rain' is not in its own Markov blanket"),
        ("parents(rain) = {wet, rain}", r"'rain' cannot be its own parent"),
        ("adjusts({wet}, rain)", r"expected ',' at character 20"),
        ("adjusts({}, rain, rain)", r"'rain' is both the cause and the effect"),
        ("adjusts({wet, sun}, rain, sun)", r"'sun' cannot be adjusted for in its own effect"),
    ],
)
def test_one_clear_sentence(text, message):
    with pytest.raises(OptionError, match=message) as caught:
        parse_feature(text, ("rain", "wet", "sun"))
    assert "\n" not in str(caught.value)


# Posteriors


@pytest.fixture(scope="module")
def exact() -> op.Posterior:
    return random_problem(4).learn(seed=1)


@pytest.mark.parametrize("text", FEATURES)
def test_all_dags_weighted(text):
    """With every DAG there, weighted, the average is the probability."""
    problem = random_problem(4)
    graphs = all_graphs(problem)
    found = graphs.weights @ graphs.evaluate(parse_feature(text, NAMES).evaluate)
    assert found == pytest.approx(problem.mean(FEATURES[text]), abs=1e-12)


EXACT = (
    "a -> b",
    "a <- b",
    "a--b",
    "a -> ... -> d",
    "a <- ... <- d",
    "root(c)",
    "not a -> b",
    "(a -> b <- a)",
)
PARENTS = ("parents(a) = {b, c}", "parents(a)={}")


@pytest.mark.parametrize("text", [*EXACT, *PARENTS])
def test_exact_where_known(exact, text):
    truth = random_problem(4).mean(FEATURES[text])
    assert exact.probability(text) == pytest.approx(truth, abs=1e-10)
    estimate = exact.estimate(text)
    assert estimate.value == exact.probability(text)
    assert (estimate.mcse, estimate.status) == (0.0, "exact")
    assert estimate.effective_sample_size == np.inf


@pytest.mark.parametrize("text", [text for text in FEATURES if text not in (*EXACT, *PARENTS)])
def test_drawn_where_not(exact, text):
    """Five standard errors: another seed fails with probability 6e-7 per feature."""
    truth = random_problem(4).mean(FEATURES[text])
    estimate = exact.estimate(text)
    assert estimate.status == "sampled"
    assert estimate.value == exact.probability(text)
    assert 0 < estimate.mcse == pytest.approx(np.sqrt(truth * (1 - truth) / 10_000), rel=0.3)
    assert abs(estimate.value - truth) < 5 * estimate.mcse


def test_functions_and_texts_agree(exact):
    text = exact.probability("a -> c <- b", n_draws=500)
    assert text == exact.probability(lambda dag: ("a", "c", "b") in dag.v_structures, 500)


def test_sampled_posterior():
    problem = random_problem(4)
    sampled = problem.learn("mcmc", steps=20_000, seed=2)
    for text in FEATURES:
        estimate = sampled.estimate(text)
        truth = problem.mean(FEATURES[text])
        assert estimate.status == "sampled"
        assert estimate.effective_sample_size > 200
        assert abs(estimate.value - truth) < 5 * estimate.mcse, text
    edges = sampled.edge_probabilities
    assert sampled.probability("a -> b") == edges.loc["a", "b"]
    both = edges.loc["a", "b"] + edges.loc["b", "a"]
    assert sampled.probability("not a -- b") == pytest.approx(1 - both)


def test_a_feature_that_never_varies():
    def score(child, parents):
        return 0.0 if parents == (() if child else (1,)) else -500.0

    data = op.Dataset(("a", "b", "c"), np.zeros((1, 3)))
    sampled = op.learn(data, op.CustomScore(score), "mcmc", steps=2000, seed=1)
    estimate = sampled.estimate("leaf(c)")
    assert (estimate.value, estimate.status) == (1.0, "constant")
    assert estimate.mcse == pytest.approx(1 / 4000), "4,000 draws, all alike"
    assert estimate.effective_sample_size == pytest.approx(4000)
    assert estimate.n_draws == 4000
    assert np.isnan(sampled.estimate(lambda dag: dag.n_edges + 2).mcse), "no event"
    few = op.learn(data, op.CustomScore(score), "mcmc", steps=2000, draws=3, seed=1)
    assert few.estimate("leaf(c)").status == "few draws"


def test_functions_are_called_once_per_distinct_dag(exact):
    calls = []
    exact.probability(lambda dag: calls.append(dag) or 0.0)
    assert len(calls) == len(set(calls)) < 1000


@pytest.mark.parametrize("feature", [None, 3, ["a -> b"]])
def test_not_a_feature(exact, feature):
    for ask in (exact.probability, exact.estimate):
        with pytest.raises(OptionError, match="a function of a Dag or a text"):
            ask(feature)


# Limits: a sentence within seconds, where readings without limit would take for ever


def refuse_in_time(text, names, message):
    started = perf_counter()
    with pytest.raises(OptionError, match=message) as caught:
        parse_feature(text, names)
    assert perf_counter() - started < 60
    assert "\n" not in str(caught.value)


@pytest.mark.attack("endless and ambiguous features", "one sentence")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 500 + "a -> b" + ")" * 500, "more than 30 parentheses"),
        ("(" * 500, "more than 30 parentheses"),
        ("not " * 500 + "a -> b", "more than 30 parentheses or words 'not'"),
        (" and ".join(["a -> b"] * 600), "at most 5,000 characters, not 6,595"),
        ('"' * 4999, "expected|no variable"),
    ],
)
def test_long_and_deep_features(text, message):
    refuse_in_time(text, NAMES, message)


def nested_names(word, n):
    return ["a", "b", *(word.join(["b"] * i) for i in range(2, n))]


@pytest.mark.attack("endless and ambiguous features")
@pytest.mark.parametrize(
    ("names", "text"),
    [
        (nested_names(" and a -> ", 60), " and ".join(["a -> b"] * 450)),
        (nested_names(" -> ", 400), "a -> " + " -> ".join(["b"] * 900)),
        (nested_names(", ", 400), "parents(a) = {" + ", ".join(["b"] * 1500) + "}"),
        (["not", "not not", "not not not", "b"], "not " * 28 + "-> b"),
    ],
)
def test_names_that_make_every_word_a_choice(names, text):
    refuse_in_time(text, names, r"ways because of how the variables are called")


@pytest.mark.parametrize("word", [" and ", " or "])
def test_what_is_long_and_clear_is_read(word):
    text = word.join(["(a -> b <- c)", "not a -> d"] * 150)
    feature = parse_feature(text, NAMES)
    assert isinstance(feature, And if word == " and " else Or)
    assert feature.parts == (VStructure(0, 1, 2), Not(Edge(0, 3))) * 150
    assert parse_feature("(" * 29 + "a -> b" + ")" * 29, NAMES) == Edge(0, 1)
    chain = parse_feature(" -> ".join("abcd" * 100), NAMES)
    assert len(chain.parts) == 399
