"""The arrays in the file of a posterior: their dimensions, types and ranges."""

from typing import Any

from outpoint.posterior.checks import ROUNDING
from outpoint.stored import Field


def _real(*dimensions: str) -> Field:
    return Field(dimensions)


def _probability(*dimensions: str) -> Field:
    return Field(dimensions, least=-ROUNDING, most=1.0 + ROUNDING)


def _count(*dimensions: str, least: int = 0) -> Field:
    return Field(dimensions, "i8", least)


def _code(*dimensions: str) -> Field:
    return Field(dimensions, "i4")


def _bit(*dimensions: str) -> Field:
    return Field(dimensions, "u1", 0, 1)


RECORD_FIELDS = {
    "codes": _code("chain", "draw", "node"),
    "log_score": _real("chain", "draw"),
    "log_weight": _real("chain", "draw"),
    "edge_batches": _probability("chain", "batch", "node", "candidate"),
    "edges": _probability("chain", "node", "candidate"),
    "outside_batches": _probability("chain", "outside_batch", "outside_edge"),
    "outside_edges": _probability("chain", "outside_edge"),
    "best_code": _code("chain", "node"),
    "best_log_score": _real("chain"),
    "attempts": _count("chain", "move"),
    "accepted": _count("chain", "move"),
    "start_code": _code("chain", "node"),
    "power": _probability("chain", "replica")._replace(finite=False),
    "swap_attempts": _count("chain", "pair"),
    "swap_accepted": _count("chain", "pair"),
    "round_trips": _count("chain"),
    "hot_log_weight": _real("chain"),
    "hot_spread": _real("chain")._replace(least=0.0),
    "hot_batches": _real("chain", "hot_batch"),
    "n_steps": _count("chain"),
    "thin": _count("chain", least=1),
}
RECORD_SCALARS: dict[str, Any] = {
    "best_log_score": float,
    "round_trips": int,
    "hot_log_weight": float,
    "hot_spread": float,
    "n_steps": int,
    "thin": int,
}
SINCE_BATCHES = ("hot_batches",)
"""Fields that files of earlier versions do not have."""

CODES = ("best_code", "start_code")
CANDIDATES = {"candidates": _code("node", "candidate")}
OUTSIDE_FIELDS = {
    "outside_pairs": _code("outside_edge", "end"),
    "outside_members": Field(("outside_set", "member"), "i2"),
}
MISSING_MASS = {"missing_mass": _probability("node")}
"""What files have if it is known; those of earlier versions do not."""

HOLES_FIELDS = {
    "holes_values": _real("row", "node")._replace(finite=False),
    "holes_tables": _real("chain", "table", "cell"),
    "holes_numbers": _count("table"),
    "holes_squares": _probability("chain", "node", "candidate"),
    "holes_ancestors": _probability("chain", "parent", "child"),
}
"""What files of posteriors of tables with missing values have besides."""

MADE = (
    ("chain", "outside_batch", "node", "node"),
    ("chain", "node", "node"),
    ("chain", "node", "node"),
)
"""Arrays of numbers that a posterior makes of the records."""

SOLUTION_FIELDS = {
    "edges": _probability("parent", "child"),
    "ancestors": _probability("parent", "child"),
    "log_parent_sets": Field(("node", "parent_set"), most=ROUNDING, finite=False),
    "best_adjacency": _bit("parent", "child"),
    "dags": _bit("draw", "parent", "child"),
    "log_scores": _real("draw"),
}
SET_FIELDS = {
    "set_child": _code("set"),
    "set_members": Field(("set", "set_member"), "i2"),
    "set_log_probability": Field(("set",), most=ROUNDING),
}
PARTS_FIELDS = {
    **{name: field for name, field in SOLUTION_FIELDS.items() if name != "log_parent_sets"},
    "drawn_ancestors": _bit("parent", "child"),
    "part_size": _code("part"),
    **SET_FIELDS,
}
PARTLY_FIELDS = {
    "exact_edges": _probability("parent", "child"),
    "part_size": _code("part"),
    "sampled_size": _code("sampled_part"),
    "part_log_score": _real("chain", "draw"),
    **SET_FIELDS,
}
"""What a posterior with exact parts has beside the records of its chains."""

MODEL_FIELDS = {
    "model_factor": _real("group", "column", "other_column"),
    "model_degrees_of_freedom": _real("group"),
    "model_group": _real("node"),
    "model_owner": _real("column"),
    "model_scales": _real("node")._replace(least=0.0),
    "model_standardized": Field((), least=0, most=1),
}
