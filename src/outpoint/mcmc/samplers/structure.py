"""Structure MCMC (paper section 3.1), alone or with the edge reversal move."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from outpoint.errors import require
from outpoint.kernels import lend
from outpoint.mcmc import mixes
from outpoint.mcmc.chain import Chain
from outpoint.mcmc.dag import total_score
from outpoint.mcmc.restoring import check_codes
from outpoint.mcmc.samplers.base import Sampler
from outpoint.mcmc.settings import Settings
from outpoint.mcmc.structure_chain import (
    make_structure_chain,
    run_structure_chain,
    start_structure_chain,
)
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView, most_parents


class StructureChain(Chain):
    """A chain on DAGs, with or without standard reversals and the REV move."""

    def __init__(
        self,
        view: TableView,
        settings: Settings,
        start: Codes,
        rng: np.random.Generator,
        *,
        rev: float = 0.0,
    ) -> None:
        super().__init__(view, settings, start, rng)
        self._rev = rev
        self._limits = (settings.max_parents, settings.edge_reversals)
        self._state = make_structure_chain(len(view.candidates), most_parents(view))
        self._lent_state = lend(self._state)
        start_structure_chain(view, self._state, start, *self._limits)

    def _state_arrays(self) -> dict[str, NDArray[Any]]:
        return {"code": self._state.dag.code}

    def _check_state(self) -> None:
        codes = self._state.dag.code.copy()
        check_codes(self._view, codes[None])
        require(np.isfinite(total_score(self._view, codes)), "its DAG has no score")
        start_structure_chain(self._view, self._state, codes, *self._limits)

    def _run(self, first_step: int, n_steps: int, recording: bool) -> None:
        run_structure_chain(
            self._lent_view,
            self._lent_state,
            self._rev,
            *self._limits,
            self.thin,
            self._edge_thin,
            self._lent_trace,
            first_step,
            n_steps,
            recording,
            self._rng,
        )


STRUCTURE = Sampler(
    name="structure",
    summary="structure MCMC: one edge at a time",
    start=StructureChain,
)
STRUCTURE_REV = Sampler(
    name="structure+rev",
    summary="structure MCMC with edge reversals",
    start=partial(StructureChain, rev=mixes.REV_SHARE),
)
