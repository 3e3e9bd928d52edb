"""Plots and the HTML report of a posterior."""

from outpoint.report.html import render_report, write_report

__all__ = ["render_report", "write_report"]
