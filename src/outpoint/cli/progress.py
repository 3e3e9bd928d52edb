"""What a long run shows on standard error while it works.

On a terminal: a bar, and below it a line per chain. Elsewhere: a line per stage, and one now and
then while chains run.
"""

from __future__ import annotations

from time import monotonic
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from outpoint.kernels import are_cached
from outpoint.runs import Progress

SECONDS_BETWEEN_LINES = 10.0


class RunProgress:
    """Shows the reports of :func:`outpoint.learn`."""

    def __init__(self, *, shown: bool, quiet: bool = False) -> None:
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
        on_terminal = shown and self._console.is_terminal
        self._live = (
            Live(self._bars, console=self._console, transient=True, refresh_per_second=4)
            if on_terminal
            else None
        )

    def __enter__(self) -> RunProgress:
        if self._console.is_terminal and not self._is_quiet and not are_cached():
            self._console.print(
                "compiling, once: the first run on a machine takes up to two minutes longer"
            )
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one report."""
        is_new = progress.stage not in self._stages
        if is_new:
            self._stages[progress.stage] = self._bars.add_task(progress.stage, total=1.0)
        task = self._stages[progress.stage]
        self._bars.update(task, completed=progress.fraction)
        if self._live is not None:
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
