"""Local scores: what the data and the prior say about one node and its parents."""

from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.scores.base import FamilyScorer, LocalScore, SetScorer
from outpoint.scores.bdeu import BDeu
from outpoint.scores.bge import BGe, note_units
from outpoint.scores.bic import BIC
from outpoint.scores.checks import refuse_mixture
from outpoint.scores.custom import CustomScore
from outpoint.scores.jkl import SUFFIX, JklScore, read_jkl
from outpoint.scores.knowledge import Knowledge, resolve_knowledge
from outpoint.scores.prior import STRUCTURE_PRIORS, StructurePrior, build_prior

SCORES = {"bge": BGe, "bdeu": BDeu, "bic": BIC}
"""Scores that can be chosen by name."""


Score = str | LocalScore
"""A score as it may be given: a name, "auto", the path of a .jkl file, or an object."""


def resolve_score(score: Score, data: Dataset) -> LocalScore:
    """The score object meant by a name, "auto" (by the kind of data), a .jkl file, or itself."""
    if not isinstance(score, str):
        if isinstance(score, type) or not hasattr(score, "bind"):
            raise OptionError(
                f"a score is a name, BGe(), BDeu(), BIC() or CustomScore(fn), not {score!r}."
            )
        return score
    if score == "auto":
        return _score_for(data)
    if score.lower().endswith(SUFFIX):
        return JklScore(score)
    if score not in SCORES:
        raise OptionError(
            f"unknown score {score!r}: choose one of auto, {', '.join(SCORES)}, or a .jkl file."
        )
    return SCORES[score]()


def _score_for(data: Dataset) -> LocalScore:
    refuse_mixture(data, "no built-in score covers columns of both kinds")
    return BGe() if data.is_continuous else BDeu()


__all__ = [
    "BIC",
    "SCORES",
    "STRUCTURE_PRIORS",
    "BDeu",
    "BGe",
    "CustomScore",
    "FamilyScorer",
    "JklScore",
    "Knowledge",
    "LocalScore",
    "Score",
    "SetScorer",
    "StructurePrior",
    "build_prior",
    "note_units",
    "read_jkl",
    "resolve_knowledge",
    "resolve_score",
]
