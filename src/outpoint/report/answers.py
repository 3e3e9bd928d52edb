"""Answers of a posterior as short tables: best DAGs, the largest effects, the next experiment.

The draws of an effect are told by structure, too: in which DAGs there is none, and how large it is
elsewhere. They are grouped by the parents of the cause, which decide what confounds it: given them,
all DAGs with a path have much the same effect, so that groups that differ show where it depends on
arrows that the data leave open.

A predictive check tells whether columns are what the averaged model would make of such data. Tables
of as many rows, up to a limit, are simulated, each with a DAG and parameters of its own, and some
figures of every column are compared with those of the data. A figure that hardly any simulated
table reaches is a sign that the model does not describe the column, whatever the DAG.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.graphs import Dag
from outpoint.posterior import Posterior
from outpoint.posterior.effects import (
    EFFECT_DRAWS,
    CausalEffects,
    network_behind,
    standardized_means,
)
from outpoint.posterior.posterior import plain_log_scores
from outpoint.report.layout import LONGEST_NAME, clip_label

if TYPE_CHECKING:
    import pandas as pd

MOST_GROUPS = 5
"""Parent sets of a cause that are shown apart; those of the others are put together."""


@dataclass(frozen=True)
class Group:
    """Draws with the same ``parents`` of the cause, by number; None for all other ones together."""

    parents: tuple[int, ...] | None
    share: float
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class PairGroups:
    """One effect: the probability that there is none, its spread, and its groups with a path."""

    cause: str
    effect: str
    no_path: float
    groups: tuple[Group, ...]


def group_by_parents(
    effects: CausalEffects, names: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[PairGroups]:
    """The groups of some effects."""
    if effects.dags is None:
        return []
    n_draws = len(effects.samples)
    weights = effects.weights if effects.weights is not None else np.full(n_draws, 1.0 / n_draws)
    dags = np.repeat(effects.dags, n_draws // len(effects.dags), axis=0)
    tails = (1 - effects.level) / 2, (1 + effects.level) / 2
    numbered = {
        cause: np.unique(dags[:, :, names.index(cause)], axis=0, return_inverse=True)
        for cause in dict.fromkeys(cause for cause, _ in pairs)
    }
    found = []
    for cause, effect in pairs:
        values = effects.draws(cause, effect).astype(np.float64)
        reached = values != 0
        groups = _groups(*numbered[cause], values, weights * reached, tails)
        no_path = max(0.0, 1.0 - float(weights[reached].sum()))
        found.append(PairGroups(cause, effect, no_path, groups))
    return found


def _groups(
    sets: Booleans,
    number: NDArray[np.intp],
    values: Floats,
    weights: Floats,
    tails: tuple[float, float],
) -> tuple[Group, ...]:
    """The heaviest parent sets, given with that of each draw by number, and the rest."""
    number = number.reshape(-1)
    totals = np.bincount(number, weights=weights, minlength=len(sets))
    ranked = [one for one in np.argsort(-totals, kind="stable").tolist() if totals[one] > 0]
    chosen = [
        _group(tuple(np.flatnonzero(sets[one]).tolist()), number == one, values, weights, tails)
        for one in ranked[:MOST_GROUPS]
    ]
    rest = np.isin(number, ranked[MOST_GROUPS:])
    if (weights[rest] > 0).any():
        chosen.append(_group(None, rest, values, weights, tails))
    return tuple(chosen)


def _group(
    parents: tuple[int, ...] | None,
    inside: Booleans,
    values: Floats,
    weights: Floats,
    tails: tuple[float, float],
) -> Group:
    own = inside & (weights > 0)
    limits = np.quantile(
        values[own], list(tails), method="inverted_cdf", weights=weights[own]
    ).tolist()
    mean = float(np.average(values[own], weights=weights[own]))
    return Group(parents, float(weights[own].sum()), mean, *limits)


N_EXPERIMENTS = 5
LEAST_BITS = 0.05
"""Bits of directions that are worth an experiment."""
LEAST_REMOVED = 0.01
MOST_EXPERIMENTS = 100
"""Variables beyond which nearly all draws differ, so that entropies mean little."""
N_DAGS = 5
LEAST_DRAWS = 10
"""Least number of draws of a DAG at which its share of all draws is worth telling."""
MOST_CHANGES = 8
"""Most differences between two DAGs that are written out; the others are counted."""
N_EFFECTS = 30
MOST_PAIRS = 200
"""Effects that can be chosen to be seen by structure, the largest ones."""
LEAST_PATH = 0.01
"""Least probability of a causal path between two variables whose effect is listed."""
EFFECT_BYTES = 2**27
"""Draws of effects are n² numbers each: with many variables, fewer are drawn."""
LEAST_EFFECTS, SUMMED_EFFECTS = 100, 1_000_000
"""The least number of draws, and the number of effects in all, where levels are summed over: ALARM
takes about 5 ms for each draw, and 30 ms if levels are simulated."""


@dataclass(frozen=True)
class RankedDag:
    """One of the best DAGs; ``probability`` is None if it is not among the draws."""

    dag: Dag
    probability: float | None
    log_score: float
    changes: str
    """What distinguishes it from the best one."""


@dataclass(frozen=True)
class EffectRow:
    """The total effect of one variable on another, in the units of the data."""

    cause: str
    effect: str
    probability: float
    mean: float
    lower: float
    upper: float
    standardized: float
    """The mean in standard deviations of the effect per standard deviation of the cause."""


@dataclass(frozen=True)
class EffectTable:
    """The largest effects, their draws, the level of their intervals, and what has no effects."""

    rows: list[EffectRow]
    n_draws: int
    n_pairs: int
    level: float
    left_out: list[str]
    """Categorical variables of a time series."""
    groups: list[PairGroups]
    """Effects by structure, the largest ones first."""


def list_dags(posterior: Posterior) -> list[RankedDag]:
    """The best DAG, and those with the largest probabilities.

    A DAG that was drawn a few times only is left out: its share of the draws means little.
    """
    best = posterior.map_dag
    top = posterior.top_dags(N_DAGS + 1)
    exact = posterior.log_evidence is not None
    least = 0.0 if exact else LEAST_DRAWS / plain_log_scores(posterior).size
    found = {
        dag: (float(probability), float(log_score))
        for dag, probability, log_score in zip(
            top["graph"], top["probability"], top["log_score"], strict=True
        )
        if probability >= least
    }
    probability = found.pop(best, (posterior.map_probability, 0.0))[0]
    rows = [RankedDag(best, probability, posterior.map_log_score, "")]
    for dag, (share, log_score) in list(found.items())[: N_DAGS - 1]:
        rows.append(RankedDag(dag, share, log_score, describe_changes(best, dag)))
    return rows


def describe_changes(best: Dag, other: Dag) -> str:
    """The edges that ``other`` turns, adds and leaves out."""
    ours, theirs = set(best.edges), set(other.edges)
    turned = [(a, b) for a, b in other.edges if (b, a) in ours]
    added = [edge for edge in other.edges if edge not in ours and edge not in turned]
    lost = [(a, b) for a, b in best.edges if (a, b) not in theirs and (b, a) not in theirs]
    parts = [
        f"{word} {_written(edges)}"
        for word, edges in (("turns", turned), ("adds", added), ("leaves out", lost))
        if edges
    ]
    return "; ".join(parts)


def _written(edges: list[tuple[str, str]]) -> str:
    names = [[clip_label(name, LONGEST_NAME) for name in edge] for edge in edges[:MOST_CHANGES]]
    shown = [" → ".join(pair) for pair in names]
    rest = len(edges) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def list_effects(posterior: Posterior) -> EffectTable | None:
    """The largest effects in standard deviations; None if the score has no model of the data."""
    model, network = posterior.model, network_behind(posterior)
    if network is None and (model is None or len(model.with_units) < 2):
        return None
    if network is not None and network.given.any() and not network.coding.is_continuous.all():
        return None
    n = len(posterior.names) if model is None else len(model.owner)
    n_draws = max(1, min(EFFECT_DRAWS, EFFECT_BYTES // (4 * n * n)))
    if network is not None and not network.coding.is_continuous.all():
        n_draws = min(n_draws, max(LEAST_EFFECTS, SUMMED_EFFECTS // (n * n)))
    effects = posterior.causal_effects(n_draws=n_draws)
    table = effects.table()
    table["standardized"] = standardized_means(effects, table, posterior)
    likely = table[table["probability"] >= LEAST_PATH]
    order = np.argsort(-likely["standardized"].abs().to_numpy(), kind="stable")
    columns = likely.iloc[order[:N_EFFECTS]][[field.name for field in fields(EffectRow)]]
    rows = [EffectRow(*row) for row in columns.itertuples(index=False, name=None)]
    left_out = [name for name in posterior.names if name not in effects.names]
    chosen = likely.iloc[order[:MOST_PAIRS]]
    pairs = list(zip(chosen["cause"], chosen["effect"], strict=True))
    groups = group_by_parents(effects, posterior.names, pairs)
    return EffectTable(rows, effects.n_draws, len(likely), effects.level, left_out, groups)


def list_experiments(posterior: Posterior) -> pd.DataFrame | None:
    """The most useful experiments; None where observations leave no direction open."""
    if posterior.is_series or len(posterior.names) > MOST_EXPERIMENTS:
        return None
    table = posterior.next_experiment()
    if table["before"].iloc[0] < LEAST_BITS:
        return None
    return table[table["removed"] >= LEAST_REMOVED].head(N_EXPERIMENTS)


N_TABLES = 100
MOST_CELLS = 4_000_000
"""Most cells that are simulated; larger tables are compared with fewer simulated ones."""
LEAST_TABLES = 20
MOST_IN_TABLE = 1_000_000
"""Most cells of each simulated table; with larger data, only some rows are compared."""
LEAST_SPIKE = 0.1
"""Least share of rows with one and the same value that counts as a spike."""
RARE = 0.02
"""Share of simulated tables below which a figure counts as odd."""


def _skewness(values: Floats) -> float:
    gaps = values - values.mean()
    return float((gaps**3).mean() / max((gaps**2).mean(), 1e-300) ** 1.5)


def _farthest(values: Floats) -> float:
    return float(np.abs(values - values.mean()).max() / max(values.std(), 1e-300))


def _most_frequent(values: Floats) -> float:
    """The share of the value that occurs most often; 0 if that may be due to rounding."""
    share = float(np.unique(values, return_counts=True)[1].max() / len(values))
    return share if share >= LEAST_SPIKE else 0.0


FIGURES: dict[str, Callable[[Floats], float]] = {
    "skewness": _skewness,
    "farthest value, in standard deviations": _farthest,
    "share of the commonest value": _most_frequent,
}


@dataclass(frozen=True)
class Oddity:
    """A figure of a column that the model hardly ever has."""

    column: str
    figure: str
    observed: float
    lower: float
    upper: float
    """Where 95 % of the simulated tables lie."""


@dataclass(frozen=True)
class Check:
    """What is odd, of how many columns, next to how many simulated tables of how many rows."""

    odd: list[Oddity]
    n_columns: int
    n_tables: int
    n_rows: int
    n_obs: int


def check_columns(posterior: Posterior, data: Dataset | None) -> Check | None:
    """The check; None without data, without a model, for series and for experiments."""
    is_usable = data is not None and data.is_complete and data.names == posterior.names
    if data is None or not is_usable or posterior.network_model is None:
        return None
    if posterior.is_series or data.is_set.any():
        return None
    n_rows = min(data.n_obs, max(1, MOST_IN_TABLE // len(data.names)))
    rows = np.random.default_rng(data.n_obs).permutation(data.n_obs)[:n_rows]
    observed = data.values[np.sort(rows)]
    n_tables = int(np.clip(MOST_CELLS // observed.size, LEAST_TABLES, N_TABLES))
    tables = posterior.replicate(n_tables, n_rows)
    odd = []
    for v, (name, levels) in enumerate(zip(data.names, data.levels, strict=True)):
        if levels is not None:
            continue  # counts of levels are fitted, whatever they are
        for what, figure in FIGURES.items():
            seen = figure(observed[:, v])
            made = np.array([figure(table[:, v]) for table in tables])
            share = min((made >= seen).mean(), (made <= seen).mean())
            if share <= RARE and seen not in made:
                limits = np.quantile(made, [0.025, 0.975]).tolist()
                odd.append(Oddity(name, what, seen, *limits))
    n_columns = int(sum(one is None for one in data.levels))
    return Check(odd, n_columns, n_tables, n_rows, data.n_obs)
