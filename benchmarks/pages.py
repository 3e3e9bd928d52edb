"""Tables that benchmarks write into pages of the documentation, between marks that stay."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def replace_blocks(path: Path, blocks: Mapping[str, str]) -> None:
    """Put each text between ``<!-- name -->`` and ``<!-- end -->``."""
    page = path.read_text(encoding="utf-8")
    for name, text in blocks.items():
        block = f"<!-- {name} -->\n\n{text}\n<!-- end -->"
        page = re.sub(f"<!-- {name} -->.*?<!-- end -->", lambda _, to=block: to, page, flags=re.S)
    path.write_text(page, encoding="utf-8")
