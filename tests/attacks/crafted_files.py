"""Files that somebody has made to break a reader: ``python -m tests.attacks.crafted_files JOB``.

Every reader of text that is no table is given files made of its own words in a wrong order, of
numbers nobody writes, of nesting and repetition, and good files that were changed at random. All is
read in one process with a limit on its memory and on the time of each file. A file is answered
cleanly if it is read, or refused with one sentence that names it.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import outpoint as op
from outpoint.errors import LONGEST, OutpointError
from outpoint.files import MOST_BYTES

MEMORY = 1 << 30
SECONDS = 20

Reader = Callable[[Path], Any]
READERS: dict[str, Reader] = {
    ".toml": op.Knowledge.read,
    ".csv": op.Knowledge.read,
    "prior.csv": lambda path: op.Knowledge.read(path.parent / "beside.toml"),
    ".dot": op.read_dag,
    ".graphml": op.read_dag,
    ".dagitty": op.read_dag,
    ".bn": op.read_dag,
    "graph.csv": op.read_dag,
    "edges.csv": op.read_dag,
    ".jkl": op.read_jkl,
    "run.csv": op.read_edges,
    "table.csv": op.load_dataset,
}
SAYS_ROWS = ("table.csv",)
"""Whose sentences name rows and columns, and the file only where it cannot be read at all."""

GOOD: dict[str, str] = {
    ".toml": 'required = ["a -> b", ["c", "d"]]\ntiers = [["a", "c"], ["b", "d"]]\nroots = ["a"]\n'
    '[edge_prior]\nothers = 0.1\nedges = [["a", "d", 0.7], ["c -> b", 0]]\n',
    ".csv": "kind,parent,child,value\nrequired,a,b,\ntier,a,,1\nroot,a,,\nedge_prior,a,d,0.7\n",
    "prior.csv": ",a,b,c\nb,0.5,,0.2\na,,0.9,0.2\nc,0.2,0.2,\n",
    ".dot": 'digraph g {\n a; "b c"; d [label=<x>];\n a -> "b c" -> d [dir=forward];\n}\n',
    ".graphml": '<?xml version="1.0" encoding="utf-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" '
    'attr.name="n" attr.type="int"/><graph edgedefault="directed"><node id="a"><data key="d0">5'
    '</data></node><node id="b"/><edge source="a" target="b"/></graph></graphml>\n',
    ".dagitty": 'dag {\n a [exposure]\n "b c" -> { d e }\n a -> d <- e\n}\n',
    ".bn": "[a][b|a][c|a:b]\n",
    "graph.csv": "a,b,c\n0,1,1\n0,0,1\n0,0,0\n",
    "edges.csv": "parent,child\na,b\nb,c\n",
    ".jkl": "2\na 2\n-1.5 0\n-2.5 1 b\nb 1\n-3 0\n",
    "run.csv": "parent,child,probability,mcse,status\na,b,0.5,0.1,ok\nb,a,0.25,0.1,ok\n",
    "table.csv": "a,b,c\n1.5,x,3\n2.5,y,4.25\n0.25,x,-1\n4,y,0.5\n",
}
"""A good file for each reader."""

MARKS = [
    *"[]{}()<>\"'\\:;,=|#-.&/* \t\n\r",
    "->",
    "<-",
    "<->",
    "/*",
    "*/",
    "//",
    '"""',
    "''",
    "]]>",
]
WORDS = ["a", "b", "nan", "inf", "-inf", "1e999", "-0", "0x1", "1_0", "1979-05-27", "true", "\0"]
WORDS += [
    "\ufeff",
    "\u2028",
    "\ud7ff",
    "\x1b[2J",
    "<!DOCTYPE x [",
    "<!ENTITY a 'b'>",
    "&a;",
    "&#0;",
]
LARGE = ["9" * 400, "9" * 5000, "1e" + "9" * 30, "0." + "1" * 5000, "-" + "9" * 4301, "a" * 100_000]


def changed(text: str, rng: np.random.Generator) -> bytes:
    """A good file with a few random changes: bytes, words of the language, pieces twice or gone."""
    content = bytearray(text.encode())
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(content) + 1))
        to = min(len(content), at + int(rng.integers(1, 12)))
        match rng.integers(5):
            case 0:
                content[at:to] = rng.bytes(to - at)
            case 1:
                content[at:to] = b""
            case 2:
                content[at:at] = bytes(content[:to])
            case 3:
                content[at:to] = str(rng.choice(LARGE)).encode()
            case _:
                content[at:at] = str(rng.choice([*MARKS, *WORDS])).encode()
    return bytes(content)


def repeated(text: str, rng: np.random.Generator) -> bytes:
    """A piece of a good file, or of the language, some hundred thousand times."""
    at = int(rng.integers(len(text)))
    pieces = [text[at : at + int(rng.integers(1, 20))], *rng.choice([*MARKS, *WORDS], 2)]
    piece = "".join(pieces[: int(rng.integers(1, 4))])
    times = int(10 ** rng.uniform(2, 6)) // max(1, len(piece))
    return (text[:at] + piece * times + text[at:] * int(rng.integers(2))).encode()


def scrambled(text: str, rng: np.random.Generator) -> bytes:
    """Words of the language and of others in any order."""
    own = [text[i : i + 6] for i in range(0, len(text), 3)]
    words = rng.choice([*own, *MARKS, *WORDS, *LARGE], int(rng.integers(1, 60)))
    return "".join(words).encode()


def crafted(reader: str, rng: np.random.Generator) -> bytes:
    """A file for a reader."""
    makers = [changed, changed, repeated, scrambled]
    return makers[int(rng.integers(len(makers)))](GOOD[reader], rng)


def endless(reader: str, place: Path) -> list[Path]:
    """Files that are larger than any that is read, or never end, by the name for a reader."""
    sparse, device = place / f"sparse{reader}", place / f"device{reader}"
    with open(sparse, "wb") as file:
        file.truncate(1 << 40)
    device.symlink_to("/dev/zero")
    (place / f"random{reader}").symlink_to("/dev/urandom")
    (place / f"folder{reader}").mkdir()
    return [sparse, device, place / f"random{reader}", place / f"folder{reader}"]


LARGEST: dict[str, Callable[[int], str]] = {
    ".toml": lambda n: "roots = [" + '"a",' * (n // 4),
    ".csv": lambda n: "kind,parent,child,value\n" + "required,a,b,\n" * (n // 14),
    "prior.csv": lambda n: "a," * (n // 2),
    ".dot": lambda n: "digraph { a" + "->a" * (n // 3),
    ".graphml": lambda n: "<a>" * (n // 3),
    ".dagitty": lambda n: "dag { a" + "->a" * (n // 3),
    ".bn": lambda n: "[a|" + "b:" * (n // 2),
    "graph.csv": lambda n: "a,b\n" * (n // 4),
    "edges.csv": lambda n: "parent,child\n" + "a,b\n" * (n // 4),
    "run.csv": lambda n: "parent,child,probability\n" + "a,b,0\n" * (n // 6),
    "table.csv": lambda n: "a,b\n" + "1,2\n" * (n // 4),
    ".jkl": lambda n: "1\na 9\n" + "1 1 b " * (n // 6),
}
"""A file of nearly the largest size that costs its reader most."""

UNCLOSED = ('digraph { "', 'dag { "', 'roots = ["', 'roots = """', "<graphml a='", '"', "/*")


def special(reader: str, place: Path) -> list[Path]:
    """Files that need no chance: endless ones, the largest ones, quotes that never end, nesting."""
    texts = [
        LARGEST[reader](MOST_BYTES - 100),
        "[" * 100_000,
        "{" * 100_000,
        "a = " + "[" * 100_000,
        "",
    ]
    texts += [start + "x" * (MOST_BYTES - 100) for start in UNCLOSED[:4]]
    texts += [start + "\\x " * (MOST_BYTES // 4) for start in UNCLOSED]
    paths = endless(reader, place)
    for number, text in enumerate(texts):
        paths.append(place / f"special-{number}-{reader}")
        paths[-1].write_bytes(text.encode())
    return paths


def complaint(reader: str, path: Path) -> str:
    """What is wrong with the answer to a file; nothing if it is clean."""
    try:
        READERS[reader](path)
    except OutpointError as error:
        sentence = str(error)
        named = str(path.parent) if reader == "prior.csv" else str(path)
        is_named = reader in SAYS_ROWS or named in sentence
        if not is_named or "\n" in sentence or len(sentence) > LONGEST:
            return f"said {sentence[:300]!r}"
    except BaseException as error:
        return f"raised {type(error).__name__}: {str(error)[:200]}"
    return ""


def main(job: dict[str, Any]) -> None:
    """Read the files of a job, and print what was not answered cleanly."""
    place, reader = Path(job["directory"]), str(job["reader"])
    (place / "beside.toml").write_text('edge_prior = "crafted-prior.csv"\n')
    if problem := complaint(reader, _written(place, reader, GOOD[reader].encode())):
        raise SystemExit(problem)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _give_up)
    wrong: list[str] = []
    for seed in range(job["first"], job["last"]):
        path = _written(place, reader, crafted(reader, np.random.default_rng(seed)))
        wrong += _answer(reader, path, f"seed {seed}")
    paths = special(reader, place) if job["special"] else []
    for path in paths:
        if reader == "prior.csv":
            (place / "beside.toml").write_text(f'edge_prior = "{path.name}"\n')
        wrong += _answer(reader, path, path.name)
    print(json.dumps({"tried": job["last"] - job["first"] + len(paths), "wrong": wrong}))


def _written(place: Path, reader: str, content: bytes) -> Path:
    path = place / f"crafted-{reader}"
    path.write_bytes(content)
    return path


def _answer(reader: str, path: Path, label: str) -> list[str]:
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    said = complaint(reader, path)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return [f"{label}: {said}"] if said else []


def _give_up(number: int, frame: Any) -> None:
    raise TimeoutError(f"no answer in {SECONDS} processor seconds")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
