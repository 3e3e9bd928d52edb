"""The command line: one file per command, each of which parses, calls and prints.

Exit codes: 0 done; 2 bad input, with one sentence on standard error; 130 interrupted.
"""

import os
import sys

import typer

from outpoint.cli.datasets import datasets
from outpoint.cli.learn import learn
from outpoint.errors import OutpointError

app = typer.Typer(
    name="outpoint",
    help="Bayesian inference over directed acyclic graphs. Start with: outpoint learn DATA",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(learn)
app.command()(datasets)


def _show_version(wanted: bool) -> None:
    if wanted:
        from outpoint import __version__

        typer.echo(f"outpoint {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """Bayesian inference over directed acyclic graphs."""


def main() -> None:
    """Run the command line; no failure shows a traceback unless OUTPOINT_TRACEBACK is set."""
    try:
        app()
    except OutpointError as error:
        _fail(str(error), 2)
    except KeyboardInterrupt:
        _fail("interrupted; nothing was written.", 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("out of memory: use fewer variables or a lower --max-parents.", 2)
    except Exception as error:
        if os.environ.get("OUTPOINT_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        _fail(f"unexpected failure ({what}); set OUTPOINT_TRACEBACK=1 for details.", 1)


def _fail(message: str, code: int) -> None:
    sys.stdout.flush()
    print(f"outpoint: {message}", file=sys.stderr)
    sys.exit(code)
