"""Parents drawn from candidates and a list of outside sets, against all sets that are allowed.

False-alarm rate: 1e-6 for each problem.
"""

from itertools import product

import numpy as np
import pytest

from outpoint.kernels import kernel
from outpoint.mcmc.sums import allowed_mask, draw_any, is_open
from outpoint.tables.view import inside_score
from tests.grids import first
from tests.mcmc.held import ALL, held_target
from tests.mcmc.laws import Floats, check_counts

FALSE_ALARM = 1e-6
N_DRAWS = 5_000


@kernel
def draw_codes(view, node, layer, rng, codes):
    for i in range(codes.size):
        codes[i] = draw_any(view, node, layer, 1, rng)


@kernel
def next_allowed(view, node, layer, rng, codes):
    """Wrong: a set of the list that is not allowed is replaced by the next one that is."""
    outside, allowed = view.outside, allowed_mask(view, node, layer, 1)
    for i in range(codes.size):
        codes[i] = draw_any(view, node, layer, 1, rng)
        if codes[i] < 0:
            log_pick = outside.log_tail[outside.start[node]] + np.log(1.0 - rng.random())
            place = outside.start[node + 1] - 1
            while outside.log_tail[place] < log_pick:
                place -= 1
            while place < outside.start[node + 1] and not is_open(view, place, allowed, layer, 1):
                place += 1
            codes[i] = ~place if place < outside.start[node + 1] else codes[i]


@kernel
def weights_of(view, node, layer, log_weight):
    """Log weights of the sets of ``node``: masks of candidates, then the list; -inf if closed."""
    allowed = allowed_mask(view, node, layer, 1)
    n_masks = 1 << view.n_candidates[node]
    for mask in range(n_masks):
        is_within = mask & ~allowed == 0
        log_weight[mask] = inside_score(view, node, mask) if is_within else -np.inf
    for place in range(view.outside.start[node], view.outside.start[node + 1]):
        number = n_masks + place - view.outside.start[node]
        is_allowed = True
        for u in view.outside.members[place]:
            is_allowed = is_allowed and (u < 0 or layer[u] < 1)
        log_weight[number] = view.outside.score[place] if is_allowed else -np.inf


def compare(name: str, draw) -> None:
    """Draws of all nodes, whatever is allowed, against weights."""
    view = held_target(name).target.view
    n = len(view.candidates)
    rng = np.random.default_rng(5)
    for node in range(n):
        n_masks = 1 << int(view.n_candidates[node])
        begin, end = view.outside.start[node : node + 2]
        for closed in product((0, 1), repeat=n):
            layer = np.array(closed)
            log_weight: Floats = np.zeros(n_masks + end - begin)
            weights_of(view, node, layer, log_weight)
            codes = np.zeros(N_DRAWS, dtype=np.int64)
            draw(view, node, layer, rng, codes)
            numbers = np.where(codes >= 0, codes, n_masks + ~codes - begin)
            counts = np.bincount(numbers, minlength=len(log_weight))
            law = np.exp(log_weight - log_weight.max())
            check_counts(counts, law / law.sum(), FALSE_ALARM / n / 2**n)


@pytest.mark.parametrize("name", first(ALL, 3))
def test_draws_follow_the_weights(name):
    compare(name, draw_codes)


def test_sets_in_the_place_of_others_are_caught():
    with pytest.raises(AssertionError):
        compare("four, one", next_allowed)
