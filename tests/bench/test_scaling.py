"""The scaling study: fits, tables and figures of made-up results, and cases that can be run."""

import inspect
import json

import numpy as np
import pytest
from benchmarks.scaling import PARTS, cases, merge
from benchmarks.scaling.case import CASES
from benchmarks.scaling.page import write_page
from benchmarks.scaling.tables import OPERATIONS, base, exponent
from PIL import Image


def made_up(case):
    """Times that follow a known law."""
    n = case.get("n_nodes", 1)
    return case | {
        "table_seconds": 1e-6
        * n**3
        * case.get("n_obs", 1) ** 0.5
        * 2 ** case.get("max_parents", 0),
        "candidates_seconds": 1e-3 * n**2,
        "sampling_seconds": 1.0,
        "microseconds_per_step": 2.0 * n,
        "replicas": 5.0,
        "effective_draws_per_second": None if n == 5 else 7.0,
        "seconds": 3.0**n * 4e-9,
        "processor_seconds": 3.0**n * 8e-9,
        "peak_megabytes": 2.0**n if case["case"] == "exact" else 100.0 + n,
        "nanoseconds": 0.5,
    }


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "scaling.md"
    path.write_text("".join(f"<!-- {part} -->\n<!-- end -->\n" for part in PARTS))
    (path.parent / "images").mkdir()
    write_page({part: [made_up(case) for case in cases(part)] for part in PARTS}, path)
    return path


def test_fits_recover_powers_and_factors():
    x = np.array([5, 20, 100, 441])
    assert exponent(x, 3 * x**1.7) == pytest.approx(1.7)
    assert base([10, 12, 17], 5 * 2.5 ** np.array([10, 12, 17])) == pytest.approx(2.5)


def test_tables(page):
    text = page.read_text()
    assert "| 441 | 1917.79 | 194.5 | 882 | 5 | 7.0 | 541 |" in text
    assert "| 5 | 0.00 | 0.0 | 10 | 5 |  | 105 |" in text
    assert "| exponent beyond 20 | 3.00 | 2.00 | 1.00 |" in text
    assert "| exponent | 0.50 | 0.50 |" in text
    assert "| factor per parent | 2.00 | 2.00 | 1.00 | 1.00 |" in text
    rate = OPERATIONS / 8
    share = 100 * rate / (2 / 0.5)
    row = f"| 20 | 3.49e+09 | 13.95 | 27.89 | {rate:.1f} | {share:.0f} % | 27.89 | 1048576 |"
    assert row in text
    assert "| factor per variable | 3 |  | 3.00 |  |  | 3.00 | 2.00 |" in text


def test_figures_are_small(page):
    for part in PARTS:
        path = page.parent / "images" / f"scaling-{part}.png"
        with Image.open(path) as image:
            assert image.width > 500
        assert path.stat().st_size < 150_000


@pytest.mark.parametrize("part", PARTS)
def test_every_case_can_be_called(part):
    for case in cases(part):
        given = json.loads(json.dumps(case))
        inspect.signature(CASES[given.pop("case")]).bind(**given)


@pytest.mark.parametrize("part", PARTS)
def test_a_case_measured_again_takes_its_old_place(part):
    found = [made_up(case) for case in cases(part)]
    merged = []
    for case in reversed(found):
        merged = merge(part, merged, case)
    assert merged == found
    again = found[1] | {"seconds": -1.0}
    assert merge(part, found, again) == [found[0], again, *found[2:]]


def test_small_cases_run():
    small = CASES["sampled"](n_nodes=5, n_obs=50, steps=200)
    assert small["microseconds_per_step"] > 0
    assert small["replicas"] >= 1
    assert CASES["scored"](n_nodes=5, n_obs=50, max_parents=2, kind="categorical")
    assert CASES["exact"](n_nodes=6, n_obs=50)["processor_seconds"] >= 0
    assert CASES["machine"]()["nanoseconds"] > 0
