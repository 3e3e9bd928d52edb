"""What the scaling study found, as tables with fitted exponents."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.pages import markdown

SECONDS = ("table_seconds", "candidates_seconds")
STEP = "microseconds_per_step"
PEAK = "peak_megabytes"
OPERATIONS = 15
"""What the exact sums do for each of 3^n pairs of sets: 7 operations in one, 8 in the other."""

FEW, MANY = 50, 500
"""Rows of data for the exact sums: with few, hardly a term vanishes."""

LARGE = 14
"""Variables from which on the exact sums take more than their preparation."""

Case = Mapping[str, Any]
Fit = Callable[[Sequence[float], Sequence[float]], float]


def exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """The power of x with which y grows: the slope of a straight line through the logs."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def base(n: Sequence[float], y: Sequence[float]) -> float:
    """By how much y is multiplied when n grows by one."""
    return float(np.exp(np.polyfit(n, np.log(y), 1)[0]))


def nodes_table(cases: Sequence[Case]) -> str:
    """A row for each number of variables."""
    header = (
        "variables",
        "scores s",
        "candidates s",
        "microseconds per step",
        "replicas",
        "effective draws per s",
        "memory MB",
    )
    rows = [
        [
            str(case["n_nodes"]),
            f"{case['table_seconds']:.2f}",
            f"{case['candidates_seconds']:.1f}",
            f"{case['microseconds_per_step']:.0f}",
            f"{case['replicas']:.0f}",
            "" if (ess := case["effective_draws_per_second"]) is None else f"{ess:.1f}",
            f"{case['peak_megabytes']:.0f}",
        ]
        for case in cases
    ]
    large = [case for case in cases if case["n_nodes"] > 20]
    if large:
        fitted = [_fitted(large, key, "n_nodes", exponent) for key in (*SECONDS, STEP, PEAK)]
        rows.append(["exponent beyond 20", *fitted[:-1], "", "", fitted[-1]])
    return markdown(header, rows)


def _fitted(cases: Sequence[Case], key: str, variable: str, fit: Fit) -> str:
    if len(cases) < 2:
        return ""
    return f"{fit([case[variable] for case in cases], [case[key] for case in cases]):.2f}"


def growth_table(cases: Sequence[Case], variable: str, label: str) -> str:
    """Seconds for the scores, microseconds per step and memory, for both kinds of data."""
    values = sorted({case[variable] for case in cases})
    columns = [
        (what, kind, key)
        for what, key in (
            ("scored", "table_seconds"),
            ("sampled", "microseconds_per_step"),
            ("sampled", PEAK),
        )
        for kind in sorted({kind_of(case) for case in cases if case["case"] == what}, reverse=True)
    ]
    names = {"table_seconds": "scores s", "microseconds_per_step": "µs per step", PEAK: "MB"}
    header = [label, *(f"{names[key]}, {kind}" for _, kind, key in columns)]
    found = {(case["case"], kind_of(case), case.get(variable)): case for case in cases}
    rows = [
        [
            f"{value:,}",
            *(_number(found.get((what, kind, value)), key) for what, kind, key in columns),
        ]
        for value in values
    ]
    fit, name = (exponent, "exponent") if variable == "n_obs" else (base, "factor per parent")
    rows.append([name, *(_growth(cases, *column, variable, fit) for column in columns)])
    return markdown(header, rows)


def kind_of(case: Case) -> str:
    """Gaussian unless it says otherwise."""
    return str(case.get("kind", "gaussian"))


def _number(case: Case | None, key: str) -> str:
    if case is None:
        return ""
    return f"{case[key]:.3f}" if key == "table_seconds" else f"{case[key]:.0f}"


def _growth(cases: Sequence[Case], what: str, kind: str, key: str, variable: str, fit: Fit) -> str:
    chosen = [case for case in cases if case["case"] == what and kind_of(case) == kind]
    return _fitted(chosen, key, variable, fit)


def machine_rate(cases: Sequence[Case]) -> float:
    """Operations per nanosecond of one core, at best."""
    return 2 / next(case["nanoseconds"] for case in cases if case["case"] == "machine")


def exact_table(cases: Sequence[Case]) -> str:
    """Seconds and memory of the exact sums, and the share of what the machine can do."""
    few, many = (sums_of(cases, n_obs) for n_obs in (FEW, MANY))
    rate = machine_rate(cases)
    rows = []
    for case, other in zip(few, many, strict=True):
        terms = 3 ** case["n_nodes"]
        done = OPERATIONS * terms / (1e9 * case["processor_seconds"])
        rows.append(
            [
                str(case["n_nodes"]),
                f"{terms:.2e}",
                f"{case['seconds']:.2f}",
                f"{case['processor_seconds']:.2f}",
                f"{done:.1f}",
                f"{100 * done / rate:.0f} %",
                f"{other['processor_seconds']:.2f}",
                f"{case[PEAK]:.0f}",
            ]
        )
    header = (
        "variables",
        "3ⁿ",
        f"seconds, {FEW} rows",
        "processor s",
        "operations per ns",
        "of the machine's",
        f"processor s, {MANY} rows",
        "memory MB",
    )
    factors = [_factor(few, "processor_seconds"), _factor(many, "processor_seconds")]
    rows.append(
        ["factor per variable", "3", "", factors[0], "", "", factors[1], _factor(few, PEAK)]
    )
    return markdown(header, rows)


def sums_of(cases: Sequence[Case], n_obs: int) -> list[Case]:
    """The exact sums for data with so many rows."""
    return [case for case in cases if case.get("n_obs") == n_obs]


def _factor(cases: Sequence[Case], key: str) -> str:
    return _fitted([case for case in cases if case["n_nodes"] >= LARGE], key, "n_nodes", base)
