"""The page of the scaling study, from the results of the measurements."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.pages import DOCS, replace_blocks
from benchmarks.scaling.figures import draw_exact, draw_growth, draw_nodes, save
from benchmarks.scaling.tables import Case, exact_table, growth_table, nodes_table

PAGE = DOCS / "scaling.md"
GROWTH = {"rows": ("n_obs", "rows"), "parents": ("max_parents", "most parents")}


def write_page(results: Mapping[str, Sequence[Case]], page: Path = PAGE) -> None:
    """Write the tables and draw the figures of all parts of which there are results."""
    images = page.parent / "images"
    blocks = {}
    if nodes := results.get("nodes"):
        blocks["nodes"] = nodes_table(nodes)
        save(draw_nodes(nodes), images / "scaling-nodes.png")
    for part, (variable, label) in GROWTH.items():
        if cases := results.get(part):
            blocks[part] = growth_table(cases, variable, label)
            save(draw_growth(cases, variable, label), images / f"scaling-{part}.png")
    if exact := results.get("exact"):
        blocks["exact"] = exact_table(exact)
        save(draw_exact(exact), images / "scaling-exact.png")
    replace_blocks(page, blocks)
