"""Which scores have a model that missing cells can be drawn from."""

from typing import Any

from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.missing.categorical import CategoricalCells
from outpoint.missing.cells import Cells
from outpoint.missing.conditional import ConditionalCells
from outpoint.missing.gaussian import GaussianCells
from outpoint.naming import option

HAVE_MODELS: dict[str, type[Cells]] = {
    "bge": GaussianCells,
    "blocks": GaussianCells,
    "bdeu": CategoricalCells,
    "conditional-gaussian": ConditionalCells,
}
"""What draws missing cells, by the name of the score."""


def make_cells(data: Dataset, score: Any) -> Cells:
    """The missing cells of a table under a score; refuses scores without a model."""
    kind = HAVE_MODELS.get(score.name)
    if kind is None:
        raise OptionError(
            f"the score {score.name} has no model from which missing values could be drawn: choose "
            f"{', '.join(HAVE_MODELS)}, or drop rows with {option('missing', 'drop')}."
        )
    return kind(data, score)
