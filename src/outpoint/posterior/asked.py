"""What the methods of posteriors take, each kind with its check and its words."""

from collections.abc import Mapping
from numbers import Real

import numpy as np

from outpoint.arguments import PROBABILITY, VALUE, VARIABLE, Either, ListOf, MapOf
from outpoint.data import Dataset
from outpoint.kinds import Tested, choice, is_function_of_one, is_path

DATASET = Tested("a Dataset", test=lambda given: isinstance(given, Dataset))
FEATURE = Tested(
    "a function of a Dag or a text such as 'a -> b'",
    test=lambda given: (
        isinstance(given, str)
        or callable(getattr(type(given), "evaluate", None))
        or is_function_of_one(given)
    ),
)
WEIGHTS = Either(
    "a function Dag -> log weight, 'linear_extensions' or 'equivalence_classes'",
    kinds=(
        choice("linear_extensions", "equivalence_classes"),
        Tested("a function", test=is_function_of_one),
    ),
)
PAIR = ListOf("a pair (cause, effect) of variables", item=VARIABLE, size=2)
TWO_VALUES = ListOf("a pair of values, numbers or levels", item=VALUE, size=2)
CAUSE = Either(
    "the name of a variable, or a dictionary of pairs of values such as {'a': (0, 1)}",
    kinds=(VARIABLE, MapOf("a dictionary", item=TWO_VALUES)),
)
ROWS = Tested(
    "a table with named columns, or the path of a file",
    test=lambda given: (
        isinstance(given, Dataset | Mapping | list | tuple | np.ndarray)
        or hasattr(type(given), "columns")
        or is_path(given)
    ),
)
SETTING = MapOf(
    "a dictionary of a value, or a list of values, by variable",
    item=Either("a value", kinds=(VALUE, ListOf("a list", item=VALUE))),
)
QUANTILES = ListOf("a list of probabilities between 0 and 1", item=PROBABILITY)
THRESHOLD = Tested(
    "a probability above 0 and up to 1",
    test=lambda given: isinstance(given, Real) and 0 < float(given) <= 1,
)
UNITS = choice("original", "sd")
