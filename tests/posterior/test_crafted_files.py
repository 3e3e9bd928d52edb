"""Files of posteriors that somebody has made: refused for what is wrong, or answered."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.store import SUFFIX
from outpoint.tables.parent_sets import ParentSets, are_acyclic
from tests.posterior.crafted import Loose, altered, check_answers, declared, npy_bytes
from tests.posterior.test_storage import make, refusal
from tests.runs.problems import python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits memory and time as POSIX does")

KINDS = ("exact", "mcmc", "candidates", "structure+rev")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("good")
    for kind in KINDS:
        make(kind).save(directory / f"{kind}.npz")
    return directory


Change = Callable[[Loose], Any]


def values(name: str, value: Any, where: Any = ...) -> Change:
    """Other values in an array."""

    def change(file: Loose) -> None:
        file.arrays[name] = np.array(file.arrays[name])
        file.arrays[name][where] = value

    return change


def array(name: str, of: Any) -> Change:
    """Another array, made from the old one."""
    return lambda file: file.arrays.update({name: of(file.arrays[name])})


def fact(name: str, value: Any) -> Change:
    """Another fact of the header."""
    return lambda file: file.header.update({name: value})


def told(name: str, value: Any) -> Change:
    """Another fact about the run."""
    return lambda file: file.header["info"].update({name: value})


def instead(name: str, content: bytes) -> Change:
    """Other bytes for an array."""

    def change(file: Loose) -> None:
        del file.arrays[name]
        file.members.append((name + SUFFIX, content))

    return change


def header(content: bytes) -> Change:
    """Other bytes for the header."""
    return lambda file: setattr(file, "text", content)


def itself(kind: str, number: Any) -> Change:
    """What the file says that it is."""
    return fact("outpoint", {"kind": kind, "format": number})


def bomb(file: Loose) -> None:
    """Some hundred kilobytes that are deflated and unpack to 600 MB, more than they can ask for."""
    instead("log_score", declared((4, 19_000_000), "f8", 608_000_000))(file)


def by_another_method(file: Loose) -> None:
    file.method = zipfile.ZIP_LZMA


def elsewhere(file: Loose) -> None:
    file.members.append(("../log_score.npy", npy_bytes(file.arrays.pop("log_score"))))


def many_names(file: Loose) -> None:
    """So many variables that their matrices would take gigabytes."""
    n = 9000
    file.header["names"] = [f"v{i}" for i in range(n)]
    told("kinds", [])(file)
    for name in ("missing_mass", "missing_edges"):
        del file.arrays[name]
    for name in (
        "codes",
        "best_code",
        "start_code",
        "edges",
        "edge_batches",
        "candidates",
    ):
        old = file.arrays[name]
        axis = old.ndim - (2 if name in ("edges", "edge_batches", "candidates") else 1)
        shape = [n if i == axis else size for i, size in enumerate(old.shape)]
        file.arrays[name] = np.zeros(shape, old.dtype)


# the good file, the change, and what the sentence must name
CRAFTED: dict[str, tuple[str, Change, str]] = {
    "cyclic draws": ("mcmc", values("codes", 15), "a graph has a cycle"),
    "one cyclic draw": ("mcmc", values("codes", 15, (3, 7)), "a graph has a cycle"),
    "cyclic best DAG": ("mcmc", values("best_code", 15, 2), "a graph has a cycle"),
    "cyclic start": ("mcmc", values("start_code", 15, 1), "a graph has a cycle"),
    "cyclic exact draw": ("exact", values("dags", 1, 12), "is its own parent"),
    "cyclic exact draw without loops": (
        "exact",
        values("dags", 1 - np.eye(5), 12),
        "a graph has a cycle",
    ),
    "cyclic exact best": ("exact", values("best_adjacency", 1 - np.eye(5)), "a graph has a cycle"),
    "candidate -1": ("mcmc", values("candidates", -1, (2, 1)), "candidate"),
    "candidate beyond": ("mcmc", values("candidates", 5, (2, -1)), "candidate is not a node"),
    "candidate twice": ("mcmc", array("candidates", lambda old: old * 0 + 3), "not distinct"),
    "candidate itself": ("exact", values("candidates", 2, (2, 2)), "a node is its own candidate"),
    "unsorted candidates": ("exact", values("candidates", 2, (2, 0)), "distinct and in order"),
    "code of no set": ("mcmc", values("codes", 16, (0, 0, 0)), "parent set does not exist"),
    "code of no outside set": ("candidates", values("codes", -1000, (0, 0, 0)), "does not exist"),
    "outside member": (
        "candidates",
        values("outside_members", 5, (0, 0)),
        "parent set is not a node",
    ),
    "outside member twice": ("candidates", values("outside_members", 1, 0), "a node twice"),
    "outside edge of nowhere": (
        "candidates",
        values("outside_pairs", 99, (0, 0)),
        "edge is not between",
    ),
    "outside edge twice": (
        "candidates",
        array("outside_pairs", lambda old: np.repeat(old[:1], len(old), axis=0)),
        "counted twice",
    ),
    "edge from a candidate": (
        "candidates",
        lambda file: values("outside_pairs", [file.arrays["candidates"][3, 0], 3], 0)(file),
        "from a candidate",
    ),
    "probability -5": ("exact", values("edges", -5.0, (0, 1)), "'edges' has values out of range"),
    "probability 1.5": ("mcmc", values("edges", 1.5), "'edges' has values out of range"),
    "probability NaN": ("exact", values("ancestors", np.nan, (0, 1)), "'ancestors' has values"),
    "batch of -5": ("mcmc", values("edge_batches", -5.0, 0), "'edge_batches' has values"),
    "parent sets beyond 1": ("exact", values("log_parent_sets", 0.0, 2), "do not add up to 1"),
    "parent sets of nothing": ("exact", values("log_parent_sets", -np.inf), "do not add up to 1"),
    "parent sets NaN": (
        "exact",
        values("log_parent_sets", np.nan, (0, 0)),
        "log probabilities are not numbers up to 0",
    ),
    "infinite score": ("mcmc", values("log_score", np.inf, (0, 0)), "'log_score' has values"),
    "bits of 2": ("exact", values("dags", 2, (0, 0, 1)), "'dags' has values out of range"),
    "freedom NaN": ("exact", values("model_degrees_of_freedom", np.nan), "degrees_of_freedom'"),
    "freedom -7": ("mcmc", values("model_degrees_of_freedom", -7.0), "no degrees of freedom"),
    "singular model": ("mcmc", values("model_factor", 0.0), "singular"),
    "infinite model": (
        "mcmc",
        values("model_factor", np.inf, (0, 0, 1)),
        "'model_factor' has values",
    ),
    "scale -1": ("mcmc", values("model_scales", -1.0, 1), "'model_scales' has values"),
    "group beyond": ("mcmc", values("model_group", 1.0, 2), "a variable has no model"),
    "group between": ("exact", values("model_group", -0.5, 2), "a variable has no model"),
    "target of no name": (
        "exact",
        told("interventions", [{"targets": ["nobody"], "n_rows": 1}]),
        "a target is not a variable",
    ),
    "intervention without rows": (
        "mcmc",
        told("interventions", [{"targets": [], "n_rows": -3}]),
        "has no rows",
    ),
    "rows of other interventions": (
        "exact",
        told("interventions", [{"targets": [], "n_rows": 1}]),
        "not those of the rows",
    ),
    "column of nobody": ("mcmc", values("model_owner", 7.0, 1), "belongs to no variable"),
    "column of another": ("mcmc", values("model_owner", 0.0, 1), "does not have one column"),
    "power beyond 1": ("mcmc", values("power", 7.0, (0, 1)), "'power' has values out of range"),
    "gap in a ladder": ("mcmc", values("power", np.nan, (0, 0)), "a ladder has gaps"),
    "more accepted": ("mcmc", values("accepted", 2**40), "more was accepted than tried"),
    "negative counts": ("mcmc", values("attempts", -1, 0), "'attempts' has values out of range"),
    "thinned by 0": ("mcmc", values("thin", 0), "'thin' has values out of range"),
    "no chains": ("mcmc", array("codes", lambda old: old[:0]), "shape"),
    "no draws": (
        "mcmc",
        lambda file: [
            array(name, lambda old: old[:, :0])(file)
            for name in ("codes", "log_score", "log_weight")
        ],
        "no draws",
    ),
    "fewer draws": (
        "mcmc",
        array("log_score", lambda old: old[:, 1:]),
        "'log_score' has the shape",
    ),
    "transposed": ("exact", array("log_parent_sets", lambda old: old.T), "has the shape (16, 5)"),
    "flat": ("mcmc", array("edges", lambda old: old.ravel()), "'edges' has the shape"),
    "complex": ("mcmc", array("edges", lambda old: old * 1j), "'edges' has the wrong type"),
    "texts": ("mcmc", array("thin", lambda old: old.astype("S")), "'thin' has the wrong type"),
    "real codes": ("mcmc", array("codes", lambda old: old * 1.0), "'codes' has the wrong type"),
    "32 GB of draws": ("mcmc", instead("codes", declared((4, 400_000_000, 5), "i4")), "its size"),
    "less than nothing": (
        "mcmc",
        instead("thin", declared((-2, -2), "i8", 32)),
        "has the shape (-2, -2)",
    ),
    "more than it says": ("mcmc", instead("thin", declared((4,), "i8", 99)), "its size"),
    "600 MB in a few": ("mcmc", bomb, "has the shape (4, 19000000)"),
    "packed otherwise": ("exact", by_another_method, "stored in an unusual way"),
    "in another folder": ("mcmc", elsewhere, "'log_score' is missing"),
    "twice": ("mcmc", lambda file: file.members.append(("thin.npy", b"x")), "occurs twice"),
    "no array": ("mcmc", instead("thin", b"some text"), "not a complete posterior"),
    "objects": ("mcmc", instead("thin", declared((4,), "O", 32)), "its size"),
    "9,000 variables": ("candidates", many_names, "larger than the file"),
    "a million names": (
        "mcmc",
        fact("names", [f"v{i}" for i in range(10_001)]),
        "at most 10,000 nodes",
    ),
    "names twice": ("mcmc", fact("names", ["a", "a", "c", "d", "e"]), "distinct"),
    "one name": ("exact", fact("names", ["a"]), "two or more"),
    "names of numbers": ("exact", fact("names", [1, 2, 3, 4, 5]), "must be strings"),
    "names as a text": ("exact", fact("names", "abcde"), "a list of two or more"),
    "deep description": ("exact", header(b"[" * 60_000), "nested too deeply"),
    "numbers for a text": ("exact", fact("info", [1.0]), "is not a table"),
    "no text at all": ("exact", header(b"\xff\xfe"), "can't decode"),
    "a text for a number": ("exact", fact("log_evidence", "high"), "is not a number"),
    "format of many": ("exact", itself("posterior", [0, 1, 2]), "has format [0, 1, 2]"),
    "another kind of file": ("exact", itself("checkpoint", 7), "is not a posterior of outpoint"),
    "nothing of itself": ("exact", header(b"{}"), "is not a posterior of outpoint"),
    "a list": ("exact", header(b"[]"), "its header is not a table"),
    "evidence of many": ("exact", fact("log_evidence", [0.0, 1.0, 2.0]), "is not a number"),
    "evidence NaN": ("exact", fact("log_evidence", np.nan), "not a finite number"),
    "evidence below the best": ("exact", fact("log_evidence", -1e9), "more than the evidence"),
    "lost mass": ("candidates", fact("lost_mass", -1.0), "'lost_mass' is out of range"),
    "endless mass": ("candidates", fact("lost_mass", -np.inf), "not a finite number"),
    "missing mass": (
        "candidates",
        values("missing_mass", 1.5, 2),
        "'missing_mass' has values out of range",
    ),
    "neither kind": ("exact", fact("posterior", "guessed"), "no 'guessed' posterior"),
    "the other kind": ("mcmc", fact("posterior", "exact"), "computed exactly"),
    "unknown sampler": ("mcmc", told("method", "magic"), "no sampler 'magic'"),
    "moves": ("mcmc", fact("moves", ["hop"]), "'attempts' has the shape"),
    "seed in words": ("mcmc", told("seed", "lucky"), "'seed' of the run has the wrong type"),
    "infinite seed": ("mcmc", told("options", {"steps": float("inf")}), "not a finite number"),
    "unknown fact": ("mcmc", told("colour", "red"), "the run has no 'colour'"),
    "parents": ("exact", told("max_parents", 99), "max_parents is out of range"),
    "kinds": ("exact", told("kinds", ["continuous"]), "one kind for each variable"),
    "knowledge": ("exact", told("knowledge", {"required": 7}), "the background knowledge is wrong"),
    "knowledge of others": (
        "exact",
        told("knowledge", {"roots": ["zz"]}),
        "the background knowledge is wrong",
    ),
    "a program as the score": (
        "exact",
        told("score_settings", "BGe(alpha_mu=__import__('os').getpid())"),
        "malformed",
    ),
    "another function": ("exact", told("score_settings", "load('x')"), "not one of outpoint's"),
    "a second line": ("exact", told("fingerprint", "0\nimport os"), "fingerprint"),
    "a program as an option": ("mcmc", told("options", {"a=1)#": 1}), "an option has no name"),
}


@pytest.mark.attack("result files with crafted content", "one sentence that says what is wrong")
@pytest.mark.parametrize("craft", CRAFTED)
def test_crafted_files_are_refused(place: Path, tmp_path: Path, craft: str) -> None:
    kind, change, fragment = CRAFTED[craft]
    good = (place / f"{kind}.npz").read_bytes()
    assert fragment in refusal(altered(good, change), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_altered_is_answered(place: Path, tmp_path: Path, kind: str) -> None:
    again = altered((place / f"{kind}.npz").read_bytes(), lambda file: None)
    (tmp_path / "again.npz").write_bytes(again)
    check_answers(op.load(tmp_path / "again.npz"))


def fuzz(place: Path, first: int, last: int) -> None:
    done = python("-m", "tests.posterior.crafted", str(place), str(first), str(last))
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["refused"] + found["answered"] == last - first
    assert min(found["refused"], found["answered"]) > (last - first) / 10, "both happen"
    assert found["megabytes"] < 500


@pytest.mark.attack("result files with random changes", "a sentence or valid answers", times=50)
def test_randomly_altered_files(place: Path) -> None:
    """In a process of its own: a crash, an endless loop or much memory would end it."""
    fuzz(place, 0, 50)


@pytest.mark.long
@pytest.mark.attack("result files with random changes", times=4000)
def test_many_randomly_altered_files(place: Path) -> None:
    fuzz(place, 1000, 5000)


@pytest.mark.attack("special files as results", "one sentence", times=3)
def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe", tmp_path):
        with pytest.raises(op.DataError, match=r"is not a file|there is no file"):
            op.load(path)


SUMMARIES = ['{"elapsed_seconds": 1e999}', '{"elapsed_seconds": -1}', '{"elapsed_seconds": "nan"}']
SUMMARIES += ["[" * 60_000, '{"elapsed_seconds": ' + "9" * 5000 + "}", "[]", "{}"]


@pytest.mark.parametrize("summary", SUMMARIES, ids=range(len(SUMMARIES)))
def test_crafted_summaries_do_not_matter(place: Path, tmp_path: Path, summary: str) -> None:
    (tmp_path / "posterior.npz").write_bytes((place / "exact.npz").read_bytes())
    (tmp_path / "summary.json").write_text(summary)
    assert op.load(tmp_path).info.elapsed_seconds is None


@pytest.mark.parametrize("n", [2, 5, 9])
def test_cycles_are_found_as_by_powers_of_the_matrix(n: int) -> None:
    rng = np.random.default_rng(n)
    candidates = np.array([[u for u in range(n) if u != v] for v in range(n)], dtype=np.int32)
    members = np.array([[*rng.permutation(n)[:2], -1] for _ in range(20)], dtype=np.int16)
    sets = ParentSets(candidates[:, : max(1, n - 2)], members)
    n_inside = 1 << sets.candidates.shape[1]
    seen = set()
    for _ in range(400):
        codes = rng.integers(0, n_inside, n) & rng.integers(0, n_inside, n)
        codes = np.where(rng.random(n) < 0.2, ~rng.integers(0, 20, n), codes)
        codes = np.where(rng.random(n) < 0.4, 0, codes).astype(np.int32)
        matrix = sets.adjacencies(codes[None])[0].astype(np.int64)
        power, truth = np.eye(n, dtype=np.int64), True
        for _ in range(n):
            power = np.minimum(power @ matrix, 1)
            truth = truth and not power.trace()
        assert are_acyclic(codes, sets) == truth
        seen.add(truth)
    assert seen == {True, False}
