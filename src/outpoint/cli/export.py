"""``outpoint export``: a run in the formats of other programs."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

if TYPE_CHECKING:
    from outpoint.posterior import Posterior


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
        float, typer.Option(metavar="NUMBER", help="consensus: least probability of an edge.")
    ] = 0.5,
    chain: Annotated[int, typer.Option(metavar="NUMBER", help="trajectory: which chain.")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write a graph, the table of edges or the draws of a run for other programs.

    Example: outpoint export outpoint-run-boston boston.graphml --what median
    """
    from outpoint.cli.output import check_file
    from outpoint.graphs import write_dag
    from outpoint.posterior import load

    writers: dict[str, Callable[[Posterior], None]] = {
        "map": lambda posterior: write_dag(posterior.map_dag, out),
        "median": lambda posterior: write_dag(posterior.median_probability_dag, out),
        "consensus": lambda posterior: write_dag(posterior.consensus_dag(threshold), out),
        "edges": lambda posterior: _write_edges(posterior, out),
        "arviz": lambda posterior: _write_arviz(posterior, out),
        "trajectory": lambda posterior: posterior.write_trajectory(out, chain),
    }
    if what not in writers:
        raise OptionError(f"--what is one of {', '.join(writers)}, not {what!r}.")
    check_file(out)
    writers[what](load(run))
    if not quiet:
        typer.echo(f"{out}: {what} of {run}")


def _write_edges(posterior: "Posterior", path: Path) -> None:
    from outpoint.cli.output import write_text

    write_text(path, posterior.diagnostics().to_csv(index=False, lineterminator="\n"))


def _write_arviz(posterior: "Posterior", path: Path) -> None:
    try:
        posterior.to_arviz().to_netcdf(path, engine="h5netcdf")
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror or error}.") from None
