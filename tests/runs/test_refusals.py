"""Saved runs that cannot be continued are refused, with a sentence that says why."""

import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.cli import main
from outpoint.runs import RunDirectory
from outpoint.runs.checkpoint import CHECKPOINT, read_checkpoint, write_checkpoint
from outpoint.runs.directory import LOCK
from outpoint.runs.manifest import open_run, saved_facts
from outpoint.runs.runner import FileDraws
from outpoint.store import HEADER, SEALED_BYTES
from tests.posterior.crafted import seal
from tests.runs.problems import (
    CASES,
    NUMBERS,
    Stopwatch,
    differing,
    environment,
    interrupt,
    learn,
    make_numbers,
    use_short_rounds,
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Interrupted runs, one with draws and one in its warm-up, and the whole run."""
    place = tmp_path_factory.mktemp("saved")
    with pytest.MonkeyPatch.context() as patch:
        use_short_rounds(patch)
        interrupt("mcmc", place / "run", step=2000)
        interrupt("mcmc", place / "warmup", step=400)
        interrupt("mcmc", place / "other", step=2000, seed=99)
        learn("mcmc", place / "whole")
    return {path.name: path for path in place.iterdir()}


@pytest.fixture
def run(saved: dict[str, Path], tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> Path:
    shutil.copytree(saved["run"], tmp_path / "run")
    return tmp_path / "run"


def refusal(out: Path, case: str = "mcmc", **options: Any) -> str:
    """The sentence with which the run is refused; nothing in its directory changes."""
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(op.CheckpointError) as caught:
        learn(case, out, **options)
    after = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert after == before
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


def test_the_copy_can_be_continued(run: Path, saved: dict[str, Path]) -> None:
    learn("mcmc", run)
    assert differing(run, saved["whole"]) == []


# Damage


@pytest.mark.attack("damaged and foreign checkpoints", "one sentence, the rest is kept", times=17)
@pytest.mark.parametrize("name", ["chain-0.checkpoint", "chain-2.checkpoint", "run.checkpoint"])
def test_flipped_bits(run: Path, name: str) -> None:
    path = run / "checkpoint" / name
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    seal = range(len(good) - SEALED_BYTES, len(good))
    places = [0, *rng.choice(seal, 7, replace=False), *rng.integers(0, len(good), 8)]
    for place in [*places, len(good) - 1]:
        bad = bytearray(good)
        bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad)
        sentence = refusal(run)
        assert name in sentence
        assert "damaged" in sentence or "is not a checkpoint of outpoint" in sentence


@pytest.mark.attack("damaged and foreign checkpoints")
@pytest.mark.parametrize("name", ["chain-1.checkpoint", "run.checkpoint"])
@pytest.mark.parametrize("length", [0, 1, 21, 79, 80, 81, 88, 500, -100, -80, -1])
def test_truncated(run: Path, name: str, length: int) -> None:
    path = run / "checkpoint" / name
    path.write_bytes(path.read_bytes()[:length])
    assert name in refusal(run)


def test_more_at_the_end(run: Path) -> None:
    path = run / "checkpoint" / "chain-0.checkpoint"
    path.write_bytes(path.read_bytes() + b"\0")
    assert "damaged, as its end is missing" in refusal(run)


def signed(payload: bytes) -> bytes:
    """A file with a matching checksum."""
    return seal(payload + bytes(SEALED_BYTES))


def archive(text: str | None = None, **arrays: Any) -> bytes:
    """An archive of NumPy, with a comment as long as the seal is."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    with zipfile.ZipFile(buffer, "a") as file:
        file.comment = bytes(SEALED_BYTES)
        if text is not None:
            file.writestr(HEADER, text)
    return buffer.getvalue()[:-SEALED_BYTES]


def header(**facts: Any) -> str:
    itself = {"kind": CHECKPOINT.name, "format": CHECKPOINT.format}
    return json.dumps({"outpoint": itself, **facts})


FOREIGN: dict[str, bytes] = {
    "text": b"a,b\n1,2\n",
    "binary": bytes(range(256)) * 8,
    "npz": archive(a=np.ones(3)),
    "pickles": archive(header(), a=np.array([{"a": 1}], dtype=object)),
    "earlier": b"outpoint checkpoint 1\n" + 64 * b"0" + b"\n",
    "newer": signed(archive('{"outpoint": {"kind": "checkpoint", "format": 99}}')),
    "another kind": signed(archive('{"outpoint": {"kind": "posterior", "format": 2}}')),
    "signed nothing": signed(b""),
    "signed text": signed(b"hello"),
    "signed pickles": signed(archive(header(), a=np.array([{"a": 1}], dtype=object))),
    "no header": signed(archive(a=np.ones(3))),
    "no JSON": signed(archive("{")),
    "no object": signed(archive("[1]")),
    "other object": signed(archive(header(a=1))),
}


@pytest.mark.attack("damaged and foreign checkpoints")
@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("name", ["chain-0.checkpoint", "run.checkpoint"])
@pytest.mark.parametrize("seed", [5, None])
def test_foreign_files(run: Path, kind: str, name: str, seed: int | None) -> None:
    (run / "checkpoint" / name).write_bytes(FOREIGN[kind])
    sentence = refusal(run, seed=seed)
    assert str(run) in sentence


def test_a_directory_instead_of_a_file(run: Path) -> None:
    path = run / "checkpoint" / "chain-0.checkpoint"
    path.unlink()
    path.mkdir()
    assert "is not a file" in refusal(run)


def test_a_file_instead_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").write_text("mine")
    with pytest.raises(op.CheckpointError, match="cannot keep the state"):
        learn("mcmc", tmp_path / "run")
    assert (tmp_path / "run" / "checkpoint").read_text() == "mine"


@pytest.mark.parametrize("options", [{}, {"resume": False, "overwrite": True}])
def test_a_directory_of_somebody_else(tmp_path: Path, options: dict[str, Any]) -> None:
    """It would be removed with the run."""
    mine = tmp_path / "run" / "checkpoint" / "model.pt"
    mine.parent.mkdir(parents=True)
    mine.write_text("weights")
    with pytest.raises(op.CheckpointError, match="holds files, but no run of outpoint"):
        learn("mcmc", tmp_path / "run", **options)
    assert mine.read_text() == "weights"


# Files in the wrong place


def test_checkpoints_of_other_runs_and_chains(run: Path, saved: dict[str, Path]) -> None:
    path = run / "checkpoint" / "chain-0.checkpoint"
    for other, reason in {
        saved["other"] / "checkpoint" / "chain-0.checkpoint": "belongs to another run",
        run / "checkpoint" / "chain-1.checkpoint": "belongs to another chain",
        run / "checkpoint" / "run.checkpoint": "belongs to another run",
    }.items():
        shutil.copy(other, path)
        assert reason in refusal(run)


def test_another_chain_without_draws(tmp_path: Path, saved: dict[str, Path]) -> None:
    """In the warm-up there are no draws whose checksum would tell the chains apart."""
    with pytest.MonkeyPatch.context() as patch:
        use_short_rounds(patch)
        run = tmp_path / "run"
        shutil.copytree(saved["warmup"], run)
        shutil.copy(
            run / "checkpoint" / "chain-1.checkpoint", run / "checkpoint" / "chain-0.checkpoint"
        )
        assert "belongs to another chain" in refusal(run)


def test_the_description_of_another_run(run: Path, saved: dict[str, Path]) -> None:
    for name, reason in {"run": "seed was 99 and is 5", "chain-0": "does not describe"}.items():
        other = saved["other"] / "checkpoint" / f"{name}.checkpoint"
        shutil.copy(other, run / "checkpoint" / "run.checkpoint")
        assert reason in refusal(run)


def test_a_lost_checkpoint_costs_time_only(run: Path, saved: dict[str, Path]) -> None:
    (run / "checkpoint" / "chain-1.checkpoint").unlink()
    learn("mcmc", run)
    assert differing(run, saved["whole"]) == []


def draws_file(run: Path, chain: int = 0) -> Path:
    (path,) = (run / "checkpoint").glob(f"chain-{chain}.draws-*")
    return path


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "nothing left": lambda content: b"",
    "shorter": lambda content: content[:-1],
    "first bit": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "last bit": lambda content: content[:-1] + bytes([content[-1] ^ 128]),
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"hello",
}


@pytest.mark.attack("damaged and foreign checkpoints")
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_draws(run: Path, damage: str) -> None:
    path = draws_file(run)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    sentence = refusal(run)
    assert path.name in sentence
    assert "damaged or missing" in sentence


def test_missing_draws_and_those_of_another_chain(run: Path) -> None:
    path = draws_file(run)
    shutil.copy(draws_file(run, 1), path)
    assert "damaged or missing" in refusal(run)
    path.unlink()
    assert "damaged or missing" in refusal(run)


def test_draws_after_the_last_checkpoint_do_not_matter(run: Path, saved: dict[str, Path]) -> None:
    with open(draws_file(run), "ab") as file:
        file.write(b"what a chain had written when it was killed" * 100)
    learn("mcmc", run)
    assert differing(run, saved["whole"]) == []


def test_a_draws_file_that_has_gone_is_not_begun_anew(tmp_path: Path) -> None:
    """It would have a hole in it, which a slow worker could take for draws."""
    from outpoint.mcmc.trace import KeptDags

    some = KeptDags(np.ones((3, 4), dtype=np.int32), np.ones(3), np.ones(3))
    draws = FileDraws(lambda thin: tmp_path / f"draws-{thin}", 4, 10)
    draws.append(some)
    draws.path.unlink()
    with pytest.raises(FileNotFoundError):
        draws.append(some)
    with pytest.raises(FileNotFoundError):
        draws.halve()


# Other data and settings

CHANGES: dict[str, tuple[dict[str, Any], str]] = {
    "seed": ({"seed": 6}, "seed was 5 and is 6"),
    "draws": ({"draws": 75}, "draws was 150 and is 75"),
    "chains": ({"chains": 2}, "chains was 3 and is 2"),
    "warm-up": ({"warmup": 20}, "n_warmup was 760 and is 20"),
    "method": ({"method": "partition"}, 'method was "mcmc" and is "partition"'),
    "parents": ({"max_parents": 2}, "max_parents was 4 and is 2"),
    "moves": ({"moves": {"node_gibbs": 1}}, 'moves was null and is {"node_gibbs": 1.0}'),
    "start": ({"start": "empty"}, 'start was null and is "empty"'),
    "order": ({"start": "order"}, 'start was null and is "order"'),
    "search": ({"start": "search"}, 'start was null and is "search"'),
    "candidates": ({"n_candidates": 3}, "candidates was 4 and is 3"),
    "score": ({"score": op.BGe(alpha_mu=0.5)}, "score was "),
    "prior": ({"structure_prior": "uniform"}, 'structure prior was "fair" and is "uniform"'),
    "forbidden": ({"forbidden": [("a", "b")]}, "required and forbidden edges was"),
    "required": ({"required": [("a", "b")]}, "required and forbidden edges was"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_settings(run: Path, change: str) -> None:
    options, expected = CHANGES[change]
    sentence = refusal(run, **options)
    assert expected in sentence
    assert "cannot be resumed" in sentence


def test_another_edge_prior(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Of which nothing is written down but the scores it leads to."""
    interrupt("mcmc", tmp_path / "run", start="empty")
    sentence = refusal(tmp_path / "run", start="empty", edge_prior=0.3)
    assert "the score function or the edge prior is not the same" in sentence


def test_other_data(run: Path) -> None:
    with pytest.raises(op.CheckpointError, match=r'cannot be resumed .*: data was "\w+') as caught:
        op.learn(make_numbers(seed=2), **CASES["mcmc"], out=run, resume=True)
    assert [fact.split()[0] for fact in str(caught.value).split(": ")[1].split("; ")] == ["data"]


def test_another_version(run: Path) -> None:
    path = run / "checkpoint" / "run.checkpoint"
    facts, arrays = read_checkpoint(path)
    write_checkpoint(path, facts | {"version": "0.0.9"}, arrays)
    assert f'version was "0.0.9" and is "{op.__version__}"' in refusal(run)


@pytest.mark.long
def test_scores_of_another_processor(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    """Equivalent DAGs have equal scores up to rounding, which no two processors do alike."""
    rng = np.random.default_rng(3)
    data = op.Dataset(tuple("abcde"), rng.normal(size=(60, 5)).cumsum(axis=1))
    scorer = op.BGe().bind(data)

    def learn_there(processor: int, **options: Any) -> op.Posterior:
        errors = 1e-13 * np.random.default_rng(processor).normal(size=(5, 32))

        def score(child: int, parents: tuple[int, ...]) -> float:
            value = float(scorer.families(child, np.array([parents], dtype=np.int16))[0])
            return value * (1 + errors[child, sum(1 << u for u in parents)])

        chosen = CASES["mcmc"] | {"score": op.CustomScore(score), "resume": True}
        return op.learn(data, **chosen, out=tmp_path / "run", **options)

    assert not learn_there(0, progress=Stopwatch(1500)).is_complete
    for processor in range(1, 6):
        assert not learn_there(processor, progress=Stopwatch(1500)).is_complete
    assert learn_there(6).is_complete


def test_another_custom_score(tmp_path: Path, short_rounds: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).normal(size=(5, 32))

    def score(child: int, parents: tuple[int, ...]) -> float:
        return float(scores[child, sum(1 << u for u in parents)])

    out = tmp_path / "run"
    interrupt("mcmc", out, score=op.CustomScore(score))
    scores[2, 3] += 0.01
    assert "the score function or the edge prior" in refusal(out, score=op.CustomScore(score))
    scores[2, 3] -= 0.01
    assert learn("mcmc", out, score=op.CustomScore(score)).is_complete


def test_the_seed_of_the_run_is_found(run: Path, saved: dict[str, Path]) -> None:
    assert saved_facts(RunDirectory(run)) is not None
    learn("mcmc", run, seed=None)
    assert differing(run, saved["whole"]) == []
    assert saved_facts(RunDirectory(run)) == saved_facts(RunDirectory(saved["whole"]))


# Runs in use


def test_a_run_in_use(run: Path, saved: dict[str, Path]) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; file = open(sys.argv[1], 'wb'); "
            "fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); sys.stdin.read()",
            str(run / LOCK),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        assert "is in use by another process" in refusal(run)
        sentence = refusal(run, overwrite=True, resume=False)
        assert "is in use by another process" in sentence, "not even to be replaced"
    finally:
        holder.communicate("")
    learn("mcmc", run)
    assert differing(run, saved["whole"]) == []


def test_a_held_run_is_let_go(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    with run.held():
        with pytest.raises(op.CheckpointError, match="in use"), RunDirectory(run.path).held():
            pass
        assert [path.name for path in run.path.iterdir()] == [LOCK]
        run.checkpoint.mkdir()
    for options in ({"resume": True}, {"overwrite": True}):
        with run.held(**options):
            run.discard_checkpoint()
    assert list(tmp_path.iterdir()) == [run.path], "it was there before"
    assert list(run.path.iterdir()) == []


def test_when_to_stop_may_change_and_what_was_asked_for_stays(tmp_path: Path) -> None:
    run, scores = RunDirectory(tmp_path), {"scores": np.ones(2)}
    facts = {"seed": 1, "data": "x", "method": "mcmc", "structure prior": "fair", "max_parents": 2}
    facts["remarks"] = []
    name = open_run(run, facts, {"steps": 1}, {"chains": 2}, scores)
    saved = saved_facts(run)
    assert saved == {**facts, "stopping": {"steps": 1}, "request": {"chains": 2}}
    assert open_run(run, facts, {"steps": 2}, {"draws": 7}, scores) == name
    saved = saved_facts(run)
    assert saved == {**facts, "stopping": {"steps": 2}, "request": {"chains": 2}}


def test_scores_may_differ_by_what_processors_differ(tmp_path: Path) -> None:
    scores = np.array([-1234.5, 3.0, -np.inf])

    def opened(scores: np.ndarray) -> str:
        return open_run(RunDirectory(tmp_path), {"seed": 1}, {}, {}, {"scores": scores})

    for same in (scores, scores * (1 + 1e-12)):
        opened(same)
    for other in (scores + 1e-3, scores[:2], np.zeros(3)):
        with pytest.raises(op.CheckpointError, match="the score function"):
            opened(other)


# The command line


def test_command_line(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, one sentence, no traceback."""
    path = run / "checkpoint" / "chain-0.checkpoint"
    path.write_bytes(path.read_bytes()[:-1])
    monkeypatch.chdir(run.parent)
    monkeypatch.delenv("OUTPOINT_TRACEBACK", raising=False)
    NUMBERS.to_frame().to_csv("data.csv", index=False)
    words = ["outpoint", "learn", "data.csv", "--method", "mcmc", "--steps", "3000"]
    words += ["--draws", "150", "--chains", "3", "--seed", "5", "--out", "run"]
    for more, reason in {
        (): "holds a run that can be continued: do so with --resume",
        ("--resume",): "damaged",
        ("--resume", "--seed", "8"): "seed was 5 and is 8",
    }.items():
        monkeypatch.setattr(sys, "argv", [*words, *more])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        *progress, sentence = shown.err.splitlines()
        assert all(line.endswith(" ...") for line in progress)
        assert reason in sentence
        assert "Traceback" not in shown.err


def test_facts_are_json(saved: dict[str, Path]) -> None:
    facts = saved_facts(RunDirectory(saved["run"]))
    assert json.loads(json.dumps(facts)) == facts
