"""``outpoint simulate``: data from a known or a random DAG."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outpoint.cli import options
from outpoint.cli.options import takes
from outpoint.errors import OptionError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from outpoint.data import Dataset
    from outpoint.graphs import Dag

RANDOM = "The random DAG"
VALUES = "The values"
INTERVENTIONS = "interventions"
"""The column that says which variables were set in each row."""

SERIES = "Series (GRAPH has nodes such as x[-1])"
MOST_NUMBERS = 100_000_000


@dataclass(frozen=True)
class RandomDag:
    """How a random DAG is drawn."""

    law: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How it is drawn: uniform, paper or erdos_renyi.",
            rich_help_panel=RANDOM,
        ),
    ] = "uniform"
    max_parents: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Largest number of parents.", rich_help_panel=RANDOM),
    ] = None
    edge_probability: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="erdos_renyi: probability of each edge along a random order.",
            rich_help_panel=RANDOM,
        ),
    ] = None

    def check(self, *, is_random: bool) -> None:
        """The probability of edges belongs to one law of random DAGs, which needs it."""
        probability = self.edge_probability
        if not is_random or self.law != "erdos_renyi":
            if probability is not None:
                raise OptionError("--edge-probability belongs to --nodes with --law erdos_renyi.")
        elif probability is None or not 0 <= probability <= 1:
            raise OptionError("--law erdos_renyi needs an --edge-probability from 0 to 1.")

    def draw(self, n_nodes: int, rng: "np.random.Generator") -> "Dag":
        """A DAG of so many nodes."""
        from outpoint.graphs import random_dag

        return random_dag(
            n_nodes,
            rng,
            law=self.law,  # type: ignore[arg-type]
            max_parents=self.max_parents,
            edge_probability=self.edge_probability,
        )


@dataclass(frozen=True)
class Values:
    """What the values are like, and which variables are set from outside."""

    coefficient: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Gaussian and mixed: coefficient of every edge (default: 2, and less where the "
            "parents of a variable would contribute more than twice the standard deviation of the "
            "noise).",
            rich_help_panel=VALUES,
        ),
    ] = None
    levels: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Levels of every categorical variable (mixed: every second one).",
            rich_help_panel=VALUES,
        ),
    ] = 2
    intervene: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES:ROWS",
            help="Add ROWS rows in which these variables (separated by commas) are set from "
            "outside; repeatable. A column 'interventions' then says which were set.",
            rich_help_panel=VALUES,
        ),
    ] = None


@dataclass(frozen=True)
class Series:
    """What the rows of a series have in common."""

    subjects: Annotated[
        int,
        typer.Option(
            metavar="NUMBER",
            help="Independent series; --observations are the times of each.",
            rich_help_panel=SERIES,
        ),
    ] = 1
    static: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Variables that do not change within a series.",
            rich_help_panel=SERIES,
        ),
    ] = None


@dataclass(frozen=True)
class Files:
    """Where the data and their DAG go."""

    out: options.Table = None
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the DAG here: .dot, .graphml, .csv, .bn or .dagitty.",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None

    def check(self) -> None:
        """Refuse, before any work is done, what cannot be written."""
        from outpoint.cli.terminal import check_file
        from outpoint.graphs.files import check_suffix

        out, truth = self.out, self.truth
        check_file(out)
        check_file(truth, "--truth")
        if truth is not None:
            check_suffix(truth)
            if out is not None and out.resolve() == truth.resolve():
                raise OptionError(f"--out and --truth are both {out}: choose two files.")

    def write(self, frame: "pd.DataFrame", dag: "Dag") -> None:
        """The data as CSV, to standard output if there is no file, and the DAG."""
        from outpoint.cli.terminal import print_or_write
        from outpoint.files import write_text
        from outpoint.graphs.files import format_dag

        text = frame.to_csv(index=False, lineterminator="\n")
        if self.truth is not None:
            write_text(self.truth, format_dag(dag, self.truth))
        print_or_write(text, self.out)

    def tell(self, shape: str, dag: "Dag") -> None:
        """What was written, and where to."""
        from outpoint.cli.terminal import print_note
        from outpoint.naming import count_of

        if self.out is None:
            return
        print_note(f"{self.out}: {shape}")
        if self.truth is not None:
            print_note(f"{self.truth}: their DAG, {count_of(dag.n_edges, 'edge')}")


@takes(
    random=options.fields_of(RandomDag),
    values=options.fields_of(Values),
    series=options.fields_of(Series),
    files=options.fields_of(Files),
)
def simulate(
    graph: Annotated[
        Path | None,
        typer.Argument(
            metavar="GRAPH",
            help="The DAG: .dot, .graphml, .csv, .bn or .dagitty (or use --nodes).",
        ),
    ] = None,
    *,
    nodes: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Nodes of a random DAG instead of GRAPH.")
    ] = None,
    observations: Annotated[
        int, typer.Option("--observations", "-n", metavar="NUMBER", help="Rows to simulate.")
    ] = 500,
    kind: Annotated[
        str, typer.Option(metavar="NAME", help="gaussian, categorical or mixed.")
    ] = "gaussian",
    seed: options.Seed = None,
    random: RandomDag,
    values: Values,
    series: Series,
    files: Files,
    quiet: options.Quiet = False,
) -> None:
    """Simulate data from a DAG, given or random.

    A GRAPH in which a node x has its own past x[-1], as learned from a time series, gives series.

    Example: outpoint simulate --nodes 10 -n 200 --max-parents 3 --out data.csv --truth dag.dot
    """
    import numpy as np

    from outpoint.data.simulate_series import lagged_nodes
    from outpoint.graphs import read_dag
    from outpoint.kinds import checked_seed

    if (graph is None) == (nodes is None):
        raise OptionError("give either a GRAPH or the number of --nodes of a random one.")
    rng = np.random.default_rng(checked_seed(seed))
    experiments = [_parse_experiment(text) for text in values.intervene or ()]
    if kind not in ("gaussian", "categorical", "mixed"):
        raise OptionError(f"--kind must be gaussian, categorical or mixed, not {kind!r}.")
    files.check()
    random.check(is_random=graph is None)
    fixed = [
        name for group in series.static or () for name in options.parse_group(group, "--static")
    ]
    if graph is not None:
        dag = read_dag(graph)
    else:
        assert nodes is not None
        _check_size(nodes, observations)
        dag = random.draw(nodes, rng)
    if lagged_nodes(dag):
        _refuse_for_series(kind, experiments)
        own = (series.subjects, fixed, rng, values.coefficient)
        frame, shape = _draw_series(dag, observations, *own)
    else:
        _refuse_for_rows(dag, series.subjects, fixed)
        frame, shape = _draw_rows(dag, observations, experiments, rng, kind, values)
    files.write(frame, dag)
    if not quiet:
        files.tell(shape, dag)


def _draw_rows(
    dag: "Dag",
    observations: int,
    experiments: list[tuple[list[str], int]],
    rng: "np.random.Generator",
    kind: str,
    values: Values,
) -> tuple["pd.DataFrame", str]:
    """Rows that are only observed, then those of each experiment; and how many there are."""
    from outpoint.data import simulate as simulate_data

    n_obs = observations + sum(n_rows for _, n_rows in experiments)
    _check_size(dag.n_nodes, n_obs)
    targets: list[list[str]] = [[]] * observations
    for names, n_rows in experiments:
        targets += [names] * n_rows
    data = simulate_data(
        dag,
        n_obs,
        rng,
        kind=kind,  # type: ignore[arg-type]
        coefficients="bounded" if values.coefficient is None else values.coefficient,
        levels=values.levels,
        interventions=targets,
    )
    return data.to_frame(INTERVENTIONS if any(data.interventions) else None), _describe(data, kind)


def _refuse_for_rows(dag: "Dag", subjects: int, static: list[str]) -> None:
    from outpoint.data.dataset import lagged_name

    if subjects != 1 or static:
        raise OptionError(
            "--subjects and --static belong to series, and the graph has no node such as "
            f"{lagged_name(dag.names[0], 1)!r}."
        )


def _refuse_for_series(kind: str, experiments: list[tuple[list[str], int]]) -> None:
    if kind != "gaussian" or experiments:
        raise OptionError("series are simulated as gaussian and without interventions.")


def _draw_series(
    dag: "Dag",
    n_times: int,
    n_subjects: int,
    static: list[str],
    rng: "np.random.Generator",
    coefficient: float | None,
) -> tuple["pd.DataFrame", str]:
    """Series of a dynamic network, one below the other; and how many there are."""
    from outpoint.data.simulate_series import simulate_series
    from outpoint.naming import count_of

    _check_size(dag.n_nodes, n_times * n_subjects)
    own = {} if coefficient is None else {"coefficients": coefficient}
    frame = simulate_series(dag, n_times, rng, n_subjects=n_subjects, static=static, **own)
    return frame, f"{count_of(n_times, 'time')} of {count_of(n_subjects, 'subject')}"


def _describe(data: "Dataset", kind: str) -> str:
    """How many rows and columns there are."""
    from outpoint.naming import count_of

    shape = f"{count_of(data.n_obs, 'observation')} of {count_of(data.n_nodes, f'{kind} variable')}"
    n_set = sum(map(bool, data.interventions))
    return shape + (f", {n_set} of them with interventions" if n_set else "")


def _parse_experiment(text: str) -> tuple[list[str], int]:
    """The variables of NAMES:ROWS, and in how many rows they are set."""
    names, colon, size = text.rpartition(":")
    if not colon or not size.strip().isdecimal() or len(size) > 12 or int(size) == 0:
        raise OptionError(f"--intervene must be written NAMES:ROWS, such as a:100, not {text!r}.")
    return options.parse_group(names, "--intervene"), int(size)


def _check_size(n_nodes: int, n_obs: int) -> None:
    """Refuse, before any work is done, data that no machine can hold."""
    from outpoint.graphs.validation import MOST_NODES

    if n_nodes > MOST_NODES:
        raise OptionError(f"--nodes must be at most {MOST_NODES:,}, not {n_nodes:,}.")
    if n_nodes * n_obs > MOST_NUMBERS:
        raise OptionError(
            f"{n_obs:,} observations of {n_nodes:,} variables are more than {MOST_NUMBERS:,} "
            "numbers: ask for fewer."
        )
