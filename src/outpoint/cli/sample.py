"""``outpoint sample``: rows simulated from the averaged model of a run."""

from typing import Annotated

import typer

from outpoint.cli import options


def sample(
    run: options.Run,
    number: Annotated[
        int, typer.Option("--number", "-n", metavar="NUMBER", help="Rows to simulate.")
    ] = 100,
    do: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Set a variable from outside to this value; repeatable."
        ),
    ] = None,
    seed: options.Seed = None,
    out: options.Table = None,
) -> None:
    """Simulate rows from the averaged model, each with a DAG and parameters of its own.

    Example: outpoint sample outpoint-run-asia -n 1000 --do smoke=yes --out rows.csv
    """
    from outpoint.cli.terminal import check_file, load_run, print_or_write
    from outpoint.graphs.formats import protect_cell
    from outpoint.kinds import checked_seed

    check_file(out)
    if seed is not None:
        checked_seed(seed)
    posterior = load_run(run)
    values = dict(options.parse_setting(text, posterior.names, "--do") for text in do or ())
    rows = posterior.sample(number, do=values, seed=seed)
    for name in rows.columns[rows.dtypes == "category"]:
        rows[name] = rows[name].astype(str).map(protect_cell)
    rows.columns = rows.columns.map(protect_cell)
    print_or_write(str(rows.to_csv(index=False, lineterminator="\n")), out)
