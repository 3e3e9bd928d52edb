"""A chain in progress: advanced piece by piece, saved and restored bit for bit."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.mcmc.partition_chain import Plan
from outpoint.mcmc.trace import Draws, make_trace
from outpoint.tables.view import TableView

SWEEP = 20
"""Steps between swaps of replicas; also placements per block of reversals."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to sample: the method, its moves, and what to keep.

    The first ``n_warmup`` steps tune and are not recorded. A draw is kept every ``thin`` steps;
    there is room for ``n_draws`` of them until they are taken away.
    """

    method: str
    moves: Any = None
    n_warmup: int = 0
    n_draws: int
    thin: int
    edge_thin: int
    max_parents: int
    edge_reversals: bool = True
    order_steps: int = 0
    best_of_orders: bool = False


class Chain(ABC):
    """A chain in progress.

    What it does is a function of its start, its settings and its random numbers. Replicas take
    turns within a sweep, so cuts between calls of ``advance`` belong at multiples of ``SWEEP`` if
    the draws are not to depend on them; their law never does.
    """

    def __init__(
        self, view: TableView, settings: Settings, plan: Plan, rng: np.random.Generator
    ) -> None:
        n, n_candidates = view.candidates.shape
        self.step = 0
        self.n_warmup = settings.n_warmup
        self.trace = make_trace(n, settings.n_draws, len(plan.power), n_candidates)
        self._view = view
        self._plan = plan
        self._rng = rng
        tenths = [settings.n_warmup * i // 10 // SWEEP * SWEEP for i in range(1, 10)]
        self._tuning_steps = sorted({*tenths, settings.n_warmup} - {0})

    @property
    def thin(self) -> int:
        """Steps from one kept draw to the next."""
        return self._plan.thin

    @thin.setter
    def thin(self, thin: int) -> None:
        self._plan = self._plan._replace(thin=thin)

    @property
    def power(self) -> NDArray[np.float64]:
        """The ladder of powers of the replicas."""
        return self._plan.power

    def shorten_warm_up(self, n_warmup: int) -> None:
        """Let the warm-up end at this step, which must not lie behind."""
        if not self.step <= n_warmup <= self.n_warmup:
            raise ValueError(f"the warm-up cannot end at step {n_warmup}")
        self.n_warmup = n_warmup
        self._tuning_steps = sorted({*self._tuning_steps, n_warmup} - {0})
        self._tuning_steps = [step for step in self._tuning_steps if step <= n_warmup]
        if self.step == n_warmup:
            self._tune_now()

    def advance(self, n_steps: int) -> None:
        """Take steps; what can be tuned is tuned at each tenth of the warm-up, and then left."""
        target = self.step + n_steps
        while self.step < target:
            stop = min([target, *(step for step in self._tuning_steps if step > self.step)])
            # Steps are counted from the end of the warm-up, so that draws fall on its multiples.
            first = self.step - self.n_warmup
            self._run(first, stop - self.step, self.step >= self.n_warmup)
            self.step = stop
            if stop in self._tuning_steps:
                self._tune_now()

    def take_draws(self) -> Draws:
        """The draws kept since the last call."""
        n_draws = self.trace.n_draws[0]
        self.trace.n_draws[0] = 0
        return Draws(
            self.trace.masks[:n_draws].copy(),
            self.trace.log_score[:n_draws].copy(),
            self.trace.log_weight[:n_draws].copy(),
        )

    def snapshot(self) -> dict[str, NDArray[Any]]:
        """All that ``restore`` needs to go on bit for bit, draws that were not taken excepted."""
        arrays = {name: array.copy() for name, array in self._arrays().items()}
        counters = [self.step, self.n_warmup, self._plan.thin, self._plan.block]
        arrays["counters"] = np.array(counters)
        arrays["power"] = self._plan.power.copy()
        generator = json.dumps(self._rng.bit_generator.state).encode()
        arrays["generator"] = np.frombuffer(generator, dtype=np.uint8).copy()
        return arrays

    def restore(self, snapshot: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a snapshot of a chain with the same view and settings."""
        for name, array in self._arrays().items():
            saved = snapshot[name]
            if saved.shape != array.shape or saved.dtype != array.dtype:
                raise ValueError(f"{name} has another shape")
            array[...] = saved
        self.step, self.n_warmup, thin, block = snapshot["counters"].tolist()
        self._tuning_steps = [step for step in self._tuning_steps if step <= self.n_warmup]
        power = np.array(snapshot["power"], dtype=np.float64)
        self._plan = self._plan._replace(power=power, thin=thin, block=block)
        self._rng.bit_generator.state = json.loads(snapshot["generator"].tobytes())

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that change as the chain runs, by name; the buffer of draws excepted."""
        kept = self.trace._asdict()
        for buffer in (*Draws._fields, "n_draws"):
            del kept[buffer]
        return {f"trace.{name}": array for name, array in kept.items()} | self._state_arrays()

    def _counts(self) -> tuple[NDArray[np.int64], ...]:
        trace = self.trace
        return trace.attempts, trace.accepted, trace.swap_attempts, trace.swap_accepted

    def _tune_now(self) -> None:
        if self.step in self._tuning_steps:
            self._tune(self._tuning_steps.index(self.step))
        for counts in self._counts():
            counts[:] = 0

    def _tune(self, part: int) -> None:  # noqa: B027 -- most chains have nothing to tune
        """Adapt to what the counts say, after this part of the warm-up."""

    @abstractmethod
    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of the state, by name."""

    @abstractmethod
    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        """Run the kernel."""


def flatten(prefix: str, arrays: Any) -> dict[str, NDArray[Any]]:
    """The arrays of a NamedTuple, nested ones included, by name."""
    if isinstance(arrays, np.ndarray):
        return {prefix: arrays}
    parts = (flatten(f"{prefix}.{name}", part) for name, part in arrays._asdict().items())
    return {name: array for part in parts for name, array in part.items()}
