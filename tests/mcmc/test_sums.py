"""Draws of parent sets follow the exact law.

Each comparison is a chi-square test that a correct sampler fails with probability 1e-6 (all of them
together: about 1e-5) were the seeds not fixed; that wrong samplers fail it is shown below.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from math import exp, inf

import numpy as np
import pytest
from scipy.stats import chi2

from tests.reference import admissible_sets, log_sum_exp
from tests.tables.helpers import KnownTable, random_table
from tests.tables.test_table import KNOWLEDGE

FALSE_ALARM = 1e-6
N_DRAWS = 6000

Sampler = Callable[[np.random.Generator], tuple[int, ...]]


def law_over(
    it: KnownTable, child: int, sets: Iterable[tuple[int, ...]]
) -> dict[tuple[int, ...], float]:
    """The probabilities of these sets by their scores."""
    scores = {s: it.score(child, s) for s in sets}
    total = log_sum_exp(scores.values())
    return {s: exp(score - total) for s, score in scores.items() if score > -inf}


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


def tabulated(it: KnownTable, child: int, member: int, allowed: set[int]) -> list[tuple[int, ...]]:
    """Inside and near sets with this member, or with any (-1)."""
    sets = [s for s in admissible_sets(child, allowed) if it.sums.is_tabulated(child, s)]
    return [s for s in sets if member < 0 or member in s]


def some_candidates(it: KnownTable, child: int) -> set[int]:
    return set(sorted(candidates(it, child))[:2])


ANY = {
    "all sets": (complete, lambda it: (0, others(it, 0))),
    "some nodes": (complete, lambda it: (3, {0, 2, 4, 5})),
    "nothing allowed": (complete, lambda it: (2, set())),
    "outside: all sets": (with_outside, lambda it: (5, others(it, 5))),
    "outside: no candidate allowed": (
        with_outside,
        lambda it: (7, others(it, 7) - candidates(it, 7)),
    ),
    "knowledge: required parents": (with_knowledge, lambda it: (2, others(it, 2))),
}

WITH = {
    "one member": (complete, lambda it: (3, 1, others(it, 3))),
    "one set only": (complete, lambda it: (2, 4, {4})),
    "outside: a candidate": (with_outside, lambda it: (4, min(candidates(it, 4)), others(it, 4))),
    "outside: a stranger": (
        with_outside,
        lambda it: (4, min(others(it, 4) - candidates(it, 4)), others(it, 4)),
    ),
    "outside: few allowed": (with_outside, lambda it: (7, 3, {0, 3, 8})),
    "knowledge: required parents": (with_knowledge, lambda it: (2, 1, others(it, 2))),
    "any member": (with_outside, lambda it: (5, -1, others(it, 5))),
    "any member, few allowed": (with_outside, lambda it: (7, -1, {0, 3, 8})),
}

MEETING = {
    "one required": (complete, lambda it: (3, others(it, 3), {1})),
    "two required": (complete, lambda it: (2, {0, 1, 3, 5}, {1, 5})),
    "outside: candidates": (with_outside, lambda it: (4, others(it, 4), some_candidates(it, 4))),
    "knowledge: a layer": (with_knowledge, lambda it: (2, others(it, 2), {1, 4})),
}


@pytest.mark.parametrize(("make", "question"), ANY.values(), ids=list(ANY))
def test_draws_of_any_set(make: Callable, question: Callable) -> None:
    it = make()
    child, allowed = question(it)
    law = law_over(it, child, admissible_sets(child, allowed))
    assert sum(law.values()) == pytest.approx(1.0)
    draws = draw(lambda rng: it.sums.draw(child, allowed, rng))
    assert p_value(draws, law) > FALSE_ALARM


@pytest.mark.parametrize(("make", "question"), WITH.values(), ids=list(WITH))
def test_draws_of_sets_with_a_member(make: Callable, question: Callable) -> None:
    it = make()
    child, member, allowed = question(it)
    law = law_over(it, child, tabulated(it, child, member, allowed))
    draws = draw(lambda rng: it.sums.draw_tabulated(child, member, allowed, rng))
    assert p_value(draws, law) > FALSE_ALARM


@pytest.mark.parametrize(("make", "question"), MEETING.values(), ids=list(MEETING))
def test_draws_of_candidates_that_meet_a_layer(make: Callable, question: Callable) -> None:
    it = make()
    child, allowed, required = question(it)
    inside = [
        s for s in admissible_sets(child, allowed, required) if set(s) <= candidates(it, child)
    ]
    draws = draw(lambda rng: it.sums.draw_meeting(child, allowed, required, rng))
    assert p_value(draws, law_over(it, child, inside)) > FALSE_ALARM


def test_large_spread_draws_the_best_set() -> None:
    it = random_table(9, 3, 4, spread=4000.0, seed=4)
    for child in range(9):
        sets = admissible_sets(child, others(it, child))
        best = max(sets, key=lambda s, child=child: it.score(child, s))
        rng = np.random.default_rng(child)
        assert {it.sums.draw(child, others(it, child), rng) for _ in range(50)} == {best}


# Wrong samplers, which the same check must catch

WRONG = {
    "ignores the member": lambda it, rng: it.sums.draw(5, others(it, 5), rng),
    "takes another member": lambda it, rng: it.sums.draw_tabulated(5, 8, others(it, 5), rng),
    "never leaves the candidates": lambda it, rng: it.sums.draw_tabulated(
        5, 9, candidates(it, 5) | {9}, rng
    ),
    "leaves out what is not near": lambda it, rng: it.sums.draw_tabulated(5, 9, others(it, 5), rng),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_the_check_catches_wrong_samplers(wrong: Callable) -> None:
    it = with_outside()
    law = law_over(it, 5, [s for s in admissible_sets(5, others(it, 5)) if 9 in s])
    assert p_value(draw(lambda rng: wrong(it, rng)), law) < FALSE_ALARM


def test_the_check_catches_a_law_that_is_slightly_off() -> None:
    """The right sets, with every log score shrunk by a tenth."""
    it = with_outside()
    law = law_over(it, 5, admissible_sets(5, others(it, 5), {0, 9}))
    sets, weights = list(law), np.array(list(law.values())) ** 0.9
    flat = draw(lambda rng: sets[rng.choice(len(sets), p=weights / weights.sum())])
    assert p_value(flat, law) < FALSE_ALARM


def test_the_same_seed_gives_the_same_draws() -> None:
    it = with_outside()

    def some(seed: int) -> list[tuple[int, ...]]:
        rng = np.random.default_rng(seed)
        return [it.sums.draw(1, others(it, 1), rng) for _ in range(30)]

    assert some(1) == some(1) != some(2)
