"""The page of the scaling study, from the results of the measurements."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.pages import DOCS, replace_blocks
from benchmarks.scaling.figures import draw_exact, draw_growth, draw_nodes, save
from benchmarks.scaling.tables import Case, exact_table, growth_table, nodes_table

PAGE = DOCS / "scaling.md"
CAPTIONS = {
    "nodes": "Time per step, processor seconds and memory against variables",
    "rows": "Seconds for scores, time per step and memory against rows",
    "parents": "Seconds for scores, time per step and memory against the most parents",
    "exact": "Processor seconds and memory of the exact sums against variables",
}
GROWTH = {"rows": ("n_obs", "rows"), "parents": ("max_parents", "most parents")}


def write_page(results: Mapping[str, Sequence[Case]], page: Path = PAGE) -> None:
    """Write the tables, and draw the figures, of all parts of which there are results."""
    blocks = {}
    for part, cases in results.items():
        if part == "nodes":
            table, figure = nodes_table(cases), draw_nodes(cases)
        elif part == "exact":
            table, figure = exact_table(cases), draw_exact(cases)
        else:
            table, figure = (make(cases, *GROWTH[part]) for make in (growth_table, draw_growth))
        image = f"images/scaling-{part}.png"
        save(figure, page.parent / image)
        blocks[part] = f"{table}\n![{CAPTIONS[part]}]({image})\n"
    replace_blocks(page, blocks)
