"""From what a user gives to what engines take: the data, the score and the prior as one model."""

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from outpoint import __version__
from outpoint.data import Data, Dataset
from outpoint.data.loading import load
from outpoint.errors import TooLargeError
from outpoint.naming import count_of, named
from outpoint.options import Options
from outpoint.scores import (
    SCORES,
    CustomScore,
    FamilyScorer,
    Knowledge,
    LocalScore,
    StructurePrior,
    bind_score,
    build_prior,
    has_model,
    know_given,
    note_few_rows,
    note_holes,
    note_units,
    reading_for,
    refuse_unobserved,
    resolve_knowledge,
    resolve_prior,
    resolve_score,
    score_given,
)
from outpoint.tables import ScoreTable, build_table, check_max_parents


def read(data: Data, asked: Options, *, keep: bool = False, keeps_holes: bool = False) -> Dataset:
    """The data, read as ``asked`` and as the score needs them; with ``keep`` no column is left out.

    ``keeps_holes`` says that missing values can be integrated out, if the score has a model.
    """
    asked = replace(asked, **{"keep": keep, **reading_for(asked.score)})
    return load(data, asked, keeps_holes=keeps_holes and has_model(asked.score))


MOST_COLUMNS = 3000
"""Most variables of a table: beyond, some matrices of all pairs take a few GB."""

MOST_TOGETHER = 1000
"""Most variables that are sampled or searched together, which takes minutes."""


@dataclass(frozen=True)
class Problem:
    """What choosing candidates and sampling need of a model: scores and a prior."""

    names: tuple[str, ...]
    scorer: FamilyScorer
    prior: StructurePrior
    max_parents: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    def tabulate(
        self,
        n_candidates: int | None,
        pool: Executor | None = None,
        *,
        only_winners: bool = False,
    ) -> ScoreTable:
        """Score all families; None chooses the number of candidate parents by the size.

        With ``only_winners`` sets that cannot be in a best DAG may be missing.
        """
        return build_table(
            self.names,
            self.scorer,
            self.prior,
            max_parents=self.max_parents,
            n_candidates=n_candidates,
            only_winners=only_winners,
            pool=pool,
        )


@dataclass(frozen=True)
class Model:
    """A checked data set with the score and the prior that every family gets."""

    data: Dataset
    score: LocalScore
    scorer: FamilyScorer
    structure_prior: str
    knowledge: Knowledge
    prior: StructurePrior
    max_parents: int
    remarks: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        """The scores and the prior, all that sampling needs."""
        return Problem(self.data.names, self.scorer, self.prior, self.max_parents)

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the scores, but for knowledge and a function of the user; with remarks."""
        return {
            "data": self.data.fingerprint(),
            "score": "custom" if self.score.name == "custom" else repr(self.score),
            "structure prior": self.structure_prior,
            "max_parents": self.max_parents,
            "remarks": list(self.remarks),
        }

    @property
    def scores_digest(self) -> str | None:
        """A digest of all that decides the scores of families; None for a custom score."""
        if self.score.name not in SCORES:
            return None
        digest = hashlib.sha256(json.dumps([__version__, self.facts], sort_keys=True).encode())
        prior = self.prior
        for array in (prior.size_log_weight, prior.edge_log_weight, prior.required):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the data had to assume, what the score makes of their units, and more."""
        return (*note_reading(self.data, self.score), *self.remarks)

    @property
    def record(self) -> dict[str, Any]:
        """The model in the words of a :class:`~outpoint.posterior.RunInfo`."""
        data = self.data
        return {
            "source": data.source,
            "fingerprint": data.fingerprint(),
            "n_observations": data.n_obs,
            "path": data.path,
            "reading": data.reading,
            "kinds": data.kinds,
            "interventions": tuple(
                {"targets": list(targets), "n_rows": n_rows} for targets, n_rows in data.target_sets
            ),
            "notes": self.notes,
            "score": self.score.name,
            "score_settings": _write_score(self.score),
            "structure_prior": self.structure_prior,
            "knowledge": self.knowledge.as_dict(),
            "max_parents": self.max_parents,
        }

    def with_parents(self, most: int) -> "Model":
        """The same with a lower limit on parents; nothing of the rows is computed again."""
        prior = build_prior(
            self.data.names,
            structure_prior=self.structure_prior,
            knowledge=self.knowledge,
            max_parents=most,
        )
        return replace(self, prior=prior, max_parents=most)

    def with_sensible_parents(self) -> "Model":
        """The same with a lower limit, and a remark, if the score finds more not sensible.

        As many parents as are required are always allowed.
        """
        if self.scorer.sensible_parents is None:
            return self
        most = max(self.scorer.sensible_parents, int(self.prior.required.sum(axis=0).max()))
        n_possible = int((self.prior.edge_log_weight > -np.inf).sum(axis=0).max())
        if most >= min(self.max_parents, n_possible):
            return self
        remark = (
            f"at most {count_of(most, 'parent')}, as more can have more joint levels than there "
            f"are rows; {named('max_parents')} allows more"
        )
        return replace(self, max_parents=most, remarks=(remark,))

    def with_remarks(self, notes: Sequence[str]) -> "Model":
        """The same with the remarks among these notes: all but what reading the data says."""
        known = note_reading(self.data, self.score)
        return replace(self, remarks=tuple(note for note in notes if note not in known))

    def is_scored(self, child: int, parents: Sequence[int]) -> bool:
        """Whether the score, prior apart, of a child with these parents is finite."""
        family = np.array([sorted(parents)], dtype=np.int16)
        return bool(np.isfinite(self.scorer.families(child, family)[0]))


def note_reading(data: Dataset, score: LocalScore) -> tuple[str, ...]:
    """What reading the data had to assume, and what the score makes of their units."""
    noted = (*note_holes(data), *data.notes, *note_units(score, data))
    return (*noted, *note_few_rows(data))


def require_fitting(n_nodes: int, most: int) -> None:
    """Refuse more variables than can be worked on, before anything grows with their square."""
    if n_nodes > most:
        what = "searched or sampled together" if most == MOST_TOGETHER else "learned from"
        ways = f"Choose them with {named('columns')}, or leave others out with {named('drop')}"
        if most == MOST_TOGETHER:
            ways += (
                f"; or say which are only ever causes with {named('roots')}, or what comes first "
                f"with {named('tiers')}, which makes smaller parts of them"
            )
        raise TooLargeError(
            f"{n_nodes:,} variables are too many: at most {most:,} can be {what}. {ways}."
        )


def known_to(asked: Options) -> Knowledge:
    """What is known before the data, whichever options say it."""
    return resolve_knowledge(
        asked.knowledge,
        edge_prior=asked.edge_prior,
        forbidden=asked.forbidden,
        required=asked.required,
        tiers=asked.tiers,
        roots=asked.roots,
    )


def prepare(dataset: Dataset, asked: Options) -> Model:
    """Bind the score to data that were read, combine prior and knowledge, refuse what is wrong."""
    require_fitting(dataset.n_nodes, MOST_COLUMNS)
    chosen = resolve_score(asked.score, dataset)
    scorer = bind_score(chosen, dataset, allow_degenerate=asked.allow_degenerate)
    scorer = score_given(dataset, scorer)
    limit = check_max_parents(
        dataset.n_nodes, asked.max_parents, scorer.affordable, asked.n_candidates
    )
    structure_prior = resolve_prior(asked.structure_prior, chosen)
    known = (known_to(asked) | know_given(dataset)).bind(dataset.names)
    prior = build_prior(
        dataset.names, structure_prior=structure_prior, knowledge=known, max_parents=limit
    )
    refuse_unobserved(dataset, prior, allow_degenerate=asked.allow_degenerate)
    model = Model(dataset, chosen, scorer, structure_prior, known, prior, limit)
    return model.with_sensible_parents() if asked.max_parents is None else model


def _write_score(score: LocalScore) -> str:
    """The score as Python code; empty for a score of the user's own."""
    kind = type(score)
    if not kind.__module__.startswith("outpoint.") or isinstance(score, CustomScore):
        return ""
    settings = {own.name: own.default for own in fields(cast(Any, kind))}
    values = {name: getattr(score, name) for name in settings}
    given = [f"{name}={values[name]!r}" for name in settings if values[name] != settings[name]]
    return f"{kind.__name__}({', '.join(given)})"
