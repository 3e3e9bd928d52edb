"""Knowledge in files: TOML for those who write it, CSV for those who fill in a spreadsheet.

A TOML file has the keys of :class:`~outpoint.scores.knowledge.Knowledge`; ``edge_prior`` may also
be the name of a CSV file with a table of probabilities. A CSV file has the columns
``kind,parent,child,value`` and one row for each thing known. What the items mean is decided in
:mod:`outpoint.scores.knowledge`; here they are only read and written.
"""

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

from outpoint.data.textfile import find_separator
from outpoint.errors import OptionError
from outpoint.files import read_text, write_text
from outpoint.scores.edge_prior import ARROW, in_words

KINDS = ("required", "forbidden", "tier", "root", "edge_prior")
HEADER = ("kind", "parent", "child", "value")
SUFFIXES = (".toml", ".csv")


def read_items(path: Path) -> dict[str, Any]:
    """The items of a file by name, in the form the Python interface takes."""
    _check_suffix(path)
    text = read_text(path, OptionError)
    if path.suffix.lower() == ".csv":
        return _from_rows(path, text)
    try:
        items = tomllib.loads(text)
    except ValueError as error:  # of the language, or a number that Python does not take
        raise OptionError(f"{path} is not valid TOML: {error}.") from None
    if isinstance(items.get("edge_prior"), str):
        items["edge_prior"] = _read_matrix(path.parent / items["edge_prior"])
    return items


def write_items(items: dict[str, Any], path: Path) -> None:
    """Write the items in the format that the name of the file asks for."""
    _check_suffix(path)
    text = "".join(_toml_lines(items)) if path.suffix.lower() == ".toml" else _to_rows(items, path)
    write_text(path, text)


def _check_suffix(path: Path) -> None:
    if path.suffix.lower() not in SUFFIXES:
        raise OptionError(f"{path} has no known format of knowledge: use {' or '.join(SUFFIXES)}.")


def _cells(path: Path, text: str) -> tuple[list[tuple[int, list[str]]], bool]:
    """The rows that are not blank, with their lines, and whether decimals may have commas."""
    separator = find_separator(text) if text.strip() else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise OptionError(f"line {reader.line_num} of {path} cannot be read: {error}.") from None
    return [(line, row) for line, row in rows if any(row)], separator != ","


def _number(text: str, has_comma: bool) -> float | None:
    try:
        number = float(text.replace(",", ".") if has_comma else text)
    except ValueError:
        return None
    return number if isfinite(number) else None


# The list of rows


def _from_rows(path: Path, text: str) -> dict[str, Any]:
    """The items of the rows; every row that makes no sense is named."""
    rows, has_comma = _cells(path, text)
    header = [name.lower() for name in rows[0][1]] if rows else []
    missing = [name for name in HEADER[:3] if name not in header]
    if missing:
        raise OptionError(
            f"the first row of {path} must be {','.join(HEADER)}: there is no {in_words(missing)}."
        )
    items: dict[str, Any] = {name: [] for name in ("required", "forbidden", "roots")}
    tiers: dict[float, list[str]] = {}
    prior: dict[str, Any] = {"edges": []}
    wrong = []
    for line, cells in rows[1:]:
        row = dict(zip(header, cells, strict=False))
        kind, parent, child, value = (row.get(name, "") for name in HEADER)
        complaint = _complaint(kind.lower(), parent, child, value, has_comma)
        if complaint:
            wrong.append(f"line {line} {complaint}")
            continue
        number = _number(value, has_comma)
        match kind.lower():
            case "required" | "forbidden":
                items[kind.lower()].append((parent, child))
            case "root":
                items["roots"].append(parent or child)
            case "tier":
                tiers.setdefault(number or 0.0, []).append(parent or child)
            case _ if parent:
                prior["edges"].append((parent, child, number))
            case _ if prior.setdefault("others", number) != number:
                wrong.append(f"line {line} gives a second probability to all other edges")
    if wrong:
        raise OptionError(f"{path}: {in_words(wrong)}.")
    return {**items, "tiers": [tiers[level] for level in sorted(tiers)], "edge_prior": prior}


def _complaint(kind: str, parent: str, child: str, value: str, has_comma: bool) -> str | None:
    """What is wrong with a row, if anything."""
    if kind not in KINDS:
        return f"has the kind {kind!r}, which is not one of {', '.join(KINDS)}"
    takes_value = kind in ("tier", "edge_prior")
    if value and not takes_value:
        return f"has the value {value!r}, but {kind} takes none"
    if takes_value and _number(value, has_comma) is None:
        return f"needs a number as value, not {value!r}"
    if kind in ("tier", "root"):
        return None if bool(parent) != bool(child) else "needs one variable, as parent or as child"
    is_whole = bool(parent) and bool(child)
    if is_whole or (kind == "edge_prior" and not parent and not child):
        return None
    return "needs a parent and a child"


def _to_rows(items: dict[str, Any], path: Path) -> str:
    prior = items.get("edge_prior")
    if not isinstance(prior, dict):
        prior = {} if prior is None else {"others": prior}
    rows: list[tuple[Any, ...]] = [
        *(("required", *edge, "") for edge in items.get("required", ())),
        *(("forbidden", *edge, "") for edge in items.get("forbidden", ())),
        *(
            ("tier", name, "", level)
            for level, tier in enumerate(items.get("tiers", ()), start=1)
            for name in tier
        ),
        *(("root", name, "", "") for name in items.get("roots", ())),
        *([("edge_prior", "", "", prior["others"])] if "others" in prior else []),
        *(("edge_prior", *edge) for edge in prior.get("edges", ())),
    ]
    names = [name for row in rows for name in row[1:3] if name != ""]
    lost = [repr(name) for name in names if not isinstance(name, str) or name != name.strip()]
    empty = any(row[0] != "edge_prior" and row[1] == "" for row in rows)
    if lost or empty or any(isinstance(name, int) for name in prior.get("columns", ())):
        shown = in_words(dict.fromkeys(lost)) if lost else "variables without a name"
        raise OptionError(f"cannot write {path}: CSV cannot hold {shown}; use .toml.")
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows([HEADER, *rows])
    return buffer.getvalue()


# The table of probabilities


def _read_matrix(path: Path) -> Any:
    """A table [parent, child] with names in the first row, and perhaps in the first column."""
    import pandas as pd

    rows, has_comma = _cells(path, read_text(path, OptionError))
    header, body = (rows[0][1], rows[1:]) if rows else ([], [])
    if len(header) == len(body) + 1:
        header = header[1:]
        labels, cells = [row[0] for _, row in body], [row[1:] for _, row in body]
    else:
        labels, cells = header, [row for _, row in body]
    if not cells or len(labels) != len(cells) or {len(row) for row in cells} != {len(header)}:
        raise OptionError(
            f"{path} is not a table of probabilities: it needs a first row with the names of the "
            "variables and one row for each parent."
        )
    numbers = [[_number(cell, has_comma) for cell in row] for row in cells]
    wrong = [
        f"{labels[i]} {ARROW} {header[j]} ({cells[i][j]!r})"
        for i, row in enumerate(numbers)
        for j, number in enumerate(row)
        if number is None and labels[i] != header[j]
    ]
    if wrong:
        raise OptionError(f"{path} has no number for {in_words(wrong)}.")
    return pd.DataFrame(numbers, index=labels, columns=header, dtype=float)


# TOML


def _toml_lines(items: dict[str, Any]) -> Iterator[str]:
    """The items as TOML, one line for each edge, tables last."""
    for name, value in items.items():
        if isinstance(value, dict):
            continue
        if name in ("required", "forbidden"):
            value = [_edge_text(edge) for edge in value]
        yield f"{name} = {_toml_value(value)}\n"
    for name, value in items.items():
        if isinstance(value, dict):
            yield f"\n[{name}]\n"
            yield from (f"{key} = {_toml_value(part)}\n" for key, part in value.items())


def _edge_text(edge: Iterable[str]) -> Any:
    """An edge with an arrow, or as a pair if its names could be misread."""
    names = list(edge)
    is_plain = all(name and name == name.strip() and ARROW not in name for name in names)
    return f" {ARROW} ".join(names) if is_plain else names


def _toml_value(value: Any) -> str:
    """Text, numbers and lists are the same in TOML as in JSON but for one character."""
    if isinstance(value, list) and value:
        lines = "".join(f"    {_toml_value_inline(part)},\n" for part in value)
        return f"[\n{lines}]"
    return _toml_value_inline(value)


def _toml_value_inline(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
