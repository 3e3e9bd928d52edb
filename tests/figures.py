"""Runs without their reports, or reports without figures, which take longer than a short run."""

from typing import Any

from outpoint.report import html
from outpoint.report.figures import Illustration


def leave_out_figures(patch: Any = None) -> None:
    """Write all of a report but what Matplotlib draws; for this process if there is no patch."""
    change = setattr if patch is None else patch.setattr
    change(html, "draw_heatmap", lambda posterior: Illustration("heatmap", "", "left out"))
    change(html, "draw_traces", lambda posterior: Illustration("traces", "", "left out"))
    change(html, "draw_convergence", lambda posterior: [])


def leave_out_reports(patch: Any = None) -> None:
    """Write a page without content; for this process if there is no patch."""
    change = setattr if patch is None else patch.setattr
    change(html, "render_report", lambda posterior, **options: "<!doctype html>\n")
