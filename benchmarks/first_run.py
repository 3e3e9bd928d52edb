"""What the first run takes, when nothing is compiled yet, and the same run after it.

Every command is run with an empty cache of kernels by one thread, which compiles all by itself,
then with an empty cache and helpers, and at last once more, with everything compiled. The clock is
that of this machine at that moment; processor seconds count helpers as well.
"""

import shlex
import sys
import tempfile

from benchmarks.measuring import measure
from outpoint.processors import n_threads

COMMANDS = ["boston", "boston --max-parents 3", "asia --method mcmc"]
LIMIT = 600.0


def main(arguments: list[str]) -> None:
    """Print a table for commands (default: exact, as ``./dev demo``, and sampled)."""
    print(f"{n_threads()} processors")
    print(f"{'outpoint learn ...':28}{'':22}  clock s  processor s")
    for words in arguments or COMMANDS:
        with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as shared:
            _show(words, "nothing compiled, alone", alone, ["--threads", "1"])
            _show(words, "nothing compiled", shared, [])
            _show(words, "compiled", shared, [])


def _show(words: str, state: str, cache: str, options: list[str]) -> None:
    """One line of the table; the run itself goes into a directory that is removed."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["env", f"NUMBA_CACHE_DIR={cache}", sys.executable, "-m", "outpoint", "learn"]
        command += [*shlex.split(words), "--seed", "1", "--quiet", "--out", f"{folder}/run"]
        took = measure([*command, *options], limit=LIMIT)
    numbers = f"{took.seconds:9.1f}{took.processor_seconds:13.1f}"
    print(f"{words:28}{state:22}{took.failure or numbers}", flush=True)
