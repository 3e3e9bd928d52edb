"""What there is to say about a sampler, in one place."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from outpoint.mcmc.chain import Chain
from outpoint.mcmc.mixes import Settings
from outpoint.tables.parent_sets import Codes
from outpoint.tables.view import TableView

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
