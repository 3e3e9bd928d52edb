"""Missing values: tables completed again and again, so that what is missing is integrated out."""

from outpoint.missing.cells import Cells
from outpoint.missing.chain import AugmentedChain, Engine, Solved
from outpoint.missing.models import HAVE_MODELS, make_cells

__all__ = [
    "HAVE_MODELS",
    "AugmentedChain",
    "Cells",
    "Engine",
    "Solved",
    "make_cells",
]
