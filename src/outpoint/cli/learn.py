"""``outpoint learn``: from a table to the posterior, its files and a short summary."""

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
from outpoint.cli.groups import takes
from outpoint.cli.interruption import Interrupted
from outpoint.cli.options import OUTPUT
from outpoint.cli.reading import NO_OPTIONS, READING, ReadingOptions
from outpoint.naming import flag

if TYPE_CHECKING:
    from outpoint.posterior import Posterior
    from outpoint.showing import RunProgress

SAMPLING = "Sampling (where the posterior is not exact)"


@takes(model=options.MODEL_OPTIONS, reading=READING)
def learn(
    context: typer.Context,
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIRECTORY",
            help="Directory of the run (default: outpoint-run-NAME).",
        ),
    ] = None,
    max_parents: options.MaxParents = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto: exact up to 21 variables and mcmc, our sampler, beyond; or exact, mcmc, or "
            "the paper's partition, partition+rev, structure, structure+rev and order (biased).",
        ),
    ] = "auto",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Take 90s, 10m or 2h for everything but compiling, instead of a number of steps.",
        ),
    ] = None,
    seed: options.Seed = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue the run in --out, with the same draws as if it had not stopped: an "
            "interrupted one, or with more --steps or --time a finished one. Options that are not "
            "given are those of the run.",
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace an earlier run in --out."),
    ] = False,
    model: options.ModelOptions = options.DEFAULT_MODEL,
    reading: ReadingOptions = NO_OPTIONS,
    chains: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of chains.", rich_help_panel=SAMPLING),
    ] = 4,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Steps of each chain (default: a million; for mcmc 20,000, and on to at most "
            "500,000 until the chains have converged).",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Steps before those, not recorded (default: a quarter as many).",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    until_converged: Annotated[
        bool | None,
        typer.Option(
            "--until-converged",
            help="Sample until the chains agree; --steps and --time are then upper limits.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    planned_steps: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Length that warm-up and thinning are made for, if it is not --steps.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Candidate parents of each variable (default: all up to 20 variables; beyond, 10, "
            "or as many as it uses); other parents are sampled too, but more slowly. Large sets "
            "with two or more other parents may not be: missing_mass in summary.json estimates "
            "their share of the posterior, and the verdict says where it matters.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    search_effort: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the usual searching for candidates and starts (default: all of it, or "
            "what --time allows).",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    pilots: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Pilot chains that try the candidates, at most 5 (default: as many as it takes, "
            "or as --time allows); below 1, a shorter one.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="DAGs kept of each chain.", rich_help_panel=SAMPLING),
    ] = 1000,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="threads, or dask: worker processes, here or on a cluster.",
            rich_help_panel=SAMPLING,
        ),
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Scheduler of the Dask cluster, such as tcp://host:8786.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    threads: options.Threads = None,
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
    from outpoint.cli.output import print_json
    from outpoint.cli.summary import print_summary
    from outpoint.learning import learn as learn_posterior
    from outpoint.posterior import summarize
    from outpoint.whole_numbers import checked_seed

    options.check_text(data)
    dataset = reading.load(data, model)
    chosen_seed = seed if resume else checked_seed(seed)
    directory = _default_directory(data, resume) if out is None else out
    before = _content(directory) if resume else None
    modelled = model.arguments(dataset)
    takes_long = dataset.n_nodes > 16 or method not in ("auto", "exact")
    with _running(directory, shown=not quiet and takes_long, quiet=quiet) as progress:
        posterior = learn_posterior(
            dataset,
            method=method,
            chains=chains,
            steps=steps,
            warmup=warmup,
            draws=draws,
            time=time,
            until_converged=until_converged,
            planned_steps=planned_steps,
            n_candidates=candidates,
            search_effort=search_effort,
            pilots=pilots,
            engine=engine,
            scheduler=scheduler,
            threads=threads,
            out=directory,
            overwrite=overwrite,
            resume=resume,
            max_parents=max_parents,
            seed=chosen_seed,
            **modelled,
            command=None if resume else _again,
            progress=progress,
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
        print_summary(posterior, dataset, modelled["score"], directory, is_chosen=is_chosen)
    if not posterior.is_complete:
        raise Interrupted(directory)


@contextmanager
def _running(directory: Path, *, shown: bool, quiet: bool) -> Iterator["RunProgress"]:
    """Show how a run goes on, and tell how to continue it if it is interrupted."""
    from outpoint.arguments import IgnoredOptionWarning
    from outpoint.cli.interruption import resumable
    from outpoint.showing import RunProgress

    with (
        RunProgress(shown=shown, quiet=quiet) as progress,
        resumable(directory),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", IgnoredOptionWarning)  # told by the names used here
        yield progress


def _content(directory: Path) -> bytes | None:
    """A digest of the posterior in a directory, None if there is none."""
    from outpoint.runs import RunDirectory

    try:
        with open(RunDirectory(directory).posterior, "rb") as file:
            return file_digest(file, "sha256").digest()
    except OSError:
        return None


def _again(posterior: "Posterior") -> str:
    """The command line as it makes the same run again, the seed included.

    A run that a clock may have ended is made again with as many steps as it took.
    """
    from outpoint.posterior.run_again import LENGTH, note_again

    words, info = [word for word in sys.argv[1:] if word != "--overwrite"], posterior.info
    if info.taken and "time" in info.options:
        words = _without([flag(name) for name in (*LENGTH, "max_parents")], words)
        taken = {"max_parents": info.max_parents, **info.taken}
        words += [word for name, value in taken.items() for word in (flag(name), str(value))]
    if not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(info.seed)]
    return "\n".join([*note_again(posterior), shlex.join(["outpoint", *words])])


def _without(flags: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words of a command without these options and their values."""
    kept: list[str] = []
    is_value = False
    for word in words:
        is_option = word.partition("=")[0] in flags
        if not (is_option or is_value):
            kept.append(word)
        is_value = is_option and "=" not in word and word != "--until-converged"
    return kept


def _tell_ignored(context: typer.Context) -> None:
    """Name, on standard error, the options given that an exact run does not use."""
    from outpoint.arguments import ONLY_SAMPLED, describe_ignored

    sources = {name: context.get_parameter_source(name) for name in ONLY_SAMPLED}
    given = [name for name, source in sources.items() if source and source.name == "COMMANDLINE"]
    if given:
        typer.echo(f"outpoint: {describe_ignored([flag(name) for name in given])}", err=True)


def _default_directory(data: str, resume: bool) -> Path:
    """``outpoint-run-NAME``, with a number if there is one already; the last of them to resume."""
    stem = Path(data).name.split(".")[0][:100] or "data"
    last, free = None, Path(f"outpoint-run-{stem}")
    number = 2
    while free.exists():
        last, free = free, Path(f"outpoint-run-{stem}-{number}")
        number += 1
    return last if resume and last is not None else free
