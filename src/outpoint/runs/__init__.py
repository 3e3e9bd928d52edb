"""Running chains: for how long, by whom, and how to continue after an interruption."""

from outpoint.runs.driving import Budget, Ending, drive
from outpoint.runs.manifest import PRIVATE, opened_run, remove_run, saved_facts
from outpoint.runs.progress import ChainStatus, Progress, Report
from outpoint.runs.record import ChainRecord
from outpoint.runs.runner import RunPlan
from outpoint.runs.teams import ThreadTeam, WorkerTeam

__all__ = [
    "PRIVATE",
    "Budget",
    "ChainRecord",
    "ChainStatus",
    "Ending",
    "Progress",
    "Report",
    "RunPlan",
    "ThreadTeam",
    "WorkerTeam",
    "drive",
    "opened_run",
    "remove_run",
    "saved_facts",
]
