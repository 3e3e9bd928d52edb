"""A chain in progress: advanced piece by piece, saved and restored bit for bit.

A :class:`Sampler` says in one place what there is to say about chains of one kind.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.kernels import lend
from outpoint.mcmc.mixes import Settings
from outpoint.mcmc.replicas import Ladder
from outpoint.mcmc.restoring import check_counters, check_trace, read_generator
from outpoint.mcmc.trace import KeptDags, make_trace
from outpoint.store import check_like
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView

SWEEP = 20
"""Steps between swaps of replicas; also placements per block of reversals."""

ROOM = 1000
"""Draws a chain holds at most before they are taken away."""


class Chain(ABC):
    """A chain in progress.

    What it does is a function of its start, its settings and its random numbers. Replicas take
    turns within a sweep, so cuts between calls of ``advance`` belong at multiples of ``SWEEP`` if
    the draws are not to depend on them; their law never does.
    """

    def __init__(
        self,
        view: TableView,
        settings: Settings,
        start: Codes,
        rng: np.random.Generator,
    ) -> None:
        n, n_candidates = view.candidates.shape
        self.start = start
        self.step = 0
        self.n_warmup = settings.n_warmup
        self.thin = settings.thin
        self.trace = make_trace(
            n,
            min(ROOM, max(SWEEP, settings.n_draws)),
            n_candidates,
            with_outside=view.outside.score.size > 0,
        )
        self._view = view
        self._lent_view, self._lent_trace = lend(view), lend(self.trace)
        self._rng = rng
        self._edge_thin = settings.edge_thin
        self._tuning_steps = self._plan_tuning(settings.n_warmup)

    @property
    def ladder(self) -> Ladder | None:
        """The tempered replicas, of chains that have some."""
        return None

    @property
    def is_cut(self) -> bool:
        """Whether the draws depend on where the chain was interrupted, within a sweep."""
        return False

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up end at this step, now or later, as if that had been planned.

        ``ladder.early_ends`` are steps where that is possible.
        """
        plans = self._tuning_steps, self._plan_tuning(n_warmup)
        done, meant = ({s for s in plan if s <= self.step} - {n_warmup} for plan in plans)
        is_ahead = self.step <= n_warmup <= self.n_warmup
        if not is_ahead or done != meant or (self.n_warmup - n_warmup) % (2 * SWEEP):
            raise ValueError(f"the warm-up cannot end at step {n_warmup}")
        is_tuned = self.step in self._tuning_steps
        self.n_warmup, self._tuning_steps = n_warmup, plans[1]
        if self.step == n_warmup and not is_tuned:
            self._tune_now()

    def advance(self, n_steps: int) -> None:
        """Take steps; what can be tuned is tuned at some steps of the warm-up, and then left."""
        target = self.step + n_steps
        while self.step < target:
            stop = min([target, *(step for step in self._tuning_steps if step > self.step)])
            # Steps are counted from the end of the warm-up, so that draws fall on its multiples.
            first = self.step - self.n_warmup
            self._run(first, stop - self.step, self.step >= self.n_warmup)
            self.step = stop
            if stop in self._tuning_steps:
                self._tune_now()

    def take_draws(self) -> KeptDags:
        """The draws kept since the last call."""
        n_draws = self.trace.n_draws[0]
        self.trace.n_draws[0] = 0
        return KeptDags(
            self.trace.codes[:n_draws].copy(),
            self.trace.log_score[:n_draws].copy(),
            self.trace.log_weight[:n_draws].copy(),
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that ``restore`` needs to go on bit for bit, except draws that were not taken."""
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        arrays["counters"] = np.array([self.step, self.n_warmup, self.thin])
        generator = json.dumps(self._rng.bit_generator.state).encode()
        arrays["generator"] = np.frombuffer(generator, dtype=np.uint8).copy()
        return arrays

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of a chain with the same view and settings.

        It may be damaged or forged: a ValueError says what no chain can have left.
        """
        check_counters(snapshot["counters"], self.n_warmup, self.thin)
        self._fit(snapshot)
        for name, array in self._arrays().items():
            check_like(name, snapshot[name], array)
            array[...] = snapshot[name]
        self.step, self.n_warmup, self.thin = snapshot["counters"].tolist()
        self._tuning_steps = self._plan_tuning(self.n_warmup)
        n_recorded = max(0, self.step - self.n_warmup)
        check_trace(self._view, self.trace, n_recorded // self._edge_thin)
        self._check_state()
        own = self._rng.bit_generator.state
        self._rng.bit_generator.state = read_generator(snapshot["generator"], own)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that change as the chain runs, by name, except the buffer of draws."""
        kept = self.trace._asdict()
        for buffer in (*KeptDags._fields, "n_draws"):
            del kept[buffer]
        return {f"trace.{name}": array for name, array in kept.items()} | self._state_arrays()

    def _plan_tuning(self, n_warmup: int) -> list[int]:
        """The steps after which to tune, the last of which ends the warm-up."""
        return [n_warmup] if n_warmup else []

    def _tune_now(self) -> None:
        self._tune()
        self.trace.attempts[:] = 0
        self.trace.accepted[:] = 0

    def _tune(self) -> None:  # noqa: B027 -- most chains have nothing to tune
        """Adapt to what the counts say since the last time."""

    def _fit(self, snapshot: Mapping[str, NDArray[Any]]) -> None:  # noqa: B027 -- most are fixed
        """Make room for the state of a snapshot, if its size is not fixed."""

    @abstractmethod
    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the state, by name; what follows from them need not be among them."""

    @abstractmethod
    def _check_state(self) -> None:
        """Refuse arrays of the state that kernels cannot go on from; set what follows from them."""

    @abstractmethod
    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        """Run the kernel."""


def flatten(prefix: str, arrays: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a NamedTuple, nested ones included, by name."""
    if isinstance(arrays, np.ndarray):
        return {prefix: arrays}
    parts = (flatten(f"{prefix}.{name}", part) for name, part in arrays._asdict().items())
    return {name: array for part in parts for name, array in part.items()}


StartChain = Callable[[TableView, Settings, Codes, np.random.Generator], Chain]


@dataclass(frozen=True, kw_only=True)
class Sampler:
    """A sampler by name: how a chain is made, its defaults, and what users are told about it.

    ``usual_steps`` is the default number of recorded steps, and where a run that goes on until the
    chains agree is first looked at; ``goes_on`` says whether runs do that by default. The warm-up
    takes ``warmup_share`` as many steps as are recorded. Edge probabilities are recorded every
    ``edge_thin`` steps. ``bias`` says what is wrong with a sampler however long it runs.
    """

    name: str
    summary: str
    start: StartChain
    usual_steps: int = 1_000_000
    warmup_share: float = 0.25
    edge_thin: int = 100
    goes_on: bool = False
    takes_moves: bool = False
    has_ladder: bool = False
    bias: str = ""
