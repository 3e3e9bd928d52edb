"""What a new user does with a table: learn from it, then every command on the run.

All of it happens in one process, in a folder of its own, by the function behind ``outpoint``.
"""

import io
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import outpoint as op
from outpoint import learning
from outpoint.cli import main
from outpoint.naming import command_line

GIVEN = 30.0
"""Seconds that ``learn`` is given."""

RUN, FILE, LAST = "run", "the table", "the last variable"
"""Words of commands: the directory of the run, and two that each table has its own for."""

LEARN = ("--time", f"{GIVEN:.0f}s", "--seed", "1", "--out", RUN)
COMMANDS = {
    "effects": ("effects", RUN, "--seed", "1"),
    "report": ("report", RUN, "--out", "report.html"),
    "export map": ("export", RUN, "map.dot"),
    "export median": ("export", RUN, "median.bn", "--what", "median"),
    "export consensus": ("export", RUN, "consensus.dagitty", "--what", "consensus"),
    "export probabilities": ("export", RUN, "edges.graphml", "--what", "probabilities"),
    "export edges": ("export", RUN, "edges.csv", "--what", "edges"),
    "export arviz": ("export", RUN, "draws.nc", "--what", "arviz"),
    "compare": ("compare", RUN, RUN, "--quiet"),
    "parameters": ("parameters", RUN),
    "predict": ("predict", RUN, FILE, "--target", LAST, "--out", "predicted.csv"),
    "predict densities": ("predict", RUN, FILE, "--out", "densities.csv"),
    "sample": ("sample", RUN, "-n", "50", "--seed", "1", "--out", "rows.csv"),
}
"""The commands that are tried on a run, all but ``learn``."""

ORDER = ("learn", *COMMANDS, "load", "run again")
"""The steps of a trial."""

DONE, REFUSED, FAILED, LATE = "done", "refused", "failed", "no answer in time"


@dataclass
class Step:
    """A command, how it ended, and what it said: on standard error unless it was done."""

    name: str
    outcome: str
    seconds: float = 0.0
    processor_seconds: float = 0.0
    said: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


def try_table(file: Path, tell: Callable[[Any], None], *, again: bool) -> None:
    """Try everything on a file, in the folder in which the process is.

    ``tell`` is called with a :class:`Step` after each command, and with what is known of the run
    (a dictionary) after the first. ``again`` also makes the run again.
    """
    words = ("learn", os.path.relpath(file), *LEARN)
    with _kept_posterior() as kept:
        learned = run("learn", words)
    tell(learned)
    if learned.outcome != DONE:
        return
    facts = describe(Path(RUN), learned.said)
    tell(facts)
    own = {FILE: os.path.relpath(file), LAST: list(facts["kinds"])[-1]}
    for name, command in COMMANDS.items():
        step = run(name, tuple(own.get(word, word) for word in command))
        tell(_expect_no_difference(step) if name == "compare" else step)
    with command_line():  # whose words stand in the verdict of the fresh posterior
        tell(_called("load", lambda: check_answers(kept["posterior"], op.load(Path(RUN)))))
    if again:
        tell(_called("run again", lambda: _make_again(kept["again"], Path(RUN).absolute())))


def run(name: str, words: tuple[str, ...]) -> Step:
    """Call the command line with these words and keep what it says."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["outpoint", *words]
    begun = time.perf_counter(), time.process_time()
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as error:
            code = error.code or 0
    took = time.perf_counter() - begun[0], time.process_time() - begun[1]
    outcome = {0: DONE, 2: REFUSED}.get(code, FAILED)
    return Step(name, outcome, *took, out.getvalue() if outcome == DONE else err.getvalue().strip())


@contextmanager
def _kept_posterior() -> Iterator[dict[str, Any]]:
    """Inside, what ``learn`` returns to the command line is kept, with the command to repeat it."""
    kept: dict[str, Any] = {}
    learn = learning.learn

    def keeping(*values: Any, **options: Any) -> Any:
        kept["posterior"] = learn(*values, **options)
        kept["again"] = options["command"](kept["posterior"])
        return kept["posterior"]

    learning.learn = keeping
    try:
        yield kept
    finally:
        learning.learn = learn


def describe(directory: Path, printed: str) -> dict[str, Any]:
    """What a run says of itself: its columns, what was decided about the table, its verdict."""
    summary = json.loads((directory / "summary.json").read_text())
    return {
        "n_observations": summary["n_observations"],
        "kinds": summary["kinds"],
        "notes": summary["notes"],
        "method": summary["method"],
        "converged": summary["converged"],
        "printed": printed,
    }


def _called(name: str, function: Callable[[], None]) -> Step:
    """A function as a step; any exception is a failure."""
    begun = time.perf_counter(), time.process_time()
    outcome, said = DONE, ""
    try:
        function()
    except Exception as error:
        outcome, said = FAILED, f"{type(error).__name__}: {error}"
    took = time.perf_counter() - begun[0], time.process_time() - begun[1]
    return Step(name, outcome, *took, said)


def _expect_no_difference(step: Step) -> Step:
    """A run compared with itself differs by nothing."""
    if step.outcome == DONE and float(step.said) != 0:
        return Step(step.name, FAILED, step.seconds, step.processor_seconds, step.said)
    return step


def check_answers(fresh: op.Posterior, loaded: op.Posterior) -> None:
    """Raise unless a posterior read back gives the answers of the one that was written."""
    different = [
        name for name, answer in ANSWERS.items() if not _equal(answer(fresh), answer(loaded))
    ]
    if different:
        raise AssertionError(f"not as before: {', '.join(different)}")


ANSWERS: dict[str, Callable[[op.Posterior], Any]] = {
    "names": lambda post: post.names,
    "edge_probabilities": lambda post: post.edge_probabilities,
    "ancestor_probabilities": lambda post: post.ancestor_probabilities,
    "diagnostics": lambda post: post.diagnostics(),
    "cpdag_probabilities": lambda post: post.cpdag_probabilities,
    "map_dag": lambda post: post.map_dag,
    "map_log_score": lambda post: post.map_log_score,
    "log_evidence": lambda post: post.log_evidence,
    "verdict": lambda post: post.verdict,
    "converged": lambda post: post.converged,
    "info": lambda post: post.info.as_summary(post.names),
    "parent_set_probabilities": lambda post: post.parent_set_probabilities(post.names[-1]),
    "top_dags": lambda post: post.top_dags(5)["probability"],
    "causal_effects": lambda post: _effects(post),
}
"""Answers that are cheap."""


def _effects(posterior: op.Posterior) -> Any:
    """The table of effects, or the sentence that there are none."""
    try:
        return posterior.causal_effects(seed=1).table()
    except op.OutpointError as error:
        return str(error)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, pd.DataFrame | pd.Series):
        return one.equals(other)
    return bool(np.all(one == other))


def _make_again(command: str, directory: Path) -> None:
    """Follow the printed command in another folder, and compare the probabilities of all edges."""
    words = shlex.split(command, comments=True)
    Path("again").mkdir()
    os.chdir("again")
    words[2] = os.path.join("..", words[2])
    step = run("run again", tuple(words[1:]))
    if step.outcome != DONE:
        raise AssertionError(step.said)
    found = op.compare_posteriors(op.load(directory), op.load(Path(RUN)))
    if found.largest_difference != 0:
        raise AssertionError(f"edges differ by {found.largest_difference:.3g}")
