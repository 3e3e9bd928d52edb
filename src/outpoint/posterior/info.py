"""What a posterior knows about its origin, and how to say it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any

from outpoint import __version__
from outpoint.naming import count_of
from outpoint.options import SAMPLING_ROLES, Options, Role

LIBRARIES = ("numba", "numpy")
"""Libraries whose versions may change the last digits of a result."""


@dataclass(frozen=True)
class RunInfo:
    """Where a posterior comes from: the data, the model and the run, enough to make it again.

    ``score_settings`` is the score as Python code, ``knowledge`` what ``Knowledge.as_dict``
    returns, ``options`` those of ``learn`` that differ from their defaults and decide the result,
    ``taken`` those that make a sampled run again as long as it became: its steps, with the warm-up
    and the length it was planned for where they do not follow from them, and how much was searched
    before if that was less than usual; it is empty where no options do, as after an interruption.
    ``path`` and ``reading`` are those of the data set, ``kinds`` its columns' kinds,
    ``interventions`` the ``targets`` that were set together, with their number of rows ``n_rows``,
    ``notes`` what reading the data had to assume and what the score makes of their units;
    ``libraries`` has the versions of what computed the numbers.
    """

    source: str
    fingerprint: str
    n_observations: int
    score: str
    structure_prior: str
    max_parents: int
    method: str
    seed: int
    version: str
    elapsed_seconds: float | None
    score_settings: str = ""
    knowledge: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    taken: dict[str, float] = field(default_factory=dict)
    path: str | None = None
    reading: dict[str, Any] | None = None
    kinds: tuple[str, ...] = ()
    interventions: tuple[dict[str, Any], ...] = ()
    libraries: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[tuple[str, ...], ...]:
        """The sets of variables that were set together, which decide what data can tell."""
        return tuple(tuple(one["targets"]) for one in self.interventions)

    def as_summary(self, names: Sequence[str]) -> dict[str, Any]:
        """The record of the model and the run, as JSON has it."""
        return {
            "score": self.score,
            "score_settings": self.score_settings,
            "structure_prior": self.structure_prior,
            "knowledge": self.knowledge,
            "options": self.options,
            "data": self.source,
            "path": self.path,
            "reading": self.reading,
            "kinds": dict(zip(names, self.kinds, strict=False)),
            "notes": list(self.notes),
            "data_sha256": self.fingerprint,
            "n_nodes": len(names),
            "n_observations": self.n_observations,
            "interventions": list(self.interventions),
            "max_parents": self.max_parents,
            "elapsed_seconds": self.elapsed_seconds,
            "seed": self.seed,
            "version": self.version,
            "libraries": self.libraries,
        }


def make_info(
    record: Mapping[str, Any],
    asked: Options,
    *,
    seconds: float,
    taken: Mapping[str, float] = MappingProxyType({}),
) -> RunInfo:
    """The record of a model (``Model.record``) with that of a run, made here and now.

    The method and the seed of ``asked`` are those that were chosen.
    """
    roles = () if asked.method == "exact" else SAMPLING_ROLES
    return RunInfo(
        **record,
        method=asked.method,
        seed=asked.known_seed,
        options=asked.record(Role.POSTERIOR, *roles),
        taken=dict(taken),
        version=__version__,
        elapsed_seconds=seconds,
        libraries=_find_versions().copy(),
    )


@cache
def _find_versions() -> dict[str, str]:
    """The installed versions of the libraries that results may depend on."""
    return {name: version(name) for name in LIBRARIES}


def describe_interventions(info: RunInfo) -> str:
    """What was set in how many rows; empty if all were only observed."""
    return ", ".join(
        f"{' and '.join(one['targets']) or 'nothing'} set in {count_of(one['n_rows'], 'row')}"
        for one in info.interventions
    )


def describe_model(info: RunInfo, n_nodes: int) -> str:
    """Score, prior, knowledge and limit in one line."""
    parts = [f"{describe_score(info)} score", f"{info.structure_prior} prior"]
    parts += describe_knowledge(info)
    return ", ".join([*parts, describe_limit(info.max_parents, n_nodes)])


def describe_limit(max_parents: int, n_nodes: int) -> str:
    """How many parents a variable may have."""
    if max_parents >= n_nodes - 1:
        return "no limit on parents"
    return f"at most {count_of(max_parents, 'parent')}"


def describe_score(info: RunInfo) -> str:
    """The score with the settings that are not the usual ones."""
    return info.score_settings.removesuffix("()") or info.score


def describe_knowledge(info: RunInfo) -> list[str]:
    """What the user knew, in a few words each."""
    known = info.knowledge
    words = []
    for kind in ("required", "forbidden"):
        if known.get(kind):
            words.append(count_of(len(known[kind]), f"{kind} edge"))
    if known.get("tiers"):
        words.append(count_of(len(known["tiers"]), "tier"))
    if known.get("roots"):
        words.append(count_of(len(known["roots"]), "root"))
    if known.get("edge_prior") is not None:
        prior = known["edge_prior"]
        is_number = isinstance(prior, int | float)
        words.append(f"edge prior {prior:g}" if is_number else "edge prior of its own")
    return words
