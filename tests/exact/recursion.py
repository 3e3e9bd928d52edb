"""The recursions of the exact posterior as they are written down, in 60-digit arithmetic.

Decimals have exponents without limits, so that neither range nor rounding is of any concern here,
and nothing is skipped or arranged for speed: the reference for everything the engine arranges.
"""

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import reduce
from operator import mul

import numpy as np

PRECISE = Context(prec=60, Emin=-(10**15), Emax=10**15)
ZERO, ONE = Decimal(0), Decimal(1)


@dataclass(frozen=True)
class Reference:
    """What the recursions give; sets of nodes are bit masks."""

    before: list[Decimal]
    after: list[Decimal]
    log_evidence: float
    edges: np.ndarray
    ancestors: np.ndarray
    parent_sets: np.ndarray


def solve_precisely(scores: np.ndarray) -> Reference:
    """Sum up all DAGs with log scores ``scores[node, mask]``, masks over all nodes.

    Entries whose mask contains the node itself are not used.
    """
    with localcontext(PRECISE):
        return _solve(scores)


def _solve(scores: np.ndarray) -> Reference:
    n = len(scores)
    everything = (1 << n) - 1
    factor = [[_exp(s) for s in row] for row in scores]
    weight = [
        {u: sum((factor[v][s] for s in _subsets(u)), ZERO) for u in _without(everything, v)}
        for v in range(n)
    ]
    before = [ONE] + [ZERO] * everything
    for base in range(everything):
        for layer in _subsets(everything ^ base):
            if layer:
                product = reduce(mul, (weight[i][base] for i in _nodes(layer)), before[base])
                before[base | layer] += product if layer.bit_count() % 2 else -product
    after = [ZERO] * everything + [ONE]
    gamma = [dict.fromkeys(_without(everything, v), ZERO) for v in range(n)]
    for placed in range(everything - 1, -1, -1):
        rest = everything ^ placed
        for layer in _subsets(rest):
            if layer:
                product = reduce(
                    mul, (weight[i][placed] for i in _nodes(layer)), after[placed | layer]
                )
                after[placed] += product if layer.bit_count() % 2 else -product
        for v in _nodes(rest):
            others = rest ^ 1 << v
            for layer in _subsets(others):
                product = reduce(
                    mul,
                    (weight[i][placed] for i in _nodes(layer)),
                    after[placed | 1 << v | layer],
                )
                gamma[v][placed] += -product if layer.bit_count() % 2 else product
    evidence = before[everything]
    assert abs(after[0] - evidence) <= Decimal("1e-40") * evidence
    edges, ancestors = np.zeros((n, n)), np.zeros((n, n))
    parent_sets = np.zeros((n, 1 << n))
    for v in range(n):
        for placed in _without(everything, v):
            share = before[placed] * gamma[v][placed] / evidence
            for u in _nodes(everything ^ placed ^ 1 << v):
                ancestors[v, u] += float(share * weight[v][placed])
            for parents in _subsets(placed):
                parent_sets[v, parents] += float(share * factor[v][parents])
        for parents in _without(everything, v):
            edges[_nodes(parents), v] += parent_sets[v, parents]
    return Reference(before, after, float(evidence.ln()), edges, ancestors, parent_sets)


def _exp(log_value: float) -> Decimal:
    return ZERO if log_value == -np.inf else Decimal(float(log_value)).exp()


def _nodes(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _subsets(mask: int) -> list[int]:
    out = [0]
    for i in _nodes(mask):
        out += [s | 1 << i for s in out]
    return out


def _without(mask: int, node: int) -> list[int]:
    return _subsets(mask & ~(1 << node))
