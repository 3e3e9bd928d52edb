"""The facts of a run in words and short tables, for the top and the end of the report.

One section says what was missing, in which patterns, and what that costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from outpoint.naming import count_of, enumerate_items
from outpoint.posterior import Posterior, SampledPosterior
from outpoint.posterior.augmented import AugmentedPosterior
from outpoint.posterior.info import describe_interventions, describe_knowledge, describe_score
from outpoint.posterior.posterior import plain_log_scores
from outpoint.registry import score_title
from outpoint.report.answers import LEAST_DRAWS, RankedDag
from outpoint.tables.parent_sets import count_candidates

if TYPE_CHECKING:
    import pandas as pd

    from outpoint.data import Dataset

Facts = list[tuple[str, str]]
Rows = list[list[str]]

KINDS_SHOWN = 60
PRIORS = {
    "uniform": "uniform: every DAG is as probable as any other",
    "fair": "fair: every number of parents is as probable as any other",
}


def describe_run(posterior: Posterior) -> str:
    """The title: what was learned from what."""
    return f"Posterior over DAGs: {posterior.info.source}"


def has_chains(posterior: Posterior) -> bool:
    """Whether Markov chains made the draws; reports of exact posteriors must not mention them."""
    return isinstance(posterior, SampledPosterior) or len(plain_log_scores(posterior)) > 1


def headline(posterior: Posterior) -> str:
    """What was shown, in a few words."""
    if posterior.log_evidence is not None:
        return "Computed exactly"
    if not posterior.converged:
        return "Do not rely on these numbers yet"
    return "The chains agree" if has_chains(posterior) else "Enough draws"


def list_grounds(posterior: Posterior) -> Facts:
    """What the numbers rest on, however well they were computed: for the banner."""
    facts = [
        ("Score", _describe_score(posterior)),
        ("Prior", _describe_prior(posterior)),
        ("Parents", _describe_limit(posterior)),
        ("Candidates", _describe_candidates(posterior)),
        *_interventions(posterior),
    ]
    notes = [("Note", note) for note in posterior.info.notes]
    arrows = ("Arrows", "are causes and effects only if no common cause was left out")
    return [*facts, *notes, arrows]


def _describe_score(posterior: Posterior) -> str:
    """The score and, where it depends on them, the units of the columns."""
    name = score_title(posterior.info.score)
    if posterior.model is None:
        return name
    if posterior.model.standardized:
        return f"{name} of standardized columns: units do not matter"
    return f"{name} of the columns as they are: other units can give other edges"


def _interventions(posterior: Posterior) -> Facts:
    """What was set from outside; empty if nothing was."""
    told = describe_interventions(posterior.info)
    return [("Interventions", told)] if told else []


def _describe_prior(posterior: Posterior) -> str:
    """The structure prior, and what the user knew beyond it."""
    name = posterior.info.structure_prior
    known = describe_knowledge(posterior.info)
    return f"{name}, with {', '.join(known)}" if known else PRIORS.get(name, name)


def _describe_limit(posterior: Posterior) -> str:
    limit = posterior.info.max_parents
    if limit >= len(posterior.names) - 1:
        return "no limit"
    return f"at most {limit} for each variable"


def _describe_candidates(posterior: Posterior) -> str:
    """Among which variables parents were looked for."""
    facts = posterior.on_candidates
    if isinstance(posterior, AugmentedPosterior) and posterior.parent_sets.are_narrow:
        numbers = count_candidates(posterior.candidates)
        words = f"{_range(int(numbers.min()), int(numbers.max()))} for each variable"
        changes = posterior.missing_change
        if changes is None:
            return f"{words}, and no others"
        return (
            f"{words}; by an estimate, others would change no edge by more than {changes.max():.1g}"
        )
    if facts is None:
        return _describe_free_choice(posterior)
    return (
        f"{_range(facts['fewest'], facts['most'])} for each variable; sets with others were "
        "sampled as well, in "
        f"{facts['mean_outside_share']:.1%} of the draws of a variable "
        f"(at most {facts['largest_outside_share']:.1%})"
    )


def _describe_free_choice(posterior: Posterior) -> str:
    """What may be a parent of what, where no candidates were chosen beforehand."""
    info = posterior.info
    words = "every variable can be a parent of every other"
    if info.knowledge.keys() - {"edge_prior"}:
        words += ", as far as the background knowledge allows"
    if info.score == "conditional-gaussian":
        words += "; only categorical variables can be parents of a categorical one"
    return words


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def list_tiles(posterior: Posterior) -> Facts:
    """The few numbers one looks for first."""
    info = posterior.info
    tiles = [
        ("variables", f"{len(posterior.names):,}"),
        ("observations", f"{info.n_observations:,}"),
        ("method", posterior.method),
        ("best log score", f"{posterior.map_log_score:.3f}"),
    ]
    if posterior.log_evidence is not None:
        tiles.append(("log evidence", f"{posterior.log_evidence:.3f}"))
    if posterior.map_probability is not None:
        tiles.append(("best DAG’s probability", f"{posterior.map_probability:.3g}"))
    if isinstance(posterior, SampledPosterior):
        chains = f"{posterior.n_chains} × {posterior.steps_per_chain:,}"
        is_augmented = isinstance(posterior, AugmentedPosterior)
        tiles.append(("chains × tables" if is_augmented else "chains × steps", chains))
    return tiles


def list_settings(posterior: Posterior) -> Facts:
    """Everything that determines the result, as the run recorded it."""
    info = posterior.info
    facts = [
        ("Data", info.source),
        ("SHA-256 of the data", info.fingerprint),
        ("Observations", f"{info.n_observations:,}"),
        *_list_kinds(posterior),
        *_interventions(posterior),
        ("Score", _describe_score(posterior)),
        ("Score in full", describe_score(info)),
        ("Structure prior", info.structure_prior),
        *((f"Known: {name.replace('_', ' ')}", str(own)) for name, own in info.knowledge.items()),
        *((f"Option {name}", str(own)) for name, own in info.options.items()),
        ("Most parents of a variable", _describe_limit(posterior)),
        ("Candidate parents", _describe_candidates(posterior)),
        ("Method", info.method),
    ]
    if isinstance(posterior, SampledPosterior):
        facts += _list_chain_settings(posterior)
    return [
        *facts,
        ("Seed", str(info.seed)),
        *([] if info.elapsed_seconds is None else [("Time", f"{info.elapsed_seconds:.2f} s")]),
        ("Version", f"outpoint {info.version}"),
        *((f"Version of {name}", number) for name, number in info.libraries.items()),
    ]


def _list_kinds(posterior: Posterior) -> Facts:
    """The columns of each kind, by name up to a number that can still be read."""
    kinds = posterior.info.kinds
    found = {
        kind: [name for name, own in zip(posterior.names, kinds, strict=False) if own == kind]
        for kind in sorted(set(kinds), reverse=True)
    }
    return [
        (
            f"{kind.capitalize()} columns",
            f"{len(names)}: {enumerate_items(names, limit=KINDS_SHOWN)}",
        )
        for kind, names in found.items()
    ]


def _list_chain_settings(posterior: SampledPosterior) -> Facts:
    facts = [
        ("Chains", str(posterior.n_chains)),
        (
            "Completed tables of each chain"
            if isinstance(posterior, AugmentedPosterior)
            else "Steps of each chain",
            f"{posterior.steps_per_chain:,}",
        ),
        ("Draws kept of each chain", f"{plain_log_scores(posterior).shape[1]:,}"),
    ]
    if posterior.round_trips is not None:
        replicas = [len(record.power) for record in posterior.records]
        facts += [
            ("Tempered replicas of each chain", ", ".join(map(str, replicas))),
            ("Round trips of each chain", ", ".join(map(str, posterior.round_trips))),
        ]
    if posterior.on_candidates is not None:
        lost = f"at most {posterior.lost_mass:.1g} of the posterior"
        missing = posterior.missing_mass
        never = "not known"
        if missing is not None:
            never = f"about {missing.max():.1g} of the posterior of any variable, or less"
        facts += [("Parent sets pruned", lost), ("Parent sets never admitted", never)]
    return facts


def describe_dags(posterior: Posterior, dags: list[RankedDag]) -> str:
    """Where the probabilities of the best DAGs come from, and how much they leave to others."""
    total = sum(row.probability or 0.0 for row in dags)
    if posterior.log_evidence is not None:
        origin = "Probabilities are exact."
    else:
        origin = f"Probabilities are shares of {plain_log_scores(posterior).size:,} draws."
        if len(dags) == 1 and total < 1:
            return f"{origin} No other DAG was drawn {LEAST_DRAWS} times: look at edges instead."
    if isinstance(posterior, AugmentedPosterior):
        origin += " Log scores are those of different completed tables: do not compare them."
    return f"{origin} Together these DAGs have {total:.3g} of the posterior."


def describe_columns(data: Dataset | None) -> Rows:
    """Name, kind and range of every column; empty if the data are not at hand."""
    if data is None:
        return []
    rows = []
    for column, (name, kind) in enumerate(zip(data.names, data.kinds, strict=True)):
        values = np.asarray(data.values)[~data.missing[:, column], column]
        if kind == "continuous":
            text = f"{values.min():.6g} to {values.max():.6g}, mean {values.mean():.6g}"
        else:
            text = count_of(len(np.unique(values)), "level")
        n_missing = data.n_obs - len(values)
        rows.append([name, kind, f"{text}; {n_missing:,} missing" if n_missing else text])
    return rows


def summarize_diagnostics(posterior: Posterior, frame: pd.DataFrame) -> Facts:
    """The numbers of the verdict, and how many edges have which status; empty if exact."""
    facts: Facts = []
    if posterior.log_evidence is not None:
        return facts
    if isinstance(posterior, SampledPosterior):
        assessment = posterior.assessment
        if assessment.worst_rhat is not None:
            worst = f"{assessment.worst_rhat:.3f} ({assessment.worst_rhat_of})"
            facts.append(("Largest R-hat", worst))
        if assessment.smallest_ess is not None:
            least = f"{assessment.smallest_ess:,.0f} ({assessment.smallest_ess_of})"
            facts.append(("Fewest effective draws", least))
        if (frame["mcse"] > 0).any():
            error = f"{float(frame['mcse'].max()):.4f}"
            facts.append(("Largest Monte Carlo error of an edge", error))
    counts = frame["status"].value_counts()
    return facts + [
        (f"Edges with status “{status}”", f"{count:,} of {len(frame):,}")
        for status, count in counts.items()
    ]


def summarize_moves(posterior: Posterior) -> Rows:
    """How often each move was tried and accepted, over all chains."""
    if not isinstance(posterior, SampledPosterior):
        return []
    frame = posterior.acceptance()
    if frame.empty:
        return []
    total = frame.groupby("move", sort=False)[["attempts", "accepted"]].sum()
    rows = []
    for move, row in total.iterrows():
        attempts, accepted = int(row["attempts"]), int(row["accepted"])
        words = str(move).replace("_", " ")
        rows.append([words, f"{attempts:,}", f"{accepted:,}", f"{accepted / attempts:.1%}"])
    return rows


N_COLUMNS = 30
N_PATTERNS = 10
N_EDGES = 15
LEAST_UNCERTAIN = 0.01
"""Least p (1 - p) of an edge whose share is listed: other edges are hardly uncertain at all."""


@dataclass(frozen=True)
class MissingValues:
    """Columns, patterns of rows, and edges, with numbers as they are shown."""

    summary: str
    columns: list[tuple[str, str, str]]
    patterns: list[tuple[str, str]]
    edges: list[tuple[str, str, str]]
    left_out: str


def describe_missing(posterior: Posterior) -> MissingValues | None:
    """The section on missing values; None if the table was complete."""
    if not isinstance(posterior, AugmentedPosterior):
        return None
    missing = posterior.holes.data.missing
    n_obs = len(missing)
    n_rows = int(missing.any(axis=1).sum())
    summary = (
        f"{count_of(int(missing.sum()), 'cell')} of {missing.size:,} had no value, and "
        f"{n_rows:,} of {n_obs:,} rows lacked at least one. What was missing is integrated out: "
        f"{posterior.n_chains} chains completed the table {posterior.steps_per_chain:,} times each."
    )
    numbers = missing.sum(axis=0)
    order = [int(v) for v in np.argsort(-numbers, kind="stable") if numbers[v]]
    columns = [
        (posterior.names[v], f"{numbers[v]:,}", f"{numbers[v] / n_obs:.1%}")
        for v in order[:N_COLUMNS]
    ]
    distinct, counts = np.unique(missing, axis=0, return_counts=True)
    ranked = np.argsort(-counts, kind="stable")
    patterns = [
        (
            ", ".join(posterior.names[v] for v in np.flatnonzero(distinct[i])) or "none",
            f"{counts[i]:,}",
        )
        for i in ranked[:N_PATTERNS]
    ]
    rest = [
        f"{len(order) - N_COLUMNS} more columns" if len(order) > N_COLUMNS else "",
        f"{len(counts) - N_PATTERNS} more patterns" if len(counts) > N_PATTERNS else "",
    ]
    left_out = " and ".join(part for part in rest if part)
    return MissingValues(summary, columns, patterns, _costly(posterior), left_out)


def _costly(posterior: AugmentedPosterior) -> list[tuple[str, str, str]]:
    """The edges with the largest shares of uncertainty from holes: name, probability, share."""
    edges = posterior.edge_probabilities.to_numpy()
    shares = posterior.missing_shares.to_numpy()
    weight = np.where(edges * (1 - edges) >= LEAST_UNCERTAIN, shares, -1.0)
    order = np.argsort(-weight, axis=None, kind="stable")[:N_EDGES]
    parents, children = np.unravel_index(order, edges.shape)
    return [
        (
            f"{posterior.names[u]} → {posterior.names[v]}",
            f"{edges[u, v]:.3f}",
            f"{shares[u, v]:.1%}",
        )
        for u, v in zip(parents, children, strict=True)
        if weight[u, v] >= 0
    ]
