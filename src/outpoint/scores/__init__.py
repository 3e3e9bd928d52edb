"""Local scores: what the data and the prior say about one node and its parents."""

import ast
from dataclasses import fields
from typing import Any

from outpoint import registry
from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.scores.base import FamilyScorer, GaussianPosterior, LocalScore, SetScorer
from outpoint.scores.bdeu import BDeu
from outpoint.scores.bic import BIC
from outpoint.scores.binding import bind_score, note_few_rows, note_holes, refuse_unobserved
from outpoint.scores.blocks import Blocks
from outpoint.scores.conditional_gaussian import ConditionalGaussian
from outpoint.scores.custom import CustomScore
from outpoint.scores.edge_prior import GivenEdgePrior
from outpoint.scores.gaussian import BGe, note_units
from outpoint.scores.jkl import SUFFIX, JklScore, read_jkl
from outpoint.scores.knowledge import Knowledge, know_given, resolve_knowledge, score_given
from outpoint.scores.prior import STRUCTURE_PRIORS, StructurePrior, build_prior

SCORES: dict[str, Any] = {
    name: globals()[entry.class_name] for name, entry in registry.SCORES.items()
}
"""Scores that can be chosen by name."""


Score = str | LocalScore
"""A score as it may be given: a name, "auto", the path of a .jkl file, or an object."""


def resolve_score(score: Score, data: Dataset, **settings: Any) -> LocalScore:
    """The score object meant by a name, "auto" (by the kind of data), a .jkl file, or itself.

    ``settings`` are given to the score that a name stands for.
    """
    if not isinstance(score, str):
        if isinstance(score, type) or not hasattr(score, "bind"):
            objects = ", ".join(f"{entry.class_name}()" for entry in registry.SCORES.values())
            raise OptionError(
                f"a score must be a name, {objects} or CustomScore(fn), not {score!r}."
            )
        return score
    if score.lower().endswith(SUFFIX):
        return JklScore(score)
    name = _name_for(data) if score == "auto" else score
    if name not in SCORES:
        raise OptionError(
            f"unknown score {score!r}: choose one of auto, {', '.join(SCORES)}, or a .jkl file."
        )
    made: LocalScore = SCORES[name](**settings)
    return made


def reading_for(score: Score) -> dict[str, Any]:
    """Options of ``load_dataset`` that follow from the score: the kind of columns that it needs.

    Only users know what a score of their own asks of the columns, so with it all of them stay.
    """
    name = score.lower() if isinstance(score, str) else getattr(score, "name", "")
    if name in registry.SCORES:
        return {"prefer": registry.SCORES[name].kind}
    return {} if name == "auto" else {"keep": True}


def score_from_text(text: str) -> LocalScore:
    """The score that was written as Python, such as ``BGe(alpha_mu=0.5)``; nothing is executed."""
    by_class = {entry.class_name: SCORES[name] for name, entry in registry.SCORES.items()}
    try:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert isinstance(call.func, ast.Name)
        assert not call.args
        settings = {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
        made: LocalScore = by_class[call.func.id](**settings)
    except (AssertionError, KeyError, SyntaxError, TypeError, ValueError, RecursionError):
        raise ValueError(f"there is no score {text[:100]!r}") from None
    return made


def has_model(score: Score) -> bool:
    """Whether missing values can be drawn from the model of a score."""
    name = score.lower() if isinstance(score, str) else getattr(score, "name", "")
    return name == "auto" or (name in registry.SCORES and registry.SCORES[name].has_model)


def resolve_prior(structure_prior: str | None, score: LocalScore) -> str:
    """The structure prior that is meant; a score of the user's own is complete without one."""
    if structure_prior is not None:
        return structure_prior
    entry = registry.SCORES.get(score.name)
    return "uniform" if entry is None else entry.structure_prior


def scores_with(setting: str) -> list[str]:
    """The names of the scores that have this setting."""
    return [name for name, kind in SCORES.items() if setting in {own.name for own in fields(kind)}]


def _name_for(data: Dataset) -> str:
    if data.is_continuous:
        return "bge"
    return "bdeu" if data.is_categorical else "blocks"


__all__ = [
    "BIC",
    "SCORES",
    "STRUCTURE_PRIORS",
    "BDeu",
    "BGe",
    "Blocks",
    "ConditionalGaussian",
    "CustomScore",
    "FamilyScorer",
    "GaussianPosterior",
    "GivenEdgePrior",
    "JklScore",
    "Knowledge",
    "LocalScore",
    "Score",
    "SetScorer",
    "StructurePrior",
    "bind_score",
    "build_prior",
    "has_model",
    "know_given",
    "note_few_rows",
    "note_holes",
    "note_units",
    "read_jkl",
    "reading_for",
    "refuse_unobserved",
    "resolve_knowledge",
    "resolve_prior",
    "resolve_score",
    "score_from_text",
    "score_given",
    "scores_with",
]
