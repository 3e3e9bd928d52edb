"""How numbers are written: counts with their nouns, values with the digits that mean something."""

import math


def count_of(number: int, noun: str) -> str:
    """A count with its noun: 1 edge, 2 edges."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def write_number(value: float) -> str:
    """A number with three digits that mean something, zeros at the end included."""
    if value == 0:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
