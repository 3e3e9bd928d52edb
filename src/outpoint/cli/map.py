"""``outpoint map``: the best DAG, and how sure it is that there is no better one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.options import MAP

if TYPE_CHECKING:
    from outpoint.data import Dataset
    from outpoint.map_finding import MapResult

N_EDGES_SHOWN = 30


@takes(given=options.declared(MAP))
def map_command(
    data: options.Data,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the DAG to this file: .dot, .graphml, .csv (adjacency matrix), .bn "
            "(bnlearn) or .dagitty; FILE.json then says how it was found.",
        ),
    ] = None,
    given: options.Given,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find the best DAG: the one with the highest posterior or penalised likelihood.

    Example: outpoint map boston --max-parents 3 --out boston.dot
    """
    from outpoint.cli.terminal import check_file, format_json, print_json
    from outpoint.files import write_text
    from outpoint.graphs.files import check_suffix, format_dag
    from outpoint.map_finding import find_map
    from outpoint.showing import RunProgress

    dataset = given.load(data)
    check_file(out)
    if out is not None:
        check_suffix(out)
        record = out.with_name(f"{out.name}.json")
        check_file(record)
    arguments = given.arguments(dataset)
    takes_long = dataset.n_nodes > 20 or given.get("method", "auto") not in ("auto", "exact")
    with RunProgress(shown=not quiet and takes_long, quiet=quiet) as progress:
        result = find_map(dataset, **arguments, progress=progress)
    if out is not None:
        write_text(out, format_dag(result.dag, out))
        write_text(record, format_json(_as_json(result)) + "\n")
    if json:
        print_json(_as_json(result))
    elif not quiet:
        _print_result(result, dataset, out)


def _as_json(result: "MapResult") -> dict[str, Any]:
    return {
        "method": result.method,
        "space": result.space,
        **result.info.as_summary(result.dag.names),
        "log_score": result.log_score,
        "hits": result.hits,
        "runs": result.runs,
        "miss_probability": result.miss_probability,
        "n_linear_extensions": result.n_linear_extensions,
        "linear_extensions_exact": result.linear_extensions_exact,
        "n_optimal_classes": len(result.optima),
        "verdict": result.verdict,
        "edges": [list(edge) for edge in result.dag.edges],
        "compelled_edges": [list(edge) for edge in result.cpdag.directed],
    }


def _known_directions(result: "MapResult") -> set[tuple[str, str]]:
    """The edges of the best DAG whose reverse is excluded beforehand."""
    from outpoint.posterior.admissible import Admissible

    dag = result.dag
    excluded = Admissible(result.info, dag.names, None).excluded
    return {(u, v) for u, v in dag.edges if excluded[dag.names.index(v), dag.names.index(u)]}


def _print_result(result: "MapResult", data: "Dataset", out: Path | None) -> None:
    """Print the data, the model, the score, edges, the verdict and the files."""
    from outpoint.cli.summary import make_console, print_data, print_line
    from outpoint.cli.terminal import printable
    from outpoint.naming import count_of
    from outpoint.posterior.info import describe_model

    console = make_console()
    how = f"{result.method} over {result.space}s" if result.space else result.method
    compelled = set(result.cpdag.directed)
    directed = compelled | _known_directions(result)
    who_can_tell = "data can tell" + (" or that is known" if directed != compelled else "")
    print_data(console, data, result.info.notes)
    lines = {
        "Model": describe_model(result.info, data.n_nodes),
        "Method": f"{how}, {result.seconds:.2f} s",
        "Best DAG": f"log score {result.log_score:.4f}, {count_of(result.dag.n_edges, 'edge')}, "
        f"{len(directed)} of them with a direction that {who_can_tell} (->)",
    }
    for label, line in lines.items():
        print_line(console, label, line)
    for parent, child in result.dag.edges[:N_EDGES_SHOWN]:
        arrow = "->" if (parent, child) in directed else "--"
        print_line(console, "", f"{printable(parent)} {arrow} {printable(child)}")
    if result.dag.n_edges > N_EDGES_SHOWN:
        more = result.dag.n_edges - N_EDGES_SHOWN
        print_line(console, "", f"and {more} more" + ("" if out else " (--out FILE writes all)"))
    print_line(console, "Verdict", result.verdict)
    if out is not None:
        print_line(console, "Files", f"{out}, {out.name}.json")
