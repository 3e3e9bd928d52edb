"""Causal effects in linear Gaussian networks: the posterior over DAGs and their parameters.

If u is set from outside one unit higher, v changes by the total effect: the sum over all directed
paths from u to v of the products of their coefficients, [(I - B)^-1][u, v] with B[parent, child].
The BGe score is the marginal likelihood of that very model, so its posterior of B given a DAG is
known, node by node and independently of each other. The covariance matrix has an inverse Wishart
posterior with matrix R; for a node v with l parents P, with nu = alpha_w - n + l + 1 + N,

    sigma²      ~  inverse gamma(nu / 2, R[v|P] / 2),     R[v|P] = R[v,v] - R[v,P] R[P,P]^-1 R[P,v],
    b | sigma²  ~  normal(R[P,P]^-1 R[P,v], sigma² R[P,P]^-1).

Coefficients of different nodes being independent, and no path passing a node twice, the mean effect
given a DAG is (I - E[B])^-1. The posterior mean averages that over the DAGs; draws of B give
standard deviations and intervals. R is kept as an upper triangular factor F with F'F = R:
regression on columns of F loses half as many digits as on R.

With categorical variables among them effects are computed in :mod:`outpoint.posterior.all_effects`;
this module has those between continuous ones, whatever lies between them.

The effects are causal if the arrows are: if no common cause of two variables was left out.

Formulas: docs/math.md#causal-effects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import SHARE, VARIABLE, takes
from outpoint.arrays import Booleans, Floats
from outpoint.errors import GraphError, OptionError, TooLargeError
from outpoint.kinds import checked_count
from outpoint.naming import count_of
from outpoint.notebook import SHOWN, as_html, first_of
from outpoint.posterior.draws import name_matrix, rank_pairs
from outpoint.posterior.effect_draws import Block, add_effects
from outpoint.scores import FamilyScorer

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.models import NetworkModel
    from outpoint.posterior.posterior import Posterior

EFFECT_DRAWS = 2000
"""Draws of effects, unless more are asked for: 95% limits are then good to about 0.1 sd."""

MAX_BYTES = 2**30
"""Draws of effects are kept, 4 bytes each, up to this size."""

UNITS = ("original", "sd")

NEEDS_GAUSSIAN = (
    "causal effects need a score with a model of the data: bge or blocks with at least two "
    "continuous variables, bdeu or conditional-gaussian; bic and scores of your own have none."
)


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """What the data say about the parameters of any linear Gaussian DAG.

    ``factor`` is upper triangular with factor' factor = R, over columns; ``owner`` is the variable
    of each, as the levels of a categorical one have several. ``degrees_of_freedom`` is
    alpha_w - m + N for m columns. There are as many of both as there are groups of variables that
    were set from outside in the same rows, R and N being those of the other rows; ``group`` has the
    number of each variable's, -1 if it was set in all rows. ``scales`` are the standard deviations
    of the continuous variables, 0 for categorical ones, which have no unit; ``standardized``
    says whether R is that of columns divided by them.
    """

    names: tuple[str, ...]
    factor: Floats
    degrees_of_freedom: Floats
    group: NDArray[np.int64]
    owner: NDArray[np.int64]
    scales: Floats
    standardized: bool

    @classmethod
    def from_scorer(cls, scorer: FamilyScorer, names: Iterable[str]) -> GaussianModel | None:
        """The model behind a bound score; None if it is not linear and Gaussian."""
        own = [scorer.of(v).gaussian for v in range(scorer.n_nodes)]
        groups = list({id(found): found for found in own if found is not None}.values())
        if not groups:
            return None
        number = {id(found): i for i, found in enumerate(groups)}
        return cls(
            tuple(names),
            np.stack([_factor(found.scatter, found.shift) for found in groups]),
            np.array([found.degrees_of_freedom for found in groups]),
            np.array([number.get(id(found), -1) for found in own], dtype=np.int64),
            groups[0].owner,
            groups[0].scales,
            groups[0].standardized,
        )

    @property
    def with_units(self) -> NDArray[np.int64]:
        """The columns of the continuous variables: effects are those between them."""
        return np.flatnonzero(self.scales[self.owner] > 0)

    def expand(self, dags: Booleans) -> Booleans:
        """DAGs over columns: those of a parent to those of a child, and in order within a variable.

        Given its parents, the columns of a variable have any covariance: each depends on those
        before it.
        """
        among = dags[:, self.owner][:, :, self.owner]
        same = self.owner[:, None] == self.owner[None, :]
        return np.ascontiguousarray(among | np.triu(same, k=1))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything but the names, as a few small arrays to be stored."""
        return {
            "factor": self.factor,
            "degrees_of_freedom": self.degrees_of_freedom,
            "group": self.group,
            "owner": self.owner,
            "scales": self.scales,
            "standardized": np.array(self.standardized),
        }

    @classmethod
    def from_arrays(cls, names: Iterable[str], arrays: dict[str, NDArray[Any]]) -> GaussianModel:
        """The model that :meth:`arrays` came from."""
        return cls(
            tuple(names),
            np.asarray(arrays["factor"], dtype=np.float64),
            np.asarray(arrays["degrees_of_freedom"], dtype=np.float64),
            np.asarray(arrays["group"], dtype=np.int64),
            np.asarray(arrays["owner"], dtype=np.int64),
            np.asarray(arrays["scales"], dtype=np.float64),
            bool(arrays["standardized"]),
        )

    def check(self, dags: Booleans) -> None:
        """Refuse DAGs in which a variable that was set in all rows has parents."""
        has_parents = dags.any(axis=(0, 1)) & (self.group < 0)
        if has_parents.any():
            name = self.names[int(np.argmax(has_parents))]
            raise OptionError(
                f"nothing is known about the effects on {name!r}, which was set in every row: "
                "learn again and declare it a root."
            )

    def unit_factors(self, units: str) -> Floats:
        """What effects [cause, effect] of columns are multiplied by to be in ``units``."""
        if units not in UNITS:
            raise OptionError(f"units must be 'original' or 'sd', not {units!r}.")
        scales = np.where(self.scales > 0, self.scales, 1.0)[self.owner]
        if (units == "sd") == self.standardized:
            scales = np.ones_like(scales)
        elif not self.standardized:
            scales = 1.0 / scales
        return np.divide(scales[None, :], scales[:, None])


def has_levels(network: NetworkModel) -> bool:
    """Whether categorical variables have effects, too, which they do not in time series."""
    return not network.coding.is_continuous.all() and not network.given.any()


def network_behind(posterior: Posterior) -> NetworkModel | None:
    """The model of the parameters behind effects, one of several where data were completed."""
    found = posterior._components()
    return None if found is None else found[0][0]


def standardized_means(effects: CausalEffects, table: pd.DataFrame, posterior: Posterior) -> Floats:
    """The mean effects of a table in standard deviations, whatever their units.

    Categorical variables have no standard deviation: their effects are those of and on levels.
    """
    means: Floats = table["mean"].to_numpy()
    if effects.units == "sd":
        return means
    network, model = network_behind(posterior), posterior.model
    if network is not None:
        deviations = network.coding.deviations
    else:
        assert model is not None
        deviations = model.scales
    scale = dict(zip(posterior.names, deviations.tolist(), strict=True))
    pairs = zip(table["cause"], table["effect"], strict=True)
    return means * np.array([scale[cause] / scale[effect] for cause, effect in pairs])


def _factor(scatter: Floats, shift: Floats) -> Floats:
    """Upper triangular F with F'F = scatter + shift shift', without forming that sum."""
    scales = np.sqrt(scatter.diagonal())
    values, vectors = np.linalg.eigh(scatter / np.outer(scales, scales))
    least = len(scales) * np.finfo(np.float64).eps
    root = np.sqrt(np.maximum(values, least))[:, None] * vectors.T * scales
    return np.asarray(np.linalg.qr(np.vstack([root, shift]), mode="r"), dtype=np.float64)


def spread_evenly(n_items: int, n_wanted: int) -> NDArray[np.int64]:
    """Indices of at most ``n_wanted`` of ``n_items`` items, evenly spread."""
    n_kept = min(n_items, n_wanted)
    return (np.arange(n_kept) * n_items // max(n_kept, 1)).astype(np.int64)


def sample_effects(
    dags: Booleans | Iterable[Booleans],
    model: GaussianModel,
    rng: np.random.Generator,
    *,
    weights: Floats | None = None,
    parameters_per_dag: int = 1,
    units: str = "original",
    level: float = 0.95,
) -> CausalEffects:
    """Draw total effects: for each DAG ``parameters_per_dag`` times new coefficients.

    ``dags`` is an array (..., parent, child) or an iterable of such blocks, so that not all need
    be there at once; ``weights`` has one weight per DAG, equal ones by default. ``units``:
    ``"original"`` (units of the effect per unit of the cause) or ``"sd"`` (standard deviations).
    The same generator state gives the same draws, however the DAGs are cut into blocks.
    """
    n, n_columns, kept = len(model.names), len(model.owner), model.with_units
    if len(kept) < 2:
        raise OptionError(NEEDS_GAUSSIAN)
    parameters_per_dag = checked_count(parameters_per_dag, "parameters_per_dag", 1)
    if not 0 < level < 1:
        raise OptionError(
            f"level must be a probability between 0 and 1, such as 0.95, not {level!r}."
        )
    factors = model.unit_factors(units)
    blocks = [dags] if isinstance(dags, np.ndarray) else dags
    means, paths = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    draws, drawn_dags = [], []
    n_dags, size = 0, 0
    streams = rng.spawn(2)
    for block in blocks:
        matrices = np.ascontiguousarray(block, dtype=np.bool_).reshape(-1, n, n)
        weight = _weights_of(weights, n_dags, len(matrices))
        n_dags += len(matrices)
        size += len(matrices) * parameters_per_dag * n_columns**2 * 4
        refuse_large(size, n_columns)
        out = np.empty((len(matrices), parameters_per_dag, n_columns, n_columns), dtype=np.float32)
        model.check(matrices)
        columns, group = model.expand(matrices), model.group[model.owner]
        numbers = _random_numbers(columns, model.degrees_of_freedom[group], out.shape[1], streams)
        own = Block(columns, weight, model.factor, group, factors, *numbers)
        if not add_effects(own, out, means, paths):
            raise GraphError("effects need acyclic graphs, but one has a cycle.")
        draws.append(out.reshape(-1, n_columns, n_columns)[:, kept][:, :, kept])
        drawn_dags.append(matrices)
    used = _weights_of(weights, 0, n_dags)
    if n_dags == 0 or (weights is not None and len(weights) != n_dags) or not used.sum() > 0:
        raise OptionError(
            "effects need at least one DAG, and one weight for each if there are weights."
        )
    return CausalEffects(
        names=tuple(model.names[model.owner[column]] for column in kept),
        units=units,
        level=level,
        means=(means / used.sum())[np.ix_(kept, kept)],
        paths=np.clip(paths / used.sum(), 0.0, 1.0)[np.ix_(kept, kept)],
        samples=np.concatenate(draws),
        weights=None if weights is None else np.repeat(used / used.sum(), parameters_per_dag),
        dags=np.concatenate(drawn_dags),
    )


def _random_numbers(
    dags: Booleans, freedom: Floats, repeats: int, streams: list[np.random.Generator]
) -> tuple[Floats, Floats]:
    """Random numbers for variances and coefficients; a stream for each, whatever the blocks."""
    shapes = (freedom + dags.sum(axis=1) + 1.0) / 2.0
    gammas = streams[0].standard_gamma(np.repeat(shapes[:, None], repeats, axis=1))
    return gammas, streams[1].standard_normal(repeats * int(dags.sum()))


def _weights_of(weights: Floats | None, start: int, count: int) -> Floats:
    if weights is None:
        return np.ones(count)
    own: Floats = np.asarray(weights, dtype=np.float64)[start : start + count]
    if len(own) != count or not (np.isfinite(own).all() and (own >= 0).all()):
        raise OptionError("weights must be one finite number from 0 for each DAG.")
    return own


def refuse_large(size: int, n: int) -> None:
    """Refuse more bytes of draws than are kept, those of n x n effects each."""
    if size > MAX_BYTES:
        raise TooLargeError(
            f"draws of all effects between {n} variables are kept up to {MAX_BYTES >> 20} MB: ask "
            f"for at most {MAX_BYTES // (4 * n * n)} draws."
        )


@dataclass(frozen=True, eq=False)
class CausalEffects:
    """Posterior of the total causal effect of every variable on every other.

    Tables are indexed [cause, effect]. ``units`` is ``"original"`` (units of the effect per unit
    of the cause) or ``"sd"`` (standard deviations). ``samples`` (draw, cause, effect) are the draws
    behind the standard deviations and intervals; ``level`` is the probability of the intervals.
    ``dags`` are those that parameters were drawn for, equally often for each and in this order.
    ``outermost`` has the first and the last level of every categorical variable.
    """

    names: tuple[str, ...]
    units: str
    level: float
    means: Floats
    paths: Floats
    samples: NDArray[np.float32]
    weights: Floats | None = None
    dags: Booleans | None = None
    outermost: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def n_draws(self) -> int:
        """Number of draws."""
        return len(self.samples)

    @property
    def mean(self) -> pd.DataFrame:
        """Posterior mean of the effects; 0 where a DAG has no path, 1 on the diagonal.

        Coefficients are averaged exactly given each DAG, so only the choice of DAGs is sampled.
        """
        return self._square(self.means)

    @property
    def sd(self) -> pd.DataFrame:
        """Posterior standard deviation of the effects."""
        return self._square(self._sds())

    @property
    def probability_nonzero(self) -> pd.DataFrame:
        """Share of the DAGs in which a directed path leads from cause to effect."""
        return self._square(self.paths)

    @takes(q=SHARE)
    def quantile(self, q: float) -> pd.DataFrame:
        """Posterior quantile of the effects."""
        return self._square(self._quantiles([q])[0])

    @takes(cause=VARIABLE, effect=VARIABLE)
    def draws(self, cause: str, effect: str) -> NDArray[np.float32]:
        """Draws of one effect (with ``weights``, if there are any)."""
        for name in (cause, effect):
            if name not in self.names:
                raise OptionError(f"{name!r} is not one of the variables.")
        return self.samples[:, self.names.index(cause), self.names.index(effect)].copy()

    def _repr_html_(self) -> str:
        """In a notebook: the strongest effects."""
        table = self.table()
        shown = table[["cause", "effect", "mean", "lower", "upper", "probability"]].head(SHOWN)
        title = f"CausalEffects: {len(table):,} pairs of variables, {self.n_draws:,} draws"
        unit = "standard deviations" if self.units == "sd" else "units of the effect per cause"
        note = f"in {unit}; {self.level:.0%} intervals; probability of a causal path"
        more = first_of(len(table), "pairs")
        rows = shown.itertuples(index=False, name=None)
        return as_html(title, list(shown.columns), rows, f"{note}; {more}" if more else note)

    def table(self) -> pd.DataFrame:
        """One row per pair, largest mean effect first.

        ``lower`` and ``upper`` bound the central credible interval, ``probability`` is that of a
        causal path, ``mean_given_path`` the mean over the DAGs that have one (NaN if none has).
        """
        import pandas as pd

        causes, effects = rank_pairs(np.abs(self.means))
        lower, upper = self._quantiles([(1 - self.level) / 2, (1 + self.level) / 2])
        paths = np.where(self.paths > 0, self.paths, np.nan)
        columns = {
            "mean": self.means,
            "sd": self._sds(),
            "lower": lower,
            "upper": upper,
            "probability": self.paths,
            "mean_given_path": self.means / paths,
        }
        return pd.DataFrame(
            {
                "cause": [self.names[u] for u in causes],
                "effect": [self.names[v] for v in effects],
                **{name: values[causes, effects] for name, values in columns.items()},
            }
        )

    def __repr__(self) -> str:
        size = f"{count_of(len(self.names), 'variable')}, {count_of(self.n_draws, 'draw')}"
        return f"CausalEffects({size}, {self.units})"

    def _sds(self) -> Floats:
        out = np.empty_like(self.means)
        for cause in range(len(self.names)):
            values = self.samples[:, cause].astype(np.float64)
            centre = np.average(values, axis=0, weights=self.weights)
            out[cause] = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=self.weights))
        return out

    def _quantiles(self, probabilities: list[float]) -> Floats:
        out = np.empty((len(probabilities), *self.means.shape))
        for cause in range(len(self.names)):
            values = self.samples[:, cause].astype(np.float64)
            if self.weights is None:
                out[:, cause] = np.quantile(values, probabilities, axis=0)
            else:
                out[:, cause] = np.quantile(
                    values, probabilities, axis=0, method="inverted_cdf", weights=self.weights
                )
        return out

    def _square(self, values: Floats) -> pd.DataFrame:
        return name_matrix(values, self.names, "cause", "effect")
