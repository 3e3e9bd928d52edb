"""Resuming: what a run says about itself, and whether that is what is asked for now.

A run that is continued takes from itself what is not said again. What it cannot take from itself,
the data, the score and background knowledge, has to be given, and has to be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isclose
from pathlib import Path
from typing import Any

from outpoint.data import Dataset
from outpoint.errors import CheckpointError
from outpoint.graphs import Dag
from outpoint.options import OPTIONS, Options, Role, names_of
from outpoint.posterior import Posterior, RunInfo, load
from outpoint.posterior.augmented import METHODS
from outpoint.runs import REQUEST, STOPPING, RunDirectory, saved_facts
from outpoint.runs.directory import nothing_to_resume
from outpoint.runs.manifest import SAME_SCORE, other_scores, refuse_changes
from outpoint.sampling import PLANNED

STOPS = tuple(name for name in names_of(Role.STOP) if not OPTIONS[name].has_own_place)
"""Options that say when to stop, which may be others when a run is continued."""


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """A run in a directory; ``posterior`` are its results, if nothing else is left of it.

    ``own`` are its options, except for the ``stops``, which say when it was to stop; ``notes`` say,
    among other things, what it chose by itself and why.
    """

    run: RunDirectory
    data: str
    own: Mapping[str, Any]
    stops: Mapping[str, Any]
    notes: tuple[str, ...]
    posterior: Posterior | None = None

    def adopt(self, asked: Options, data: Dataset) -> Options:
        """What was asked for, with the run's own options where none are given."""
        refuse_changes(self.run, {"data": self.data}, {"data": data.fingerprint()})
        own = dict(self.own)
        if not any(asked.is_given(name) for name in STOPS):
            own |= {name: self.stops.get(name) for name in STOPS}
        method = self.own["method"]
        if asked.is_given("method") and asked.method not in (method, METHODS.get(method)):
            refuse_changes(self.run, {"method": method}, {"method": asked.method})
        return replace(asked, **{name: own[name] for name in own if not asked.is_given(name)})

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
        stops = facts[STOPPING]
        own = {
            **_restored(run.identity, facts[REQUEST]),
            "method": facts["method"],
            "seed": facts["seed"],
            "max_parents": facts["max_parents"],
            "structure_prior": facts["structure prior"],
            PLANNED: stops.get(PLANNED),
        }
        notes = tuple(map(str, facts["remarks"]))
        return SavedRun(run=run, data=facts["data"], own=own, stops=stops, notes=notes)
    if run.has_checkpoint or not run.posterior.exists():
        return None
    posterior = load(run.path)
    info = posterior.info
    own = {
        **_restored(run.posterior, _without_stops(info.options)),
        "method": info.method,
        "seed": info.seed,
        "max_parents": info.max_parents,
        "structure_prior": info.structure_prior,
    }
    return SavedRun(
        run=run,
        data=info.fingerprint,
        own=own,
        stops=info.options,
        notes=info.notes,
        posterior=posterior,
    )


def _restored(path: Path, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they were given, from what JSON in the file at ``path`` holds of them."""
    restored = {}
    for name, value in saved.items():
        try:
            restored[name] = OPTIONS[name].kind.from_json(value)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} holds no usable {name} ({error}).") from None
    return restored


def _without_stops(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in STOPS}


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
        **_without_stops(info.options),
    }
