"""The run in words that can be executed: Python that makes the same posterior again."""

from typing import Any

from outpoint.options import OPTIONS, Role, names_of
from outpoint.posterior.augmented import METHODS
from outpoint.posterior.info import RunInfo
from outpoint.posterior.posterior import Posterior

LENGTH = names_of(Role.STOP, Role.PACE)
"""Options that say how long a run is to be, which ``RunInfo.taken`` knows better afterwards."""


def run_again(posterior: Posterior) -> str:
    """Python that makes the run again; where it needs something of the user's, a comment says so.

    Whatever has ended a run, a clock, its chains' agreement or a continuation, it is made again
    with as many steps as it took.
    """
    info = posterior.info
    options = {
        "score": _score(info),
        "method": repr(METHODS.get(info.method, info.method)),
        "max_parents": repr(info.max_parents),
        "structure_prior": repr(info.structure_prior),
    }
    if info.knowledge:
        options["knowledge"] = f"op.Knowledge.from_dict({info.knowledge!r})"
    lines = ["import outpoint as op"]
    if not info.score_settings:
        lines.append("# score: the score that the run was given")
    lines += note_again(posterior)
    given = info.options
    if info.taken:
        given = {name: given[name] for name in given if name not in LENGTH} | info.taken
    options |= {name: _written(name, value) for name, value in given.items()}
    options["seed"] = repr(info.seed)
    data = _data(info, lines)
    written = "".join(f"    {name}={value},\n" for name, value in options.items())
    return "\n".join(lines) + f"\npost = op.learn(\n    {data},\n{written})"


def note_again(posterior: Posterior) -> list[str]:
    """Says what else is made where the same cannot be: a comment, in Python and in a shell."""
    if posterior.method == "exact" or posterior.info.taken:
        return []
    if not posterior.is_complete:
        return ["# The run was interrupted: this makes the whole of it."]
    return ["# The run was continued within a sweep: made in one go it has other draws."]


def _score(info: RunInfo) -> str:
    """The score as Python, or the name of what only the user has."""
    return f"op.{info.score_settings}" if info.score_settings else "score"


def _data(info: RunInfo, lines: list[str]) -> str:
    """The data as Python, or the name of what only the user has."""
    if info.path is None or info.reading is None:
        also = " (and its interventions)" if info.interventions else ""
        lines.append(f"# data: the table{also} with the SHA-256 {info.fingerprint}")
        return "data"
    if not info.reading:
        return repr(info.path)
    options = "".join(f", {name}={value!r}" for name, value in info.reading.items())
    function = "load_series" if "lags" in info.reading else "load_dataset"
    return f"op.{function}({info.path!r}{options})"


def _written(name: str, value: Any) -> str:
    return OPTIONS[name].kind.as_python(value) if name in OPTIONS else repr(value)
