"""``outpoint parameters``: what the data say about the parameters of a DAG."""

from pathlib import Path
from typing import Annotated

import typer

from outpoint.cli import options

IN_UNITS = ("mean", "sd", "lower", "upper")


def parameters(
    run: options.Run,
    variable: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="NAME", help="Only those of this variable; repeatable."),
    ] = None,
    dag: Annotated[
        Path | None,
        typer.Option(
            metavar="GRAPH",
            help="The DAG: .dot, .graphml, .csv, .bn or .dagitty (default: the best of the run).",
        ),
    ] = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Posterior of the parameters of a DAG: coefficients with intervals, probability tables.

    Example: outpoint parameters outpoint-run-boston --of medv
    """
    from outpoint.cli.summary import make_console, print_line, print_table
    from outpoint.cli.terminal import frame_to_rows, load_run, print_json, read_graph
    from outpoint.errors import OptionError

    posterior = load_run(run)
    for name in variable or ():
        if name not in posterior.names:
            raise OptionError(f"{name!r} is not one of the variables of the run.")
    graph = posterior.map_dag if dag is None else read_graph(dag, posterior.names)
    tables = posterior.parameters(graph)
    chosen = {name: tables[name] for name in variable or tables if name in tables}
    plain = {
        name: table if "term" in table.columns else table.reset_index(drop=not graph.parents(name))
        for name, table in chosen.items()
    }
    if json:
        found = [
            {"variable": name, "parents": list(graph.parents(name)), "rows": frame_to_rows(table)}
            for name, table in plain.items()
        ]
        print_json({"parameters": found})
    elif not quiet:
        console = make_console()
        for name, table in plain.items():
            given = ", ".join(graph.parents(name))
            title = f"{name} given {given}" if given else name
            print_table(console, table, title, significant=IN_UNITS)
        print_line(console, "Verdict", posterior.verdict)
