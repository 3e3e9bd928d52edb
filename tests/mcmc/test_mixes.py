"""The mixes of moves: the paper's proportions, and what users may ask for."""

import numpy as np
import pytest

import outpoint as op
from outpoint.mcmc import mixes
from outpoint.mcmc.moves import MOVES


def shares(cumulative: np.ndarray) -> dict[str, float]:
    return dict(zip(MOVES, np.diff(cumulative, prepend=0.0).tolist(), strict=True))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 14, 20, 37, 100])
def test_proportions_of_the_paper(n):
    large = mixes.larger_move_share(n)
    assert 0 < large < 1
    if n >= 4:
        assert large == 6 * n / (n**2 + 10 * n - 24)
    mix = mixes.paper_partition_mix(n)
    assert sum(mix.values()) == pytest.approx(1, abs=1e-15)
    partition, permutation = (
        mix["split_join"] + mix["node_move"],
        mix["swap_any"] + mix["swap_adjacent"],
    )
    assert partition / permutation == pytest.approx(3 / 2)
    assert mix["node_move"] / partition == pytest.approx(large)
    assert mix["swap_any"] / permutation == pytest.approx(large)
    order = mixes.paper_order_mix(n)
    assert set(order) == {"swap_any", "swap_adjacent"}
    assert order["swap_any"] == large
    assert sum(order.values()) == 1


def test_share_at_known_sizes():
    assert mixes.larger_move_share(4) == 0.75
    assert mixes.larger_move_share(14) == pytest.approx(84 / 312)
    assert mixes.larger_move_share(20) == pytest.approx(120 / 576)


@pytest.mark.parametrize("still", [0.0, 0.01])
@pytest.mark.parametrize("rev", [0.0, 0.07])
@pytest.mark.parametrize("n", [2, 5, 14, 40])
def test_probabilities_sum_to_one(n, rev, still):
    cumulative = mixes.cumulative(mixes.paper_partition_mix(n), still=still, rev=rev)
    assert cumulative[-1] == 1.0  # exactly: a uniform number below 1 always finds a move
    assert (np.diff(cumulative) >= 0).all()
    share = shares(cumulative)
    assert share["rev"] == pytest.approx(rev, abs=1e-15)
    assert share["still"] == pytest.approx(still * (1 - rev), abs=1e-15)
    moving = (1 - rev) * (1 - still)
    for name, weight in mixes.paper_partition_mix(n).items():
        assert share[name] == pytest.approx(moving * weight, abs=1e-15)
    assert share["edge"] == pytest.approx(0, abs=1e-15)
    assert share["node_gibbs"] == pytest.approx(0, abs=1e-15)


def test_constants_of_the_paper():
    assert mixes.STILL_SHARE == 0.01
    assert mixes.REV_SHARE == 0.07


def test_weights_are_relative_and_zero_is_never_picked():
    mix = mixes.user_mix({"node_gibbs": 2, "rev": np.float64(1), "swap_any": 0})
    share = shares(mixes.cumulative(mix))
    assert share["node_gibbs"] == pytest.approx(2 / 3)
    assert share["rev"] == pytest.approx(1 / 3)
    assert share["swap_any"] == 0
    assert share["still"] == 0


BAD = {
    "unknown": ({"teleport": 1.0}, "unknown move 'teleport'"),
    "still": ({"still": 1.0, "node_gibbs": 1.0}, "unknown move 'still'"),
    "edge": ({"edge": 1.0}, "unknown move 'edge'"),
    "negative": ({"node_gibbs": 1.0, "rev": -0.1}, "must not be negative"),
    "infinite": ({"node_gibbs": np.inf}, "infinite"),
    "nan": ({"node_gibbs": np.nan}, "negative or infinite"),
    "text": ({"node_gibbs": "1"}, "must be a number"),
    "truth": ({"node_gibbs": True}, "must be a number"),
    "swaps only": ({"swap_any": 1.0, "swap_adjacent": 1.0}, "cannot get everywhere"),
    "rev only": ({"rev": 1.0}, "cannot get everywhere"),
    "swaps and rev": ({"swap_any": 1.0, "rev": 1.0}, "cannot get everywhere"),
    "zero": ({"node_gibbs": 0.0, "rev": 1.0}, "cannot get everywhere"),
    "nothing": ({}, "cannot get everywhere"),
    "list": (["node_gibbs"], "dict of weights"),
    "name": ("ours", "dict of weights"),
}


@pytest.mark.parametrize(("moves", "fragment"), BAD.values(), ids=BAD.keys())
def test_refusals(moves, fragment):
    with pytest.raises(op.OptionError) as caught:
        mixes.user_mix(moves)
    assert fragment in str(caught.value)


def test_huge_weights_are_relative_too():
    with np.errstate(invalid="ignore"):
        mix = mixes.user_mix({"node_gibbs": 1e308, "split_join": 1e308})
        cumulative = mixes.cumulative(mix)
    assert shares(cumulative)["node_gibbs"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("mean_length", "redrawn"), [(0, 1), (128, 1), (640, 1), (6400, 0.1), (64_000, 0.01)]
)
def test_long_lists_of_outside_sets_are_gone_through_less_often(mean_length, redrawn):
    """Never not at all: without redraws some states could not be reached."""
    assert mixes.hot_redraws(mean_length) == pytest.approx(redrawn)
