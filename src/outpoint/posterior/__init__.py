"""Posteriors over DAGs, the answers they give and the files they become."""

from outpoint.posterior.comparison import PosteriorComparison, TruthComparison, compare_posteriors
from outpoint.posterior.consensus import ConsensusWarning
from outpoint.posterior.estimates import Estimate
from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.export import read_edges
from outpoint.posterior.files import load, summarize, write_run
from outpoint.posterior.info import RunInfo
from outpoint.posterior.posterior import Posterior
from outpoint.posterior.reweighting import WeightedPosterior, WeightWarning
from outpoint.posterior.sampled import SampledPosterior

__all__ = [
    "ConsensusWarning",
    "Estimate",
    "ExactPosterior",
    "Posterior",
    "PosteriorComparison",
    "RunInfo",
    "SampledPosterior",
    "TruthComparison",
    "WeightWarning",
    "WeightedPosterior",
    "compare_posteriors",
    "load",
    "read_edges",
    "summarize",
    "write_run",
]
