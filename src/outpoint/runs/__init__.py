"""Running chains: how many, for how long, on what."""

from outpoint.runs.threads import run_chains

__all__ = ["run_chains"]
