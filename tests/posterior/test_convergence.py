"""The verdict on constructed runs: what must never be called converged, and what must be."""

import numpy as np
import pytest

from outpoint.errors import OptionError
from outpoint.mcmc import SAMPLERS
from outpoint.posterior.convergence import (
    LEAST_MODE,
    LEAST_PER_CHAIN,
    LEAST_ROUND_TRIPS,
    MISS_PROBABILITY,
    Crossing,
    assess,
    group_chains,
)
from outpoint.posterior.diagnostics import diagnose
from tests.grids import first

NAMES = [f"x{i} -> y" for i in range(30)]


def run(seed=0, n_chains=4, n_batches=256, n_edges=30):
    """Chains that have converged: batch means around each edge's probability."""
    rng = np.random.default_rng(seed)
    p = rng.random(n_edges)
    series = rng.beta(0.3 + 8 * p, 8.3 - 8 * p, size=(n_chains, n_batches, n_edges))
    return series, rng.normal(-100, 2, (n_chains, 500)), rng.poisson(12, (n_chains, 500))


def judge(series, log_scores, n_edges, **options):
    return assess(series, NAMES[: series.shape[2]], log_scores, n_edges, **options)


def crossed(*round_trips, gap=0.0, error=0.0):
    """Ladders that were crossed so often, in all or by chain."""
    if len(round_trips) == 1:
        round_trips = (round_trips[0] // 4,) * 4
    return Crossing(tuple(round_trips), gap, error)


def test_converged():
    found = judge(*run())
    assert found.converged
    assert found.verdict.startswith(
        "converged: the 4 chains agree on every edge (largest difference 0.03"
    )
    assert f"R-hat at most {found.worst_rhat:.2f}" in found.verdict
    assert f"at least {found.smallest_ess:.0f} effective draws)," in found.verdict
    assert found.verdict.endswith("judged by their agreement alone as this sampler has no ladder.")
    assert found.crossing is None
    assert found.groups == ((0, 1, 2, 3),)
    assert found.n_disagreeing == 0
    assert found.largest_difference == pytest.approx(np.ptp(run()[0].mean(axis=1), axis=0).max())


def off(chains, edges, seed=0):
    """A run in which some chains sit in another mode on some edges."""
    series, log_scores, n_edges = run(seed)
    series[:, :, :6] *= 0.2
    for chain in chains:
        series[chain][:, edges] += 0.8
    return series, log_scores, n_edges


def test_two_chains_in_one_mode_and_two_in_the_other():
    found = judge(*off([1, 3], [0, 1, 2, 3]))
    assert not found.converged
    assert found.groups == ((0, 2), (1, 3))
    assert found.n_disagreeing == 4
    assert "chains 0 and 2 disagree with chains 1 and 3 on 4 edges (" in found.verdict
    assert found.verdict.count("against") == 3
    assert found.verdict.endswith("run longer (more steps or time) or use method 'mcmc'.")
    ours = judge(*off([1, 3], [0, 1, 2, 3]), crossing=crossed(100))
    assert ours.verdict.endswith("run longer (more steps or time).")


def test_one_of_four_chains_is_named():
    series, *rest = off([2], [0, 1])
    found = judge(series, *rest)
    assert not found.converged
    assert found.groups == ((0, 1, 3), (2,))
    assert "chain 2 disagrees with chains 0, 1 and 3 on 2 edges (" in found.verdict
    inside, outside = series[2, :, 0].mean(), series[[0, 1, 3], :, 0].mean()
    assert f"x0 -> y: {inside:.2f} against {outside:.2f}" in found.verdict


def test_one_edge_is_enough():
    found = judge(*off([0], [5]))
    assert not found.converged
    assert "chain 0 disagrees with chains 1, 2 and 3 on 1 edge (x5 -> y: " in found.verdict
    assert found.worst_rhat_of == "x5 -> y"


def test_every_chain_in_a_mode_of_its_own():
    series, *rest = run()
    for chain in range(4):
        series[chain, :, chain] = 1.0
    found = judge(series * 0.9, *rest)
    assert found.groups == ((0,), (1,), (2,), (3,))
    assert "all 4 chains disagree with each other on" in found.verdict


def test_three_groups():
    series, *rest = run()
    series[:, :, 0] = [[0.0], [0.5], [0.5], [1.0]]
    found = judge(series, *rest)
    assert found.groups == ((1, 2), (0,), (3,))
    assert "3 groups (1 and 2; 0; 3) that disagree on 1 edge (x0 -> y: from 0.00 to 1.00)" in (
        found.verdict
    )


def test_groups_are_not_joined_through_a_chain_in_between():
    means = np.array([[0.0], [0.08], [0.16], [0.5]])
    assert group_chains(means, 0.1) == ((0, 1), (2,), (3,))


@pytest.mark.parametrize("apart", [0.04, 0.9])
def test_constant_but_different_chains(apart):
    """Also where they differ by less than what would count as a disagreement."""
    series, *rest = run()
    series[:, :, 3] = 0.05
    series[1, :, 3] += apart
    found = judge(series, *rest)
    assert not found.converged
    assert found.worst_rhat == np.inf
    assert "x3 -> y" in found.verdict


@pytest.mark.parametrize("frozen", [[0, 1, 2, 3], [2], [1, 3]])
def test_frozen_chains(frozen):
    same = np.zeros((4, 50, 2))
    found = judge(same, np.full((4, 50), -7.0), np.zeros((4, 50)), frozen_chains=frozen)
    assert not found.converged
    who = {
        4: "no chain ever left the DAG it",
        1: "chain 2 never left the DAG it",
        2: "chains 1 and 3 never left the DAG they",
    }[len(frozen)]
    assert f"not converged: {who} started from" in found.verdict
    assert found.frozen_chains == tuple(frozen)


def test_a_posterior_on_a_single_dag_can_converge():
    """Nothing varies, yet every chain moved and came to the same place."""
    found = judge(np.ones((4, 50, 2)), np.full((4, 50), -7.0), np.full((4, 50), 2))
    assert found.converged
    assert found.worst_rhat is None
    assert found.smallest_ess is None
    assert "nothing varied" in found.verdict


@pytest.mark.parametrize("left", [5, 8, 12, 16, 24, 40, 48, 50, 52, 100])
def test_all_chains_in_one_place_until_one_jumps_late(left):
    rng = np.random.default_rng(left)
    series = np.clip(0.02 * rng.random((4, 512, 4)), 0, 1)
    series[3, -left:, 1] = 1 - series[3, -left:, 1]
    found = judge(series, *run()[1:])
    assert not found.converged
    assert "x1 -> y" in found.verdict


def test_the_late_chain_is_named():
    series = np.zeros((4, 512, 4))
    series[3, -10:, 1] = 1
    assert "chain 3 reached DAGs at the very end" in judge(series, *run()[1:]).verdict


def test_a_single_chain_is_never_converged():
    found = judge(*run(n_chains=1))
    assert not found.converged
    assert found.verdict == (
        "unknown: a single chain cannot show whether it has converged; run several chains."
    )
    assert found.largest_difference is None
    drifting, *rest = run(n_chains=1)
    drifting[0, 128:, 2] = 0.99
    assert "Its halves already differ" in judge(drifting, *rest).verdict


def test_a_biased_method_is_never_converged():
    found = judge(*run(), bias=SAMPLERS["order"].bias)
    assert not found.converged
    assert found.verdict.startswith("biased, although the 4 chains agree")
    assert found.verdict.endswith("use method 'mcmc' for the posterior.")
    worse = judge(*off([2], [0]), bias=SAMPLERS["order"].bias)
    assert worse.verdict.startswith("not converged: chain 2")
    assert "biased" in worse.verdict


def test_log_scores_that_differ_name_the_low_chain():
    series, log_scores, n_edges = run()
    log_scores[1] -= 30
    found = judge(series, log_scores, n_edges)
    assert not found.converged
    assert found.worst_rhat_of == "the log score"
    assert "log scores of chain 1 lie 30." in found.verdict


def test_edge_counts_that_differ():
    series, log_scores, n_edges = run()
    n_edges[2] += 9
    found = judge(series, log_scores, n_edges)
    assert not found.converged
    assert "for the number of edges" in found.verdict


def test_sticky_chains():
    rng = np.random.default_rng(1)
    state = rng.random((4, 256, 30))
    for t in range(1, 256):  # a state changes every 40 batches
        state[:, t] = np.where(rng.random((4, 30)) < 1 / 40, state[:, t], state[:, t - 1])
    found = judge(state * 0.1, *run()[1:])
    assert not found.converged
    assert found.n_disagreeing == 0
    assert "R-hat" in found.verdict


def test_few_effective_draws():
    rng = np.random.default_rng(2)
    series = 0.2 * rng.random((4, 20, 3))
    log_scores = rng.normal(size=(4, 20))
    found = judge(series, log_scores, rng.poisson(5, (4, 20)))
    assert not found.converged
    assert found.smallest_ess < 100 or found.worst_rhat > 1.05


def test_differences_that_chance_explains_are_not_called_a_disagreement():
    """80 coin flips per chain and edge: some means differ by more than 0.1.

    With 250 flips, 1,000 effective draws in all, that is known to be chance.
    """
    rng = np.random.default_rng(3)
    coins = (rng.random((4, 250, 30)) < 0.5).astype(float)
    found = judge(coins[:, :80, :2], *run()[1:])
    assert not found.converged
    assert "too short" in found.verdict
    assert "may be chance" in found.verdict
    longer = judge(coins[:, :, :8], *run()[1:])
    assert longer.largest_difference > 0.1
    assert longer.converged, longer.verdict
    assert longer.groups == ((0, 1, 2, 3),)
    assert longer.n_disagreeing == 0
    assert set(longer.edges.status) <= {"ok", "precise"}


def coins_apart(more: int) -> np.ndarray:
    """Four chains of 68 flips; the first has so many more heads than tails than the others."""
    rng = np.random.default_rng(1)
    halves = (np.arange(34)[:, None] < [17 + more / 2, 17, 17, 17]).astype(float)
    parts = [rng.permuted(halves, axis=0).T[:, :, None] for _ in range(2)]
    return np.concatenate(parts, axis=1)


def test_agreement_that_may_be_luck_is_not_enough():
    """With so few effective draws means that lie .09 apart might as well lie .13 apart."""
    closer = judge(coins_apart(4), *run()[1:])
    assert closer.converged, closer.verdict
    assert 0.05 < closer.largest_difference < 0.07
    found = judge(coins_apart(6), *run()[1:])
    assert 0.07 < found.largest_difference < 0.1
    assert 100 < found.smallest_ess < 300
    assert not found.converged
    assert found.verdict.startswith("not converged: the chains are too short")
    assert found.n_disagreeing == 1
    assert found.groups == ((0, 1, 2, 3),)
    longer = np.concatenate([coins_apart(6)] * 2, axis=1)
    assert judge(longer, *run()[1:]).converged, "the same difference of twice as many draws"


@pytest.mark.parametrize("apart", [0.11, 0.13, 0.15, 0.19, 0.3])
def test_chance_explains_no_difference_that_stays(apart):
    """Chains that stay so far apart, of 2,000 independent draws each, which R-hat hardly sees."""
    rng = np.random.default_rng(5)
    level = 0.5 + apart * np.array([-0.5, -0.5, 0.5, 0.5])[:, None, None]
    coins = (rng.random((4, 2000, 3)) < level).astype(float)
    found = judge(coins, *run()[1:])
    assert not found.converged
    assert found.n_disagreeing >= 1
    assert len(found.groups) > 1
    if apart == 0.11:
        assert found.smallest_ess >= 400, "only the errors of the means tell"
        assert found.worst_rhat <= 1.05


def test_short_runs():
    series, log_scores, n_edges = run(n_batches=3)
    found = judge(series * 0.05, log_scores[:, :3], n_edges[:, :3])
    assert not found.converged
    assert "3 batches are too few" in found.verdict


def test_rare_edges_do_not_spoil_the_verdict():
    """Tiny probabilities, at another level in each chain, fluctuating by orders of magnitude."""
    rng = np.random.default_rng(4)
    series, *rest = run()
    level = 10.0 ** -np.array([9, 10, 11, 12])[:, None, None]
    series[:, :, 10:] = level * 10 ** rng.normal(size=(4, 256, 20))
    found = judge(series, *rest)
    assert found.converged
    assert (found.edges.status[10:] == "negligible").all()


@pytest.mark.parametrize("levels", [(3e-4, 6e-4), (2e-4, 1.2e-3), (5e-4, 4e-3), (0.9998, 0.997)])
def test_levels_that_nobody_can_tell_apart_are_no_disagreement(levels):
    """Every chain stays at a value of its own, but all of them round to the same."""
    rng = np.random.default_rng(7)
    series, *rest = run()
    for edge in range(10):
        level = np.where(rng.permutation(4) < 2, *levels)
        series[:, :, edge] = level[:, None] + 1e-4 * rng.random((4, 256))
    found = judge(series, *rest)
    assert found.converged, found.verdict
    assert "against" not in found.verdict
    assert found.worst_rhat < 1.05
    assert set(found.edges.status[:10]) <= {"negligible", "precise"}


def test_levels_that_differ_by_more_than_the_precision_are_a_disagreement():
    series, *rest = run()
    series[:, :, 0] = np.array([[0.001], [0.001], [0.012], [0.001]])
    found = judge(series, *rest, crossing=crossed(100))
    assert not found.converged
    assert found.verdict == (
        "not converged: every chain stays at a value of its own for 1 edge "
        "(x0 -> y: 0.001 against 0.012); run longer (more steps or time)."
    )


# Whether agreement means something


def test_the_number_of_round_trips():
    """So many new starts miss a tenth of the posterior once in twenty times, at most."""
    assert (LEAST_ROUND_TRIPS, LEAST_PER_CHAIN) == (29, 3)
    assert (LEAST_MODE, MISS_PROBABILITY) == (0.1, 0.05)
    assert 0.9**29 <= 0.05 < 0.9**28


@pytest.mark.parametrize("trips", [(8, 7, 7, 7), (3, 3, 3, 20), (500, 3, 40, 1000)])
def test_enough_round_trips(trips):
    found = judge(*run(), crossing=crossed(*trips))
    assert found.converged
    assert found.verdict.startswith("converged: the 4 chains agree on every edge")
    assert found.verdict.endswith(f") after {sum(trips)} round trips of tempered replicas.")
    assert found.crossing == crossed(*trips)
    together = judge(*run(), crossing=crossed(*trips), begin_apart=False)
    assert together.converged, "each trip is a new start"
    assert together.verdict == found.verdict


@pytest.mark.parametrize("trips", [(7, 7, 7, 7), (1000, 2, 900, 900), (1, 1, 1, 1)])
def test_too_few_round_trips(trips):
    found = judge(*run(), crossing=crossed(*trips))
    assert not found.converged
    assert found.verdict == (
        "not converged: the chains agree, but their replicas made only "
        f"{sum(trips)} round trips on their ladders ({min(trips)} in the chain with the fewest); "
        "29 in all and 3 in each are needed to tell that no mode is missing; "
        "run longer (more steps or time)."
    )


@pytest.mark.parametrize(
    ("trips", "who"),
    [((90, 0, 90, 90), "chain 1"), ((0, 90, 0, 0), "chains 0, 2 and 3"), ((0,), "chains 0, 1, 2")],
)
def test_chains_without_a_round_trip_are_named(trips, who):
    found = judge(*run(), crossing=crossed(*trips))
    assert not found.converged
    assert f"not converged: the chains agree, but the replicas of {who}" in found.verdict
    assert "never crossed the ladder and back, so that all may sit in the same mode; run" in (
        found.verdict
    )


@pytest.mark.parametrize(
    ("gap", "error", "agree"),
    [
        (0.0, 0.0, True),
        (0.5, 0.0, True),
        (0.51, 0.0, False),
        (12.3, 0.0, False),
        (0.9, 0.1, False),
        (0.9, 0.2, True),
        (1.1, 0.5, False),
    ],
)
def test_hottest_replicas_must_agree(gap, error, agree):
    """If they do not, ladders begin at different places and their trips are no new starts.

    A difference that may be chance counts only if it is large.
    """
    found = judge(*run(), crossing=crossed(1000, gap=gap, error=error))
    assert found.converged == agree
    if not agree:
        assert found.verdict == (
            "not converged: the chains agree, but their hottest replicas do not "
            f"({gap:.1f} standard deviations apart), so that ladders begin at different places; "
            "run longer (more steps or time)."
        )


def test_hottest_replicas_that_disagree_are_told_before_missing_round_trips():
    verdict = judge(*run(), crossing=crossed(0, gap=3.0)).verdict
    assert "3.0 standard deviations apart" in verdict
    assert "never crossed" not in verdict


def test_a_common_start_without_a_ladder_shows_nothing():
    found = judge(*run(), begin_apart=False)
    assert not found.converged
    assert found.verdict.startswith("unknown: the 4 chains agree on every edge (largest")
    assert "but all of them began at the same DAG" in found.verdict
    assert found.verdict.endswith("(no start option), or use method 'mcmc'.")
    biased = judge(*run(), begin_apart=False, bias=SAMPLERS["order"].bias)
    assert not biased.converged
    assert biased.verdict.startswith("unknown: ")
    assert "biased" in biased.verdict


@pytest.mark.parametrize("begin_apart", [True, False])
def test_a_disagreement_is_told_before_what_agreement_would_mean(begin_apart):
    for crossing in (None, crossed(0), crossed(1000, gap=3.0)):
        found = judge(*off([2], [0]), crossing=crossing, begin_apart=begin_apart)
        assert found.verdict.startswith("not converged: chain 2 disagrees with chains 0, 1 and 3")


def test_no_edges_that_can_vary():
    found = judge(np.zeros((4, 256, 0)), *run()[1:])
    assert found.converged
    assert found.largest_difference == 0


@pytest.mark.parametrize(("n_batches", "n_runs"), first([(256, 8), (1000, 5)]))
def test_false_alarms_are_rare(n_batches, n_runs):
    """400 edges, four chains of independent batches.

    By the chi-squared law in ``Limits`` the chance that any R-hat exceeds 1.05 is below 1e-12 for
    256 batches; the largest seen leaves room. A limit of 1.01 would fail at 256 batches.
    """
    rng = np.random.default_rng(n_batches)
    names = [f"e{i}" for i in range(400)]
    worst = []
    for _ in range(n_runs):
        p = rng.random(400)
        series = rng.beta(0.3 + 8 * p, 8.3 - 8 * p, size=(4, n_batches, 400))
        scores = rng.normal(size=(4, n_batches)), rng.poisson(20, (4, n_batches))
        found = assess(series, names, *scores)
        assert found.converged, found.verdict
        worst.append(found.worst_rhat)
    assert max(worst) < 1.03
    assert n_batches > 256 or max(worst) > 1.01


@pytest.mark.parametrize("seed", range(20))
def test_runs_stuck_in_random_modes_are_never_converged(seed):
    """A random set of chains is off on a random set of edges, by random amounts above 0.1."""
    rng = np.random.default_rng(seed)
    series, *rest = run(seed)
    series = 0.05 + 0.05 * series
    chains = rng.permutation(4)[: rng.integers(1, 4)]
    edges = rng.permutation(30)[: rng.integers(1, 31)]
    for chain in chains:
        series[chain][:, edges] += 0.15 + 0.7 * rng.random(len(edges))
    found = judge(series, *rest)
    assert not found.converged
    assert found.n_disagreeing == len(edges)


# Series with other numbers of batches


def test_series_may_have_other_numbers_of_batches():
    """Some edges in 256 batches, others in 32, which are judged as long batches."""
    series, *rest = run()
    coarse = series[:, :, 20:].reshape(4, 32, 8, 10).mean(axis=2)
    both = assess((series[:, :, :20], coarse), NAMES, *rest)
    assert both.converged, both.verdict
    alone = assess(series[:, :, :20], NAMES[:20], *rest)
    for name in ("mcse", "rhat", "ess", "ess_tail", "status"):
        np.testing.assert_array_equal(getattr(both.edges, name)[:20], getattr(alone.edges, name))
    long = diagnose(coarse, long_batches=True)
    for name in ("mcse", "status"):
        np.testing.assert_array_equal(getattr(both.edges, name)[20:], getattr(long, name))
    assert both.largest_difference == pytest.approx(judge(series, *rest).largest_difference)


def test_a_disagreement_in_coarse_batches_is_found():
    series, *rest = off([2], [0, 1])
    coarse = series[:, :, :6].reshape(4, 32, 8, 6).mean(axis=2)
    found = assess((series[:, :, 6:], coarse), NAMES[6:] + NAMES[:6], *rest)
    assert not found.converged
    assert found.groups == ((0, 1, 3), (2,))
    assert found.n_disagreeing == 2
    assert "x0 -> y" in found.verdict
    assert "x1 -> y" in found.verdict


def test_a_mode_found_at_the_end_of_coarse_batches():
    series, *rest = run()
    coarse = np.zeros((4, 32, 2))
    coarse[1, 30:, 1] = 1.0
    found = assess((series, coarse), [*NAMES, "u -> v", "u -> w"], *rest)
    assert not found.converged
    assert "u -> w" in found.verdict


def test_wrong_shapes_are_refused():
    series, log_scores, n_edges = run()
    with pytest.raises(OptionError, match="named edges"):
        assess(series, NAMES[:3], log_scores, n_edges)
    with pytest.raises(OptionError, match="as many chains"):
        judge(series, log_scores[:2], n_edges)
    with pytest.raises(OptionError, match=r"31 named edges, not \(4, 256, 30\) and"):
        assess((series, np.zeros((4, 32, 2))), [*NAMES, "u -> v"], log_scores, n_edges)
