"""Kernels compiled ahead of need, by processes other than the one that needs them.

On a machine where nothing is compiled yet, a run would wait for one kernel after the other. Which
ones it calls, in which order and with arguments of which types, is listed in ``ahead.json`` by kind
of run; ``python -m tests.kernel_list`` writes it down and a test compares. Helpers, which are
processes of their own, compile those that are not in the cache, beginning with the last, while the
run begins with the first. At a kernel that another process is compiling, the run waits and a helper
goes on to the next. Helpers say nothing, and end with the run, however it ends.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import numba
from numba.core import types

from outpoint.borrowing import Borrowed
from outpoint.kernels import Kernel
from outpoint.processors import n_threads

MOST_HELPERS = 3
LIST = Path(__file__).with_name("ahead.json")


def kind_of_run(method: str, score: str, n_nodes: int) -> str:
    """The name under which the kernels of such runs are listed, if they are."""
    size = "" if method == "exact" else ", narrowed" if n_nodes > 20 else ""
    return f"{method}, {score}{size}"


@contextmanager
def helpers(run: str) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Let other processes compile what a run of this kind needs, if there are processors for it."""
    started: list[subprocess.Popen[bytes]] = []
    number = min(n_threads() - 1, MOST_HELPERS)
    try:
        if number > 0 and sys.executable and not numba.config.DISABLE_JIT and is_needed(run):
            with suppress(OSError):  # a machine that starts no more processes
                for _ in range(number):
                    started.append(_start(run))
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _start(run: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", "-m", "outpoint.ahead", run]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)


def is_needed(run: str) -> bool:
    """Whether kernels of such a run have to be compiled."""
    return not all(kernel.is_cached(kinds) for kernel, kinds in listed(run))


def listed(run: str) -> list[tuple[Kernel, tuple[Any, ...]]]:
    """The kernels that a run of this kind calls, in order, each with the types of its arguments."""
    content = _read()
    found = []
    for number in content["runs"].get(run, []):
        name, *kinds = content["kernels"][number]
        found.append((_find(name), tuple(map(_parse, kinds))))
    return found


@cache
def _read() -> dict[str, Any]:
    return dict(json.loads(LIST.read_text("utf-8")))


def _find(name: str) -> Any:
    module, _, own = name.rpartition(".")
    return getattr(import_module(module), own)


@cache
def _parse(text: str) -> Any:
    """The type of a number, an array (its items, dimensions and order) or a tuple that is lent."""
    words = text.split()
    if words[0] in _read()["tuples"]:
        return Borrowed(_parse_tuple(words[0]))
    if len(words) == 1:
        return types.npy_rng if text == "rng" else getattr(types, text)
    items, shape, *rest = words
    return types.Array(getattr(types, items), int(shape[:-1]), shape[-1], readonly=bool(rest))


def _parse_tuple(name: str) -> Any:
    path, *fields = _read()["tuples"][name]
    is_tuple = _read()["tuples"].__contains__
    own = [_parse_tuple(field) if is_tuple(field) else _parse(field) for field in fields]
    return types.BaseTuple.from_types(own, _find(path))


def main(run: str) -> None:
    """Compile, beginning with the last kernel, until all are done or the parent process is gone."""
    Thread(target=_end_with_parent, daemon=True).start()
    for kernel, kinds in reversed(listed(run)):
        kernel.compile_ahead(kinds)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # nothing is written: this returns when its other end is closed
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1])
