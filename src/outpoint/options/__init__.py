"""The options of a run: declared once, checked in one wording, carried in one value.

A function whose options are declared is a signature for readers, and the work behind it.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

from outpoint.kinds import in_brief, refuse
from outpoint.options.declaration import OPTIONS, Options, names_of, options_of
from outpoint.options.option import FIT, LEARN, LOAD, MAP, SAMPLING_ROLES, SCORE, Option, Role

__all__ = [
    "FIT",
    "LEARN",
    "LOAD",
    "MAP",
    "OPTIONS",
    "SAMPLING_ROLES",
    "SCORE",
    "Option",
    "Options",
    "Role",
    "carried_out_by",
    "in_brief",
    "keeps_arguments",
    "names_of",
    "options_of",
    "refuse",
]


F = TypeVar("F", bound=Callable[..., Any])


def carried_out_by(work: Callable[..., Any]) -> Callable[[F], F]:
    """Decorate a function that is only a signature and its description.

    A call checks the options and hands them to ``work`` as one value, after the arguments that are
    not options, such as the data.
    """

    def decorate(front: F) -> F:
        parameters = signature(front)

        @wraps(front)
        def call(*values: Any, **named: Any) -> Any:
            try:
                bound = parameters.bind(*values, **named)
            except TypeError as error:
                raise TypeError(f"{front.__name__}() {error}") from None
            given = bound.arguments
            others = [given.pop(name) for name in parameters.parameters if name not in OPTIONS]
            return work(*others, Options.read(front.__name__, given))

        return cast(F, call)

    return decorate


def keeps_arguments(init: F) -> F:
    """Decorate an initializer that keeps every argument, as it is, under its own name."""
    parameters = signature(init)

    @wraps(init)
    def keep(self: Any, *values: Any, **named: Any) -> None:
        bound = parameters.bind(self, *values, **named)
        bound.apply_defaults()
        own = list(bound.arguments.items())[1:]
        for name, value in own:
            setattr(self, name, value)

    return cast(F, keep)
