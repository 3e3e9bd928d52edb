"""Structure priors and background knowledge, all modular: one log weight per family.

The weight of a parent set S of child v is ``size_log_weight[|S|] + sum of edge_log_weight[u, v]``
over u in S, and -inf if S misses a required parent. Priors are used as given, not normalised over
DAGs: under the uniform prior every DAG has weight 1.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, log
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import GraphError, OptionError
from outpoint.graphs import Dag
from outpoint.kernels import kernel
from outpoint.scores.families import Scores, size_offsets, subsets_of_size

STRUCTURE_PRIORS = ("uniform", "fair")

Edges = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class StructurePrior:
    """Log weights of families before any data.

    The weight of a parent set S of child v is ``size_log_weight[|S|]`` plus the sum of
    ``edge_log_weight[u, v]`` over u in S, and -inf if S misses a ``required`` parent.
    """

    size_log_weight: NDArray[np.float64]
    edge_log_weight: NDArray[np.float64]
    required: NDArray[np.bool_]

    def log_weight(self, child: int, parents: Sequence[int]) -> float:
        """Log prior weight of one family."""
        chosen = list(parents)
        if self.required[:, child].sum() != self.required[chosen, child].sum():
            return -np.inf
        edges = self.edge_log_weight[chosen, child].sum()
        return float(self.size_log_weight[len(chosen)] + edges)

    def log_weights(self, child: int, parents: NDArray[np.integer]) -> NDArray[np.float64]:
        """Log prior weights of ``child`` with each row of ``parents``, all of one size."""
        weights = self.size_log_weight[parents.shape[1]] + self.edge_log_weight[parents, child].sum(
            axis=1
        )
        required = self.required[:, child]
        return np.where(required[parents].sum(axis=1) == required.sum(), weights, -np.inf)

    def add_to(self, scores: Scores, max_parents: int) -> None:
        """Add the log weights to the scores of every family (layout of ``scores.families``)."""
        n = len(self.edge_log_weight)
        offsets = size_offsets(n - 1, max_parents)
        for size in range(max_parents + 1):
            _add_log_weights(
                self.size_log_weight[size],
                self.edge_log_weight,
                self.required,
                subsets_of_size(n - 1, size),
                scores[:, offsets[size] : offsets[size + 1]],
            )


@kernel
def _add_log_weights(size_log_weight, edge_log_weight, required, others, scores):
    n = scores.shape[0]
    for child in range(n):
        n_required = required[:, child].sum()
        for row in range(others.shape[0]):
            log_weight = size_log_weight
            found = 0
            for other in others[row]:
                parent = other + 1 if other >= child else other
                log_weight += edge_log_weight[parent, child]
                found += required[parent, child]
            scores[child, row] += log_weight if found == n_required else -np.inf


def build_prior(
    names: Sequence[str],
    *,
    structure_prior: str = "uniform",
    edge_prior: Any = None,
    forbidden: Edges = (),
    required: Edges = (),
    tiers: Sequence[Sequence[str]] | None = None,
    roots: Iterable[str] = (),
    max_parents: int | None = None,
) -> StructurePrior:
    """Combine a structure prior with background knowledge, refusing contradictions.

    ``edge_prior`` is one probability for every edge, or a table of them ([parent, child]) in
    which 0 forbids and 1 requires an edge. ``tiers`` lists groups of variables from causes to
    effects: no edge may point from a later tier to an earlier one; variables in no tier are free.
    ``roots`` have no parents.
    """
    n = len(names)
    index = {name: i for i, name in enumerate(names)}
    must = _edge_matrix(index, required, "required")
    never = _edge_matrix(index, forbidden, "forbidden")
    _refuse_common(names, must, never, "both required and forbidden")
    _forbid_tiers(index, tiers, never)
    _refuse_common(names, must, never, "required but points against the tiers")
    for root in _listed(roots, "roots is a list of column names"):
        never[:, _lookup(index, root, "roots")] = True
    _refuse_common(names, must, never, "required but its child is declared a root")
    log_odds = _edge_log_odds(names, edge_prior, must, never)
    _refuse_common(names, must, never, "given probability 1 but excluded, or 0 but required")
    _refuse_impossible(names, must, max_parents)
    np.fill_diagonal(never, True)
    log_odds[must] = 0.0
    log_odds[never] = -np.inf
    return StructurePrior(_size_log_weights(n, structure_prior), log_odds, must)


def _lookup(index: dict[str, int], name: str, what: str) -> int:
    try:
        return index[name]
    except (KeyError, TypeError):
        raise OptionError(f"{what} names {name!r}, which is not a column of the data.") from None


def _listed(items: Any, what: str) -> list[Any]:
    """The items of a collection; a string, or no collection at all, is a mistake."""
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise OptionError(f"{what}, not {items!r}.")
    return list(items)


def _edge_matrix(index: dict[str, int], edges: Edges, what: str) -> NDArray[np.bool_]:
    matrix = np.zeros((len(index), len(index)), dtype=np.bool_)
    pairs = f"{what} edges are pairs (parent, child)"
    for edge in _listed(edges, pairs):
        if len(_listed(edge, pairs)) != 2:
            raise OptionError(f"{pairs}, not {edge!r}.")
        parent, child = (_lookup(index, name, f"{what} edge") for name in edge)
        if parent == child:
            raise OptionError(f"{what} edge {edge[0]!r} -> {edge[1]!r} joins a node to itself.")
        matrix[parent, child] = True
    return matrix


def _refuse_common(
    names: Sequence[str], must: NDArray[np.bool_], never: NDArray[np.bool_], why: str
) -> None:
    clashes = np.argwhere(must & never)
    if len(clashes):
        parent, child = clashes[0]
        raise OptionError(f"the edge {names[parent]} -> {names[child]} is {why}.")


def _forbid_tiers(
    index: dict[str, int], tiers: Sequence[Sequence[str]] | None, never: NDArray[np.bool_]
) -> None:
    if tiers is None:
        return
    tier_of: dict[int, int] = {}
    groups = "tiers is a list of lists of column names, causes first"
    for level, tier in enumerate(_listed(tiers, groups)):
        for name in _listed(tier, groups):
            node = _lookup(index, name, "tiers")
            if node in tier_of:
                raise OptionError(f"{name!r} stands in two tiers.")
            tier_of[node] = level
    for parent, parent_tier in tier_of.items():
        for child, child_tier in tier_of.items():
            if parent_tier > child_tier:
                never[parent, child] = True


def _edge_log_odds(
    names: Sequence[str], edge_prior: Any, must: NDArray[np.bool_], never: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Log odds of each edge; probabilities 0 and 1 join the forbidden and required edges."""
    n = len(names)
    if edge_prior is None:
        return np.zeros((n, n))
    if np.ndim(edge_prior) == 0:
        if not isinstance(edge_prior, Real) or not 0 < float(edge_prior) < 1:
            raise OptionError(f"an edge prior is a probability between 0 and 1, not {edge_prior}.")
        probability = np.full((n, n), float(edge_prior))
    else:
        probability = _aligned(names, edge_prior)
    off_diagonal = ~np.eye(n, dtype=np.bool_)
    if not ((probability >= 0) & (probability <= 1))[off_diagonal].all():
        raise OptionError("every entry of the edge prior must be a probability from 0 to 1.")
    must |= (probability == 1) & off_diagonal
    never |= (probability == 0) & off_diagonal
    with np.errstate(divide="ignore"):
        return np.log(probability) - np.log1p(-probability)


def _aligned(names: Sequence[str], table: Any) -> NDArray[np.float64]:
    """A table of probabilities as an array in the order of the columns."""
    if hasattr(table, "loc"):
        if set(table.index) != set(names) or set(table.columns) != set(names):
            raise OptionError("the edge prior's rows and columns must be the columns of the data.")
        table = table.loc[list(names), list(names)]
    try:
        array = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError("the edge prior must be a table of probabilities.") from None
    if array.shape != (len(names), len(names)):
        raise OptionError(
            f"the edge prior has shape {array.shape}, but there are {len(names)} variables."
        )
    np.fill_diagonal(array, 0.5)
    return array


def _refuse_impossible(
    names: Sequence[str], must: NDArray[np.bool_], max_parents: int | None
) -> None:
    """Without contradictions the required edges alone are an admissible DAG, so one exists."""
    try:
        Dag.from_adjacency(must, names)
    except GraphError as error:
        raise OptionError(f"the required edges contradict each other: {error}") from None
    in_degree = must.sum(axis=0)
    if max_parents is not None and in_degree.max() > max_parents:
        child = int(in_degree.argmax())
        raise OptionError(
            f"{names[child]} has {in_degree[child]} required parents, "
            f"but max_parents is {max_parents}."
        )


def _size_log_weights(n: int, structure_prior: str) -> NDArray[np.float64]:
    if structure_prior == "uniform":
        return np.zeros(n)
    if structure_prior == "fair":
        return np.array([-log(comb(n - 1, size)) for size in range(n)])
    raise OptionError(
        f"unknown structure prior {structure_prior!r}: choose one of {', '.join(STRUCTURE_PRIORS)}."
    )
