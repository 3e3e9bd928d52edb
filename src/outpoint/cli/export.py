"""``outpoint export``: a run in the formats of other programs."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

if TYPE_CHECKING:
    from outpoint.posterior import Posterior

GRAPHS = ("map", "median", "consensus")
CONTENTS = {
    "map": "most probable DAG",
    "median": "median probability DAG",
    "consensus": "consensus DAG",
    "edges": "edge probabilities",
    "arviz": "draws for ArviZ",
    "trajectory": "draws for Benchpress",
}


def export(
    run: options.Run,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Graphs: .dot, .graphml or .csv; draws: .nc for ArviZ, .csv for Benchpress.",
        ),
    ],
    what: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="map, median or consensus: a graph; edges: the table of probabilities; "
            "arviz or trajectory: the draws.",
        ),
    ] = "map",
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="consensus: least probability of an edge (default 0.5)."
        ),
    ] = None,
    chain: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="trajectory: which chain, from 0 (default 0)."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a graph, the table of edges or the draws of a run for other programs.

    Example: outpoint export outpoint-run-boston boston.graphml --what median
    """
    from outpoint.cli.inputs import load_run
    from outpoint.cli.output import check_file, print_note

    _check_options(what, out, threshold, chain)
    check_file(out, "FILE")
    if out.exists() and out.resolve() in (run.resolve(), (run / "posterior.nc").resolve()):
        raise OptionError(f"{out} holds the posterior of the run: choose another FILE.")
    posterior = load_run(run)
    if what in GRAPHS:
        _write_graph(posterior, what, 0.5 if threshold is None else threshold, out, quiet)
    elif what == "arviz":
        _write_arviz(posterior, out)
    else:
        _write_table(posterior, what, chain or 0, out)
    if not quiet:
        print_note(f"{out}: {CONTENTS[what]} of {run}")


def _check_options(what: str, out: Path, threshold: float | None, chain: int | None) -> None:
    from outpoint.graphs.files import FORMATS, SUFFIXES

    if what not in CONTENTS:
        raise OptionError(f"--what is one of {', '.join(CONTENTS)}, not {what!r}.")
    if threshold is not None and what != "consensus":
        raise OptionError(f"--threshold belongs to --what consensus, not {what}.")
    if chain is not None and what != "trajectory":
        raise OptionError(f"--chain belongs to --what trajectory, not {what}.")
    suffixes = SUFFIXES if what in GRAPHS else (".nc",) if what == "arviz" else (".csv",)
    if out.suffix.lower() not in suffixes:
        formats = FORMATS if what in GRAPHS else suffixes[0]
        raise OptionError(f"--what {what} is written to {formats}, not to {out}.")


def _write_graph(
    posterior: "Posterior", what: str, threshold: float, path: Path, quiet: bool
) -> None:
    """Write a DAG; edges that a consensus had to leave out are named on standard error."""
    from outpoint.cli.output import write_text
    from outpoint.cli.text import printable
    from outpoint.graphs.files import format_dag
    from outpoint.posterior.consensus import ConsensusWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConsensusWarning)
        dag = posterior.map_dag if what == "map" else posterior.consensus_dag(threshold)
    write_text(path, format_dag(dag, path))
    for warning in caught if not quiet else ():
        typer.echo(f"outpoint: {printable(str(warning.message))}", err=True)


def _write_table(posterior: "Posterior", what: str, chain: int, path: Path) -> None:
    from outpoint.cli.output import write_text
    from outpoint.posterior.exchange import format_trajectory

    if what == "trajectory":
        text = format_trajectory(posterior, chain)
    else:
        text = posterior.diagnostics().to_csv(index=False, lineterminator="\n")
    write_text(path, text)


def _write_arviz(posterior: "Posterior", path: Path) -> None:
    from outpoint.cli.output import replaced

    tree = posterior.to_arviz()
    try:
        with replaced(path) as place:
            tree.to_netcdf(place, engine="h5netcdf")
    except ValueError as error:  # a name that netCDF cannot hold
        if isinstance(error, OptionError):
            raise
        raise OptionError(f"cannot write {path}: {error}.") from None
