"""What was written can be read: every kind of table, score, method and knowledge.

A run is written, read back, and asked everything that the fresh posterior answers.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.posterior import files, stored_models
from tests.figures import leave_out_reports
from tests.grids import covering
from tests.posterior.crafted import Loose
from tests.posterior.test_storage import check_same_answers


def make_table(kinds: str, n_rows: int = 90) -> pd.DataFrame:
    """Columns in which everything depends on a common cause: ``n`` numbers, 2, 3 or 7 levels."""
    rng = np.random.default_rng(3)
    cause = rng.normal(size=n_rows)
    columns: dict[str, Any] = {}
    for place, kind in enumerate(kinds):
        value = cause + rng.normal(size=n_rows)
        if kind == "n":
            columns[f"number {place}"] = value
        else:
            codes = pd.qcut(value, int(kind), labels=False)
            columns[f"level {place}"] = [f"l{code}" for code in codes]
    return pd.DataFrame(columns)


TABLES = ("nnnn", "2222", "3373", "n2n2", "n3n7", "3n73", "n7nn")
SCORES: dict[str, tuple[str, ...]] = {
    "auto": TABLES,
    "blocks": TABLES,
    "conditional-gaussian": ("n2n2", "n3n7", "3n73"),
    "bic": ("nnnn", "3373"),
}
METHODS: dict[str, dict[str, Any]] = {
    "exact": {"method": "exact"},
    "mcmc": {"method": "mcmc", "steps": 200, "draws": 20, "chains": 2},
    "narrow": {"method": "mcmc", "steps": 200, "draws": 20, "chains": 2, "n_candidates": 2},
    "partition+rev": {"method": "partition+rev", "steps": 200, "draws": 20, "chains": 2},
    "structure": {"method": "structure", "steps": 200, "draws": 20, "chains": 2},
}
GIVEN = (
    ("none", "nothing"),
    ("tiers", "one"),
    ("edges", "two"),
    ("roots and prior", "nothing"),
    ("roots and prior", "two"),
)
"""Background knowledge, and what was set from outside."""


def know(kind: str, names: list[str]) -> dict[str, Any]:
    a, b, c, d = names
    return {
        "none": {},
        "tiers": {"tiers": [[b, d], [a, c]]},
        "edges": {"forbidden": [(a, b)], "required": [(c, d)]},
        "roots and prior": {"roots": [b], "edge_prior": 0.3},
    }[kind]


def set_from_outside(kind: str, names: list[str], n_rows: int) -> list[list[str]] | None:
    if kind == "nothing":
        return None
    targets = [[], [names[0]]] if kind == "one" else [[], [names[1]], [names[0], names[2]]]
    return [targets[row % len(targets)] for row in range(n_rows)]


def check_same_effects(one: op.Posterior, other: op.Posterior) -> None:
    assert (one.model is None) == (other.model is None)
    if one.model is None:
        return
    for name, array in one.model.arrays().items():
        np.testing.assert_array_equal(array, other.model.arrays()[name])
    if len(one.model.with_units) >= 2:
        first, second = (post.causal_effects(n_draws=50) for post in (one, other))
        pd.testing.assert_frame_equal(first.table(), second.table(), rtol=0, atol=0)


CASES = [(score, table) for score, tables in SCORES.items() for table in tables]


@pytest.mark.parametrize(("case", "method", "given"), covering(CASES, list(METHODS), GIVEN))
def test_everything_is_read_back(
    case: tuple[str, str],
    method: str,
    given: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave_out_reports(monkeypatch)
    score, kinds = case
    knowledge, targets = given
    table = make_table(kinds)
    names = list(table.columns)
    fresh = op.learn(
        table,
        score,
        max_parents=2,
        seed=1,
        **METHODS[method],
        **know(knowledge, names),
        interventions=set_from_outside(targets, names, len(table)),
        out=tmp_path / "run",
    )
    stored = op.load(tmp_path / "run")
    check_same_answers(fresh, stored)
    check_same_effects(fresh, stored)
    stored.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "run/posterior.npz").read_bytes()


def test_a_run_reads_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that would be refused later is told at once, and the other results are kept."""
    leave_out_reports(monkeypatch)
    fields = dict(stored_models.MODEL_FIELDS)
    fields["model_owner"] = fields["model_owner"]._replace(most=1.0)
    monkeypatch.setattr(stored_models, "MODEL_FIELDS", fields)
    with pytest.raises(op.OutpointError, match="does not read back as it was written"):
        op.learn(make_table("n3n7"), max_parents=2, seed=1, out=tmp_path / "run")
    assert (tmp_path / "run/edges.csv").exists()


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("edges", lambda values: values * 0.999, "its edges have other probabilities"),
        ("best_adjacency", lambda values: values * 0, "its best DAG is another one"),
    ],
)
def test_other_answers_in_the_file_are_noticed(
    name: str, change: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out_reports(monkeypatch)
    write = files.write_posterior

    def write_another(posterior: op.Posterior, path: Path) -> None:
        write(posterior, path)
        loose = Loose.of(path.read_bytes())
        loose.arrays[name] = change(loose.arrays[name])
        path.write_bytes(loose.sealed())

    monkeypatch.setattr(files, "write_posterior", write_another)
    with pytest.raises(op.OutpointError, match=told):
        op.learn(make_table("nnnn"), seed=1, out=tmp_path / "run")
