"""Local scores in files: what is written is read to the last bit, and what is wrong is named."""

from pathlib import Path

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import DataError, OptionError, TooLargeError
from tests.scores.helpers import all_families, continuous, dependent_values, family

DATA = continuous(dependent_values(np.random.default_rng(5), 40, 5))


def test_every_family_is_written_and_read_to_the_last_bit(tmp_path: Path) -> None:
    op.write_jkl(tmp_path / "s.jkl", DATA, "bge", max_parents=3)
    scorer = op.BGe().bind(DATA)
    scores = op.read_jkl(tmp_path / "s.jkl")
    expected = all_families(5, 3)
    assert sum(map(len, scores.values())) == len(expected)
    for child, parents in expected:
        named = frozenset(DATA.names[u] for u in parents)
        assert scores[DATA.names[child]][named] == family(scorer, child, parents)


def test_the_file_is_that_of_gobnilp(tmp_path: Path) -> None:
    score = op.CustomScore(lambda v, pa: -1.5 * v - len(pa) if 2 not in pa else -np.inf)
    data = op.Dataset(("x", "y", "z"), np.zeros((1, 3)))
    op.write_jkl(tmp_path / "s.jkl", data, score)
    assert (tmp_path / "s.jkl").read_text() == (
        "3\nx 2\n-0.0 0\n-1.0 1 y\ny 2\n-1.5 0\n-2.5 1 x\n"
        "z 4\n-3.0 0\n-4.0 1 x\n-4.0 1 y\n-5.0 2 x y\n"
    )


@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_a_file_is_a_score_like_any_other(tmp_path: Path, method: str) -> None:
    op.write_jkl(tmp_path / "s.jkl", DATA, "bge", max_parents=2)
    shuffled = op.Dataset(DATA.names[::-1], DATA.values[:, ::-1])
    options = {} if method == "exact" else {"steps": 2000, "chains": 2}
    uniform = {"structure_prior": "uniform"}  # a file is complete without a prior
    expected = op.learn(shuffled, "bge", method, max_parents=2, seed=1, **options, **uniform)
    for score in (op.JklScore(str(tmp_path / "s.jkl")), str(tmp_path / "s.jkl")):
        found = op.learn(shuffled, score, method, seed=1, max_parents=2, **options)
        np.testing.assert_allclose(
            found.edge_probabilities, expected.edge_probabilities, rtol=0, atol=1e-9
        )
        assert found.map_dag == expected.map_dag
        assert found.info.score == "jkl"


def test_sets_that_are_not_listed_cannot_occur(tmp_path: Path) -> None:
    op.write_jkl(tmp_path / "s.jkl", DATA, "bge", max_parents=1)
    found = op.learn(DATA, str(tmp_path / "s.jkl"))
    expected = op.learn(DATA, "bge", max_parents=1, structure_prior="uniform")
    assert found.log_evidence == pytest.approx(expected.log_evidence, abs=1e-9)
    dag = op.Dag.from_edges(DATA.names, [("a", "c"), ("b", "c")])
    assert op.log_score(DATA, dag, str(tmp_path / "s.jkl")) == -np.inf


def test_more_variables_than_a_complete_table(tmp_path: Path) -> None:
    data = op.simulate(op.random_dag(24, 1, max_parents=2), 60, np.random.default_rng(2))
    op.write_jkl(tmp_path / "s.jkl", data, "bge", max_parents=2)
    options = {"seed": 1, "structure_prior": "uniform"}
    best = [
        op.find_map(data, score, max_parents=2, method="search", runs=4, steps=2000, **options)
        for score in ("bge", str(tmp_path / "s.jkl"))
    ]
    assert best[1].log_score == pytest.approx(best[0].log_score, abs=1e-8)


BAD = {
    "": "line 0 .* the number of variables",
    "x\n": "line 1 .* the number of variables",
    "0\n": "line 1 .* the number of variables",
    "2\na 1\n0 0\n": "line 3 .* a name and a number of parent sets",
    "1\na 0\n": "line 2 .* a name and a number",
    "1\na b 1\n0 0\n": "line 2 .* a name and a number",
    "1\na 2\n0 0\n": "line 3 .* a score of a",
    "1\na 1\nx 0\n": "line 3 .* a score of a",
    "1\na 1\n0\n": "line 3 .* a score of a",
    "1\na 1\nnan 0\n": "line 3 .* a number or -inf",
    "1\na 1\ninf 0\n": "line 3 .* a number or -inf",
    "1\na 1\n0 1\n": "line 3 .* a score of a",
    "1\na 1\n0 1 a\n": "line 3 .* a score of a",
    "2\na 1\n0 2 b b\nb 1\n0 0\n": "line 3 .* a score of a",
    "2\na 2\n0 0\n1 0\nb 1\n0 0\n": "line 4 .* the first about this parent set",
    "2\na 1\n0 0\na 1\n0 0\n": "line 4 .* the first about a",
    "1\na 1\n0 0\nb 1\n": "line 4 .* 1 variables",
    "2\na 1\n0 1 c\nb 1\n0 0\n": "gives a the parent c",
    "2\na 1\n0 0\nc 1\n0 0\n": "only the data has 'b'",
    "3\na 1\n0 0\nb 1\n0 0\nc 1\n0 0\n": "only the file has 'c'",
}


@pytest.mark.attack("files of scores and knowledge that cannot be read", "one sentence")
@pytest.mark.parametrize(("text", "message"), BAD.items())
def test_bad_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "s.jkl").write_text(text)
    data = op.Dataset(("a", "b"), np.zeros((3, 2)))
    with pytest.raises(DataError, match=message):
        op.JklScore(str(tmp_path / "s.jkl")).bind(data)


def test_places_and_names(tmp_path: Path) -> None:
    (tmp_path / "s.jkl").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not a text file"):
        op.read_jkl(tmp_path / "s.jkl")
    with pytest.raises(DataError, match="No such file"):
        op.learn(DATA, str(tmp_path / "none.jkl"))
    with pytest.raises(OptionError, match="No such file"):
        op.write_jkl(tmp_path / "no" / "s.jkl", DATA)
    for name in ("two words", "a\tb"):
        with pytest.raises(OptionError, match="cannot hold the name"):
            op.write_jkl(tmp_path / "s.jkl", op.Dataset((name, "b"), np.eye(3, 2)))
    wide = op.Dataset(tuple(f"x{i}" for i in range(100)), np.eye(200, 100))
    with pytest.raises(TooLargeError, match="smaller max_parents"):
        op.write_jkl(tmp_path / "s.jkl", wide, max_parents=5)


def test_numbers_as_others_write_them(tmp_path: Path) -> None:
    (tmp_path / "s.jkl").write_text("2\n\n0 2\n -1.5e1\t0\r\n-inf 1 1\n1 1\n-7 0\n")
    assert op.read_jkl(tmp_path / "s.jkl") == {
        "0": {frozenset(): -15.0, frozenset({"1"}): -np.inf},
        "1": {frozenset(): -7.0},
    }
