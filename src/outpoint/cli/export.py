"""``outpoint export``: a run in the formats of other programs."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

if TYPE_CHECKING:
    from outpoint.posterior import Posterior

DESCRIPTIONS = {
    "map": "most probable DAG",
    "median": "median probability DAG",
    "consensus": "consensus DAG",
    "probabilities": "edge probabilities",
    "edges": "table of edges",
    "arviz": "draws for ArviZ",
    "trajectory": "draws for Benchpress",
}


def export(
    run: options.Run,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A DAG: .dot, .graphml, .csv (matrix), .bn (bnlearn) or .dagitty; probabilities: "
            ".dot, .graphml or .csv; draws: .nc for ArviZ, .csv for Benchpress.",
        ),
    ],
    what: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="map, median or consensus: one DAG; probabilities: those of all edges, as a graph "
            "or matrix; edges: the table of edges; arviz or trajectory: the draws.",
        ),
    ] = "map",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Least probability of an edge, for consensus (default 0.5) and probabilities "
            "(default 0).",
        ),
    ] = None,
    chain: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="trajectory: which chain, from 0 (default 0)."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a graph, probabilities or the draws of a run for other programs.

    The suffix of the file decides the format. DOT and GraphML also hold the probabilities of edges.

    Example: outpoint export outpoint-run-boston boston.graphml --what median
    """
    from outpoint.cli.terminal import check_file, load_run, print_note
    from outpoint.files import write_text
    from outpoint.posterior.export import format_trajectory
    from outpoint.runs import RunDirectory

    _check_options(what, out, threshold, chain)
    check_file(out, "FILE")
    if out.exists() and out.resolve() in (run.resolve(), RunDirectory(run).posterior.resolve()):
        raise OptionError(f"{out} holds the posterior of the run: choose another FILE.")
    posterior = load_run(run)
    if what == "arviz":
        _write_arviz(posterior, out)
    elif what == "trajectory":
        write_text(out, format_trajectory(posterior, chain or 0))
    else:
        _write_content(posterior, out, what, threshold, quiet)
    if not quiet:
        print_note(f"{out}: {DESCRIPTIONS[what]} of {run}")


def _check_options(what: str, out: Path, threshold: float | None, chain: int | None) -> None:
    from outpoint.posterior.export import check_content

    if what not in DESCRIPTIONS:
        raise OptionError(f"--what must be one of {', '.join(DESCRIPTIONS)}, not {what!r}.")
    if chain is not None and what != "trajectory":
        raise OptionError(f"--chain belongs to --what trajectory, not {what}.")
    if what not in ("arviz", "trajectory"):
        check_content(out, what, threshold)
        return
    if threshold is not None:
        raise OptionError(f"--threshold belongs to consensus and probabilities, not to {what}.")
    suffix = ".nc" if what == "arviz" else ".csv"
    if out.suffix.lower() != suffix:
        raise OptionError(f"{what} can be written to {suffix}, not to {out}.")


def _write_content(
    posterior: "Posterior", path: Path, what: str, threshold: float | None, quiet: bool
) -> None:
    """Write a graph or table; edges that a consensus had to leave out are named on stderr."""
    from outpoint.cli.terminal import printable
    from outpoint.files import write_text
    from outpoint.posterior.consensus import ConsensusWarning
    from outpoint.posterior.export import format_content

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConsensusWarning)
        text = format_content(posterior, path, what, threshold)
    write_text(path, text)
    for warning in caught if not quiet else ():
        typer.echo(f"outpoint: {printable(str(warning.message))}", err=True)


def _write_arviz(posterior: "Posterior", path: Path) -> None:
    from outpoint.files import replaced

    tree = posterior.to_arviz()
    try:
        with replaced(path) as place:
            tree.to_netcdf(place, engine="h5netcdf")
    except ValueError as error:  # a name that netCDF cannot hold
        if isinstance(error, OptionError):
            raise
        raise OptionError(f"cannot write {path}: {error}.") from None
