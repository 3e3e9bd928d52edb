"""Blocks of columns: continuous and categorical variables in one Gaussian model.

A continuous variable owns one column, a categorical one with r levels r - 1 columns, and the score
is the marginal likelihood of all these columns as :mod:`outpoint.scores.gaussian` has it:

    s(v, Pa) = F(Pa + v) - F(Pa).

Equivalent DAGs score the same, any edge is allowed, and continuous data alone give BGe. (The
"degenerate Gaussian" of Andrews, Ramsey & Cooper 2019, with a marginal likelihood in place of BIC.)

The columns of a categorical variable are orthonormal contrasts of its indicators: with e_k the
indicator of level k, column j is sqrt(r) sum_k H[k, j] e_k, where H has orthonormal columns that
are orthogonal to (1, ..., 1). Two choices of H differ by a rotation, which leaves T0 = t I as it
is: neither a reference level nor the order of the levels exists. (With indicators of all levels but
one and T0 = t I, the score would depend on which one is left out; in terms of these indicators our
prior is T0 = t C with C = (I - 1 1'/r) / r, their covariance where all levels are equally
frequent.) The factor sqrt(r) gives every contrast the variance 1 where levels are equally
frequent, like that of a standardised column; two levels are coded -1 and 1. Contrasts of rare
levels vary less, so that the prior counts for more there.

Contrasts are centred, as standardised columns are: to the prior mean 0, two rare levels would look
like an outlier that both variables share. Levels that were never observed have no columns: nothing
varies there, and the prior alone would speak against edges.

Formulas: docs/math.md#blocks-of-columns.
"""

from dataclasses import dataclass

import numpy as np

from outpoint.data import Dataset
from outpoint.scores.base import FamilyScorer, Scores
from outpoint.scores.binding import refuse_degenerate, refuse_many_levels, score_observed
from outpoint.scores.gaussian import GaussianScorer, NormalWishart, scales_of

MAX_LEVELS = 100


@dataclass(frozen=True, kw_only=True)
class Blocks(NormalWishart):
    """Settings of the score for tables with continuous and categorical columns.

    ``alpha_mu`` is the prior weight of the mean, ``alpha_w`` the degrees of freedom of the
    Wishart prior (default: number of columns + alpha_mu + 1, where a variable with r observed
    levels has r - 1 columns). Continuous columns are centred and scaled first;
    ``standardize=False`` takes them as they are. The contrasts that code levels are centred in
    either case.
    """

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "blocks"

    def count_columns(self, data: Dataset) -> int:
        """One of a continuous variable, one less than the observed levels of a categorical one."""
        return sum(
            1 if levels is None else len(np.unique(data.values[:, v])) - 1
            for v, levels in enumerate(data.levels)
        )

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data, code the levels and compute the posterior matrix R."""
        refuse_many_levels(data, MAX_LEVELS, "Blocks")
        refuse_degenerate(data, "Blocks", allow_degenerate, counts_unobserved=False)
        values = data.standardized().values if self.standardize else data.values
        blocks = [
            values[:, [v]] if levels is None else code_levels(values[:, v])
            for v, levels in enumerate(data.levels)
        ]
        start = np.cumsum([0, *(block.shape[1] for block in blocks)])
        columns, scales = np.hstack(blocks), scales_of(data)
        return score_observed(data, lambda rows: GaussianScorer(columns[rows], start, self, scales))


def code_levels(codes: Scores) -> Scores:
    """The centred contrasts of a column of level codes: one less than there are observed levels."""
    observed, levels = np.unique(codes, return_inverse=True)
    columns = contrasts(len(observed))[levels]
    return np.asarray(columns - columns.mean(axis=0), dtype=np.float64)


def contrasts(n_levels: int) -> Scores:
    """sqrt(r) H for r levels, (level, column): each level against the mean of those before it."""
    out = np.zeros((n_levels, max(n_levels - 1, 0)))
    for j in range(n_levels - 1):
        out[: j + 1, j] = -1.0 / (j + 1)
        out[j + 1, j] = 1.0
        out[:, j] *= np.sqrt(n_levels * (j + 1) / (j + 2))
    return out
