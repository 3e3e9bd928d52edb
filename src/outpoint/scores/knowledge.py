"""What is known before the data: one value that every function takes, and that files can hold.

Everything here is by name and needs no data. Contradictions are found when the value is made, so a
file with one is refused wherever it is read; names are compared with those of the data when
:meth:`Knowledge.bind` is called.

Columns can be given: they are causes only, and nothing is asked about their own distribution. In a
table of slices these are the earlier values and the static columns. They have no parents, and their
score is 0, so that scores are those of the slices given what came before.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import PATH, takes
from outpoint.arrays import Booleans
from outpoint.data import Dataset
from outpoint.errors import GraphError, OptionError
from outpoint.files import understood
from outpoint.graphs import Dag
from outpoint.kinds import in_brief
from outpoint.scores.base import FamilyScorer, Nodes, Scores
from outpoint.scores.edge_prior import (
    ARROW,
    Edge,
    EdgePrior,
    GivenEdgePrior,
    in_words,
    list_items,
    make_edge_prior,
    parse_edge,
)
from outpoint.scores.knowledge_files import read_items, write_items


@dataclass(frozen=True, init=False, repr=False)
class Knowledge:
    """Background knowledge about the edges of a DAG.

    Values that say the same are equal, whatever the order in which it is said. Contradictions are
    refused.

    Parameters
    ----------
    required, forbidden
        Edges that every DAG, or no DAG, has: pairs (parent, child) or texts ``"a -> b"``.
    tiers
        Groups of variables from causes to effects; no edge points back to an earlier group.
        Variables in no group are free.
    roots
        Variables without parents.
    edge_prior
        A probability for every edge; or a table of them [parent, child]; or a dictionary with
        ``"edges"``, a list of (parent, child, probability), and ``"others"``, the probability of
        all other edges. In the last two 0 forbids and 1 requires an edge.
    """

    required: tuple[Edge, ...]
    forbidden: tuple[Edge, ...]
    tiers: tuple[tuple[str, ...], ...]
    roots: tuple[str, ...]
    edge_prior: EdgePrior | None

    def __init__(
        self,
        *,
        required: Iterable[Edge | str] = (),
        forbidden: Iterable[Edge | str] = (),
        tiers: Iterable[Iterable[str]] | None = None,
        roots: Iterable[str] = (),
        edge_prior: GivenEdgePrior | None = None,
    ) -> None:
        values = {
            "required": _checked_edges(required, "required"),
            "forbidden": _checked_edges(forbidden, "forbidden"),
            "tiers": _checked_tiers(() if tiers is None else tiers),
            "roots": _checked_names(
                list_items(roots, "roots must be a list of column names"), "roots"
            ),
            "edge_prior": make_edge_prior(edge_prior),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._refuse_contradictions()

    @classmethod
    def from_dict(cls, items: Mapping[str, Any]) -> "Knowledge":
        """The knowledge in a dictionary such as :meth:`as_dict` returns."""
        unknown = [repr(key) for key in items if key not in cls.__dataclass_fields__]
        if unknown:
            raise OptionError(
                f"knowledge has no {in_words(unknown)}: "
                f"it consists of {in_words(cls.__dataclass_fields__)}."
            )
        return cls(**items)

    @classmethod
    @takes(path=PATH)
    def read(cls, path: str | Path) -> "Knowledge":
        """Read a ``.toml`` or ``.csv`` file."""
        place = Path(path)
        with understood(place, OptionError):
            items = read_items(place)
            try:
                return cls.from_dict(items)
            except OptionError as error:
                raise OptionError(f"{place}: {error}") from None

    def as_dict(self) -> dict[str, Any]:
        """What is known as lists, text and numbers, which JSON can hold, without what is empty."""
        items = {
            "required": [list(edge) for edge in self.required],
            "forbidden": [list(edge) for edge in self.forbidden],
            "tiers": [list(tier) for tier in self.tiers],
            "roots": list(self.roots),
            "edge_prior": None if self.edge_prior is None else self.edge_prior.as_value(),
        }
        return {name: value for name, value in items.items() if value not in ([], None)}

    @takes(path=PATH)
    def write(self, path: str | Path) -> None:
        """Write a ``.toml`` or ``.csv`` file; what CSV cannot hold is refused."""
        write_items(self.as_dict(), Path(path))

    def bind(self, names: Sequence[str]) -> "Knowledge":
        """The knowledge for data with these columns; names of other columns are refused."""
        prior = None if self.edge_prior is None else self.edge_prior.bind(names)
        listed = {
            "a required edge": [name for edge in self.required for name in edge],
            "a forbidden edge": [name for edge in self.forbidden for name in edge],
            "a tier": [name for tier in self.tiers for name in tier],
            "the list of roots": self.roots,
            "the edge prior": []
            if prior is None
            else [x for edge in prior.edges for x in edge[:2]],
        }
        known = set(names)
        unknown = {
            what: sorted({repr(name) for name in given if name not in known})
            for what, given in listed.items()
        }
        clauses = [f"{what} names {in_words(bad)}" for what, bad in unknown.items() if bad]
        if clauses:
            is_one = len({name for bad in unknown.values() for name in bad}) == 1
            raise OptionError(
                f"{'; '.join(clauses)}, which "
                f"{'is not a column' if is_one else 'are not columns'} of the data."
            )
        return replace(self, edge_prior=prior)

    def __or__(self, other: "Knowledge") -> "Knowledge":
        """What either says; contradictions are refused."""
        if not isinstance(other, Knowledge):
            return NotImplemented
        tiers, backward = self.tiers or other.tiers, []
        if self.tiers and other.tiers and self.tiers != other.tiers:
            _refuse_opposite_tiers(self.tiers, other.tiers)
            backward = list(_backward_edges(other.tiers))
        priors = [k.edge_prior for k in (self, other) if k.edge_prior is not None]
        return Knowledge(
            required=[*self.required, *other.required],
            forbidden=[*self.forbidden, *other.forbidden, *backward],
            tiers=tiers,
            roots=[*self.roots, *other.roots],
            edge_prior=priors[0] | priors[1] if len(priors) == 2 else next(iter(priors), None),
        )

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return self != Knowledge()

    def __repr__(self) -> str:
        """The call that makes it."""
        items = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"Knowledge({items})"

    def required_edges(self) -> list[Edge]:
        """The edges that every DAG has, those of probability 1 included."""
        prior = self.edge_prior or EdgePrior()
        return [*self.required, *prior.edges_with(1.0)]

    def excluded_edges(self, names: Iterable[str]) -> list[Edge]:
        """The edges between these variables that no DAG has, whatever the reason."""
        prior = self.edge_prior or EdgePrior()
        into_roots = [(name, root) for root in self.roots for name in names if name != root]
        backward = _backward_edges(self.tiers)
        return [*self.forbidden, *backward, *into_roots, *prior.edges_with(0.0)]

    def _refuse_contradictions(self) -> None:
        """Name every required edge that something else excludes, or a cycle of them."""
        prior = self.edge_prior or EdgePrior()
        certain, impossible = prior.edges_with(1.0), set(prior.edges_with(0.0))
        forbidden, roots = set(self.forbidden), set(self.roots)
        level = {name: number for number, tier in enumerate(self.tiers) for name in tier}

        def is_backward(edge: Edge) -> bool:
            return all(name in level for name in edge) and level[edge[0]] > level[edge[1]]

        def excluded(edge: Edge) -> bool:
            return edge in forbidden or is_backward(edge) or edge[1] in roots

        required = self.required
        clashes = [
            ([e for e in required if e in forbidden], "{} both required and forbidden"),
            ([e for e in required if is_backward(e)], "{} required but against the tiers"),
            ([e for e in required if e[1] in roots], "{} required but into a root"),
            ([e for e in required if e in impossible], "{} required but given probability 0"),
            ([e for e in certain if excluded(e)], "{} given probability 1 but excluded"),
        ]
        clauses = [_edges_in_words(edges, why) for edges, why in clashes if edges]
        if clauses:
            raise OptionError(f"{'; '.join(clauses)}.")
        edges = self.required_edges()
        try:
            Dag.from_edges(sorted({name for edge in edges for name in edge}), edges)
        except GraphError as error:
            raise OptionError(f"the required edges contradict each other: {error}.") from None


def resolve_knowledge(knowledge: Knowledge | str | Path | None, **own: Any) -> Knowledge:
    """Knowledge as a value or in a file, together with what is given by separate options."""
    if isinstance(knowledge, str | Path):
        knowledge = Knowledge.read(knowledge)
    elif knowledge is None:
        knowledge = Knowledge()
    elif not isinstance(knowledge, Knowledge):
        raise OptionError(
            "knowledge must be an outpoint.Knowledge or the path of a file, not "
            f"{in_brief(knowledge)}."
        )
    return knowledge | Knowledge(**own)


def _checked_names(names: Iterable[Any], what: str) -> tuple[str, ...]:
    """Distinct names in order; names are text."""
    listed = list(names)
    wrong = [in_brief(name) for name in listed if not isinstance(name, str)]
    if wrong:
        raise OptionError(f"{what} names {in_words(wrong)}, but the names of columns are text.")
    return tuple(sorted({str(name) for name in listed}))


def _checked_edges(edges: Any, what: str) -> tuple[Edge, ...]:
    """Distinct edges in order, none from a node to itself."""
    listed = list_items(edges, f"{what} edges must be pairs (parent, child) in a list")
    pairs = [parse_edge(edge, what) for edge in listed]
    _checked_names([name for pair in pairs for name in pair], f"{what} edge")
    loops = [f"{parent!r} {ARROW} {child!r}" for parent, child in pairs if parent == child]
    if loops:
        joins = "joins a node to itself" if len(loops) == 1 else "join nodes to themselves"
        edge = "edge" if len(loops) == 1 else "edges"
        raise OptionError(f"{what} {edge} {in_words(loops)} {joins}.")
    return tuple(sorted({(str(parent), str(child)) for parent, child in pairs}))


def _checked_tiers(tiers: Any) -> tuple[tuple[str, ...], ...]:
    """The groups that have members; a variable in two of them is refused."""
    form = "tiers must be a list of lists of column names, causes first"
    groups = [_checked_names(list_items(t, form), "tiers") for t in list_items(tiers, form)]
    counts = Counter(name for group in groups for name in group)
    repeated = [repr(name) for name, count in counts.items() if count > 1]
    if repeated:
        verb = "is" if len(repeated) == 1 else "are"
        raise OptionError(f"{in_words(repeated)} {verb} in two tiers.")
    return tuple(group for group in groups if group)


def _backward_edges(tiers: Sequence[Sequence[str]]) -> Iterator[Edge]:
    """The edges from a later tier to an earlier one."""
    for level, tier in enumerate(tiers):
        for later in tiers[level + 1 :]:
            yield from ((parent, child) for parent in later for child in tier)


def _refuse_opposite_tiers(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> None:
    """Refuse two lists of tiers that order two variables in opposite ways."""
    backward = set(_backward_edges(first))
    opposite = [(v, u) for u, v in _backward_edges(second) if (v, u) in backward]
    if opposite:
        pairs = in_words(f"{u!r} and {v!r}" for u, v in sorted(map(sorted, opposite)))
        raise OptionError(f"two lists of tiers are given, with {pairs} in opposite orders.")


def _edges_in_words(edges: Sequence[Edge], why: str) -> str:
    """A clause about one edge or several; ``why`` has a place for the verb."""
    shown = in_words(f"{parent} {ARROW} {child}" for parent, child in edges)
    number, verb = ("edge", "is") if len(edges) == 1 else ("edges", "are")
    return f"the {number} {shown} {why.format(verb)}"


def score_given(data: Dataset, scorer: FamilyScorer) -> FamilyScorer:
    """The scorer for a table of slices; for any other table, ``scorer`` as it is."""
    if data.slices is None:
        return scorer
    return GivenScorer(scorer, np.isin(data.names, data.slices.given(data.names)))


def know_given(data: Dataset) -> Knowledge:
    """What is known of a table of slices: earlier values are roots; of any other, nothing."""
    if data.slices is None:
        return Knowledge()
    variables = data.slices.variables(data.names)
    forbidden = [] if data.slices.contemporaneous else _pairs(variables)
    return Knowledge(roots=data.slices.given(data.names), forbidden=forbidden)


def _pairs(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(one, other) for one in names for other in names if one != other]


class GivenScorer(FamilyScorer):
    """The scores of another, except for ``given`` nodes, which cannot have parents and score 0."""

    def __init__(self, scorer: FamilyScorer, given: Booleans) -> None:
        self.n_nodes = scorer.n_nodes
        self.gaussian = scorer.gaussian
        self.affordable = scorer.affordable
        self.sensible_parents = scorer.sensible_parents
        self.possible_edges = scorer.possible_edges
        self._scorer = scorer
        self.given = given

    def of(self, child: int) -> FamilyScorer:
        """The scorer that computes the families of this child."""
        return self._scorer.of(child)

    def families(self, child: int, parents: NDArray[np.integer]) -> Scores:
        """Scores of ``child`` with each row of ``parents``."""
        if self.given[child]:
            return np.zeros(len(parents))
        return self._scorer.families(child, parents)

    def fill_families(
        self, children: Nodes, max_parents: int, out: Scores, pool: Executor | None = None
    ) -> None:
        """Write the rows of ``children`` in the table of :meth:`every_family`."""
        self._scorer.fill_families(children[~self.given[children]], max_parents, out, pool)
        out[children[self.given[children]]] = 0.0
