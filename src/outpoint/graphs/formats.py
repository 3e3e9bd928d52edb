r"""What readers and writers of graphs share: tokens, names in tables, DOT and GraphML.

The readers of DOT and of dagitty take the tokens of a text one after the other.

In tables that a spreadsheet may open, names are protected: a cell that begins with ``=``, ``+``,
``-`` or ``@`` is a formula to a spreadsheet, and a formula can start programs. An apostrophe before
the mark makes it text. Spreadsheets disagree about what ends a cell, so the same is done after
every comma, semicolon, tab, line break and quote inside a name. Reading takes one apostrophe away
at each such place: every name comes back as it was.

DOT and GraphML text is read into plain names and edges, and written from them. Names are whatever a
user calls a column: they may hold quotes, backslashes, line breaks or markup, and must come back
unchanged. DOT is written with every name quoted, `"` as `\"` and a backslash as `\\`, and every
node stated before the edges, so that the order of the nodes and the isolated ones survive. Edges
may carry the probability that a posterior gives them. The reader takes the part of DOT that
describes one directed graph (node statements, edge chains, attributes skipped) and refuses the rest
instead of guessing.

Model strings, the way bnlearn writes a DAG: ``[A][B|A][C|A:B]``.

One bracket for every node, isolated ones included, with its parents after a bar. The format has no
quotes, so a name with one of its four marks, or with a line break, cannot be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

from outpoint.errors import GraphError, require
from outpoint.graphs.validation import check_n_nodes, quote_name


class Token(NamedTuple):
    """A piece of text of one kind, and the line it is on."""

    kind: str
    text: str
    line: int


class TokenReader:
    """The tokens of a text in some ``language``; names and edges in order of appearance."""

    def __init__(self, language: str, tokens: Iterator[Token]) -> None:
        self.language = language
        self.tokens = tokens
        self.token = next(tokens)
        self.names: dict[str, None] = {}
        self.edges: list[tuple[str, str]] = []

    def error(self, what: str) -> GraphError:
        """An error at the line of the token."""
        return GraphError(f"line {self.token.line} of the {self.language} text: {what}")

    def fail(self, expected: str) -> GraphError:
        """An error for a token that should be something else."""
        return self.error(f"expected {expected}, found {quote_name(self.token.text)}")

    def take(self, *texts: str) -> bool:
        """Step over the token when it is one of these marks or keywords."""
        if self.token.kind in ("mark", "keyword") and self.token.text.lower() in texts:
            self.token = next(self.tokens)
            return True
        return False

    def read(self, expected: str, *kinds: str) -> str:
        """The text of the token, which must be of one of these kinds."""
        if self.token.kind not in kinds:
            raise self.fail(expected)
        text = self.token.text
        self.token = next(self.tokens)
        return text

    def read_body(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Statements in braces, after which the text ends."""
        if not self.take("{"):
            raise self.fail("{")
        while not self.take("}"):
            self.read_statement()
        if self.token.kind != "end":
            raise self.fail("the end, as one text holds one graph")
        return list(self.names), self.edges

    def read_statement(self) -> None:
        """One statement of the language."""
        raise NotImplementedError


_AT_START = r"""(?P<before>(?:\A|(?<=[,;\t\r\n"]))[^\S\t\r\n]*)"""
_MARK = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_FORMULA = re.compile(f"{_AT_START}(?='*{_MARK})")
_PROTECTED = re.compile(f"{_AT_START}'(?='*{_MARK})")


def protect_cell(name: str) -> str:
    """The name with an apostrophe wherever a spreadsheet would begin a formula."""
    return _FORMULA.sub(r"\g<before>'", name)


def restore_cell(cell: str) -> str:
    """The name that :func:`protect_cell` was given."""
    return _PROTECTED.sub(r"\g<before>", cell)


Edge = tuple[str, str]
NamedEdges = tuple[list[str], list[Edge]]
Weights = Mapping[Edge, float]
"""Probabilities of edges."""


def write_dot(
    names: Sequence[str],
    directed: Iterable[Edge],
    undirected: Iterable[Edge] = (),
    weights: Weights | None = None,
) -> str:
    """A `digraph` with all nodes; undirected edges are drawn without arrow heads.

    ``weights`` are the probabilities of the directed edges: the attribute ``probability``, and
    rounded the label that Graphviz draws.
    """
    lines = ["digraph {"]
    lines += [f"  {_quote_id(name)};" for name in names]
    for a, b in directed:
        weight = "" if weights is None else _weight_attributes(weights[a, b])
        lines.append(f"  {_quote_id(a)} -> {_quote_id(b)}{weight};")
    lines += [f"  {_quote_id(a)} -> {_quote_id(b)} [dir=none];" for a, b in undirected]
    return "\n".join([*lines, "}", ""])


def _weight_attributes(weight: float) -> str:
    return f' [probability="{float(weight)!r}", label="{weight:.2f}"]'


def _quote_id(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_TOKEN = re.compile(
    r"""
    (?P<skip> \s+ | //[^\n]* | /\*.*?\*/ | \#[^\n]* )
  | "(?P<quoted> (?: [^"\\]++ | \\. )*+ )"
  | (?P<word> [^\W\d]\w* | -?(?: \.\d+ | \d+(?:\.\d*)? ) )
  | (?P<mark> -> | -- | [{}\[\];,=:] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_KEYWORDS = {"strict", "graph", "digraph", "subgraph", "node", "edge"}
_VALUES = ("id", "html", "keyword")


def _unescape(match: re.Match[str]) -> str:
    if match[1] in '"\\':
        return match[1]
    return "" if match[1] == "\n" else match[0]  # DOT continues a string after a backslash


def _tokenize(text: str) -> Iterator[Token]:
    position, line = 0, 1
    while position < len(text):
        if text[position] == "<":
            end = _end_of_html(text, position, line)
            yield Token("html", text[position:end], line)
        else:
            match = _TOKEN.match(text, position)
            if match is None:
                raise GraphError(
                    f"line {line} of the DOT text: cannot read {text[position : position + 10]!r}"
                )
            end = match.end()
            if match["quoted"] is not None:
                yield Token("id", _ESCAPE.sub(_unescape, match["quoted"]), line)
            elif match["word"] is not None:
                word = match["word"]
                yield Token("keyword" if word.lower() in _KEYWORDS else "id", word, line)
            elif match["mark"] is not None:
                yield Token("mark", match["mark"], line)
        line += text.count("\n", position, end)
        position = end
    yield Token("end", "end of text", line)


def _end_of_html(text: str, start: int, line: int) -> int:
    """The position after an HTML string, whose angle brackets are balanced."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "<") - (text[position] == ">")
        if not depth:
            return position + 1
    raise GraphError(f"line {line} of the DOT text: an HTML string starts here and never ends")


class _DotReader(TokenReader):
    def read_id(self, expected: str) -> str:
        return self.read(expected, "id")

    def read_graph(self) -> NamedEdges:
        self.take("strict")
        if self.take("graph"):
            raise GraphError("the DOT text holds an undirected graph; a DAG needs a digraph")
        if not self.take("digraph"):
            raise self.fail("digraph")
        if self.token.kind in ("id", "html"):
            self.read("a graph name", "id", "html")
        return self.read_body()

    def read_statement(self) -> None:
        if self.take(";"):
            return
        if self.take("graph", "node", "edge"):
            self.skip_attributes()
            return
        chain = [self.read_node()]
        if self.take("="):
            self.read("a value", *_VALUES)
            return
        while self.take("->"):
            chain.append(self.read_node())
        if self.token.text == "--" and self.token.kind == "mark":
            raise self.error("an undirected edge; a DAG has only ->")
        self.skip_attributes()
        self.names.update(dict.fromkeys(chain))
        check_n_nodes(len(self.names))
        self.edges += pairwise(chain)

    def read_node(self) -> str:
        if self.token.kind in ("mark", "keyword") and self.token.text.lower() in ("{", "subgraph"):
            raise self.error("subgraphs are not supported; list their nodes and edges one by one")
        name = self.read_id("a node name")
        while self.take(":"):
            self.read_id("a port")
        return name

    def skip_attributes(self) -> None:
        """Step over attribute lists; only `dir` matters, as it can take an arrow head away."""
        while self.take("["):
            while not self.take("]"):
                key = self.read_id("an attribute")
                value = self.read("a value", *_VALUES) if self.take("=") else "true"
                if key == "dir" and value != "forward":
                    raise GraphError(
                        f"the DOT text has an edge with dir={quote_name(value)}; "
                        "a DAG has only edges that point forward"
                    )
                self.take(",", ";")


def parse_dot(text: str) -> NamedEdges:
    """The names, in order of first appearance, and the edges of a directed graph in DOT."""
    return _DotReader("DOT", _tokenize(text)).read_graph()


MOST_DEPTH = 100
"""Elements of GraphML within each other."""

# XML 1.0 has no way, not even an escaped one, to hold these characters.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_graphml(
    names: Sequence[str], edges: Iterable[Edge], weights: Weights | None = None
) -> str:
    """A directed GraphML graph; the names are the node ids and, for igraph, an attribute `name`.

    ``weights`` are the probabilities of the edges, an attribute ``probability``.
    """
    import networkx as nx

    for name in names:
        if _NOT_XML.search(name):
            raise GraphError(
                f"GraphML cannot hold the name {name!r}: rename the node, or write DOT instead"
            )
    graph = nx.DiGraph()
    graph.add_nodes_from((name, {"name": name}) for name in names)
    for edge in edges:
        graph.add_edge(*edge, **({} if weights is None else {"probability": float(weights[edge])}))
    buffer = BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue().decode("utf-8")


def parse_graphml(text: str) -> NamedEdges:
    """The node ids and edges of a directed graph in GraphML."""
    import networkx as nx

    try:
        _refuse_deep_xml(text)
        graph = nx.parse_graphml(text, node_type=str)
    except Exception as error:  # a file that somebody made can fail anywhere in the libraries
        raise GraphError(f"this is not a readable GraphML graph: {error}") from error
    if not graph.is_directed():
        raise GraphError("the GraphML text holds an undirected graph; a DAG needs a directed one")
    return list(graph.nodes), list(graph.edges())


def _refuse_deep_xml(text: str) -> None:
    """Refuse nesting that no graph has, before a tree of it takes a gigabyte."""
    from xml.parsers.expat import ParserCreate

    depth = 0

    def begin(name: str, attributes: object) -> None:
        nonlocal depth
        depth += 1
        require(depth <= MOST_DEPTH, "its elements are nested too deeply")

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1

    parser = ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.Parse(text.encode(), True)


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
