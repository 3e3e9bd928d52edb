"""``learn`` over few candidates, from end to end: what it samples does not depend on them."""

from functools import lru_cache
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest

import outpoint as op
from outpoint.mcmc import Settings, make_chain
from outpoint.mcmc.ladder import FIRST_REPLICAS
from outpoint.mcmc.samplers.partition import partition_of
from outpoint.model import prepare
from outpoint.narrowing import narrow
from outpoint.options import Options
from outpoint.posterior import SampledPosterior
from outpoint.tables.build import check_max_parents
from outpoint.tables.view import view_table
from tests.grids import first
from tests.quick_choice import choose_quickly

N_CHAINS = 32
SIZES = {6: 2, 7: 3}
"""Candidates for each number of variables."""


@lru_cache
def make_data(n: int) -> op.Dataset:
    rng = np.random.default_rng(n)
    dag = op.random_dag(n, rng, names=list("abcdefg"[:n]))
    return op.simulate(dag, 60, rng, coefficients=(0.3, 0.9))


@lru_cache
def exact_edges(n: int) -> np.ndarray:
    return op.learn(make_data(n), method="exact").edge_probabilities.to_numpy()


def any_candidates(n: int, n_candidates: int, seed: int) -> dict[str, list[str]]:
    rng = np.random.default_rng(seed)
    names = make_data(n).names
    return {
        child: rng.choice([u for u in names if u != child], n_candidates, replace=False).tolist()
        for child in names
    }


def sample(n: int, **options: Any) -> SampledPosterior:
    chosen = {"method": "mcmc", "chains": 2, "steps": 200, "draws": 20, "seed": 1} | options
    posterior = op.learn(make_data(n), **chosen)
    assert isinstance(posterior, SampledPosterior)
    return posterior


def check_edges(posterior: SampledPosterior, exact: np.ndarray) -> None:
    """The mean over chains is exact, within 5 of its standard errors and what was left out.

    With 32 chains an error of 5 happens by chance with probability 2e-5 for each of up to 42 edges;
    parent sets that were left out have at most ``lost_mass`` of the posterior.
    """
    assert posterior.lost_mass <= 1e-3
    for values in (posterior.chain_edges, posterior.dags().to_numpy().mean(axis=1)):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        room = 5 * error + posterior.lost_mass + 2e-4
        assert (np.abs(values.mean(axis=0) - exact) <= room).all()
        assert error.max() < 0.02, "a difference would be seen"


@pytest.fixture
def quick_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_quickly(monkeypatch)


# Against the exact posterior


@pytest.mark.parametrize(("n", "beginning"), first(product(SIZES, ["at random", "by gains"])))
def test_edges(n: int, beginning: str) -> None:
    options: dict[str, Any] = {"n_candidates": SIZES[n]}
    if beginning == "at random":
        options = {"candidates": any_candidates(n, SIZES[n], seed=9)}
    posterior = sample(n, chains=N_CHAINS, steps=12_000, draws=200, seed=12, **options)
    assert posterior.candidates.shape == (n, SIZES[n])
    assert posterior.outside_shares.max() > 0.1, "there was something outside"
    check_edges(posterior, exact_edges(n))
    # Inside alone, the posterior is another one.
    is_candidate = np.zeros((n, n), dtype=bool)
    for child, own in enumerate(posterior.candidates):
        is_candidate[own, child] = True
    assert exact_edges(n)[~is_candidate].max() > 0.05


@pytest.mark.long
def test_candidates_that_stay_poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pilot may put them right: what is sampled is the same, though less quickly."""
    monkeypatch.setattr("outpoint.narrowing.MOST_ROUNDS", 1)
    exact = exact_edges(6)
    worst = {
        child: [make_data(6).names[u] for u in np.argsort(exact[:, v]) if u != v][:2]
        for v, child in enumerate(make_data(6).names)
    }
    posterior = sample(6, chains=N_CHAINS, steps=24_000, draws=400, seed=12, candidates=worst)
    found = [[posterior.names[u] for u in own] for own in posterior.candidates]
    assert found == [sorted(own) for own in worst.values()]
    assert posterior.outside_shares.max() > 0.5
    assert "The candidates were poor for " in posterior.verdict
    check_edges(posterior, exact)


def test_all_candidates_are_the_usual_run() -> None:
    usual = sample(6)
    for options in (
        {"n_candidates": 5},
        {"n_candidates": 9},
        {"candidates": any_candidates(6, 5, 1)},
    ):
        same = sample(6, **options)
        assert np.array_equal(usual.dags(), same.dags())
        assert usual.verdict == same.verdict
        assert same.outside_shares is None


def test_pilots_replace_poor_candidates() -> None:
    """Beginning at random, candidates end where most of the posterior is."""
    begun = any_candidates(7, 3, seed=9)
    posterior = sample(7, candidates=begun)
    names = posterior.names
    found = {names[v]: [names[u] for u in own] for v, own in enumerate(posterior.candidates)}
    assert found != {child: sorted(own) for child, own in begun.items()}
    exact = exact_edges(7)

    def covered(lists: dict[str, list[str]]) -> float:
        return sum(exact[names.index(u), names.index(v)] for v in lists for u in lists[v])

    assert covered(found) > covered(begun)


@pytest.mark.parametrize("n_candidates", [2, 5])
def test_replicas_begin_at_dags_of_their_own(n_candidates: int) -> None:
    """Each chain at other searched DAGs, the best first, if not all sets are inside."""
    model = prepare(
        op.load_dataset(make_data(6)), Options(structure_prior="uniform", max_parents=5)
    )
    found, _ = narrow(model.problem, n_candidates, None, seed=1)
    if n_candidates == 5:
        assert found.starts is None
        return
    assert found.starts is not None
    assert np.array_equal(found.starts[0], found.table.codes_of(found.best))
    view = view_table(found.table)
    settings = Settings(
        method="mcmc",
        start=found.starts[0],
        starts=found.starts,
        max_parents=5,
        hottest=found.hottest,
        n_chains=3,
    )
    for chain in range(3):
        begun = make_chain(view, settings, chain)
        first = (chain * FIRST_REPLICAS) % len(found.starts)
        assert np.array_equal(begun.start, found.starts[first])
        states = begun.snapshot()
        for replica in range(FIRST_REPLICAS):
            codes = found.starts[(first + replica) % len(found.starts)]
            expected = partition_of(view, codes)
            assert np.array_equal(states["replicas.states.layer"][replica], expected.layer)
            assert np.array_equal(states["replicas.states.held"][replica], expected.held)


# Input


@pytest.mark.usefixtures("quick_choice")
def test_names_in_any_order_and_container() -> None:
    lists = any_candidates(6, 2, seed=3)
    first = sample(6, candidates=lists)
    backwards = {child: tuple(lists[child][::-1]) for child in reversed(lists)}
    repeated = {child: [*own, own[0]] for child, own in lists.items()}
    for same in (backwards, repeated):
        assert np.array_equal(first.dags(), sample(6, candidates=same).dags())


def changed(**lists: Any) -> dict[str, Any]:
    return any_candidates(6, 2, seed=3) | lists


WRONG: dict[str, tuple[Any, str]] = {
    "number": (3, "gives for every variable a list of other variables"),
    "list": ([["b"], ["a"]], "gives for every variable a list"),
    "nothing": ({}, "must give for every variable a list"),
    "missing": ({child: ["a"] for child in "bcdef"}, "must give for every variable a list"),
    "unknown": (changed(a=["b", "z"]), "must give for every variable a list"),
    "numbers": (changed(a=[1, 2]), "must give for every variable a list"),
    "no list": (changed(a=None), "gives for every variable a list"),
    "lists of lists": (changed(a=[["b"], ["c"]]), "must give for every variable a list"),
    "itself": (changed(a=["a", "b"]), "cannot be a candidate parent of itself"),
    "more": (changed(a=["b", "c", "d"]), "must give the same number of variables for all"),
    "fewer": (changed(a=["b"]), "must give the same number of variables for all"),
    "repeated": (changed(a=["b", "b"]), "must give the same number of variables for all"),
    "empty": ({child: [] for child in "abcdef"}, "must give the same number of variables for all"),
}


@pytest.mark.parametrize(("given", "fragment"), WRONG.values(), ids=WRONG)
def test_wrong_candidates(given: Any, fragment: str) -> None:
    with pytest.raises(op.OptionError) as caught:
        sample(6, candidates=given)
    sentence = str(caught.value)
    assert fragment in sentence
    assert sentence.endswith(".")
    assert "\n" not in sentence


@pytest.mark.parametrize("n_candidates", [-1, 0])
def test_wrong_numbers(n_candidates: int) -> None:
    with pytest.raises(op.OptionError, match="n_candidates"):
        sample(6, n_candidates=n_candidates)


@pytest.mark.usefixtures("quick_choice")
def test_required_parents_come_first() -> None:
    required = [("e", "a"), ("f", "a")]
    posterior = sample(6, n_candidates=2, required=required, steps=400)
    assert posterior.candidates[0].tolist() == [4, 5]
    assert all(set(required) <= set(dag.edges) for dag in posterior.iter_dags())
    with pytest.raises(op.OptionError, match="2 required parents, more than the 1 candidates"):
        sample(6, n_candidates=1, required=required)


@pytest.mark.usefixtures("quick_choice")
@pytest.mark.parametrize("steps", [1, 20, 100, 400])
def test_few_steps(steps: int) -> None:
    """Even before the first batch of outside edges is full, everything has an answer."""
    posterior = sample(6, n_candidates=2, steps=steps)
    assert "No edge is excluded" in posterior.verdict
    assert len(posterior.diagnostics()) == 30
    assert posterior.outside_shares.between(0, 1).all()
    assert posterior.edge_probabilities.to_numpy().max() <= 1 + 1e-12


# Seeds


@pytest.mark.usefixtures("quick_choice")
def test_seeds_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"n_candidates": 3, "chains": 3, "steps": 600}
    first = sample(7, **options)
    assert not np.array_equal(first.dags(), sample(7, **options, seed=2).dags())
    for threads in (1, 5):
        monkeypatch.setattr("outpoint.runs.teams.n_threads", lambda n=threads: n)
        monkeypatch.setattr("outpoint.kernels.n_threads", lambda n=threads: n)
        again = sample(7, **options)
        np.testing.assert_array_equal(first.candidates, again.candidates)
        np.testing.assert_array_equal(first.dags(), again.dags())
        np.testing.assert_array_equal(first.chain_edges, again.chain_edges)


# Default limits


@pytest.mark.usefixtures("quick_choice")
def test_fewer_candidates_than_parents_that_are_all_scored() -> None:
    """Sets of up to 3 are all scored, so that there are no larger ones of 2 candidates."""
    values = np.random.default_rng(2).normal(size=(60, 50))
    posterior = op.learn(values, score="bge", n_candidates=2, steps=40, chains=2, seed=1)
    assert posterior.candidates.shape == (50, 2)


@pytest.mark.usefixtures("quick_choice")
def test_a_required_edge_from_outside_given_candidates() -> None:
    """The first table of the lists has no inside set for b at all."""
    lists = {name: [u for u in "cdefg" if u != name][:2] for name in "abcdefg"}
    posterior = op.learn(
        make_data(7), method="mcmc", candidates=lists, required=[("a", "b")], steps=400, seed=1
    )
    assert posterior.edge_probabilities.loc["a", "b"] == pytest.approx(1.0)
    assert posterior.map_dag.adjacency[0, 1]


def test_the_default_limit_knows_the_score() -> None:
    """A hundred columns: 6 parents if they are Gaussian, 4 if they are counted."""
    values = np.random.default_rng(1).normal(size=(30, 100))
    options: dict[str, Any] = {"structure_prior": "uniform", "allow_degenerate": True}
    assert prepare(op.load_dataset(values), Options(score="bge", **options)).max_parents == 6
    levels = pd.DataFrame((values > 0).astype(str))
    assert prepare(op.load_dataset(levels), Options(score="bdeu", **options)).max_parents == 4


@pytest.mark.parametrize(("n", "limit"), [(20, 19), (40, 10), (50, 6), (100, 4), (200, 3)])
def test_default_limits(n: int, limit: int) -> None:
    """1.5 million sets of more than 3 with one outside 10 candidates: 100 * 89 * 120 of 4."""
    assert check_max_parents(n, None) == limit
    if n > 40:
        for size in (limit, limit + 1):
            n_larger = n * (n - 11) * sum(comb(10, k - 1) for k in range(4, size + 1))
            assert (n_larger <= 1_500_000) == (size == limit)
