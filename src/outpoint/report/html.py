"""The report: one HTML file that needs nothing else.

Scripts, styles, data and figures are all inside, so it opens from disk, by mail or from a server.
A content security policy forbids everything else: no request leaves the page, and no text from the
data can become code. D3 draws the graph, and its licence is included; matplotlib drew the figures.
"""

from __future__ import annotations

import base64
import hashlib
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outpoint.errors import OptionError
from outpoint.files import replaced
from outpoint.naming import write_number
from outpoint.posterior import Posterior
from outpoint.posterior.admissible import describe_best, judge_certainty
from outpoint.posterior.files import run_again
from outpoint.report.answers import check_columns, list_dags, list_effects, list_experiments
from outpoint.report.facts import (
    describe_columns,
    describe_dags,
    describe_missing,
    describe_run,
    has_chains,
    headline,
    list_grounds,
    list_settings,
    list_tiles,
    summarize_diagnostics,
    summarize_moves,
)
from outpoint.report.figures import draw_convergence, draw_heatmap, draw_series, draw_traces
from outpoint.report.payload import USUAL_THRESHOLD, build_payload, to_json

if TYPE_CHECKING:
    from outpoint.data import Dataset

SCRIPTS = ("format.js", "save.js", "graph.js", "details.js", "table.js", "effects.js", "page.js")


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    *,
    command: str | None = None,
    data: Dataset | None = None,
) -> Path:
    """Write the report of a posterior to ``path`` and return the path.

    ``command`` is shown as the way to make the same run again; ``data`` adds a summary of the
    columns. The file appears complete or not at all.
    """
    target = Path(path)
    page = render_report(posterior, command=command, data=data).encode("utf-8", "replace")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write {target}: {error.strerror}.") from None
    with replaced(target) as place:
        place.write_bytes(page)
    return target


def render_report(
    posterior: Posterior, *, command: str | None = None, data: Dataset | None = None
) -> str:
    """The text of the report."""
    from jinja2 import Environment
    from markupsafe import Markup

    diagnostics = posterior.diagnostics()
    dags = list_dags(posterior)
    effects = list_effects(posterior)
    payload = build_payload(posterior, diagnostics, dags, effects)
    css = _read("report.css")
    d3 = f"/*\n{_read('d3.LICENSE.txt')}*/\n{_read('d3.min.js')}"
    script = "(() => {\n'use strict';\n" + "".join(map(_read, SCRIPTS)) + "})();\n"
    context: dict[str, Any] = {
        "policy": _policy(css, [d3, script]),
        "css": Markup(css),
        "d3": Markup(d3),
        "script": Markup(script),
        "payload": Markup(to_json(payload)),
        "legible": payload["graph"]["legible"],
        "threshold": payload["graph"]["threshold"],
        "usual_threshold": USUAL_THRESHOLD,
        "least": payload["graph"]["least"],
        "status": payload["table"]["status"],
        "left_out": payload["table"]["left_out"],
        "dags": dags,
        "about_dags": describe_dags(posterior, dags),
        "effects": effects,
        "experiments": list_experiments(posterior),
        "check": check_columns(posterior, data),
        "missing": describe_missing(posterior),
        "title": describe_run(posterior),
        "converged": posterior.converged,
        "verdict": posterior.verdict,
        "version": posterior.info.version,
        "tiles": list_tiles(posterior),
        "headline": headline(posterior),
        "certainty": judge_certainty(posterior),
        "about_best": describe_best(posterior),
        "grounds": list_grounds(posterior),
        "settings": list_settings(posterior),
        "columns": describe_columns(data),
        "reproduce": command or run_again(posterior),
        "diagnostics": summarize_diagnostics(posterior, diagnostics),
        "moves": summarize_moves(posterior),
        "heatmap": draw_heatmap(posterior),
        "series": draw_series(posterior),
        "traces": draw_traces(posterior) if has_chains(posterior) else None,
        "convergence": draw_convergence(posterior),
    }
    # Everything is escaped unless it was made here.
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"inline": Markup, "significant": write_number}
    return environment.from_string(_read("report.html")).render(context)


def _read(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _policy(css: str, scripts: list[str]) -> str:
    """A policy that allows these styles and scripts, images within the page, and nothing else."""
    allowed = " ".join(_digest(script) for script in scripts)
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(css)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
