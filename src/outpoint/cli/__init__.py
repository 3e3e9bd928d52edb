"""The command line: one file per command, each of which parses, calls and prints.

Exit codes: 0 done; 2 bad input, with one sentence on standard error; 3 done, but standard output
could not be written; 130 interrupted; 1 anything unforeseen, a fault of outpoint and not of the
input.
"""

import errno
import io
import os
import sys
from functools import cache
from typing import Any, cast

import typer
from typer.main import get_command

from outpoint.cli.adjustment_sets import adjustment_sets
from outpoint.cli.compare import compare
from outpoint.cli.datasets import datasets
from outpoint.cli.effects import effects
from outpoint.cli.export import export
from outpoint.cli.learn import learn
from outpoint.cli.map import map_command
from outpoint.cli.next_experiment import next_experiment
from outpoint.cli.parameters import parameters
from outpoint.cli.predict import predict
from outpoint.cli.probability import probability
from outpoint.cli.report import report
from outpoint.cli.reproduce import reproduce
from outpoint.cli.sample import sample
from outpoint.cli.score import score
from outpoint.cli.simulate import simulate
from outpoint.cli.terminal import (
    ClosedStream,
    Interrupted,
    discard_output,
    forgiving_stderr,
    is_of_output,
    printable,
    without_complaints,
)
from outpoint.errors import OutpointError
from outpoint.naming import command_line
from outpoint.signals import treat_as_interruption
from outpoint.variables import ignored

INTERRUPTED = 130
UNPRINTED = 3

# typer has no public name for the base of the errors its option parser raises.
UsageError = cast(type[Exception], typer.BadParameter.__base__)

app = typer.Typer(
    name="outpoint",
    help="Bayesian inference over directed acyclic graphs.\n\nExample: outpoint learn data.csv",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(learn)
app.command("map")(map_command)
app.command("adjustment-sets")(adjustment_sets)
app.command("next-experiment")(next_experiment)
for command in (
    report,
    probability,
    predict,
    effects,
    parameters,
    sample,
    compare,
    export,
    score,
    simulate,
    datasets,
    reproduce,
):
    app.command()(command)


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
    with forgiving_stderr(), without_complaints(), command_line():
        _run()


@cache
def _command() -> Any:
    """The parser of all commands, which takes some milliseconds to build."""
    return get_command(app)


def _run() -> None:
    sys.stdout = sys.stdout or ClosedStream()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names the terminal cannot show
    if ignored:
        print(f"outpoint: {printable(ignored)}", file=sys.stderr)
    was_interrupted = treat_as_interruption()
    try:
        code = _command()(sys.argv[1:] or ["--help"], prog_name="outpoint", standalone_mode=False)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()
    except OutpointError as error:
        _fail(str(error), 2)
    except Interrupted as interruption:
        print(f"outpoint: {printable(str(interruption))}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except SystemExit as ending:
        if isinstance(ending.__context__, OSError):  # the parser has its own way with lost readers
            _fail_to_print(ending.__context__)
        raise
    except UsageError as error:
        _fail(_usage_message(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _fail("interrupted; nothing was written.", INTERRUPTED)
    except MemoryError:
        _fail("out of memory: use fewer variables, fewer observations or a lower --max-parents.", 2)
    except Exception as error:
        if was_interrupted():
            _fail("interrupted; nothing was written.", INTERRUPTED)
        if is_of_output(error):
            _fail_to_print(cast(OSError, error))
        if os.environ.get("OUTPOINT_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}".strip()
        _fail(f"unexpected failure ({what}); set OUTPOINT_TRACEBACK=1 for details.", 1)


def _fail_to_print(error: OSError) -> None:
    """End a command whose work is done; a reader that has seen enough needs no explanation."""
    discard_output()
    if error.errno in (errno.EPIPE, errno.EIO):
        sys.exit(UNPRINTED)
    reason = os.strerror(error.errno or errno.EIO)
    _fail(f"cannot write to standard output: {reason}; everything else is done.", UNPRINTED)


def _usage_message(error: Any) -> str:
    """The complaint of the option parser in one line, and where to read on."""
    what = error.format_message().rstrip(".")
    command = error.ctx.command_path if error.ctx is not None else "outpoint"
    see = " See" if what.endswith("?") else "; see"
    return f"{what[:1].lower()}{what[1:]}{see} '{command} --help'."


def _fail(message: str, code: int) -> None:
    """Say what went wrong: one sentence in one line, whatever the names in it."""
    stop = "" if message.endswith((".", "?")) else "."
    print(f"outpoint: {printable(message)}{stop}", file=sys.stderr)
    sys.exit(code)
