"""Running a team of chains until the budget is spent, the chains have converged, or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc import SWEEP, Settings
from outpoint.mcmc.ladder import early_ends
from outpoint.progress import Clock, Progress, ProgressCallback
from outpoint.runs.record import ChainRecord
from outpoint.runs.teams import Team

FIRST_ROUND = 20 * SWEEP
"""Steps of the first round, and the fewest of later ones, unless the time is nearly up."""

LEAST_DRAWS = 8
"""A run that is limited by time goes on until each chain has kept this many DAGs."""

WARMUP_SHARE = 0.25
"""Where time is limited, warming up may take this share of what is left when it begins."""

CHECK_GROWTH = 1.25
"""Convergence is looked at again when the chains are this much longer."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long to run: recorded steps of each chain, seconds in all, until converged.

    ``first_check`` is the number of recorded steps after which convergence is first looked at. The
    points where that happens depend on nothing else, so an interrupted run ends like any other.
    """

    steps: int | None
    seconds: float | None = None
    until_converged: bool = False
    first_check: int = 0

    def checks_after(self, step: int) -> int:
        """The first check at or after this many recorded steps."""
        check = self.first_check
        while check < step:
            check = int(check * CHECK_GROWTH) // SWEEP * SWEEP + SWEEP
        return check


@dataclass(frozen=True)
class Ending:
    """Why a run has ended, and how many seconds it took, those of earlier sessions included."""

    reason: str
    seconds: float


def drive(
    team: Team,
    settings: Settings,
    budget: Budget,
    *,
    has_converged: Callable[[Sequence[ChainRecord]], bool],
    compute_rhat: Callable[[NDArray[np.float64]], float | None],
    report: ProgressCallback,
    checkpoint_seconds: float,
    clock: Clock,
) -> Ending:
    """Advance all chains in rounds until the end: by steps, time, convergence or interruption.

    Between rounds progress is reported, and checkpoints are saved if the last ones are old enough.
    ``clock`` began with the work of this session, before there were chains.
    """
    before = team.seconds  # in earlier sessions
    now = saved = begun = before + clock.seconds
    rate = 0.0
    try:
        while True:
            steps = [status.step for status in team.statuses]
            are_level = max(steps) == min(steps)
            if are_level and _ends_warm_up(budget, team.n_warmup, steps[0], begun, now, rate):
                team.shorten_warm_up(steps[0])
            n_warmup = team.n_warmup
            step = min(steps) - n_warmup
            if are_level:
                reason = _is_over(team, settings, budget, step, now, has_converged)
                if reason:
                    break
            target = _next_target(budget, n_warmup, max(steps), step, rate, team.round_seconds, now)
            team.advance_to(target)
            then, now = now, before + clock.seconds
            rate = (target - min(steps)) / max(now - then, 1e-6)
            report(_progress(team, budget, now, rate, compute_rhat))
            if now - saved >= checkpoint_seconds:
                team.save(now)
                saved = now
    except KeyboardInterrupt:
        reason = "interrupted"
    finally:
        team.stop()
    seconds = before + clock.seconds
    team.save(seconds)
    return Ending(reason, seconds)


def _ends_warm_up(
    budget: Budget, n_warmup: int, step: int, begun: float, now: float, rate: float
) -> bool:
    """Whether to end the warm-up here, where it can end, lest it exceed its share of the time."""
    ends = early_ends(n_warmup, SWEEP)
    if budget.seconds is None or rate == 0.0 or step not in ends:
        return False
    next_end = min(end for end in (*ends, n_warmup) if end > step)
    share = WARMUP_SHARE * max(0.0, budget.seconds - begun)
    return now - begun + (next_end - step) / rate > share


def _is_over(
    team: Team,
    settings: Settings,
    budget: Budget,
    step: int,
    seconds: float,
    has_converged: Callable[[Sequence[ChainRecord]], bool],
) -> str:
    is_check = budget.until_converged and step > 0 and budget.checks_after(step) == step
    if is_check and has_converged(team.records()):
        return "converged"
    if budget.steps is not None and step >= budget.steps:
        return "steps"
    has_draws = step >= max(LEAST_DRAWS * settings.thin, settings.edge_thin)
    return "time" if budget.seconds is not None and seconds >= budget.seconds and has_draws else ""


def _next_target(
    budget: Budget,
    n_warmup: int,
    furthest: int,
    step: int,
    rate: float,
    round_seconds: float,
    now: float,
) -> int:
    """The end of the next round; chains that are behind catch up with the furthest first."""
    if furthest > step + n_warmup:
        return furthest
    left = inf if budget.seconds is None else max(0.0, budget.seconds - now)
    n_steps = max(FIRST_ROUND, int(rate * round_seconds))
    if rate > 0.0 and n_steps > rate * left:
        n_steps = max(SWEEP, int(rate * left))
    ends = [(furthest + n_steps) // SWEEP * SWEEP]
    if budget.steps is not None:
        ends.append(n_warmup + budget.steps)
    if budget.until_converged:
        ends.append(n_warmup + budget.checks_after(step + 1))
    if budget.seconds is not None:
        ends += [end for end in early_ends(n_warmup, SWEEP) if end > furthest]
    return min(ends)


def _progress(
    team: Team,
    budget: Budget,
    seconds: float,
    rate: float,
    compute_rhat: Callable[[NDArray[np.float64]], float | None],
) -> Progress:
    statuses = tuple(team.statuses)
    step = min(status.step for status in statuses)
    done = [0.0]
    if budget.steps is not None:
        done.append(step / (team.n_warmup + budget.steps))
    if budget.seconds is not None:
        done.append(seconds / budget.seconds)
    n_kept = min(len(status.log_scores) for status in statuses)
    log_scores = np.stack(
        [status.log_scores[len(status.log_scores) - n_kept :] for status in statuses]
    )
    rhat = compute_rhat(log_scores) if n_kept else None
    return Progress("sampling", min(1.0, max(done)), statuses, rate * len(statuses), rhat)
