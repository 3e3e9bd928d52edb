"""What ``learn`` was asked for: recorded with a run, or named where its method cannot use it."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from outpoint.data.wording import enumerate_items
from outpoint.graphs import Dag
from outpoint.sampling import SamplingOptions

Arguments = Mapping[str, Any]

STOPS = ("steps", "time", "until_converged")
PLANNED = "planned_steps"
"""The length a run was planned for, which it knows by itself."""

ONLY_SAMPLED = (
    *("chains", *STOPS, PLANNED, "warmup", "draws"),
    *("edge_reversals", "start", "n_candidates", "candidates", "search_effort", "pilots"),
)
"""Options that exact sums do not use; ``moves``, which they refuse, is not among them."""

ALWAYS = ("allow_degenerate",)
"""Options that decide every result and stand nowhere else in the record of a run."""


class IgnoredOptionWarning(UserWarning):
    """Options were given that the chosen method does not have."""


def warn_of_ignored(arguments: Arguments, defaults: Arguments) -> None:
    """Name the options of sampling that an exact run was given, to the caller of the caller."""
    named = [name for name in ONLY_SAMPLED if differs(arguments[name], defaults[name])]
    if named:
        warnings.warn(describe_ignored(named), IgnoredOptionWarning, stacklevel=3)


def describe_ignored(names: Sequence[str]) -> str:
    """A sentence about options that an exact run does not use."""
    verb = "is" if len(names) == 1 else "are"
    listed = enumerate_items(names, limit=len(names))
    return f"the posterior is exact and nothing is sampled: {listed} {verb} not used."


def decisive_options(
    arguments: Arguments, defaults: Arguments, options: SamplingOptions, method: str
) -> dict[str, Any]:
    """The options that decide the result and differ from their defaults, as JSON can hold them.

    They have been checked. When to stop is taken from ``options``: a run that is continued may have
    that from its checkpoint.
    """
    names = ALWAYS if method == "exact" else (*ALWAYS, *ONLY_SAMPLED, "moves")
    stops = {name: getattr(options, name) for name in STOPS}
    return _given({**arguments, **stops}, defaults, [name for name in names if name != PLANNED])


def requested_options(arguments: Arguments, defaults: Arguments) -> dict[str, Any]:
    """The options of a sampled run that it keeps when it is continued, as JSON can hold them."""
    names = (*ALWAYS, *ONLY_SAMPLED, "moves")
    own = [name for name in names if name not in (*STOPS, PLANNED)]
    return _given(arguments, defaults, own)


def _given(arguments: Arguments, defaults: Arguments, names: Iterable[str]) -> dict[str, Any]:
    differing = [name for name in names if differs(arguments[name], defaults[name])]
    return {name: _as_json(arguments[name]) for name in differing}


def differs(value: Any, default: Any) -> bool:
    """Whether an option was changed; arrays and tables compare to no single truth value."""
    if value is default:
        return False
    return not isinstance(value, str | int | float | np.number) or bool(value != default)


def _as_json(value: Any) -> Any:
    if isinstance(value, Dag):
        return {"names": list(value.names), "edges": [list(edge) for edge in value.edges]}
    if isinstance(value, Mapping):
        return {
            key: list(own) if isinstance(own, Iterable) else _number(own)
            for key, own in value.items()
        }
    return value.item() if isinstance(value, np.generic) else value


def _number(value: Any) -> Any:
    """A weight as a plain number; what is none is refused elsewhere."""
    return float(value) if isinstance(value, Real) else value
