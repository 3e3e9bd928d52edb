"""Running chains: for how long, by whom, and how to continue after an interruption."""

from outpoint.progress import ChainStatus, Progress, ProgressCallback
from outpoint.runs.directory import RunDirectory
from outpoint.runs.driving import Budget, Ending, drive
from outpoint.runs.manifest import (
    CANDIDATES,
    EFFORT,
    HOTTEST,
    LIMITS,
    REQUEST,
    SCORES,
    START,
    STARTS,
    STOPPING,
    open_run,
    saved_arrays,
    saved_facts,
)
from outpoint.runs.record import ChainRecord
from outpoint.runs.teams import ThreadTeam, WorkerTeam

__all__ = [
    "CANDIDATES",
    "EFFORT",
    "HOTTEST",
    "LIMITS",
    "REQUEST",
    "SCORES",
    "START",
    "STARTS",
    "STOPPING",
    "Budget",
    "ChainRecord",
    "ChainStatus",
    "Ending",
    "Progress",
    "ProgressCallback",
    "RunDirectory",
    "ThreadTeam",
    "WorkerTeam",
    "drive",
    "open_run",
    "saved_arrays",
    "saved_facts",
]
