"""The verdict on a run: whether its chains agree, whether that means something, and if not, why.

A run has converged if there are at least two chains, none of them stayed where it started, the
method is unbiased, no two chains differ by more than ``max_difference`` in the probability of an
edge unless that is known to be chance, for the log score, the number of edges and every edge whose
mean is not known precisely, R-hat and the effective draws keep to the
:class:`~outpoint.posterior.diagnostics.Limits`, and no chain jumps at its end.

Chains that sit in one mode agree, too. So there is one more condition. Chains with tempered
replicas must have crossed their ladders: every round trip of a replica, from the posterior to a
place where it moves more freely and back, is a new start, and if a mode holds a share of at least
``LEAST_MODE`` of the posterior, that many new starts miss it with a probability of at most
``MISS_PROBABILITY``. Where ladders do not end at power 0, their hottest replicas must agree, too,
and all replicas have begun at DAGs found independently. Chains without a ladder must at least have
begun at different DAGs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import ArrayLike

from outpoint.arrays import Floats
from outpoint.errors import OptionError
from outpoint.posterior.diagnostics import (
    CHANCE_ERRORS,
    RECOMMENDED_ESS,
    Limits,
    SeriesDiagnostics,
    Status,
    diagnose,
    late_jumps,
)

SCORE_TOLERANCE = 1e-6
"""Log scores closer than this are the same."""

LEAST_MODE = 0.1
MISS_PROBABILITY = 0.05
LEAST_ROUND_TRIPS = ceil(log(MISS_PROBABILITY) / log(1.0 - LEAST_MODE))
"""Round trips of all chains together: (1 - LEAST_MODE) to this power is MISS_PROBABILITY."""

MOST_GAP = 0.5
WIDEST_GAP = 1.0
"""Standard deviations between the mean log weights of the hottest replicas of two chains: from the
first on they are apart if that is known, from the second on whether it is known or not."""

LEAST_PER_CHAIN = 3
"""Round trips of each chain."""

RUN_LONGER = "run longer (more steps or time)"
OTHER_METHOD = f"{RUN_LONGER} or use method 'mcmc'"


@dataclass(frozen=True)
class Crossing:
    """What is known of the ladders of tempered replicas.

    The round trips of each chain, and the largest difference between the mean log weights of two
    hottest replicas, in standard deviations, with the standard error of such a mean.
    """

    round_trips: tuple[int, ...]
    hottest_gap: float = 0.0
    hottest_error: float = 0.0

    @property
    def begins_apart(self) -> bool:
        """Whether hottest replicas differ by more than chance, or by too much to tell."""
        is_known = self.hottest_gap > CHANCE_ERRORS * self.hottest_error
        return self.hottest_gap > (MOST_GAP if is_known else WIDEST_GAP)


@dataclass(frozen=True)
class Assessment:
    """What :func:`assess` finds.

    ``groups`` are the chains that agree with each other, largest group first; chains are numbered
    from 0, as in the draws. ``worst_rhat`` and ``smallest_ess`` are those of the log score, the
    number of edges and all edges whose means are not known precisely, None if there are none;
    ``largest_difference`` is None for a single chain. ``edges`` has the diagnostics of every edge.
    ``crossing`` is None for samplers without a ladder.
    """

    converged: bool
    verdict: str
    n_chains: int
    groups: tuple[tuple[int, ...], ...]
    frozen_chains: tuple[int, ...]
    largest_difference: float | None
    n_disagreeing: int
    worst_rhat: float | None
    worst_rhat_of: str | None
    smallest_ess: float | None
    smallest_ess_of: str | None
    edges: SeriesDiagnostics
    crossing: Crossing | None = None


@dataclass(frozen=True)
class _Evidence:
    """Everything a verdict can speak of."""

    names: tuple[str, ...]  # of the edges, then of the two scalar series
    series: tuple[Floats, ...]  # (edge, chain, batch) each
    means: Floats  # (chain, edge)
    log_scores: Floats
    edges: SeriesDiagnostics
    rhat: Floats  # of the edges, the log score and the number of edges
    ess: Floats
    groups: tuple[tuple[int, ...], ...]
    frozen: tuple[int, ...]
    limits: Limits
    crossing: Crossing | None
    begin_apart: bool
    basis: str = ""

    @property
    def advice(self) -> str:
        """What may help chains that do not agree."""
        return OTHER_METHOD if self.crossing is None and not self.basis else RUN_LONGER

    @property
    def largest_difference(self) -> float:
        return float(self.edges.difference.max(initial=0.0))

    @property
    def n_disagreeing(self) -> int:
        return int(self.edges.disagrees.sum())


def assess(
    edge_series: ArrayLike | tuple[Floats, ...],
    edge_names: Sequence[str],
    log_scores: ArrayLike,
    n_edges: ArrayLike,
    *,
    frozen_chains: Iterable[int] = (),
    crossing: Crossing | None = None,
    begin_apart: bool = True,
    bias: str = "",
    basis: str = "",
    limits: Limits | None = None,
) -> Assessment:
    """Judge a run.

    ``edge_series`` (chain, batch, edge) are batch means of the edges named ``edge_names`` (such
    as ``"rm -> medv"``), or a tuple of such arrays, of which all but the first have few and long
    batches. ``log_scores`` and ``n_edges`` (chain, draw) are those of the DAGs drawn,
    ``frozen_chains`` the chains whose state never changed. ``crossing`` is about the ladders of
    samplers that have some, ``begin_apart`` whether chains began at different DAGs, ``bias``
    what is wrong with a sampler however long it runs, and ``basis`` what agreement rests on where
    there is more to say than that there is no ladder.
    """
    series = _checked_series(edge_series, edge_names)
    scalars = _checked_scalars(log_scores, n_edges, n_chains=len(series[0]))
    frozen = tuple(sorted(int(chain) for chain in frozen_chains))
    evidence = _gather(
        series, edge_names, scalars, frozen, limits or Limits(), crossing, begin_apart, basis
    )
    n_chains = len(evidence.means)
    problem = _first_problem(evidence)
    if problem:
        verdict = problem
    elif bias:
        verdict = f"biased, although {_agreement(evidence)}."
    else:
        verdict = f"converged: {_agreement(evidence)}.{_recommendation(evidence)}"
    if bias:
        verdict += f" {bias}"
    worst, least = _extreme(evidence.rhat, np.nanargmax), _extreme(evidence.ess, np.nanargmin)
    return Assessment(
        converged=not problem and not bias,
        verdict=verdict,
        n_chains=n_chains,
        groups=evidence.groups,
        frozen_chains=evidence.frozen,
        largest_difference=evidence.largest_difference if n_chains > 1 else None,
        n_disagreeing=evidence.n_disagreeing,
        worst_rhat=None if worst is None else float(evidence.rhat[worst]),
        worst_rhat_of=None if worst is None else evidence.names[worst],
        smallest_ess=None if least is None else float(evidence.ess[least]),
        smallest_ess_of=None if least is None else evidence.names[least],
        edges=_as_judged(evidence.edges),
        crossing=crossing,
    )


def _checked_series(
    edge_series: ArrayLike | tuple[Floats, ...], edge_names: Sequence[str]
) -> tuple[Floats, ...]:
    given = edge_series if isinstance(edge_series, tuple) else (edge_series,)
    series = tuple(np.asarray(part, dtype=np.float64) for part in given)
    is_named = all(part.ndim == 3 for part in series) and (
        sum(part.shape[2] for part in series) == len(edge_names)
    )
    if not is_named:
        raise OptionError(
            f"edge_series must be (chain, batch, edge) with {len(edge_names)} named edges, "
            f"not {' and '.join(str(part.shape) for part in series)}."
        )
    return series


def _checked_scalars(log_scores: ArrayLike, n_edges: ArrayLike, n_chains: int) -> list[Floats]:
    scalars = [np.asarray(values, dtype=np.float64) for values in (log_scores, n_edges)]
    if any(values.ndim != 2 or len(values) != n_chains for values in scalars):
        raise OptionError("log_scores and n_edges must be (chain, draw), with as many chains.")
    return scalars


def _gather(
    series: tuple[Floats, ...],
    edge_names: Sequence[str],
    scalars: list[Floats],
    frozen: tuple[int, ...],
    limits: Limits,
    crossing: Crossing | None,
    begin_apart: bool,
    basis: str,
) -> _Evidence:
    parts = [diagnose(part, limits, long_batches=i > 0) for i, part in enumerate(series)]
    edges = SeriesDiagnostics._make([np.concatenate(arrays) for arrays in zip(*parts, strict=True)])
    of_scalars = [diagnose(v[:, :, None], Limits(tolerance=SCORE_TOLERANCE)) for v in scalars]
    judged = _as_judged(edges)
    means = np.concatenate([part.mean(axis=1) for part in series], axis=1)
    return _Evidence(
        names=(*edge_names, "the log score", "the number of edges"),
        series=tuple(np.moveaxis(part, 2, 0) for part in series),
        means=means,
        log_scores=scalars[0],
        edges=edges,
        rhat=np.concatenate([judged.rhat, *(d.rhat for d in of_scalars)]),
        ess=np.concatenate([judged.ess, *(d.ess for d in of_scalars)]),
        groups=group_chains(means[:, edges.disagrees], limits.max_difference),
        frozen=frozen,
        limits=limits,
        crossing=crossing,
        begin_apart=begin_apart,
        basis=basis,
    )


def _as_judged(edges: SeriesDiagnostics) -> SeriesDiagnostics:
    """R-hat and effective draws only where they count: where the mean is not known precisely."""

    def judged(values: Floats) -> Floats:
        return np.where(edges.is_precise, np.nan, values)

    return edges._replace(
        rhat=judged(edges.rhat), ess=judged(edges.ess), ess_tail=judged(edges.ess_tail)
    )


def group_chains(means: Floats, max_difference: float) -> tuple[tuple[int, ...], ...]:
    """Chains in groups within which no edge mean (chain, edge) differs by more than the limit.

    The two closest groups are joined until the members of any two would differ too much. Largest
    group first, then by the smallest chain.
    """
    n = len(means)
    apart = np.zeros((n, n))
    for i in range(n):
        apart[i] = np.abs(means - means[i]).max(axis=1, initial=0.0)
    groups: list[tuple[int, ...]] = [(i,) for i in range(n)]
    while len(groups) > 1:
        pairs = [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]
        widths = [float(apart[np.ix_(a, b)].max()) for a, b in pairs]
        closest = int(np.argmin(widths))
        if widths[closest] > max_difference:
            break
        a, b = pairs[closest]
        groups = [g for g in groups if g not in (a, b)] + [tuple(sorted(a + b))]
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def _first_problem(evidence: _Evidence) -> str:
    """Why the run cannot be trusted; empty if it can."""
    n_chains, n_batches = len(evidence.means), evidence.series[0].shape[2]
    if evidence.frozen:
        if len(evidence.frozen) == n_chains:
            who = "no chain ever left the DAG it"
        else:
            they = "it" if len(evidence.frozen) == 1 else "they"
            who = f"{_chains(evidence.frozen)} never left the DAG {they}"
        return f"not converged: {who} started from; {evidence.advice}."
    if n_chains == 1:
        return (
            "unknown: a single chain cannot show whether it has converged; run several chains."
            f"{_single(evidence)}"
        )
    if evidence.n_disagreeing and _may_be_chance(evidence):
        return (
            f"not converged: the chains are too short, they differ by up to "
            f"{evidence.largest_difference:.2f} on {_edges(evidence.n_disagreeing)}, which may "
            f"be chance; {RUN_LONGER}."
        )
    if len(evidence.groups) > 1:
        return f"not converged: {_disagreement(evidence)}; {evidence.advice}."
    if evidence.edges.status.size and evidence.edges.status.flat[0] == Status.SHORT:
        return f"unknown: {n_batches} batches are too few to judge; {RUN_LONGER}."
    return (
        _stuck_apart(evidence)
        or _late(evidence)
        or _rhat_or_ess(evidence)
        or _not_crossed(evidence)
        or _begun_together(evidence)
    )


def _single(evidence: _Evidence) -> str:
    """What even a single chain shows."""
    high = np.nan_to_num(evidence.rhat, nan=1.0)
    if high.max() <= evidence.limits.max_rhat:
        return ""
    return f" Its halves already differ (R-hat {high.max():.2f} of {_name(evidence, high)})."


def _may_be_chance(evidence: _Evidence) -> bool:
    """Whether the differences are slight, and no larger than the spread within chains explains."""
    limits = evidence.limits
    concerned = evidence.edges.disagrees
    slight = evidence.largest_difference <= 2 * limits.max_difference
    return slight and bool((evidence.edges.rhat[concerned] <= limits.max_rhat).all())


def _disagreement(evidence: _Evidence) -> str:
    """Which chains disagree, on how many edges, with the worst of them."""
    count = evidence.n_disagreeing
    difference = np.where(evidence.edges.disagrees, evidence.edges.difference, 0.0)
    worst = np.argsort(-difference, kind="stable")[: min(count, 3)]
    groups = evidence.groups
    if len(groups) == 2:
        small, large = sorted(groups, key=lambda group: (len(group), group))
        verb = "disagrees" if len(small) == 1 else "disagree"
        who = f"{_chains(small)} {verb} with {_chains(large)}"
        values = [evidence.means[list(g)].mean(axis=0) for g in (small, large)]
        shown = [f"{evidence.names[e]}: {_against(values[0][e], values[1][e])}" for e in worst]
    else:
        if all(len(group) == 1 for group in groups):
            who = f"all {len(groups)} chains disagree with each other"
        else:
            listed = "; ".join(_numbers(group) for group in groups)
            who = f"the chains fall into {len(groups)} groups ({listed}) that disagree"
        lowest, highest = evidence.means.min(axis=0), evidence.means.max(axis=0)
        shown = [f"{evidence.names[e]}: from {lowest[e]:.2f} to {highest[e]:.2f}" for e in worst]
    more = ", ..." if count > 3 else ""
    return f"{who} on {_edges(count)} ({', '.join(shown)}{more})"


def _stuck_apart(evidence: _Evidence) -> str:
    """Chains that stay at different values, though close to each other: R-hat is infinite."""
    apart = np.flatnonzero(
        (evidence.edges.status == Status.DIFFERS) & np.isinf(evidence.edges.rhat)
    )
    if not apart.size:
        return ""
    lowest, highest = evidence.means.min(axis=0), evidence.means.max(axis=0)
    shown = ", ".join(
        f"{evidence.names[e]}: {_against(lowest[e], highest[e], 3)}" for e in apart[:3]
    )
    return (
        "not converged: every chain stays at a value of its own for "
        f"{_edges(apart.size)} ({shown}); {evidence.advice}."
    )


def _late(evidence: _Evidence) -> str:
    """Chains that find something new at their very end."""
    jumps = np.concatenate([late_jumps(part) for part in evidence.series])
    if not jumps.any():
        return ""
    chains = tuple(np.flatnonzero(jumps.any(axis=0)).tolist())
    edges = [evidence.names[e] for e in np.flatnonzero(jumps.any(axis=1))]
    more = f" and {len(edges) - 3} more" if len(edges) > 3 else ""
    return (
        f"not converged: {_chains(chains)} reached DAGs at the very end that no chain had met "
        f"before (seen in {', '.join(edges[:3])}{more}); {RUN_LONGER}."
    )


def _rhat_or_ess(evidence: _Evidence) -> str:
    limits = evidence.limits
    rhat = np.nan_to_num(evidence.rhat, nan=1.0, posinf=np.inf)
    high = int((rhat > limits.max_rhat).sum())
    if high:
        what = f"R-hat is above {limits.max_rhat:g} for {_name(evidence, rhat)} ({rhat.max():.2f})"
        more = f" and {high - 1} more" if high > 1 else ""
        return f"not converged: {what}{more}{_low_chain(evidence)}; {RUN_LONGER}."
    ess = np.nan_to_num(evidence.ess, nan=np.inf)
    if ess.min() < limits.min_ess:
        return (
            f"not converged: only {ess.min():.0f} effective draws for {_name(evidence, -ess)}; "
            f"at least {limits.min_ess:.0f} are needed and {RECOMMENDED_ESS} recommended; "
            f"{RUN_LONGER}."
        )
    return ""


def _not_crossed(evidence: _Evidence) -> str:
    """Ladders that were not crossed often enough for agreement to mean something."""
    crossing = evidence.crossing
    if crossing is None:
        return ""
    if crossing.begins_apart:
        return (
            "not converged: the chains agree, but their hottest replicas do not "
            f"({crossing.hottest_gap:.1f} standard deviations apart), so that ladders begin at "
            f"different places; {RUN_LONGER}."
        )
    trips = crossing.round_trips
    never = tuple(i for i, count in enumerate(trips) if count == 0)
    if never:
        return (
            f"not converged: the chains agree, but the replicas of {_chains(never)} never crossed "
            f"the ladder and back, so that all may sit in the same mode; {RUN_LONGER}."
        )
    if sum(trips) < LEAST_ROUND_TRIPS or min(trips) < LEAST_PER_CHAIN:
        return (
            f"not converged: the chains agree, but their replicas made only {sum(trips)} round "
            f"trips on their ladders ({min(trips)} in the chain with the fewest); "
            f"{LEAST_ROUND_TRIPS} in all and {LEAST_PER_CHAIN} in each are needed to tell that no "
            f"mode is missing; {RUN_LONGER}."
        )
    return ""


def _begun_together(evidence: _Evidence) -> str:
    """Chains without a ladder whose agreement shows little."""
    if evidence.crossing is not None or evidence.begin_apart:
        return ""
    return (
        f"unknown: {_agreement(evidence)}, but all of them began at the same DAG, and this sampler "
        "has no other means to find out whether they all sit in one mode: let them start apart "
        "(no start option), or use method 'mcmc'."
    )


def _low_chain(evidence: _Evidence) -> str:
    """The chain with the lowest scores, if it is the log score that differs."""
    if not evidence.rhat[-2] > evidence.limits.max_rhat:
        return ""
    means = evidence.log_scores.mean(axis=1)
    low = int(np.argmin(means))
    behind = float(np.median(np.delete(means, low)) - means[low])
    return f" (the log scores of chain {low} lie {behind:.1f} below those of the others)"


def _agreement(evidence: _Evidence) -> str:
    """What the chains agree on, in numbers, and what that rests on."""
    text = (
        f"the {len(evidence.means)} chains agree on every edge (largest difference "
        f"{evidence.largest_difference:.3f}"
    )
    if np.isnan(evidence.rhat).all():
        text += "; nothing varied after warm-up)"
    else:
        text += (
            f", R-hat at most {max(1.0, np.nanmax(evidence.rhat)):.2f}, at least "
            f"{np.nanmin(evidence.ess):.0f} effective draws)"
        )
    if evidence.crossing is not None:
        return f"{text} after {sum(evidence.crossing.round_trips)} round trips of tempered replicas"
    return text + (
        evidence.basis or ", judged by their agreement alone as this sampler has no ladder"
    )


def _recommendation(evidence: _Evidence) -> str:
    ess = np.nan_to_num(evidence.ess, nan=np.inf).min()
    if ess >= RECOMMENDED_ESS:
        return ""
    return f" For precise numbers run longer: {RECOMMENDED_ESS} effective draws are recommended."


def _extreme(values: Floats, pick: Callable[[Floats], np.intp]) -> int | None:
    """Where the extreme of the defined values is."""
    return None if np.isnan(values).all() else int(pick(values))


def _name(evidence: _Evidence, values: Floats) -> str:
    return evidence.names[int(np.argmax(values))]


def _edges(count: int) -> str:
    return f"{count} edge{'s' if count > 1 else ''}"


def _against(one: float, other: float, digits: int = 2) -> str:
    return f"{one:.{digits}f} against {other:.{digits}f}"


def _chains(chains: Sequence[int]) -> str:
    return f"{'chain' if len(chains) == 1 else 'chains'} {_numbers(chains)}"


def _numbers(chains: Sequence[int]) -> str:
    *first, last = [str(chain) for chain in chains]
    return f"{', '.join(first)} and {last}" if first else last
