"""Posteriors in files: every answer is the same afterwards, and nothing else is taken for one."""

import copy
import io
import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import outpoint as op
from outpoint.posterior import SampledPosterior, files, stored_chains
from outpoint.runs import ChainRecord
from outpoint.store import SEAL, digest_of
from tests.grids import first
from tests.posterior.crafted import Loose
from tests.runs.problems import NUMBERS, Stopwatch, python

SAMPLED: dict[str, dict[str, Any]] = {
    "mcmc": {"method": "mcmc", "steps": 800, "draws": 60},
    "one draw": {"method": "structure", "steps": 1, "warmup": 0, "chains": 1},
    "interrupted candidates": {"method": "mcmc", "steps": 4000, "draws": 60, "n_candidates": 2},
    "partition": {"method": "partition", "steps": 800, "draws": 60, "max_parents": 2},
    "order": {"method": "order", "steps": 800, "draws": 60},
    "structure+rev": {"method": "structure+rev", "steps": 800, "draws": 60, "chains": 2},
    "candidates": {"method": "mcmc", "steps": 400, "n_candidates": 2, "max_parents": 2},
    "one chain": {
        "method": "partition+rev",
        "steps": 500,
        "chains": 1,
        "structure_prior": "uniform",
    },
    "time": {"method": "mcmc", "time": 0.05, "draws": 30},
    "interrupted": {"method": "mcmc", "steps": 4000, "draws": 60},
}
KINDS = ("exact", *SAMPLED)


def make(kind: str) -> op.Posterior:
    if kind == "exact":
        return op.learn(NUMBERS, method="exact", seed=3, edge_prior=0.4)
    if kind.startswith("interrupted"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("outpoint.runs.teams.ThreadTeam.round_seconds", 0.0)
            patch.setattr("outpoint.runs.runner.PIECE_SECONDS", 0.0)
            return unequal(op.learn(NUMBERS, **SAMPLED[kind], seed=3, progress=Stopwatch(3000)))
    return op.learn(NUMBERS, **SAMPLED[kind], seed=3)


def unequal(posterior: op.Posterior) -> op.Posterior:
    """The same with a first chain that is ahead of the others."""
    assert isinstance(posterior, SampledPosterior)
    assert not posterior.is_complete
    short = [
        replace(
            record,
            codes=record.codes[: -3 * i or None],
            log_score=record.log_score[: -3 * i or None],
            log_weight=record.log_weight[: -3 * i or None],
            edge_batches=record.edge_batches[: -2 * i or None],
            outside_batches=record.outside_batches[: -i or None],
            n_steps=record.n_steps - 200 * i,
        )
        for i, record in enumerate(posterior.records)
    ]
    return SampledPosterior(
        posterior.info, posterior.names, posterior.parent_sets, short, is_complete=False
    )


@pytest.fixture(scope="module", params=first(KINDS, 4))
def posterior(request: pytest.FixtureRequest) -> op.Posterior:
    return make(request.param)


def check_same_answers(one: op.Posterior, other: op.Posterior) -> None:
    assert type(one) is type(other)
    assert one.names == other.names
    assert one.method == other.method
    assert one.is_complete == other.is_complete
    assert one.verdict == other.verdict
    assert one.converged == other.converged
    assert one.map_dag == other.map_dag
    assert one.map_log_score == other.map_log_score
    assert one.log_evidence == other.log_evidence
    assert one.map_probability == other.map_probability
    pd.testing.assert_frame_equal(one.edge_probabilities, other.edge_probabilities, rtol=0, atol=0)
    pd.testing.assert_frame_equal(
        one.ancestor_probabilities, other.ancestor_probabilities, rtol=0, atol=0
    )
    pd.testing.assert_frame_equal(one.diagnostics(), other.diagnostics(), rtol=0, atol=0)
    xr.testing.assert_identical(one.dags(), other.dags())
    xr.testing.assert_identical(one.log_scores, other.log_scores)
    for name in one.names:
        assert one.parent_set_probabilities(name) == other.parent_set_probabilities(name)
    assert [dag.edges for dag in one.iter_dags()] == [dag.edges for dag in other.iter_dags()]

    def count(dag: op.Dag) -> int:
        return len(dag.edges)

    assert one.probability(count) == other.probability(count)
    assert repr(one) == repr(other)
    assert replace(one.info, elapsed_seconds=None) == replace(other.info, elapsed_seconds=None)
    np.testing.assert_array_equal(one.candidates, other.candidates)
    if isinstance(one, SampledPosterior) and isinstance(other, SampledPosterior):
        pd.testing.assert_frame_equal(one.acceptance(), other.acceptance())
        pd.testing.assert_frame_equal(one.ladder(), other.ladder())
        assert one.round_trips == other.round_trips
        assert one.assessment.crossing == other.assessment.crossing
        np.testing.assert_array_equal(one.chain_edges, other.chain_edges)
        assert one.steps_per_chain == other.steps_per_chain
        assert one.largest_difference == other.largest_difference
        assert one.lost_mass == other.lost_mass
        assert one.on_candidates == other.on_candidates
        if one.outside_shares is None:
            assert other.outside_shares is None
        else:
            pd.testing.assert_series_equal(one.outside_shares, other.outside_shares, rtol=0, atol=0)


def test_every_answer_is_the_same(posterior: op.Posterior, tmp_path: Path) -> None:
    posterior.save(tmp_path / "one.npz")
    loaded = op.load(tmp_path / "one.npz")
    check_same_answers(posterior, loaded)
    loaded.save(str(tmp_path / "two.npz"))
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    check_same_answers(posterior, op.load(str(tmp_path / "two.npz")))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "two.npz"]


def test_a_difference_would_be_seen(tmp_path: Path) -> None:
    one, other = make("mcmc"), op.learn(NUMBERS, **SAMPLED["mcmc"], seed=4)
    with pytest.raises(AssertionError):
        check_same_answers(one, other)


def check_same_records(one: SampledPosterior, other: SampledPosterior) -> None:
    for record, again in zip(one.records, other.records, strict=True):
        assert record.moves == again.moves
        for name in stored_chains.RECORD_FIELDS:
            value, read = getattr(record, name), getattr(again, name)
            np.testing.assert_array_equal(value, read)
            assert type(value) is type(read)
            assert np.asarray(value).dtype == np.asarray(read).dtype


@pytest.mark.parametrize("kind", ["mcmc", "partition", "structure+rev", "one draw"])
def test_counts_and_powers_are_kept(kind: str, tmp_path: Path) -> None:
    posterior = make(kind)
    posterior.save(tmp_path / "posterior.npz")
    check_same_records(posterior, op.load(tmp_path / "posterior.npz"))


def test_sets_outside_the_candidates_are_kept(tmp_path: Path) -> None:
    """Only those that occur, so codes are other ones; all else in a record is the same."""
    posterior = make("candidates")
    assert posterior.outside_shares.max() > 0.1
    posterior.save(tmp_path / "posterior.npz")
    loaded = op.load(tmp_path / "posterior.npz")
    assert len(loaded.parent_sets.members) < len(posterior.parent_sets.members)
    n_used = len(
        {int(code) for record in loaded.records for code in record.codes[record.codes < 0]}
    )
    assert n_used <= len(loaded.parent_sets.members)
    for record, again in zip(posterior.records, loaded.records, strict=True):
        for name in stored_chains.RECORD_FIELDS:
            value, read = getattr(record, name), getattr(again, name)
            assert np.asarray(value).dtype == np.asarray(read).dtype
            if name not in ("codes", *stored_chains.CODES):
                np.testing.assert_array_equal(value, read)
                continue
            shape = (-1, len(posterior.names))
            np.testing.assert_array_equal(
                posterior.parent_sets.adjacencies(value.reshape(shape)),
                loaded.parent_sets.adjacencies(read.reshape(shape)),
            )
            np.testing.assert_array_equal(value < 0, read < 0)


def test_everything_in_a_record_is_kept() -> None:
    names = {field.name for field in fields(ChainRecord)}
    assert names == {*stored_chains.RECORD_FIELDS, "moves", "is_cut"}, (
        "cut runs have no options taken"
    )


def test_ladders_of_different_lengths(tmp_path: Path) -> None:
    """Each chain has the ladder it has built, however short; one has none."""
    posterior = make("mcmc")
    rng = np.random.default_rng(1)
    records = [
        replace(
            record,
            power=np.append(np.linspace(1.0, 0.1, n_replicas)[:-1], 0.0 if n_replicas > 1 else 1.0),
            swap_attempts=rng.integers(10, 20, n_replicas - 1),
            swap_accepted=rng.integers(0, 10, n_replicas - 1),
            round_trips=n_replicas * 7,
            hot_log_weight=-3.0 * n_replicas,
            hot_spread=0.1 * n_replicas,
        )
        for n_replicas, record in zip((5, 2, 1, 9), posterior.records, strict=True)
    ]
    unlike = SampledPosterior(posterior.info, posterior.names, posterior.parent_sets, records)
    unlike.save(tmp_path / "posterior.npz")
    loaded = op.load(tmp_path / "posterior.npz")
    assert isinstance(loaded, SampledPosterior)
    check_same_records(unlike, loaded)
    check_same_answers(unlike, loaded)
    assert [len(record.power) for record in loaded.records] == [5, 2, 1, 9]
    assert loaded.round_trips == [35, 14, 7, 63]
    assert loaded.ladder().groupby("chain").size().tolist() == [5, 2, 1, 9]
    loaded.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "posterior.npz").read_bytes()


def test_moves_have_their_own_names(content: bytes, tmp_path: Path) -> None:
    """A file tells which moves its counts belong to: another program may have other ones."""
    good = Loose.of(content)
    moves = good.header["moves"]
    before = make("mcmc").acceptance()
    backwards = copy.deepcopy(good)
    backwards.header["moves"] = moves[::-1]
    for name in ("attempts", "accepted"):
        backwards.arrays[name] = good.arrays[name][:, ::-1]
    loaded = loaded_from(backwards, tmp_path)
    assert loaded.records[0].moves == tuple(moves[::-1])
    columns = ["chain", "move"]
    pd.testing.assert_frame_equal(
        loaded.acceptance().sort_values(columns, ignore_index=True),
        before.sort_values(columns, ignore_index=True),
    )
    more = copy.deepcopy(good)
    more.header["moves"] = ["hop", *moves]
    for name, count in {"attempts": 12, "accepted": 5}.items():
        more.arrays[name] = np.insert(good.arrays[name], 0, count, axis=1)
    frame = loaded_from(more, tmp_path).acceptance()
    hops = frame[frame["move"] == "hop"]
    assert hops["chain"].tolist() == [0, 1, 2, 3]
    assert set(hops["attempts"]) == {12}
    assert set(hops["accepted"]) == {5}
    rest = frame[frame["move"] != "hop"].reset_index(drop=True)
    pd.testing.assert_frame_equal(rest, before)


def loaded_from(loose: Loose, place: Path) -> SampledPosterior:
    (place / "forged.npz").write_bytes(loose.sealed())
    loaded = op.load(place / "forged.npz")
    assert isinstance(loaded, SampledPosterior)
    loaded.save(place / "again.npz")
    again = op.load(place / "again.npz")
    assert isinstance(again, SampledPosterior)
    check_same_records(loaded, again)
    return loaded


def test_other_programs_can_read_it(tmp_path: Path) -> None:
    """It is an archive of NumPy, whose seal is the comment of the archive."""
    posterior = make("mcmc")
    posterior.save(tmp_path / "posterior.npz")
    with np.load(tmp_path / "posterior.npz") as archive:
        np.testing.assert_array_equal(archive["log_score"], posterior.log_scores)
        header = json.loads(archive["header.json"])
    assert header["outpoint"] == {"kind": "posterior", "format": files.STORED.format}
    assert header["names"] == list(posterior.names)


def test_directory_of_a_run(tmp_path: Path) -> None:
    posterior = op.learn(NUMBERS, **SAMPLED["partition"], seed=3, out=tmp_path / "run")
    loaded = op.load(tmp_path / "run")
    check_same_answers(posterior, loaded)
    assert loaded.info.elapsed_seconds == pytest.approx(posterior.info.elapsed_seconds, abs=5)
    (tmp_path / "run" / "summary.json").write_text("not JSON")
    assert op.load(tmp_path / "run").info.elapsed_seconds is None
    (tmp_path / "run" / "posterior.npz").unlink()
    with pytest.raises(op.DataError, match="there is no file"):
        op.load(tmp_path / "run")


# Exact posteriors


def test_stored_draws(tmp_path: Path) -> None:
    posterior = make("exact")
    posterior.save(tmp_path / "posterior.npz")
    loaded = op.load(tmp_path / "posterior.npz")
    np.testing.assert_array_equal(loaded.dags(10), loaded.dags(1000)[:, :10])
    np.testing.assert_array_equal(loaded.dags(1000), posterior.dags(1000))
    np.testing.assert_array_equal(loaded.dags(10_000), posterior.dags(10_000))
    np.testing.assert_array_equal(make("exact").dags(10), loaded.dags(10))
    with pytest.raises(op.OptionError, match="the file holds 10000 draws, not 10001"):
        loaded.dags(10_001)
    assert posterior.dags(10_001).shape[1] == 10_001


def test_small_probabilities(tmp_path: Path) -> None:
    """Parent sets that are less probable than any use are left out; no other number changes."""
    score = op.CustomScore(lambda child, parents: -20.0 * len(parents))
    posterior = op.learn(NUMBERS, score, method="exact", seed=1)
    posterior.save(tmp_path / "posterior.npz")
    loaded = op.load(tmp_path / "posterior.npz")
    check_same_answers(posterior, loaded)
    for name in posterior.names:
        everything = posterior.parent_set_probabilities(name, at_least=0.0)
        kept = [found for found in everything if found[1] >= 1e-12]
        assert loaded.parent_set_probabilities(name, at_least=0.0) == kept
        assert len(kept) < len(everything)


# Names

NAMES = ["a b", "ü ☃", "x/y", 'quote"\\', "line\nbreak"]
MORE_NAMES = ["\x00\x01", "'", "[0]", "\udcff", "-inf"]


@pytest.mark.attack("hostile names of variables", "kept as they are, harmless where shown")
@pytest.mark.parametrize("names", [NAMES, MORE_NAMES], ids=["odd", "odder"])
@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_names(names: list[str], method: str, tmp_path: Path) -> None:
    data = op.Dataset(tuple(names), NUMBERS.values)
    posterior = op.learn(data, method=method, steps=None if method == "exact" else 200, seed=1)
    posterior.save(tmp_path / "posterior.npz")
    check_same_answers(posterior, op.load(tmp_path / "posterior.npz"))


# Bytes

SCRIPT = """
import sys
from tests.posterior.test_storage import make
for kind in sys.argv[2:]:
    make(kind).save(f"{sys.argv[1]}/{kind}.npz")
"""


def test_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    kinds = ["exact", "mcmc", "structure+rev"]
    done = python("-c", SCRIPT, str(tmp_path), *kinds)
    assert done.returncode == 0, done.stderr
    for kind in kinds:
        make(kind).save(tmp_path / "here.npz")
        assert (tmp_path / "here.npz").read_bytes() == (tmp_path / f"{kind}.npz").read_bytes()


# Files that are none

FACTS = ("info", "names", "posterior", "moves", "is_complete", "lost_mass")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("content") / "posterior.npz"
    make("mcmc").save(path)
    return path.read_bytes()


def refusal(content: bytes, place: Path) -> str:
    path = place / "posterior.npz"
    path.write_bytes(content)
    with pytest.raises(op.DataError) as caught:
        op.load(path)
    sentence = str(caught.value)
    assert str(path) in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.attack("result files with flipped bits, or cut short", "one sentence", times=64)
def test_flipped_bits(content: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    places = [0, 8, len(content) - 1, len(content) - 70, *rng.integers(0, len(content), 60)]
    for place in places:
        bad = bytearray(content)
        bad[place] ^= 1 << int(rng.integers(8))
        sentence = refusal(bytes(bad), tmp_path)
        assert "damaged" in sentence or "is not a posterior of outpoint" in sentence


@pytest.mark.attack("result files with flipped bits, or cut short", times=8)
def test_truncated(content: bytes, tmp_path: Path) -> None:
    for length in (0, 1, 8, 100, len(content) // 2, len(content) - 82, len(content) - 1):
        refusal(content[:length], tmp_path)
    refusal(content + b"\n", tmp_path)


@pytest.mark.attack("foreign files as results", "one sentence", times=6)
def test_foreign_files(content: bytes, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.ones(3))
    for other in (b"a,b\n1,2\n", b"\x80\x04pickle", buffer.getvalue()):
        assert "is not a posterior of outpoint" in refusal(other, tmp_path)
        sentence = refusal(other + SEAL + digest_of(other), tmp_path)
        assert "is not a posterior of outpoint" in sentence or "not a complete" in sentence


@pytest.mark.attack("results of earlier versions", "one sentence that says what to do", times=3)
def test_files_of_earlier_versions(tmp_path: Path) -> None:
    """Posteriors were netCDF files, called posterior.nc in the directory of a run."""
    before = b"\x89HDF\r\n\x1a\n" + bytes(range(256))
    advice = "was written by an earlier version of outpoint: make the run again"
    assert advice in refusal(before, tmp_path)
    run = tmp_path / "run"
    op.learn(NUMBERS, seed=3, out=run)
    (run / "posterior.npz").unlink()
    (run / "posterior.nc").write_bytes(before)
    with pytest.raises(op.DataError, match=advice):
        op.load(run)
    with pytest.raises(op.OptionError, match="holds an earlier run"):
        op.learn(NUMBERS, seed=3, out=run)
    op.learn(NUMBERS, seed=3, out=run, overwrite=True)
    assert op.load(run).names == NUMBERS.names
    assert not (run / "posterior.nc").exists()


@pytest.mark.attack("result files with parts missing", "one sentence")
@pytest.mark.parametrize("every", first([8, 1]))
def test_other_formats_and_missing_parts(
    content: bytes, tmp_path: Path, every: int, record_property: Any
) -> None:
    good = Loose.of(content)
    assert refusal_or_none(good.sealed(), tmp_path) is None, "the forgery is good as such"
    for number in (files.STORED.format - 1, files.STORED.format + 1):
        itself = {"kind": "posterior", "format": number}
        other = replace(good, header=good.header | {"outpoint": itself})
        assert f"has format {number} of another version" in refusal(other.sealed(), tmp_path)
    parts = (*stored_chains.RECORD_FIELDS, "candidates", "outside_pairs", "outside_members")
    record_property("attacks", 7 + len(parts[::every]) + len(FACTS))
    for name in parts[::every]:
        fewer = {other: array for other, array in good.arrays.items() if other != name}
        assert "not a complete" in refusal(replace(good, arrays=fewer).sealed(), tmp_path)
    for name in FACTS:
        facts = {other: value for other, value in good.header.items() if other != name}
        assert "not a complete" in refusal(replace(good, header=facts).sealed(), tmp_path)
    for info in ([], "{", {"a": 1}):
        other = replace(good, header=good.header | {"info": info})
        assert "not a complete posterior" in refusal(other.sealed(), tmp_path)


def test_where_nobody_knows_what_was_never_admitted(tmp_path: Path) -> None:
    """The verdict says so; where all sets are candidates, nothing can be missing."""
    for kind in ("mcmc", "candidates"):
        posterior = make(kind)
        assert isinstance(posterior, SampledPosterior)
        posterior.save(tmp_path / "new.npz")
        without = Loose.of((tmp_path / "new.npz").read_bytes())
        del without.arrays["missing_mass"]
        assert "not a complete" in refusal(without.sealed(), tmp_path)
        del without.arrays["missing_edges"]
        loaded = loaded_from(without, tmp_path)
        assert loaded.edge_probabilities.equals(posterior.edge_probabilities)
        if kind == "mcmc":
            assert loaded.missing_mass is not None
            assert not loaded.missing_mass.any()
            assert loaded.verdict == posterior.verdict
        else:
            assert loaded.missing_mass is None
            assert "and nothing is known of those that were never admitted" in loaded.verdict
            assert loaded.on_candidates is not None
            assert loaded.on_candidates["missing_mass"] is None
            assert loaded.missing_change is None


def refusal_or_none(content: bytes, place: Path) -> str | None:
    try:
        return refusal(content, place)
    except pytest.fail.Exception:
        return None


def test_places_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    posterior = make("one draw")
    with pytest.raises(op.DataError, match="there is no file"):
        op.load(tmp_path / "nothing.npz")
    with pytest.raises(op.OptionError, match="cannot write"):
        posterior.save(tmp_path / "no" / "such" / "place.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(op.OptionError, match="cannot write"):
        posterior.save(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_an_old_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "posterior.npz"
    make("one draw").save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> bytes:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("outpoint.store.digest_of", fail)
        with pytest.raises(op.OptionError, match="No space left on device"):
            make("mcmc").save(path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.npz"]
