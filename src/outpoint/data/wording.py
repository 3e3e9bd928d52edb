"""How lists and names are worded in messages."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

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
    """A question whether one of the names was meant; nothing if none is like this one."""
    close = get_close_matches(name, names, n=3)
    return f"did you mean {enumerate_names(close, ' or ')}?" if close else ""


def clip(text: str) -> str:
    """A cell as it is shown in a message."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
