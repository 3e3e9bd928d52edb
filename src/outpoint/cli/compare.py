"""``outpoint compare``: two runs, or a run and the true DAG."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError

if TYPE_CHECKING:
    from outpoint.graphs import Dag
    from outpoint.posterior import Posterior

N_SHOWN = 10


def compare(
    run: options.Run,
    other: Annotated[
        Path,
        typer.Argument(
            metavar="OTHER",
            help="Another run, or the true DAG: .dot, .graphml, .csv, .bn or .dagitty.",
        ),
    ],
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="True DAG: least probability of an edge that counts as found (default 0.5).",
        ),
    ] = None,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            help="Print only the largest difference, or the expected SHD of CPDAGs.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Compare the edge probabilities of two runs, or a run with the true DAG.

    Example: outpoint compare outpoint-run-data truth.dot
    """
    from outpoint.cli.terminal import load_run, read_graph
    from outpoint.graphs.files import SUFFIXES

    posterior = load_run(run)
    if other.suffix.lower() in SUFFIXES and not other.is_dir():
        truth = read_graph(other, posterior.names)
        limit = 0.5 if threshold is None else threshold
        _compare_with_graph(posterior, truth, limit, quiet, json)
        return
    if threshold is not None:
        raise OptionError("--threshold belongs to the comparison with a DAG, not with a run.")
    _compare_runs(posterior, load_run(other), quiet, json)


def _compare_runs(first: "Posterior", second: "Posterior", quiet: bool, json: bool) -> None:
    from outpoint.cli.summary import LEAST_SHOWN, make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, print_json
    from outpoint.posterior import compare_posteriors

    found = compare_posteriors(first, second)
    if json:
        print_json(
            {
                "largest_difference": found.largest_difference,
                "mean_absolute_difference": found.mean_absolute_difference,
                "correlation": found.correlation,
                "edges": frame_to_rows(found.edges),
            }
        )
    elif quiet:
        typer.echo(f"{found.largest_difference!r}")
    else:
        console = make_console()
        seen = found.edges[found.edges["difference"].abs() >= LEAST_SHOWN]
        if len(seen):
            print_table(console, seen.head(N_SHOWN), "largest differences")
        print_line(
            console,
            "Agreement",
            f"largest difference {found.largest_difference:.4f}, mean "
            f"{found.mean_absolute_difference:.4f}, correlation {found.correlation:.4f}",
        )


def _compare_with_graph(
    posterior: "Posterior", truth: "Dag", threshold: float, quiet: bool, json: bool
) -> None:
    from outpoint.cli.summary import make_console, print_line
    from outpoint.cli.terminal import print_json

    found = posterior.compare(truth, threshold)
    if json:
        print_json(asdict(found))
        return
    if quiet:
        typer.echo(f"{found.expected_shd!r}")
        return
    console = make_console()
    print_line(
        console,
        "Distance",
        f"expected SHD {found.expected_shd:.2f} between CPDAGs, "
        f"{found.expected_shd_dag:.2f} between DAGs",
    )
    for label, part in (("Edges", found.directed), ("Skeleton", found.skeleton)):
        print_line(
            console,
            label,
            f"AUROC {part.auroc:.3f}, AUPRC {part.auprc:.3f}; at {threshold:g}: "
            f"TPR {part.counts.recall:.3f}, FPR {part.counts.false_positive_rate:.3f}, "
            f"precision {part.counts.precision:.3f}",
        )
