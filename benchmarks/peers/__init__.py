"""outpoint next to other programs: errors, seconds, memory, on the same scores.

``./dev bench peers`` runs sumu and the hill climbing of pgmpy with bootstrap beside outpoint, on
networks that pgmpy brings along and on sparse random Gaussian DAGs, and writes the tables of
``docs/peers.md``. Arguments: networks (default all), ``--seeds N`` (3), ``--only PROGRAM`` (all),
``--seconds S`` for the other programs (the processor time that ours took), and for any other
program ``--program 'NAME=COMMAND'``, a template as in ``contract.py``. ``page`` writes the tables
again from the results of earlier runs.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.peers.comparison import Row, compare, time_of
from benchmarks.peers.networks import NETWORKS, REFERENCE, Network, make_network
from benchmarks.peers.page import load, merge, save, table, update_page
from benchmarks.peers.programs import EXACT, LONG, PROGRAMS, SAMPLED, missing
from benchmarks.peers.reference import find_reference
from benchmarks.problems import compile_kernels


def main(arguments: list[str]) -> None:
    """Run the comparison, print each row, and write the page."""
    if arguments == ["page"]:
        update_page(load())
        return
    options = _parse(arguments)
    compile_kernels()
    for name in options.networks or NETWORKS:
        if name in REFERENCE and missing("pgmpy"):
            print(f"{name} comes with pgmpy, which is not installed", flush=True)
            continue
        network = make_network(name)
        for row in _rows(network, options, load()):
            save(merge(load(), row))
            print(table("long", [row]).splitlines()[-1], flush=True)
    update_page(load())


def _rows(network: Network, options: argparse.Namespace, kept: Sequence[Row]) -> Iterator[Row]:
    """The row of the reference, if it is new, and those of the programs that were asked for."""
    programs = programs_for(network, PROGRAMS | dict(options.program))
    reference, row = find_reference(network, programs)
    if row is not None:
        yield row
    chosen = {
        name: template
        for name, template in programs.items()
        if name not in (EXACT, LONG) and name in (options.only or programs)
    }
    seconds = options.seconds
    if seconds is None and SAMPLED not in chosen:
        ours = [row for row in kept if (row.network, row.program) == (network.name, SAMPLED)]
        seconds = time_of(ours[0]) if ours else None
    seeds = list(range(1, options.seeds + 1))
    yield from compare(network, chosen, seeds, reference, seconds)


def programs_for(network: Network, programs: Mapping[str, str]) -> dict[str, str]:
    """The programs that can take a network: without a limit on parents there is no score file."""
    return {
        name: template
        for name, template in programs.items()
        if "{scores}" not in template or network.max_parents is not None
    }


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench peers")
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--only", action="append", metavar="PROGRAM", help="not all programs")
    parser.add_argument("--seconds", type=float, help="processor time of the other programs")
    parser.add_argument(
        "--program", action="append", default=[], metavar="NAME=COMMAND", type=_named_command
    )
    options = parser.parse_args(arguments)
    if unknown := set(options.networks) - set(NETWORKS):
        parser.error(f"no network {sorted(unknown)[0]!r}; there are: {', '.join(NETWORKS)}")
    return options


def _named_command(text: str) -> tuple[str, str]:
    name, separator, command = text.partition("=")
    if not (separator and name and command) or name in (EXACT, LONG, SAMPLED):
        raise argparse.ArgumentTypeError("give NAME=COMMAND")
    return name, command
