"""Pages of the site that are made when it is built, so that nothing is written twice.

The first page is the README; CONTRIBUTING and CHANGELOG are pages; the reference of the command
line is read from the commands themselves. Docstrings refer to each other in the way of Sphinx,
which becomes links here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from typer.main import get_command

import outpoint as op
from outpoint.cli import app

ROOT = Path(__file__).parent.parent
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
}

COMMAND_LINE = """# Command line

Everything `outpoint COMMAND --help` says. Results go to standard output, progress and complaints to
standard error. The exit code is 0 if all went well, 2 for bad input (one sentence says what is
wrong), 3 if the work is done but standard output could not be written (it is full, closed, or
nobody reads it), 130 after an interruption, and 1 for a fault of outpoint itself.
"""

ROLE = re.compile(r":(?:class|func|meth|mod|exc):`~?([\w.]+)`")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made here."""
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=_move_links(text)))
    text = "\n".join([COMMAND_LINE, *_describe_commands()])
    files.append(File.generated(config, "api/command-line.md", content=text))
    return files


def _move_links(text: str) -> str:
    """Links of a page at the top of the project as they are on the site."""
    for source, target in PAGES.items():
        text = text.replace(f"]({source})", f"]({target})")
    return text.replace("](docs/", "](").replace('src="docs/', 'src="')


def _describe_commands() -> Iterator[str]:
    group: Any = get_command(app)
    for name, command in group.commands.items():
        text, _, example = command.help.partition("Example:")
        arguments = [param for param in command.params if param.param_type_name == "argument"]
        words = " ".join(_placeholder(argument) for argument in arguments)
        yield f"## outpoint {name}\n\n{text.strip()}\n"
        yield f"```text\noutpoint {name} [OPTIONS] {words}\n```\n"
        if example:
            yield f"Example:\n\n```sh\n{example.strip()}\n```\n"
        yield from _describe_parameters(command.params)


def _describe_parameters(params: list[Any]) -> Iterator[str]:
    panels: dict[str, list[Any]] = {}
    for param in params:
        is_argument = param.param_type_name == "argument"
        panel = "Arguments" if is_argument else getattr(param, "rich_help_panel", None) or "Options"
        panels.setdefault(panel, []).append(param)
    for panel, members in panels.items():
        yield f"| {panel} | |\n|---|---|"
        for param in members:
            yield f"| {_name(param)} | {param.help or ''}{_default(param)} |"
        yield ""


def _name(param: Any) -> str:
    if param.param_type_name == "argument":
        return f"`{_placeholder(param)}`"
    takes_value = not param.is_flag and param.metavar
    spelled = ", ".join(f"`{name}`" for name in reversed(param.opts))
    return f"{spelled} `{param.metavar}`" if takes_value else spelled


def _placeholder(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _default(param: Any) -> str:
    if param.default in (None, False) or param.required or "default" in (param.help or ""):
        return ""
    return f" Default: `{param.default}`."


class SphinxRoles(griffe.Extension):
    """Roles such as :class:`Dag` in docstrings, as links where there is a page to link to."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda role: _link(role[1], obj), obj.docstring.value)


def _link(name: str, where: griffe.Object) -> str:
    own = where.parent.name if where.parent is not None and where.parent.is_class else ""
    for path in (name.removeprefix("outpoint."), f"{own}.{name}"):
        head, _, member = path.partition(".")
        if head in op.__all__ and (not member or hasattr(getattr(op, head), member)):
            return f"[`{name.rpartition('.')[2]}`][outpoint.{path}]"
    return f"`{name}`"
