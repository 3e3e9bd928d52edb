"""What a long run shows while it works.

On a terminal: a bar, and below it a line per chain. In a notebook: one line, which changes.
Elsewhere: a line per stage on standard error, and one now and then while chains run.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from types import TracebackType
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from outpoint.kernels import are_cached
from outpoint.progress import FractionCallback, Progress, ProgressCallback, say_nothing

SECONDS_BETWEEN_LINES = 10.0
PATIENCE = 2.0
"""Seconds after which a run in Python begins to show how far it is."""

GivenProgress = bool | ProgressCallback | None


@contextmanager
def shown(progress: GivenProgress) -> Iterator[ProgressCallback | None]:
    """What a user asked for as a callback: their own, one that shows reports, or none."""
    if progress is not None and not isinstance(progress, bool):
        yield progress
    elif progress or (progress is None and (_in_notebook() or Console(stderr=True).is_terminal)):
        with RunProgress(shown=True, patience=0.0 if progress else PATIENCE) as showing:
            yield showing
    else:
        yield None


@contextmanager
def shown_stage(progress: GivenProgress, stage: str) -> Iterator[FractionCallback]:
    """For work of one stage: what is to be told the fraction that is done."""
    with shown(progress) as show:
        yield say_nothing if show is None else lambda done: show(Progress(stage, done))


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook, which shows what it is told to display."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _NotebookLine:
    """A line in the output of a cell, which is changed in its place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, text: str) -> None:
        """Let the line be this text."""
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        content = {"text/plain": text}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)

    def clear(self) -> None:
        """Leave nothing behind."""
        if self._handle is not None:
            self._handle.update({"text/html": ""}, raw=True)


class RunProgress:
    """Shows the reports of :func:`outpoint.learn`."""

    def __init__(self, *, shown: bool, quiet: bool = False, patience: float = 0.0) -> None:
        self._since = monotonic() + patience
        self._notebook = _NotebookLine() if shown and _in_notebook() else None
        self._console = Console(stderr=True)
        self._is_quiet = quiet
        self._shown = shown
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        self._stages: dict[str, TaskID] = {}
        self._last_line = monotonic()
        on_terminal = shown and self._console.is_terminal and self._notebook is None
        self._live = (
            Live(self._bars, console=self._console, transient=True, refresh_per_second=4)
            if on_terminal
            else None
        )

    def __enter__(self) -> RunProgress:
        if self._console.is_terminal and not self._is_quiet and not are_cached():
            self._console.print(
                "compiling, once: this takes about 10 seconds for an exact posterior, and half a "
                "minute for a sampled one"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self._notebook is not None:
            self._notebook.clear()

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        is_new = progress.stage not in self._stages
        if is_new:
            self._stages[progress.stage] = self._bars.add_task(progress.stage, total=1.0)
        task = self._stages[progress.stage]
        self._bars.update(task, completed=progress.fraction)
        if monotonic() < self._since:
            return
        if self._notebook is not None:
            self._notebook.show(_line(progress))
        elif self._live is not None:
            self._live.start()
            chains = [_chain_table(progress)] if progress.chains else []
            self._live.update(Group(self._bars, *chains))
        elif self._shown and is_new:
            self._print(f"{progress.stage} ...")
        elif self._shown and monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._print(_line(progress))

    def _print(self, line: str) -> None:
        self._last_line = monotonic()
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def _line(progress: Progress) -> str:
    parts = [f"{progress.stage}: {progress.fraction:.0%}"]
    if progress.chains:
        parts.append(f"{min(chain.step for chain in progress.chains):,} steps per chain")
        parts.append(f"best log score {max(chain.best_log_score for chain in progress.chains):.2f}")
    return ", ".join(parts + _speed(progress))


def _speed(progress: Progress) -> list[str]:
    parts = []
    if progress.steps_per_second:
        parts.append(f"{progress.steps_per_second:,.0f} steps/s")
    if progress.rhat is not None:
        parts.append(f"R-hat of the log score {progress.rhat:.3f}")
    return parts


def _chain_table(progress: Progress) -> Table:
    table = Table(box=None, pad_edge=False, caption=", ".join(_speed(progress)) or None)
    for heading in ("chain", "steps", "log score", "best"):
        table.add_column(heading, justify="right")
    for number, chain in enumerate(progress.chains):
        log_score = f"{chain.log_scores[-1]:.2f}" if len(chain.log_scores) else "warming up"
        best = f"{chain.best_log_score:.2f}"
        table.add_row(str(number), f"{chain.step:,}", log_score, best)
    return table
