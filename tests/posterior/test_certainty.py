"""What a posterior settles, counted and in words."""

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior.admissible import Certainty, describe_best, judge_certainty


def learned(n_obs: int) -> op.Posterior:
    """A collider with a variable beside it; directions are in the data if there are enough rows."""
    rng = np.random.default_rng(5)
    a, b, d = rng.normal(size=(3, n_obs))
    c = a + b + 0.5 * rng.normal(size=n_obs)
    return op.learn(op.Dataset(tuple("abcd"), np.column_stack([a, b, c, d])), seed=1)


def test_many_rows_settle_the_graph() -> None:
    found = judge_certainty(learned(3000))
    assert found == Certainty(connected=2, directed=2, apart=4, undecided=0)
    assert found.headline == "The data settle which variables are connected"


def test_few_rows_settle_little_however_exact_the_sum_is() -> None:
    few = learned(6)
    assert few.verdict.startswith("exact")
    found = judge_certainty(few)
    assert found.undecided >= 4
    assert found.headline != "The data settle which variables are connected"
    assert "look at the probabilities of edges" in describe_best(few)


@pytest.mark.parametrize("n_obs", [6, 30, 3000])
def test_every_pair_is_counted_once(n_obs: int) -> None:
    posterior = learned(n_obs)
    found = judge_certainty(posterior)
    assert found.connected + found.apart + found.undecided == 6
    edges = posterior.edge_probabilities
    both = [edges.loc[a, b] + edges.loc[b, a] for a, b in ("ab", "ac", "ad", "bc", "bd", "cd")]
    assert found.connected == sum(value >= 0.95 for value in both)
    assert found.undecided == sum(0.05 < value < 0.95 for value in both)
    assert found.directed == int((edges.to_numpy() >= 0.95).sum())


WORDS = {
    Certainty(3, 1, 5, 0): "The data settle which variables are connected",
    Certainty(0, 0, 5, 2): "The data settle no connection",
    Certainty(2, 1, 5, 3): "The data leave more connections open than they settle",
    Certainty(3, 1, 5, 3): "The data settle most of the connections",
}


@pytest.mark.parametrize(("found", "headline"), WORDS.items(), ids=list(WORDS.values()))
def test_the_headline_follows_the_numbers(found: Certainty, headline: str) -> None:
    assert found.headline == headline


def test_the_counts_in_words() -> None:
    assert Certainty(1, 0, 5, 2).counts == (
        "1 pair of variables connected (probability 0.95 or more; 0 with a direction), "
        "2 undecided, 5 not connected"
    )
    assert Certainty(2, 1, 5, 2).counts.startswith("2 pairs of variables")
