"""Knowledge in TOML and CSV files: what is read, what is written, and every mistake in a row."""

import re
from pathlib import Path

import pandas as pd
import pytest

import outpoint as op

EXPECTED = op.Knowledge(
    required=[("a", "b"), ("c", "d")],
    forbidden=[("d", "a")],
    tiers=[["a", "c"], ["b", "d"]],
    roots=["a"],
    edge_prior={"others": 0.1, "edges": [("a", "d", 0.7), ("c", "b", 0)]},
)
TOML = """
required = ["a -> b", ["c", "d"]]   # a comment
forbidden = ["d->a"]
tiers = [["a", "c"], ["b", "d"]]
roots = ["a"]

[edge_prior]
others = 0.1
edges = [["a", "d", 0.7], ["c -> b", 0]]
"""
CSV = """kind,parent,child,value
required,a,b,
Required, c , d ,
forbidden,d,a,
,,,
tier,a,,1
tier,,b,2.5
tier,c,,1
tier,d,,2.5
root,a,,
edge_prior,,,0.1
edge_prior,a,d,0.7
edge_prior,c,b,0
"""
VARIANTS = {
    "toml": ("k.toml", TOML),
    "byte order mark": ("k.toml", "\ufeff" + TOML),
    "csv": ("k.csv", CSV),
    "carriage returns": ("k.CSV", "\ufeff" + CSV.replace("\n", "\r\n")),
    "tabs": ("k.csv", CSV.replace(",", "\t")),
    "semicolons and decimal commas": ("k.csv", CSV.replace(",", ";").replace("0.", "0,")),
    "other order and a comment": (
        "k.csv",
        "\n".join(
            ",".join([row.split(",")[i] for i in (2, 3, 0, 1)] + ["source"])
            for row in CSV.splitlines()
            if row.strip(",")
        ),
    ),
}


@pytest.mark.parametrize(("name", "text"), VARIANTS.values(), ids=list(VARIANTS))
def test_read(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert op.Knowledge.read(tmp_path / name) == EXPECTED
    assert op.Knowledge.read(str(tmp_path / name)) == EXPECTED


def test_files_in_the_documentation(tmp_path: Path) -> None:
    """The TOML block and the rows of the table, which say nearly the same of the Asia data."""
    page = (Path(__file__).parents[2] / "docs" / "knowledge.md").read_text(encoding="utf-8")
    block = re.search(r"^```toml\n(.*?)^```", page, re.M | re.S)
    assert block
    (tmp_path / "k.toml").write_text(block[1])
    rows = [line.strip("| ").split("|") for line in page.splitlines() if line.startswith("| ")]
    (tmp_path / "k.csv").write_text("\n".join(",".join(row) for row in rows))
    toml, rows_read = (op.Knowledge.read(tmp_path / name) for name in ("k.toml", "k.csv"))
    names = op.datasets.asia().names
    assert set(rows_read.bind(names).required) < set(toml.bind(names).required)
    assert rows_read.tiers == (("asia", "smoke"), ("tub",))
    assert (toml.roots, toml.edge_prior) == (rows_read.roots, rows_read.edge_prior)


def test_rows_without_values_may_be_short(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("kind,parent,child\nrequired,a,b\nroot,a\n")
    assert op.Knowledge.read(tmp_path / "k.csv") == op.Knowledge(required=["a -> b"], roots=["a"])


@pytest.mark.parametrize("name", ["k.toml", "k.csv"])
@pytest.mark.parametrize(
    "knowledge",
    [
        EXPECTED,
        op.Knowledge(),
        op.Knowledge(edge_prior=1e-7),
        op.Knowledge(required=[("a, b", 'say "c"')], roots=["über", "\U0001f600"]),
        op.Knowledge(forbidden=[("a->b", "c"), ("d", "e -> f")]),
    ],
)
def test_written_and_read_again(tmp_path: Path, name: str, knowledge: op.Knowledge) -> None:
    knowledge.write(tmp_path / name)
    assert op.Knowledge.read(tmp_path / name) == knowledge


def test_toml_holds_every_name(tmp_path: Path) -> None:
    names = ["\x7f", "\n", "\\", " outside ", "\x00\x1f", "[x]", "#", "'''"]
    knowledge = op.Knowledge(
        required=[(name, "child") for name in names],
        roots=names,
        edge_prior={"edges": [(name, "child", 0.5) for name in names]},
    )
    knowledge.write(tmp_path / "k.toml")
    assert op.Knowledge.read(tmp_path / "k.toml") == knowledge


def test_a_table_becomes_a_list_in_csv(tmp_path: Path) -> None:
    frame = pd.DataFrame(0.2, index=list("abc"), columns=list("abc"))
    frame.loc["a", "b"] = 0.9
    knowledge = op.Knowledge(edge_prior=frame)
    knowledge.write(tmp_path / "k.csv")
    assert op.Knowledge.read(tmp_path / "k.csv") == knowledge.bind("abc")
    knowledge.write(tmp_path / "k.toml")
    assert op.Knowledge.read(tmp_path / "k.toml") == knowledge


UNWRITABLE = {
    "outer blanks": (op.Knowledge(roots=[" a", "b"]), "CSV cannot hold ' a'; use .toml"),
    "no name": (op.Knowledge(roots=[""]), "CSV cannot hold variables without a name"),
    "positions": (op.Knowledge(edge_prior=[[0, 0.5], [0.5, 0]]), "CSV cannot hold"),
    "more positions": (op.Knowledge(edge_prior=[[0, 0.4], [0.5, 0]]), "CSV cannot hold 1"),
}


@pytest.mark.parametrize(("knowledge", "message"), UNWRITABLE.values(), ids=list(UNWRITABLE))
def test_what_csv_cannot_hold(tmp_path: Path, knowledge: op.Knowledge, message: str) -> None:
    with pytest.raises(op.OptionError, match=message):
        knowledge.write(tmp_path / "k.csv")
    assert not (tmp_path / "k.csv").exists()


# A table of probabilities in a file of its own

MATRICES = {
    "names in both": ",a,b,c\nb,0.5,,0.2\na,,0.9,0.2\nc,0.2,0.2,\n",
    "names above": "a,b,c\n0,0.9,0.2\n0.5,0,0.2\n0.2,0.2,0\n",
    "semicolons": ";b;a;c\nb;;0,5;0,2\na;0,9;;0,2\nc;0,2;0,2;1\n",
}


@pytest.mark.parametrize("text", MATRICES.values(), ids=list(MATRICES))
def test_matrix_beside_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    (tmp_path / "k.toml").write_text('edge_prior = "prior.csv"\nroots = ["c"]\n')
    expected = {"others": 0.2, "edges": [("a", "b", 0.9), ("b", "a", 0.5)]}
    found = op.Knowledge.read(tmp_path / "k.toml").bind("abc")
    assert found == op.Knowledge(edge_prior=expected, roots=["c"])


MATRIX_MISTAKES = {
    "text": ("a,b\n0,x\n-,0\n", r"prior\.csv has no number for a -> b \('x'\) and b -> a \('-'\)"),
    "not square": ("a,b\n0,1,2\n", "not a table of probabilities: it needs a first row"),
    "empty": ("", "not a table of probabilities"),
    "other rows": (",a,b\na,0,0.5\nz,0.5,0\n", "it has 'z'; it lacks 'b'"),
    "probability": ("a,b\n0,7\n0.5,0\n", r"k\.toml: .* from 0 to 1, not a -> b \(7.0\)"),
}


@pytest.mark.attack("files of scores and knowledge that cannot be read")
@pytest.mark.parametrize(("text", "message"), MATRIX_MISTAKES.values(), ids=list(MATRIX_MISTAKES))
def test_wrong_matrices(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "prior.csv").write_text(text)
    (tmp_path / "k.toml").write_text('edge_prior = "prior.csv"\n')
    with pytest.raises(op.OptionError, match=message):
        op.Knowledge.read(tmp_path / "k.toml")


# Mistakes

HEADER = "kind,parent,child,value\n"
MISTAKES = {
    "suffix": ("k.txt", "", "no known format of knowledge: use .toml or .csv"),
    "toml": ("k.toml", "required = [", "is not valid TOML"),
    "bytes": ("k.toml", b"\xff\xfe", "not a text file in UTF-8"),
    "keys": ("k.toml", "forbiden = []\n[tier]\n", r"k\.toml: knowledge has no 'forbiden' and 'tie"),
    "edge": ("k.toml", 'required = ["a"]', r"k\.toml: required edges must be pairs .*not 'a'"),
    "contradiction": ("k.toml", 'required = ["a->b"]\nroots = ["b"]', "a -> b is required but in"),
    "header": ("k.csv", "from,to\na,b\n", "must be kind,parent,child,value: there is no kind, pa"),
    "no rows": ("k.csv", "", "must be kind,parent,child,value"),
    "kinds": (
        "k.csv",
        HEADER + "requred,a,b,\nforbidden,a,c,\n,b,c,\n",
        "line 2 has the kind 'requred', which is not one of required, .* line 4 has the kind ''",
    ),
    "value": ("k.csv", HEADER + "forbidden,a,b,0.5\n", "line 2 has the value '0.5', but forbidden"),
    "no value": ("k.csv", HEADER + "tier,a,,\n", "line 2 needs a number as value, not ''"),
    "no number": ("k.csv", HEADER + "edge_prior,a,b,nan\n", "needs a number as value, not 'nan'"),
    "half an edge": ("k.csv", HEADER + "required,a,,\n", "line 2 needs a parent and a child"),
    "half a prior": ("k.csv", HEADER + "edge_prior,,b,0.2\n", "line 2 needs a parent and a child"),
    "two roots": ("k.csv", HEADER + "root,a,b,\n", "line 2 needs one variable"),
    "no root": ("k.csv", HEADER + "root,,,\n", "line 2 needs one variable"),
    "two numbers": (
        "k.csv",
        HEADER + "edge_prior,,,0.2\nedge_prior,,,0.3\n",
        "line 3 gives a second probability",
    ),
    "quotes": ("k.csv", HEADER + 'required,"a,b\n', "line 2 of .* cannot be read"),
}


@pytest.mark.attack("files of scores and knowledge that cannot be read")
@pytest.mark.parametrize(("name", "text", "message"), MISTAKES.values(), ids=list(MISTAKES))
def test_mistakes(tmp_path: Path, name: str, text: str | bytes, message: str) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(op.OptionError, match=message) as caught:
        op.Knowledge.read(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(op.OptionError, match=r"cannot read .*No such file"):
        op.Knowledge.read(tmp_path / "nothing.toml")
    with pytest.raises(op.OptionError, match="cannot write"):
        op.Knowledge().write(tmp_path / "nowhere" / "k.toml")
    with pytest.raises(op.OptionError, match="no known format"):
        op.Knowledge().write(tmp_path / "k.json")
    (tmp_path / "k.toml").write_text('edge_prior = "gone.csv"')
    with pytest.raises(op.OptionError, match=r"cannot read .*gone\.csv: No such file"):
        op.Knowledge.read(tmp_path / "k.toml")
