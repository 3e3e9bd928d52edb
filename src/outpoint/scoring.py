"""The log score of one DAG, prior included."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from outpoint.data import Data, Dataset, Entry
from outpoint.data.cells import DecimalMark
from outpoint.data.reading import Names, Treatment, UnknownColumnError
from outpoint.errors import GraphError
from outpoint.graphs import Dag
from outpoint.model import known_to, read
from outpoint.naming import enumerate_names
from outpoint.options import Options, carried_out_by
from outpoint.scores import (
    FamilyScorer,
    GivenEdgePrior,
    Knowledge,
    Score,
    StructurePrior,
    bind_score,
    build_prior,
    know_given,
    reading_for,
    resolve_prior,
    resolve_score,
    score_given,
)


def _log_score(data: Data, dag: Dag, asked: Options) -> float:
    """Read the columns of the DAG, and add up the local scores of its nodes."""
    if not isinstance(dag, Dag):
        raise GraphError(f"log_score needs an outpoint.Dag, not {type(dag).__name__}.")
    dataset = _read_for(dag, data, asked)
    if set(dag.names) != set(dataset.names):
        raise GraphError("the DAG's nodes are not the columns of the data.")
    chosen = resolve_score(asked.score, dataset)
    scorer = bind_score(chosen, dataset, allow_degenerate=asked.allow_degenerate)
    prior = build_prior(
        dataset.names,
        structure_prior=resolve_prior(asked.structure_prior, chosen),
        knowledge=known_to(asked) | know_given(dataset),
    )
    scorer = score_given(dataset, scorer)
    return log_score_of(scorer, prior, dag.reorder(dataset.names))


@carried_out_by(_log_score)
def log_score(
    data: Data,
    dag: Dag,
    score: Score = "auto",
    *,
    structure_prior: str | None = None,
    knowledge: Knowledge | str | Path | None = None,
    edge_prior: GivenEdgePrior | None = None,
    forbidden: Iterable[tuple[str, str]] = (),
    required: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Sequence[str]] | None = None,
    roots: Iterable[str] = (),
    columns: Names | None = None,
    drop: Names = (),
    categorical: Names = (),
    continuous: Names = (),
    ordinal: Names | Mapping[str, Sequence[str]] = (),
    normal_scores: Names = (),
    discretize: Mapping[str, int] | None = None,
    weights: str | None = None,
    missing: Treatment = "auto",
    na: Names | None = None,
    decimal: DecimalMark | None = None,
    separator: str | None = None,
    cardinality_row: bool | None = None,
    interventions: str | Iterable[Entry] | None = None,
    strict: bool = False,
    allow_degenerate: bool = False,
) -> float:
    """Log score, prior included, of one DAG: the sum of its nodes' local scores.

    The options are those of :func:`learn`. Only the columns that the DAG names are read, and none
    of these is left out. It is -inf if what is known excludes the DAG.
    """
    raise NotImplementedError  # _log_score is called instead


def _read_for(dag: Dag, data: Data, asked: Options) -> Dataset:
    """The columns of a DAG in an order that does not depend on it, none of them left out.

    A score of the user's own may number the columns of the table, so it gets all of them.
    """
    if asked.columns is not None or reading_for(asked.score).get("keep"):
        return read(data, asked, keep=True)
    try:
        return read(data, replace(asked, columns=tuple(sorted(dag.names))), keep=True)
    except UnknownColumnError as error:
        if error.option != "columns":
            raise
        raise GraphError(
            f"the DAG's nodes are not the columns of the data: {enumerate_names(error.names)} "
            "cannot be found there."
        ) from None


def log_score_of(scorer: FamilyScorer, prior: StructurePrior, dag: Dag) -> float:
    """Log score of a DAG whose nodes are in the order of the columns."""
    total = 0.0
    for child, parents in enumerate(dag.parent_sets):
        family = scorer.families(child, np.array([parents], dtype=np.int16))
        total += float(family[0]) + prior.log_weight(child, parents)
    return total
