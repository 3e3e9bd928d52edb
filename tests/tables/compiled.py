"""The samplers' sums and draws, each in a kernel of its own that Python can call."""

import numba

from outpoint.mcmc import sums


@numba.njit(cache=True)
def log_sum_any(view, node, layer, level):
    return sums.log_sum_any(view, node, layer, level)


@numba.njit(cache=True)
def log_tabulated(view, node, member, layer, level):
    return sums.log_tabulated(view, node, member, layer, level)


@numba.njit(cache=True)
def log_inside(view, node, layer, level):
    return sums.log_inside(view, node, layer, level)


@numba.njit(cache=True)
def log_tau(view, node, layer, level, held):
    return sums.log_tau(view, node, layer, level, held)


@numba.njit(cache=True)
def sample_any(view, node, layer, level, log_total, rng):
    return sums.sample_any(view, node, layer, level, log_total, rng)


@numba.njit(cache=True)
def draw_tabulated(view, node, member, layer, level, log_total, rng):
    return sums.draw_tabulated(view, node, member, layer, level, log_total, rng)


@numba.njit(cache=True)
def sample_meeting(view, node, layer, level, log_total, rng):
    return sums.sample_meeting(view, node, layer, level, log_total, rng)
