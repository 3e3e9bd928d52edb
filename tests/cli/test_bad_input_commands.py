"""Bad input to every command: exit code 2, one line that helps, no traceback, nothing written."""

import shutil
from pathlib import Path

import pytest

import outpoint as op
from tests.cli.conftest import TRUTH, Run, Runs, listing, table
from tests.posterior.crafted import Loose

GRAPHS: dict[str, str | bytes] = {
    "truth.dot": TRUTH.to_dot(),
    "cyclic.dot": "digraph { a -> b -> a; c; d }",
    "cyclic.csv": "from,to\na,b\nb,a\n",
    "other.dot": "digraph { a; b; c; zz }",
    "other.csv": "parent,child\na,zz\n",
    "few.dot": "digraph { a -> b }",
    "half.dot": "digraph { a -> b;",
    "half.graphml": "<graphml>",
    "half.bn": "[a][b|a",
    "cyclic.dagitty": "dag { a -> b -> a; c; d }",
    "many.dot": f"digraph {{ {' '.join(f'n{i};' for i in range(11_000))} }}",
    "binary.dot": bytes(range(256)),
    "binary.csv": b"\x00\xff" * 50,
    "empty.dot": "",
    "empty.csv": "\n\n",
    "truth.txt": "a -> b",
    "edges.csv": "parent,child,probability\na,b,0.5\nb,a,0.5\n",
    "ansi.dot": 'digraph { "\x1b[31m[bold]\n😀[/]"; a; b; c }',
    "wide.csv": f'parent,child\n"{"x" * 200_000}",b\n',
    "laughs.graphml": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>',
}

BAD_GRAPHS = {
    "nowhere.dot": "cannot read nowhere.dot: No such file",
    "folder.dot": "cannot read folder.dot: Is a directory",
    "cyclic.dot": "cyclic.dot: the graph has a directed cycle",
    "cyclic.csv": "cyclic.csv: the graph has a directed cycle",
    "other.dot": "other.dot has a node zz, which is not a variable",
    "other.csv": "zz",
    "few.dot": "few.dot lacks the variable c",
    "half.dot": "half.dot: line 1",
    "half.bn": "half.bn: character 4",
    "cyclic.dagitty": "cyclic.dagitty: the graph has a directed cycle",
    "many.dot": "many.dot: a graph has at most 10,000 nodes",
    "half.graphml": "half.graphml: this is not a readable GraphML",
    "binary.dot": "binary.dot is not a text file",
    "binary.csv": "binary.csv is not a text file",
    "empty.dot": "empty.dot is empty",
    "empty.csv": "empty.csv is empty",
    "edges.csv": "table of edge probabilities",
    "ansi.dot": "\\x1b[31m[bold]\\n😀[/]",
    "wide.csv": "wide.csv: ",
    "laughs.graphml": "laughs.graphml: ",
    "data.csv": "neither a list of edges",
}

BAD_RUNS = {
    "nowhere": "there is no run nowhere",
    "folder.dot": "folder.dot is not a run: there is no posterior.npz",
    "started": "has no posterior yet",
    "corrupt": "corrupt/posterior.npz is not a posterior of outpoint",
    "cut": "cut/posterior.npz is not a posterior",
    "foreign.nc": "foreign.nc was written by an earlier version of outpoint",
    "names": "is not a complete posterior of outpoint",
    "data.csv": "data.csv is not a posterior of outpoint",
    "empty.dot": "empty.dot is not a posterior of outpoint",
    "\x1b[31m[/]": "there is no run \\x1b[31m[/]",
}


@pytest.fixture(scope="module")
def traps(runs: Runs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory full of traps, and a good run in ``run``."""
    import xarray as xr

    folder = tmp_path_factory.mktemp("traps")
    for name, content in GRAPHS.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    for name in ("folder.dot", "started/checkpoint", "corrupt", "cut", "names"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(runs.exact, folder / "run")
    shutil.copytree(runs.categories, folder / "categories")
    shutil.copytree(runs.hostile, folder / "hostile")
    good = (folder / "run/posterior.npz").read_bytes()
    (folder / "corrupt/posterior.npz").write_bytes(bytes(range(256)) * 9)
    (folder / "saved.nc").write_bytes(good)
    (folder / "cut/posterior.npz").write_bytes(good[: len(good) // 2])
    xr.Dataset({"x": ("y", [1.0])}).to_netcdf(folder / "foreign.nc", engine="h5netcdf")
    nameless = Loose.of(good)
    del nameless.header["names"]
    (folder / "names/posterior.npz").write_bytes(nameless.sealed())
    return folder


@pytest.fixture
def place(run: Run, traps: Path) -> Run:
    """The command line in a directory of traps."""
    shutil.copytree(traps, ".", dirs_exist_ok=True)
    return run


def check_refusal(run: Run, words: list[str], fragment: str) -> None:
    before = {name: Path(name).read_bytes() for name in listing() if Path(name).is_file()}
    outcome = run(*words)
    assert (outcome.code, outcome.out) == (2, ""), outcome
    assert outcome.err.startswith("outpoint: ")
    assert outcome.err.count("\n") == len(outcome.err.splitlines()) == 1, outcome.err
    assert outcome.err.endswith((".\n", "?\n"))
    assert "Traceback" not in outcome.err
    assert "\x1b" not in outcome.err
    assert fragment in outcome.err
    after = {name: Path(name).read_bytes() for name in listing() if Path(name).is_file()}
    assert after == before


@pytest.mark.attack("graphs that cannot be read", "one sentence, exit code 2", times=2)
@pytest.mark.parametrize("command", ["score data.csv", "compare run"])
@pytest.mark.parametrize(("graph", "fragment"), BAD_GRAPHS.items())
def test_bad_graph(place: Run, command: str, graph: str, fragment: str) -> None:
    if command.startswith("compare") and graph == "folder.dot":
        fragment = "folder.dot is not a run"
    check_refusal(place, [*command.split(), graph], fragment)
    check_refusal(place, [*command.split(), graph, "--json"], fragment)


@pytest.mark.attack("foreign files as results")
@pytest.mark.parametrize("words", [["compare", "run"], ["effects"], ["report"], ["export"]])
@pytest.mark.parametrize(("bad", "fragment"), BAD_RUNS.items())
def test_bad_run(place: Run, words: list[str], bad: str, fragment: str) -> None:
    if words[0] == "compare" and "." in bad and bad not in ("foreign.nc", "folder.dot"):
        words, more = ["compare"], ["truth.dot"]
    else:
        more = ["new.dot"] if words == ["export"] else []
    check_refusal(place, [*words, bad, *more], fragment)


BAD_WORDS = {
    # score
    "score data.csv truth.txt": "has no suffix of a known graph format",
    "score nowhere.csv truth.dot": "no file 'nowhere.csv'",
    "score binary.csv truth.dot": "binary.csv",
    "score data.csv truth.dot --score magic": "unknown score 'magic'",
    "score data.csv truth.dot --score bdeu": "BDeu needs categorical",
    "score data.csv truth.dot --edge-prior nan": "between 0 and 1",
    "score data.csv truth.dot --structure-prior flat": "'flat'",
    "score data.csv": "missing argument 'GRAPH'",
    # simulate
    "simulate": "either a GRAPH or the number of --nodes",
    "simulate truth.dot --nodes 3": "either a GRAPH or the number of --nodes",
    "simulate nowhere.dot": "cannot read nowhere.dot",
    "simulate cyclic.dot": "directed cycle",
    "simulate binary.dot": "not a text file",
    "simulate --nodes 0": "at least two",
    "simulate --nodes -1": "-1",
    "simulate --nodes 999999999999": "--nodes must be at most 10,000",
    "simulate --nodes nan": "--nodes",
    "simulate --nodes 3 -n 0": "a whole number from 1 to 100,000,000, not 0",
    "simulate --nodes 3 -n -5": "a whole number from 1 to 100,000,000, not -5",
    "simulate --nodes 3 -n 99999999999999999999999": "ask for fewer",
    "simulate truth.dot -n 999999999999": "ask for fewer",
    "simulate --nodes 3 --levels 0 --kind categorical": "levels",
    "simulate --nodes 3 --levels 99999999999 --kind categorical": "fewer parents or levels",
    "simulate --nodes 3 --max-parents -1": "--max-parents",
    "simulate --nodes 3 --coefficient nan": "finite",
    "simulate --nodes 3 --coefficient inf": "finite",
    "simulate --nodes 3 --kind magic": "gaussian, categorical or mixed, not 'magic'",
    "simulate --nodes 3 --law magic": "'magic'",
    "simulate --nodes 3 --law erdos_renyi": "needs an --edge-probability from 0 to 1",
    "simulate --nodes 3 --law erdos_renyi --edge-probability 2": "--edge-probability from 0 to 1",
    "simulate --nodes 3 --law erdos_renyi --edge-probability nan": "--edge-probability from 0",
    "simulate --nodes 3 --edge-probability 0.5": "belongs to --nodes with --law erdos_renyi",
    "simulate truth.dot --edge-probability 0.5": "belongs to --nodes with --law erdos_renyi",
    "simulate --nodes 3 --seed -1": "--seed must be a whole number from 0 to 2**4096, not -1",
    "simulate --nodes 3 -o folder.dot": "folder.dot is a directory: choose a file (--out)",
    "simulate --nodes 3 -o no/x.csv": "there is no directory no",
    "simulate --nodes 3 -o data.csv/x.csv": "there is no directory data.csv",
    "simulate --nodes 3 -o x.csv --truth no/x.dot": "choose another (--truth)",
    "simulate --nodes 3 -o x.csv --truth x.png": "has no suffix of a known graph format",
    "simulate --nodes 3 -o x.csv --truth ./x.csv": "both x.csv",
    # compare
    "compare run categories": "same nodes",
    "compare run truth.txt": "truth.txt is not a posterior",
    "compare run truth.dot --threshold nan": "threshold",
    "compare run truth.dot --threshold 0": "threshold",
    "compare run truth.dot --threshold -1": "threshold",
    "compare run truth.dot --threshold 1.01": "threshold",
    "compare run run --threshold 0.3": "--threshold belongs to the comparison with a DAG",
    # effects
    "effects run --cause zz": "'zz' is not one of the variables",
    "effects run --effect [bold]": "'[bold]' is not one of the variables",
    "effects run --cause a --effect a": "both the cause and the effect",
    "effects run --draws 0": "from 1 to 10,000,000, not 0",
    "effects run --draws -2": "from 1 to 10,000,000, not -2",
    "effects run --level nan": "level",
    "effects run --level 1": "level",
    "effects run --levels 0,1": "give all three",
    "effects run --cause a --effect b --effect-level x": "give all three",
    "effects run --units feet": "'feet'",
    "effects run --effect b --set a": "written NAME=A,B",
    "effects run --set a=0,1": "--set needs --effect, the variable",
    "effects run --effect b --cause a --set a=0,1": "either --cause or --set",
    "effects run --steps 2": "not that of a time series",
    "next-experiment run --effect a": "CAUSE,EFFECT",
    "effects run --seed -1": "--seed must be a whole number from 0 to 2**4096, not -1",
    "effects run --out no/x.csv": "there is no directory no",
    "effects run --out folder.dot": "is a directory",
    # probability
    "probability run": "missing argument 'FEATURE...'",
    "probability run a->zz": "there is no variable 'zz'",
    "probability run adjusts({a},a,b)": "'a' cannot be adjusted for in its own effect",
    # adjustment-sets
    "adjustment-sets run a": "missing argument 'EFFECT'",
    "adjustment-sets run a zz": "'zz' is not one of the variables",
    "adjustment-sets run a a": "both the cause and the effect",
    "adjustment-sets run a b -n 0": "from 1 to 1,000,000,000,000, not 0",
    # next-experiment
    "next-experiment run --target a->zz": "there is no variable 'zz'",
    # report
    "report run --out no/x.html": "there is no directory no",
    "report run --out folder.dot": "is a directory",
    "report run --data categories": "is a directory",
    "report run --data asia": "does not hold the data of the run",
    "report run --separator ;": "name them (--data)",
    # export
    "export run x.png": "map can be written to .dot",
    "export run x": "map can be written to .dot",
    "export run x.dot --what magic": "--what must be one of map, median",
    "export run x.dot --what edges": "edges can be written to .csv, not to x.dot",
    "export run x.bn --what probabilities": "probabilities can be written to .dot",
    "export run x.csv --what arviz": "arviz can be written to .nc",
    "export run x.nc --what arviz --threshold 0.3": "belongs to consensus and probabilities",
    "export run run/posterior.npz --what arviz": "arviz can be written to .nc",
    "export saved.nc saved.nc --what arviz": "holds the posterior of the run",
    "export run x.dot --threshold 0.3": "belongs to consensus and probabilities, not to map",
    "export run x.csv --what probabilities --threshold -1": "from 0 to 1, not -1",
    "export hostile x.bn": "a model string cannot hold the name '[bold]x[/]'",
    "export hostile x.dagitty": "dagitty cannot hold the name",
    "export run x.dot --what consensus --threshold nan": "threshold",
    "export run x.dot --what consensus --threshold 2": "threshold",
    "export run x.dot --chain 1": "--chain belongs to --what trajectory",
    "export run x.csv --what trajectory --chain 1": "there is only chain 0",
    "export run x.csv --what trajectory --chain -1": "there is no chain -1",
    "export hostile x.csv --what trajectory": "cannot be written into a trajectory",
    "export hostile x.graphml": "GraphML cannot hold the name",
    "export run no/x.dot": "there is no directory no",
    "export run folder.dot": "folder.dot is a directory",
    # datasets
    "datasets iris": "'iris'",
    "datasets asia -o folder.dot": "is a directory",
    "datasets -o x.csv": "name the data set",
}


@pytest.mark.attack("options that make no sense")
@pytest.mark.parametrize(("words", "fragment"), BAD_WORDS.items())
def test_bad_words(place: Run, words: str, fragment: str) -> None:
    check_refusal(place, words.split(), fragment)


def test_an_endless_name(place: Run) -> None:
    name = "x" * 300 + ".csv"
    for words in (["simulate", "--nodes", "3", "-o", name], ["effects", "run", "-o", name]):
        check_refusal(place, words, "File name too long")


@pytest.mark.parametrize("command", ["learn", "score", "compare", "effects", "report", "export"])
def test_argument_is_required(place: Run, command: str) -> None:
    missing = "DATA" if command in ("learn", "score") else "RUN"
    check_refusal(
        place, [command], f"missing argument '{missing}'; see 'outpoint {command} --help'"
    )


def test_a_command_that_is_misspelt(place: Run) -> None:
    check_refusal(place, ["lern"], "Did you mean 'learn'? See 'outpoint --help'")


def test_undecodable_file_name(place: Run) -> None:
    name = b"\xff.csv".decode("utf-8", "surrogateescape")
    Path(name).write_text(table())
    check_refusal(place, ["learn", name], "not valid Unicode")


@pytest.mark.attack("hostile names of variables")
def test_names_in_a_message_are_harmless(place: Run) -> None:
    """A run whose names are hostile, asked for one of another run: one line, no escapes."""
    check_refusal(place, ["compare", "hostile", "run"], "same nodes")
    assert set(op.load("hostile").names).isdisjoint(op.load("run").names)
