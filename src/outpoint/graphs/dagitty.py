r"""The language of dagitty: ``dag { a -> b }``, a relative of DOT with its own words and strings.

A name is bare if it has only letters of the alphabet, digits, dots and underscores, otherwise in
double quotes. Inside quotes only `\"` is an escape: a backslash stands for itself, so that a name
cannot end with one. What people write by hand is read as well: arrows to the left, chains, and
groups of nodes in braces. Edges that no DAG has (``<->``, ``--``, ``@->``) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from outpoint.errors import GraphError
from outpoint.graphs.formats import Token, TokenReader
from outpoint.graphs.validation import quote_name

TYPES = ("dag", "digraph", "pdag")
"""Kinds of graphs that may be a DAG; whether one is a DAG depends on its edges."""

MOST_EDGES = 5_000_000
"""Two groups in braces stand for all pairs between them: a short text could ask for any number."""

_BARE = re.compile(r"[0-9a-zA-Z_.]+")
_NOT_QUOTABLE = re.compile(r"[\x00-\x1f\x7f]|\\\Z")
_RESERVED = ("graph", "node")
_TOKEN = re.compile(
    r"""
    (?P<skip> [\s;]+ )
  | "(?P<quoted> (?: \\" | [^"\x00-\x1f\x7f] )*+ )"
  | (?P<arrow> @-> | <-@ | <-> | <- | -> | --@ | @-- | @-@ | -- )
  | (?P<bare> -?[0-9a-zA-Z_.]+ )
  | (?P<mark> [{}\[\]=,] )
    """,
    re.VERBOSE,
)


def write_dagitty(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> str:
    """The text: every node first, so that isolated ones and the order survive; then the edges."""
    written = {name: _written(name) for name in names}
    lines = ["dag {", *written.values(), *(f"{written[a]} -> {written[b]}" for a, b in edges)]
    return "\n".join([*lines, "}", ""])


def _written(name: str) -> str:
    if not name or name in _RESERVED or _NOT_QUOTABLE.search(name):
        raise GraphError(
            f"dagitty cannot hold the name {name!r}: rename the node, or write DOT instead"
        )
    if _BARE.fullmatch(name):
        return name
    escaped = name.replace('"', '\\"')
    return f'"{escaped}"'


def _tokenize(text: str) -> Iterator[Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise GraphError(
                f"line {line} of the dagitty text: cannot read {text[position : position + 10]!r}"
            )
        if match["quoted"] is not None:
            yield Token("name", match["quoted"].replace('\\"', '"'), line)
        elif match["bare"] is not None:
            yield Token("name", match["bare"], line)
        elif match["arrow"] is not None:
            yield Token("arrow", match["arrow"], line)
        elif match["mark"] is not None:
            yield Token("mark", match["mark"], line)
        line += text.count("\n", position, match.end())
        position = match.end()
    yield Token("end", "end of text", line)


class _DagittyReader(TokenReader):
    def read_name(self, expected: str) -> str:
        return self.read(expected, "name")

    def read_graph(self) -> tuple[list[str], list[tuple[str, str]]]:
        kind = self.read_name("dag {")
        if kind.lower() not in TYPES:
            raise GraphError(f"the dagitty text is not a dag but begins with {quote_name(kind)}")
        if self.token.kind == "name":
            self.read_name("the name of the graph")
        return self.read_body()

    def read_statement(self) -> None:
        """A setting of the graph, a node or group, or a chain of edges between them."""
        group = self.read_group()
        if len(group) == 1 and self.take("="):
            self.read_name("a value")
            return
        if group in (["graph"], ["node"]):
            self.skip_attributes()
            return
        self.names.update(dict.fromkeys(group))
        while self.token.kind == "arrow":
            arrow = self.token.text
            if arrow not in ("->", "<-"):
                raise self.error(f"found an edge {arrow}; a DAG has only -> and <-")
            self.token = next(self.tokens)
            following = self.read_group()
            self.names.update(dict.fromkeys(following))
            if len(self.edges) + len(group) * len(following) > MOST_EDGES:
                raise GraphError(f"the dagitty text has more than {MOST_EDGES:,} edges")
            pairs = product(group, following) if arrow == "->" else product(following, group)
            self.edges += pairs
            group = following
        self.skip_attributes()

    def read_group(self) -> list[str]:
        if not self.take("{"):
            return [self.read_name("a node")]
        group = []
        while not self.take("}"):
            group.append(self.read_name("a node or }"))
        return group

    def skip_attributes(self) -> None:
        """Exposure, outcome, position and the like do not change the graph."""
        if not self.take("["):
            return
        while not self.take("]"):
            self.read_name("an attribute")
            if self.take("="):
                self.read_name("a value")
            self.take(",")


def parse_dagitty(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """The names, in order of first appearance, and the edges of a DAG."""
    return _DagittyReader("dagitty", _tokenize(text)).read_graph()
