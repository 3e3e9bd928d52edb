"""Model strings, the way bnlearn writes a DAG: ``[A][B|A][C|A:B]``.

One bracket for every node, isolated ones included, with its parents after a bar. The format has no
quotes, so a name with one of its four marks, or with a line break, cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from outpoint.errors import GraphError
from outpoint.graphs.validation import quote_name

_NODE = re.compile(r"\[([^\[\]|:]+)(?:\|([^\[\]|]+))?\]\s*")
_MARKS = re.compile(r"[\[\]|:\x00-\x1f\x7f\u0085\u2028\u2029]")


def write_model_string(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> str:
    """The text, with nodes in the order of the names; bnlearn does not need parents first."""
    for name in names:
        if not name or _MARKS.search(name):
            raise GraphError(
                f"a model string cannot hold the name {name!r}: it takes no brackets, bars, colons "
                "or line breaks; rename the node, or write DOT instead"
            )
    parents: dict[str, list[str]] = {name: [] for name in names}
    for parent, child in edges:
        parents[child].append(parent)
    brackets = (
        f"[{name}|{':'.join(members)}]" if members else f"[{name}]"
        for name, members in parents.items()
    )
    return "".join(brackets) + "\n"


def parse_model_string(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The names in the order of the text, and the edges; brackets may be on several lines."""
    names: list[str] = []
    edges: list[tuple[str, str]] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        match = _NODE.match(text, position)
        parents = match[2].split(":") if match and match[2] else []
        if match is None or "" in parents:
            raise GraphError(
                f"character {position + 1} of the model string: expected a node such as [a] or "
                f"[c|a:b], found {quote_name(text[position : position + 10])}"
            )
        names.append(match[1])
        edges += [(parent, match[1]) for parent in parents]
        position = match.end()
    return names, edges
