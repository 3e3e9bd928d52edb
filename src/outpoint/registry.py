"""The scores and samplers that can be chosen by name, said without importing any of them.

The class that a line names is one of ``outpoint.scores``; what it computes is in its own file.
"""

from typing import Literal, NamedTuple


class ScoreEntry(NamedTuple):
    """The class of a score, the columns it is for, and the only kind of these, if there is one.

    ``structure_prior`` is the usual one: BIC has a penalty of its own. ``has_model`` says whether
    missing values can be drawn from the model whose marginal likelihood the score is.
    """

    class_name: str
    suits: str
    kind: Literal["continuous", "categorical"] | None = None
    structure_prior: str = "fair"
    has_model: bool = True


SCORES = {
    "bge": ScoreEntry("BGe", "continuous", "continuous"),
    "bdeu": ScoreEntry("BDeu", "categorical", "categorical"),
    "blocks": ScoreEntry("Blocks", "both kinds"),
    "conditional-gaussian": ScoreEntry(
        "ConditionalGaussian", "both kinds, no edges from continuous to categorical"
    ),
    "bic": ScoreEntry("BIC", "either kind", structure_prior="uniform", has_model=False),
}
"""Scores by their names, on the command line, in Python and in results."""

METHODS = ("mcmc", "partition", "partition+rev", "order", "structure", "structure+rev")
"""Samplers by their names; ``outpoint.mcmc.SAMPLERS`` has what they do."""


def list_scores() -> str:
    """All names with what they are for, as in the help of commands."""
    return ", ".join(f"{name} ({entry.suits})" for name, entry in SCORES.items())


def score_title(name: str) -> str:
    """The score as people write it; other scores keep the name they give themselves."""
    return SCORES[name].class_name if name in SCORES else name
