"""Variables of the environment that would stop Numba from being imported, set aside in time.

Numba reads NUMBA_NUM_THREADS when it is imported, and then fails, or prints a traceback, if that is
not a number. :mod:`outpoint.processors` goes without such a variable, and so does Numba if this
module is imported first.
"""

import os


def _set_aside(name: str) -> str:
    """Remove a variable that is not a whole number from 1, and say so; empty if it is one."""
    value = os.environ.get(name, "1").strip()
    if value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0:
        return ""
    del os.environ[name]
    return f"{name} is ignored, as it is not a whole number from 1 but {value[:40]!r}."


ignored = _set_aside("NUMBA_NUM_THREADS")
"""A sentence about what was set aside, if anything was."""
