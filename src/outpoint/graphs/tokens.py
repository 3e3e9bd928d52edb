"""What the readers of DOT and of dagitty have in common: tokens, taken one after the other."""

from collections.abc import Iterator
from typing import NamedTuple

from outpoint.errors import GraphError
from outpoint.graphs.validation import quote_name


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
