"""Run outpoint for Benchpress: from a data file to an adjacency matrix.

Snakemake gives the script its global ``snakemake``: the paths of input and outputs, and as strings
the fields of the JSON object of this module (``wildcards``).
"""

import time
from pathlib import Path

import outpoint as op


def main(snakemake) -> None:
    """Learn, choose one DAG, and write it with the seconds that took."""
    wildcards = snakemake.wildcards
    started = time.perf_counter()
    score = wildcards["score"]
    post = op.learn(
        read(snakemake.input["data"], score),
        score=score,
        method=wildcards["method"],
        max_parents=number(wildcards["max_parents"], int),
        steps=number(wildcards["steps"], int),
        seed=seed_of(wildcards),
        structure_prior=wildcards["structure_prior"],
        time=number(wildcards["timeout"], float),
    )
    if wildcards["estimator"] == "map":
        dag = post.map_dag
    else:
        dag = post.consensus_dag(float(wildcards["threshold"]))
    seconds = time.perf_counter() - started
    write_matrix(dag, snakemake.output["adjmat"])
    Path(snakemake.output["time"]).write_text(f"{seconds}\n")
    Path(snakemake.output["ntests"]).write_text("None\n")


def read(path, score):
    """The data of a file, of the kind that the score is for.

    In files of categorical data the second row holds the number of levels of each variable.
    """
    with open(path, encoding="utf-8") as file:
        names = file.readline().strip().replace('"', "").split(",")
    if score == "bdeu":
        return op.load_dataset(path, categorical=names, cardinality_row=True)
    return op.load_dataset(path, continuous=names, cardinality_row=False)


def number(text, kind):
    """A number, or None where the JSON object has null."""
    return None if text == "None" else kind(text)


def seed_of(wildcards):
    """The number of the replicate, which earlier versions of Benchpress call so."""
    return int(wildcards.get("seed") or wildcards["replicate"])


def write_matrix(dag, path):
    """The adjacency matrix [parent, child] with the names in the first row."""
    rows = [dag.names, *dag.adjacency.astype(int).tolist()]
    Path(path).write_text("".join(",".join(map(str, row)) + "\n" for row in rows))


main(snakemake)  # noqa: F821 - a global of scripts that Snakemake runs
