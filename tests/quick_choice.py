"""Candidates chosen in a hurry, for tests to which poor ones are as good as others."""

from typing import Any

from outpoint import narrowing
from outpoint.mcmc import SWEEP


def choose_quickly(patch: Any) -> None:
    """Few short searches and short pilots, which take longer than a short run."""
    patch.setattr(narrowing, "default_steps", lambda n: 400)
    patch.setattr(narrowing, "QUICK_RUNS", 4)
    patch.setattr(narrowing, "PILOT_WARMUP", 8 * SWEEP)
    patch.setattr(narrowing, "PILOT_STEPS", 8 * SWEEP)
