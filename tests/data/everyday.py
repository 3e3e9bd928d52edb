"""Tables as people have them, and what becomes of each; ``docs/data.md`` shows them as a table.

``python -m tests.data.everyday`` prints that table.
"""

import gzip
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from outpoint.data import load_dataset
from outpoint.errors import DataError
from outpoint.missing import make_cells
from outpoint.scores import note_few_rows, note_holes, resolve_score

N_ROWS = 60
Cell = Callable[[int], object]


class Case(NamedTuple):
    """A file with its options, whether it can be learned from, and part of what is said."""

    title: str
    content: bytes
    works: bool
    fragment: str
    options: dict[str, Any] = {}  # noqa: RUF012
    name: str = "data.csv"


def measure(i: int, digits: int = 2) -> float:
    """A number that looks measured; no column is a function of another."""
    return round(50 + 30 * ((i * 0.618034) % 1) ** 1.5 + (i * i * 0.377) % 3, digits)


def other(i: int) -> float:
    """Another one."""
    return round(1 + ((i * 0.7548777) % 1) * 9 + ((i * 0.569841) % 1), 3)


def rows(header: str, *cells: Cell, n: int = N_ROWS, sep: str = ",") -> bytes:
    """A file with these columns."""
    lines = [header, *(sep.join(str(cell(i)) for cell in cells) for i in range(n))]
    return ("\n".join(lines) + "\n").encode()


def comma(cell: Callable[[int], float]) -> Callable[[int], str]:
    """The same numbers with a decimal comma."""
    return lambda i: str(cell(i)).replace(".", ",")


def likert(i: int) -> int:
    """Answers from 1 to 5."""
    return 1 + (i * i + i // 7) % 5


def age(i: int) -> int:
    """Whole numbers that repeat."""
    return 18 + i * 17 % 41


def sex(i: int) -> str:
    """Two categories."""
    return "fm"[(i * 7 // 3) % 2]


def day(i: int) -> str:
    """A date."""
    return f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}"


def sometimes(
    cell: Callable[[int], object], spelling: str, every: int = 20
) -> Callable[[int], object]:
    """The same column with missing values."""
    return lambda i: spelling if i % every == 3 else cell(i)


def noise(n_rows: int, n_columns: int) -> bytes:
    """A large table of independent numbers."""
    table = np.random.default_rng(1).normal(size=(n_rows, n_columns))
    text = io.BytesIO()
    names = ",".join(f"v{v}" for v in range(n_columns))
    np.savetxt(text, table, fmt="%.5f", delimiter=",", header=names, comments="")
    return text.getvalue()


PLAIN = rows("x,y", measure, other)
GERMAN = rows("größe;gewicht", comma(measure), comma(other), sep=";")

CASES = [
    Case("measurements, separated by commas", PLAIN, True, "2 continuous"),
    Case("by tabs", rows("x\ty", measure, other, sep="\t"), True, "2 continuous", name="data.tsv"),
    Case("by semicolons", rows("x;y", measure, other, sep=";"), True, "2 continuous"),
    Case("by blanks", rows("x  y", measure, other, sep="   "), True, "2 continuous"),
    Case("by bars", rows("x|y", measure, other, sep="|"), True, "2 continuous"),
    Case("by carets", rows("x^y", measure, other, sep="^"), False, "give separator=."),
    Case(
        "by carets, said so",
        rows("x^y", measure, other, sep="^"),
        True,
        "2 continuous",
        {"separator": "^"},
    ),
    Case("a first line `sep=;`", b"sep=;\n" + rows("x;y", measure, other, sep=";"), True, "2 con"),
    Case("Windows line ends", PLAIN.replace(b"\n", b"\r\n"), True, "2 continuous"),
    Case("a byte order mark", b"\xef\xbb\xbf" + PLAIN, True, "2 continuous"),
    Case(
        "Latin-1 (Windows-1252)",
        rows("größe,straße", measure, other).decode().encode("latin-1"),
        True,
        "Windows-1252",
    ),
    Case("UTF-16, Excel's “Unicode text”", PLAIN.decode().encode("utf-16"), True, "UTF-16"),
    Case("compressed with gzip", gzip.compress(PLAIN, mtime=0), True, "2 con", name="data.csv.gz"),
    Case("blank lines and lines of commas", PLAIN.replace(b"\n", b"\n\n,\n"), True, "60 obs"),
    Case("a comma at the end of every line", PLAIN.replace(b"\n", b",\n"), True, "2 continuous"),
    Case("comments before the header", b"# made by hand\n# 2024\n" + PLAIN, True, "2 continuous"),
    Case(
        "a header in a comment (NumPy)", b"# x y\n" + PLAIN.replace(b",", b" ")[4:], True, "2 con"
    ),
    Case(
        "row names without a header (R's write.table)",
        rows("x y", lambda i: f'"{i + 1}"', measure, other, sep=" "),
        True,
        "row names",
    ),
    Case(
        "row numbers below an empty name (pandas, R's write.csv)",
        rows(",x,y", lambda i: i, measure, other),
        True,
        "row names",
    ),
    Case("quoted cells", rows('"a, b","c"', measure, lambda i: f'"{other(i)}"'), True, "2 con"),
    Case("decimal commas between semicolons", GERMAN, True, "decimal comma"),
    Case(
        "decimal commas between tabs",
        rows("x\ty", comma(measure), comma(other), sep="\t"),
        True,
        "numbers with a comma in 'x' and 'y'",
    ),
    Case(
        "the same, strictly",
        rows("x\ty", comma(measure), comma(other), sep="\t"),
        False,
        "read with decimal=','.",
        {"strict": True},
    ),
    Case(
        "the same, said so",
        rows("x\ty", comma(measure), comma(other), sep="\t"),
        True,
        "2 continuous",
        {"decimal": ","},
    ),
    Case(
        "decimal commas between commas",
        rows("x,g", comma(measure), sex),
        False,
        "decimal commas need semicolons",
    ),
    Case(
        "thousands separated by commas",
        rows("x,y", lambda i: f'"{1 + i},{100 + i * 7 % 900}"', other),
        True,
        "were taken to separate thousands",
    ),
    Case(
        "the same, strictly",
        rows("x,y", lambda i: f'"{1 + i},{100 + i * 7 % 900}"', other),
        False,
        "separate thousands, remove them",
        {"strict": True},
    ),
    Case(
        "numbers with units",
        rows("x,y,z", lambda i: f"{measure(i)} kg", other, age),
        True,
        "left out 'x', which holds numbers with signs or units ('50.0 kg')",
    ),
    Case(
        "the same, strictly",
        rows("x,y,z", lambda i: f"{measure(i)} kg", other, age),
        False,
        "write plain numbers where there are units",
        {"strict": True},
    ),
    Case(
        "Likert items beside a measurement",
        rows("q1,q2,x", likert, lambda i: likert(i * 3 + 1), measure),
        True,
        "3 continuous",
    ),
    Case(
        "the same, cut into levels",
        rows("q1,q2,x", likert, lambda i: likert(i * 3 + 1), measure),
        True,
        "1 categorical (x)",
        {"discretize": {"x": 3}},
    ),
    Case(
        "the same, items as categories",
        rows("q1,q2,x", likert, lambda i: likert(i * 3 + 1), measure),
        True,
        "1 continuous (x), 2 categorical",
        {"categorical": ["q1", "q2"]},
    ),
    Case(
        "Likert items alone",
        rows("q1,q2,q3", likert, lambda i: likert(i * 3 + 1), lambda i: likert(i * i + 2)),
        True,
        "3 continuous",
    ),
    Case(
        "two or three codes in every column",
        rows("g,h,sex", lambda i: i * i % 4, lambda i: 1 + i * 7 // 5 % 3, lambda i: i // 2 % 2),
        True,
        "3 categorical variables; every column holds a few codes",
    ),
    Case("sex as text and as 0/1", rows("sex,ill", sex, lambda i: (i * 5 // 4) % 2), True, "2 cat"),
    Case(
        "ages, counts and years",
        rows(
            "age,visits,year",
            lambda i: 18 + i * 17 % 61,
            lambda i: i * 11 % 31,
            lambda i: 1950 + i * i % 47,
        ),
        True,
        "3 continuous",
    ),
    Case("truth values", rows("a,b", lambda i: i % 3 == 0, lambda i: i % 7 < 3), True, "2 cat"),
    Case("Rhesus + and -", rows("rh,sex", lambda i: "+-"[i * 3 // 4 % 2], sex), True, "2 cat"),
    Case(
        "30 levels",
        rows("town,sex", lambda i: f"town {i * 7 % 30}", sex, n=300),
        True,
        "2 categorical",
    ),
    Case(
        "levels written with leading zeros",
        rows("zip,sex", lambda i: f"0{1067 + i % 5}", sex),
        True,
        "2 categorical",
    ),
    Case(
        "labels 2⁵³ and 2⁵³ + 1",
        rows("key,sex", lambda i: 2**53 + i * i % 2, lambda i: sex(i * i + 1)),
        True,
        "2 categorical",
    ),
    Case(
        "a column that numbers the rows",
        rows("id,x,y", lambda i: i + 1, measure, other),
        True,
        "left out 'id', which differs in every row (1); keep it with continuous=[\"id\"]",
    ),
    Case(
        "the same, strictly",
        rows("id,x,y", lambda i: i + 1, measure, other),
        False,
        'drop=["id"]',
        {"strict": True},
    ),
    Case(
        "the same, left out",
        rows("id,x,y", lambda i: i + 1, measure, other),
        True,
        "2 continuous",
        {"drop": ["id"]},
    ),
    Case(
        "identifiers as text",
        rows("patient,x,y", lambda i: f"P-{i * 37 % 997}", measure, other),
        True,
        'keep it with categorical=["patient"]',
    ),
    Case(
        "the same, strictly",
        rows("patient,x,y", lambda i: f"P-{i * 37 % 997}", measure, other),
        False,
        'drop=["patient"]',
        {"strict": True},
    ),
    Case(
        "patients with several rows",
        rows("patient,week,x", lambda i: f"P-{i // 4}", lambda i: i % 4, measure),
        True,
        "rows of one subject are not independent",
    ),
    Case(
        "the same, strictly",
        rows("patient,week,x", lambda i: f"P-{i // 4}", lambda i: i % 4, measure),
        False,
        "identifiers of subjects with several rows each",
        {"strict": True},
    ),
    Case(
        "identifiers, dates and free text at once",
        rows(
            "patient_id,seen,note,x,y",
            lambda i: 1000 + i * 13,
            day,
            lambda i: f"came at {i} with a cough",
            measure,
            other,
        ),
        True,
        "left out 'patient_id', which differs in every row (1000)",
    ),
    Case(
        "the same, strictly",
        rows(
            "patient_id,seen,note,x,y",
            lambda i: 1000 + i * 13,
            day,
            lambda i: f"came at {i} with a cough",
            measure,
            other,
        ),
        False,
        'drop=["patient_id", "seen", "note"]',
        {"strict": True},
    ),
    Case("dates", rows("day,x,y", day, measure, other), True, "left out 'day', which holds dates"),
    Case(
        "the same, strictly",
        rows("day,x,y", day, measure, other),
        False,
        "holds dates or times",
        {"strict": True},
    ),
    Case(
        "dates like 31.12.2024 and 20241231",
        rows(
            "a,b,x,y", lambda i: f"{1 + i % 28}.3.2024", lambda i: 20240101 + i % 28, measure, other
        ),
        True,
        "left out 'a' and 'b', which hold dates or times",
    ),
    Case(
        "nearly as many levels as rows",
        rows("town,x,y", lambda i: f"town {i * 7 % 45}", measure, other),
        True,
        "left out 'town', which has too many levels for its rows (45 levels, such as 'town 0')",
    ),
    Case(
        "the same, strictly",
        rows("town,x,y", lambda i: f"town {i * 7 % 45}", measure, other),
        False,
        "many levels in few rows each",
        {"strict": True},
    ),
    Case(
        "empty cells and NA",
        rows("x,y", sometimes(measure, ""), sometimes(other, "NA", 30)),
        True,
        "3 cells are missing, in 'x' (2) and 'y' (1): 3 rows of 59; what is missing",
    ),
    Case(
        "the same, strictly",
        rows("x,y", sometimes(measure, ""), sometimes(other, "NA", 30)),
        False,
        "missing='drop'",
        {"strict": True},
    ),
    Case(
        "the same, without such rows",
        rows("x,y", sometimes(measure, ""), sometimes(other, "NA", 30)),
        True,
        "4 rows of 60 had missing values, in 'x' (3) and 'y' (2), and were dropped",
        {"missing": "drop"},
    ),
    Case(
        "many empty cells",
        rows("x,y,z", sometimes(measure, "", 4), sometimes(other, "NA", 5), age),
        True,
        "27 cells are missing, in 'x' (15) and 'y' (12): 24 rows of 60",
    ),
    Case(
        "a column that is mostly empty",
        rows("x,y,z", measure, lambda i: other(i) if i % 3 == 0 else "", age),
        True,
        "'y' lacks 67% of its values, so that little is known of it",
    ),
    Case(
        "a column that is nearly empty",
        rows("x,y,z", measure, lambda i: other(i) if i % 30 == 0 else "", age),
        True,
        "left out 'y', which has hardly any values (2 in 60 rows)",
    ),
    Case(
        "missing values as ?, ., - and null",
        rows(
            "a,b,c,d",
            sometimes(measure, "?"),
            sometimes(other, ".", 15),
            sometimes(sex, "-", 12),
            sometimes(likert, "null", 10),
        ),
        True,
        "14 cells are missing, in 'd' (5), 'c' (4), 'b' (3) and 'a' (2)",
    ),
    Case(
        "a column without any value",
        rows("x,y,z", measure, other, lambda i: ""),
        False,
        'drop=["z"]',
        {"missing": "drop"},
    ),
    Case(
        "a word among numbers",
        rows("x,y,z,a", sometimes(measure, "broken"), sometimes(other, "<5"), measure, age),
        True,
        "left out 'x' and 'y', which have words among their numbers",
    ),
    Case(
        "the same, strictly",
        rows("x,y,z,a", sometimes(measure, "broken"), sometimes(other, "<5"), measure, age),
        False,
        "'x' has 'broken' in row 4 (line 5) and 'y' has '<5' in row 4 (line 5)",
        {"strict": True},
    ),
    Case(
        "the same, words said to be missing",
        rows("x,y,a", sometimes(measure, "broken"), sometimes(other, "<5"), age),
        True,
        "6 cells are missing, in 'x' (3) and 'y' (3): 3 rows of 60",
        {"na": ["broken", "<5"]},
    ),
    Case(
        "infinite values",
        rows("x,y,z", sometimes(measure, "inf"), other, age),
        True,
        "left out 'x', which has infinite values ('inf' in row 4 (line 5))",
    ),
    Case(
        "the same, strictly",
        rows("x,y,z", sometimes(measure, "inf"), other, age),
        False,
        "There are infinite values: 'x' has 'inf'",
        {"strict": True},
    ),
    Case(
        "constant columns",
        rows("x,y,unit,site", measure, other, lambda i: 1, lambda i: 3),
        True,
        "left out 'unit' and 'site', which are constant; keep them with allow_degenerate=True",
    ),
    Case(
        "the same, strictly",
        rows("x,y,unit,site", measure, other, lambda i: 1, lambda i: 3),
        False,
        "'unit' and 'site' are constant",
        {"strict": True},
    ),
    Case(
        "the same column twice",
        rows("x,y,x2", measure, other, measure),
        True,
        "left out 'x2', which says the same as 'x'; keep both with allow_degenerate=True",
    ),
    Case(
        "the same, strictly",
        rows("x,y,x2", measure, other, measure),
        False,
        "'x' and 'x2' are identical",
        {"strict": True},
    ),
    Case(
        "Celsius and Fahrenheit",
        rows("c,y,f", measure, other, lambda i: 32 + 1.8 * measure(i)),
        True,
        "left out 'f', which says the same as 'c'; keep both with allow_degenerate=True",
    ),
    Case(
        "the same, strictly",
        rows("c,y,f", measure, other, lambda i: 32 + 1.8 * measure(i)),
        False,
        "'c' and 'f' are copies",
        {"strict": True},
    ),
    Case(
        "sex as text and as a number",
        rows("sex,code,q", sex, lambda i: 1 + (sex(i) == "f"), likert),
        True,
        "left out 'code', which says the same as 'sex'; keep both with allow_degenerate=True",
    ),
    Case(
        "the same, strictly",
        rows("sex,code,q", sex, lambda i: 1 + (sex(i) == "f"), likert),
        False,
        "'sex' and 'code' are copies",
        {"strict": True},
    ),
    Case("a name used twice", rows("x,y,x", measure, other, likert), False, "more than once"),
    Case("a column without a name", rows("x,,y", measure, likert, other), False, "Column 2 has no"),
    Case(
        "empty columns without names",
        rows("x,,y,", measure, lambda i: "", other, lambda i: ""),
        True,
        "2 con",
    ),
    Case("no header", PLAIN[4:], False, "a header row with the column names is needed"),
    Case(
        "a title above the header",
        b"My data\n" + PLAIN,
        False,
        "first line of the file is the header",
    ),
    Case("a sum below the table", PLAIN + b"sum\n", False, "Line 62"),
    Case(
        "an Excel workbook",
        b"PK\x03\x04 and so on",
        False,
        "save the table as CSV",
        name="data.xlsx",
    ),
    Case("an empty file", b"", False, "is empty"),
    Case(
        "cardinalities below the header",
        b"a b c\n2 3 4\n0 0 3\n1 2 1\n0 1 0\n1 1 2\n",
        True,
        "4 obs",
    ),
    Case("100,000 rows", noise(100_000, 12), True, "100,000 observations of 12 continuous"),
    Case("2,000 columns", noise(50, 2000), True, "fewer rows (50) than columns (2000)"),
    Case(
        "all combinations with counts",
        b"sex,ill,Freq\nf,no,12\nf,yes,3\nm,no,9\nm,yes,14\n",
        True,
        "use weights='Freq'",
    ),
    Case(
        "the same, counted",
        b"sex,ill,Freq\nf,no,12\nf,yes,3\nm,no,9\nm,yes,14\n",
        True,
        "38 observations of 2 categorical variables",
        {"weights": "Freq"},
    ),
    Case(
        "correlations",
        b"a,b,c\n1,0.5,0.2\n0.5,1,0.1\n0.2,0.1,1\n",
        False,
        "a matrix of correlations between 'a', 'b' and 'c'",
    ),
    Case(
        "nothing but names and dates",
        rows("name,day", lambda i: f"k{i}", day),
        False,
        "There is nothing to learn, because no column is left as a variable",
    ),
]


def outcome(case: Case) -> tuple[bool, str]:
    """Whether a file in the current directory can be learned from, and what is said about it."""
    Path(case.name).write_bytes(case.content)
    try:
        data = load_dataset(case.name, **case.options)
        if data.is_complete:
            resolve_score("auto", data).bind(data)
        else:
            make_cells(data, resolve_score("auto", data))
    except DataError as error:
        return False, str(error)
    return True, "; ".join([data.describe(), *note_holes(data), *data.notes, *note_few_rows(data)])


def table() -> str:
    """All cases with what happens, as Markdown."""
    lines = ["| file | options | what happens |", "|---|---|---|"]
    for case in CASES:
        works, said = outcome(case)
        given = ", ".join(f"`{name}={value!r}`" for name, value in case.options.items())
        shown = f"read: {said}" if works else f"refused: {said}"
        lines.append(f"| {case.title} | {given} | {_as_markdown(shown)} |")
    return "\n".join(lines)


def _as_markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    print(table())
