"""The exceptions a user can meet; every message says what is wrong and what to do about it."""

LONGEST = 2000
"""Most characters of a message; names and values in it may be as long as files are."""


class OutpointError(Exception):
    """Base of all errors that outpoint raises on purpose; the command line exits with code 2."""

    def __str__(self) -> str:
        """The message; of a very long one the beginning and the end."""
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[:1500]} ... {text[-400:]}"


class DataError(OutpointError, ValueError):
    """The data cannot be read, or cannot be used with the chosen score."""


class OptionError(OutpointError, ValueError):
    """An option has a value that makes no sense, alone or together with another one."""


class GraphError(OutpointError, ValueError):
    """Something that should be a graph is not: a cycle, an unknown node, a broken file."""


class TooLargeError(OutpointError):
    """The problem does not fit the method or the memory; the message names an alternative."""


class CheckpointError(OutpointError):
    """A saved run cannot be read, cannot be written, or belongs to something else."""


def require(condition: object, what: str) -> None:
    """Raise a ValueError on wrong content of a file; the reader, who knows which file, says so."""
    if not condition:
        raise ValueError(what)
