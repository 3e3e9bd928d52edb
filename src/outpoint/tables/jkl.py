"""Local scores for other programs: a ``.jkl`` file of all parent sets up to some size."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from outpoint.arguments import PATH, takes
from outpoint.data import Data, Dataset, load_dataset
from outpoint.errors import OptionError, TooLargeError
from outpoint.naming import named
from outpoint.options import OPTIONS
from outpoint.scores import FamilyScorer, Score, bind_score, resolve_score
from outpoint.scores.base import count_subsets, subsets_of_size
from outpoint.tables.build import MAX_FAMILIES, check_max_parents

OWN = ("score", "max_parents", "allow_degenerate")
"""The options of ``learn`` that decide on scores."""


@takes(path=PATH, **{name: OPTIONS[name].kind for name in OWN})
def write_jkl(
    path: str | Path,
    data: Data,
    score: Score = "auto",
    max_parents: int | None = None,
    *,
    allow_degenerate: bool = False,
) -> None:
    """Write the local scores of all parent sets of at most ``max_parents`` variables.

    ``data``, ``score`` and ``max_parents`` are those of :func:`outpoint.learn`; by default sets are
    as large as the number of variables allows, however few the rows are. The scores are what
    the data say, without priors or background knowledge. :class:`outpoint.JklScore` reads them back
    to the last bit; GOBNILP, Gibby and others read them too.
    """
    dataset = load_dataset(data)
    limit = check_max_parents(dataset.n_nodes, max_parents)
    for name in dataset.names:
        if name.split() != [name]:
            raise OptionError(
                f"a .jkl file cannot hold the name {name!r}: it takes no spaces; rename the column."
            )
    n_families = dataset.n_nodes * count_subsets(dataset.n_nodes - 1, limit)
    if n_families > MAX_FAMILIES:
        raise TooLargeError(
            f"there are {n_families:,} parent sets of at most {limit} variables: give a smaller "
            f"{named('max_parents')}."
        )
    chosen = resolve_score(score, dataset)
    scorer = bind_score(chosen, dataset, allow_degenerate=allow_degenerate)
    try:
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(dataset, scorer, limit))
    except OSError as error:
        raise OptionError(f"cannot write {path}: {error.strerror}.") from None


def _lines(data: Dataset, scorer: FamilyScorer, max_parents: int) -> Iterator[str]:
    """Families that cannot occur are left out: that is how the format says so."""
    yield f"{data.n_nodes}\n"
    for child, name in enumerate(data.names):
        families = []
        for size in range(max_parents + 1):
            others = subsets_of_size(data.n_nodes - 1, size)
            parents = others + (others >= child)
            scores = scorer.families(child, parents)
            for row, score in zip(parents.tolist(), scores.tolist(), strict=True):
                if np.isfinite(score):
                    named = "".join(f" {data.names[u]}" for u in row)
                    families.append(f"{score!r} {size}{named}\n")
        yield f"{name} {len(families)}\n"
        yield from families
