"""Score tables: sums, maxima and draws over parent sets, all an engine sees of the data."""

from outpoint.tables.build import build_table, check_max_parents, default_max_parents
from outpoint.tables.jkl import write_jkl
from outpoint.tables.table import ScoreTable

__all__ = ["ScoreTable", "build_table", "check_max_parents", "default_max_parents", "write_jkl"]
