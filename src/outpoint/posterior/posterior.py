"""Posterior: what :func:`outpoint.learn` returns, and the answers it gives."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from outpoint.arguments import (
    COUNT,
    EDGE_LIST,
    NODE,
    PATH,
    SHARE,
    TEXT,
    takes,
)
from outpoint.arrays import Booleans, Floats
from outpoint.errors import OptionError
from outpoint.graphs import Cpdag, Dag
from outpoint.graphs.validation import DAG, find_separated
from outpoint.kinds import Whole, choice
from outpoint.notebook import as_html
from outpoint.posterior.admissible import Admissible, IsScored
from outpoint.posterior.comparison import On, TruthComparison, compare_with_truth, roc_curve
from outpoint.posterior.consensus import build_consensus_cpdag, build_consensus_dag
from outpoint.posterior.draws import (
    Draws,
    WeightedGraphs,
    average_blankets,
    average_cpdags,
    name_draws,
    name_matrix,
    rank_pairs,
    tabulate_cpdags,
    tabulate_dags,
)
from outpoint.posterior.estimates import Estimate, estimate_mean, evaluate
from outpoint.posterior.export import CONTENTS
from outpoint.posterior.feature_parser import parse_feature
from outpoint.posterior.features import Adjacent, Edge, Feature, FeatureFunction, Not
from outpoint.posterior.info import RunInfo
from outpoint.posterior.model_answers import (
    DATASET,
    FEATURE,
    PAIR,
    THRESHOLD,
    WEIGHTS,
    ModelAnswers,
)

if TYPE_CHECKING:
    import os

    import pandas as pd
    import xarray as xr

    from outpoint.data import Dataset
    from outpoint.posterior.reweighting import By, WeightedPosterior

N_EDGES_IN_NOTEBOOK = 10


class Posterior(ModelAnswers):
    """The posterior over DAGs.

    Tables are indexed [parent, child] by column names. ``info`` gives the origin of the result;
    ``candidates[v]`` are the nodes among which the parents of v were chosen; ``is_complete`` is
    false if a run was interrupted. ``is_scored`` says which families have a finite score; it is
    None if that was not kept. ``log_prior_sum`` is the log of the prior weights of all DAGs that
    have a score, added up.
    """

    info: RunInfo
    names: tuple[str, ...]
    candidates: NDArray[np.int32]
    is_complete: bool = True
    is_scored: IsScored | None = None
    log_prior_sum: float | None = None

    @property
    def method(self) -> str:
        """How the posterior was computed."""
        return self.info.method

    @property
    def steps_per_chain(self) -> int | None:
        """Steps that were recorded of each chain; None where there are no chains."""
        return None

    @property
    def edge_probabilities(self) -> pd.DataFrame:
        """Posterior probability of every edge, [parent, child]."""
        return name_matrix(self._edges(), self.names, "parent", "child")

    @property
    def ancestor_probabilities(self) -> pd.DataFrame:
        """Posterior probability that the row variable is an ancestor of the column variable."""
        return name_matrix(self._ancestors(), self.names, "ancestor", "descendant")

    @property
    @abstractmethod
    def map_log_score(self) -> float:
        """Log score, prior included, of the most probable DAG."""

    @property
    def log_evidence(self) -> float | None:
        """Log of the sum of all DAGs' scores; the prior need not add up to 1. None unless exact."""
        return None

    @property
    def log_evidence_normalized(self) -> float | None:
        """The log evidence under a prior that adds up to 1, to compare priors; None if unknown."""
        evidence, total = self.log_evidence, self.log_prior_sum
        return None if evidence is None or total is None else evidence - total

    @property
    def map_probability(self) -> float | None:
        """Posterior probability of the most probable DAG; None unless exact."""
        return None

    @property
    def round_trips(self) -> list[int] | None:
        """Round trips of each chain's tempered replicas; None for methods without a ladder."""
        return None

    @property
    def on_candidates(self) -> dict[str, Any] | None:
        """Facts about candidate parents; None where all nodes are candidates of each other."""
        return None

    @property
    @abstractmethod
    def converged(self) -> bool:
        """Whether the run is exact, or its chains agree and that means something."""

    @property
    @abstractmethod
    def verdict(self) -> str:
        """How far the numbers can be trusted, in words."""

    @abstractmethod
    def parent_set_probabilities(
        self, child: str | int, *, at_least: float = 1e-6
    ) -> list[tuple[tuple[str, ...], float]]:
        """The parent sets of ``child`` with their probabilities, most probable first."""

    @abstractmethod
    def diagnostics(self) -> pd.DataFrame:
        """One row per edge, most probable first: probability, mcse, rhat, ess, ess_tail, status."""

    @abstractmethod
    def _edges(self) -> Floats:
        """Edge probabilities."""

    @abstractmethod
    def _ancestors(self) -> Floats:
        """Ancestor probabilities."""

    @abstractmethod
    def _draws(self) -> tuple[Booleans, Floats]:
        """Adjacency matrices (chain, draw, parent, child) and log scores (chain, draw)."""

    def _log_scores(self) -> Floats:
        """Log scores (chain, draw)."""
        return self._draws()[1]

    def dags(self) -> xr.DataArray:
        """Draws from the posterior: booleans (chain, draw, parent, child)."""
        return self._as_dags(self._draws()[0])

    @property
    def log_scores(self) -> xr.DataArray:
        """Log scores (chain, draw) of the graphs that :meth:`dags` returns."""
        return name_draws(self._log_scores(), "log_score")

    def iter_dags(self) -> Iterator[Dag]:
        """The draws of :meth:`dags`, one :class:`Dag` after the other."""
        yield from self._as_graphs(self._draws()[0])

    @takes(edges=EDGE_LIST)
    def edge_draws(self, edges: Iterable[tuple[str, str]]) -> Booleans:
        """Which draws have each of some edges (parent, child): booleans (edge, chain, draw)."""
        wanted = [(self._node(parent), self._node(child)) for parent, child in edges]
        parents, children = np.array(wanted, dtype=np.intp).reshape(-1, 2).T
        draws = self._graph_draws()
        out = np.empty((len(wanted), draws.log_scores.size), dtype=np.bool_)
        for part, dags in draws.blocks(np.arange(draws.log_scores.size)):
            out[:, part] = dags[:, parents, children].T
        return out.reshape(-1, *draws.log_scores.shape)

    @takes(feature=FEATURE)
    def probability(self, feature: Feature | FeatureFunction | str) -> float:
        """Posterior probability of a feature, or posterior mean of a function of the DAG.

        A feature is a text such as ``"a -> b"``, ``"a -- b"``, ``"a -> ... -> b"``,
        ``"a -> c <- b"``, ``"a in mb(b)"``, ``"root(a)"``, ``"leaf(a)"``, ``"isolated(a)"``,
        ``"parents(a) = {b, c}"`` or ``"adjusts({c}, a, b)"``, combined by ``not``, ``and``, ``or``
        and parentheses; or a function of a :class:`Dag` that returns true or false, or a number,
        and is called once for each distinct DAG. The probability of an edge is the one in
        ``edge_probabilities``.
        """
        asked = self._parse(feature)
        known = self._known(asked)
        return self._average(asked, self._graphs()) if known is None else known

    @takes(feature=FEATURE)
    def estimate(self, feature: Feature | FeatureFunction | str) -> Estimate:
        """The probability of a feature with its error, effective sample size and number of draws.

        With chains, edges and adjacencies have the Monte Carlo standard error of what the steps
        have recorded, and all other features that of the draws. Near 0 and 1 the error allows for
        what may be too rare to have been seen, see :class:`~outpoint.posterior.Estimate`.
        """
        asked = self._parse(feature)
        return self._estimate_recorded(asked) or self._estimate(asked, self._graphs())

    @property
    def cpdag_probabilities(self) -> pd.DataFrame:
        """Probability that the CPDAG has the directed (compelled) edge, [parent, child].

        Both directions and ``undirected_probabilities`` add up to the probability that the two
        variables are adjacent. Here and in all that is about classes of DAGs, interventions count:
        what they decide is directed.
        """
        return name_matrix(self._cpdags[0], self.names, "parent", "child")

    @property
    def undirected_probabilities(self) -> pd.DataFrame:
        """Probability that the CPDAG has an undirected (reversible) edge; symmetric."""
        return name_matrix(self._cpdags[1], self.names, "parent", "child")

    @property
    def blanket_probabilities(self) -> pd.DataFrame:
        """Probability that a variable is in the Markov blanket of another; symmetric."""
        return name_matrix(average_blankets(self._graphs()), self.names, "variable", "blanket")

    @takes(n=COUNT)
    def top_dags(self, n: int = 10) -> pd.DataFrame:
        """The most probable DAGs: graph, probability, cumulative, log_score.

        Probabilities are frequencies among the draws.
        """
        return tabulate_dags(self._graphs(), self.names, n)

    @takes(n=COUNT)
    def top_cpdags(self, n: int = 10) -> pd.DataFrame:
        """The most probable equivalence classes: graph, probability, cumulative, log_score.

        Probabilities are frequencies among the draws; the log score is that of the best member
        drawn.
        """
        return tabulate_cpdags(self._graphs(), self.names, n, self._separated)

    @takes(threshold=THRESHOLD)
    def consensus_dag(self, threshold: float = 0.5) -> Dag:
        """The DAG of all edges with at least this probability, most probable first.

        Edges that would close a cycle with more probable ones are left out with a
        :class:`ConsensusWarning`.
        """
        return build_consensus_dag(self._edges(), self.names, threshold)

    @property
    def median_probability_dag(self) -> Dag:
        """The DAG of all edges with probability 0.5 or more."""
        return self.consensus_dag(0.5)

    @takes(threshold=THRESHOLD)
    def consensus_cpdag(self, threshold: float = 0.5) -> Cpdag:
        """Pairs adjacent with at least this probability, directed where that is as probable.

        The result is a partially directed graph that need not be the CPDAG of any DAG.
        """
        return build_consensus_cpdag(*self._cpdags, self.names, threshold)

    @takes(cause=NODE, effect=NODE, n=COUNT)
    def adjustment_sets(self, cause: str | int, effect: str | int, n: int = 10) -> pd.DataFrame:
        """The sets that most probably adjust for confounding of an effect, most probable first.

        Columns: ``adjustment_set``; its ``size``; the ``probability`` that it is valid, which is
        that of the feature ``"adjusts({...}, cause, effect)"``; ``optimal``, the probability that
        it is the valid set with which effects are estimated best. The sets considered are the empty
        set and, for all DAGs drawn, the parents of the cause, the optimal set and what is left of
        both when nothing more can be left out. In DAGs with the edge effect -> cause no set is
        valid.
        """
        from outpoint.posterior.designs import rank_adjustment_sets

        nodes = self._node(cause), self._node(effect)
        return rank_adjustment_sets(self._graphs(), self.names, *nodes, n)

    @takes(target=FEATURE, effect=PAIR)
    def next_experiment(
        self,
        target: Feature | FeatureFunction | str | None = None,
        *,
        effect: tuple[str, str] | None = None,
    ) -> pd.DataFrame:
        """For every variable, how much an ideal experiment that sets it is expected to show.

        Observations, however many, cannot tell DAGs of one equivalence class apart; setting a
        variable shows the directions of its edges. ``before`` is the uncertainty that no
        observation removes, ``after`` what is expected to be left of it after the experiment, both
        in bits: the entropy of the DAG given its class or, with a ``target``, that of a feature as
        :meth:`probability` takes it. ``removed`` is the share of it that goes; the table begins
        with the most useful experiment. Entropies are those of the DAGs drawn. With an ``effect``
        (cause, effect) uncertainty is the standard deviation of the mean of :meth:`effect` given
        the DAG, and ``removed`` the share of its square.
        """
        from outpoint.posterior.designs import rank_experiments

        if effect is not None:
            if target is not None:
                raise OptionError("an experiment is for a target or for an effect: name one.")
            found = self.effect(*effect)
            return rank_experiments(
                found.graphs, self.names, self._separated, values=found.given_dag
            )
        graphs = self._graphs()
        labels = None
        if target is not None:
            values = evaluate(self._parse(target), graphs, self.names)
            labels = np.unique(values, return_inverse=True)[1]
        return rank_experiments(graphs, self.names, self._separated, labels=labels)

    @takes(by=WEIGHTS)
    def reweighted(self, by: By) -> WeightedPosterior:
        """Another posterior from the same draws, by importance weights.

        ``by`` is a function Dag -> log weight, such as the log of a prior that does not factorise
        over the nodes; ``"linear_extensions"``, which removes the bias of order MCMC; or
        ``"equivalence_classes"``, which divides by the number of DAGs in the class that background
        knowledge and the score admit, so that under the uniform prior all classes are alike. Its
        ``effective_sample_size`` says what the draws are worth after weighting; if that is too
        little, a :class:`WeightWarning` and its verdict say so.
        """
        from outpoint.posterior.reweighting import reweight

        return reweight(self, self._graphs(), by)

    @takes(truth=DAG, threshold=THRESHOLD)
    def compare(self, truth: Dag, threshold: float = 0.5) -> TruthComparison:
        """How well the posterior recovers the true DAG: distances, rates and areas under curves."""
        return compare_with_truth(self, truth, threshold)

    @takes(truth=DAG, on=choice("directed", "skeleton"))
    def roc_curve(self, truth: Dag, on: On = "directed") -> pd.DataFrame:
        """False and true positive rate and precision at every threshold, for edges or skeleton."""
        return roc_curve(self, truth, on)

    def _parse(self, feature: Feature | FeatureFunction | str) -> Feature | FeatureFunction:
        if isinstance(feature, str):
            return parse_feature(feature, self.names)
        return feature

    def _known(self, feature: Feature | FeatureFunction) -> float | None:
        """The probability of a feature that need not be averaged over draws."""
        if isinstance(feature, Edge):
            return float(self._edges()[feature.parent, feature.child])
        if isinstance(feature, Adjacent):
            edges = self._edges()
            return min(float(edges[feature.a, feature.b] + edges[feature.b, feature.a]), 1.0)
        if isinstance(feature, Not):
            opposite = self._known(feature.part)
            return None if opposite is None else 1 - opposite
        return None

    def _estimate_recorded(self, feature: Feature | FeatureFunction) -> Estimate | None:
        """An estimate that does not come from draws: that of an edge that is known beforehand."""
        if isinstance(feature, Edge) and self.admissible.settled[feature.parent, feature.child]:
            return Estimate.exact(float(self._edges()[feature.parent, feature.child]))
        return None

    @cached_property
    def admissible(self) -> Admissible:
        """Which families there can be."""
        return Admissible(self.info, self.names, self.is_scored)

    def _average(self, feature: Feature | FeatureFunction, graphs: WeightedGraphs) -> float:
        return graphs.mean(evaluate(feature, graphs, self.names))

    def _estimate(self, feature: Feature | FeatureFunction, graphs: WeightedGraphs) -> Estimate:
        return estimate_mean(evaluate(feature, graphs, self.names), graphs)

    def _graphs(self) -> WeightedGraphs:
        """The distinct DAGs among the draws, with their weights."""
        return self._drawn_graphs

    @cached_property
    def _drawn_graphs(self) -> WeightedGraphs:
        return WeightedGraphs.from_draws(self._graph_draws())

    def _graph_draws(self) -> Draws:
        """The draws, to be read in blocks."""
        return Draws.from_arrays(*self._draws())

    @cached_property
    def _cpdags(self) -> tuple[Floats, Floats]:
        """Probabilities of compelled and of undirected edges."""
        return average_cpdags(self._graphs(), self._separated)

    @cached_property
    def _separated(self) -> Booleans:
        """Which pairs the interventions tell apart."""
        return find_separated(self.names, self.info.targets)

    @takes(path=PATH, command=TEXT, data=DATASET)
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        command: str | None = None,
        data: Dataset | None = None,
    ) -> Path:
        """Write an interactive report, one HTML file that needs nothing else; returns its path.

        ``command`` is shown as the way to repeat the run, ``data`` adds a summary of the columns.
        """
        from outpoint.report import write_report

        return write_report(self, path, command=command, data=data)

    def _repr_html_(self) -> str:
        """In a notebook: the verdict and the strongest edges."""
        edges = self._edges()
        parents, children = (nodes[:N_EDGES_IN_NOTEBOOK] for nodes in rank_pairs(edges))
        rows = [
            (self.names[u], self.names[v], f"{edges[u, v]:.3f}", f"{edges[v, u]:.3f}")
            for u, v in zip(parents, children, strict=True)
        ]
        headings = ("parent", "child", "P(edge)", "P(reversed)")
        return as_html(repr(self), headings, rows, self.verdict)

    def _as_graphs(self, adjacencies: Booleans) -> Iterator[Dag]:
        for adjacency in adjacencies.reshape(-1, len(self.names), len(self.names)):
            yield Dag.from_adjacency(adjacency, self.names)

    def _as_dags(self, adjacencies: Booleans) -> xr.DataArray:
        import xarray as xr

        names = list(self.names)
        return xr.DataArray(
            adjacencies.copy(),
            dims=("chain", "draw", "parent", "child"),
            coords={"chain": np.arange(len(adjacencies)), "parent": names, "child": names},
            name="dag",
        )

    def _edge_rows(
        self,
        *,
        mcse: Floats,
        status: NDArray[Any],
        rhat: Floats | None = None,
        ess: Floats | None = None,
        ess_tail: Floats | None = None,
    ) -> pd.DataFrame:
        """The table of :meth:`diagnostics` from matrices [parent, child]."""
        import pandas as pd

        n = len(self.names)
        undefined = np.full((n, n), np.nan)
        edges = self._edges()
        parents, children = rank_pairs(edges)
        columns = {
            "mcse": mcse,
            "rhat": undefined if rhat is None else rhat,
            "ess": undefined if ess is None else ess,
            "ess_tail": undefined if ess_tail is None else ess_tail,
            "status": status,
        }
        return pd.DataFrame(
            {
                "parent": [self.names[u] for u in parents],
                "child": [self.names[v] for v in children],
                "probability": edges[parents, children],
            }
            | {name: values[parents, children] for name, values in columns.items()}
        )

    def _node(self, node: str | int) -> int:
        if node in self.names:
            return self.names.index(str(node))
        if isinstance(node, int) and 0 <= node < len(self.names):
            return node
        raise OptionError(f"{node!r} is not one of the variables.")

    def to_arviz(self) -> xr.DataTree:
        """The draws as ArviZ takes them: groups ``posterior`` and ``sample_stats``."""
        from outpoint.posterior.export import make_tree

        return make_tree(self)

    @takes(path=PATH, what=choice(*CONTENTS), threshold=SHARE)
    def export(
        self, path: str | Path, what: str = "map", *, threshold: float | None = None
    ) -> None:
        """Write a graph or a table for other programs; the suffix of the file decides the format.

        ``what`` is ``"map"``, ``"median"`` or ``"consensus"`` (edges of at least ``threshold``, 0.5
        by default): one DAG, to ``.dot``, ``.graphml``, ``.csv`` (matrix of 0 and 1), ``.bn``
        (bnlearn) or ``.dagitty``, in the first two with the probabilities of its edges. Or
        ``"probabilities"``: all edges of at least ``threshold`` (0 by default) with their
        probabilities, to ``.dot``, ``.graphml`` or ``.csv`` (matrix). Or ``"edges"``: the table of
        :meth:`diagnostics`, to ``.csv``.
        """
        from outpoint.posterior.export import export

        export(self, path, what, threshold)

    @takes(path=PATH, chain=Whole())
    def write_trajectory(self, path: str | Path, chain: int = 0) -> None:
        """Write the draws of one chain as a Benchpress trajectory (CSV, changes only)."""
        from outpoint.posterior.export import write_trajectory

        write_trajectory(self, path, chain)

    @takes(path=PATH)
    def save(self, path: str | Path) -> None:
        """Write the posterior to a file, a NumPy archive that :func:`outpoint.load` reads."""
        from outpoint.posterior.files import save

        save(self, Path(path))


def plain_log_scores(posterior: Posterior) -> Floats:
    """Log scores (chain, draw) as a plain array, without names from a library slow to import."""
    return posterior._log_scores()
