"""Options that belong together and that several commands have, declared once.

A command takes one parameter for a :class:`Group` of options and is decorated with :func:`takes`:
on the command line the options stand in its place, and the command is handed what they mean.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, get_type_hints


class Group(NamedTuple):
    """Options by name with their declaration and default, and what is made of what was given."""

    options: dict[str, tuple[Any, Any]]
    make: Callable[[dict[str, Any]], Any]


def takes(**groups: Group) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command that has a parameter for each of the groups."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        parameters = []
        for name, parameter in signature.parameters.items():
            if name not in groups:
                parameters.append(parameter.replace(annotation=hints[name]))
                continue
            parameters += [
                inspect.Parameter(one, parameter.kind, default=default, annotation=annotation)
                for one, (annotation, default) in groups[name].options.items()
            ]

        @wraps(command)
        def with_groups(**words: Any) -> None:
            for name, group in groups.items():
                words[name] = group.make({one: words.pop(one) for one in group.options})
            command(**words)

        with_groups.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        with_groups.__annotations__ = {one.name: one.annotation for one in parameters}
        return with_groups

    return decorate
