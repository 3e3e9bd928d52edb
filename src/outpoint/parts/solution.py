"""The exact posterior of a problem that falls into parts: solve each, and put answers together.

The best DAG is found in the same way, with maxima over the parents before a part in place of sums.
"""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Executor
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from outpoint.arrays import Booleans, Floats, Integers
from outpoint.exact import find_optima, log_sum_of_dags
from outpoint.exact.engine import QUICKLY_DRAWN
from outpoint.parts.ancestors import find_ancestors
from outpoint.parts.families import NodeFamilies, score_node
from outpoint.parts.folding import FoldedScorer, unfold
from outpoint.parts.likely_sets import LikelySet, Members, list_sets
from outpoint.parts.part import Part, everyone_else, make_table
from outpoint.parts.split import Split
from outpoint.progress import FractionCallback, tell_fractions
from outpoint.scores import FamilyScorer, StructurePrior
from outpoint.tables.table import tie_tolerance

FEW_CELLS = 2500
"""Most entries of a matrix of which ten thousand are easily held."""


class PartsSolution:
    """Everything that is known about a posterior that was computed part by part.

    ``parts`` may be some of a problem of which others are sampled. Then ``edges``, parent sets and
    :meth:`draw_parents` are there for the nodes of the parts, and the rest has no meaning.

    ``drawn_ancestors`` says which of the ``ancestors`` are averages over draws, because paths
    through several large parts are too many to be summed.
    """

    def __init__(self, names: tuple[str, ...], possible: Booleans, parts: Sequence[Part]) -> None:
        self.names = names
        self.possible = possible
        self.parts = tuple(parts)
        self._families = {one.child: one for part in parts for one in part.families}
        self._place = {one.child: (p, i) for p in parts for i, one in enumerate(p.families)}
        self.n_stored = None
        self.log_evidence = float(sum(part.log_evidence for part in parts))
        self.edges, deviation = self._sum_edges()
        solved = [part.solution.discrepancy for part in parts if part.solution is not None]
        self.discrepancy = max([deviation, *solved])

    @property
    def part_sizes(self) -> tuple[int, ...]:
        """Number of variables of each part."""
        return tuple(len(part.nodes) for part in self.parts)

    @property
    def children(self) -> list[int]:
        """The nodes of the parts."""
        return sorted(self._families)

    @property
    def candidates(self) -> NDArray[np.int32]:
        """All other nodes, for each node."""
        return everyone_else(len(self.names))

    @property
    def is_quickly_drawn(self) -> bool:
        """Whether ten thousand draws are made at once and take little room."""
        return max(self.part_sizes) <= QUICKLY_DRAWN and len(self.names) ** 2 <= FEW_CELLS

    @cached_property
    def _best(self) -> tuple[Booleans, float]:
        n = len(self.names)
        adjacency, total = np.zeros((n, n), dtype=np.bool_), 0.0
        for part in self.parts:
            total += best_of_part(part.families, adjacency)
        return adjacency, total

    @property
    def best_adjacency(self) -> Booleans:
        """A best DAG."""
        return self._best[0]

    @property
    def best_log_score(self) -> float:
        """The log score of the best DAGs."""
        return self._best[1]

    def log_parent_set(self, child: int, parents: Collection[int]) -> float:
        """Log probability that these are the parents of a node."""
        number = self._families[child].number_of(parents)
        return -np.inf if number is None else float(self._log_sets(child)[number])

    def likely_arrays(self, child: int, at_least: float) -> tuple[Members, Floats]:
        """Parent sets of at least this probability, most probable first, with its log.

        Sets are rows of nodes that are padded with -1.
        """
        log_sets = self._log_sets(child)
        chosen = np.flatnonzero(log_sets >= np.log(at_least))
        ranked = chosen[np.argsort(-log_sets[chosen], kind="stable")]
        return self._families[child].members_of(ranked), log_sets[ranked]

    def likely_sets(self, child: int, at_least: float) -> list[LikelySet]:
        """What :meth:`likely_arrays` returns, as a list of tuples."""
        return list_sets(*self.likely_arrays(child, at_least))

    def draw(self, n_draws: int, seed: int) -> tuple[Booleans, Floats]:
        """Independent draws and their log scores; the same seed gives the same draws."""
        n = len(self.names)
        dags, log_scores = np.zeros((n_draws, n, n), dtype=np.bool_), np.zeros(n_draws)
        for own, numbers in self.draw_parents(n_draws, seed):
            own.fill_edges(numbers, dags[:, :, own.child])
            log_scores += own.scores[numbers]
        return dags, log_scores

    def draw_parents(self, n_draws: int, seed: int) -> Iterator[tuple[NodeFamilies, Integers]]:
        """The draws of :meth:`draw` by node: its families, and the number of one for each draw."""
        streams = np.random.SeedSequence(seed).spawn(len(self.parts))
        for part, stream in zip(self.parts, streams, strict=True):
            first, *others = (np.random.default_rng(s) for s in stream.spawn(1 + len(part.nodes)))
            inner = part.sample(n_draws, first)
            for i, (own, rng) in enumerate(zip(part.families, others, strict=True)):
                bits = 1 << np.arange(own.n_inner)
                masks = np.delete(inner[:, :, i], i, axis=1) @ bits
                uniform = rng.random(n_draws)
                yield own, own.sample(masks.astype(np.intp), part.folded[i], uniform)

    @cached_property
    def _paths(self) -> tuple[Floats, Booleans]:
        return find_ancestors(
            self.parts, self.possible, lambda n_draws, seed: self.draw(n_draws, seed)[0]
        )

    @property
    def ancestors(self) -> Floats:
        """[u, v]: the probability that u is an ancestor of v."""
        return self._paths[0]

    @property
    def drawn_ancestors(self) -> Booleans:
        """Which of the ``ancestors`` are averages over draws."""
        return self._paths[1]

    def _log_sets(self, child: int) -> Floats:
        part, place = self._place[child]
        return self._families[child].unfold(part.folded[place], part.log_inner[place])

    def _sum_edges(self) -> tuple[Floats, float]:
        """[u, v]: the probability of the edge; and by how much parent sets do not add up to 1."""
        n = len(self.names)
        edges, deviation = np.zeros((n, n)), 0.0
        for child in self._families:
            probabilities = np.exp(self._log_sets(child))
            deviation = max(deviation, abs(float(probabilities.sum()) - 1.0))
            self._families[child].add_by_parent(probabilities, edges[:, child])
        return np.clip(edges, 0.0, 1.0), deviation


def solve_parts(
    names: tuple[str, ...],
    scorer: FamilyScorer,
    prior: StructurePrior,
    split: Split,
    max_parents: int,
    pool: Executor | None = None,
    progress: FractionCallback | None = None,
) -> tuple[PartsSolution, float]:
    """The exact posterior, and the log of the prior weights of all DAGs, added up."""
    advance = tell_fractions(sum(3.0 ** len(nodes) for nodes in split.parts), progress)
    solved, log_prior_sum = [], 0.0
    for nodes in split.parts:
        families = tuple(
            score_node(int(v), nodes, split.possible[:, v], scorer, prior, max_parents, pool)
            for v in nodes
        )
        solved.append(Part.solve(nodes, families))
        priors = np.stack([one.fold(one.log_prior(prior)) for one in families])
        is_alone = len(nodes) == 1
        log_prior_sum += float(priors[0, 0]) if is_alone else log_sum_of_dags(make_table(priors))
        advance(3.0 ** len(nodes))
    return PartsSolution(names, split.possible, solved), log_prior_sum


def find_parts_optima(
    scorer: FamilyScorer,
    prior: StructurePrior,
    split: Split,
    max_parents: int,
    rng: np.random.Generator,
    n_tries: int,
    pool: Executor | None = None,
) -> tuple[list[Booleans], float]:
    """The best DAG, further ones that tie with it, and their log score, as ``find_optima`` does."""
    n = len(split.possible)
    found = [np.zeros((n, n), dtype=np.bool_) for _ in range(n_tries + 1)]
    total = 0.0
    for nodes in split.parts:
        families = [
            score_node(int(v), nodes, split.possible[:, v], scorer, prior, max_parents, pool)
            for v in nodes
        ]
        inner, log_score = _optima_within(families, rng, n_tries)
        total += log_score
        if log_score == -np.inf:
            continue
        for number, dag in enumerate(found):
            own = inner[0 if number == 0 else int(rng.integers(len(inner)))]
            _add_parents(families, own, dag, None if number == 0 else rng)
    unique = {dag.tobytes(): dag for dag in found}
    return list(unique.values()), total


def complete_best(
    folded: FoldedScorer, dags: Booleans, exact: Booleans
) -> tuple[list[Booleans], Floats]:
    """DAGs (DAG, parent, child) on the searched nodes, with the best parents before these.

    The edges into all other nodes are those of ``exact``. Also returns the log scores of the
    families of the searched nodes.
    """
    whole, log_scores = np.repeat(exact[None], len(dags), axis=0), np.zeros(len(dags))
    for child in range(folded.n_nodes):
        own = unfold(folded, child, dags, len(exact), np.random.default_rng(0))
        whole[:, :, own.node] = own.best
        log_scores += own.best_scores
    return list(whole), log_scores


def best_of_part(families: Sequence[NodeFamilies], adjacency: Booleans) -> float:
    """Add the edges of a best DAG into a part to ``adjacency``; returns their log score."""
    inner, log_score = _optima_within(families, np.random.default_rng(0), 0)
    _add_parents(families, inner[0], adjacency, None)
    return log_score


def _optima_within(
    families: Sequence[NodeFamilies], rng: np.random.Generator, n_tries: int
) -> tuple[list[Booleans], float]:
    """The edges within a part of best DAGs, and their log score."""
    dense = np.stack([one.fold_best() for one in families])
    if len(families) == 1:
        return [np.zeros((1, 1), dtype=np.bool_)], float(dense[0, 0])
    return find_optima(make_table(dense), rng, n_tries)


def _add_parents(
    families: Sequence[NodeFamilies],
    inner: Booleans,
    adjacency: Booleans,
    rng: np.random.Generator | None,
) -> None:
    """Add the best sets with these members in the part; with ``rng``, break ties at random."""
    for i, own in enumerate(families):
        mask = int(np.delete(inner[:, i], i) @ (1 << np.arange(own.n_inner)))
        numbers = np.flatnonzero(own.masks == mask)
        scores = own.scores[numbers]
        tied = numbers[scores >= scores.max() - tie_tolerance(float(scores.max()))]
        chosen = numbers[[scores.argmax()]] if rng is None else rng.choice(tied, 1)
        own.fill_edges(chosen, adjacency[None, :, own.child])
