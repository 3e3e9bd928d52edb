"""Programs with faults that the tests of killed runs must notice, as patches of the real one."""

from typing import Any

import numpy as np

from outpoint.mcmc.chain import Chain
from outpoint.runs.runner import ChainRunner, FileDraws

SWEEP = 20


def forgets_generator() -> None:
    """A restored chain starts its random numbers over."""
    restore = Chain.restore

    def forgetful(self: Chain, snapshot: Any) -> None:
        fresh = self._rng.bit_generator.state
        restore(self, snapshot)
        self._rng.bit_generator.state = fresh

    Chain.restore = forgetful  # type: ignore[method-assign]


def forgets_sums() -> None:
    """The sums of edge probabilities are not in the checkpoint."""
    restore = Chain.restore

    def forgetful(self: Chain, snapshot: Any) -> None:
        restore(self, snapshot)
        self.trace.edge_sum[:] = 0.0

    Chain.restore = forgetful  # type: ignore[method-assign]


def forgets_best() -> None:
    """The best DAG so far is not in the checkpoint."""
    restore = Chain.restore

    def forgetful(self: Chain, snapshot: Any) -> None:
        restore(self, snapshot)
        self.trace.best_log_score[:] = -np.inf

    Chain.restore = forgetful  # type: ignore[method-assign]


def keeps_all_draws() -> None:
    """A restored chain adds to whatever is in the file, not to what the checkpoint knows."""
    restore = FileDraws.restore

    def greedy(self: FileDraws, known: dict[str, int]) -> None:
        restore(self, known)
        if self.path.exists():
            self._count = self.path.stat().st_size // self._record.itemsize

    FileDraws.restore = greedy  # type: ignore[method-assign]


def removes_draws_early() -> None:
    """The draws before a halving are removed before the checkpoint knows of the new ones."""
    halve = FileDraws.halve

    def early(self: FileDraws) -> None:
        halve(self)
        self.forget_outdated()

    FileDraws.halve = early  # type: ignore[method-assign]


def random_pieces() -> None:
    """No fault: pieces of any number of sweeps, other ones in every process."""
    next_stop = ChainRunner._next_stop
    rng = np.random.default_rng()

    def anywhere(self: ChainRunner, target: int) -> int:
        self._steps_per_second = SWEEP * float(rng.integers(1, 30))
        return next_stop(self, target)

    ChainRunner._next_stop = anywhere  # type: ignore[method-assign]
    import outpoint.runs.runner as runner

    runner.PIECE_SECONDS = 1.0


def halves_by_pieces() -> None:
    """Draws are halved when a piece happens to end with enough of them."""
    rng = np.random.default_rng()

    def careless(self: ChainRunner, target: int) -> int:
        return min((self.step // SWEEP + int(rng.integers(1, 30))) * SWEEP, target)

    def halve_late(self: ChainRunner) -> None:
        self._draws.append(self._chain.take_draws())
        if len(self._draws) >= 2 * self._settings.n_draws:
            self._draws.halve()
            self._chain.thin *= 2

    ChainRunner._next_stop = careless  # type: ignore[method-assign]
    ChainRunner._keep_draws = halve_late  # type: ignore[method-assign]
