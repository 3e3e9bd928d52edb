"""Posteriors over DAGs, the answers they give and the files they become."""

from outpoint.posterior.exact import ExactPosterior
from outpoint.posterior.files import check_writable, summarize, write_run
from outpoint.posterior.posterior import Posterior, RunInfo
from outpoint.posterior.sampled import SampledPosterior

__all__ = [
    "ExactPosterior",
    "Posterior",
    "RunInfo",
    "SampledPosterior",
    "check_writable",
    "summarize",
    "write_run",
]
