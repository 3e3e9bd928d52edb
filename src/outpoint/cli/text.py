"""Text from data on a terminal: every character visible, none that moves the cursor."""


def printable(text: str) -> str:
    """``text`` in one line: line breaks and control characters are shown by their escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
