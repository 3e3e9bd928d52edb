"""Knowledge as a value: its normal form, its union, and every contradiction by name."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.scores import resolve_knowledge

NAMES = ("a", "b", "c", "d")

FULL = op.Knowledge(
    required=[("a", "b"), "c -> d"],
    forbidden=[("d", "a")],
    tiers=[["a", "c"], ["b", "d"]],
    roots=["a"],
    edge_prior={"others": 0.1, "edges": [("a", "d", 0.7), ("b -> d", 0.0)]},
)


def table(**entries: float) -> pd.DataFrame:
    """Probability 0.2 for every edge except those named by two letters, parent first."""
    frame = pd.DataFrame(0.2, index=list(NAMES), columns=list(NAMES))
    for (parent, child), probability in entries.items():
        frame.loc[parent, child] = probability
    return frame


# The value


def test_what_says_the_same_is_equal() -> None:
    again = op.Knowledge(
        required=("c->d", ["a", "b"], ("a", "b")),
        forbidden={("d", "a")},
        tiers=[[], ("c", "a"), {"d", "b"}],
        roots=iter("a"),
        edge_prior={"edges": [("b", "d", 0), ("a", "d", 0.7), ("c", "a", 0.1)], "others": 0.1},
    )
    assert again == FULL
    assert hash(again) == hash(FULL)
    assert FULL.required == (("a", "b"), ("c", "d"))
    assert FULL.tiers == (("a", "c"), ("b", "d"))


@pytest.mark.parametrize(
    "change",
    [
        {"required": [("a", "b")]},
        {"forbidden": []},
        {"tiers": [["b", "d"], ["a", "c"]], "required": []},
        {"tiers": None},
        {"roots": []},
        {"edge_prior": 0.1},
        {"edge_prior": {"others": 0.2, "edges": [("a", "d", 0.7), ("b", "d", 0)]}},
        {"edge_prior": {"others": 0.1, "edges": [("a", "d", 0.6), ("b", "d", 0)]}},
    ],
)
def test_what_says_something_else_is_not(change: dict) -> None:
    assert op.Knowledge(**{**FULL.as_dict(), **change}) != FULL


def test_it_is_frozen_and_tells_how_it_is_made() -> None:
    with pytest.raises(FrozenInstanceError):
        FULL.roots = ("b",)  # type: ignore[misc]
    assert eval(repr(FULL), {"Knowledge": op.Knowledge}) == FULL
    assert repr(op.Knowledge()) == "Knowledge()"
    assert repr(op.Knowledge(edge_prior=0.5)) == "Knowledge(edge_prior=0.5)"
    assert not op.Knowledge()
    assert op.Knowledge(edge_prior=0.5)


@pytest.mark.parametrize(
    "knowledge",
    [
        FULL,
        op.Knowledge(),
        op.Knowledge(edge_prior=0.3),
        op.Knowledge(edge_prior=table(ab=0.5, cd=1.0)),
        op.Knowledge(edge_prior=table(ab=0.5, cd=1.0).to_numpy()),
    ],
)
def test_json_holds_it(knowledge: op.Knowledge) -> None:
    again = op.Knowledge.from_dict(json.loads(json.dumps(knowledge.as_dict())))
    assert again == knowledge
    assert again.bind(NAMES) == knowledge.bind(NAMES)


def test_unknown_items_are_all_named() -> None:
    with pytest.raises(op.OptionError, match="no 'forbiden' and 'tier': it consists of required,"):
        op.Knowledge.from_dict({"forbiden": [], "required": [], "tier": []})


# The edge prior


def test_tables_bind_by_name_and_arrays_by_position() -> None:
    listed = op.Knowledge(edge_prior={"others": 0.2, "edges": [("a", "b", 0.5), ("c", "d", 1)]})
    frame = table(ab=0.5, cd=1.0)
    for form in (frame, frame.loc[list("dbca"), list("cabd")], frame.to_numpy(), frame.to_dict()):
        if isinstance(form, dict):
            form = [[form[child][parent] for child in NAMES] for parent in NAMES]
        assert op.Knowledge(edge_prior=form).bind(NAMES) == listed
    with pytest.raises(op.OptionError, match="it lacks 'e'"):
        op.Knowledge(edge_prior=frame).bind((*NAMES, "e"))
    with pytest.raises(op.OptionError, match=r"shape \(4, 4\), but there are 5 variables"):
        op.Knowledge(edge_prior=frame.to_numpy()).bind((*NAMES, "e"))


def test_positions_are_not_names() -> None:
    """A variable called 0 has nothing to do with the first row of a table."""
    cycle = np.full((2, 2), 0.5)
    cycle[0, 1] = 1.0
    known = op.Knowledge(required=[("1", "0")], edge_prior=cycle)
    assert known.bind(("1", "0")).required_edges() == [("1", "0"), ("1", "0")]
    with pytest.raises(op.OptionError, match="cycle"):
        known.bind(("0", "1"))


PRIORS = {
    "text": ({"edge_prior": "prior.csv"}, "probability between 0 and 1, not 'prior.csv'"),
    "others": ({"edge_prior": {"others": 1.0}}, "between 0 and 1, not 1.0"),
    "key": ({"edge_prior": {"rest": 0.1, "x": 1}}, "the edge prior has no 'rest' and 'x'"),
    "pairs": ({"edge_prior": {"edges": [("a", "b")]}}, "edge prior edges must be pairs"),
    "loop": ({"edge_prior": {"edges": [("a", "a", 0.1)]}}, "a -> a joins a node to itself"),
    "range": (
        {"edge_prior": {"edges": [("a", "b", 1.5), ("b", "c", "x"), ("c", "d", 0.5)]}},
        r"from 0 to 1, not a -> b \(1.5\) and b -> c \('x'\)\.",
    ),
    "twice": (
        {"edge_prior": {"edges": [("a", "b", 0.5), ("a", "b", 0.6)]}},
        "two probabilities to a -> b",
    ),
    "ragged": ({"edge_prior": [[0.1, 0.2], [0.3]]}, "must be a table of probabilities"),
}


@pytest.mark.parametrize(("items", "message"), PRIORS.values(), ids=list(PRIORS))
def test_wrong_edge_priors(items: dict, message: str) -> None:
    with pytest.raises(op.OptionError, match=message):
        op.Knowledge(**items)


# Contradictions: all that is wrong is named

CONTRADICTIONS = {
    "several edges": (
        {"required": ["a -> b", "c -> d", "b -> d"], "forbidden": ["c -> d", "a -> b"]},
        "^the edges a -> b and c -> d are both required and forbidden.$",
    ),
    "several reasons": (
        {"required": ["a -> b", "c -> d"], "tiers": [["b"], ["a"]], "roots": ["d"]},
        "^the edge a -> b is required but against the tiers; "
        "the edge c -> d is required but into a root.$",
    ),
    "certain": (
        {"edge_prior": {"edges": [("a", "b", 1), ("c", "d", 1)]}, "roots": ["d", "b"]},
        "^the edges a -> b and c -> d are given probability 1 but excluded.$",
    ),
    "certain against tiers": (
        {"edge_prior": table(ab=1.0), "tiers": [["b"], ["a"]]},
        "the edge a -> b is given probability 1 but excluded",
    ),
    "impossible": (
        {"edge_prior": table(ab=0.0), "required": ["a -> b"]},
        "the edge a -> b is required but given probability 0",
    ),
    "cycle": (
        {"required": ["a -> b", "b -> c"], "edge_prior": {"edges": [("c", "a", 1)]}},
        "contradict each other: .*cycle: .*b -> c -> a",
    ),
    "loops": (
        {"forbidden": [("a", "a"), ("b", "c"), ("d", "d")]},
        "forbidden edges 'a' -> 'a' and 'd' -> 'd' join nodes to themselves",
    ),
    "tiers": ({"tiers": [["a", "b"], ["c", "b"], ["a"]]}, "'a' and 'b' are in two tiers"),
    "ambiguous": ({"required": ["a -> b -> c"]}, "more than one edge: write it as a pair"),
    "no arrow": ({"required": ["a b"]}, "required edges must be pairs .*not 'a b'"),
    "no child": ({"forbidden": ["a -> "]}, "forbidden edges must be pairs .*not 'a -> '"),
    "numbers": ({"roots": ["a", 1, None]}, "roots names 1 and None, but the names .* are text"),
    "a table of tiers": ({"tiers": {"a": 1}}, "tiers must be a list of lists"),
}


@pytest.mark.parametrize(("items", "message"), CONTRADICTIONS.values(), ids=list(CONTRADICTIONS))
def test_contradictions(items: dict, message: str) -> None:
    with pytest.raises(op.OptionError, match=message):
        op.Knowledge(**items)


def test_all_unknown_names_are_told() -> None:
    known = op.Knowledge(
        required=["a -> x", "y -> b"],
        forbidden=["z -> a"],
        tiers=[["a", "u"]],
        roots=["v", "w"],
        edge_prior={"edges": [("a", "q", 0.3)]},
    )
    message = (
        "a required edge names 'x' and 'y'; a forbidden edge names 'z'; a tier names 'u'; the list "
        "of roots names 'v' and 'w'; the edge prior names 'q', which are not columns of the data."
    )
    with pytest.raises(op.OptionError) as caught:
        known.bind(NAMES)
    assert str(caught.value) == message
    assert known.bind([*NAMES, *"xyzuvwq"]) == known


# Union


def test_union() -> None:
    assert op.Knowledge() | FULL == FULL == FULL | op.Knowledge()
    assert FULL | FULL == FULL
    other = op.Knowledge(required=["a -> d"], forbidden=["b -> c"], roots=["c"])
    both = FULL | other
    assert set(both.required) == {*FULL.required, ("a", "d")}
    assert set(both.forbidden) == {*FULL.forbidden, ("b", "c")}
    assert both.roots == ("a", "c")
    assert (both.tiers, both.edge_prior) == (FULL.tiers, FULL.edge_prior)
    assert both == other | FULL


def test_union_of_edge_priors() -> None:
    some = op.Knowledge(edge_prior={"edges": [("a", "b", 0.7)]})
    more = op.Knowledge(edge_prior={"edges": [("b", "c", 0.4), ("a", "b", 0.7)]})
    number = op.Knowledge(edge_prior=0.1)
    expected = {"others": 0.1, "edges": [["a", "b", 0.7], ["b", "c", 0.4]]}
    assert (some | number | more).as_dict() == {"edge_prior": expected}
    with pytest.raises(op.OptionError, match="two different edge priors"):
        number | op.Knowledge(edge_prior=0.2)
    with pytest.raises(op.OptionError, match="two different edge priors"):
        number | op.Knowledge(edge_prior=table())
    with pytest.raises(op.OptionError, match="two probabilities to a -> b"):
        some | op.Knowledge(edge_prior={"edges": [("a", "b", 0.6)]})


def test_union_of_tiers_excludes_what_either_excludes() -> None:
    first = op.Knowledge(tiers=[["a"], ["b", "c"]])
    second = op.Knowledge(tiers=[["a", "b"], ["d"]])
    alone = [set(one.excluded_edges(NAMES)) for one in (first, second)]
    assert set((first | second).excluded_edges(NAMES)) == alone[0] | alone[1]
    assert len(alone[0] | alone[1]) == 4
    with pytest.raises(op.OptionError, match="tiers are given, with 'a' and 'b' in opposite ord"):
        first | op.Knowledge(tiers=[["b"], ["a", "c"]])


def test_union_finds_contradictions() -> None:
    with pytest.raises(op.OptionError, match="a -> b is both required and forbidden"):
        op.Knowledge(required=["a -> b"]) | op.Knowledge(forbidden=["a -> b"])
    with pytest.raises(op.OptionError, match="cycle"):
        op.Knowledge(required=["a -> b"]) | op.Knowledge(required=["b -> a"])


def test_resolve() -> None:
    assert resolve_knowledge(None) == op.Knowledge()
    assert resolve_knowledge(FULL, roots=["c"]).roots == ("a", "c")
    with pytest.raises(op.OptionError, match=r"an outpoint\.Knowledge or the path of a file"):
        resolve_knowledge({"roots": ["a"]})  # type: ignore[arg-type]
