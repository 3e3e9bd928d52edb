"""What the columns of a table of slices are: variables, their values before, and static ones."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Slices:
    """How a table was made of a series.

    Each row holds a time and the ``lags`` before it, ``x[-1]`` being x one time before. ``static``
    columns do not change within a subject, or follow from their values before. Variables may depend
    on others at the same time if they are ``contemporaneous``.
    """

    lags: int
    static: tuple[str, ...] = ()
    contemporaneous: bool = True

    def variables(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of the time itself."""
        given = set(self.given(names))
        return tuple(name for name in names if name not in given)

    def given(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are causes only: lagged and static ones."""
        earlier = {lagged_name(name, lag) for name in names for lag in range(1, self.lags + 1)}
        return tuple(name for name in names if name in earlier or name in self.static)


def lagged_name(name: str, lag: int) -> str:
    """The name of the column that holds a variable ``lag`` times before."""
    return f"{name}[-{lag}]" if lag else name
