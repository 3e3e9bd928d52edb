"""A sampled posterior: what it makes of its chains, and when it says that they can be trusted."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.mcmc import SAMPLERS, SWEEP
from outpoint.posterior import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import ParentSets

NAMES = ("a", "b", "c")
CANDIDATES = np.array([[1, 2], [0, 2], [0, 1]], dtype=np.int32)
INSIDE = ParentSets(CANDIDATES, np.zeros((0, 1), dtype=np.int16))
NOTHING = op.Dataset(NAMES, np.zeros((1, 3)))
SCORE = op.CustomScore(lambda child, parents: -float(len(parents)) - 0.1 * child)


def from_chains(*chains: Any, method: str = "mcmc", **parts: Any) -> SampledPosterior:
    """A posterior whose chains consist of the given DAGs, each a list of edges.

    ``parts`` are those of all records that are to be other ones.
    """
    whole = op.learn(NOTHING, SCORE, method, steps=10, chains=1, seed=1)
    records = [record_of([op.Dag.from_edges(NAMES, edges) for edges in dags]) for dags in chains]
    records = [replace(record, **parts) for record in records]
    return SampledPosterior(whole.info, NAMES, INSIDE, records)


def record_of(dags: list[op.Dag]) -> ChainRecord:
    families = np.array(
        [[dag.adjacency[CANDIDATES[child], child] for child in range(3)] for dag in dags]
    )
    codes = (families << np.arange(2)).sum(axis=2).astype(np.int32)
    log_score = np.array([op.log_score(NOTHING, dag, SCORE) for dag in dags])
    counts = np.array([0, 10, 0])
    return ChainRecord(
        codes=codes,
        log_score=log_score,
        log_weight=log_score,
        edge_batches=families.astype(float),
        edges=families.mean(axis=0),
        outside_batches=np.zeros((len(dags), 0, 0)),
        outside_edges=np.zeros((0, 0)),
        best_code=codes[log_score.argmax()],
        best_log_score=float(log_score.max()),
        start_code=codes[0],
        moves=("still", "hop", "rev"),
        attempts=counts,
        accepted=counts // 2,
        power=np.array([1.0, 0.0]),
        swap_attempts=np.array([10]),
        swap_accepted=np.array([4]),
        round_trips=50,
        hot_log_weight=0.0,
        hot_spread=0.0,
        hot_batches=np.zeros(0),
        n_steps=len(dags),
        thin=1,
    )


EMPTY: list[tuple[str, str]] = []
AB, CHAIN, FORK = [("a", "b")], [("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")]


# Averages


def test_averages_over_all_chains():
    posterior = from_chains([AB, CHAIN, EMPTY, AB], [FORK, AB, CHAIN, CHAIN])
    edges = posterior.edge_probabilities
    assert edges.loc["a", "b"] == pytest.approx(6 / 8)
    assert edges.loc["b", "c"] == pytest.approx(4 / 8)
    assert edges.loc["b", "a"] == pytest.approx(1 / 8)
    assert posterior.ancestor_probabilities.loc["a", "c"] == pytest.approx(3 / 8)
    assert posterior.ancestor_probabilities.loc["b", "c"] == pytest.approx(4 / 8)
    assert posterior.n_chains == 2
    assert posterior.chain_edges.shape == (2, 3, 3)
    assert posterior.chain_edges[0, 0, 1] == pytest.approx(3 / 4)
    assert posterior.largest_difference == pytest.approx(1 / 2)


@pytest.mark.long
def test_ancestors_of_many_nodes(monkeypatch):
    """More nodes than bits in a word, against the closure of the drawn matrices."""
    monkeypatch.setattr("outpoint.narrowing.MOST_ROUNDS", 1)
    monkeypatch.setattr("outpoint.narrowing.PILOT_WARMUP", 8 * SWEEP)
    monkeypatch.setattr("outpoint.narrowing.PILOT_STEPS", 8 * SWEEP)
    monkeypatch.setattr("outpoint.narrowing.default_steps", lambda n_nodes: 1000)
    rng = np.random.default_rng(3)
    data = op.simulate(op.random_dag(66, rng, max_parents=2), 100, rng)
    posterior = op.learn(
        data, method="mcmc", max_parents=2, n_candidates=5, chains=2, steps=400, draws=10, seed=1
    )
    reach = posterior.dags().to_numpy().reshape(-1, 66, 66).copy()
    for k in range(66):
        reach |= reach[:, :, k, None] & reach[:, k, None, :]
    np.testing.assert_allclose(posterior.ancestor_probabilities, reach.mean(axis=0), atol=1e-12)
    assert (np.diag(posterior.ancestor_probabilities) == 0).all()


def test_draws_keep_chain_and_order():
    posterior = from_chains([AB, CHAIN], [FORK, EMPTY])
    dags = posterior.dags()
    assert dags.dims == ("chain", "draw", "parent", "child")
    assert dags.shape == (2, 2, 3, 3)
    assert bool(dags.sel(chain=1, parent="b", child="a")[0])
    assert [set(dag.edges) for dag in posterior.iter_dags()] == [
        set(AB),
        set(CHAIN),
        set(FORK),
        set(),
    ]
    for dag, score in zip(
        posterior.iter_dags(), posterior.log_scores.to_numpy().ravel(), strict=True
    ):
        assert score == pytest.approx(op.log_score(NOTHING, dag, SCORE), abs=1e-12)
    dags[:] = False  # a copy: what the posterior holds does not change
    assert posterior.dags().any()


def test_parent_sets():
    posterior = from_chains([AB, CHAIN, EMPTY, AB], [FORK, AB, CHAIN, CHAIN])
    assert posterior.parent_set_probabilities("b") == [(("a",), 0.75), ((), 0.25)]
    assert posterior.parent_set_probabilities(1) == posterior.parent_set_probabilities("b")
    assert posterior.parent_set_probabilities("a", at_least=0.5) == [((), 0.875)]
    with pytest.raises(op.OptionError, match="'z'"):
        posterior.parent_set_probabilities("z")


def test_best_dag_of_all_chains():
    posterior = from_chains([CHAIN, AB], [FORK, EMPTY, CHAIN][:2])
    assert posterior.map_dag.edges == op.Dag.empty(NAMES).edges
    assert posterior.map_log_score == pytest.approx(
        op.log_score(NOTHING, op.Dag.empty(NAMES), SCORE), abs=1e-12
    )
    assert posterior.log_evidence is None
    assert posterior.map_probability is None


def test_features():
    posterior = from_chains([AB, CHAIN], [FORK, EMPTY])
    assert posterior.probability(lambda dag: len(dag.edges)) == pytest.approx(5 / 4)
    assert posterior.probability(lambda dag: ("b", "c") in dag.edges) == pytest.approx(1 / 2)
    with pytest.raises(op.OptionError, match="function of a Dag"):
        posterior.probability(3)


def test_diagnostics():
    posterior = from_chains([AB, EMPTY] * 40, [EMPTY, AB] * 40, [AB, AB, EMPTY, EMPTY] * 20)
    frame = posterior.diagnostics()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 6
    first = frame.iloc[0]
    assert (first["parent"], first["child"], first["status"]) == ("a", "b", "ok")
    assert first["probability"] == pytest.approx(1 / 2)
    assert 0 < first["mcse"] < 0.5 / np.sqrt(240) * 1.5
    assert first["rhat"] < 1.05
    assert frame["probability"].is_monotonic_decreasing
    never = frame[frame["probability"] == 0]
    assert len(never) == 5
    assert set(never["status"]) == {"constant"}
    assert ((never["mcse"] >= 1 / 240) & (never["mcse"] < 0.1)).all(), "missed, perhaps"


def test_representation():
    text = repr(from_chains([AB, AB], [AB, AB]))
    assert "mcmc" in text
    assert "2 chains of 2 steps" in text


# Verdicts


def test_agreeing_chains():
    posterior = from_chains([AB, CHAIN] * 100, [CHAIN, AB] * 100)
    assert posterior.converged is True
    assert "agree on every edge" in posterior.verdict
    assert "biased" not in posterior.verdict


AGREEING = [AB, CHAIN] * 100, [CHAIN, AB] * 100


def test_counts_belong_to_the_names_of_the_record():
    frame = from_chains(*AGREEING).acceptance()
    assert frame.to_dict("records") == [
        {"chain": chain, "move": "hop", "attempts": 10, "accepted": 5} for chain in (0, 1)
    ]


def test_ladder():
    posterior = from_chains(*AGREEING)
    assert posterior.round_trips == [50, 50]
    assert posterior.diagnostics().attrs["round_trips"] == [50, 50]
    frame = posterior.ladder()
    assert list(frame.columns) == ["chain", "replica", "power", "swap_rate"]
    assert frame["power"].tolist() == [1.0, 0.0, 1.0, 0.0]
    assert frame["swap_rate"].tolist()[::2] == [0.4, 0.4]
    assert frame["swap_rate"].isna().tolist() == [False, True, False, True]
    without = from_chains(*AGREEING, method="partition")
    assert without.round_trips is None
    assert without.diagnostics().attrs["round_trips"] is None


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"round_trips": 15}, ""),
        ({"round_trips": 14}, "made only 28 round trips"),
        ({"round_trips": 0}, "the replicas of chains 0 and 1 never crossed"),
    ],
    ids=str,
)
def test_agreeing_chains_must_have_crossed_their_ladders(parts, sentence):
    posterior = from_chains(*AGREEING, **parts)
    assert posterior.converged == (not sentence)
    assert sentence in posterior.verdict


def test_agreeing_chains_without_a_ladder_must_have_begun_apart():
    apart = from_chains(*AGREEING, method="partition")
    assert apart.converged
    assert "judged by their agreement alone" in apart.verdict
    together = from_chains(*AGREEING, method="partition", start_code=np.zeros(3, dtype=np.int32))
    assert not together.converged
    assert together.verdict.startswith("unknown: ")
    assert "began at the same DAG" in together.verdict


def test_a_chain_is_frozen_if_its_state_never_changed():
    """Placement always moves, and so do swaps with a replica that does."""
    still = {"accepted": np.zeros(3, dtype=np.int64)}
    swapping = from_chains(*AGREEING, **still)
    assert swapping.converged
    frozen = from_chains(*AGREEING, **still, swap_accepted=np.zeros(1, dtype=np.int64))
    assert not frozen.converged
    assert "no chain ever left the DAG it started from" in frozen.verdict


@pytest.mark.parametrize("method", SAMPLERS)
def test_a_single_chain_is_unknown(method):
    posterior = op.learn(NOTHING, SCORE, method, chains=1, steps=5000, seed=1)
    assert posterior.converged is False
    assert posterior.verdict.startswith("unknown: a single chain")


@pytest.mark.parametrize(("n_different", "text"), [(1, "on 1 edge ("), (2, "on 2 edges (")])
def test_disagreeing_chains(n_different, text):
    posterior = from_chains([EMPTY] * 10, [CHAIN[:n_different]] * 10)
    assert posterior.converged is False
    assert posterior.verdict.startswith("not converged: ")
    assert text in posterior.verdict
    assert "a -> b: 0.00 against 1.00" in posterior.verdict


def test_order_is_biased_even_if_its_chains_agree():
    posterior = op.learn(NOTHING, SCORE, "order", steps=20_000, seed=1)
    assert posterior.largest_difference < 0.05
    assert posterior.converged is False
    assert "biased towards DAGs with many linear extensions" in posterior.verdict
    single = op.learn(NOTHING, SCORE, "order", steps=100, chains=1, seed=1)
    assert single.verdict.startswith("unknown")
    assert "biased" in single.verdict


@pytest.mark.parametrize("method", [method for method in SAMPLERS if method != "order"])
def test_unbiased_methods_do_not_say_biased(method):
    posterior = op.learn(NOTHING, SCORE, method, steps=60_000, seed=1)
    assert posterior.converged is True
    assert "biased" not in posterior.verdict


UNIFORM = {"structure_prior": "uniform"}


def far_apart(child: int, parents: tuple[int, ...]) -> float:
    """One full DAG far above the empty one, and everything between them impossible to cross."""
    if parents == tuple(range(child)):
        return 40.0 if child else 30.0
    return -400.0 * len(parents) + 30.0


@pytest.mark.parametrize("method", ["structure", "structure+rev"])
def test_chains_stuck_in_different_places_are_not_converged(method):
    """From the two modes in turn: together such chains disagree on every edge of the full DAG."""
    full = op.Dag.from_edges(NAMES, [("a", "b"), ("a", "c"), ("b", "c")])
    options: dict[str, Any] = {"method": method, "steps": 2000, "seed": 1, "chains": 2}
    runs = [
        op.learn(NOTHING, op.CustomScore(far_apart), start=start, **options)
        for start in (None, full)
    ]
    records = [record for run in runs for record in run.records]
    both = SampledPosterior(runs[0].info, NAMES, runs[0].parent_sets, records)
    assert both.largest_difference > 0.9
    assert both.converged is False
    assert "not converged" in both.verdict


@pytest.mark.parametrize("method", ["structure", "structure+rev"])
def test_chains_that_have_never_moved_are_not_converged(method):
    score = op.CustomScore(far_apart)
    posterior = op.learn(NOTHING, score, method, steps=2000, seed=1, start="empty", **UNIFORM)
    exact = op.learn(NOTHING, score, "exact", **UNIFORM).edge_probabilities
    wrong = np.abs(posterior.edge_probabilities.to_numpy() - exact.to_numpy()).max()
    assert wrong > 0.9
    assert posterior.acceptance()["accepted"].sum() == 0
    assert posterior.converged is False
    assert "no chain ever left the DAG it started from" in posterior.verdict
    # From starts that are apart, which is the default, they cannot agree either.
    assert op.learn(NOTHING, score, method, steps=2000, seed=1, **UNIFORM).converged is False


@pytest.mark.parametrize("method", ["structure", "partition"])
@pytest.mark.parametrize("start", ["empty", "search"])
def test_a_common_start_is_mentioned(method, start):
    """Only where there is nothing else to go by."""
    options: dict[str, Any] = {"steps": 60_000, "seed": 1}
    together = op.learn(NOTHING, SCORE, method, start=start, **options)
    assert not together.converged
    assert together.verdict.startswith("unknown: the 4 chains agree")
    assert op.learn(NOTHING, SCORE, method, **options).converged
    assert op.learn(NOTHING, SCORE, "mcmc", start=start, seed=1).converged


@pytest.mark.parametrize(
    ("means", "spread", "sentence"),
    [
        ((0.0, 0.0), 1.0, ""),
        ((-7.0, -6.0), 2.0, ""),
        ((-7.0, -8.2), 2.0, "their hottest replicas do not (0.6 standard deviations apart)"),
        ((3.0, 9.0), 1.0, "their hottest replicas do not (6.0 standard deviations apart)"),
        ((3.0, 9.0), 0.0, ""),
    ],
    ids=str,
)
def test_hottest_replicas_must_agree(means, spread, sentence):
    """In terms of how much they vary; those that are drawn afresh do not, and have no number."""
    posterior = from_chains(*AGREEING, hot_spread=spread)
    records = [
        replace(record, hot_log_weight=mean)
        for record, mean in zip(posterior.records, means, strict=True)
    ]
    found = SampledPosterior(posterior.info, NAMES, INSIDE, records)
    assert found.converged == (not sentence)
    assert sentence in found.verdict
    gap = 0.0 if spread == 0 else abs(means[0] - means[1]) / spread
    assert found.assessment.crossing.hottest_gap == pytest.approx(gap)


def test_edge_draws_are_those_of_the_dags(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in blocks, in the order of the draws."""
    monkeypatch.setattr("outpoint.posterior.draws.BLOCK_BYTES", 9 * 2)
    first, second, third = [("a", "b")], [("a", "b"), ("b", "c")], [("c", "a")]
    posterior = from_chains([first, second, second], [third, first, third])
    wanted = [[[1, 1, 1], [0, 1, 0]], [[0, 0, 0], [1, 0, 1]], [[0, 1, 1], [0, 0, 0]]]
    found = posterior.edge_draws([("a", "b"), ("c", "a"), ("b", "c")])
    np.testing.assert_array_equal(found, wanted)
    assert posterior.edge_draws([]).shape == (0, 2, 3)
    with pytest.raises(op.OptionError, match="not one of the variables"):
        posterior.edge_draws([("nobody", "a")])


def test_edge_probabilities_are_at_most_one() -> None:
    """Averages of rounded sums may exceed 1 by some units of the last place; answers do not."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=200)
    data = np.column_stack([first, first + 0.1 * rng.normal(size=200), rng.normal(size=200)])
    posterior = op.learn(data, method="partition", steps=500, chains=2, seed=1)
    assert isinstance(posterior, SampledPosterior)
    rounded = replace(
        posterior.records[0], edges=np.full_like(posterior.records[0].edges, 1 + 8e-14)
    )
    shown = SampledPosterior(
        posterior.info, posterior.names, posterior.parent_sets, [rounded, rounded]
    )
    assert shown.edge_probabilities.to_numpy().max() == 1.0
    assert shown.diagnostics()["probability"].max() == 1.0
    a, b = posterior.names[:2]
    assert shown.probability(f"{a} -- {b}") == 1.0
    assert shown.probability(f"not {a} -> {b}") == 0.0
