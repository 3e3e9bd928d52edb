"""Tables with holes from beginning to end: what is said, asked, stored, continued and refused."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.posterior import Posterior, load
from outpoint.posterior.augmented import AugmentedPosterior
from outpoint.report.answers import list_effects
from outpoint.report.facts import describe_missing
from tests.figures import leave_out_reports

SHORT: dict[str, Any] = {"seed": 1, "warmup": 5, "steps": 40, "chains": 2, "threads": 1}
RNG = np.random.default_rng(6)


def make_frame(n_obs: int = 60) -> pd.DataFrame:
    """Two numbers, two categories of two and three levels, holes in all of them."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=n_obs)
    k = rng.integers(3, size=n_obs)
    frame = pd.DataFrame(
        {
            "x": x,
            "the level": np.array(["a", "b", "c"])[k],
            "y": x + k + 0.5 * rng.normal(size=n_obs),
            "yes or no": np.where(x + rng.normal(size=n_obs) > 0, "yes", "no"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.08)


FRAME = make_frame()
NUMBERS = FRAME[["x", "y"]].assign(
    z=np.random.default_rng(4).normal(size=60) + 0.5 * FRAME["x"].fillna(0.0)
)
LEVELS = FRAME[["the level", "yes or no"]].assign(
    third=np.where(np.random.default_rng(5).random(60) < 0.3, "u", "v")
)
TABLES = {
    "bge": NUMBERS,
    "bdeu": LEVELS,
    "blocks": FRAME,
    "conditional-gaussian": FRAME,
}


@pytest.fixture(autouse=True)
def no_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    leave_out_reports(monkeypatch)


@pytest.fixture(scope="module", params=TABLES)
def found(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, AugmentedPosterior]:
    table = TABLES[request.param]
    post = op.learn(table, request.param, **SHORT)
    assert isinstance(post, AugmentedPosterior)
    return table, post


def test_what_is_missing_is_said(found: tuple[pd.DataFrame, AugmentedPosterior]) -> None:
    table, post = found
    n_cells = int(table.isna().to_numpy().sum())
    first = post.info.notes[0]
    assert first.startswith(f"{n_cells} cells are missing, in ")
    assert "missing at random; drop such rows with missing='drop'" in first
    assert post.info.n_observations == len(table)
    assert "2 chains of 40 completed tables" in repr(post)


def answers(post: Posterior, table: pd.DataFrame) -> list[Any]:
    """Whatever a posterior can be asked."""
    assert isinstance(post, AugmentedPosterior)
    first, second = post.names[0], post.names[-1]
    effect = post.effect(first, second)
    estimate = post.estimate(f'"{first}" -> ... -> "{second}"')
    return [
        post.edge_probabilities,
        post.ancestor_probabilities,
        post.dags().to_numpy(),
        post.map_dag,
        post.probability(f'"{first}" -- "{second}"'),
        (estimate.value, estimate.mcse),
        post.diagnostics(),
        post.verdict,
        post.missing_shares,
        post.completed(3),
        (effect.mean, effect.sd_structure, effect.p_zero),
        post.causal_effects(n_draws=60).table(),
        post.predict(table.head(4), second),
        post.log_predictive(table.head(4)),
        post.sample(3),
        *post.parameters().values(),
    ]


@pytest.mark.parametrize(
    "score", [pytest.param(one, marks=[pytest.mark.long] * (one != "bge")) for one in TABLES]
)
def test_a_file_gives_the_same_answers(score: str, tmp_path: Path) -> None:
    table = TABLES[score]
    post = op.learn(table, score, **{**SHORT, "steps": 12})
    post.save(tmp_path / "post.nc")
    again = load(tmp_path / "post.nc")
    assert repr(again) == repr(post)
    for one, other in zip(answers(post, table), answers(again, table), strict=True):
        if isinstance(one, pd.DataFrame):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        elif isinstance(one, pd.Series):
            pd.testing.assert_series_equal(one, other, check_exact=True)
        else:
            assert np.array_equal(one, other)


def test_completed_tables(found: tuple[pd.DataFrame, AugmentedPosterior]) -> None:
    table, post = found
    one, other = post.completed(0), post.completed(1)
    assert not one.isna().to_numpy().any()
    assert not one.equals(other)
    there = table.notna().all(axis=1).to_numpy()
    for name in table.columns:
        same = one[name][there].to_numpy() == table[name][there].to_numpy()
        assert same.all()
    assert post.n_completed == 2 * 40
    with pytest.raises(op.OptionError, match="from 0 to 79, not 80"):
        post.completed(80)


def test_shares(found: tuple[pd.DataFrame, AugmentedPosterior]) -> None:
    shares = found[1].missing_shares.to_numpy()
    assert ((shares >= 0) & (shares <= 1)).all()
    assert shares.max() > 0.001
    assert (np.diag(shares) == 0).all()


def test_the_report_has_a_section(found: tuple[pd.DataFrame, AugmentedPosterior]) -> None:
    table, post = found
    section = describe_missing(post)
    assert section is not None
    numbers = {name: int(number) for name, number, _ in section.columns}
    assert numbers == {name: n for name, n in table.isna().sum().items() if n}
    rows = {names: int(number) for names, number in section.patterns}
    assert rows["none"] == len(table.dropna())
    assert all(share.endswith("%") for _, _, share in section.edges)
    assert describe_missing(op.learn(table.dropna(), post.info.score)) is None


def test_the_report_has_effects(found: tuple[pd.DataFrame, AugmentedPosterior]) -> None:
    """The largest are listed as in other reports, and agree with those asked for one by one."""
    post = found[1]
    listed = list_effects(post)
    assert listed is not None
    assert listed.rows
    assert listed.groups
    assert not listed.left_out
    first = listed.rows[0]
    assert abs(first.mean - post.effect(first.cause, first.effect).mean) < 0.15


def test_a_level_that_is_only_declared_can_be_drawn() -> None:
    table = LEVELS.assign(
        third=pd.Categorical(LEVELS["third"].mask(RNG.random(60) < 0.5), list("uvw"))
    )
    post = op.learn(table, **SHORT)
    assert isinstance(post, AugmentedPosterior)
    drawn = [set(post.completed(k)["third"]) for k in range(post.n_completed)]
    assert {"u", "v", "w"} == set().union(*drawn)


def test_reweighted_answers_are_those_of_the_other_prior() -> None:
    """Every edge costs a log weight of 1; errors of means over 150 tables are below 0.02."""
    options = {**SHORT, "steps": 150, "structure_prior": "uniform"}
    weighted = op.learn(NUMBERS, **options).reweighted(lambda dag: -float(dag.n_edges))
    other = op.learn(NUMBERS, **options, edge_prior=1 / (1 + np.e))
    gaps = weighted.edge_probabilities - other.edge_probabilities
    assert gaps.abs().to_numpy().max() < 0.08
    assert weighted.map_dag.n_edges == other.map_dag.n_edges
    assert abs(weighted.map_log_score - other.map_log_score) < 2
    effects = [post.effect("x", "y").mean for post in (weighted, other)]
    assert abs(effects[0] - effects[1]) < 0.1
    predicted = [post.predict(NUMBERS.head(3), "z")["mean"] for post in (weighted, other)]
    assert np.abs(predicted[0] - predicted[1]).max() < 0.1
    assert list(weighted.parameters()) == list(NUMBERS)


class TestEngines:
    """Completed tables that are solved exactly, by parts, or sampled."""

    def test_sampled_tables_agree_with_exact_ones(self) -> None:
        options = {**SHORT, "steps": 150, "warmup": 20}
        exact = op.learn(NUMBERS, **options)
        sampled = op.learn(NUMBERS, **{**options, "seed": 2}, method="mcmc")
        assert (exact.method, sampled.method) == ("augment", "augment+mcmc")
        gaps = exact.edge_probabilities - sampled.edge_probabilities
        assert gaps.abs().to_numpy().max() < 0.08  # about five standard errors

    def test_parts_are_solved_one_by_one(self) -> None:
        tiers = [["x", "z"], ["y"]]
        options = {**SHORT, "steps": 150, "tiers": tiers}
        parts = op.learn(NUMBERS, **options)
        sampled = op.learn(NUMBERS, **{**options, "seed": 7}, method="mcmc")
        edges = parts.edge_probabilities
        assert edges.loc[tiers[1], tiers[0]].to_numpy().max() == 0.0
        assert (edges - sampled.edge_probabilities).abs().to_numpy().max() < 0.08

    @pytest.mark.parametrize("method", ["auto", "mcmc"])
    def test_interventions(self, method: str) -> None:
        targets = [("x",) if i % 3 == 0 else () for i in range(60)]
        table = NUMBERS.assign(x=NUMBERS["x"].fillna(0.3))
        post = op.learn(table, interventions=targets, method=method, **SHORT)
        assert post.info.targets == ((), ("x",))
        with pytest.raises(op.DataError, match="'x' was set from outside in rows where the value"):
            op.learn(NUMBERS.mask(NUMBERS["x"].iloc[0] == NUMBERS), interventions=targets, **SHORT)


class TestContinued:
    """Runs that are interrupted and continued are those that are not."""

    @pytest.mark.parametrize("method", ["exact", pytest.param("mcmc", marks=pytest.mark.long)])
    def test_byte_for_byte(self, method: str, tmp_path: Path) -> None:
        whole, cut = tmp_path / "whole", tmp_path / "cut"
        options = {"seed": 3, "chains": 2, "warmup": 4, "method": method, "steps": 30}
        op.learn(NUMBERS, **options, out=whole)
        calls = iter(range(1000))

        def interrupt(progress: op.runs.Progress) -> None:
            if progress.chains and next(calls) == 1:
                raise KeyboardInterrupt

        try:
            post = op.learn(NUMBERS, **options, out=cut, progress=interrupt)
            assert not post.is_complete
            assert re.match("interrupted after [0-9]+ completed tables? per chain", post.verdict)
        except KeyboardInterrupt:
            pass
        op.learn(NUMBERS, out=cut, resume=True, threads=1)
        assert (whole / "posterior.npz").read_bytes() == (cut / "posterior.npz").read_bytes()

    def test_a_finished_run_becomes_longer(self, tmp_path: Path) -> None:
        options = {"seed": 3, "chains": 2, "warmup": 4}
        op.learn(NUMBERS, **options, steps=10, out=tmp_path / "run")
        longer = op.learn(NUMBERS, steps=20, out=tmp_path / "run", resume=True)
        whole = op.learn(NUMBERS, **options, steps=20)
        assert longer.steps_per_chain == 20
        assert longer.edge_probabilities.equals(whole.edge_probabilities)

    def test_the_method_may_be_said_again(self, tmp_path: Path) -> None:
        """As it was asked for, not only as what became of it."""
        options = {"seed": 3, "chains": 2, "warmup": 4, "out": tmp_path / "run"}
        op.learn(NUMBERS, **options, method="exact", steps=10)
        longer = op.learn(NUMBERS, **options, method="exact", steps=12, resume=True)
        assert longer.steps_per_chain == 12
        with pytest.raises(op.CheckpointError, match='method was "augment" and is "mcmc"'):
            op.learn(NUMBERS, **options, method="mcmc", resume=True)

    def test_another_table_is_refused(self, tmp_path: Path) -> None:
        op.learn(NUMBERS, **SHORT, out=tmp_path / "run")
        with pytest.raises(op.CheckpointError, match="cannot be resumed with other data"):
            op.learn(NUMBERS + 1, out=tmp_path / "run", resume=True)

    def test_a_damaged_chain_is_refused(self, tmp_path: Path) -> None:
        from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint

        op.learn(LEVELS, **SHORT, out=tmp_path / "run")
        path = tmp_path / "run" / "checkpoint" / "chain-0.checkpoint"
        header, arrays = read_checkpoint(path)
        for name, wrong in {
            "cells": arrays["cells"] + 7,
            "edges": arrays["edges"][1:],
            "generator": arrays["generator"][3:],
            "dag": np.ones_like(arrays["dag"])[:1],
        }.items():
            write_checkpoint(path, header, {**arrays, name: wrong})
            with pytest.raises(op.CheckpointError, match="does not fit this run"):
                op.learn(LEVELS, out=tmp_path / "run", resume=True)


class TestElsewhere:
    """Where missing values cannot be integrated out rows are dropped, or a sentence says why."""

    COMPLETE = len(NUMBERS.dropna())

    def test_rows_are_dropped_where_there_is_no_model(self) -> None:
        own = op.CustomScore(lambda child, parents: -float(len(parents)))
        data = op.load_dataset(NUMBERS)
        for table in (NUMBERS, data):
            for post in (
                op.learn(table, own, seed=1),
                op.learn(table, "bic", seed=1),
                op.learn(table, method="partition", steps=200, seed=1),
                op.learn(table, missing="drop", seed=1),
            ):
                assert post.info.n_observations == self.COMPLETE
                assert "rows of 60 had missing values" in " ".join(post.info.notes)
            best = op.find_map(table)
            assert best.info.n_observations == self.COMPLETE
            assert op.log_score(table, best.dag) == pytest.approx(best.log_score)

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ({"score": "bic", "missing": "augment"}, "the score bic has no model"),
            ({"method": "partition", "missing": "augment"}, "by method='auto', not by partition"),
            ({"strict": True}, "drop these rows with missing='drop'"),
            ({"missing": "refuse"}, "drop these rows with missing='drop'"),
        ],
    )
    def test_sentences(self, options: dict[str, Any], sentence: str) -> None:
        with pytest.raises((op.OptionError, op.DataError), match=sentence):
            op.learn(NUMBERS, **options)
        with pytest.raises(op.DataError, match="Only a complete table has a score"):
            op.find_map(NUMBERS, missing="augment")

    def test_a_complete_table_takes_the_path_it_took(self) -> None:
        table = NUMBERS.dropna()
        posts = [op.learn(table, seed=1, missing=how) for how in ("auto", "augment", "drop")]
        assert {post.method for post in posts} == {"exact"}
        assert len({post.log_evidence for post in posts}) == 1
        assert posts[0].info.reading is not None
        assert "missing" not in posts[0].info.reading

    def test_rows_and_columns_without_any_value(self) -> None:
        table = NUMBERS.assign(nothing=np.nan, w=NUMBERS["z"].where(RNG.random(60) < 0.3))
        table.loc[5] = np.nan
        post = op.learn(table, **SHORT)
        notes = " ".join(post.info.notes)
        assert post.names == ("x", "y", "z", "w")
        assert post.info.n_observations == 59
        assert "1 row without any value was left out, as it says nothing" in notes
        assert "'w' lacks" in notes
        assert "left out 'nothing', which has no values" in notes


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"a": [1.5, None, 2.0, 4.0, 5.5] * 4, "b": ["u", "v", None, "u", "v"] * 4})
    data = op.load_dataset(table)
    assert data.missing.sum() == 8
