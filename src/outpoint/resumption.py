"""Resuming: what a run says about itself, and whether that is what it is now asked for.

A run that is continued takes from itself what is not said again. What it cannot take from itself,
the data, the score and background knowledge, has to be given, and has to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from outpoint.arguments import PLANNED, STOPS, Arguments, differs
from outpoint.data import Dataset
from outpoint.errors import CheckpointError
from outpoint.graphs import Dag
from outpoint.posterior import Posterior, RunInfo, load
from outpoint.runs import REQUEST, STOPPING, RunDirectory, saved_facts
from outpoint.runs.directory import nothing_to_resume
from outpoint.runs.manifest import SAME_SCORE, other_scores, refuse_changes


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A run in a directory; ``posterior`` are its results, if nothing else is left of it.

    ``options`` are those of sampling that were given when it began, ``stops`` say when it was to
    stop.
    """

    run: RunDirectory
    data: str
    method: str
    seed: int
    max_parents: int
    structure_prior: str
    options: Mapping[str, Any]
    stops: Mapping[str, Any]
    planned_steps: int | None = None
    posterior: Posterior | None = None

    def adopt(self, asked: Arguments, defaults: Arguments, data: Dataset) -> dict[str, Any]:
        """What was asked for, with the run's own options where none are given."""
        refuse_changes(self.run, {"data": self.data}, {"data": data.fingerprint()})
        own = {
            "method": self.method,
            "seed": self.seed,
            "max_parents": self.max_parents,
            "structure_prior": self.structure_prior,
            PLANNED: self.planned_steps,
            **self.options,
        }
        if all(asked[name] is None for name in STOPS):
            own |= {name: self.stops.get(name) for name in STOPS}
        adopted = {
            name: value if differs(value, defaults[name]) else own.get(name, value)
            for name, value in asked.items()
            if name in defaults
        }
        refuse_changes(self.run, {"method": self.method}, {"method": adopted["method"]})
        return adopted

    def finished(self, now: RunInfo, log_score: Callable[[Dag], float]) -> Posterior:
        """The results, if the run is complete and is what is asked for."""
        assert self.posterior is not None
        before, after = _facts(self.posterior.info), _facts(now)
        refuse_changes(self.run, before, after)
        was, asked = self.posterior.info.options, now.options
        is_longer = any(was.get(name) != asked.get(name) for name in STOPS)
        if is_longer or not self.posterior.is_complete:
            raise CheckpointError(nothing_to_resume(self.run))
        best = self.posterior.map_log_score
        found = log_score(self.posterior.map_dag)
        if not isclose(best, found, rel_tol=SAME_SCORE, abs_tol=SAME_SCORE):
            raise other_scores(self.run)
        return self.posterior


def find_saved(run: RunDirectory) -> SavedRun | None:
    """The run in a directory, by its checkpoints or else by its results; None without either."""
    facts = saved_facts(run)
    if facts is not None:
        stopping = facts[STOPPING]
        return SavedRun(
            run=run,
            data=facts["data"],
            method=facts["method"],
            seed=facts["seed"],
            max_parents=facts["max_parents"],
            structure_prior=facts["structure prior"],
            options=_options(run.identity, facts[REQUEST]),
            stops=stopping,
            planned_steps=stopping.get(PLANNED),
        )
    if run.has_checkpoint or not run.posterior.exists():
        return None
    posterior = load(run.path)
    info = posterior.info
    return SavedRun(
        run=run,
        data=info.fingerprint,
        method=info.method,
        seed=info.seed,
        max_parents=info.max_parents,
        structure_prior=info.structure_prior,
        options=_options(
            run.posterior, {name: own for name, own in info.options.items() if name not in STOPS}
        ),
        stops=info.options,
        posterior=posterior,
    )


def _options(path: Path, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they were given, from what JSON in the file at ``path`` can hold of them."""
    start = saved.get("start")
    if not isinstance(start, Mapping):
        return dict(saved)
    try:
        dag = Dag.from_edges(start["names"], [tuple(edge) for edge in start["edges"]])
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} has no DAG to start from ({error}).") from None
    return {**saved, "start": dag}


def _facts(info: RunInfo) -> dict[str, Any]:
    """What must be the same for results to be those that are asked for."""
    return {
        "data": info.fingerprint,
        "score": info.score_settings or info.score,
        "structure prior": info.structure_prior,
        "max_parents": info.max_parents,
        "knowledge": info.knowledge,
        "method": info.method,
        "seed": info.seed,
        **{name: value for name, value in info.options.items() if name not in STOPS},
    }
