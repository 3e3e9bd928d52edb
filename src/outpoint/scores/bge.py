"""BGe: the Bayesian Gaussian equivalent score, in its corrected form.

The marginal likelihood of :mod:`outpoint.scores.gaussian` with one column for every node; with l
parents the score of a family needs two determinants, of R on the family and on the parents alone:

    s(v, Pa) = F(Pa + v) - F(Pa).

The prior mean is 0 with one scale for all columns, so the score of raw columns depends on their
units and location: to it, a mean far from 0 is one huge outlier that all such columns share, and
independent columns get edges. So columns are standardised first; ``standardize=False`` is the
paper's setting.

Formulas: docs/math.md#bge.
"""

from dataclasses import dataclass

import numpy as np

from outpoint.data import Dataset
from outpoint.scores.base import FamilyScorer
from outpoint.scores.checks import refuse_degenerate, require_kind
from outpoint.scores.gaussian import GaussianScorer, NormalWishart, scales_of
from outpoint.scores.interventions import score_observed


@dataclass(frozen=True, kw_only=True)
class BGe(NormalWishart):
    """Settings of the BGe score for continuous data.

    ``alpha_mu`` is the prior weight of the mean, ``alpha_w`` the degrees of freedom of the
    Wishart prior (default: number of nodes + alpha_mu + 1). Every column is centred and scaled
    first, so that units do not matter; ``standardize=False`` takes the columns as they are, as the
    paper does.
    """

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bge"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> FamilyScorer:
        """Check the data and compute the posterior matrix R."""
        require_kind(data, "continuous", "BGe")
        refuse_degenerate(data, "BGe", allow_degenerate)
        values = data.standardized().values if self.standardize else data.values
        start, scales = np.arange(data.n_nodes + 1), scales_of(data)
        return score_observed(data, lambda rows: GaussianScorer(values[rows], start, self, scales))
