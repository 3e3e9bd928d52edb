"""``outpoint learn``: from a table to the posterior, its files and a short summary."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from outpoint.cli.interruption import Interrupted
from outpoint.errors import OptionError

MODEL = "Model"
SAMPLING = "Sampling (where the posterior is not exact)"
KNOWLEDGE = "Background knowledge"
OUTPUT = "Output"


def learn(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="CSV, TSV or space-separated file with a header, or a bundled data set.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIRECTORY",
            help="Directory of the run (default: outpoint-run-NAME).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace an earlier run in --out.", rich_help_panel=OUTPUT
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue an interrupted run in --out, bit for bit.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print only errors.", rich_help_panel=OUTPUT)
    ] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print summary.json instead of the summary.", rich_help_panel=OUTPUT
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="exact; mcmc, our sampler; the paper's partition, partition+rev, structure, "
            "structure+rev and order (biased); or auto.",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    score: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto, bge (continuous) or bdeu (categorical).",
            rich_help_panel=MODEL,
        ),
    ] = "auto",
    max_parents: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Most parents of a node (default: no limit up to 20 variables, else 3).",
            rich_help_panel=MODEL,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Seed of all randomness.", rich_help_panel=MODEL),
    ] = None,
    chains: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="Number of chains.", rich_help_panel=SAMPLING),
    ] = 4,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Steps of each chain (default: a million; for mcmc 50,000, or up to ten times as "
            "many if the chains need them to agree).",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Unrecorded steps before them (default: a quarter).",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Sample for 90s, 10m or 2h instead of a number of steps.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    until_converged: Annotated[
        bool | None,
        typer.Option(
            "--until-converged",
            help="Sample until the chains agree; --steps and --time are then upper limits.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="threads, or dask: worker processes, here or on a cluster.",
            rich_help_panel=SAMPLING,
        ),
    ] = "threads",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Scheduler of the Dask cluster, such as tcp://host:8786.",
            rich_help_panel=SAMPLING,
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(metavar="NUMBER", help="DAGs kept of each chain.", rich_help_panel=SAMPLING),
    ] = 1000,
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize", help="BGe: centre and scale every column first.", rich_help_panel=MODEL
        ),
    ] = False,
    equivalent_sample_size: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="BDeu: weight of the prior, in observations (default 1).",
            rich_help_panel=MODEL,
        ),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="[COLUMN=]KIND",
            help="continuous or categorical, for all columns or as COLUMN=KIND; repeatable.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    separator: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER",
            help="What separates the columns of the file, if it is not recognised.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    structure_prior: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="uniform, or fair: equal weight for each number of parents.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = "uniform",
    edge_prior: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="Prior probability of every edge.", rich_help_panel=KNOWLEDGE
        ),
    ] = None,
    forbid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="Edge that no DAG has, as 'A->B'; repeatable.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EDGE",
            help="Edge that every DAG has, as 'A->B'; repeatable.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Comma-separated group of variables; repeat from causes to effects.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    root: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Variable without parents; repeatable.", rich_help_panel=KNOWLEDGE
        ),
    ] = None,
    allow_degenerate: Annotated[
        bool,
        typer.Option(
            "--allow-degenerate",
            help="Go on with constant or identical columns or fewer rows than columns.",
            rich_help_panel=MODEL,
        ),
    ] = False,
) -> None:
    """Compute the posterior over the DAGs that may have generated DATA.

    Example: outpoint learn boston --max-parents 3 --out boston-run
    """
    from outpoint.cli.interruption import resumable
    from outpoint.cli.progress import RunProgress
    from outpoint.cli.summary import print_summary
    from outpoint.data import load_dataset
    from outpoint.learning import learn as learn_posterior
    from outpoint.posterior import check_writable, summarize

    if resume and out is None:
        raise OptionError("--resume needs the directory of the run (--out).")
    dataset = load_dataset(data, types=_parse_types(types), separator=_parse_separator(separator))
    directory = _free_directory(data) if out is None else out
    check_writable(directory, overwrite=overwrite, resume=resume)
    takes_long = dataset.n_nodes > 16 or method not in ("auto", "exact")
    with RunProgress(shown=not quiet and takes_long) as progress, resumable(directory):
        posterior = learn_posterior(
            dataset,
            score=_score(score, standardize, equivalent_sample_size),
            method=method,
            chains=chains,
            steps=steps,
            warmup=warmup,
            draws=draws,
            time=time,
            until_converged=until_converged,
            engine=engine,
            scheduler=scheduler,
            out=directory,
            overwrite=overwrite,
            resume=resume,
            max_parents=max_parents,
            seed=seed,
            structure_prior=structure_prior,
            edge_prior=edge_prior,
            forbidden=[_parse_edge(edge, dataset.names) for edge in forbid or ()],
            required=[_parse_edge(edge, dataset.names) for edge in require or ()],
            tiers=[_parse_group(group) for group in tier] if tier else None,
            roots=root or (),
            allow_degenerate=allow_degenerate,
            progress=progress,
        )
    if json:
        import json as json_module

        typer.echo(json_module.dumps(summarize(posterior), indent=2, ensure_ascii=False))
    elif not quiet:
        print_summary(posterior, dataset, directory, method)
    if not posterior.is_complete:
        raise Interrupted(directory)


def _free_directory(data: str) -> Path:
    """``outpoint-run-NAME``, with a number if there is one already."""
    stem = Path(data).name.split(".")[0][:100] or "data"
    first = Path(f"outpoint-run-{stem}")
    number = 2
    directory = first
    while directory.exists():
        directory = Path(f"{first}-{number}")
        number += 1
    return directory


def _parse_types(types: list[str] | None) -> Any:
    if not types:
        return None
    if len(types) == 1 and "=" not in types[0]:
        return types[0]
    chosen = {}
    for item in types:
        column, separator, kind = item.rpartition("=")
        if not separator:
            raise OptionError(f"--type takes KIND once, or COLUMN=KIND, not {item!r}.")
        chosen[column] = kind
    return chosen


def _parse_separator(text: str | None) -> str | None:
    return "\t" if text in ("tab", "\\t") else text


def _parse_edge(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Parent and child of 'A->B'; names that hold an arrow themselves are tried at each arrow."""
    parts = text.split("->")
    splits = [
        ("->".join(parts[:i]).strip(), "->".join(parts[i:]).strip()) for i in range(1, len(parts))
    ]
    known = [split for split in splits if split[0] in names and split[1] in names]
    edge = (known or splits or [("", "")])[0]
    if not edge[0] or not edge[1]:
        raise OptionError(f"an edge is written 'A->B', not {text!r}.")
    return edge


def _parse_group(text: str) -> list[str]:
    """Names separated by commas; a name that holds a comma is put in double quotes."""
    fields = next(csv.reader([text], skipinitialspace=True), [])
    group = [name.strip() for name in fields if name.strip()]
    if not group:
        raise OptionError(f"a tier is a list of columns such as 'age,sex', not {text!r}.")
    return group


def _score(name: str, standardize: bool, equivalent_sample_size: float | None) -> Any:
    """A score by name, or with its settings where some are given."""
    from outpoint.scores import BDeu, BGe

    if standardize and equivalent_sample_size is not None:
        raise OptionError("--standardize belongs to bge, --equivalent-sample-size to bdeu.")
    if standardize:
        if name not in ("auto", "bge"):
            raise OptionError(f"--standardize belongs to the score bge, not {name}.")
        return BGe(standardize=True)
    if equivalent_sample_size is not None:
        if name not in ("auto", "bdeu"):
            raise OptionError(f"--equivalent-sample-size belongs to the score bdeu, not {name}.")
        return BDeu(equivalent_sample_size=equivalent_sample_size)
    return name
