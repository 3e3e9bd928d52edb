"""How values show themselves in a notebook: a line and a small table, whatever the names in it."""

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

SHOWN = 20
"""Most rows of a table."""


def as_html(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], note: str = ""
) -> str:
    """A title in bold, a note and a table of the first rows; all of it is text, never markup."""
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>"
        for row in islice(rows, SHOWN)
    )
    below = f"<br>{escape(note)}" if note else ""
    return (
        f"<div><p><b>{escape(title)}</b>{below}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def first_of(total: int, what: str) -> str:
    """A note where a table shows only some of its rows; empty if it shows all."""
    return f"the first {SHOWN} of {total:,} {what}" if total > SHOWN else ""


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else escape(str(value))
