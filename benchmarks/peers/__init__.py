"""outpoint next to other programs: errors, seconds, memory, on the same scores.

``./dev bench peers`` runs sumu and the hill climbing of pgmpy with bootstrap beside outpoint, on
networks that pgmpy brings along and on sparse random Gaussian DAGs, and writes the tables of
``docs/peers.md``. Arguments: networks (default all), ``--seeds N`` (3), and for any other program
``--program 'NAME=COMMAND'``, a template as in ``contract.py``.
"""

import argparse

from benchmarks.peers.comparison import compare
from benchmarks.peers.networks import (
    GAUSSIAN,
    REFERENCE,
    Network,
    gaussian_network,
    reference_network,
)
from benchmarks.peers.page import load, merge, save, table, update_page
from benchmarks.peers.programs import EXACT, PROGRAMS, SAMPLED, missing
from benchmarks.problems import compile_kernels


def main(arguments: list[str]) -> None:
    """Run the comparison, print each row, and write the page."""
    known = [*REFERENCE, *(f"gaussian{n}" for n in GAUSSIAN)]
    parser = argparse.ArgumentParser(prog="./dev bench peers")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(known))
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument(
        "--program", action="append", default=[], metavar="NAME=COMMAND", type=_named_command
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.networks) - set(known):
        parser.error(f"no network {sorted(unknown)[0]!r}; there are: {', '.join(known)}")
    programs = PROGRAMS | dict(options.program)
    compile_kernels()
    rows = load()
    for name in options.networks or known:
        if name in REFERENCE and missing("pgmpy"):
            print(f"{name} comes with pgmpy, which is not installed", flush=True)
            continue
        network = make_network(name)
        for row in compare(network, programs_for(network, programs), _seeds(options.seeds)):
            rows = merge(rows, row)
            save(rows)
            print(table("exact", [row]).splitlines()[-1], flush=True)
    update_page(rows)


def make_network(name: str) -> Network:
    """A network by the name it has on the command line."""
    if name in REFERENCE:
        return reference_network(name)
    return gaussian_network(int(name.removeprefix("gaussian")))


def programs_for(network: Network, programs: dict[str, str]) -> dict[str, str]:
    """The programs that can take a network: without a limit on parents there is no score file."""
    return {
        name: template
        for name, template in programs.items()
        if (name != EXACT or network.has_exact)
        and ("{scores}" not in template or network.max_parents is not None)
    }


def _seeds(number: int) -> list[int]:
    return list(range(1, number + 1))


def _named_command(text: str) -> tuple[str, str]:
    name, separator, command = text.partition("=")
    if not (separator and name and command) or name in (EXACT, SAMPLED):
        raise argparse.ArgumentTypeError("give NAME=COMMAND")
    return name, command
