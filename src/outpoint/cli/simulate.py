"""``outpoint simulate``: data from a known or a random DAG."""

from pathlib import Path
from typing import Annotated

import typer

from outpoint.cli import options
from outpoint.errors import OptionError


def simulate(
    graph: Annotated[
        Path | None,
        typer.Argument(
            metavar="[GRAPH]", help="The DAG: .dot, .graphml or .csv; or --nodes for a random one."
        ),
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Nodes of a random DAG instead of GRAPH.")
    ] = None,
    observations: Annotated[
        int, typer.Option("--observations", "-n", metavar="NUMBER", help="Rows to simulate.")
    ] = 500,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="CSV file (default: standard output)."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the DAG here: .dot, .graphml or .csv."),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="NAME", help="gaussian or categorical.")
    ] = "gaussian",
    law: Annotated[
        str,
        typer.Option(metavar="NAME", help="Law of the random DAG: uniform, paper or erdos_renyi."),
    ] = "uniform",
    max_parents: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Most parents in the random DAG.")
    ] = None,
    coefficient: Annotated[
        float, typer.Option(metavar="NUMBER", help="Gaussian: coefficient of every edge.")
    ] = 2.0,
    levels: Annotated[
        int, typer.Option(metavar="NUMBER", help="Categorical: levels of every variable.")
    ] = 2,
    seed: options.Seed = None,
    quiet: options.Quiet = False,
) -> None:
    """Simulate data from a DAG, given or random.

    Example: outpoint simulate --nodes 10 -n 200 --max-parents 3 --out data.csv --truth dag.dot
    """
    import numpy as np

    from outpoint.cli.output import check_file, write_text
    from outpoint.data import simulate as simulate_data
    from outpoint.graphs import random_dag, read_dag, write_dag

    if (graph is None) == (nodes is None):
        raise OptionError("give either a GRAPH or the number of --nodes of a random one.")
    if seed is not None and seed < 0:
        raise OptionError(f"a seed is a whole number from 0, not {seed}.")
    if kind not in ("gaussian", "categorical"):
        raise OptionError(f"--kind is gaussian or categorical, not {kind!r}.")
    check_file(out)
    check_file(truth)
    rng = np.random.default_rng(seed)
    if graph is not None:
        dag = read_dag(graph)
    else:
        assert nodes is not None
        dag = random_dag(nodes, rng, law=law, max_parents=max_parents)  # type: ignore[arg-type]
    data = simulate_data(
        dag,
        observations,
        rng,
        kind=kind,  # type: ignore[arg-type]
        coefficients=coefficient,
        levels=levels,
    )
    if truth is not None:
        write_dag(dag, truth)
    text = data.to_frame().to_csv(index=False, lineterminator="\n")
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(out, text)
    if not quiet:
        shape = f"{data.n_obs} observations of {data.n_nodes} {kind} variables"
        written = f", DAG with {dag.n_edges} edges in {truth}" if truth is not None else ""
        typer.echo(f"{out}: {shape}{written}")
