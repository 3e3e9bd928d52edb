"""Raw units on the command line: a note where they matter, and none by default."""

from pathlib import Path

import numpy as np
import pytest

from .conftest import Run, table

NOTE = (
    "; in raw units the means of 'kelvin' and 'hpa' are more than 10 standard deviations from 0, "
    "where BGe's prior has them, so independent columns can get edges"
)


@pytest.fixture(autouse=True)
def weather(run: Run) -> None:
    """A file in the directory of the test, which ``run`` makes."""
    values = np.random.default_rng(3).normal([288, 1013, 1], [9, 8, 1], size=(200, 3)).round(3)
    Path("weather.csv").write_text(table("kelvin,hpa,other", values))
    Path("dag.csv").write_text("parent,child\nkelvin,hpa\n")


COMMANDS = {"learn": [], "map": [], "score": ["dag.csv"]}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_note_stands_with_the_data(run: Run, command: str) -> None:
    data = "Data      weather.csv: 200 observations of 3 continuous variables"
    words = [command, "weather.csv", *COMMANDS[command]]
    plain = run(*words)
    assert (plain.code, plain.err, plain.out.splitlines()[0]) == (0, "", data)
    raw = run(*words, "--raw-units")
    assert (raw.code, raw.err, raw.out.splitlines()[0]) == (0, "", data + NOTE)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_former_option_is_gone(run: Run, command: str) -> None:
    outcome = run(command, "weather.csv", *COMMANDS[command], "--standardize")
    assert outcome.code == 2
    assert "--standardize" in outcome.err
