"""Draws of parent sets follow the exact law.

Each comparison is a chi-square test that a correct sampler fails with probability 1e-6 (all of them
together: about 1e-5) were the seeds not fixed; that wrong samplers fail it is shown below.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from math import exp, inf

import numpy as np
import pytest
from scipy.stats import chi2

from outpoint.errors import OptionError
from tests.reference import admissible_sets, log_sum_exp

from .helpers import KnownTable, random_table
from .test_queries import KNOWLEDGE

FALSE_ALARM = 1e-6
N_DRAWS = 6000

Sampler = Callable[[np.random.Generator], tuple[int, ...]]


def exact_law(
    it: KnownTable, child: int, allowed: set[int], required: set[int] | None
) -> dict[tuple[int, ...], float]:
    sets = admissible_sets(child, allowed, required)
    total = log_sum_exp(it.score(child, s) for s in sets)
    return {s: exp(it.score(child, s) - total) for s in sets if it.score(child, s) > -inf}


def p_value(draws: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> float:
    """Chi-square test of counts against a law; 0 if something impossible was drawn.

    Outcomes expected fewer than 5 times are put together.
    """
    if set(draws) - set(law):
        return 0.0
    n_draws = draws.total()
    rare = {s for s, p in law.items() if p * n_draws < 5}
    cells = [(draws[s], p * n_draws) for s, p in law.items() if s not in rare]
    cells.append((sum(draws[s] for s in rare), sum(law[s] for s in rare) * n_draws))
    statistic = sum((seen - want) ** 2 / want for seen, want in cells if want > 0)
    n_cells = sum(want > 0 for _, want in cells)
    return float(chi2.sf(statistic, n_cells - 1)) if n_cells > 1 else 1.0


def draw(sample: Sampler, seed: int = 1) -> Counter[tuple[int, ...]]:
    rng = np.random.default_rng(seed)
    return Counter(sample(rng) for _ in range(N_DRAWS))


@cache
def complete() -> KnownTable:
    return random_table(6, 5, spread=1.5, seed=1)


@cache
def with_outside() -> KnownTable:
    return random_table(10, 3, 4, spread=1.5, seed=2)


@cache
def with_knowledge() -> KnownTable:
    return random_table(9, 3, 3, spread=1.5, seed=3, **KNOWLEDGE)


def candidates(it: KnownTable, child: int) -> set[int]:
    return set(it.table.candidates[child].tolist())


def others(it: KnownTable, child: int) -> set[int]:
    return set(range(it.table.n_nodes)) - {child}


CASES = {
    "all sets": (complete, lambda it: (0, others(it, 0), None)),
    "some nodes": (complete, lambda it: (3, {0, 2, 4, 5}, None)),
    "one required": (complete, lambda it: (3, others(it, 3), {1})),
    "two required": (complete, lambda it: (2, {0, 1, 3, 5}, {1, 5})),
    "one set only": (complete, lambda it: (2, {4}, {4})),
    "nothing allowed": (complete, lambda it: (2, set(), None)),
    "outside: all sets": (with_outside, lambda it: (5, others(it, 5), None)),
    "outside: required": (with_outside, lambda it: (5, others(it, 5), {0, 9})),
    "outside: required candidates": (
        with_outside,
        lambda it: (4, others(it, 4), set(sorted(candidates(it, 4))[:2])),
    ),
    "outside: required strangers": (
        with_outside,
        lambda it: (4, others(it, 4), others(it, 4) - candidates(it, 4)),
    ),
    "outside: no candidate allowed": (
        with_outside,
        lambda it: (7, others(it, 7) - candidates(it, 7), None),
    ),
    "outside: few allowed": (with_outside, lambda it: (7, {0, 3, 8}, {3, 8})),
    "knowledge: required parents": (with_knowledge, lambda it: (2, others(it, 2), None)),
    "knowledge: and a layer": (with_knowledge, lambda it: (2, others(it, 2), {1, 7})),
    "knowledge: forbidden parents": (with_knowledge, lambda it: (0, others(it, 0), {1, 3, 4})),
}


@pytest.mark.parametrize(("make", "question"), CASES.values(), ids=list(CASES))
def test_draws_follow_the_exact_law(make: Callable, question: Callable) -> None:
    it = make()
    child, allowed, required = question(it)
    law = exact_law(it, child, allowed, required)
    assert sum(law.values()) == pytest.approx(1.0)
    draws = draw(lambda rng: it.table.sample_parents(child, allowed, required, rng))
    assert p_value(draws, law) > FALSE_ALARM


def test_large_spread_draws_the_best_set() -> None:
    it = random_table(9, 3, 4, spread=4000.0, seed=4)
    for child in range(9):
        best = it.table.best_parents(child, others(it, child))
        rng = np.random.default_rng(child)
        assert {
            it.table.sample_parents(child, others(it, child), None, rng) for _ in range(50)
        } == {best}


# Wrong samplers, which the same check must catch

WRONG = {
    "ignores the requirement": lambda it, rng: it.table.sample_parents(5, others(it, 5), None, rng),
    "asks for one required node only": lambda it, rng: it.table.sample_parents(
        5, others(it, 5), {9}, rng
    ),
    "never leaves the candidates": lambda it, rng: it.table.sample_parents(
        5, candidates(it, 5) | {0, 9}, {0, 9}, rng
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_the_check_catches_wrong_samplers(wrong: Callable) -> None:
    it = with_outside()
    law = exact_law(it, 5, others(it, 5), {0, 9})
    assert p_value(draw(lambda rng: wrong(it, rng)), law) < FALSE_ALARM


def test_the_check_catches_a_law_that_is_slightly_off() -> None:
    """The right sets, with every log score shrunk by a tenth."""
    it = with_outside()
    law = exact_law(it, 5, others(it, 5), {0, 9})
    sets, weights = list(law), np.array(list(law.values())) ** 0.9
    flat = draw(lambda rng: sets[rng.choice(len(sets), p=weights / weights.sum())])
    assert p_value(flat, law) < FALSE_ALARM


def test_without_an_admissible_set_nothing_is_drawn() -> None:
    it = with_knowledge()
    rng = np.random.default_rng(5)
    for allowed, required in [({0, 3}, None), (others(it, 2), ()), ({1, 4}, {7})]:
        with pytest.raises(OptionError, match="v2 has no admissible parent set here"):
            it.table.sample_parents(2, allowed, required, rng)


def test_the_same_seed_gives_the_same_draws() -> None:
    it = with_outside()

    def some(seed: int) -> list[tuple[int, ...]]:
        rng = np.random.default_rng(seed)
        return [it.table.sample_parents(1, others(it, 1), None, rng) for _ in range(30)]

    assert some(1) == some(1) != some(2)
