"""Posteriors in files: one sealed netCDF file, read back without pickle.

The file holds what the posterior was made of: parent sets by their codes, log scores,
batches of edge probabilities, counts. It depends on nothing but the posterior, so that two runs
with the same draws write the same bytes; how long a run took is in its ``summary.json``. Whatever
a computation relies on is checked when a file is read, as anyone may have made it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import PATH, takes
from outpoint.arrays import Booleans, Floats
from outpoint.data import Dataset
from outpoint.errors import DataError, OptionError, require
from outpoint.exact.engine import DenseParentSets, StoredDraws
from outpoint.exact.feasibility import MAX_NODES
from outpoint.files import replaced
from outpoint.mcmc import SAMPLERS
from outpoint.mcmc.restoring import check_tries
from outpoint.parts import PartsSolution
from outpoint.posterior import checks
from outpoint.posterior.augmented import METHODS, AugmentedPosterior, Holes
from outpoint.posterior.checks import ROUNDING
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.info import RunInfo
from outpoint.posterior.network_files import network_arrays, read_network
from outpoint.posterior.partly import PartlyExactPosterior
from outpoint.posterior.parts_files import (
    StoredParts,
    exact_arrays,
    parts_arrays,
    read_exact,
    read_parts,
)
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.posterior.sealed import (
    CANDIDATES,
    CODES,
    HOLES_FIELDS,
    MADE,
    MISSING_MASS,
    MODEL_FIELDS,
    OUTSIDE_FIELDS,
    PARTLY_FIELDS,
    PARTS_FIELDS,
    RECORD_FIELDS,
    RECORD_SCALARS,
    SINCE_BATCHES,
    SOLUTION_FIELDS,
    Content,
    opened,
    write_sealed,
)
from outpoint.runs import ChainRecord, RunDirectory
from outpoint.scores import score_from_text
from outpoint.tables.parent_sets import ParentSets, check_lists

FORMAT = 6
READABLE = (5, FORMAT)
"""Formats that are read: in the first one all nodes have the same number of candidates."""

KIND = "outpoint posterior"

MOST_SUMMARY = 1 << 26
"""Bytes of a ``summary.json`` that is looked into."""

SMALLEST_KEPT = 1e-12
"""Parent sets of an exact posterior that are less probable are not stored."""

SMALLEST_OF_PARTS = 1e-9
"""The same for one that was computed by parts, where there can be millions of sets."""


@dataclass(frozen=True)
class StoredSolution(DenseParentSets, StoredDraws):
    """What the exact engine had found, as far as it was stored."""

    names: tuple[str, ...]
    candidates: NDArray[np.int32]
    log_evidence: float
    edges: Floats
    ancestors: Floats
    log_parent_sets: Floats
    best_adjacency: Booleans
    best_log_score: float
    discrepancy: float
    dags: Booleans
    log_scores: Floats


def save(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a file, replacing the file."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise OptionError(f"cannot write {path}: it is not a file that can be replaced.")
    with replaced(path) as place:
        write_posterior(posterior, place)


def write_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a new file; raises OSError if that fails."""
    if isinstance(posterior, PartlyExactPosterior):
        arrays, texts, numbers = _partly_parts(posterior)
    elif isinstance(posterior, SampledPosterior):
        arrays, texts, numbers = _sampled_parts(posterior)
        if isinstance(posterior, AugmentedPosterior):
            arrays, texts = _add_holes(posterior, arrays, texts)
    elif isinstance(posterior, ExactPosterior):
        arrays, texts, numbers = _exact_parts(posterior)
    else:
        raise OptionError(
            f"a {type(posterior).__name__} cannot be saved: save the posterior it was made from."
        )
    info = asdict(posterior.info)
    del info["elapsed_seconds"]
    texts |= {"kind": KIND, "info": json.dumps(info), "names": json.dumps(posterior.names)}
    if posterior.model is not None:
        for name, array in posterior.model.arrays().items():
            dimensions = MODEL_FIELDS[f"model_{name}"].dimensions
            arrays[f"model_{name}"] = dimensions, array.astype(np.float64)
    found = _network_parts(posterior)
    if found is not None:
        arrays, texts = arrays | found[0], texts | found[1]
    write_sealed(path, arrays, texts, {"format": FORMAT, **numbers})


def _network_parts(posterior: Posterior) -> tuple[dict[str, Any], dict[str, str]] | None:
    """The model of the parameters of the DAGs that are stored."""
    if posterior.network_model is None:
        return None
    best = posterior.map_dag.adjacency[None]
    drawn = [dags for _, dags in posterior._graphs().blocks()]
    return network_arrays(posterior.network_model, np.concatenate([best, *drawn]))


@takes(path=PATH)
def load(path: str | Path) -> Posterior:
    """Read a posterior from a file written by ``Posterior.save``, or from a run's directory."""
    place = Path(path)
    seconds = None
    if os.path.isdir(place):
        run = RunDirectory(place)
        seconds = _elapsed_seconds(run.summary)
        place = place / run.posterior.name
    with opened(place) as content:
        _check_format(content, place)
        names = checks.checked_names(content.text("names"))
        info = checks.checked_info(content.text("info"), names, seconds)
        n = len(names)
        content.sizes |= {"node": n, "parent": n, "child": n, "end": 2}
        kind = content.text("posterior")
        require(kind in READERS, f"there is no {kind!r} posterior")
        posterior = READERS[kind](info, names, content)
        posterior.model = _model(names, content)
        posterior.network_model = read_network(names, content)
        return posterior


def _check_format(content: Content, place: Path) -> None:
    try:
        number = content.number("format")
        is_posterior = number not in READABLE or content.text("kind") == KIND
    except ValueError:
        is_posterior = False
    if not is_posterior:
        raise DataError(f"{place} is not a posterior of outpoint.")
    if number not in READABLE:
        raise DataError(f"{place} has format {number} of another version of outpoint.")


TRIMMED = (("draw",), ("batch",), ("outside_batch",), ("hot_batch",))
"""Dimensions of which all chains have the last ones that the shortest chain has."""

Parts = tuple[dict[str, Any], dict[str, str], dict[str, float]]
"""Arrays, texts and numbers of a file."""


def _sampled_parts(posterior: SampledPosterior) -> Parts:
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
    arrays = {}
    for name, field in RECORD_FIELDS.items():
        dimensions = field.dimensions
        values = own.get(name) or [np.asarray(getattr(record, name)) for record in records]
        if dimensions[1:2] in TRIMMED:
            least = min(len(value) for value in values)
            values = [value[len(value) - least :] for value in values]
        arrays[name] = (dimensions, _stacked(values))
    arrays["candidates"] = ("node", "candidate"), posterior.candidates
    arrays["outside_pairs"] = (("outside_edge", "end"), pairs.astype(np.int32))
    arrays["outside_members"] = (("outside_set", "member"), sets.members)
    if posterior._missing is not None:
        arrays["missing_mass"] = (("node",), posterior._missing)
    texts = {"posterior": "sampled", "moves": json.dumps(records[0].moves)}
    numbers = {"is_complete": int(posterior.is_complete), "lost_mass": posterior.lost_mass}
    return arrays, texts, numbers


def _partly_parts(posterior: PartlyExactPosterior) -> Parts:
    arrays, texts, numbers = _sampled_parts(posterior)
    values = exact_arrays(posterior.exact) | {"part_log_score": posterior.part_log_score}
    arrays |= {name: (PARTLY_FIELDS[name].dimensions, array) for name, array in values.items()}
    numbers["discrepancy"] = posterior.exact.discrepancy
    return arrays, {**texts, "posterior": "partly exact"}, numbers


def _partly(info: RunInfo, names: tuple[str, ...], content: Content) -> PartlyExactPosterior:
    sampled = _sampled(info, names, content, fewest_candidates=0)
    return PartlyExactPosterior(sampled, *read_exact(names, content))


def _stacked(values: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of all chains; those of shorter ladders are filled up, powers with NaN."""
    if values[0].ndim == 1:
        length = max(len(value) for value in values)
        filler = np.nan if values[0].dtype.kind == "f" else 0
        values = [
            np.pad(value, (0, length - len(value)), constant_values=filler) for value in values
        ]
    return np.stack(values)


def _sampled(
    info: RunInfo, names: tuple[str, ...], content: Content, fewest_candidates: int = 1
) -> SampledPosterior:
    is_known = info.method in SAMPLERS or info.method in METHODS
    require(is_known, f"there is no sampler {info.method!r}")
    moves = checks.checked_moves(content.text("moves"))
    content.sizes["move"] = len(moves)
    absent = [name for name in SINCE_BATCHES if name not in content]
    fields = {name: field for name, field in RECORD_FIELDS.items() if name not in absent}
    if "missing_mass" in content:
        fields |= MISSING_MASS
    arrays = content.read({**fields, **CANDIDATES, **OUTSIDE_FIELDS}, made=MADE)
    arrays |= {name: np.zeros((content.sizes["chain"], 0)) for name in absent}
    sets = ParentSets(arrays.pop("candidates"), arrays.pop("outside_members"))
    pairs, missing_mass = arrays.pop("outside_pairs"), arrays.pop("missing_mass", None)
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
        lost_mass=float(content.number("lost_mass", 0)),
        missing_mass=missing_mass,
    )


def _add_holes(
    posterior: AugmentedPosterior, arrays: dict[str, Any], texts: dict[str, str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """What a posterior of completed tables has besides: the table with its holes among others."""
    holes = posterior.holes
    own = {"values": holes.data.values} | {
        name: getattr(holes, name) for name in ("tables", "numbers", "squares", "ancestors")
    }
    added = {f"holes_{name}": (HOLES_FIELDS[f"holes_{name}"].dimensions, own[name]) for name in own}
    table = {"levels": holes.data.levels, "interventions": holes.data.interventions}
    return arrays | added, {**texts, "posterior": "augmented", "holes_table": json.dumps(table)}


def _augmented(info: RunInfo, names: tuple[str, ...], content: Content) -> AugmentedPosterior:
    require(info.method in METHODS, "it was not computed from completed tables")
    sampled = _sampled(info, names, content)
    arrays = content.read(HOLES_FIELDS)
    table = checks.parse(content.text("holes_table"))
    require(isinstance(table, dict), "the table has no levels")
    data = Dataset(
        names,
        arrays.pop("holes_values"),
        tuple(table.get("levels", ())),
        info.source,
        interventions=tuple(map(tuple, table.get("interventions", ()))),
    )
    require(data.fingerprint() == info.fingerprint, "the table is another one")
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
    )


def _check_completed(holes: Holes) -> None:
    """Drawn levels are levels, of every completed table."""
    sizes = np.array([0 if one is None else len(one) for one in holes.data.levels])
    own = sizes[holes.cells[:, 1]]
    levels = holes.tables[:, :, own > 0]
    is_level = (levels >= 0) & (levels < own[own > 0]) & (levels == np.floor(levels))
    require(bool(is_level.all()), "a drawn level is none")


def _check_records(
    arrays: dict[str, NDArray[Any]],
    pairs: NDArray[np.int32],
    sets: ParentSets,
    sizes: dict[str, int],
) -> None:
    """What the records of all chains say together."""
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


def _exact_parts(posterior: ExactPosterior) -> Parts:
    solution = posterior.solution
    dags, log_scores = (part[0] for part in posterior._sample(posterior._n_feature_draws))
    if isinstance(solution, DenseParentSets):
        kind, fields = "exact", {**SOLUTION_FIELDS, **CANDIDATES}
        likely = solution.log_parent_sets >= np.log(SMALLEST_KEPT)
        values = {
            "edges": solution.edges,
            "ancestors": solution.ancestors,
            "log_parent_sets": np.where(likely, solution.log_parent_sets, -np.inf),
            "best_adjacency": solution.best_adjacency.astype(np.uint8),
            "candidates": posterior.candidates,
        }
    else:
        assert isinstance(solution, PartsSolution | StoredParts)
        kind, fields = "parts", PARTS_FIELDS
        values = parts_arrays(solution, SMALLEST_OF_PARTS)
    values |= {"dags": dags.astype(np.uint8), "log_scores": log_scores}
    numbers = {
        "log_evidence": solution.log_evidence,
        "best_log_score": solution.best_log_score,
        "discrepancy": solution.discrepancy,
    }
    if posterior.log_prior_sum is not None:
        numbers["log_prior_sum"] = posterior.log_prior_sum
    arrays = {name: (fields[name].dimensions, array) for name, array in values.items()}
    return arrays, {"posterior": kind}, numbers


def _exact(info: RunInfo, names: tuple[str, ...], content: Content) -> ExactPosterior:
    n = len(names)
    require(info.method == "exact" and n <= MAX_NODES, "it cannot have been computed exactly")
    content.sizes |= {"candidate": n - 1, "parent_set": 2 ** (n - 1)}
    parts: dict[str, Any] = content.read({**SOLUTION_FIELDS, **CANDIDATES})
    require(content.sizes["draw"], "there are no draws")
    check_lists(parts["candidates"])
    checks.check_log_probabilities(parts["log_parent_sets"])
    checks.check_dags(parts["best_adjacency"][None])
    checks.check_dags(parts["dags"])
    for name in ("best_adjacency", "dags"):
        parts[name] = parts[name].astype(np.bool_)
    parts |= _numbers(content)
    return ExactPosterior(
        info, StoredSolution(names=names, **parts), log_prior_sum=_log_prior_sum(content)
    )


def _by_parts(info: RunInfo, names: tuple[str, ...], content: Content) -> ExactPosterior:
    require(info.method == "exact", "it cannot have been computed exactly")
    parts = read_parts(names, content) | _numbers(content)
    return ExactPosterior(
        info, StoredParts(names=names, **parts), log_prior_sum=_log_prior_sum(content)
    )


READERS: dict[str, Callable[[RunInfo, tuple[str, ...], Content], Posterior]] = {
    "sampled": _sampled,
    "augmented": _augmented,
    "partly exact": _partly,
    "exact": _exact,
    "parts": _by_parts,
}
"""What makes a posterior of a file, by what the file says that it is."""


def _numbers(content: Content) -> dict[str, float]:
    """The numbers of every exact solution."""
    names = ("log_evidence", "best_log_score", "discrepancy")
    found = {name: float(content.number(name)) for name in names}
    highest = found["log_evidence"] + ROUNDING * max(1.0, abs(found["log_evidence"]))
    require(found["best_log_score"] <= highest, "the best DAG has more than the evidence")
    return found


def _log_prior_sum(content: Content) -> float | None:
    """The sum of the prior weights, which files of earlier versions do not have."""
    return float(content.number("log_prior_sum")) if content.has_number("log_prior_sum") else None


def _model(names: tuple[str, ...], content: Content) -> GaussianModel | None:
    if "model_factor" not in content:
        return None
    stored = content.read(MODEL_FIELDS)
    arrays = {name.removeprefix("model_"): array for name, array in stored.items()}
    factors, group = arrays["factor"], arrays["group"]
    require(factors.shape[1] == factors.shape[2], "the model of the columns is not square")
    require(factors.diagonal(axis1=1, axis2=2).all(), "the model of the columns is singular")
    is_group = np.isin(group, np.arange(-1, len(factors)))
    require(len(factors) >= 1 and is_group.all(), "a variable has no model")
    is_owner = np.isin(arrays["owner"], np.arange(len(names)))
    require(is_owner.all(), "a column of the model belongs to no variable")
    n_own = np.bincount(arrays["owner"].astype(np.int64), minlength=len(names))
    is_single = n_own[arrays["scales"] > 0] == 1
    require(is_single.all(), "a variable with a unit has not one column of the model")
    require((arrays["degrees_of_freedom"] > -1.0).all(), "the model has no degrees of freedom")
    return GaussianModel.from_arrays(names, arrays)


def _elapsed_seconds(path: Path) -> float | None:
    """How long the run took, if its summary says so."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_SUMMARY:
            return None
        seconds = float(json.loads(path.read_text(encoding="utf-8"))["elapsed_seconds"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None
    return seconds if isfinite(seconds) and seconds >= 0 else None
