"""A sampled posterior over few candidates: what it makes of parent sets outside of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.posterior import SampledPosterior
from outpoint.posterior.assessment import WORTH_A_LOOK
from outpoint.posterior.files import summarize
from outpoint.runs import ChainRecord
from outpoint.tables.missing import Missing
from outpoint.tables.parent_sets import ParentSets
from tests.cli.conftest import check_schema

NAMES = ("a", "b", "c", "d")
NOTHING = op.Dataset(NAMES, np.zeros((1, 4)))
SCORE = op.CustomScore(lambda child, parents: -float(len(parents)))
SETS = ParentSets(
    np.array([[1], [0], [0], [0]], dtype=np.int32),
    np.array([[1, 2], [3, -1], [0, 3], [2, -1]], dtype=np.int16),
)
"""One candidate for each; the outside sets {b, c} and {d}, {a, d} and {c}."""

AB = (0, 1, 0, 0)
OUT_C, OUT_D = (0, 1, ~2, 0), (0, 1, 1, ~0)
"""a -> b and nothing else; with {a, d} -> c; with a -> c and {b, c} -> d."""


def from_codes(
    *chains: Any,
    lost_mass: float = 0.0,
    missing: Missing | None = None,
    n_batches: int = 32,
    max_parents: int = 3,
) -> SampledPosterior:
    """A posterior whose chains consist of DAGs given by codes."""
    whole = op.learn(NOTHING, SCORE, "mcmc", steps=10, chains=1, seed=1)
    info = replace(whole.info, max_parents=max_parents)
    records = [record_of(np.array(codes, dtype=np.int32), n_batches) for codes in chains]
    missing = missing or Missing.none(4)
    return SampledPosterior(info, NAMES, SETS, records, lost_mass=lost_mass, missing=missing)


def lacking(mass: dict[str, float], edges: dict[tuple[str, str], float] | None = None) -> Missing:
    """What a table lacks: shares of nodes, all of them with as likely parents as the draws have.

    Those of ``edges`` have the edge in this part of the posterior.
    """
    found = Missing.none(4)
    chains = shuffled(1, 32, 32, 64), shuffled(2, 32, 32, 64)
    usual = from_codes(*chains).edge_probabilities.to_numpy()
    for name, share in mass.items():
        found.mass[NAMES.index(name)] = share
        found.edges[:, NAMES.index(name)] = share * usual[:, NAMES.index(name)]
    for (parent, child), share in (edges or {}).items():
        found.edges[NAMES.index(parent), NAMES.index(child)] = share
    return found


def record_of(codes: np.ndarray, n_batches: int) -> ChainRecord:
    adjacencies = SETS.adjacencies(codes).astype(float)
    inside = np.stack([adjacencies[:, SETS.candidates[v], v] for v in range(4)], axis=1)
    outside = adjacencies.copy()
    outside[:, SETS.candidates.T, np.arange(4)] = 0.0
    batches = outside.reshape(n_batches, -1, 4, 4).mean(axis=1)
    counts = np.array([10])
    return ChainRecord(
        codes=codes,
        log_score=-adjacencies.sum(axis=(1, 2)),
        log_weight=-adjacencies.sum(axis=(1, 2)),
        edge_batches=inside,
        edges=inside.mean(axis=0),
        outside_batches=batches,
        outside_edges=outside.mean(axis=0),
        best_code=codes[adjacencies.sum(axis=(1, 2)).argmin()],
        best_log_score=-float(adjacencies.sum(axis=(1, 2)).min()),
        start_code=codes[0],
        moves=("hop",),
        attempts=counts,
        accepted=counts // 2,
        power=np.array([1.0, 0.0]),
        swap_attempts=counts,
        swap_accepted=counts // 2,
        round_trips=50,
        hot_log_weight=0.0,
        hot_spread=0.0,
        hot_batches=np.zeros(0),
        n_steps=len(codes),
        thin=1,
    )


def shuffled(seed: int, *counts: int) -> list[tuple[int, ...]]:
    """So many of AB, OUT_C and OUT_D, in some order."""
    codes = [
        code for code, count in zip((AB, OUT_C, OUT_D), counts, strict=True) for _ in range(count)
    ]
    return [codes[i] for i in np.random.default_rng(seed).permutation(len(codes))]


def test_edges_inside_and_outside() -> None:
    posterior = from_codes(shuffled(1, 32, 32, 0), shuffled(2, 16, 16, 32))
    edges = posterior.edge_probabilities
    assert edges.loc["a", "b"] == 1.0
    assert edges.loc["a", "c"] == pytest.approx((0.5 + 0.75) / 2)
    assert edges.loc["d", "c"] == pytest.approx((0.5 + 0.25) / 2)
    assert edges.loc["b", "d"] == edges.loc["c", "d"] == pytest.approx(0.25)
    assert edges.to_numpy().sum() == pytest.approx(posterior.dags().to_numpy().mean((0, 1)).sum())
    assert posterior.chain_edges[1, 3, 2] == pytest.approx(0.25)
    assert posterior.largest_difference == pytest.approx(0.5)
    np.testing.assert_allclose(edges, posterior.dags().to_numpy().mean(axis=(0, 1)), atol=1e-15)


def test_draws_ancestors_and_parent_sets() -> None:
    posterior = from_codes([AB, OUT_C] * 16, [OUT_D, OUT_C] * 16)
    first, second = posterior.dags().to_numpy()[:, 0]
    assert set(op.Dag.from_adjacency(first, NAMES).edges) == {("a", "b")}
    assert set(op.Dag.from_adjacency(second, NAMES).edges) == {
        ("a", "b"),
        ("a", "c"),
        ("b", "d"),
        ("c", "d"),
    }
    assert posterior.parent_set_probabilities("c") == [
        (("a", "d"), 0.5),
        ((), 0.25),
        (("a",), 0.25),
    ]
    assert posterior.parent_set_probabilities("d") == [((), 0.75), (("b", "c"), 0.25)]
    assert posterior.ancestor_probabilities.loc["a", "d"] == pytest.approx(0.25)
    assert posterior.ancestor_probabilities.loc["d", "c"] == pytest.approx(0.5)
    assert posterior.map_dag.edges == (("a", "b"),)
    assert posterior.probability(lambda dag: len(dag.edges)) == pytest.approx((1 + 3 + 4 + 3) / 4)
    assert posterior.probability("d -> c") == pytest.approx(0.5)


# What is said about candidates


def test_shares() -> None:
    posterior = from_codes([AB, OUT_C] * 16, [OUT_D, OUT_C] * 16, lost_mass=2e-4)
    shares = posterior.outside_shares
    assert shares.index.tolist() == list(NAMES)
    assert shares.tolist() == [0.0, 0.0, 0.5, 0.25]
    assert posterior.on_candidates == {
        "per_node": 1.0,
        "fewest": 1,
        "most": 1,
        "mean_outside_share": pytest.approx(0.75 / 4),
        "largest_outside_share": 0.5,
        "lost_mass": 2e-4,
        "missing_mass": dict.fromkeys(NAMES, 0.0),
        "missing_change": dict.fromkeys(NAMES, 0.0),
    }
    assert posterior.verdict.endswith(
        " No edge is excluded: parent sets outside the 1 candidates of each node are sampled, too; "
        "of all others, those pruned have at most 0.0002 of the posterior, and those that were "
        "never admitted, by an estimate from the draws, at most 0 for any variable; they would "
        "change no edge by more than 0."
    )


def test_sets_that_were_never_admitted_are_told() -> None:
    """Where they matter the run has not converged, and more candidates are not just faster."""
    chains = shuffled(1, 32, 32, 64), shuffled(2, 32, 32, 64)
    agreeing = from_codes(*chains, missing=lacking({"c": 0.02, "d": 0.003}))
    assert agreeing.converged == from_codes(*chains).converged
    assert "by an estimate from the draws, at most 0.02 for any variable" in agreeing.verdict
    many = from_codes(*chains, missing=lacking({"b": 0.04, "c": 0.3}, {("c", "b"): 0.04}))
    assert not many.converged
    assert "not converged" in many.verdict
    assert (
        "parent sets that were never admitted have a part of the posterior that matters, for "
        "c (about 30%), b (about 4%): more candidates (n_candidates) would change the answer."
    ) in many.verdict
    assert many.missing_mass.to_dict() == {"a": 0.0, "b": 0.04, "c": 0.3, "d": 0.0}


def test_missing_sets_matter_by_what_they_would_change() -> None:
    """A tenth that is spread over all edges as the draws are does not; a thirtieth in one does."""
    chains = shuffled(1, 32, 32, 64), shuffled(2, 32, 32, 64)
    spread = from_codes(*chains, missing=lacking({"c": 0.1}))
    assert spread.missing_change.max() < 1e-12
    assert "have a part of the posterior that matters" not in spread.verdict
    assert "at most 0.1 for any variable" in spread.verdict
    single = from_codes(*chains, missing=lacking({"c": 0.03}, {("b", "c"): 0.03}))
    usual = spread.edge_probabilities.loc["b", "c"]
    assert single.missing_change["c"] == pytest.approx(0.03 - 0.03 * usual)
    assert "matters, for c (about 3%)" in single.verdict
    most = from_codes(*chains, missing=lacking({"c": 0.21}))
    assert "matters, for c (about 21%)" in most.verdict


def test_more_candidates_are_not_called_faster_where_they_change_the_answer() -> None:
    chains = [OUT_C, OUT_C, AB, OUT_C] * 8, [OUT_C, OUT_C, OUT_D, OUT_D] * 8
    posterior = from_codes(*chains, missing=lacking({"c": 0.3}))
    assert "would be faster" not in posterior.verdict


def test_poor_candidates_are_named() -> None:
    """Those of more than half of the draws, and no other."""
    posterior = from_codes([OUT_C, OUT_C, AB, OUT_C] * 8, [OUT_C, OUT_D, OUT_D, OUT_D] * 8)
    assert posterior.outside_shares.tolist() == [0.0, 0.0, 0.5, 0.375]
    assert "poor" not in posterior.verdict
    worse = from_codes([OUT_C, OUT_C, AB, OUT_C] * 8, [OUT_C, OUT_C, OUT_D, OUT_D] * 8)
    assert worse.verdict.endswith(
        " The candidates were poor for c (62%): more candidates would be faster."
    )
    both = from_codes([(0, ~1, 0, 0)] * 32, [(~3, ~1, 0, 0)] * 24 + [AB] * 8)
    assert "poor for b (88%): more" in both.verdict


def test_the_poorest_three_are_named_first() -> None:
    everything = [(~1, ~1, ~1, ~3), (~1, ~1, ~1, 0), (~1, ~1, 0, 0), (~1, ~1, ~1, ~3)] * 8
    verdict = from_codes(everything, everything).verdict
    assert "poor for a (100%), b (100%), c (75%): more" in verdict


def test_nodes_at_the_limit_are_named() -> None:
    """Those with as many parents as there may be in more than half of the draws."""
    half = from_codes([AB, OUT_C] * 16, [AB, OUT_C] * 16, max_parents=2)
    assert half.limit_shares.tolist() == [0.0, 0.0, 0.5, 0.0]
    assert "max_parents" not in half.verdict
    more = from_codes([AB, OUT_C] * 16, [OUT_C, OUT_C] * 16, max_parents=2)
    assert more.limit_shares.tolist() == [0.0, 0.0, 0.75, 0.0]
    assert more.verdict.endswith(
        " c mostly had 2 parents, as many as max_parents allows: a larger limit may give other "
        "answers."
    )
    unlimited = from_codes([AB, OUT_C] * 16, [OUT_C, OUT_C] * 16, max_parents=3)
    assert "max_parents" not in unlimited.verdict


def test_nothing_is_said_where_all_are_candidates() -> None:
    posterior = op.learn(NOTHING, SCORE, "mcmc", steps=400, seed=1)
    assert posterior.outside_shares is None
    assert posterior.on_candidates is None
    assert "candidates" not in posterior.verdict
    assert op.learn(NOTHING, SCORE, "exact").on_candidates is None


def test_summaries() -> None:
    narrow = from_codes([AB, OUT_C] * 16, [OUT_D, OUT_C] * 16, lost_mass=2e-4)
    wide = op.learn(NOTHING, SCORE, "mcmc", steps=400, seed=1)
    for posterior in (narrow, wide, op.learn(NOTHING, SCORE, "exact")):
        summary = json.loads(json.dumps(summarize(posterior)))
        check_schema(summary, "summary")
        assert summary["candidates"] == posterior.on_candidates
    assert summarize(narrow)["candidates"]["largest_outside_share"] == 0.5
    assert summarize(wide)["candidates"] is None


# Diagnostics


def test_diagnostics_of_edges_from_outside() -> None:
    """Like those of all others, from fewer batches; what hardly ever occurs is negligible."""
    posterior = from_codes(*(shuffled(seed, 160, 96, 64) for seed in range(4)))
    frame = posterior.diagnostics().set_index(["parent", "child"])
    assert len(frame) == 12
    often, never = frame.loc["d", "c"], frame.loc["d", "b"]
    assert often["probability"] == pytest.approx(0.3)
    assert often["status"] == "ok"
    # A binary series of 4 * 320 draws, at random: its standard error is known.
    assert often["mcse"] == pytest.approx(np.sqrt(0.3 * 0.7 / 1280), rel=0.5)
    assert often["rhat"] < 1.05
    assert (never["probability"], never["status"]) == (0.0, "negligible")
    assert 1 / 1280 <= never["mcse"] < 0.01, "what was missed may yet be there"
    assert np.isnan([never["rhat"], never["ess"]]).all()
    assert frame.loc["a", "b"]["status"] == "constant"
    assert posterior.converged, posterior.verdict


def test_rare_edges_from_outside_are_diagnosed_from_a_limit_on() -> None:
    """It counts where they are most frequent: one chain may have found what others have missed."""
    n_rare = {4: "diagnosed", 3: "negligible"}
    assert 4 / 640 >= WORTH_A_LOOK > 3 / 640
    for count, expected in n_rare.items():
        found = from_codes([AB] * 640, shuffled(1, 640 - count, count, 0))
        row = found.diagnostics().set_index(["parent", "child"]).loc["d", "c"]
        assert row["probability"] == pytest.approx(count / 1280)
        assert row["mcse"] >= np.sqrt(count) / 1280 * 0.9
        assert (row["status"] == "negligible") or expected == "diagnosed"


def test_chains_that_disagree_outside_the_candidates_have_not_converged() -> None:
    """On the edges inside, they agree."""
    with_d, without = (0, 1, ~1, 0), AB
    posterior = from_codes([with_d] * 320, [without, with_d] * 160, [without] * 320)
    assert posterior.largest_difference == 1.0
    assert not posterior.converged
    assert "d -> c" in posterior.verdict


def test_a_file_keeps_it_all(tmp_path: Path) -> None:
    posterior = from_codes([AB, OUT_C] * 16, [OUT_D, OUT_C] * 16, lost_mass=2e-4)
    posterior.save(tmp_path / "posterior.npz")
    loaded = op.load(tmp_path / "posterior.npz")
    assert isinstance(loaded, SampledPosterior)
    assert loaded.edge_probabilities.equals(posterior.edge_probabilities)
    np.testing.assert_array_equal(loaded.dags(), posterior.dags())
    assert loaded.verdict == posterior.verdict
    assert loaded.outside_shares.equals(posterior.outside_shares)
    assert loaded.on_candidates == posterior.on_candidates
    assert loaded.diagnostics().equals(posterior.diagnostics())
    assert loaded.map_dag == posterior.map_dag
    members = {tuple(row) for row in loaded.parent_sets.members.tolist()}
    assert members == {(1, 2), (0, 3)}, "of four sets two have occurred"
