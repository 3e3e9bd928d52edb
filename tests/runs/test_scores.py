"""Scores of families that a run keeps: used when it is continued, never for anything else."""

from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.options import Options
from outpoint.runs import RunDirectory
from outpoint.runs.checkpoint import read_checkpoint, write_checkpoint
from outpoint.runs.manifest import SCORES_DIGEST
from outpoint.tables import build
from tests.grids import first

DATA = np.random.default_rng(5).normal(size=(60, 5))
DATA[:, 1] += DATA[:, 0]


def sample(place: Path, *, steps: int, **options: object) -> op.Posterior:
    return op.learn(DATA, method="mcmc", seed=1, chains=2, steps=steps, out=place, **options)


@pytest.fixture
def scorings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every time that families are scored."""
    times: list[int] = []
    scored = build.score_families

    def counted(*arguments: object, **options: object) -> build.Families:
        times.append(1)
        return scored(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("outpoint.narrowing.score_families", counted)
    return times


@pytest.mark.parametrize("n_candidates", first([None, 2]))
def test_a_continued_run_does_not_score_again(
    tmp_path: Path, scorings: list[int], n_candidates: int | None
) -> None:
    sample(tmp_path / "a", steps=2_000, n_candidates=n_candidates)
    assert len(scorings) == 1
    longer = sample(tmp_path / "a", steps=4_000, n_candidates=n_candidates, resume=True)
    assert len(scorings) == 1
    assert longer.steps_per_chain == 4_000


def test_the_digest_tells_models_apart(tmp_path: Path) -> None:
    models = [
        op.model.prepare(
            op.load_dataset(data),
            Options(
                score=score,
                max_parents=limit,
                structure_prior=prior,
                knowledge=op.Knowledge(forbidden=forbidden),
            ),
        )
        for data, score, limit, prior, forbidden in [
            (DATA, op.BGe(), 2, "uniform", []),
            (DATA + 1e-9 * DATA**2, op.BGe(), 2, "uniform", []),
            (DATA, op.BGe(alpha_mu=2.0), 2, "uniform", []),
            (DATA, op.BGe(), 3, "uniform", []),
            (DATA, op.BGe(), 2, "fair", []),
            (DATA, op.BGe(), 2, "uniform", [("x1", "x2")]),
            (DATA, op.CustomScore(lambda child, parents: 0.0), 2, "uniform", []),
        ]
    ]
    digests = [model.scores_digest for model in models]
    assert digests[-1] is None, "nobody knows what a function does"
    assert len(set(digests)) == len(models)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def shrink(path: Path) -> None:
    """A file with the right digest and checksum, and too few scores."""
    header, arrays = read_checkpoint(path)
    write_checkpoint(path, header, {**arrays, "scores": arrays["scores"][:, :3]})


def rename(path: Path) -> None:
    header, arrays = read_checkpoint(path)
    write_checkpoint(path, {**header, SCORES_DIGEST: "another"}, arrays)


def leave_out(path: Path) -> None:
    header, arrays = read_checkpoint(path)
    write_checkpoint(path, header, {"scores": arrays["scores"]})


@pytest.mark.attack("a damaged or crafted file of scores", "scored again, the same bytes")
@pytest.mark.parametrize("change", first([damage, leave_out, shrink, rename, Path.unlink]))
def test_a_file_that_is_not_right_is_as_good_as_none(
    tmp_path: Path, scorings: list[int], change
) -> None:
    sample(tmp_path / "a", steps=2_000)
    before = sample(tmp_path / "a", steps=3_000, resume=True)
    sample(tmp_path / "b", steps=2_000)
    change(RunDirectory(tmp_path / "b").scores)
    n_scorings = len(scorings)
    after = sample(tmp_path / "b", steps=3_000, resume=True)
    assert len(scorings) == n_scorings + 1
    assert np.array_equal(before.edge_probabilities, after.edge_probabilities)


def test_scores_of_a_function_are_not_kept(tmp_path: Path) -> None:
    score = op.CustomScore(lambda child, parents: -float(len(parents)))
    sample(tmp_path, steps=1_000, score=score)
    assert not RunDirectory(tmp_path).scores.exists()
