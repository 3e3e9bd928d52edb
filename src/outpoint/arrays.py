"""Names for the types of arrays that signatures speak of most."""

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
