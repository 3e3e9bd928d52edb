"""The steps of chains on partitions, compiled for what a run does and called by their address."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from outpoint.borrowing import address_of, lend, loan_address
from outpoint.mcmc.crossover import begin_sweep, end_sweep, make_crossover
from outpoint.mcmc.moves import MOVES
from outpoint.mcmc.moves.families import FAMILIES_TOGETHER
from outpoint.mcmc.moves.node_gibbs import PLACEMENT
from outpoint.mcmc.moves.outside import REDRAW
from outpoint.mcmc.moves.parents import NEW_PARENTS
from outpoint.mcmc.moves.proposals import PROPOSED
from outpoint.mcmc.moves.rev import REVERSALS
from outpoint.mcmc.partition import make_partition
from outpoint.mcmc.replicas import Ladder, Replicas
from outpoint.mcmc.trace import Trace
from outpoint.tables.view import TableView, most_parents

STEPS = {
    step.name: step
    for step in (*PROPOSED, PLACEMENT, REVERSALS, NEW_PARENTS, REDRAW, FAMILIES_TOGETHER)
}
"""What a chain on partitions can do besides staying still."""

BEGIN, END = len(MOVES), len(MOVES) + 1
"""Where the addresses of what replicas do before and after a sweep stand, behind the moves."""


class Steps(NamedTuple):
    """Addresses of the steps by the numbers of their moves, and of the scratch space of each."""

    kernel: NDArray[Any]
    scratch: NDArray[Any]


def compile_steps(
    view: TableView,
    replicas: Replicas,
    ladder: Ladder,
    plan: Any,
    trace: Trace,
    rng: np.random.Generator,
) -> tuple[Steps, list[Any]]:
    """The steps that ``plan`` gives a share, and their scratch space, which the caller keeps."""
    steps = Steps(*(np.zeros(len(MOVES) + 2, _ADDRESS) for _ in range(2)))
    loans = []

    def add(number: int, kernel: Any, scratch: Any, *arguments: Any) -> None:
        loans.append(lend(scratch))
        steps.scratch[number] = loan_address(loans[-1])
        steps.kernel[number] = address_of(kernel, *arguments)

    shares = np.diff(plan.cumulative, prepend=0.0)
    state = make_partition(len(view.candidates))
    for number, name in enumerate(MOVES):
        if shares[number] > 0.0 and name in STEPS:
            take, scratch = STEPS[name].take, STEPS[name].make_scratch(view)
            add(number, take, scratch, number, view, state, scratch, plan, 1.0, True, trace, rng)
    if len(replicas.slot) > 1:
        crossing = make_crossover(len(view.candidates), most_parents(view))
        for number, kernel in ((BEGIN, begin_sweep), (END, end_sweep)):
            add(number, kernel, crossing, view, replicas, ladder, crossing, plan, 0, rng)
    return steps, loans


_ADDRESS = object if numba.config.DISABLE_JIT else np.int64
