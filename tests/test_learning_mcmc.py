"""``learn`` with every sampler, from end to end: held to the exact posterior on small problems.

Standard errors come from the spread of many independent chains. Order MCMC is held to its own,
biased law: the posterior times the number of linear extensions of the DAG.
"""

from functools import lru_cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import outpoint as op
from outpoint.mcmc import SAMPLERS
from outpoint.mcmc.moves import MOVES, PARTITION_MOVES
from outpoint.posterior import SampledPosterior
from outpoint.runs import Progress
from tests.grids import covering
from tests.quick_choice import choose_quickly
from tests.reference import ReferencePosterior, all_dags, enumerate_posterior

UNBIASED = tuple(method for method in SAMPLERS if method != "order")
N_CHAINS = 32


def make_data(kind: str, n: int, seed: int, n_obs: int = 40) -> op.Dataset:
    rng = np.random.default_rng(seed)
    dag = op.random_dag(n, rng, names=list("abcdef"[:n]))
    if kind == "categorical":
        return op.simulate(dag, n_obs, rng, kind="categorical", levels=2)
    return op.simulate(dag, n_obs, rng, coefficients=(0.3, 0.9))


GAUSSIAN = make_data("gaussian", 4, 1)
BINARY = make_data("categorical", 5, 2)
RANDOM_SCORES = 1.5 * np.random.default_rng(3).standard_normal((5, 32))
NOTHING = op.Dataset(tuple("abcd"), np.zeros((1, 4)))


def random_score(child: int, parents: tuple[int, ...]) -> float:
    return float(RANDOM_SCORES[child, sum(1 << u for u in parents)])


PROBLEMS: dict[str, dict[str, Any]] = {
    "bge": {"data": GAUSSIAN},
    "bdeu": {"data": BINARY, "structure_prior": "uniform"},
    "custom": {"data": NOTHING, "score": op.CustomScore(random_score), "max_parents": 2},
    "forbidden": {
        "data": NOTHING,
        "score": op.CustomScore(random_score),
        "forbidden": [("a", "b")],
    },
}


@lru_cache
def listed(name: str) -> ReferencePosterior:
    """The posterior by listing all DAGs, from the table of an exact run."""
    table = op.learn(**PROBLEMS[name], method="exact").solution.table
    return enumerate_posterior(table.n_nodes, table.log_score)


@lru_cache
def n_extensions(n: int) -> np.ndarray:
    """Number of linear extensions of every DAG."""
    places = [np.argsort(order) for order in permutations(range(n))]
    forward = [place[:, None] < place[None, :] for place in places]
    dags = all_dags(n)
    return sum((~(dags & ~earlier)).all(axis=(1, 2)).astype(float) for earlier in forward)


def law_of(name: str, method: str) -> np.ndarray:
    law = listed(name).probabilities
    if method == "order":
        law = law * n_extensions(len(listed(name).edges))
    return law / law.sum()


@lru_cache
def sampled(name: str, method: str) -> op.Posterior:
    steps = 4_000 if method == "mcmc" else 12_000
    return op.learn(
        **PROBLEMS[name], method=method, chains=N_CHAINS, steps=steps, draws=200, seed=12
    )


def check_mean(values: np.ndarray, exact: np.ndarray | float, n_draws: int | None = None) -> None:
    """The mean over chains (first axis) is exact, within 5 of its standard errors.

    With 32 chains that happens by chance with probability 2e-5; the small constant is for what
    is too rare to be seen. Frequencies among ``n_draws`` in all have at least the error of
    independent draws, which the spread misses where few or none have occurred.
    """
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    if n_draws is not None:
        error = np.maximum(error, np.sqrt(exact * (1 - exact) / n_draws))
    assert (np.abs(values.mean(axis=0) - exact) <= 5 * error + 2e-4).all()


# Against the exact posterior


@pytest.mark.parametrize(("name", "method"), covering(list(PROBLEMS), list(SAMPLERS)))
def test_edges(name: str, method: str) -> None:
    posterior = sampled(name, method)
    law = law_of(name, method)
    n = len(posterior.names)
    exact = np.tensordot(law, all_dags(n), axes=1)
    check_mean(posterior.chain_edges, exact)
    check_mean(posterior.dags().to_numpy().mean(axis=1), exact)
    np.testing.assert_allclose(posterior.edge_probabilities, posterior.chain_edges.mean(axis=0))
    assert posterior.log_evidence is None
    assert posterior.map_probability is None
    assert posterior.map_log_score == pytest.approx(listed(name).best_log_score, abs=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_bias_of_order_mcmc_would_be_seen(name: str) -> None:
    with pytest.raises(AssertionError):
        check_mean(sampled(name, "order").chain_edges, listed(name).edges)


@pytest.mark.parametrize(("name", "method"), covering(["bge", "bdeu"], UNBIASED))
def test_ancestors_parent_sets_and_features(name: str, method: str) -> None:
    posterior, exact = sampled(name, method), listed(name)
    n = len(posterior.names)
    reach = posterior.dags().to_numpy()
    for k in range(n):
        reach = reach | reach[..., :, k, None] & reach[..., k, None, :]
    np.testing.assert_allclose(posterior.ancestor_probabilities, reach.mean(axis=(0, 1)))
    check_mean(reach.mean(axis=1), exact.ancestors)
    draws = posterior.dags().to_numpy()
    for child in range(n):
        found = dict(posterior.parent_set_probabilities(posterior.names[child]))
        assert sum(found.values()) == pytest.approx(1)
        assert list(found.values()) == sorted(found.values(), reverse=True)
        for parents, probability in exact.parent_sets[child].items():
            member = np.isin(np.arange(n), parents)
            seen = (draws[..., child] == member).all(axis=-1).mean(axis=1)
            check_mean(seen, probability, draws.shape[0] * draws.shape[1])
            names = tuple(posterior.names[u] for u in parents)
            assert found.get(names, 0.0) == pytest.approx(seen.mean(), abs=1e-12)
    two = np.tensordot(exact.probabilities, all_dags(n).sum(axis=(1, 2)) == 2, axes=1)
    check_mean((draws.sum(axis=(2, 3)) == 2).mean(axis=1), two)
    own = posterior.probability(lambda dag: len(dag.edges) == 2)
    assert own == pytest.approx((draws.sum(axis=(2, 3)) == 2).mean(), abs=1e-12)


@pytest.mark.parametrize("method", SAMPLERS)
def test_three_nodes_with_one_unit_per_edge(method: str) -> None:
    posterior = op.learn(
        np.zeros((1, 3)),
        op.CustomScore(lambda child, parents: len(parents)),
        method,
        chains=64,
        steps=10_000,
        draws=500,
        seed=4,
    )
    n_edges = posterior.dags().to_numpy().sum(axis=(2, 3))
    seen = np.stack([(n_edges == k).mean(axis=1) for k in range(4)], axis=1)
    unbiased, biased = [0.0044, 0.0720, 0.3915, 0.5321], [0.0195, 0.1586, 0.4312, 0.3907]
    right, wrong = (biased, unbiased) if method == "order" else (unbiased, biased)
    check_mean(seen, np.array(right))
    with pytest.raises(AssertionError):
        check_mean(seen, np.array(wrong))


# Draws


@pytest.mark.parametrize("method", SAMPLERS)
def test_draws_and_their_scores(method: str) -> None:
    posterior = op.learn(
        GAUSSIAN, method=method, chains=3, steps=1000, draws=30, seed=1, edge_prior=0.3
    )
    dags = posterior.dags()
    assert dags.dims == ("chain", "draw", "parent", "child")
    assert dags.shape == (3, 30, 4, 4)
    assert dags.dtype == bool
    assert posterior.log_scores.shape == (3, 30)
    for dag, score in zip(
        posterior.iter_dags(), posterior.log_scores.to_numpy().ravel(), strict=True
    ):
        assert op.log_score(GAUSSIAN, dag, edge_prior=0.3) == pytest.approx(score, abs=1e-9)
    best = op.log_score(GAUSSIAN, posterior.map_dag, edge_prior=0.3)
    assert best == pytest.approx(posterior.map_log_score, abs=1e-9)
    assert posterior.map_log_score >= posterior.log_scores.max()


@pytest.mark.parametrize(("steps", "draws", "kept"), [(1, 5, 1), (7, 7, 7), (100, 33, 33)])
@pytest.mark.parametrize("method", SAMPLERS)
def test_few_steps(method: str, steps: int, draws: int, kept: int) -> None:
    posterior = op.learn(GAUSSIAN, method=method, chains=2, steps=steps, draws=draws, seed=1)
    assert posterior.dags().shape == (2, kept, 4, 4)
    assert len(posterior.records[0].edge_batches) >= 1
    assert posterior.edge_probabilities.to_numpy().max() <= 1
    with_draws = op.learn(
        GAUSSIAN, method=method, chains=1, steps=steps, draws=draws, warmup=3, seed=1
    )
    assert with_draws.dags().shape == (1, kept, 4, 4)


@pytest.mark.parametrize("method", SAMPLERS)
def test_acceptance(method: str) -> None:
    posterior = op.learn(GAUSSIAN, method=method, chains=2, steps=2000, seed=1)
    frame = posterior.acceptance()
    assert list(frame.columns) == ["chain", "move", "attempts", "accepted"]
    assert set(frame["chain"]) == {0, 1}
    assert (frame["accepted"] <= frame["attempts"]).all()
    paper = {"still", "split_join", "node_move", "swap_any", "swap_adjacent"}
    expected = {
        "mcmc": {"node_gibbs", "rev", "families"},
        "partition": paper,
        "partition+rev": paper | {"rev"},
        "order": {"still", "swap_any", "swap_adjacent"},
        "structure": {"edge"},
        "structure+rev": {"edge", "rev"},
    }
    assert set(frame["move"]) == expected[method] <= set(MOVES)
    if method != "mcmc":
        assert (frame.groupby("chain")["attempts"].sum() == 2000).all()


# Background knowledge


@pytest.mark.parametrize(("method", "start"), covering(list(SAMPLERS), [None, "order", "dag"]))
def test_background_knowledge_holds_in_every_draw(method: str, start: Any) -> None:
    rules: dict[str, Any] = {
        "forbidden": [("a", "b")],
        "required": [("a", "d"), ("c", "b")],
        "tiers": [["c"], ["a", "b"]],
        "roots": ["c"],
        "max_parents": 2,
    }
    if start == "dag":
        start = op.Dag.from_edges(list("dcba"), [("a", "d"), ("c", "b"), ("c", "a")])  # other order
    posterior = op.learn(
        GAUSSIAN, method=method, start=start, seed=2, steps=4000, draws=400, chains=8, **rules
    )
    dags = (*posterior.iter_dags(), posterior.map_dag)
    assert len(dags) == 3201
    for dag in dags:
        edges = set(dag.edges)
        assert {("a", "d"), ("c", "b")} <= edges
        assert not {("a", "b"), ("a", "c"), ("b", "c"), ("d", "c")} & edges
        assert max(map(len, dag.parent_sets)) <= 2
    edges = posterior.edge_probabilities
    assert edges.loc["a", "d"] == edges.loc["c", "b"] == pytest.approx(1)
    assert edges.loc["a", "b"] == 0
    assert (edges["c"] == 0).all()
    if method != "order":
        exact = op.learn(GAUSSIAN, method="exact", **rules)
        check_mean(posterior.chain_edges, exact.edge_probabilities.to_numpy())
        assert posterior.map_log_score == pytest.approx(exact.map_log_score, abs=1e-9)


@pytest.mark.parametrize("method", SAMPLERS)
def test_required_edges_with_few_candidates(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    choose_quickly(monkeypatch)
    data = make_data("gaussian", 6, 5)
    posterior = op.learn(
        data,
        method=method,
        n_candidates=2,
        max_parents=2,
        required=[("f", "a"), ("e", "a"), ("f", "b")],
        steps=500,
        seed=1,
    )
    for dag in posterior.iter_dags():
        assert {("f", "a"), ("e", "a"), ("f", "b")} <= set(dag.edges)
    assert "outside the 2 candidates of each node are sampled, too" in posterior.verdict


# Starts


@pytest.mark.parametrize("method", SAMPLERS)
def test_chains_start_where_they_are_told(method: str) -> None:
    """Without warm-up and with a steep score, the first draw is the start."""
    target = op.Dag.from_edges(list("abcd"), [("d", "a"), ("a", "b"), ("d", "b")])

    def steep(child: int, parents: tuple[int, ...]) -> float:
        return 0.0 if parents == target.parent_sets[child] else -1e4 - len(parents)

    options: dict[str, Any] = {"steps": 1, "warmup": 0, "method": method, "seed": 1}
    posterior = op.learn(
        NOTHING, op.CustomScore(steep), start=target.reorder(list("dcba")), **options
    )
    assert all(set(dag.edges) == set(target.edges) for dag in posterior.iter_dags())


BAD_STARTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "forbidden": ({"forbidden": [("a", "b")]}, op.OptionError, "constraints exclude"),
    "required": ({"required": [("c", "b")]}, op.OptionError, "constraints exclude"),
    "tiers": ({"tiers": [["b"], ["a"]]}, op.OptionError, "constraints exclude"),
    "roots": ({"roots": ["b"]}, op.OptionError, "constraints exclude"),
    "max parents": ({"max_parents": 1}, op.OptionError, "constraints exclude"),
    "names": (
        {"start": op.Dag.from_edges(list("abcx"), [("a", "b")])},
        op.GraphError,
        "not the columns",
    ),
    "text": (
        {"start": "random"},
        op.OptionError,
        "start must be 'empty', 'order', 'search' or a Dag",
    ),
    "matrix": ({"start": np.zeros((4, 4))}, op.OptionError, "start must be 'empty'"),
    "score": (
        {"start": "empty", "score": op.CustomScore(lambda v, pa: 0.0 if pa or v else -np.inf)},
        op.OptionError,
        "constraints exclude",
    ),
}


@pytest.mark.parametrize("method", ["mcmc", "order", "structure"])
@pytest.mark.parametrize(("options", "kind", "fragment"), BAD_STARTS.values(), ids=BAD_STARTS)
def test_bad_starts(method: str, options: dict[str, Any], kind: type, fragment: str) -> None:
    start = op.Dag.from_edges(list("abcd"), [("a", "b"), ("d", "b")])
    with pytest.raises(kind) as caught:
        op.learn(GAUSSIAN, **{"method": method, "steps": 10, "start": start} | options)
    assert fragment in str(caught.value)


# Moves


@pytest.mark.parametrize(
    ("method", "moves"),
    covering(
        ["mcmc", "partition", "partition+rev"],
        [
            "paper",
            {"split_join": 1},
            {"node_move": 1.0, "swap_any": 1.0},
            {"node_gibbs": 1.0},
            {"node_gibbs": 10, "rev": 1, "swap_adjacent": 3},
        ],
    ),
    ids=str,
)
def test_own_moves(method: str, moves: Any) -> None:
    posterior = op.learn(
        **PROBLEMS["custom"], method=method, moves=moves, chains=N_CHAINS, steps=8000, seed=3
    )
    check_mean(posterior.chain_edges, listed("custom").edges)
    if moves != "paper":
        assert set(posterior.acceptance()["move"]) == set(moves)


def test_the_help_names_every_sampler_and_every_move() -> None:
    text = op.learn.__doc__ or ""
    assert all(f'``"{method}"``' in text for method in SAMPLERS)
    assert all(f"``{move}``" in text for move in PARTITION_MOVES)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown move": ({"moves": {"hop": 1}}, "unknown move 'hop'"),
    "negative": ({"moves": {"node_gibbs": 1, "rev": -1}}, "negative"),
    "swaps only": ({"moves": {"swap_any": 1, "swap_adjacent": 1}}, "cannot get everywhere"),
    "rev only": ({"moves": {"rev": 1}}, "cannot get everywhere"),
    "list": ({"moves": ["rev"]}, "dictionary of weights by move"),
    "order": ({"method": "order", "moves": {"split_join": 1}}, "not to method 'order'"),
    "structure": ({"method": "structure", "moves": "paper"}, "not to method 'structure'"),
    "structure+rev": ({"method": "structure+rev", "moves": {}}, "not to method 'structure+rev'"),
    "exact": (
        {"method": "exact", "steps": None, "moves": {"split_join": 1}},
        "not to method 'exact'",
    ),
    "no chain": ({"chains": 0}, "chains must be a whole number from 1"),
    "half a chain": ({"chains": 1.5}, "chains must be a whole number"),
    "truth": ({"chains": True}, "chains must be a whole number"),
    "no steps": ({"steps": 0}, "steps must be a whole number from 1"),
    "text steps": ({"steps": "many"}, "steps must be a whole number"),
    "decimal steps": ({"steps": 10.0}, "steps must be a whole number"),
    "no draws": ({"draws": 0}, "draws must be a whole number from 1"),
    "negative warmup": ({"warmup": -1}, "warmup must be a whole number from 0"),
    "decimal warmup": ({"warmup": 0.25}, "warmup must be a whole number from 0"),
}


@pytest.mark.parametrize(("options", "fragment"), BAD.values(), ids=BAD)
def test_bad_options(options: dict[str, Any], fragment: str) -> None:
    with pytest.raises(op.OptionError) as caught:
        op.learn(GAUSSIAN, **{"method": "mcmc", "steps": 10} | options)
    assert fragment in str(caught.value)


def test_whole_numbers_of_numpy_are_numbers() -> None:
    one = np.int64(1)
    posterior = op.learn(GAUSSIAN, method="mcmc", chains=one, steps=9, draws=one, warmup=one)
    assert posterior.dags().shape == (1, 1, 4, 4)


def test_steps_of_numpy_are_a_number() -> None:
    assert op.learn(GAUSSIAN, method="mcmc", steps=np.int64(9)).steps_per_chain == 9


def test_moves_given_as_an_array_are_refused() -> None:
    with pytest.raises(op.OptionError, match="dictionary of weights by move"):
        op.learn(GAUSSIAN, method="mcmc", steps=9, moves=np.ones(2))


def test_moves_choose_our_sampler() -> None:
    posterior = op.learn(GAUSSIAN, moves={"node_gibbs": 1}, steps=100)
    assert posterior.method == "mcmc"


# Seeds and threads


def same_draws(one: op.Posterior, other: op.Posterior) -> bool:
    return np.array_equal(one.dags(), other.dags()) and np.array_equal(
        one.chain_edges, other.chain_edges
    )


@pytest.mark.parametrize("method", SAMPLERS)
def test_seeds(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"method": method, "steps": 1500, "draws": 50, "chains": 5}
    first = op.learn(BINARY, seed=7, **options)
    assert same_draws(first, op.learn(BINARY, seed=7, **options))
    assert not same_draws(first, op.learn(BINARY, seed=8, **options))
    for threads in (1, 5):
        monkeypatch.setattr("outpoint.runs.teams.n_threads", lambda n=threads: n)
        monkeypatch.setattr("outpoint.kernels.n_threads", lambda n=threads: n)
        assert same_draws(first, op.learn(BINARY, seed=7, **options))
    with monkeypatch.context() as patch:
        patch.setattr("outpoint.runs.driving.FIRST_ROUND", 140)
        patch.setattr("outpoint.runs.teams.ThreadTeam.round_seconds", 0.0)
        patch.setattr("outpoint.runs.runner.PIECE_SECONDS", 0.0)
        assert same_draws(first, op.learn(BINARY, seed=7, **options)), "pieces must not matter"
    chains = first.dags().to_numpy()
    assert not np.array_equal(chains[0], chains[1]), "chains have their own random numbers"
    fewer = op.learn(BINARY, seed=7, **options | {"chains": 2})
    assert np.array_equal(fewer.dags(), chains[:2])


def test_progress_is_reported() -> None:
    calls: list[tuple[str, float]] = []
    op.learn(
        GAUSSIAN,
        method="mcmc",
        steps=1000,
        chains=1,
        progress=lambda now: calls.append((now.stage, now.fraction)),
    )
    sampling = [fraction for stage, fraction in calls if stage == "sampling"]
    assert calls[0][0] == "scoring parent sets"
    assert sampling == sorted(sampling)
    assert sampling[0] == 0
    assert sampling[-1] == 1


def test_a_failing_progress_ends_the_run() -> None:
    def fail(now: Progress) -> None:
        if now.stage == "sampling" and now.fraction > 0:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        op.learn(GAUSSIAN, method="mcmc", steps=1000, progress=fail)


def starts_of(posterior: op.Posterior) -> list[op.Dag]:
    """Where the chains began, by their records."""
    assert isinstance(posterior, SampledPosterior)
    codes = np.stack([record.start_code for record in posterior.records])
    return [
        op.Dag.from_adjacency(adjacency, posterior.names)
        for adjacency in posterior.parent_sets.adjacencies(codes)
    ]


@pytest.mark.parametrize("method", SAMPLERS)
def test_the_first_chain_starts_at_the_best_dag_and_the_others_apart(method: str) -> None:
    data = op.datasets.asia()
    best = op.learn(data, method="exact").map_log_score
    options: dict[str, Any] = {"method": method, "steps": 20, "chains": 6, "seed": 1}
    first, *others = starts_of(op.learn(data, **options))
    assert op.log_score(data, first) == pytest.approx(best, abs=1e-9)
    assert len({dag.edges for dag in others}) == 5
    assert all(op.log_score(data, dag) < best - 1 for dag in others)
    same = starts_of(op.learn(data, **options, start="search"))
    assert {dag.edges for dag in same} == {first.edges}
    assert {dag.edges for dag in starts_of(op.learn(data, **options, start="empty"))} == {()}
    by_order = starts_of(op.learn(data, **options, start="order"))
    assert len({dag.edges for dag in by_order}) > 1


def test_starts_do_not_depend_on_the_number_of_chains() -> None:
    options: dict[str, Any] = {"method": "structure", "steps": 20, "seed": 4}
    two, five = (starts_of(op.learn(GAUSSIAN, **options, chains=n)) for n in (2, 5))
    assert two == five[:2]
    others = starts_of(op.learn(GAUSSIAN, **options | {"seed": 5}, chains=5))
    assert others != five


@pytest.mark.parametrize("method", SAMPLERS)
def test_starts_keep_to_what_is_known(method: str) -> None:
    data = make_data("gaussian", 6, 5)
    rules: dict[str, Any] = {"required": [("f", "a"), ("e", "a")], "forbidden": [("a", "b")]}
    options: dict[str, Any] = {"n_candidates": 3, "max_parents": 2, "chains": 12, "steps": 20}
    starts = starts_of(op.learn(data, method=method, seed=1, **options, **rules))
    # Our sampler's chains begin at DAGs of searches, of which many may end at the same.
    assert len({dag.edges for dag in starts}) > (1 if method == "mcmc" else 6)
    for dag in starts:
        assert {("f", "a"), ("e", "a")} <= set(dag.edges)
        assert ("a", "b") not in dag.edges
        assert max(map(len, dag.parent_sets)) <= 2


@pytest.mark.parametrize("method", SAMPLERS)
def test_a_start_is_found_where_the_empty_dag_is_impossible(method: str) -> None:
    score = op.CustomScore(lambda v, pa: float(RANDOM_SCORES[v, len(pa)]) if pa or v else -np.inf)
    posterior = op.learn(NOTHING, score, method, steps=4000, draws=200, chains=N_CHAINS, seed=1)
    for dag in (*starts_of(posterior), *posterior.iter_dags()):
        assert dag.parents("a")
    if method != "order":
        exact = op.learn(NOTHING, score, "exact")
        check_mean(posterior.chain_edges, exact.edge_probabilities.to_numpy())


def test_search_starts_at_the_best_dag() -> None:
    """One step from there is enough to have met the exact optimum."""
    data = op.datasets.asia()
    best = op.learn(data, method="exact").map_log_score
    searched = op.learn(
        data, method="structure", start="search", steps=1, warmup=0, chains=1, seed=1
    )
    assert searched.map_log_score == pytest.approx(best, abs=1e-9)
    empty = op.learn(data, method="structure", start="empty", steps=1, warmup=0, chains=1, seed=1)
    assert empty.map_log_score < best - 10
