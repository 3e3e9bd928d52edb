"""The paper's experiments again: the same data, samplers, chain lengths and number of seeds.

:func:`reproduce` runs one of them and writes what it found: a file for each sampler, figures, and
tables that show our runs beside the paper's and beside the exact posterior.
"""

from outpoint.experiments.experiment import reproduce
from outpoint.experiments.problems import PROBLEMS
from outpoint.experiments.runs import FULL, QUICK, Extent

__all__ = ["FULL", "PROBLEMS", "QUICK", "Extent", "reproduce"]
