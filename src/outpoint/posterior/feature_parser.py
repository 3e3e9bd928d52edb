"""Features from text: a small language whose words are the names of the variables.

    feature  =  term { "or" term }
    term     =  factor { "and" factor }
    factor   =  "not" factor  |  "(" feature ")"  |  path  |  fact
    path     =  name link name { link name }
    link     =  "->"  |  "<-"  |  "--"  |  "-> ... ->"  |  "<- ... <-"
    fact     =  name "in" "mb" "(" name ")"  |  ("root" | "leaf" | "isolated") "(" name ")"
             |  "parents" "(" name ")" "=" "{" [ name { "," name } ] "}"

A path means all its links, and where two plain arrows meet, as in `a -> c <- b`, that their tails
are not adjacent (a v-structure). Columns may be called anything, "a -> b" or "not" included, so
there are no tokens to cut a text into beforehand: the parser tries every known name at every place
and follows all readings. One reading is the answer, none is an error at the furthest place that
any of them reached, and several ask for double quotes around names (with a backslash before quotes
and backslashes inside them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import NoReturn

from outpoint.errors import OptionError
from outpoint.posterior.features import (
    Adjacent,
    And,
    Edge,
    Feature,
    InBlanket,
    Isolated,
    Leaf,
    Not,
    Or,
    ParentSet,
    Path,
    Root,
    VStructure,
)

Reading = tuple[Feature, int]
"""A feature and the place in the text where it ends."""

LINKS = {
    "->": re.compile(r"->"),
    "<-": re.compile(r"<-"),
    "--": re.compile(r"--"),
    "-> ... ->": re.compile(r"->\s*\.\.\.\s*->"),
    "<- ... <-": re.compile(r"<-\s*\.\.\.\s*<-"),
}
FACTS: dict[str, Callable[[int], Feature]] = {"root": Root, "leaf": Leaf, "isolated": Isolated}

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_UNKNOWN = re.compile(r"(?:(?!->|<-|--|[(){},=]|\s(?:and|or|in)\b).)*", re.DOTALL)
_A_NAME = "the name of a variable"
_THE_END = "the end"


def parse_feature(text: str, names: Sequence[str]) -> Feature:
    """The feature that a text describes; names stand for their numbers in ``names``."""
    parser = _Parser(text, names)
    readings = {feature for feature, end in parser.feature(0) if parser.at_end(end)}
    if not readings:
        parser.fail()
    if len(readings) > 1:
        raise OptionError(
            f"the feature {text!r} can be read in {len(readings)} ways because of how the "
            "variables are called: put their names in double quotes."
        )
    return readings.pop()


class _Parser:
    """All readings of one text; every method yields what it finds at a place, and where it ends."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}
        self.furthest = 0
        self.expected: list[str] = []
        self.refusal = ""

    # The rules, as in the grammar

    def feature(self, place: int) -> Iterator[Reading]:
        yield from self.joined(place, "or", self.term, Or)

    def term(self, place: int) -> Iterator[Reading]:
        yield from self.joined(place, "and", self.factor, And)

    def joined(
        self,
        place: int,
        word: str,
        rule: Callable[[int], Iterator[Reading]],
        join: type[And] | type[Or],
    ) -> Iterator[Reading]:
        """One part, or several with the word between them."""
        for part, end in rule(place):
            yield part, end
            for after in self.word(end, word):
                for rest, last in self.joined(after, word, rule, join):
                    others = rest.parts if isinstance(rest, join) else (rest,)
                    yield join((part, *others)), last

    def factor(self, place: int) -> Iterator[Reading]:
        for after in self.word(place, "not"):
            for part, end in self.factor(after):
                yield Not(part), end
        for after in self.mark(place, "("):
            for part, end in self.feature(after):
                for last in self.mark(end, ")"):
                    yield part, last
        for name, end in self.name(place):
            yield from self.links(end, (name,), ())
            yield from self.membership(end, name)
        yield from self.fact(place)

    def links(
        self, place: int, nodes: tuple[int, ...], links: tuple[str, ...]
    ) -> Iterator[Reading]:
        """The rest of a path that has begun."""
        if links:
            yield _join_links(nodes, links), place
        start = self.skip(place)
        for link, pattern in LINKS.items():
            match = pattern.match(self.text, start)
            if match is None:
                self.miss(start, f"'{link}'")
                continue
            for name, end in self.name(match.end()):
                if name == nodes[-1]:
                    self.refuse(name, "cannot be linked to itself")
                else:
                    yield from self.links(end, (*nodes, name), (*links, link))

    def membership(self, place: int, member: int) -> Iterator[Reading]:
        for after_in in self.word(place, "in"):
            for after_mb in self.word(after_in, "mb"):
                for node, end in self.argument(after_mb):
                    if node == member:
                        self.refuse(node, "is not in its own Markov blanket")
                    else:
                        yield InBlanket(member, node), end

    def fact(self, place: int) -> Iterator[Reading]:
        for word, make in FACTS.items():
            for after in self.word(place, word):
                for node, end in self.argument(after):
                    yield make(node), end
        for after in self.word(place, "parents"):
            for child, closed in self.argument(after):
                for equal in self.mark(closed, "="):
                    for opened in self.mark(equal, "{"):
                        for parents, end in self.members(opened):
                            if child in parents:
                                self.refuse(child, "cannot be its own parent")
                            else:
                                yield ParentSet(child, parents), end

    def argument(self, place: int) -> Iterator[tuple[int, int]]:
        """A name in parentheses."""
        for opened in self.mark(place, "("):
            for node, end in self.name(opened):
                for closed in self.mark(end, ")"):
                    yield node, closed

    def members(
        self, place: int, before: frozenset[int] = frozenset()
    ) -> Iterator[tuple[frozenset[int], int]]:
        """Names with commas between them, up to the closing brace."""
        if not before:
            for closed in self.mark(place, "}"):
                yield before, closed
        for node, end in self.name(place):
            found = before | {node}
            for closed in self.mark(end, "}"):
                yield found, closed
            for after in self.mark(end, ","):
                yield from self.members(after, found)

    # Words, marks and names

    def word(self, place: int, word: str) -> Iterator[int]:
        start = self.skip(place)
        end = start + len(word)
        if self.text.startswith(word, start) and not self.within_word(end):
            yield end
        else:
            self.miss(start, f"'{word}'")

    def mark(self, place: int, mark: str) -> Iterator[int]:
        start = self.skip(place)
        if self.text.startswith(mark, start):
            yield start + len(mark)
        else:
            self.miss(start, f"'{mark}'")

    def name(self, place: int) -> Iterator[tuple[int, int]]:
        """Every variable whose name, quoted or as it is, stands at the place."""
        start = self.skip(place)
        quoted = _QUOTED.match(self.text, start)
        if quoted:
            number = self.numbers.get(_ESCAPED.sub(r"\1", quoted[1]))
            if number is not None:
                yield number, quoted.end()
        for name, number in self.numbers.items():
            end = start + len(name)
            plain = name and name == name.strip() and self.text.startswith(name, start)
            if plain and not (_is_word(name[-1]) and self.within_word(end)):
                yield number, end
        self.miss(start, _A_NAME)

    def skip(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return match.end() if match else place

    def within_word(self, place: int) -> bool:
        return place < len(self.text) and _is_word(self.text[place])

    def at_end(self, place: int) -> bool:
        end = self.skip(place)
        if end < len(self.text):
            self.miss(end, _THE_END)
        return end == len(self.text)

    # What went wrong

    def miss(self, place: int, expected: str) -> None:
        """Remember what was expected at the furthest place."""
        if place > self.furthest:
            self.furthest = place
            self.expected = []
        if place == self.furthest and expected not in self.expected:
            self.expected.append(expected)

    def refuse(self, node: int, reason: str) -> None:
        """Remember a reading that is well formed and makes no sense."""
        self.refusal = f"{self.names[node]!r} {reason}"

    def fail(self) -> NoReturn:
        if self.refusal:
            raise OptionError(f"{self.refusal}, as in the feature {self.text!r}.")
        where = f"at character {self.furthest + 1} of the feature {self.text!r}"
        unknown = self.unknown_name()
        if _A_NAME in self.expected and unknown:
            close = _close_names(unknown, self.names)
            hint = (
                f"did you mean {' or '.join(map(repr, close))}?"
                if close
                else (f"the variables are {_some(self.names)}.")
            )
            raise OptionError(f"there is no variable {unknown!r} {where}: {hint}")
        *others, last = sorted(self.expected, key=lambda expected: expected == _THE_END)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise OptionError(f"expected {expected} {where}.")

    def unknown_name(self) -> str:
        """What stands where a name should, up to the next mark or word of the language."""
        quoted = _QUOTED.match(self.text, self.furthest)
        if quoted:
            return _ESCAPED.sub(r"\1", quoted[1])
        match = _UNKNOWN.match(self.text, self.furthest)
        return match[0].strip() if match else ""


def _join_links(nodes: tuple[int, ...], links: tuple[str, ...]) -> Feature:
    """All links of a path, and a v-structure wherever two plain arrows meet."""
    parts: list[Feature] = []
    for i, link in enumerate(links):
        a, b = nodes[i : i + 2]
        meets_next = link == "->" and links[i + 1 : i + 2] == ("<-",)
        met_before = link == "<-" and i > 0 and links[i - 1] == "->"
        if meets_next and a != nodes[i + 2]:
            parts.append(VStructure(a, b, nodes[i + 2]))
        elif not met_before:
            parts.append(_LINK_FEATURES[link](a, b))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


_LINK_FEATURES: dict[str, Callable[[int, int], Feature]] = {
    "->": Edge,
    "<-": lambda a, b: Edge(b, a),
    "--": Adjacent,
    "-> ... ->": Path,
    "<- ... <-": lambda a, b: Path(b, a),
}


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _close_names(unknown: str, names: Sequence[str]) -> list[str]:
    same = [name for name in names if name.casefold() == unknown.casefold()]
    return same or get_close_matches(unknown, names, n=3)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return f"{shown}, ..." if len(names) > 5 else shown
