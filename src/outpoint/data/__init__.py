"""Data: the validated :class:`Dataset`, readers for files and frames, simulation, bundled sets."""

from outpoint.data import bundled
from outpoint.data.dataset import Dataset
from outpoint.data.interventions import Entry
from outpoint.data.loading import load_dataset
from outpoint.data.series import load_series
from outpoint.data.simulate import draw_tables, simulate, simulate_from_tables
from outpoint.data.simulate_series import simulate_series
from outpoint.data.sources import Data

__all__ = [
    "Data",
    "Dataset",
    "Entry",
    "bundled",
    "draw_tables",
    "load_dataset",
    "load_series",
    "simulate",
    "simulate_from_tables",
    "simulate_series",
]
