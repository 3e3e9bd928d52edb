"""Names in tables that a spreadsheet may open.

A cell that begins with ``=``, ``+``, ``-`` or ``@`` is a formula to a spreadsheet, and a formula
can start programs. An apostrophe before the mark makes it text. Spreadsheets disagree about what
ends a cell, so the same is done after every comma, semicolon, tab, line break and quote inside a
name. Reading takes one apostrophe away at each such place: every name comes back as it was.
"""

import re

_AT_START = r"""(?P<before>(?:\A|(?<=[,;\t\r\n"]))[^\S\t\r\n]*)"""
_MARK = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_FORMULA = re.compile(f"{_AT_START}(?='*{_MARK})")
_PROTECTED = re.compile(f"{_AT_START}'(?='*{_MARK})")


def protect_cell(name: str) -> str:
    """The name with an apostrophe wherever a spreadsheet would begin a formula."""
    return _FORMULA.sub(r"\g<before>'", name)


def restore_cell(cell: str) -> str:
    """The name that :func:`protect_cell` was given."""
    return _PROTECTED.sub(r"\g<before>", cell)
