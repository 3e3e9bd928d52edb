"""The run in words that can be executed: Python that makes the same posterior again."""

from typing import Any

from outpoint.posterior.info import RunInfo


def run_again(info: RunInfo, n_steps: int | None = None) -> str:
    """Python that makes the run again; where it needs something of the user's, a comment says so.

    A run that a clock has ended is made again with ``n_steps``, as many as its chains took.
    """
    options = {
        "score": _score(info),
        "method": repr(info.method),
        "max_parents": repr(info.max_parents),
    }
    if info.structure_prior != "uniform":
        options["structure_prior"] = repr(info.structure_prior)
    if info.knowledge:
        options["knowledge"] = f"op.Knowledge.from_dict({info.knowledge!r})"
    lines = ["import outpoint as op"]
    if not info.score_settings:
        lines.append("# score: the score that the run was given")
    given = dict(info.options)
    if given.pop("time", None) is not None:
        lines.append("# A clock has ended the run: as many steps, but not the same draws.")
        given["steps"] = n_steps
    options |= {name: _written(name, value) for name, value in given.items()}
    options["seed"] = repr(info.seed)
    data = _data(info, lines)
    written = "".join(f"    {name}={value},\n" for name, value in options.items())
    return "\n".join(lines) + f"\npost = op.learn(\n    {data},\n{written})"


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
    return f"op.load_dataset({info.path!r}{options})"


def _written(name: str, value: Any) -> str:
    if name == "start" and isinstance(value, dict):
        edges = [tuple(edge) for edge in value["edges"]]
        return f"op.Dag.from_edges({value['names']!r}, {edges!r})"
    return repr(value)
