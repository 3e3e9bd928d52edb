"""Columns of text files: the cells that were put in, and numbers only where these say it all."""

import numpy as np
import pytest

import outpoint as op
from outpoint.data.cells import BATCH, TextColumn, parse_numbers


def column(cells: list[str]) -> TextColumn:
    made = TextColumn()
    for start in range(0, len(cells), BATCH):
        made.append_batch(cells[start : start + BATCH])
    return made


LONG = [f"{i / 7:.4g}" for i in range(2 * BATCH + 11)]


def test_the_cells_are_those_put_in() -> None:
    cells = ["", "a\nb", " x ", *LONG]
    made = column(cells)
    assert list(made) == cells
    assert len(made) == len(cells)
    assert [made[i] for i in (0, BATCH, -1)] == [cells[i] for i in (0, BATCH, -1)]
    assert made[BATCH - 2 : BATCH + 2] == cells[BATCH - 2 : BATCH + 2]
    with pytest.raises(IndexError):
        made[len(cells)]


def test_numbers_are_those_of_the_cells() -> None:
    numbers = column(LONG).numbers
    assert numbers is not None
    assert np.array_equal(numbers, [float(cell) for cell in LONG])


@pytest.mark.parametrize(
    "cell", ["", "NA", "nan", "inf", "007", " 007", "1_0", "9007199254740993", "1e400", "x", "1,5"]
)
@pytest.mark.parametrize("place", [0, BATCH, -1])
def test_a_cell_that_says_more_than_a_number(cell: str, place: int) -> None:
    """What such a cell means depends on the others, so the column stays text."""
    cells = list(LONG)
    cells[place] = cell
    assert column(cells).numbers is None
    assert list(column(cells)) == cells


@pytest.mark.parametrize("cell", ["0", "-0.5", "0.7", "1e-300", " 3 ", "1e15", "+2"])
def test_cells_that_are_numbers(cell: str) -> None:
    assert column([*LONG, cell]).numbers is not None


def test_a_long_file_is_read_as_a_short_one(tmp_path) -> None:
    """Of more than a batch of rows each column is what it is when parsed as a whole."""
    rng = np.random.default_rng(1)
    n = 2 * BATCH + 5
    columns = {
        "whole": [str(x) for x in rng.integers(1000, size=n)],
        "real": [f"{x:.6g}" for x in rng.normal(size=n)],
        "code": [f"{x:04d}" for x in rng.integers(40, size=n)],
        "late": [*[str(x % 50) for x in range(n - 1)], "NA"],
    }
    rows = [",".join(cells) for cells in zip(*columns.values(), strict=True)]
    (tmp_path / "table.csv").write_text("\n".join([",".join(columns), *rows, ""]))
    data = op.load_dataset(tmp_path / "table.csv", missing="augment", keep=True)
    for name in ("whole", "real"):
        assert np.array_equal(data.values[:, data.index(name)], parse_numbers(columns[name]))
    assert data.levels[data.index("code")] == tuple(f"{x:04d}" for x in range(40))
    late = data.values[:, data.index("late")]
    assert np.array_equal(np.isnan(late), np.arange(n) == n - 1)
    assert np.array_equal(late[:-1], np.arange(n - 1) % 50)
