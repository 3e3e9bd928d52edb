"""How messages are worded: counts and numbers, lists of names, and options.

Counts come with their nouns, values with their significant digits, and options as the reader of a
message writes them: by name in Python, by flag on the command line.

Whoever writes a message asks :func:`option` or :func:`named` for the words; the command line says
once, with :func:`command_line`, that its user is the reader.
"""

import csv
import io
import json
import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


def count_of(number: int, noun: str) -> str:
    """A count with its noun: 1 edge, 2 edges."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def write_number(value: float) -> str:
    """A number with three significant digits, zeros at the end included."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


_SHOWN = 8


def enumerate_names(names: Iterable[str], last: str = " and ", limit: int = _SHOWN) -> str:
    """'a', 'b' and 'c'; long lists are cut."""
    return enumerate_items([repr(name) for name in names], last, limit)


def enumerate_items(items: Sequence[str], last: str = " and ", limit: int = _SHOWN) -> str:
    """a, b and c; long lists are cut."""
    if len(items) > limit:
        return f"{', '.join(items[:limit])} and {len(items) - limit} more"
    return last.join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def suggest(name: str, names: Sequence[str]) -> str:
    """A question whether one of the names was meant; empty if none is similar."""
    close = get_close_matches(name, names, n=3)
    return f"did you mean {enumerate_names(close, ' or ')}?" if close else ""


def clip(text: str) -> str:
    """A cell as it is shown in a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


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
