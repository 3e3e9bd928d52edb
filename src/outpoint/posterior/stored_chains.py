"""Posteriors that were sampled, in files: the records of their chains, and what else they have.

That is a table with holes and some of its completions, or what is known of parts that are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Floats
from outpoint.data import Dataset
from outpoint.data.dataset import MOST_LAGS, Slices
from outpoint.errors import require
from outpoint.mcmc import SAMPLERS
from outpoint.mcmc.restoring import check_tries
from outpoint.posterior import checks
from outpoint.posterior.augmented import METHODS, AugmentedPosterior, Holes
from outpoint.posterior.info import RunInfo
from outpoint.posterior.partly import ExactParts, PartlyExactPosterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.posterior.stored_solutions import CANDIDATES, SET_FIELDS, Parts, read_sets, set_arrays
from outpoint.runs import ChainRecord
from outpoint.scores import score_from_text
from outpoint.store import Content, Field, code, count, probability, real
from outpoint.tables.missing import Missing
from outpoint.tables.parent_sets import ParentSets

RECORD_FIELDS = {
    "codes": code("chain", "draw", "node"),
    "log_score": real("chain", "draw"),
    "log_weight": real("chain", "draw"),
    "edge_batches": probability("chain", "batch", "node", "candidate"),
    "edges": probability("chain", "node", "candidate"),
    "outside_batches": probability("chain", "outside_batch", "outside_edge"),
    "outside_edges": probability("chain", "outside_edge"),
    "best_code": code("chain", "node"),
    "best_log_score": real("chain"),
    "attempts": count("chain", "move"),
    "accepted": count("chain", "move"),
    "start_code": code("chain", "node"),
    "power": probability("chain", "replica")._replace(finite=False),
    "swap_attempts": count("chain", "pair"),
    "swap_accepted": count("chain", "pair"),
    "round_trips": count("chain"),
    "hot_log_weight": real("chain"),
    "hot_spread": real("chain")._replace(least=0.0),
    "hot_batches": real("chain", "hot_batch"),
    "n_steps": count("chain"),
    "thin": count("chain", least=1),
}
RECORD_SCALARS: dict[str, Any] = {
    "best_log_score": float,
    "round_trips": int,
    "hot_log_weight": float,
    "hot_spread": float,
    "n_steps": int,
    "thin": int,
}
CODES = ("best_code", "start_code")
OUTSIDE_FIELDS = {
    "outside_pairs": code("outside_edge", "end"),
    "outside_members": Field(("outside_set", "member"), "i2"),
}
MISSING_FIELDS = {
    "missing_mass": probability("node"),
    "missing_edges": probability("parent", "child"),
}
"""What files hold if it is known what was never admitted."""

HOLES_FIELDS = {
    "holes_values": real("row", "node")._replace(finite=False),
    "holes_tables": real("chain", "table", "cell"),
    "holes_numbers": count("table"),
    "holes_squares": probability("chain", "node", "candidate"),
    "holes_ancestors": probability("chain", "parent", "child"),
}
"""What files of posteriors of tables with missing values hold besides."""

MADE = (
    ("chain", "outside_batch", "node", "node"),
    ("chain", "node", "node"),
    ("chain", "node", "node"),
)
"""Arrays of numbers that a posterior makes from the records."""

PARTLY_FIELDS = {
    "exact_edges": probability("parent", "child"),
    "part_size": code("part"),
    "sampled_size": code("sampled_part"),
    "part_log_score": real("chain", "draw"),
    **SET_FIELDS,
}
"""What a posterior with exact parts has beside the records of its chains."""

TRIMMED = (("draw",), ("batch",), ("outside_batch",), ("hot_batch",))
"""Dimensions of which all chains keep only the last entries, as many as the shortest has."""


def sampled_parts(posterior: SampledPosterior) -> Parts:
    """Header and arrays of a posterior that was sampled."""
    records = posterior.records
    pairs = np.argwhere(np.any([record.outside_edges > 0 for record in records], axis=0))
    codes = [record.codes[-posterior.n_draws :] for record in records]
    best, start = ([getattr(record, name) for record in records] for name in CODES)
    sets, renumbered = posterior.parent_sets.restricted_to([*codes, *best, *start])
    n_chains = len(records)
    own: dict[str, list[Any]] = {
        "codes": renumbered[:n_chains],
        "best_code": renumbered[n_chains : 2 * n_chains],
        "start_code": renumbered[2 * n_chains :],
        "outside_batches": [record.outside_batches[:, *pairs.T] for record in records],
        "outside_edges": [record.outside_edges[*pairs.T] for record in records],
    }
    arrays: dict[str, NDArray[Any]] = {}
    for name, field in RECORD_FIELDS.items():
        values = own.get(name) or [np.asarray(getattr(record, name)) for record in records]
        if field.dimensions[1:2] in TRIMMED:
            least = min(len(value) for value in values)
            values = [value[len(value) - least :] for value in values]
        arrays[name] = _stacked(values)
    arrays["candidates"] = posterior.candidates
    arrays["outside_pairs"] = pairs.astype(np.int32)
    arrays["outside_members"] = sets.members
    if posterior._missing is not None:
        arrays |= dict(zip(MISSING_FIELDS, posterior._missing, strict=True))
    header = {
        "posterior": "sampled",
        "moves": records[0].moves,
        "is_complete": int(posterior.is_complete),
        "lost_mass": posterior.lost_mass,
    }
    return header, arrays


def partly_parts(posterior: PartlyExactPosterior) -> Parts:
    """Header and arrays of a posterior with exact parts beside the sampled ones."""
    header, arrays = sampled_parts(posterior)
    arrays |= _exact_arrays(posterior.exact) | {"part_log_score": posterior.part_log_score}
    header |= {"posterior": "partly exact", "discrepancy": posterior.exact.discrepancy}
    return header, arrays


def _exact_arrays(exact: ExactParts) -> dict[str, Any]:
    """The arrays of parts that are exact beside sampled ones."""
    return {
        "exact_edges": exact.edges,
        "part_size": np.array(exact.sizes, dtype=np.int32),
        "sampled_size": np.array(exact.sampled_sizes, dtype=np.int32),
        **set_arrays(exact.sets),
    }


def read_partly(info: RunInfo, names: tuple[str, ...], content: Content) -> PartlyExactPosterior:
    """A posterior with exact parts, checked."""
    sampled = read_sampled(info, names, content, fewest_candidates=0)
    return PartlyExactPosterior(sampled, *_read_exact(names, content))


def _read_exact(names: tuple[str, ...], content: Content) -> tuple[ExactParts, Floats]:
    """Parts that are exact beside sampled ones, and the log scores of draws within these."""
    n = len(names)
    stored = content.read(PARTLY_FIELDS)
    sizes, sampled = (tuple(stored[name].tolist()) for name in ("part_size", "sampled_size"))
    is_split = min(sizes, default=0) > 0 and min(sampled, default=0) > 0
    require(is_split and sum(sizes + sampled) == n, "the parts are not made of the variables")
    sets, edges = read_sets(stored, n), stored["exact_edges"]
    exact = ExactParts(edges, sets, sizes, sampled, float(content.number("discrepancy")))
    require(exact.nodes.sum() == sum(sizes), "the exact parts have no parent sets")
    require(not edges[:, ~exact.nodes].any(), "an edge into a sampled variable is exact")
    return exact, stored["part_log_score"]


def _stacked(values: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of all chains; those of shorter ladders are filled up, powers with NaN."""
    if values[0].ndim == 1:
        length = max(len(value) for value in values)
        filler = np.nan if values[0].dtype.kind == "f" else 0
        values = [
            np.pad(value, (0, length - len(value)), constant_values=filler) for value in values
        ]
    return np.stack(values)


def read_sampled(
    info: RunInfo, names: tuple[str, ...], content: Content, fewest_candidates: int = 1
) -> SampledPosterior:
    """A posterior that was sampled, checked."""
    is_known = info.method in SAMPLERS or info.method in METHODS
    require(is_known, f"there is no sampler {info.method!r}")
    moves = checks.checked_moves(content.header.get("moves"))
    content.sizes["move"] = len(moves)
    fields = {**RECORD_FIELDS, **CANDIDATES, **OUTSIDE_FIELDS}
    is_known = any(name in content for name in MISSING_FIELDS)
    if is_known:
        fields |= MISSING_FIELDS
    arrays = content.read(fields, made=MADE)
    sets = ParentSets(arrays.pop("candidates"), arrays.pop("outside_members"))
    pairs = arrays.pop("outside_pairs")
    missing = Missing(*[arrays.pop(name) for name in MISSING_FIELDS]) if is_known else None
    checks.check_parent_sets(sets, fewest_candidates)
    _check_records(arrays, pairs, sets, content.sizes)
    for name in ("outside_batches", "outside_edges"):
        arrays[name] = _spread(arrays[name], pairs, len(names) if sets.are_narrow else 0)
    records = []
    for chain in range(content.sizes["chain"]):
        values = {name: array[chain] for name, array in arrays.items()}
        values |= {name: kind(values[name]) for name, kind in RECORD_SCALARS.items()}
        n_replicas = int(np.isfinite(values["power"]).sum())
        values["power"] = values["power"][:n_replicas]
        for name in ("swap_attempts", "swap_accepted"):
            values[name] = values[name][: n_replicas - 1]
        records.append(ChainRecord(moves=moves, **values))
    return SampledPosterior(
        info,
        names,
        sets,
        records,
        is_complete=bool(content.number("is_complete", 0, 1)),
        lost_mass=content.number("lost_mass", 0),
        missing=missing,
    )


def augmented_parts(posterior: AugmentedPosterior) -> Parts:
    """Header and arrays of a posterior of completed tables, with the table and its holes."""
    header, arrays = sampled_parts(posterior)
    holes = posterior.holes
    arrays["holes_values"] = holes.data.values
    for name in ("tables", "numbers", "squares", "ancestors"):
        arrays[f"holes_{name}"] = getattr(holes, name)
    table = {
        "levels": holes.data.levels,
        "interventions": holes.data.interventions,
        "slices": _write_slices(holes.data.slices),
    }
    return {**header, "posterior": "augmented", "holes_table": table}, arrays


def _write_slices(slices: Slices | None) -> dict[str, Any] | None:
    """How a table was made of a series."""
    if slices is None:
        return None
    origin = None if slices.origin is None else slices.origin.tolist()
    own = {"lags": slices.lags, "static": slices.static}
    return own | {"contemporaneous": slices.contemporaneous, "origin": origin}


def _read_slices(written: Any, n_obs: int) -> Slices | None:
    """What :func:`_write_slices` has written, checked."""
    if written is None:
        return None
    require(isinstance(written, dict), "the table has no slices")
    origin = np.array(written["origin"], dtype=np.intp)
    lags, static = int(written["lags"]), tuple(map(str, written["static"]))
    require(1 <= lags <= MOST_LAGS and origin.shape == (n_obs, 2), "the table has other slices")
    return Slices(lags, static, bool(written["contemporaneous"]), origin)


def read_augmented(info: RunInfo, names: tuple[str, ...], content: Content) -> AugmentedPosterior:
    """A posterior of completed tables, checked."""
    require(info.method in METHODS, "it was not computed from completed tables")
    sampled = read_sampled(info, names, content)
    arrays = content.read(HOLES_FIELDS)
    table = content.header.get("holes_table")
    if not isinstance(table, dict):
        raise ValueError("the table has no levels")
    values = arrays.pop("holes_values")
    data = Dataset(
        names,
        values,
        tuple(table.get("levels", ())),
        info.source,
        interventions=tuple(map(tuple, table.get("interventions", ()))),
        slices=_read_slices(table.get("slices"), len(values)),
    )
    require(data.fingerprint() == info.fingerprint, "the table is not that of the run")
    score = score_from_text(info.score_settings)
    named = {name.removeprefix("holes_"): array for name, array in arrays.items()}
    holes = Holes(data=data, score=score, **named)
    require(len(holes.cells) == holes.tables.shape[2], "completed tables have other cells")
    least = min(record.n_steps for record in sampled.records)
    require((holes.numbers < least).all(), "a completed table was not recorded")
    _check_completed(holes)
    return AugmentedPosterior(
        info,
        names,
        sampled.parent_sets,
        sampled.records,
        holes=holes,
        is_complete=sampled.is_complete,
        missing=sampled._missing,
    )


def _check_completed(holes: Holes) -> None:
    """Check that the levels drawn for every completed table exist."""
    sizes = np.array([0 if one is None else len(one) for one in holes.data.levels])
    own = sizes[holes.cells[:, 1]]
    levels = holes.tables[:, :, own > 0]
    is_level = (levels >= 0) & (levels < own[own > 0]) & (levels == np.floor(levels))
    require(bool(is_level.all()), "a drawn level does not exist")


def _check_records(
    arrays: dict[str, NDArray[Any]],
    pairs: NDArray[np.int32],
    sets: ParentSets,
    sizes: dict[str, int],
) -> None:
    """Check that what the records of all chains say fits together."""
    require(sizes["chain"] and sizes["draw"] and sizes["replica"], "there are no draws")
    require(sizes["pair"] == sizes["replica"] - 1, "swaps are not those of the replicas")
    checks.check_codes([arrays[name] for name in ("codes", *CODES)], sets)
    checks.check_outside_pairs(pairs, sets.candidates)
    checks.check_powers(arrays["power"])
    check_tries(arrays["accepted"], arrays["attempts"])
    check_tries(arrays["swap_accepted"], arrays["swap_attempts"])


def _spread(values: NDArray[Any], pairs: NDArray[Any], n_nodes: int) -> NDArray[Any]:
    """Values (..., edge) as matrices (..., parent, child)."""
    out = np.zeros((*values.shape[:-1], n_nodes, n_nodes))
    out[..., pairs[:, 0], pairs[:, 1]] = values
    return out
