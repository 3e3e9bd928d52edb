"""Options as the reader of a message writes them: by name in Python, by flag on the command line.

Whoever writes a message asks :func:`option` or :func:`named` for the words; the command line says
once, with :func:`command_line`, that its user is the reader.
"""

import csv
import io
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

OWN_FLAGS = {
    "n_draws": "--draws",
    "n_obs": "--observations",
    "standardize": "--raw-units",
}
"""Options whose flag is not their name in Python; the declaration of options adds its own."""

SAYS_NO = ("standardize",)
"""Options whose flag means False."""

REPEATED = ("roots",)
"""Options of which each flag takes one name."""

SHOWN = 8
"""Most columns that an option is written out with."""

_flags_are_read = False


@contextmanager
def command_line() -> Iterator[None]:
    """While this is entered, messages name the flags of the command line, in every thread."""
    before = speaks_in_flags()
    speak_in_flags(True)
    try:
        yield
    finally:
        speak_in_flags(before)


def speak_in_flags(wanted: bool) -> None:
    """Have messages name flags from now on, or the options of Python."""
    global _flags_are_read
    _flags_are_read = wanted


def speaks_in_flags() -> bool:
    """Whether messages are read at the command line."""
    return _flags_are_read


def flag(name: str) -> str:
    """The flag of an option that is called ``name`` in Python."""
    return OWN_FLAGS.get(name, f"--{name.replace('_', '-')}")


def named(name: str) -> str:
    """The name of an option: ``max_parents`` or ``--max-parents``; other words stay as they are."""
    return flag(name) if _flags_are_read and name.isidentifier() else name


def option(name: str, value: Any = ...) -> str:
    """An option with a value, ready to be copied: ``drop=["x"]`` or ``--drop x``.

    Without a value, and with long lists, the reader fills it in.
    """
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) > SHOWN:
        return f"{flag(name)} ..." if _flags_are_read else f"{name}=[...]"
    return _as_flag(name, value) if _flags_are_read else f"{name}={_as_python(value)}"


def join_group(names: Sequence[str]) -> str:
    """Names separated by commas, in double quotes where a name holds one."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def _as_python(value: Any) -> str:
    if value is ...:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return json.dumps(list(value), ensure_ascii=False)
    return repr(value)


def _as_flag(name: str, value: Any) -> str:
    own = flag(name)
    if value is ...:
        return own
    if isinstance(value, bool):
        return own if value is not (name in SAYS_NO) else f"--no-{own.removeprefix('--')}"
    if isinstance(value, Mapping):
        value = [f"{column}:{size}" for column, size in value.items()]
    if name in REPEATED:
        return " ".join(f"{own} {shlex.quote(one)}" for one in value)
    text = str(value) if isinstance(value, str | int | float) else join_group(value)
    return f"{own} {shlex.quote(text)}"
