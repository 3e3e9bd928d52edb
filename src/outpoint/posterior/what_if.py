"""What if: the posterior of a causal effect, averaged over DAGs and parameters, for any data.

An effect is the difference that setting variables from outside makes to the mean of another, or to
the probability of one of its levels. Given a DAG its mean over parameters is exact
(:mod:`outpoint.models.intervening`); by the law of total variance, the variance is that of these
means over DAGs plus the mean of that within DAGs. Formulas: docs/math.md#what-if.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from outpoint.arguments import SHARE, takes
from outpoint.arrays import Booleans, Floats, Integers
from outpoint.errors import OptionError
from outpoint.graphs.blocks import find_paths
from outpoint.models import NetworkModel
from outpoint.models.intervening import Intervened, Target, changed
from outpoint.models.network import code_of
from outpoint.models.summing import Settings
from outpoint.notebook import as_html
from outpoint.posterior.draws import Draws, WeightedGraphs
from outpoint.progress import Advance, FractionCallback, say_nothing, tell_fractions

NEEDS_MODEL = (
    "effects need a score with a model of the data: bge, bdeu, blocks or conditional-gaussian; bic "
    "and scores of your own have none."
)

Component = tuple[NetworkModel, WeightedGraphs]
"""A model of the parameters, and the DAGs that go with it."""

WHAT_IF_DRAWS = 1000
"""DAGs behind an effect, unless more are asked for."""

OPEN_SIGN = 0.05
"""Least probability of the rarer sign at which an effect says what the sign depends on."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """What is compared: variables with the two values that they are set to, and the target."""

    names: tuple[str, ...]
    settings: Settings
    target: Target

    def contrast(self, outcomes: Floats) -> Floats:
        """Differences (...) of outcomes (..., arm)."""
        return np.asarray(outcomes[..., 1] - outcomes[..., 0])

    def has_path(self, dags: Booleans) -> Booleans:
        """In which DAGs a directed path leads to the target from a variable that changes."""
        cut = dags.copy()
        cut[:, :, list(self.settings)] = False
        found = [find_paths(cut, v, self.target.variable) for v in changed(self.settings)]
        return np.logical_or.reduce(found)


def make_contrast(
    model: NetworkModel,
    cause: str | Mapping[str, Sequence[Any]],
    effect: str,
    levels: Sequence[Any] | None,
    level: Any,
) -> Contrast:
    """The contrast that names and values ask for, checked."""
    if isinstance(cause, Mapping):
        if levels is not None:
            raise OptionError(
                "levels belong to one cause; with several, give each its two values: "
                "{'a': (0, 1), 'b': (2, 5)}."
            )
        wanted: dict[str, Sequence[Any] | None] = dict(cause)
    else:
        wanted = {cause: levels}
    coding = model.coding
    for name in (*wanted, effect):
        if name not in coding.names:
            raise OptionError(f"{name!r} is not one of the variables.")
    if effect in wanted:
        raise OptionError(f"{effect!r} is both the cause and the effect: choose two variables.")
    if not wanted:
        raise OptionError("an effect needs at least one variable that is set.")
    if model.given[coding.names.index(effect)]:
        raise OptionError(f"{effect!r} lies in the past: nothing is known of what changes it.")
    settings = {
        coding.names.index(name): _values_of(model, name, two) for name, two in wanted.items()
    }
    if not changed(settings):
        raise OptionError("an effect compares two different settings: change one variable.")
    return Contrast(coding.names, settings, make_target(model, effect, level))


def make_target(model: NetworkModel, effect: str, level: Any = None) -> Target:
    """The mean of a continuous variable; the probability of a level, the last one by default."""
    v = model.names.index(effect)
    own = model.coding.levels[v]
    if own is None:
        if level is not None:
            raise OptionError(f"{effect!r} is continuous: it has no level {level!r}.")
        return Target(v)
    return Target(v, len(own) - 1 if level is None else int(code_of(model.coding, v, level)))


def _values_of(model: NetworkModel, name: str, two: Sequence[Any] | None) -> Floats:
    """The two values of a variable that is set; by default one unit, or the outermost levels."""
    v = model.names.index(name)
    if two is None:
        return default_values(model, v)
    if isinstance(two, str) or len(two) != 2:
        raise OptionError(f"{name!r} must be compared at two values, not {two!r}.")
    return np.array([code_of(model.coding, v, one) for one in two])


def default_values(model: NetworkModel, variable: int) -> Floats:
    """One unit of a continuous variable; the first and the last level of a categorical one."""
    own, codes = model.coding.levels[variable], model.coding.codes[variable]
    if own is None:
        shift, deviation = (
            float(own[variable]) for own in (model.coding.shifts, model.coding.deviations)
        )
        return (shift if abs(shift) > 1e-9 * deviation else 0.0) + np.array([0.0, 1.0])
    known = np.arange(len(own)) if codes is None else np.flatnonzero(~np.isnan(codes).any(axis=1))
    return np.array([known[0], known[-1]], dtype=np.float64)


def sample_effect(
    components: Sequence[Component],
    graphs: WeightedGraphs,
    contrast: Contrast,
    n_draws: int,
    rng: np.random.Generator,
    interval_level: float,
    tell: FractionCallback = say_nothing,
) -> Effect:
    """The posterior of an effect from DAGs drawn by their weights, parameters drawn for each.

    ``graphs`` are those of all components together. Where a DAG is in several of them, the effect
    given this DAG is the mean over these.
    """
    if not 0 < interval_level < 1:
        raise OptionError(
            "interval_level must be a probability between 0 and 1, such as 0.95, not "
            f"{interval_level!r}."
        )
    shares = [len(part) for part in np.array_split(np.arange(n_draws), len(components))]
    advance = tell_fractions(n_draws, tell)
    parts = [
        _sample_component(own, contrast, share, rng, advance)
        for own, share in zip(components, shares, strict=True)
        if share
    ]
    outcomes, expected, counts, dags = (np.concatenate(own) for own in zip(*parts, strict=True))
    if len(parts) > 1:
        outcomes, expected, counts, dags = _joined(outcomes, expected, counts, dags)
    paths = graphs.mean(graphs.evaluate(contrast.has_path))
    return Effect(
        contrast=contrast,
        model=components[0][0],
        interval_level=interval_level,
        outcomes=outcomes,
        expected=expected,
        counts=counts,
        dags=dags,
        p_zero=1.0 - paths,
    )


def _sample_component(
    component: Component,
    contrast: Contrast,
    n_draws: int,
    rng: np.random.Generator,
    advance: Advance,
) -> tuple[Floats, Floats, Integers, Booleans]:
    """Outcomes (draw, arm), expectations (DAG, arm), how often each DAG was drawn, and the DAGs."""
    model, graphs = component
    numbers, counts = spread_by_weight(graphs.weights, n_draws)
    dags = graphs.adjacencies(numbers)
    expected, drawn = np.empty((len(numbers), 2)), []
    reached = np.zeros(len(numbers), dtype=np.bool_)
    for place, (dag, count) in enumerate(zip(dags, counts, strict=True)):
        cut = Intervened(model, dag, contrast.settings, contrast.target)
        reached[place] = cut.is_reached
        expected[place] = cut.expected(rng)
        drawn += [cut.drawn(rng) for _ in range(count)]
        advance(int(count))
    outcomes = np.array(drawn)
    expected[~reached, 1] = expected[~reached, 0]
    of_draw = np.repeat(reached, counts)
    outcomes[~of_draw, 1] = outcomes[~of_draw, 0]
    return outcomes, expected, counts, dags


def _joined(
    outcomes: Floats, expected: Floats, counts: Integers, dags: Booleans
) -> tuple[Floats, Floats, Integers, Booleans]:
    """The same with every DAG once: expectations are averaged, draws sorted by their DAGs."""
    distinct, which = np.unique(dags, axis=0, return_inverse=True)
    which = which.reshape(-1)
    totals = np.bincount(which, weights=counts)
    means = np.stack(
        [np.bincount(which, weights=counts * arm) / totals for arm in expected.T], axis=1
    )
    order = np.argsort(np.repeat(which, counts), kind="stable")
    return outcomes[order], means, totals.astype(counts.dtype), distinct


def spread_by_weight(weights: Floats, n_draws: int) -> tuple[Integers, Integers]:
    """Numbers of DAGs and how often each is drawn, as evenly as their weights allow."""
    places = (np.arange(n_draws) + 0.5) / n_draws
    found = np.searchsorted(np.cumsum(weights) / weights.sum(), places)
    return np.unique(np.minimum(found, len(weights) - 1), return_counts=True)


@dataclass(frozen=True, eq=False)
class Effect:
    """The posterior of the difference that setting variables makes to another.

    ``outcomes`` (draw, 2) are what is expected of the target at the two values, in each draw of a
    DAG and its parameters: means in the units of the data, or probabilities of a level.
    ``p_zero`` is the probability that there is no effect because no directed path leads there.
    """

    contrast: Contrast
    model: NetworkModel
    interval_level: float
    outcomes: Floats
    expected: Floats
    counts: Integers
    dags: Booleans
    p_zero: float

    @property
    def draws(self) -> Floats:
        """Draws of the effect."""
        return self.contrast.contrast(self.outcomes)

    @property
    def mean(self) -> float:
        """Posterior mean: parameters are averaged exactly, only DAGs are sampled."""
        return float(np.average(self.given_dag, weights=self.counts))

    @property
    def given_dag(self) -> Floats:
        """The mean effect given each DAG of ``dags``, which count ``counts`` times."""
        return self.contrast.contrast(self.expected)

    @property
    def graphs(self) -> WeightedGraphs:
        """The DAGs of ``dags``, weighted by how often each was drawn."""
        every = np.repeat(self.dags, self.counts, axis=0)[None]
        return WeightedGraphs.from_draws(Draws.from_arrays(every, np.zeros(every.shape[:2])))

    @property
    def sd_structure(self) -> float:
        """Standard deviation of the mean effects given the DAG: not knowing the structure."""
        gaps = self.given_dag - self.mean
        return float(np.sqrt(np.average(gaps**2, weights=self.counts)))

    @property
    def sd_parameters(self) -> float:
        """Root mean variance of the effect given the DAG: not knowing the parameters."""
        gaps = self.draws - np.repeat(self.given_dag, self.counts)
        return float(np.sqrt(np.mean(gaps**2)))

    @property
    def sd(self) -> float:
        """Posterior standard deviation: that of structures and that of parameters together."""
        return float(np.hypot(self.sd_structure, self.sd_parameters))

    @property
    def interval(self) -> tuple[float, float]:
        """The central credible interval."""
        return self.quantile((1 - self.interval_level) / 2), self.quantile(
            (1 + self.interval_level) / 2
        )

    @takes(q=SHARE)
    def quantile(self, q: float) -> float:
        """A posterior quantile of the effect."""
        return float(np.quantile(self.draws, q))

    @property
    def p_positive(self) -> float:
        """Probability that the effect is positive."""
        return self._sign_share(1.0)

    @property
    def p_negative(self) -> float:
        """Probability that the effect is negative."""
        return self._sign_share(-1.0)

    def _sign_share(self, sign: float) -> float:
        signs = np.sign(self.draws)
        there = np.abs(signs).sum()
        return 0.0 if there == 0 else float((signs == sign).sum() / there * (1.0 - self.p_zero))

    @property
    def levels_mean(self) -> tuple[float, float]:
        """What is expected of the target at the two values, averaged over everything."""
        first, second = np.average(self.expected, axis=0, weights=self.counts)
        return float(first), float(second)

    @property
    def ratio(self) -> float | None:
        """The posterior median of the ratio of the two probabilities; None for numbers."""
        ratios = self._ratios()
        return None if ratios is None else float(np.median(ratios))

    @property
    def ratio_interval(self) -> tuple[float, float] | None:
        """The central credible interval of the ratio; None for numbers."""
        ratios = self._ratios()
        if ratios is None:
            return None
        limits = [(1 - self.interval_level) / 2, (1 + self.interval_level) / 2]
        lower, upper = np.quantile(ratios, limits)
        return float(lower), float(upper)

    def _ratios(self) -> Floats | None:
        if self.contrast.target.level is None or (self.outcomes <= 0).any():
            return None
        return np.asarray(self.outcomes[:, 1] / self.outcomes[:, 0])

    @property
    def question(self) -> str:
        """What was asked, in words."""
        coding, target = self.model.coding, self.contrast.target
        own = coding.levels[target.variable]
        name = coding.names[target.variable]
        if own is not None and target.level is not None:
            name = f"P({name} = {own[target.level]})"
        parts = [
            f"{coding.names[v]} from {_word(coding, v, two[0])} to {_word(coding, v, two[1])}"
            for v, two in self.contrast.settings.items()
        ]
        return f"{name} when setting {' and '.join(parts)}"

    @property
    def note(self) -> str:
        """A sentence on a sign that the posterior leaves open, and the edge that it depends on."""
        rare = min(self.p_positive, self.p_negative)
        if rare < OPEN_SIGN:
            return ""
        word = "negative" if self.p_negative <= self.p_positive else "positive"
        sentence = f"The effect is {word} in {rare:.0%} of the posterior"
        edge = self._deciding_edge(-1.0 if word == "negative" else 1.0)
        if edge is None:
            return f"{sentence}; no single edge decides the sign."
        a, b = (self.contrast.names[v] for v in edge)
        return f"{sentence}: where {a} -> {b} is turned around."

    def _deciding_edge(self, sign: float) -> tuple[int, int] | None:
        """The edge that is turned around nearly exactly where the effect has the rarer sign."""
        signs = np.sign(self.given_dag)
        rare, usual = (self.counts * (signs == one) for one in (sign, -sign))
        if not rare.any() or not usual.any():
            return None
        there = np.tensordot(usual / usual.sum(), self.dags, axes=1)
        turned = np.tensordot(rare / rare.sum(), self.dags, axes=1).T
        share = np.minimum(there, turned)
        best = np.unravel_index(int(np.argmax(share)), share.shape)
        return (int(best[0]), int(best[1])) if share[best] >= 0.8 else None

    def __repr__(self) -> str:
        lower, upper = self.interval
        return (
            f"Effect({self.question}: {self.mean:.4g}, {self.interval_level:.0%} interval "
            f"{lower:.4g} to {upper:.4g}, none with probability {self.p_zero:.3f})"
        )

    def rows(self) -> list[tuple[str, float]]:
        """All numbers by name, as tables and files show them."""
        lower, upper = self.interval
        rows = [
            ("mean", self.mean),
            ("lower", lower),
            ("upper", upper),
            ("sd_structure", self.sd_structure),
            ("sd_parameters", self.sd_parameters),
            ("p_zero", self.p_zero),
            ("p_positive", self.p_positive),
            ("p_negative", self.p_negative),
        ]
        ratio, limits = self.ratio, self.ratio_interval
        if ratio is not None and limits is not None:
            rows += [("ratio", ratio), ("ratio_lower", limits[0]), ("ratio_upper", limits[1])]
        return rows

    def _repr_html_(self) -> str:
        """In a notebook: all numbers."""
        shown = [(name, f"{value:.4g}") for name, value in self.rows()]
        return as_html(f"Effect: {self.question}", ["", ""], shown, self.note)


def _word(coding: Any, variable: int, value: float) -> str:
    own = coding.levels[variable]
    return f"{value:.6g}" if own is None else str(own[int(value)])
