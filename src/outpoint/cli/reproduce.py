"""``outpoint reproduce``: the experiments of the partition MCMC paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

if TYPE_CHECKING:
    from outpoint.experiments import Extent

ALL = "all"


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="three-nodes, five-nodes, boston, sim14, sim18, sim20, or all of them.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIRECTORY", help="Directory for results and figures."),
    ] = Path("outpoint-reproduction"),
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few seeds and short chains, to see that everything works."),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Seeds of each sampler (default: 100, quick: 4)."),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue in --out; samplers that are done are not run again."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is in --out.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Repeat the paper's experiments, next to our default sampler and the exact posterior.

    The same samplers, chain lengths, starts and number of seeds, in raw units. Boston Housing is
    bundled; the paper's simulated data are read from the directory OUTPOINT_PAPER_DATA if that is
    set, and simulated by its recipe otherwise.

    Example: outpoint reproduce boston --quick
    """
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.experiments import PROBLEMS
    from outpoint.experiments import reproduce as run_again
    from outpoint.runs import Progress
    from outpoint.showing import RunProgress

    if name != ALL and name not in PROBLEMS:
        raise OptionError(
            f"there is no experiment {name!r}: choose {', '.join(PROBLEMS)} or {ALL}."
        )
    extent = _extent(quick, seeds)
    names = list(PROBLEMS) if name == ALL else [name]
    _prepare(out, names, resume, overwrite)
    with RunProgress(shown=not quiet, quiet=quiet) as progress, _resumable(out):
        for each in names:
            tables = run_again(
                each, out / each, extent, lambda stage, done: progress(Progress(stage, done))
            )
            if not quiet:
                console = make_console()
                for title, table in tables.items():
                    print_table(console, table, title)
    if not quiet:
        print_line(make_console(), "Files", f"{out}/ ({', '.join(names)})")


def _extent(quick: bool, seeds: int | None) -> "Extent":
    """How much to run."""
    from outpoint.experiments import FULL, QUICK
    from outpoint.kinds import checked_count

    extent = QUICK if quick else FULL
    return extent if seeds is None else extent._replace(n_seeds=checked_count(seeds, "--seeds", 2))


def _prepare(out: Path, names: list[str], resume: bool, overwrite: bool) -> None:
    """Make the directory; refuse one with earlier results unless it is clear what to do."""
    from outpoint.experiments.runs import SUFFIX

    try:
        out.mkdir(parents=True, exist_ok=True)
        earlier = [path for name in names for path in (out / name).glob(f"*{SUFFIX}")]
        if earlier and not (resume or overwrite):
            raise OptionError(f"{out} has results already: go on with --resume or use --overwrite.")
        for path in earlier if overwrite and not resume else []:
            path.unlink()
    except OSError as error:
        raise OptionError(f"cannot write to {out}: {error.strerror} (--out).") from None


@contextmanager
def _resumable(out: Path) -> Iterator[None]:
    """Around the work: what is done stays if it is interrupted or the disk is full."""
    from outpoint.cli.terminal import Interrupted
    from outpoint.runs.checkpoint import explained

    with explained(out):
        try:
            yield
        except KeyboardInterrupt:
            raise Interrupted(out) from None
