"""Every option of a run, declared once.

An option is a field of :class:`Options`: its name, type and default, what values it takes, what it
decides, which functions have it, and what the help of the command line says about it. A new option
is a new field here and a parameter of the functions that have it; a test compares their signatures,
which are written out for readers, with this file. All else follows: the command line and its help,
the checks, what a run records, what is compared and taken over when it is resumed, and the Python
and the command that make it again.

What travels from a call to the record of its run is an instance of :class:`Options`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

from outpoint.arguments import Filename
from outpoint.kinds import (
    PROGRESS,
    SEED,
    TRUTH,
    Bins,
    Bytes,
    Items,
    Names,
    Number,
    Orders,
    Seconds,
    Table,
    Tested,
    Whole,
    choice,
    is_edge_prior,
    is_function_of_one,
    is_path,
    is_text,
    list_of,
    number,
    whole,
)
from outpoint.naming import OWN_FLAGS
from outpoint.options.option import (
    DATA,
    FIT,
    LEARN,
    LOAD,
    MACHINE_PANEL,
    MAP,
    MODEL,
    MODEL_PANEL,
    RUN,
    SEARCH_PANEL,
    Option,
    Role,
    Start,
    declare,
    known,
    reading,
    sampling,
)
from outpoint.registry import METHODS, SCORES, list_scores

SCORE_OBJECTS = ", ".join(f"{entry.class_name}()" for entry in SCORES.values())
EDGES = Items("a list of edges, which are pairs (parent, child) or texts 'parent -> child'", "EDGE")


@dataclass(frozen=True, kw_only=True, eq=False)
class Options:
    """The options of one call in their plain forms; those it does not have keep their defaults."""

    threshold: float | None = declare(None, number(0, 1), Role.PLACE, (FIT,))
    target: str | None = declare(
        None, Tested("the name of a column", test=is_text), Role.PLACE, (FIT,)
    )
    score: Any = declare(
        "auto",
        Tested(
            f"a name, {SCORE_OBJECTS} or CustomScore(fn)",
            test=lambda given: (
                is_text(given) or (hasattr(given, "bind") and not isinstance(given, type))
            ),
        ),
        Role.POSTERIOR,
        MODEL,
        has_own_place=True,
        panel=MODEL_PANEL,
        help=f"auto (by the kinds of columns), {list_scores()}, or a file of local scores (.jkl).",
        others={FIT: {"name": "local_score"}},  # estimators have a method of that name
    )
    method: str = declare(
        "auto",
        choice("auto", "exact", *METHODS),
        Role.POSTERIOR,
        (*RUN, MAP),
        has_own_place=True,
        help="auto: exact up to 21 variables (in a part) and mcmc, our sampler, beyond; or exact, "
        "mcmc, or the paper's partition, partition+rev, structure, structure+rev and order "
        "(biased).",
        others={
            MAP: {
                "kind": choice("auto", "exact", "search", "hill_climb"),
                "help": "auto: exact up to 22 variables and search beyond; or exact, search "
                "(repeated annealing) or hill_climb.",
            }
        },
    )
    max_parents: int | None = declare(
        None,
        Whole(),
        Role.POSTERIOR,
        (*RUN, MAP),
        has_own_place=True,
        help="Largest number of parents of a node (default: no limit up to 20 variables, 3 to 10 "
        "beyond; fewer where categories have more joint levels than there are rows).",
    )
    chains: int = sampling(4, whole(1, 1000), Role.DRAWS, "Number of chains.")
    runs: int | None = sampling(
        None,
        whole(1, 10**7),
        Role.DRAWS,
        "Number of runs (default: 50, beyond 30 variables 20).",
        (MAP,),
        panel=SEARCH_PANEL,
    )
    steps: int | None = sampling(
        None,
        whole(1),
        Role.STOP,
        "Steps of each chain (default: a million; for mcmc 20,000, and on to at most 500,000 until "
        "the chains have converged).",
        (*RUN, MAP),
        others={MAP: {"panel": SEARCH_PANEL, "help": "Steps of each run."}},
    )
    seed: int | None = declare(
        None,
        SEED,
        Role.DRAWS,
        (*RUN, MAP),
        has_own_place=True,
        help="Seed of the random numbers; the same seed gives the same result.",
    )
    warmup: int | None = sampling(
        None,
        whole(0),
        Role.PACE,
        "Unrecorded steps before {steps} (default: a quarter as many).",
    )
    draws: int = sampling(1000, whole(1, 10**8), Role.DRAWS, "DAGs kept from each chain.")
    moves: Any = sampling(
        None,
        Table(
            "'paper' or a dictionary of weights by move",
            "NAME=WEIGHT",
            is_list=True,
            item=Number().read,
            instead="paper",
        ),
        Role.DRAWS,
        "Weight of a move of a partition sampler, such as split_join=1; repeatable. Or 'paper', "
        "for the moves of the paper.",
    )
    edge_reversals: bool = sampling(
        True, TRUTH, Role.DRAWS, "Whether structure MCMC may turn edges around in a step."
    )
    start: Any = sampling(
        None,
        Start(),
        Role.DRAWS,
        "Where chains start: empty, order (the end of a short order chain), search (the best DAG "
        "of a search), or a file with a DAG (default: the best DAG of a search and scattered "
        "DAGs).",
    )
    space: str = sampling(
        "order",
        choice("order", "partition"),
        Role.DRAWS,
        "order, which finds more, or partition, which has the sharper bound.",
        (MAP,),
        panel=SEARCH_PANEL,
    )
    tabu: int = sampling(
        10,
        whole(0),
        Role.DRAWS,
        "Steps for which hill climbing leaves a changed pair of variables alone.",
        (MAP,),
        panel=SEARCH_PANEL,
    )
    patience: int = sampling(
        15,
        whole(1),
        Role.DRAWS,
        "Steps without improvement after which a climb ends.",
        (MAP,),
        panel=SEARCH_PANEL,
    )
    n_candidates: int | None = sampling(
        None,
        whole(0),
        Role.DRAWS,
        "Candidate parents of each variable (default: all up to 20 variables; beyond, 10, or as "
        "many as it uses); other parents are sampled too, but more slowly. Large sets with two or "
        "more other parents may not be: missing_mass in summary.json estimates their share of the "
        "posterior, and the verdict says where it matters.",
        (*RUN, MAP),
        flag="candidates",
        others={
            MAP: {
                "panel": SEARCH_PANEL,
                "help": "Variables of which a table has all subsets as parents of another one "
                "(default: all up to 20 variables; beyond, 10, or as many as it uses); other "
                "parents are searched as well, so this affects speed more than the result.",
            }
        },
    )
    candidates: dict[str, list[str]] | None = sampling(
        None,
        Table(
            "a dictionary that gives for every variable a list of other variables",
            "NAME:NAMES",
            is_list=True,
            item=list_of,
        ),
        Role.DRAWS,
        "Candidate parents of one variable, such as 'y:a,b'; repeat it for every variable, with as "
        "many for each.",
        flag="candidates-of",
    )
    search_effort: float | None = sampling(
        None,
        number(1 / 64, 1, "SHARE"),
        Role.PACE,
        "Share of the usual searching for candidates and starts (default: all of it, or what "
        "{time} allows).",
        (LEARN,),
    )
    pilots: float | None = sampling(
        None,
        number(1 / 8, 5),
        Role.PACE,
        "Pilot chains that try the candidates, at most 5 (default: as many as it takes, or as "
        "{time} allows); below 1, a shorter one.",
        (LEARN,),
    )
    structure_prior: str | None = known(
        None,
        choice("fair", "uniform"),
        "fair (default): equal weight for each number of parents; or uniform (default with bic and "
        ".jkl files): equal weight for each DAG, as in the paper, which favours many edges.",
    )
    knowledge: Any = known(
        None,
        Tested(
            "an outpoint.Knowledge or the path of a file",
            "FILE",
            Path,
            test=lambda given: is_path(given) or hasattr(given, "required_edges"),
        ),
        "TOML or CSV file with required and forbidden edges, tiers, roots and an edge prior; other "
        "options add to it.",
    )
    edge_prior: Any = known(
        None,
        Tested(
            "a probability between 0 and 1, a table of probabilities [parent, child], or a "
            "dictionary of them",
            "NUMBER",
            float,
            test=is_edge_prior,
        ),
        "P multiplies the weight of a DAG by P/(1-P) for every edge. The prior probability of an "
        "edge is less than P, as there are no cycles: with 5 variables and the uniform prior "
        "0.089, 0.301 and 0.460 for 0.1, 0.5 and 0.9.",
    )
    forbidden: tuple[Any, ...] = known(
        (), EDGES, "Edge to exclude, written 'A->B'; repeatable.", flag="forbid"
    )
    required: tuple[Any, ...] = known(
        (), EDGES, "Edge that must be there, written 'A->B'; repeatable.", flag="require"
    )
    tiers: tuple[Any, ...] | None = known(
        None,
        Items("a list of lists of column names, causes first", "NAMES"),
        "Comma-separated group of variables; repeat from causes to effects.",
        flag="tier",
    )
    roots: tuple[Any, ...] = known(
        (),
        Items("a list of column names"),
        "Variable without parents; repeatable.",
        flag="root",
    )
    columns: tuple[str, ...] | None = reading(
        None, Names(), "Read only these columns, separated by commas."
    )
    drop: tuple[str, ...] = reading((), Names(), "Leave out these columns.")
    categorical: tuple[str, ...] = reading((), Names(), "Columns to take as categories, or 'all'.")
    continuous: tuple[str, ...] = reading((), Names(), "Columns to take as measurements, or 'all'.")
    ordinal: Any = reading(
        (),
        Orders(),
        "Columns of which only the order counts, with the order of levels where it is not the "
        "usual one: size:small<medium<large; repeatable.",
    )
    normal_scores: tuple[str, ...] = reading(
        (), Names(), "Skewed columns to replace by normal scores of their ranks, or 'all'."
    )
    discretize: dict[str, int] | None = reading(
        None, Bins(), "Cut a numeric column (or 'all') at quantiles into K levels; repeatable."
    )
    weights: str | None = reading(
        None,
        Tested("the name of a column", "COLUMN", test=is_text),
        "Column that says how often each row was observed.",
    )
    missing: Literal["auto", "augment", "drop", "refuse"] = reading(
        "auto",
        choice("auto", "augment", "drop", "refuse", metavar="auto|augment|drop|refuse"),
        "Missing values: augment integrates them out, drop leaves out their rows, refuse refuses "
        "them; auto (default) integrates them out where that is possible, and otherwise drops rows "
        "if two thirds of them stay.",
    )
    na: tuple[str, ...] | None = reading(
        None,
        Names("a list of words", "WORDS"),
        "Words that mean missing, instead of the usual ones such as NA.",
    )
    decimal: Literal[".", ","] | None = reading(
        None,
        Tested("'.' or ','", "MARK", test=lambda given: is_text(given) and given in (".", ",")),
        "The decimal mark: . or ,",
    )
    separator: str | None = reading(
        None,
        Tested(
            "one character such as ',', ';' or a tab, or 'whitespace'", "CHARACTER", test=is_text
        ),
        "What separates the columns (default: found out from the file).",
    )
    cardinality_row: bool | None = reading(
        None,
        TRUTH,
        "Whether the row below the header holds the number of levels of each column (default: "
        "found out from the file).",
    )
    interventions: Any = reading(
        None,
        Items(
            "the name of a column, or a list with an entry for each row",
            "COLUMN",
            is_list=False,
            may_be_text=True,
        ),
        "Column that names the variables set from outside in each row (such as a;b).",
    )
    strict: bool = reading(
        False,
        TRUTH,
        "Refuse identifiers, dates, constant columns and missing values instead of leaving them "
        "out.",
    )
    allow_degenerate: bool = declare(
        False,
        TRUTH,
        Role.POSTERIOR,
        DATA,
        panel=MODEL_PANEL,
        help="Keep constant columns and copies of columns, and accept variables that were set in "
        "every row.",
    )
    keep: bool = reading(False, TRUTH, None, (LOAD,))
    prefer: Literal["continuous", "categorical"] | None = reading(
        None, choice("continuous", "categorical"), None, (LOAD,)
    )
    memory_limit: float | None = declare(
        None,
        Bytes(),
        Role.PLACE,
        (*RUN, MAP),
        panel=MACHINE_PANEL,
        help="Most memory for exact sums, such as 4GB (default: what is free).",
    )
    time: float | None = declare(
        None,
        Seconds(),
        Role.STOP,
        RUN,
        help="Take 90s, 10m or 2h for everything but compiling, instead of a number of steps.",
    )
    until_converged: bool | None = sampling(
        None,
        TRUTH,
        Role.STOP,
        "Sample until the chains agree; {steps} and {time} are then upper limits.",
    )
    planned_steps: int | None = sampling(
        None,
        whole(1),
        Role.STOP,
        "Number of steps that warm-up and thinning are made for, if it is not {steps}.",
        has_own_place=True,
    )
    engine: str = sampling(
        "threads",
        choice("threads", "dask"),
        Role.PLACE,
        "threads, or dask: worker processes, here or on a cluster.",
    )
    scheduler: str | None = sampling(
        None,
        Tested("the address of a scheduler", "ADDRESS", test=is_text),
        Role.PLACE,
        "Scheduler of the Dask cluster, such as tcp://host:8786.",
    )
    threads: int | None = declare(
        None,
        whole(1),
        Role.PLACE,
        (*RUN, MAP),
        panel=MACHINE_PANEL,
        help="Largest number of threads, or of local worker processes (default: one per processor "
        "that this process may use).",
    )
    out: Any = declare(
        None,
        Filename("the path of a directory", "DIRECTORY"),
        Role.PLACE,
        (LEARN,),
        help="Directory of the run (default: outpoint-run-NAME).",
    )
    overwrite: bool = declare(
        False, TRUTH, Role.PLACE, (LEARN,), help="Replace an earlier run in {out}."
    )
    resume: bool = declare(
        False,
        TRUTH,
        Role.PLACE,
        (LEARN,),
        help="Continue the run in {out}, with the same draws as if it had not stopped: an "
        "interrupted one, or with more {steps} or {time} a finished one. Options that are not "
        "given are those of the run.",
    )
    checkpoint_seconds: float = declare(
        30.0,
        number(0, metavar="SECONDS"),
        Role.PLACE,
        (LEARN,),
        panel=MACHINE_PANEL,
        help="Seconds between two checkpoints of a run that samples.",
    )
    command: str | Callable[[Any], str] | None = declare(
        None,
        Tested(
            "text or a function of the posterior",
            test=lambda given: is_text(given) or is_function_of_one(given),
        ),
        Role.PLACE,
        (LEARN,),
    )
    progress: Any = declare(
        None,
        PROGRESS,
        Role.PLACE,
        (LEARN, MAP),
    )

    @classmethod
    def read(cls, function: str, given: Mapping[str, Any]) -> Options:
        """The options that were given to a function, checked before anything else is done."""
        declared = ((name, OPTIONS[name].for_function(function)) for name in given)
        return cls(**{name: one.read(given[name]) for name, one in declared})

    def chosen(self, options: Iterable[Option]) -> dict[str, Any]:
        """The values of these options by name."""
        return {one.name: getattr(self, one.name) for one in options}

    @property
    def known_seed(self) -> int:
        """The seed; a run chooses one before it records its options, even if none was given."""
        assert self.seed is not None
        return self.seed

    def is_given(self, name: str) -> bool:
        """Whether an option differs from its default."""
        return OPTIONS[name].differs(getattr(self, name))

    def record(self, *roles: Role) -> dict[str, Any]:
        """The options of these roles that are not the defaults, as a run records them in JSON."""
        return {
            name: one.kind.as_json(getattr(self, name))
            for name, one in OPTIONS.items()
            if one.role in roles and not one.has_own_place and self.is_given(name)
        }


OPTIONS = {own.name: replace(own.metadata["option"], name=own.name) for own in fields(Options)}
"""All options by name, in the order in which functions have them."""

OWN_FLAGS.update({name: f"--{one.flag}" for name, one in OPTIONS.items() if one.flag is not None})


def options_of(function: str, *roles: Role) -> Iterator[Option]:
    """The options of a function as it has them: all, or those with some roles."""
    for one in OPTIONS.values():
        if function in one.of and (not roles or one.role in roles):
            yield one.for_function(function)


def names_of(*roles: Role) -> tuple[str, ...]:
    """The names of all options of ``learn`` with these roles."""
    return tuple(one.name for one in options_of(LEARN, *roles))
