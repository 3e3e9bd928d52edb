"""Runs and graphs that a command is given, and what to say where they are not usable."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from outpoint.errors import DataError, GraphError

if TYPE_CHECKING:
    from outpoint.graphs import Dag
    from outpoint.posterior import Posterior


def load_run(path: Path) -> "Posterior":
    """The posterior of a run."""
    from outpoint.posterior import load

    _check_run(path)
    return load(path)


def _check_run(path: Path) -> None:
    from outpoint.runs import RunDirectory

    file, run = path, RunDirectory(path)
    try:
        if path.is_dir():
            file = run.posterior
            if not file.exists() and run.has_checkpoint:
                raise DataError(
                    f"the run in {path} has no posterior yet: continue it with "
                    "'outpoint learn' and --resume."
                )
        if not path.exists():
            raise DataError(f"there is no run {path}: check the path.")
        if not file.is_file():
            raise DataError(f"{path} is not a run: there is no {run.posterior.name} in it.")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}.") from None


def read_graph(path: Path, names: Sequence[str]) -> "Dag":
    """The DAG in a file, which must have these nodes."""
    from outpoint.graphs import read_dag
    from outpoint.graphs.validation import quote_name

    dag = read_dag(path, names)
    unknown = [name for name in dag.names if name not in names]
    if unknown:
        raise GraphError(f"{path} has a node {quote_name(unknown[0])}, which is not a variable.")
    missing = [name for name in names if name not in dag.names]
    if missing:
        raise GraphError(
            f"{path} lacks the variable {quote_name(missing[0])}: nodes without edges are listed "
            "as well."
        )
    return dag
