"""Posteriors over DAGs, the answers they give and the files they become."""

from outpoint.posterior.files import check_writable, summarize, write_run
from outpoint.posterior.posterior import Posterior, RunInfo

__all__ = ["Posterior", "RunInfo", "check_writable", "summarize", "write_run"]
