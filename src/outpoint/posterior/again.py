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
        lines.append(f"# data: the table with the SHA-256 {info.fingerprint}")
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


def describe_model(info: RunInfo, n_nodes: int) -> str:
    """Score, prior, knowledge and limit in one line."""
    parts = [f"{describe_score(info)} score", f"{info.structure_prior} prior"]
    parts += describe_knowledge(info)
    return ", ".join([*parts, describe_limit(info.max_parents, n_nodes)])


def describe_limit(max_parents: int, n_nodes: int) -> str:
    """How many parents a variable may have."""
    if max_parents >= n_nodes - 1:
        return "no limit on parents"
    return "at most 1 parent" if max_parents == 1 else f"at most {max_parents} parents"


def describe_score(info: RunInfo) -> str:
    """The score with the settings that are not the usual ones."""
    return info.score_settings.removesuffix("()") or info.score


def describe_knowledge(info: RunInfo) -> list[str]:
    """What the user knew, in a few words each."""
    known = info.knowledge
    words = []
    for kind in ("required", "forbidden"):
        if known.get(kind):
            count = len(known[kind])
            words.append(f"{count} {kind} edge{'s' if count > 1 else ''}")
    if known.get("tiers"):
        words.append(f"{len(known['tiers'])} tiers")
    if known.get("roots"):
        count = len(known["roots"])
        words.append(f"{count} root{'s' if count > 1 else ''}")
    if known.get("edge_prior") is not None:
        prior = known["edge_prior"]
        is_number = isinstance(prior, int | float)
        words.append(f"edge prior {prior:g}" if is_number else "edge prior of its own")
    return words
