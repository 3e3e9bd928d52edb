"""Posteriors in files: one netCDF file (HDF5, compressed), read back without pickle.

The file holds what the posterior was made of: parent sets by their codes, log scores,
batches of edge probabilities, counts. It depends on nothing but the posterior, so that two runs
with the same draws write the same bytes; how long a run took is in its ``summary.json``. At its end
stands a checksum, as HDF5 itself notices little of what can happen to a file.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import DataError, OptionError
from outpoint.posterior.draws import Booleans, Floats
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.exact import DEFAULT_DRAWS, ExactPosterior
from outpoint.posterior.info import RunInfo
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.sampled import SampledPosterior
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import ParentSets

if TYPE_CHECKING:
    import xarray as xr

FORMAT = 3
KIND = "outpoint posterior"
SEAL = b"\noutpoint sha256 "
"""What follows is the checksum of all before it; readers of HDF5 do not look beyond the end."""

SMALLEST_KEPT = 1e-12
"""Parent sets of an exact posterior that are less probable are not stored."""

RECORD_DIMENSIONS = {
    "codes": ("chain", "draw", "node"),
    "log_score": ("chain", "draw"),
    "log_weight": ("chain", "draw"),
    "edge_batches": ("chain", "batch", "node", "candidate"),
    "edges": ("chain", "node", "candidate"),
    "outside_batches": ("chain", "outside_batch", "outside_edge"),
    "outside_edges": ("chain", "outside_edge"),
    "best_code": ("chain", "node"),
    "best_log_score": ("chain",),
    "attempts": ("chain", "move"),
    "accepted": ("chain", "move"),
    "start_code": ("chain", "node"),
    "power": ("chain", "replica"),
    "swap_attempts": ("chain", "pair"),
    "swap_accepted": ("chain", "pair"),
    "round_trips": ("chain",),
    "hot_log_weight": ("chain",),
    "hot_spread": ("chain",),
    "n_steps": ("chain",),
    "thin": ("chain",),
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
MODEL_DIMENSIONS = ("node", "column")
SOLUTION_DIMENSIONS = {
    "edges": ("parent", "child"),
    "ancestors": ("parent", "child"),
    "log_parent_sets": ("node", "parent_set"),
    "best_adjacency": ("parent", "child"),
    "dags": ("draw", "parent", "child"),
    "log_scores": ("draw",),
}


@dataclass(frozen=True)
class StoredSolution:
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

    @property
    def n_stored(self) -> int:
        """Number of draws in the file."""
        return len(self.dags)

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """The first of the stored draws."""
        if n_draws > len(self.dags):
            raise OptionError(
                f"the file holds {len(self.dags)} draws, not {n_draws}: ask for fewer, or learn "
                "the posterior again."
            )
        return self.dags[:n_draws], self.log_scores[:n_draws]


def save(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a file, replacing the file."""
    if path.exists() and not path.is_file():
        raise OptionError(f"cannot write {path}: it is not a file that can be replaced.")
    beside = path.with_name(f".{path.name}.part")
    try:
        write_posterior(posterior, beside)
        beside.replace(path)
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}.") from None
    finally:
        beside.unlink(missing_ok=True)


def write_posterior(posterior: Posterior, path: Path) -> None:
    """Write a posterior to a new file; raises OSError if that fails."""
    if isinstance(posterior, SampledPosterior):
        arrays, attributes = _sampled_parts(posterior)
    elif isinstance(posterior, ExactPosterior):
        arrays, attributes = _exact_parts(posterior)
    else:
        raise OptionError(
            f"a {type(posterior).__name__} cannot be saved: save the posterior it was made from."
        )
    info = asdict(posterior.info)
    del info["elapsed_seconds"]
    attributes |= {"kind": KIND, "format": FORMAT, "info": json.dumps(info)}
    attributes["names"] = json.dumps(posterior.names)
    arrays["candidates"] = ("node", "candidate"), posterior.candidates
    if posterior.model is not None:
        for name, array in posterior.model.arrays().items():
            arrays[f"model_{name}"] = MODEL_DIMENSIONS[: array.ndim], array.astype(np.float64)
    _write(path, arrays, attributes)


def load(path: str | Path) -> Posterior:
    """Read a posterior from a file written by ``Posterior.save``, or from a run's directory."""
    place = Path(path)
    seconds = None
    if place.is_dir():
        seconds = _elapsed_seconds(place / "summary.json")
        place = place / "posterior.nc"
    dataset = _read(place)
    try:
        facts = json.loads(dataset.attrs["info"])
        facts["kinds"] = tuple(facts["kinds"])
        info = RunInfo(**facts, elapsed_seconds=seconds)
        names = tuple(json.loads(dataset.attrs["names"]))
        read = _sampled if dataset.attrs["posterior"] == "sampled" else _exact
        posterior = read(info, names, dataset)
        posterior.model = _model(names, dataset)
        return posterior
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{place} is not a complete posterior of outpoint ({error}).") from None


def _sampled_parts(posterior: SampledPosterior) -> tuple[dict[str, Any], dict[str, Any]]:
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
    for name, dimensions in RECORD_DIMENSIONS.items():
        values = own.get(name) or [np.asarray(getattr(record, name)) for record in records]
        if dimensions[1:2] in (("draw",), ("batch",), ("outside_batch",)):
            least = min(len(value) for value in values)
            values = [value[len(value) - least :] for value in values]
        arrays[name] = (dimensions, _stacked(values))
    arrays["outside_pairs"] = (("outside_edge", "end"), pairs.astype(np.int32))
    arrays["outside_members"] = (("outside_set", "member"), sets.members)
    attributes = {
        "posterior": "sampled",
        "moves": json.dumps(records[0].moves),
        "is_complete": int(posterior.is_complete),
        "lost_mass": posterior.lost_mass,
    }
    return arrays, attributes


def _stacked(values: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of all chains; those of shorter ladders are filled up, powers with NaN."""
    longest = max((value.shape for value in values), key=len)
    if len(longest) == 1:
        length = max(len(value) for value in values)
        filler = np.nan if values[0].dtype.kind == "f" else 0
        values = [
            np.pad(value, (0, length - len(value)), constant_values=filler) for value in values
        ]
    return np.stack(values)


def _sampled(info: RunInfo, names: tuple[str, ...], dataset: xr.Dataset) -> SampledPosterior:
    arrays = {name: dataset[name].to_numpy() for name in RECORD_DIMENSIONS}
    candidates = dataset["candidates"].to_numpy()
    pairs = dataset["outside_pairs"].to_numpy()
    is_narrow = candidates.shape[1] < len(names) - 1
    for name in ("outside_batches", "outside_edges"):
        arrays[name] = _spread(arrays[name], pairs, len(names) if is_narrow else 0)
    moves = tuple(json.loads(dataset.attrs["moves"]))
    records = []
    for chain in range(len(arrays["n_steps"])):
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
        ParentSets(candidates, dataset["outside_members"].to_numpy()),
        records,
        is_complete=bool(dataset.attrs["is_complete"]),
        lost_mass=float(dataset.attrs["lost_mass"]),
    )


def _spread(values: NDArray[Any], pairs: NDArray[Any], n_nodes: int) -> NDArray[Any]:
    """Values (..., edge) as matrices (..., parent, child)."""
    out = np.zeros((*values.shape[:-1], n_nodes, n_nodes))
    out[..., pairs[:, 0], pairs[:, 1]] = values
    return out


def _exact_parts(posterior: ExactPosterior) -> tuple[dict[str, Any], dict[str, Any]]:
    solution = posterior.solution
    dags, log_scores = solution.draw(solution.n_stored or DEFAULT_DRAWS, posterior.info.seed)
    likely = solution.log_parent_sets >= np.log(SMALLEST_KEPT)
    values = {
        "edges": solution.edges,
        "ancestors": solution.ancestors,
        "log_parent_sets": np.where(likely, solution.log_parent_sets, -np.inf),
        "best_adjacency": solution.best_adjacency.astype(np.uint8),
        "dags": dags.astype(np.uint8),
        "log_scores": log_scores,
    }
    attributes = {
        "posterior": "exact",
        "log_evidence": solution.log_evidence,
        "best_log_score": solution.best_log_score,
        "discrepancy": solution.discrepancy,
    }
    return {name: (SOLUTION_DIMENSIONS[name], array) for name, array in values.items()}, attributes


def _exact(info: RunInfo, names: tuple[str, ...], dataset: xr.Dataset) -> ExactPosterior:
    parts: dict[str, Any] = {name: dataset[name].to_numpy() for name in SOLUTION_DIMENSIONS}
    for name in ("best_adjacency", "dags"):
        parts[name] = parts[name].astype(np.bool_)
    for name in ("log_evidence", "best_log_score", "discrepancy"):
        parts[name] = float(dataset.attrs[name])
    candidates = dataset["candidates"].to_numpy()
    return ExactPosterior(info, StoredSolution(names=names, candidates=candidates, **parts))


def _model(names: tuple[str, ...], dataset: xr.Dataset) -> GaussianModel | None:
    prefix = "model_"
    arrays = {
        str(name).removeprefix(prefix): array.to_numpy()
        for name, array in dataset.items()
        if str(name).startswith(prefix)
    }
    return GaussianModel.from_arrays(names, arrays) if arrays else None


def _write(path: Path, arrays: dict[str, Any], attributes: dict[str, Any]) -> None:
    """Write a sealed file; HDF5 works in memory, as on a full disk it would crash."""
    import h5netcdf  # type: ignore[import-untyped]
    import xarray as xr
    from xarray.backends import H5NetCDFStore

    dataset = xr.Dataset(arrays, attrs=attributes)
    packed = {"zlib": True, "complevel": 4, "shuffle": True}
    encoding = {name: packed for name, array in dataset.items() if array.ndim > 1 and array.size}
    buffer = io.BytesIO()
    with h5netcdf.File(buffer, "w") as file:
        dataset.dump_to_store(H5NetCDFStore(file), encoding=encoding)
    content = buffer.getvalue()
    path.write_bytes(content + SEAL + _digest(content))


def _read(path: Path) -> xr.Dataset:
    import xarray as xr

    try:
        content, seal, digest = path.read_bytes().rpartition(SEAL)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}.") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from None
    if not seal:
        raise DataError(f"{path} is not a posterior of outpoint, or not all of it.")
    if _digest(content) != digest:
        raise DataError(f"{path} is damaged: its checksum does not match.")
    try:
        dataset = xr.load_dataset(io.BytesIO(content), engine="h5netcdf")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} is not a posterior of outpoint ({error}).") from None
    if dataset.attrs.get("kind") != KIND:
        raise DataError(f"{path} is not a posterior of outpoint.")
    if dataset.attrs.get("format") != FORMAT:
        raise DataError(
            f"{path} has format {dataset.attrs.get('format')} of another version of outpoint."
        )
    return dataset


def _elapsed_seconds(path: Path) -> float | None:
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))["elapsed_seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode() + b"\n"
