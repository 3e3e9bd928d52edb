"""What kernels a run calls, with arguments of which types: the list in ``outpoint/ahead.json``.

``python -m tests.kernel_list`` writes it anew, after a change of a kernel or of its arguments.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import local
from typing import Any
from unittest.mock import patch

import numba
import numpy as np
from numba.core import types

from outpoint import ahead
from outpoint.ahead import LIST, kind_of_run
from outpoint.borrowing import Borrowed, lend
from outpoint.cli import main
from outpoint.kernels import Kernel

SHORT = ["--steps", "400", "--draws", "20", "--chains", "2"]
NARROWED = [*SHORT, "--search-effort", "0.1", "--pilots", "1"]

Call = tuple[str, tuple[Any, ...]]


def write_table(path: Path, kinds: str, repeated: int) -> None:
    """Write random columns that depend on each other: ``n`` for numbers, ``c`` for categories."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(80, repeated * len(kinds)))
    numbers[:, 1:] += 0.5 * numbers[:, :-1]
    columns = [
        numbers[:, i] if kind == "n" else np.digitize(numbers[:, i], [-0.5, 0.5])
        for i, kind in enumerate(kinds * repeated)
    ]
    rows = [
        ",".join(f"{value:.3f}" if kind == "n" else "abc"[int(value)] for kind, value in row)
        for row in (
            zip(kinds * repeated, values, strict=True) for values in zip(*columns, strict=True)
        )
    ]
    names = ",".join(f"x{i}" for i in range(len(columns)))
    path.write_text("\n".join([names, *rows, ""]))


RUNS = {
    kind_of_run(method, score, repeated * len(kinds)): (method, score, kinds, repeated)
    for method, repeated in (("exact", 1), ("mcmc", 1), ("mcmc", 6))
    for score, kinds in (("bge", "nnnn"), ("bdeu", "cccc"), ("blocks", "ncnc"))
}
"""By kind of run: the method, the score, and columns so many times."""


def calls_of(run: str, folder: Path) -> list[Call]:
    """The kernels that the command for such a run calls, with the types of their arguments."""
    method, score, kinds, repeated = RUNS[run]
    data = folder / "table.csv"
    write_table(data, kinds, repeated)
    lengths = [] if method == "exact" else NARROWED if repeated > 1 else SHORT
    options = ["--method", method, "--score", score, "--seed", "1", *lengths]
    words = ["learn", str(data), *options, "--out", str(folder / "run")]
    calls: dict[Call, None] = {}
    with (
        recorded(lambda call: calls.setdefault(call)),
        patch.object(ahead, "is_needed", return_value=False),
        patch.object(sys, "argv", ["outpoint", *words]),
        patch.object(sys, "stdout", StringIO()),
    ):
        main()
    return list(calls)


@contextmanager
def recorded(tell: Callable[[Call], Any]) -> Iterator[None]:
    """Tell of every kernel that Python calls, or that is compiled to be called by its address."""
    call, compile_for, inner = Kernel.__call__, Kernel.compile, local()

    def told(self: Kernel, kinds: tuple[Any, ...], act: Callable[[], Any]) -> Any:
        if getattr(inner, "is_busy", False):
            return act()
        tell((f"{self.py_func.__module__}.{self.py_func.__qualname__}", kinds))
        inner.is_busy = True
        try:
            return act()
        finally:
            inner.is_busy = False

    def called(self: Kernel, *arguments: Any) -> Any:
        kinds = tuple(numba.typeof(lend(argument)) for argument in arguments)
        return told(self, kinds, lambda: call(self, *arguments))

    def compiled(self: Kernel, kinds: Any) -> Any:
        return told(self, kinds, lambda: compile_for(self, kinds))

    with patch.object(Kernel, "__call__", called), patch.object(Kernel, "compile", compiled):
        yield


class Writer:
    """Makes the content of the list."""

    def __init__(self) -> None:
        self.kernels: list[list[str]] = []
        self.tuples: dict[str, list[str]] = {}
        self.runs: dict[str, list[int]] = {}

    def add(self, run: str, calls: list[Call]) -> None:
        """List the kernels of a run."""
        self.runs[run] = []
        for name, kinds in calls:
            line = [name, *map(self._write, kinds)]
            if line not in self.kernels:
                self.kernels.append(line)
            self.runs[run].append(self.kernels.index(line))

    def _write(self, kind: Any) -> str:
        if isinstance(kind, Borrowed):
            return self._write_tuple(kind.kind)
        if isinstance(kind, types.Array):
            return f"{kind.dtype} {kind.ndim}{kind.layout}{'' if kind.mutable else ' const'}"
        return "rng" if kind == types.npy_rng else str(kind)

    def _write_tuple(self, kind: Any) -> str:
        own = kind.instance_class
        fields = [
            self._write_tuple(field) if isinstance(field, types.BaseTuple) else self._write(field)
            for field in kind
        ]
        content = [f"{own.__module__}.{own.__qualname__}", *fields]
        number = 1
        while self.tuples.setdefault(f"{own.__name__}-{number}", content) != content:
            number += 1
        return f"{own.__name__}-{number}"

    @property
    def text(self) -> str:
        """The list as it is kept."""
        parts = [
            _lines(
                "tuples",
                "{}",
                [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.tuples.items()],
            ),
            _lines("kernels", "[]", [json.dumps(line) for line in self.kernels]),
            _lines(
                "runs", "{}", [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in self.runs.items()]
            ),
        ]
        return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(name: str, brackets: str, lines: list[str]) -> str:
    return f'"{name}": {brackets[0]}\n' + ",\n".join(lines) + f"\n{brackets[1]}"


def write_list() -> None:
    """Write the list of all kinds of runs."""
    writer = Writer()
    for run in RUNS:
        with tempfile.TemporaryDirectory() as folder:
            writer.add(run, calls_of(run, Path(folder)))
    LIST.write_text(writer.text)


if __name__ == "__main__":
    write_list()
