"""BDeu: the Bayesian Dirichlet equivalent uniform score for categorical data.

Every cell of a family's table has prior count e / (number of cells), e being the equivalent
sample size (Heckerman, Geiger & Chickering 1995). Because a family of X nodes always has
prod r_x cells, whoever the child is, the score is a difference of one function of node sets:

    s(v, Pa) = F(Pa + v) - F(Pa),
    F(X) = sum over configurations x of X of  lgamma(a + N_x) - lgamma(a),   a = e / prod r_x,

to which only the configurations seen in the data contribute.
"""

from dataclasses import dataclass
from math import lgamma

import numpy as np
from numpy.typing import NDArray

from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError
from outpoint.kernels import kernel
from outpoint.scores.base import SetScorer
from outpoint.scores.checks import is_positive_number, refuse_degenerate
from outpoint.scores.families import Members, Scores

MAX_LEVELS = 5000


@dataclass(frozen=True, kw_only=True)
class BDeu:
    """Settings of the BDeu score: the equivalent sample size (prior weight, in observations)."""

    equivalent_sample_size: float = 1.0

    def __post_init__(self) -> None:
        if not is_positive_number(self.equivalent_sample_size):
            raise OptionError(
                "BDeu needs a positive equivalent sample size, "
                f"not {self.equivalent_sample_size!r}."
            )

    @property
    def name(self) -> str:
        """Short name of the score."""
        return "bdeu"

    def bind(self, data: Dataset, *, allow_degenerate: bool = False) -> "BDeuScorer":
        """Check the data and merge equal rows."""
        if not data.is_categorical:
            named = [
                n for n, kind in zip(data.names, data.kinds, strict=True) if kind != "categorical"
            ]
            raise DataError(
                f"BDeu needs categorical columns, but {named[0]!r} is numeric: "
                "discretise it first (Dataset.discretized) or declare it categorical."
            )
        largest = int(data.cardinalities.argmax())
        if data.cardinalities[largest] > MAX_LEVELS:
            raise DataError(
                f"column {data.names[largest]!r} has more than {MAX_LEVELS} levels, too many for "
                "BDeu: drop it if it is an identifier, or group its values."
            )
        refuse_degenerate(data, "BDeu", allow_degenerate)
        return BDeuScorer(data.codes, data.cardinalities, self.equivalent_sample_size)


class BDeuScorer(SetScorer):
    """BDeu scores of one data set."""

    def __init__(
        self,
        codes: NDArray[np.int32],
        cardinalities: NDArray[np.integer],
        equivalent_sample_size: float,
    ) -> None:
        self.n_nodes = codes.shape[1]
        rows, counts = np.unique(codes, axis=0, return_counts=True)
        self._columns = np.ascontiguousarray(rows.T, dtype=np.int32)
        self._counts = counts.astype(np.int64)
        self._cardinalities = np.asarray(cardinalities, dtype=np.int64).copy()
        self._equivalent_sample_size = equivalent_sample_size
        for array in (self._columns, self._counts, self._cardinalities):
            array.flags.writeable = False

    def score_sets(self, members: Members, out: Scores, start: int, stop: int) -> None:
        """Write F of the rows ``start..stop`` of ``members``."""
        _score_sets(
            self._columns,
            self._counts,
            self._cardinalities,
            self._equivalent_sample_size,
            members,
            out,
            start,
            stop,
        )


@kernel
def _refine(coarse, column, cardinality, seen, fine):
    """Number the observed configurations of (coarse, column) consecutively; return how many."""
    n_fine = 0
    for row in range(coarse.size):
        cell = coarse[row] * cardinality + column[row]
        if seen[cell] < 0:
            seen[cell] = n_fine
            n_fine += 1
        fine[row] = seen[cell]
    for row in range(coarse.size):
        seen[coarse[row] * cardinality + column[row]] = -1
    return n_fine


@kernel
def _score_sets(columns, counts, cardinalities, sample_size, members, out, start, stop):
    """F of each set; neighbours in colex order share their upper members, and so their work.

    ``configuration[i]`` numbers the observed joint states of members ``i..size-1``.
    """
    size = members.shape[1]
    n_rows = counts.size
    seen = np.full(1024, -1, dtype=np.int64)
    configuration = np.zeros((size + 1, n_rows), dtype=np.int64)
    n_configurations = np.ones(size + 1, dtype=np.int64)
    n_cells = np.ones(size + 1)
    totals = np.empty(n_rows, dtype=np.int64)
    for row in range(start, stop):
        stale = size
        if row > start:
            while stale > 0 and members[row, stale - 1] == members[row - 1, stale - 1]:
                stale -= 1
        for i in range(stale - 1, -1, -1):
            node = members[row, i]
            n_cells[i] = n_cells[i + 1] * cardinalities[node]
            if seen.size < n_configurations[i + 1] * cardinalities[node]:
                seen = np.full(
                    2 * n_configurations[i + 1] * cardinalities[node], -1, dtype=np.int64
                )
            n_configurations[i] = _refine(
                configuration[i + 1], columns[node], cardinalities[node], seen, configuration[i]
            )
        totals[: n_configurations[0]] = 0
        for r in range(n_rows):
            totals[configuration[0, r]] += counts[r]
        prior = sample_size / n_cells[0]
        base = lgamma(prior)
        score = 0.0
        for c in range(n_configurations[0]):
            score += lgamma(prior + totals[c]) - base
        out[row] = score
