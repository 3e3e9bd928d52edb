"""``outpoint learn``: from a table to the posterior, its files and a short summary."""

import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.cli.options import OUTPUT, takes
from outpoint.cli.terminal import Interrupted
from outpoint.naming import flag, option
from outpoint.options import LEARN, OPTIONS, options_of

if TYPE_CHECKING:
    from outpoint.data import Dataset
    from outpoint.posterior import Posterior
    from outpoint.showing import RunProgress


@takes(given=options.declared(LEARN))
def learn(
    context: typer.Context,
    data: options.Data,
    given: options.Given,
    quiet: options.Quiet = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print summary.json instead of the summary.", rich_help_panel=OUTPUT
        ),
    ] = False,
) -> None:
    """Compute the posterior over the DAGs that may have generated DATA.

    Example: outpoint learn boston --max-parents 3 --out boston-run
    """
    from outpoint.ahead import helpers
    from outpoint.augmentation import INTEGRATING
    from outpoint.cli.summary import print_summary
    from outpoint.cli.terminal import print_json
    from outpoint.learning import learn as learn_posterior
    from outpoint.posterior import summarize
    from outpoint.processors import limited_threads

    options.check_text(data)
    method = given.get("method", "auto")
    dataset = given.load(data, keeps_holes=method in INTEGRATING)
    arguments = given.arguments(dataset)
    resume = "resume" in given
    directory = arguments.setdefault("out", _default_directory(data, resume))
    before = _content(directory) if resume else None
    takes_long = dataset.n_nodes > 16 or method not in ("auto", "exact")
    with (
        limited_threads(given.get("threads")),
        helpers(_kind_of_run(method, arguments["score"].name, dataset)),
        _running(directory, shown=not quiet and takes_long, quiet=quiet) as progress,
    ):
        posterior = learn_posterior(
            dataset, **arguments, command=None if resume else _again, progress=progress
        )
    if posterior.method == "exact" and not quiet:
        _tell_ignored(context)
    if before is not None and before == _content(directory) and not quiet:
        typer.echo(
            f"outpoint: the run in {directory} is complete; there was nothing to do.", err=True
        )
    if json:
        print_json(summarize(posterior))
    elif not quiet:
        is_chosen = method == "auto" and not resume  # a run that goes on keeps its own method
        print_summary(posterior, dataset, directory, is_chosen=is_chosen)
    if not posterior.is_complete:
        raise Interrupted(directory)


@contextmanager
def _running(directory: Path, *, shown: bool, quiet: bool) -> Iterator["RunProgress"]:
    """Show how a run goes on, and say how to continue it if it is interrupted."""
    from outpoint.cli.terminal import resumable
    from outpoint.learning import IgnoredOptionWarning
    from outpoint.showing import RunProgress

    with (
        RunProgress(shown=shown, quiet=quiet) as progress,
        resumable(directory),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", IgnoredOptionWarning)  # told with the names of flags
        yield progress


def _kind_of_run(method: str, score: str, dataset: "Dataset") -> str:
    """The kind of run this will most likely be, for the helpers that compile its kernels ahead."""
    from outpoint.ahead import kind_of_run

    if method == "auto":
        method = "exact" if dataset.n_nodes <= 21 else "mcmc"
    return kind_of_run(method, score, dataset.n_nodes)


def _content(directory: Path) -> bytes | None:
    """A digest of the posterior in a directory, or None if there is no posterior."""
    from outpoint.runs import RunDirectory

    try:
        with open(RunDirectory(directory).posterior, "rb") as file:
            return file_digest(file, "sha256").digest()
    except OSError:
        return None


def _again(posterior: "Posterior") -> str:
    """The command line that makes the same run again, with its seed.

    A run that a clock may have ended is made again with as many steps as it took.
    """
    from outpoint.posterior.files import LENGTH, note_again

    words, info = [word for word in sys.argv[1:] if word != "--overwrite"], posterior.info
    if info.taken and "time" in info.options:
        words = _without([*LENGTH, "max_parents"], words)
        taken = {"max_parents": info.max_parents, **info.taken}
        words += [word for name, value in taken.items() for word in (flag(name), str(value))]
    if not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(info.seed)]
    return "\n".join([*note_again(posterior), shlex.join(["outpoint", *words])])


def _without(names: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words of a command without these options and their values."""
    valued = {flag(name) for name in names if OPTIONS[name].kind.text is not bool}
    alone = {option(name, yes) for name in names for yes in (True, False)} - valued
    kept: list[str] = []
    is_value = False
    for word in words:
        is_option = word.partition("=")[0] in valued
        if not (is_option or is_value or word in alone):
            kept.append(word)
        is_value = is_option and "=" not in word
    return kept


def _tell_ignored(context: typer.Context) -> None:
    """Name, on standard error, the options given that an exact run does not use."""
    from outpoint.learning import describe_ignored

    ignored = [one.name for one in options_of(LEARN) if one.is_of_sampling]
    sources = {name: context.get_parameter_source(name) for name in ignored}
    given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        typer.echo(f"outpoint: {describe_ignored([flag(name) for name in given])}", err=True)


def _default_directory(data: str, resume: bool) -> Path:
    """``outpoint-run-NAME``, numbered if that exists; to resume, the last one that exists."""
    stem = re.sub(r"(\.[^.]*)?(\.gz)?$", "", Path(data).name)[:100] or "data"
    last, free = None, Path(f"outpoint-run-{stem}")
    number = 2
    while free.exists():
        last, free = free, Path(f"outpoint-run-{stem}-{number}")
        number += 1
    return last if resume and last is not None else free
