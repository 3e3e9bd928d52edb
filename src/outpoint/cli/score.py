"""``outpoint score``: the log score of one DAG."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.options import SCORE

if TYPE_CHECKING:
    from outpoint.data import Dataset


@takes(given=options.declared(SCORE))
def score(
    data: options.Data,
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="The DAG: .dot, .graphml, .csv (adjacency matrix or edges), .bn or .dagitty.",
        ),
    ],
    given: options.Given,
    quiet: options.QuietNumber = False,
    json: options.Json = False,
) -> None:
    """Log score of a DAG, prior included, and how far it is from the graph without edges.

    Example: outpoint score boston outpoint-run-boston/map.dot
    """
    from outpoint.cli.summary import make_console, print_data, print_line
    from outpoint.cli.terminal import print_json, read_graph
    from outpoint.graphs import Dag
    from outpoint.model import note_reading
    from outpoint.naming import count_of
    from outpoint.registry import score_title
    from outpoint.scores import resolve_prior
    from outpoint.scoring import log_score

    dataset = _load_for(graph, data, given)
    dag = read_graph(graph, dataset.names)
    arguments = given.arguments(dataset)
    chosen = arguments["score"]
    found = log_score(dataset, dag, **arguments)
    empty = log_score(dataset, Dag.empty(dataset.names), **arguments)
    if json:
        print_json(
            {
                "log_score": found,
                "empty_log_score": empty,
                "score": chosen.name,
                "data": dataset.source,
                "graph": str(graph),
                "n_nodes": dag.n_nodes,
                "n_edges": dag.n_edges,
            }
        )
    elif quiet:
        typer.echo(f"{found!r}")
    else:
        console = make_console()
        print_data(console, dataset, note_reading(dataset, chosen))
        size = f"{count_of(dag.n_nodes, 'node')}, {count_of(dag.n_edges, 'edge')}"
        print_line(console, "Graph", f"{graph}: {size}")
        name, prior = score_title(chosen.name), resolve_prior(given.get("structure_prior"), chosen)
        excluded = ": the knowledge excludes this DAG" if found == -math.inf else ""
        print_line(console, "Score", f"{name}, {prior} prior, log score {found:.4f}{excluded}")
        print_line(
            console, "Empty", f"log score {empty:.4f} without edges, {_distance(empty - found)}"
        )


def _load_for(graph: Path, data: str, given: options.Given) -> "Dataset":
    """The data with all columns that the graph names, even those that are usually left out."""
    from outpoint.data.reading import UnknownColumnError
    from outpoint.graphs import read_dag

    dataset = given.load(data)
    nodes = read_dag(graph, dataset.names).names
    if "columns" in given or set(nodes) <= set(dataset.names):
        return dataset
    try:
        return options.Given(given | {"columns": sorted(nodes)}).load(data, keep=True)
    except UnknownColumnError:
        return dataset  # the graph is refused next, with the name of its unknown node


def _distance(difference: float) -> str:
    """How far the empty DAG's score is from the other; both may be -inf."""
    if difference == 0 or math.isnan(difference):
        return "the same"
    if math.isinf(difference):
        return f"which the knowledge {'allows' if difference > 0 else 'excludes'}"
    return f"{abs(difference):.4f} {'higher' if difference > 0 else 'lower'}"
