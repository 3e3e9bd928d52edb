"""What a posterior knows about its origin."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RunInfo:
    """Where a posterior comes from: the data, the model and the run, enough to make it again.

    ``score_settings`` is the score as one would write it, ``knowledge`` that of
    ``Knowledge.as_dict``, ``options`` those of ``learn`` that differ from their defaults and decide
    the result. ``path`` and ``reading`` are those of the data set, ``kinds`` its columns' kinds;
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
    path: str | None = None
    reading: dict[str, Any] | None = None
    kinds: tuple[str, ...] = ()
    libraries: dict[str, str] = field(default_factory=dict)
