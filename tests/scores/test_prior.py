"""Structure priors and background knowledge: weights, combinations, contradictions."""

from collections.abc import Callable
from math import comb, inf, log

import numpy as np
import pandas as pd
import pytest

from outpoint.errors import OptionError
from outpoint.scores import Knowledge, StructurePrior
from outpoint.scores import build_prior as combine
from outpoint.scores.base import binomial_table as binomials_of
from outpoint.scores.base import count_subsets, family_rank, size_offsets

from .helpers import all_families

NAMES = ("a", "b", "c", "d", "e")
N = len(NAMES)


def build_prior(
    names: tuple[str, ...],
    structure_prior: str = "uniform",
    max_parents: int | None = None,
    **knowledge: object,
) -> StructurePrior:
    """The prior with knowledge given item by item."""
    return combine(
        names,
        structure_prior=structure_prior,
        knowledge=Knowledge(**knowledge),  # type: ignore[arg-type]
        max_parents=max_parents,
    )


Weight = Callable[[str, tuple[str, ...]], float]


def weights_of(prior: StructurePrior) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (NAMES[v], tuple(NAMES[u] for u in s)): prior.log_weight(v, s) for v, s in all_families(N)
    }


def assert_weights(prior: StructurePrior, expected: Weight) -> None:
    """The log weight of every family, compared with a direct computation from names."""
    for (child, parents), weight in weights_of(prior).items():
        assert weight == pytest.approx(expected(child, parents), abs=1e-12), (child, parents)


def log_odds(p: float) -> float:
    return log(p) - log(1 - p)


# Weights


def test_uniform() -> None:
    assert_weights(build_prior(NAMES), lambda child, parents: 0.0)


def test_fair_gives_each_number_of_parents_the_same_weight() -> None:
    prior = build_prior(NAMES, structure_prior="fair")
    assert_weights(prior, lambda child, parents: -log(comb(4, len(parents))))
    for size in range(N):
        sets = [w for (v, s), w in weights_of(prior).items() if v == "c" and len(s) == size]
        assert np.exp(sets).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("p", [1e-6, 0.2, 0.5, 0.99])
def test_one_probability_for_every_edge(p: float) -> None:
    prior = build_prior(NAMES, edge_prior=p)
    assert_weights(prior, lambda child, parents: len(parents) * log_odds(p))


def edge_frame(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(rng.uniform(0.05, 0.95, (N, N)), index=NAMES, columns=NAMES)


def test_a_table_of_probabilities_is_read_by_name() -> None:
    rng = np.random.default_rng(1)
    frame = edge_frame(rng)
    shuffled = frame.loc[list(rng.permutation(NAMES)), list(rng.permutation(NAMES))]
    assert list(shuffled.index) != list(shuffled.columns)
    for table in (frame, shuffled, frame.to_numpy(), frame.to_numpy().tolist()):
        prior = build_prior(NAMES, edge_prior=table)
        assert_weights(
            prior, lambda child, parents: sum(log_odds(frame.loc[u, child]) for u in parents)
        )


def test_the_diagonal_of_a_table_is_ignored() -> None:
    frame = edge_frame(np.random.default_rng(2))
    plain = weights_of(build_prior(NAMES, edge_prior=frame))
    for filler in (0.0, 1.0, np.nan, 17.0):
        table = frame.to_numpy().copy()
        np.fill_diagonal(table, filler)
        assert weights_of(build_prior(NAMES, edge_prior=table)) == plain


def test_a_table_is_not_changed() -> None:
    table = edge_frame(np.random.default_rng(3)).to_numpy()
    before = table.copy()
    build_prior(NAMES, edge_prior=table)
    assert np.array_equal(table, before)


def test_probabilities_0_and_1_forbid_and_require() -> None:
    table = np.full((N, N), 0.25)
    table[0, 1] = 0.0
    table[2, 3] = 1.0

    def expected(child: str, parents: tuple[str, ...]) -> float:
        if (child == "b" and "a" in parents) or (child == "d" and "c" not in parents):
            return -inf
        free = [u for u in parents if (u, child) != ("c", "d")]
        return len(free) * log_odds(0.25)

    assert_weights(build_prior(NAMES, edge_prior=table), expected)


def test_forbidden_edges() -> None:
    forbidden = [("a", "b"), ("e", "d"), ("e", "d")]
    prior = build_prior(NAMES, forbidden=forbidden)
    assert_weights(
        prior,
        lambda child, parents: -inf if any((u, child) in forbidden for u in parents) else 0.0,
    )


def test_required_edges() -> None:
    prior = build_prior(NAMES, required=[["a", "b"], ("c", "b"), ("b", "e")])
    needed = {"b": {"a", "c"}, "e": {"b"}}
    assert_weights(
        prior, lambda child, parents: 0.0 if needed.get(child, set()) <= set(parents) else -inf
    )
    assert prior.required.sum() == 3


def test_tiers_leave_edges_within_a_tier_and_unlisted_variables_free() -> None:
    prior = build_prior(NAMES, tiers=[["d"], ["a", "c"], ["b"]])
    tier = {"d": 0, "a": 1, "c": 1, "b": 2}

    def expected(child: str, parents: tuple[str, ...]) -> float:
        back = any(u in tier and child in tier and tier[u] > tier[child] for u in parents)
        return -inf if back else 0.0

    assert_weights(prior, expected)


def test_no_tiers_and_empty_tiers_say_nothing() -> None:
    for tiers in (None, [], [[], ["a", "b"], []]):
        assert_weights(build_prior(NAMES, tiers=tiers), lambda child, parents: 0.0)


def test_roots_have_no_parents() -> None:
    prior = build_prior(NAMES, roots=["b", "e"])
    assert_weights(prior, lambda child, parents: -inf if child in ("b", "e") and parents else 0.0)


def test_everything_at_once() -> None:
    frame = edge_frame(np.random.default_rng(4))
    prior = build_prior(
        NAMES,
        structure_prior="fair",
        edge_prior=frame,
        forbidden=[("a", "c")],
        required=[("b", "c")],
        tiers=[["b"], ["c"]],
        roots=["d"],
        max_parents=2,
    )

    def expected(child: str, parents: tuple[str, ...]) -> float:
        edges = {(u, child) for u in parents}
        if edges & {("a", "c"), ("c", "b")} or (child == "d" and parents):
            return -inf
        if child == "c" and "b" not in parents:
            return -inf
        free = edges - {("b", "c")}
        return -log(comb(4, len(parents))) + sum(log_odds(frame.loc[e]) for e in free)

    assert_weights(prior, expected)


# Adding the weights to a table of scores

PRIORS = {
    "uniform": {},
    "fair": {"structure_prior": "fair"},
    "penalty": {"edge_prior": 0.1},
    "knowledge": {"forbidden": [("a", "b")], "required": [("c", "b"), ("d", "b")], "roots": ["e"]},
    "tiers": {"tiers": [["e", "d"], ["c"], ["a", "b"]], "structure_prior": "fair"},
    "table": {"edge_prior": edge_frame(np.random.default_rng(5)), "required": [("a", "b")]},
}


@pytest.mark.parametrize("max_parents", [2, 3, 4])
@pytest.mark.parametrize("options", PRIORS.values(), ids=list(PRIORS))
def test_add_to_adds_the_log_weight_of_every_family(options: dict, max_parents: int) -> None:
    prior = build_prior(NAMES, **options)
    before = np.random.default_rng(6).normal(size=(N, count_subsets(N - 1, max_parents)))
    before[1, 0] = -inf  # a score of -inf stays one
    after = before.copy()
    prior.add_to(after, max_parents)
    binomials, offsets = binomials_of(N, max_parents + 1), size_offsets(N - 1, max_parents)
    seen = 0
    for child, parents in all_families(N, max_parents):
        place = family_rank(child, np.array(parents, dtype=int), len(parents), binomials, offsets)
        expected = before[child, place] + prior.log_weight(child, parents)
        assert after[child, place] == pytest.approx(expected, abs=1e-12)
        seen += 1
    assert seen == after.size


# Contradictions and other mistakes: each message names what is wrong

MISTAKES = {
    "required and forbidden": (
        {"required": [("a", "b")], "forbidden": [("a", "b")]},
        r"the edge a -> b is both required and forbidden",
    ),
    "required against tiers": (
        {"required": [("a", "b")], "tiers": [["b"], ["a"]]},
        r"the edge a -> b is required but against the tiers",
    ),
    "required into a root": (
        {"required": [("a", "b")], "roots": ["b"]},
        r"the edge a -> b is required but into a root",
    ),
    "required with probability 0": (
        {"required": [("a", "b")], "edge_prior": np.triu(np.full((5, 5), 0.5), 2)},
        r"the edge a -> b is required but given probability 0",
    ),
    "forbidden with probability 1": (
        {"forbidden": [("a", "b")], "edge_prior": np.triu(np.ones((5, 5)))},
        r"the edge a -> b is given probability 1 but excluded",
    ),
    "probability 1 into a root": (
        {"roots": ["b"], "edge_prior": np.triu(np.ones((5, 5)))},
        r"the edge a -> b is given probability 1 but excluded",
    ),
    "required cycle": (
        {"required": [("a", "b"), ("b", "c"), ("c", "a")]},
        r"required edges contradict each other: .*cycle: .*a -> b",
    ),
    "required both ways": (
        {"required": [("d", "e"), ("e", "d")]},
        r"required edges contradict each other: .*cycle",
    ),
    "cycle of required and certain edges": (
        {"required": [("b", "a")], "edge_prior": np.where(np.eye(5, k=1) > 0, 1.0, 0.5)},
        r"required edges contradict each other: .*cycle",
    ),
    "more required than max_parents": (
        {"required": [("a", "e"), ("b", "e"), ("c", "e")], "max_parents": 2},
        r"e has 3 required parents, but max_parents is 2",
    ),
    "more required than max_parents, twice": (
        {"required": [("a", "e"), ("b", "e"), ("a", "d"), ("c", "d")], "max_parents": 1},
        r"d has 2 required parents and e has 2 required parents, but max_parents is 1",
    ),
    "unknown required": ({"required": [("a", "z")]}, r"required edge names 'z', .*not a column"),
    "unknown forbidden": ({"forbidden": [("z", "a")]}, r"forbidden edge names 'z', .*not a column"),
    "a position, not a name": ({"forbidden": [(0, 1)]}, r"edge names 0 and 1, but .* are text"),
    "unknown root": ({"roots": ["q"]}, r"roots names 'q', .*not a column"),
    "unknown in tiers": ({"tiers": [["a"], ["q"]]}, r"a tier names 'q', .*not a column"),
    "edge to itself": ({"forbidden": [("c", "c")]}, r"forbidden edge 'c' -> 'c' joins a node to"),
    "required edge to itself": ({"required": [("c", "c")]}, r"required edge 'c' -> 'c' joins"),
    "an edge of three": (
        {"required": [("a", "b", "c")]},
        r"required edges must be pairs \(parent, ch",
    ),
    "an edge as text": ({"forbidden": ["ab"]}, r"forbidden edges must be pairs .*not 'ab'"),
    "one edge, not a list": ({"forbidden": ("a", "b")}, r"forbidden edges must be pairs .*not 'a'"),
    "two tiers": ({"tiers": [["a"], ["b", "a"]]}, r"'a' is in two tiers"),
    "flat tiers": ({"tiers": ["a", "b"]}, r"tiers must be a list of lists"),
    "probability 0 for all": ({"edge_prior": 0.0}, r"between 0 and 1, not 0.0"),
    "probability 1 for all": ({"edge_prior": 1}, r"between 0 and 1, not 1"),
    "negative probability": ({"edge_prior": -0.5}, r"between 0 and 1, not -0.5"),
    "probability as text": ({"edge_prior": "half"}, r"between 0 and 1, not 'half'"),
    "probability nan": ({"edge_prior": np.nan}, r"between 0 and 1, not nan"),
    "table too small": ({"edge_prior": np.full((4, 4), 0.5)}, r"shape \(4, 4\), .*5 variables"),
    "table of one dimension": ({"edge_prior": [0.5] * 5}, r"shape \(5,\): give a row"),
    "table entry above 1": (
        {"edge_prior": np.full((5, 5), 1.5)},
        r"from 0 to 1, not 0 -> 1 \(1.5\)",
    ),
    "table entry missing": ({"edge_prior": np.full((5, 5), np.nan)}, r"probability from 0 to 1"),
    "table with other rows": (
        {"edge_prior": pd.DataFrame(0.5, index=list("abcdf"), columns=list("abcde"))},
        r"rows and columns must be the columns of the data: it has 'f'; it lacks 'e'\.",
    ),
    "table with a row twice": (
        {"edge_prior": pd.DataFrame(0.5, index=list("abcdea"), columns=list("abcde"))},
        r"must be the columns of the data: it repeats 'a'",
    ),
    "unknown prior": ({"structure_prior": "flat"}, r"unknown structure prior 'flat': .*fair, u"),
}


@pytest.mark.parametrize(("options", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes_are_refused_in_words(options: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        build_prior(NAMES, **options)
    assert str(caught.value).count("\n") == 0
    assert caught.value.__cause__ is None


def test_forbidding_what_is_forbidden_already_is_no_contradiction() -> None:
    prior = build_prior(
        NAMES,
        forbidden=[("b", "a")],
        tiers=[["a"], ["b"]],
        roots=["a"],
        edge_prior=np.where(np.eye(5, k=-1) > 0, 0.0, 0.5),
    )
    assert prior.log_weight(0, (1,)) == -inf
    assert prior.log_weight(1, (0,)) == 0.0
