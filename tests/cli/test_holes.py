"""Every command on a run that integrated missing values out, with numbers, levels and both."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.conftest import Run

QUESTIONS = {
    "effects": ["effects", "run"],
    "one effect": ["effects", "run", "--cause", "x", "--effect", "y"],
    "probability": ["probability", "run", "x -- y"],
    "adjustment sets": ["adjustment-sets", "run", "x", "y"],
    "next experiment": ["next-experiment", "run"],
    "prediction": ["predict", "run", "table.csv", "--target", "y"],
    "rows": ["sample", "run", "-n", "5"],
    "parameters": ["parameters", "run"],
    "export": ["export", "run", "map.dot"],
    "comparison": ["compare", "run", "run"],
    "report": ["report", "run", "--out", "report.html"],
}


def write_table(kind: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=60)
    table = pd.DataFrame({"x": x, "y": x + rng.normal(size=60), "z z": rng.normal(size=60)})
    if kind == "levels":
        table = pd.DataFrame({name: np.digitize(table[name], [-0.5, 0.5]) for name in table})
        table = table.replace({0: "low", 1: "some", 2: "much"})
    elif kind == "both":
        table["group"] = np.where(table["y"] > 0.5, "u", np.where(table["x"] > 0, "v", "w"))
    table = table.astype(object)
    table.iloc[3:9, 1] = table.iloc[20:24, -1] = None
    table.to_csv("table.csv", index=False)


@pytest.mark.parametrize("kind", ["numbers", "levels", "both"])
def test_every_question_is_answered(run: Run, kind: str) -> None:
    write_table(kind)
    learned = run("learn", "table.csv", "--steps", "20", "--seed", "1", "--out", "run")
    assert learned.code == 0, learned.err
    assert "cells are missing" in learned.out
    for name, words in QUESTIONS.items():
        answer = run(*words)
        assert answer.code == 0, f"{name}: {answer.err}"
    assert Path("map.dot").exists()
