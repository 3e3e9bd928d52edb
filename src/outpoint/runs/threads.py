"""Several chains side by side, in threads on one shared table."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from outpoint.kernels import n_threads
from outpoint.mcmc import Chain, Settings, start_chain
from outpoint.mcmc.samplers import Masks, pieces, scattered_start
from outpoint.tables.view import TableView

PIECES = 20
"""Pieces a chain is run in, so that progress can be shown and a run interrupted."""


def run_chains(
    view: TableView,
    settings: Settings,
    start: Masks,
    *,
    n_chains: int,
    n_steps: int,
    n_warmup: int,
    seed: int,
    scatter: bool,
    progress: Callable[[float], None] | None = None,
) -> list[Chain]:
    """Run ``n_chains`` chains; the same seed gives the same draws on any machine.

    The first chain begins at ``start``; with ``scatter`` the others begin somewhere else.
    """
    streams = np.random.SeedSequence(seed).spawn(n_chains)
    done = np.zeros(n_chains)
    stopped = False
    reporting = Lock()

    def run(index: int) -> Chain:
        rng = np.random.default_rng(streams[index])
        begin = scattered_start(view, start, rng) if scatter and index > 0 else start
        chain = start_chain(view, settings, begin, rng)
        chain.warm_up(n_warmup)
        for piece, n_piece in enumerate(pieces(n_steps, PIECES)):
            if stopped:
                break
            chain.advance(n_piece)
            done[index] = (piece + 1) / PIECES
            if progress is not None:
                with reporting:
                    progress(float(done.mean()))
        return chain

    with ThreadPoolExecutor(min(n_chains, n_threads())) as pool:
        futures = [pool.submit(run, index) for index in range(n_chains)]
        try:
            return [future.result() for future in futures]
        finally:
            stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
