"""Features from text: a small language whose words are the names of the variables.

    feature  =  term { "or" term }
    term     =  factor { "and" factor }
    factor   =  "not" factor  |  "(" feature ")"  |  path  |  fact
    path     =  name link name { link name }
    link     =  "->"  |  "<-"  |  "--"  |  "-> ... ->"  |  "<- ... <-"
    fact     =  name "in" "mb" "(" name ")"  |  ("root" | "leaf" | "isolated") "(" name ")"
             |  "parents" "(" name ")" "=" set  |  "adjusts" "(" set "," name "," name ")"
    set      =  "{" [ name { "," name } ] "}"

A path means all its links, and where two plain arrows meet, as in `a -> c <- b`, that their tails
are not adjacent (a v-structure). Columns may be called anything, "a -> b" or "not" included, so
there are no tokens to cut a text into beforehand: the parser tries every known name at every place
and follows all readings. One reading is the answer, none is an error at the furthest place that
any of them reached, and several ask for double quotes around names (with a backslash before quotes
and backslashes inside them).

Readings can multiply with every word of a text. Each rule is therefore tried once at a place, of
the readings that end at the same place two are kept, one more than a clear text has, and there is
a limit to the steps that are followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import wraps
from heapq import heappop, heappush
from typing import NoReturn, TypeVar

from outpoint.errors import OptionError
from outpoint.posterior.features import (
    Adjacent,
    Adjusts,
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

State = TypeVar("State")
Parts = tuple[Feature, ...]
Links = tuple[tuple[int, ...], tuple[str, ...]]
"""The nodes of a path, and what stands between them."""

LINKS = {
    "->": re.compile(r"->"),
    "<-": re.compile(r"<-"),
    "--": re.compile(r"--"),
    "-> ... ->": re.compile(r"->\s*\.\.\.\s*->"),
    "<- ... <-": re.compile(r"<-\s*\.\.\.\s*<-"),
}
MOST_CHARACTERS = 5_000
MOST_NESTED = 30
"""Parentheses, or the word not, inside each other; each takes a dozen calls of Python's stack."""

MOST_READINGS = 2
MOST_STATES = 10_000
"""Steps of repetitions that are followed; a text of clear words has less than one per character."""

FACTS: dict[str, Callable[[int], Feature]] = {"root": Root, "leaf": Leaf, "isolated": Isolated}

_SPACE = re.compile(r"\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPED = re.compile(r'\\(["\\])')
_UNKNOWN = re.compile(r"(?:(?!->|<-|--|[(){},=]|\s(?:and|or|in)\b).)*", re.DOTALL)
_A_NAME = "the name of a variable"
_THE_END = "the end"


def parse_feature(text: str, names: Sequence[str]) -> Feature:
    """The feature that a text describes; names stand for their numbers in ``names``."""
    if len(text) > MOST_CHARACTERS:
        raise OptionError(
            f"a feature must have at most {MOST_CHARACTERS:,} characters, not {len(text):,}: "
            "give a function of the DAG instead."
        )
    parser = _Parser(text, names)
    readings = [feature for feature, end in parser.feature(0) if parser.at_end(end)]
    if not readings:
        parser.fail()
    if len(readings) > 1:
        parser.ask_for_quotes("several")
    return readings[0]


def _remembered(
    rule: Callable[[_Parser, int], Iterator[Reading]],
) -> Callable[[_Parser, int], list[Reading]]:
    """The rule, tried once at every place; of readings that end at one place it keeps two."""

    @wraps(rule)
    def tried(parser: _Parser, place: int) -> list[Reading]:
        key = (rule.__name__, place)
        if key not in parser.remembered:
            by_end: dict[int, list[Feature]] = {}
            for feature, end in rule(parser, place):
                kept = by_end.setdefault(end, [])
                if len(kept) < MOST_READINGS and feature not in kept:
                    kept.append(feature)
            parser.remembered[key] = [(one, end) for end, kept in by_end.items() for one in kept]
        return parser.remembered[key]

    return tried


class _Parser:
    """All readings of one text; every method yields what it finds at a place, and where it ends."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        self.text = text
        self.names = names
        self.numbers = {name: number for number, name in enumerate(names)}
        self.remembered: dict[tuple[str, int], list[Reading]] = {}
        self.names_at: dict[int, list[tuple[int, int]]] = {}
        self.depth = self.states = 0
        self.furthest = 0
        self.expected: list[str] = []
        self.refusal = ""

    # The rules, as in the grammar

    @_remembered
    def feature(self, place: int) -> Iterator[Reading]:
        yield from self.joined(place, "or", self.term, Or)

    @_remembered
    def term(self, place: int) -> Iterator[Reading]:
        yield from self.joined(place, "and", self.factor, And)

    def joined(
        self,
        place: int,
        word: str,
        rule: Callable[[int], list[Reading]],
        join: type[And] | type[Or],
    ) -> Iterator[Reading]:
        """One part, or several with the word between them."""

        def follow(parts: tuple[Feature, ...], end: int) -> Iterator[tuple[Parts, int]]:
            for after in self.word(end, word):
                for part, last in rule(after):
                    yield (*parts, part), last

        first: list[tuple[Parts, int]] = [((part,), end) for part, end in rule(place)]
        for parts, end in self.walk(first, follow):
            yield (join(parts) if len(parts) > 1 else parts[0]), end

    @_remembered
    def factor(self, place: int) -> Iterator[Reading]:
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise OptionError(
                f"the feature has more than {MOST_NESTED} parentheses or words 'not' inside each "
                "other: write it more simply."
            )
        for after in self.word(place, "not"):
            for part, end in self.factor(after):
                yield Not(part), end
        for after in self.mark(place, "("):
            for part, end in self.feature(after):
                for last in self.mark(end, ")"):
                    yield part, last
        for name, end in self.name(place):
            yield from self.path(end, name)
            yield from self.membership(end, name)
        yield from self.fact(place)
        self.depth -= 1

    def path(self, place: int, start: int) -> Iterator[Reading]:
        """The rest of a path that begins with a name."""
        begun: Links = ((start,), ())
        for (nodes, links), end in self.walk(
            [(begun, place)], self.next_link, lambda path: path[0][-1]
        ):
            if links:
                yield _join_links(nodes, links), end

    def next_link(self, path: Links, place: int) -> Iterator[tuple[Links, int]]:
        nodes, links = path
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
                    yield ((*nodes, name), (*links, link)), end

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
                    for parents, end in self.members(equal):
                        if child in parents:
                            self.refuse(child, "cannot be its own parent")
                        else:
                            yield ParentSet(child, parents), end
        for after in self.word(place, "adjusts"):
            yield from self.adjustment(after)

    def adjustment(self, place: int) -> Iterator[Reading]:
        """A set, a cause and an effect in parentheses."""
        for opened in self.mark(place, "("):
            for members, closed in self.members(opened):
                for cause, after_cause in self.after_comma(closed):
                    for effect, after_effect in self.after_comma(after_cause):
                        for end in self.mark(after_effect, ")"):
                            if cause == effect:
                                self.refuse(cause, "is both the cause and the effect")
                            elif {cause, effect} & members:
                                inside = cause if cause in members else effect
                                self.refuse(inside, "cannot be adjusted for in its own effect")
                            else:
                                yield Adjusts(members, cause, effect), end

    def after_comma(self, place: int) -> Iterator[tuple[int, int]]:
        """A name after a comma."""
        for after in self.mark(place, ","):
            yield from self.name(after)

    def argument(self, place: int) -> Iterator[tuple[int, int]]:
        """A name in parentheses."""
        for opened in self.mark(place, "("):
            for node, end in self.name(opened):
                for closed in self.mark(end, ")"):
                    yield node, closed

    def members(self, place: int) -> Iterator[tuple[frozenset[int], int]]:
        """Names in braces, with commas between them."""
        for opened in self.mark(place, "{"):
            for closed in self.mark(opened, "}"):
                yield frozenset(), closed
            first = [(frozenset({node}), end) for node, end in self.name(opened)]
            for found, end in self.walk(first, self.next_member):
                for closed in self.mark(end, "}"):
                    yield found, closed

    def next_member(self, found: frozenset[int], end: int) -> Iterator[tuple[frozenset[int], int]]:
        for node, last in self.after_comma(end):
            yield found | {node}, last

    # Readings that multiply

    def walk(
        self,
        first: Iterable[tuple[State, int]],
        follow: Callable[[State, int], Iterable[tuple[State, int]]],
        last: Callable[[State], Hashable] = lambda state: None,
    ) -> Iterator[tuple[State, int]]:
        """All states that a repetition reaches, by their places in the text.

        Of those with the same place and the same ``last``, on which alone depends what may
        follow, two are kept. Every step goes further in the text: places come in ascending order.
        """
        kept: dict[int, dict[Hashable, list[State]]] = {}
        places: list[int] = []

        def reach(found: Iterable[tuple[State, int]]) -> None:
            for state, place in found:
                if place not in kept:
                    kept[place] = {}
                    heappush(places, place)
                self.count_state()
                alike = kept[place].setdefault(last(state), [])
                if len(alike) < MOST_READINGS and state not in alike:
                    alike.append(state)

        reach(first)
        while places:
            place = heappop(places)
            for alike in kept[place].values():
                for state in alike:
                    yield state, place
                    reach(follow(state, place))

    def count_state(self) -> None:
        """Give up on names that make every word a choice."""
        self.states += 1
        if self.states > MOST_STATES:
            self.ask_for_quotes("far too many")

    def ask_for_quotes(self, how_many: str) -> NoReturn:
        raise OptionError(
            f"the feature {self.text!r} can be read in {how_many} ways because of how the "
            "variables are called: put their names in double quotes."
        )

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

    def name(self, place: int) -> list[tuple[int, int]]:
        """Every variable whose name, quoted or as it is, stands at the place, and where it ends."""
        start = self.skip(place)
        if start not in self.names_at:
            self.names_at[start] = list(dict.fromkeys(self.find_names(start)))
            self.miss(start, _A_NAME)
        return self.names_at[start]

    def find_names(self, start: int) -> Iterator[tuple[int, int]]:
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
        """Remember a reading that is well formed but makes no sense."""
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
