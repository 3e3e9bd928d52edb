"""From what a user gives to what engines take: the data, the score and the prior as one model."""

from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from outpoint.data import Data, Dataset, load_dataset
from outpoint.errors import OptionError
from outpoint.scores import (
    FamilyScorer,
    Knowledge,
    LocalScore,
    Score,
    StructurePrior,
    build_prior,
    note_units,
    resolve_score,
)
from outpoint.tables import ScoreTable, build_table, check_max_parents


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

    @property
    def facts(self) -> dict[str, Any]:
        """What decides the scores, apart from a user's function and background knowledge."""
        return {
            "data": self.data.fingerprint(),
            "score": "custom" if self.score.name == "custom" else repr(self.score),
            "structure prior": self.structure_prior,
            "max_parents": self.max_parents,
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading the data had to assume, and what the score makes of their units."""
        return (*self.data.notes, *note_units(self.score, self.data))

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
            self.data.names,
            self.scorer,
            self.prior,
            max_parents=self.max_parents,
            n_candidates=n_candidates,
            only_winners=only_winners,
            pool=pool,
        )


def prepare(
    data: Data,
    *,
    score: Score,
    max_parents: int | None,
    structure_prior: str,
    knowledge: Knowledge,
    allow_degenerate: bool,
) -> Model:
    """Read the data, combine prior and knowledge, and bind the score; refuse what is wrong."""
    dataset = load_dataset(data)
    limit = check_max_parents(dataset.n_nodes, max_parents)
    known = knowledge.bind(dataset.names)
    prior = build_prior(
        dataset.names, structure_prior=structure_prior, knowledge=known, max_parents=limit
    )
    chosen = resolve_score(score, dataset)
    scorer = chosen.bind(dataset, allow_degenerate=allow_degenerate)
    return Model(dataset, chosen, scorer, structure_prior, known, prior, limit)


def checked_seed(seed: int | None) -> int:
    """The seed, or a fresh one if none is given."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise OptionError(f"a seed is a whole number from 0, not {seed!r}.")
    return int(seed)


def checked_count(value: Any, name: str, least: int) -> int:
    """A whole number from ``least`` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} is a whole number from {least}, not {value!r}.")
    return int(value)
