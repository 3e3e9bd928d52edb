"""The models of a posterior in its file: of the columns, and of the parameters of its families.

Where all columns are Gaussian these are the moments of the columns. Otherwise they are the counts
or moments of every family that occurs in the stored draws, in each state of its categorical parents
that was observed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats
from outpoint.errors import require
from outpoint.models.conditionals import Moments, NormalPrior
from outpoint.models.model import (
    ColumnMoments,
    FamilyNumbers,
    FamilyStatistics,
    NetworkModel,
    Prior,
)
from outpoint.models.network import Coding
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.stored_solutions import Parts
from outpoint.store import Content, Field, real

MOST_NUMBERS = 20_000_000
"""Numbers of families that are stored; a file that would have more has no model."""

MODEL_FIELDS = {
    "model_factor": real("group", "column", "other_column"),
    "model_degrees_of_freedom": real("group"),
    "model_group": real("node"),
    "model_owner": real("column"),
    "model_scales": real("node")._replace(least=0.0),
    "model_standardized": Field((), least=0, most=1),
}

COLUMN_FIELDS = {
    "network_n_rows": Field(("network_group",), least=0.0),
    "network_means": Field(("network_group", "network_column")),
    "network_scatter": Field(("network_group", "network_column", "network_other")),
    "network_group_of": Field(("node",), "i8", 0),
}
PAST_FIELDS = {"network_pasts": Field(("network_past", "network_given"))}
FAMILY_FIELDS = {
    "family_child": Field(("family",), "i4", 0),
    "family_parents": Field(("family", "family_member"), "i4", -1),
    "family_n_states": Field(("family",), "i8", 0),
    "family_states": Field(("family_state",), "i8", 0),
    "family_numbers": Field(("family_number",)),
}


def model_parts(posterior: Posterior) -> Parts:
    """Header and arrays of the models that a posterior has."""
    header: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    if posterior.model is not None:
        own = posterior.model.arrays()
        arrays = {f"model_{name}": array.astype(np.float64) for name, array in own.items()}
    if posterior.network_model is not None:
        best = posterior.map_dag.adjacency[None]
        drawn = [dags for _, dags in posterior._graphs().blocks()]
        found = _network_arrays(posterior.network_model, np.concatenate([best, *drawn]))
        if found is not None:
            header["network"] = _network_facts(posterior.network_model)
            arrays |= found
    return header, arrays


def _network_facts(model: NetworkModel) -> dict[str, Any]:
    """How a model codes the variables, and its prior."""
    coding, normal = model.coding, model.prior.normal
    codes = [
        None if own is None else [None if np.isnan(row).any() else row.tolist() for row in own]
        for own in coding.codes
    ]
    return {
        "levels": coding.levels,
        "codes": codes,
        "n_columns": [None if own is None else own.shape[1] for own in coding.codes],
        "shifts": coding.shifts.tolist(),
        "scales": coding.scales.tolist(),
        "spreads": coding.spreads.tolist(),
        "given": model.given.tolist(),
        "normal": None if normal is None else list(normal),
        "sample_size": model.prior.sample_size,
    }


def _network_arrays(model: NetworkModel, dags: Booleans) -> dict[str, NDArray[Any]] | None:
    """What a model knows of the data, for some DAGs; None if there is too much of it."""
    statistics = model.statistics
    pasts = {"network_pasts": model.pasts[:, model.given]} if model.given.any() else {}
    if isinstance(statistics, ColumnMoments):
        values = [*statistics.every, statistics.group]
        return pasts | dict(zip(COLUMN_FIELDS, map(np.asarray, values), strict=True))
    found = _family_arrays(model, dags)
    return None if found is None else pasts | found


def _family_arrays(model: NetworkModel, dags: Booleans) -> dict[str, NDArray[Any]] | None:
    keys = []
    for v in np.flatnonzero(~model.given).tolist():
        sets = np.unique(dags[:, :, v], axis=0)
        keys += [(v, tuple(np.flatnonzero(one).tolist())) for one in sets]
    width = max((len(parents) for _, parents in keys), default=0)
    members = np.full((len(keys), width), -1, dtype=np.int32)
    states, numbers, n_numbers = [], [], 0
    for i, (child, parents) in enumerate(keys):
        members[i, : len(parents)] = parents
        found = model.family_statistics(child, parents)
        states.append(found.states)
        numbers.append(found.numbers.ravel())
        n_numbers += found.numbers.size
        if n_numbers > MOST_NUMBERS:
            return None
    values = (
        np.array([child for child, _ in keys], dtype=np.int32),
        members,
        np.array([len(one) for one in states], dtype=np.int64),
        np.concatenate([np.zeros(0, dtype=np.int64), *states]),
        np.concatenate([np.zeros(0), *numbers]),
    )
    return dict(zip(FAMILY_FIELDS, values, strict=True))


def read_network(names: tuple[str, ...], content: Content) -> NetworkModel | None:
    """The model in a file; None for files that have none."""
    facts = content.header.get("network")
    if facts is None:
        return None
    coding, prior, given = _checked_facts(names, facts)
    pasts = _read_pasts(coding, given, content)
    if "network_means" in content:
        content.sizes["network_column"] = content.sizes["network_other"] = len(coding.owner)
        arrays = content.read(COLUMN_FIELDS)
        group = arrays["network_group_of"]
        require(prior.normal is not None, "the model of the columns has no prior")
        require((group < len(arrays["network_n_rows"])).all(), "a variable has no moments")
        every = Moments(*(arrays[f"network_{name}"] for name in ("n_rows", "means", "scatter")))
        _check_scatter(every.scatter)
        return NetworkModel(coding, prior, ColumnMoments(every, group), given, pasts)
    families = _read_families(coding, prior, content)
    return NetworkModel(coding, prior, FamilyStatistics(coding, families), given, pasts)


def _read_pasts(coding: Coding, given: Booleans, content: Content) -> Floats:
    """Earlier values of a time series: numbers, and codes of levels that there are."""
    if "network_pasts" not in content:
        return np.zeros((0, len(given)))
    content.sizes["network_given"] = int(given.sum())
    found = content.read(PAST_FIELDS)["network_pasts"]
    pasts = np.full((len(found), len(given)), np.nan)
    pasts[:, given] = found
    for v in np.flatnonzero(given & ~coding.is_continuous):
        is_code = np.isin(pasts[:, v], np.arange(len(coding.levels[v] or ())))
        require(bool(is_code.all()), "an earlier value is not a level")
    return pasts


def _checked_facts(names: tuple[str, ...], facts: Any) -> tuple[Coding, Prior, Booleans]:
    n = len(names)
    lists = ("levels", "codes", "n_columns", "shifts", "scales", "spreads", "given")
    require(isinstance(facts, dict), "the model is not a table")
    for name in lists:
        own = facts.get(name)
        require(isinstance(own, list) and len(own) == n, f"{name!r} of the model is not a list")
    levels = tuple(None if one is None else tuple(map(str, one)) for one in facts["levels"])
    require(all(one is None or one for one in levels), "a variable has no levels")
    codes: list[Floats | None] = []
    for own, width, labels in zip(facts["codes"], facts["n_columns"], levels, strict=True):
        if own is None:
            codes.append(None)
            continue
        require(labels is not None and len(own) == len(labels), "a level has no code")
        require(isinstance(width, int) and 0 <= width <= len(own), "codes have no columns")
        rows = [[np.nan] * width if row is None else row for row in own]
        codes.append(np.array(rows, dtype=np.float64).reshape(len(own), width))
    shifts, scales, spreads = (
        np.array(facts[name], dtype=np.float64) for name in ("shifts", "scales", "spreads")
    )
    require((scales > 0).all() and (spreads > 0).all(), "a scale of the model is not positive")
    normal, size = facts.get("normal"), facts.get("sample_size")
    if normal is not None:
        normal = NormalPrior(*map(float, normal))
        require(
            min(normal.alpha_mu, normal.t) > 0 and normal.freedom > -1, "the prior is not proper"
        )
    require(size is None or size > 0, "the prior of tables is not positive")
    coding = Coding.from_parts(names, levels, shifts, scales, spreads, tuple(codes))
    given = np.array(facts["given"], dtype=np.bool_)
    return coding, Prior(normal, None if size is None else float(size)), given


def _read_families(
    coding: Coding, prior: Prior, content: Content
) -> dict[tuple[int, tuple[int, ...]], FamilyNumbers]:
    arrays = content.read(FAMILY_FIELDS)
    n, families = len(coding.names), {}
    states, numbers = arrays["family_states"], arrays["family_numbers"]
    at_state = at_number = 0
    columns = zip(
        *(arrays[f"family_{one}"] for one in ("child", "parents", "n_states")), strict=True
    )
    for child, members, n_states in columns:
        parents = tuple(int(u) for u in members if u >= 0)
        require(child < n and max(parents, default=0) < n, "a family has unknown variables")
        require(list(parents) == sorted(set(parents) - {int(child)}), "a family is not in order")
        width = _width(coding, prior, int(child), parents)
        own = states[at_state : at_state + n_states]
        size = int(n_states) * width
        block = numbers[at_number : at_number + size]
        require(len(own) == n_states and len(block) == size, "a family is not complete")
        require((np.diff(own) > 0).all(), "states of a family are not in order")
        block = block.reshape(int(n_states), width)
        is_count = coding.levels[child] is not None
        require(
            (block >= 0).all() if is_count else (block[:, 0] >= 1).all(), "counts are out of range"
        )
        families[int(child), parents] = FamilyNumbers(own, block)
        at_state, at_number = at_state + int(n_states), at_number + size
    return families


def _width(coding: Coding, prior: Prior, child: int, parents: tuple[int, ...]) -> int:
    """How many numbers a state of a family has."""
    levels = coding.levels[child]
    inside = [u for u in parents if coding.levels[u] is None]
    if levels is not None:
        require(not inside and prior.sample_size is not None, "a table has a continuous parent")
        return len(levels)
    require(prior.normal is not None, "a regression has no prior")
    size = len(inside) + 1
    return 1 + size + size * size


def _check_scatter(scatter: Floats) -> None:
    diagonal: NDArray[np.float64] = np.diagonal(scatter, axis1=1, axis2=2)
    require((diagonal >= 0).all(), "a column of the model has a negative variance")
    require((scatter == np.swapaxes(scatter, 1, 2)).all(), "moments are not symmetric")


def read_model(names: tuple[str, ...], content: Content) -> GaussianModel | None:
    """The model of the columns, checked; None for files that have none."""
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
    require(is_single.all(), "a variable with a unit does not have one column of the model")
    require((arrays["degrees_of_freedom"] > -1.0).all(), "the model has no degrees of freedom")
    return GaussianModel.from_arrays(names, arrays)
