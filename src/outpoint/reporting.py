"""Who writes the report: it is built on top of posteriors, and yet they can be asked for it.

The package itself, which stands above all of its parts, says here where the report comes from when
it is imported; posteriors ask, and know nothing of the report but how it is called.
"""

from collections.abc import Callable
from pathlib import Path

WriteReport = Callable[..., Path]
"""Takes a posterior and a path, and as keywords ``command`` and ``data``."""

_sources: list[Callable[[], WriteReport]] = []


def provide_report(source: Callable[[], WriteReport]) -> None:
    """Let ``source`` load what writes reports, when one is first asked for."""
    _sources[:] = [source]


def report_writer() -> WriteReport:
    """What writes reports."""
    return _sources[0]()
