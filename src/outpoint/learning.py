"""Learning a posterior: data, score, table and engine, one stage after the other."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType

from outpoint.augmentation import (
    INTEGRATING,
    augment,
    choose_method,
    prepare_completed,
)
from outpoint.data import Data, Dataset, Entry
from outpoint.data.cells import DecimalMark
from outpoint.data.reading import Names, Treatment
from outpoint.errors import CheckpointError, OptionError
from outpoint.exact import is_quick, log_sum_of_dags, require_feasible, require_in_time, solve
from outpoint.kinds import checked_seed
from outpoint.mcmc import SAMPLERS, Moves, check_method
from outpoint.model import MOST_TOGETHER, Model, Problem, prepare, read, require_fitting
from outpoint.models import NetworkModel
from outpoint.naming import count_of, enumerate_items, named, option
from outpoint.narrowing import Narrowed, narrow
from outpoint.options import LEARN, Options, carried_out_by, options_of
from outpoint.pacing import Pace, affordable_parents, refuse_slow_scoring
from outpoint.parts import (
    Beside,
    Split,
    can_be_scored,
    find_split,
    limit_beside,
    limit_parents,
    require_scorable,
    separate_parts,
    solve_parts,
)
from outpoint.posterior import ExactPosterior, Posterior, RunInfo, write_run
from outpoint.posterior.assembling import assemble
from outpoint.posterior.augmented import EXACT_TABLES
from outpoint.posterior.effects import GaussianModel
from outpoint.posterior.exact import Solution
from outpoint.posterior.info import make_info
from outpoint.processors import limited_threads, n_threads
from outpoint.progress import Clock
from outpoint.resumption import SavedRun, find_saved
from outpoint.runs import CANDIDATES, Progress, ProgressCallback, RunDirectory, saved_arrays
from outpoint.runs.directory import nothing_to_resume
from outpoint.runs.manifest import keep_scores, kept_scores
from outpoint.sampling import Plan, Start, sample_posterior, workers
from outpoint.scores import GivenEdgePrior, Knowledge, Score
from outpoint.scoring import log_score_of
from outpoint.showing import GivenProgress, shown
from outpoint.signals import remembered_signals
from outpoint.tables.build import log_sum_by_size, prior_table

PARTS_METHOD = "mcmc"
"""The sampler beside which small parts are exact."""


class IgnoredOptionWarning(UserWarning):
    """Options were given that the chosen method does not use."""


def _learn(data: Data, asked: Options) -> Posterior:
    """Make a run, and hold its directory, threads, signals and progress in the meantime."""
    _refuse_together(asked)
    run = None if asked.out is None else RunDirectory(asked.out)
    with ExitStack() as stack:
        stack.enter_context(limited_threads(asked.threads))
        show = stack.enter_context(shown(asked.progress))
        check_signals = stack.enter_context(remembered_signals())
        if run is not None:
            stack.enter_context(
                run.held(overwrite=asked.overwrite and not asked.resume, resume=asked.resume)
            )

        def report(progress: Progress) -> None:
            check_signals()
            if show is not None:
                show(progress)

        return _make_run(data, asked, run, report)


def _make_run(
    data: Data, asked: Options, run: RunDirectory | None, report: ProgressCallback
) -> Posterior:
    """Do what was ``asked`` for, in the directory of the run, if there is one, which is held."""
    clock, started = Clock(asked.time), perf_counter()
    dataset = read(data, asked, keeps_holes=asked.method in INTEGRATING)
    saved = find_saved(run) if asked.resume and run is not None else None
    if saved is not None:
        asked = saved.adopt(asked, dataset)
    if not dataset.is_complete:
        return _integrate(dataset, asked, saved, run, report, clock)
    if asked.method == "exact":
        _warn_of_ignored(asked)
    model = prepare(dataset, asked)
    split = find_split(model.scorer, model.prior)
    method = _chosen_method(asked, split)
    limited = None
    if method == "exact":
        model = limit_parents(model, split, asked.max_parents)
    elif method == PARTS_METHOD:
        limited = limit_beside(model, split, asked)
        model = limited or model
    if saved is not None:
        model = model.with_remarks(saved.notes)
    elif asked.time is not None and method != "exact":
        model = _scored_in_time(model, asked, clock, asked.time)
    asked = replace(
        asked, method=method, seed=checked_seed(asked.seed), max_parents=model.max_parents
    )

    def info(taken: Mapping[str, float] = MappingProxyType({})) -> RunInfo:
        return make_info(model.record, asked, seconds=perf_counter() - started, taken=taken)

    if saved is not None and saved.posterior is not None:
        finished = saved.finished(info(), lambda dag: log_score_of(model.scorer, model.prior, dag))
        finished.is_scored = model.is_scored
        finished.network_model = NetworkModel.from_score(model.score, dataset)
        if saved.run.summary.exists():
            return finished  # otherwise it died while its files were moved into place
    if method == "exact":
        posterior = _sum_over_all(model, split, asked, run, info, report)
    else:
        beside = None if limited is None else separate_parts(model, split)
        posterior = _sample(model, beside, asked, run, info, report, clock)
    posterior.is_scored = model.is_scored
    posterior.network_model = NetworkModel.from_score(model.score, dataset)
    if run is not None:
        command = asked.command
        text = command(posterior) if callable(command) else command
        write_run(posterior, run, data=dataset, command=text)
    return posterior


def _integrate(
    dataset: Dataset,
    asked: Options,
    saved: SavedRun | None,
    run: RunDirectory | None,
    report: ProgressCallback,
    clock: Clock,
) -> Posterior:
    """The posterior of a table with holes, which are integrated out."""
    started = perf_counter()
    if asked.method not in INTEGRATING:
        raise OptionError(
            f"missing values are integrated out by {option('method', 'auto')}, not by "
            f"{asked.method}: leave out {named('method')}, or drop rows with holes with "
            f"{option('missing', 'drop')}."
        )
    model = prepare_completed(dataset, asked)
    split = find_split(model.scorer, model.prior)
    method = choose_method(asked, split, dataset.n_nodes)
    if method == EXACT_TABLES:
        model = limit_parents(model, split, asked.max_parents)
    else:
        require_fitting(dataset.n_nodes, MOST_TOGETHER)
    if saved is not None:
        model = model.with_remarks(saved.notes)
    asked = replace(
        asked, method=method, seed=checked_seed(asked.seed), max_parents=model.max_parents
    )

    def info(taken: Mapping[str, float]) -> RunInfo:
        seconds = perf_counter() - started
        return make_info(model.record, asked, seconds=seconds, taken=taken)

    if saved is not None and saved.posterior is not None:
        raise CheckpointError(nothing_to_resume(saved.run))
    with workers(asked) as pool:
        posterior = augment(model, split, asked, run, pool, info, report, clock)
    posterior.is_scored = model.is_scored
    if run is not None:
        command = asked.command
        text = command(posterior) if callable(command) else command
        write_run(posterior, run, data=dataset, command=text)
    return posterior


def _refuse_together(asked: Options) -> None:
    """Refuse options that make no sense together."""
    if asked.method == "exact" and asked.moves is not None:
        raise OptionError("moves belongs to the partition samplers, not to method 'exact'.")
    if asked.scheduler is not None and asked.engine != "dask":
        raise OptionError(f"a scheduler belongs to {option('engine', 'dask')}.")
    if asked.scheduler is not None and asked.out is None:
        raise OptionError(
            f"with a scheduler give a directory ({named('out')}) that all workers can read and "
            "write."
        )


def _warn_of_ignored(asked: Options) -> None:
    """Name the options of sampling that an exact run was given, to the caller of ``learn``."""
    ignored = [one.name for one in options_of(LEARN) if one.is_of_sampling]
    ignored = [name for name in ignored if asked.is_given(name)]
    if ignored:
        warnings.warn(describe_ignored(ignored), IgnoredOptionWarning, stacklevel=5)


def describe_ignored(names: Sequence[str]) -> str:
    """A sentence about options that an exact run does not use."""
    verb = "is" if len(names) == 1 else "are"
    listed = enumerate_items(names, limit=len(names))
    return f"the posterior is exact and nothing is sampled: {listed} {verb} not used."


def _scored_in_time(model: Model, asked: Options, clock: Clock, seconds: float) -> Model:
    """The model, with fewer parents by default if scoring them would take too much of the time."""
    limit = affordable_parents(model.scorer, model.max_parents, clock)
    if limit == model.max_parents:
        return model
    if asked.max_parents is not None:
        refuse_slow_scoring(model.max_parents, limit, seconds)
    remark = (
        f"at most {limit} parent{'s' if limit > 1 else ''} instead of {model.max_parents}, as "
        f"scoring more would take too much of the time; {named('max_parents')} allows more"
    )
    return replace(model.with_parents(limit), remarks=(remark,))


def _sum_over_all(
    model: Model,
    split: Split,
    asked: Options,
    run: RunDirectory | None,
    info: Callable[..., RunInfo],
    report: ProgressCallback,
) -> Posterior:
    """Score all families, then sum over all DAGs."""
    report(Progress("scoring parent sets", 0.0))
    with workers(asked) as pool:
        solution, log_prior_sum = _solve(model, split, pool, report)
    if run is not None:
        run.discard_checkpoint()  # of a run that is to be replaced
    gaussian = GaussianModel.from_scorer(model.scorer, model.data.names)
    return ExactPosterior(info(), solution, gaussian, log_prior_sum)


def _solve(
    model: Model, split: Split, pool: Executor | None, report: ProgressCallback
) -> tuple[Solution, float]:
    """The sum over all DAGs, as a whole or by parts, and the log sum of their prior weights."""
    stage = "summing over all DAGs"

    def tell(fraction: float) -> None:
        report(Progress(stage, fraction))

    if len(split.parts) > 1:
        data, scorer, prior = model.data, model.scorer, model.prior
        return solve_parts(data.names, scorer, prior, split, model.max_parents, pool, tell)
    table = model.problem.tabulate(model.data.n_nodes - 1, pool)
    tell(0.0)
    log_prior_sum = log_sum_by_size(table, model.prior)
    if log_prior_sum is None:
        log_prior_sum = log_sum_of_dags(prior_table(table, model.prior))
    return solve(table, tell), log_prior_sum


def _sample(
    model: Model,
    beside: Beside | None,
    asked: Options,
    run: RunDirectory | None,
    info: Callable[..., RunInfo],
    report: ProgressCallback,
    clock: Clock,
) -> Posterior:
    """Score families, then run chains; where some parts are exact, on the other parts alone."""
    report(Progress("scoring parent sets", 0.0))
    names = model.data.names
    problem, facts, digest = model.problem, model.facts, model.scores_digest
    if beside is not None:
        problem = beside.problem(names)
        facts |= {"sampled variables": list(problem.names)}
        digest = None if digest is None else f"{digest} {len(problem.names)}"
        asked = replace(asked, max_parents=problem.max_parents)
    require_fitting(problem.n_nodes, MOST_TOGETHER)
    gaussian = GaussianModel.from_scorer(model.scorer, names)
    with workers(asked) as pool:
        narrowed = _narrow(problem, digest, asked, run, pool, report, clock)
        exact = None
        if beside is not None:
            stage, own = "summing over exact parts", (model.scorer, model.prior, beside.exact)
            exact, _ = solve_parts(
                names, *own, model.max_parents, pool, lambda share: report(Progress(stage, share))
            )
        report(Progress("sampling", 0.0))
        plan = Plan(asked, SAMPLERS[asked.method], problem.n_nodes, run)
        sampled = sample_posterior(
            narrowed, problem.prior, plan, facts, info, report, pool, gaussian, clock
        )
    if beside is None or exact is None:
        return sampled
    return assemble(sampled, beside.folded, exact, beside.sizes, gaussian)


def _narrow(
    problem: Problem,
    digest: str | None,
    asked: Options,
    run: RunDirectory | None,
    pool: Executor | None,
    report: ProgressCallback,
    clock: Clock,
) -> Narrowed:
    """Choose candidates; scores and choices of a run that is continued are taken from it."""
    continued = run if asked.resume else None
    saved = {} if continued is None else saved_arrays(continued)
    if continued is not None and saved and len(saved[CANDIDATES]) != problem.n_nodes:
        raise CheckpointError(
            f"the run in {continued} cannot be resumed: it has sampled "
            f"{count_of(len(saved[CANDIDATES]), 'variable')} and would now sample "
            f"{problem.n_nodes}; give the options it was begun with."
        )
    known = None if continued is None or digest is None else kept_scores(continued, digest)
    pace = Pace(clock, asked.search_effort, asked.pilots)
    narrowed, families = narrow(
        problem,
        asked.n_candidates,
        asked.candidates,
        asked.known_seed,
        pool,
        saved,
        known,
        report,
        pace,
    )
    if run is not None and continued is None:
        run.discard_checkpoint()
    if run is not None and digest is not None and not saved:  # a saved run may yet be refused
        keep_scores(run, digest, families)
    return narrowed


def _chosen_method(asked: Options, split: Split) -> str:
    """The engine to use; refuses problems that do not fit."""
    method = asked.method
    if method == "auto":
        quick = is_quick(split.largest, asked.memory_limit, asked.time, n_threads())
        quick = quick and can_be_scored(split, asked.max_parents)
        method = "exact" if asked.moves is None and quick else "mcmc"
    if method == "exact":
        require_feasible(split.largest, asked.memory_limit)
        require_in_time(split.largest, asked.time)
        require_scorable(split, asked.max_parents)
    else:
        check_method(method, asked.moves)
    return method


@carried_out_by(_learn)
def learn(
    data: Data,
    score: Score = "auto",
    method: str = "auto",
    max_parents: int | None = None,
    chains: int = 4,
    steps: int | None = None,
    seed: int | None = None,
    *,
    warmup: int | None = None,
    draws: int = 1000,
    moves: Moves | None = None,
    edge_reversals: bool = True,
    start: Start | None = None,
    n_candidates: int | None = None,
    candidates: Mapping[str, Sequence[str]] | None = None,
    search_effort: float | None = None,
    pilots: float | None = None,
    structure_prior: str | None = None,
    knowledge: Knowledge | str | Path | None = None,
    edge_prior: GivenEdgePrior | None = None,
    forbidden: Iterable[tuple[str, str]] = (),
    required: Iterable[tuple[str, str]] = (),
    tiers: Sequence[Sequence[str]] | None = None,
    roots: Iterable[str] = (),
    columns: Names | None = None,
    drop: Names = (),
    categorical: Names = (),
    continuous: Names = (),
    ordinal: Names | Mapping[str, Sequence[str]] = (),
    normal_scores: Names = (),
    discretize: Mapping[str, int] | None = None,
    weights: str | None = None,
    missing: Treatment = "auto",
    na: Names | None = None,
    decimal: DecimalMark | None = None,
    separator: str | None = None,
    cardinality_row: bool | None = None,
    interventions: str | Iterable[Entry] | None = None,
    strict: bool = False,
    allow_degenerate: bool = False,
    memory_limit: float | None = None,
    time: str | float | None = None,
    until_converged: bool | None = None,
    planned_steps: int | None = None,
    engine: str = "threads",
    scheduler: str | None = None,
    threads: int | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    command: str | Callable[[Posterior], str] | None = None,
    progress: GivenProgress = None,
) -> Posterior:
    """Posterior over the DAGs that may have generated ``data``.

    Ctrl-C ends sampling early, as do SIGTERM and SIGHUP unless your program handles them itself;
    the posterior of what was sampled so far is returned, and its verdict says so.

    Parameters
    ----------
    data
        A path, a pandas or polars DataFrame, a 2-D array, a :class:`Dataset`, or the name of a
        bundled data set.
    score
        ``"auto"`` (by the kinds of the columns), ``"bge"`` (continuous), ``"bdeu"`` (categorical),
        ``"blocks"`` or ``"conditional-gaussian"`` (both), ``"bic"``, or a score object such as
        ``BGe(alpha_mu=0.1)`` or ``CustomScore(function)``.
    method
        ``"exact"``: the posterior itself, for up to about 21 variables, or as many in each of the
        parts into which background knowledge splits the problem. ``"mcmc"``: our sampler,
        beside which parts of at most 20 variables are exact if others are larger.
        ``"partition"``, ``"partition+rev"``, ``"structure"``, ``"structure+rev"``: the paper's
        samplers; ``"order"``: order MCMC, which is biased. ``"auto"`` is exact up to 21
        variables in a part, unless that needs more memory or ``time`` than there is or ``moves``
        are given, and ``"mcmc"`` otherwise.
    max_parents
        Most parents a node may have. By default there is no limit up to 20 variables; beyond, as
        many as can be scored in a second or two, and at least 3. Where ``"bdeu"`` or
        ``"conditional-gaussian"`` counts levels of parents, it is at most the number of columns
        that cannot have more joint levels than there are rows, and at least 3; a note says so.
        Where not all sets of 4 and more can be scored one by one, they may have one member outside
        the candidates.
    chains, steps, warmup, draws
        Number of chains; recorded steps of each; unrecorded steps before them (a quarter of
        ``steps`` by default); DAGs kept of each chain. By default our sampler takes 20,000 steps,
        and goes on to at most 500,000 until its chains have converged; the others take a million.
        They and all other options of sampling are not used by exact sums: with
        ``method="exact"`` an :class:`IgnoredOptionWarning` names those that were given.
    seed
        Seed of all randomness; a fresh one is chosen and recorded if none is given.
    moves
        Weights of the partition moves, a dict with keys among ``split_join``, ``node_move``,
        ``swap_any``, ``swap_adjacent``, ``node_gibbs``, ``rev``, ``parents`` and ``families``; or
        ``"paper"``.
    edge_reversals
        Whether structure MCMC may turn edges around in a step.
    start
        Where chains start: ``"empty"`` for the required edges alone, ``"order"`` for the end of a
        short order chain, ``"search"`` for the best DAG of a search, or a :class:`Dag`. By default
        the first chain starts at the best DAG of a search and the others at DAGs drawn from random
        orders, beyond 20 variables at those of independent short searches, so that agreement
        between them means something.
    n_candidates, candidates
        Beyond 20 variables sums over parent sets are tabulated for this number of candidate parents
        of each node (by default 10, or as many as a node uses if that is more; up to 20 variables,
        all others), found by searches and pilot chains, or beginning with a list that you give for
        each variable. Sets outside the candidates are sampled as well, within the limit that
        ``max_parents`` describes: up to the sizes that are all scored, the choice affects how fast
        chains mix, not what they sample. Beyond, ``Posterior.missing_mass`` says what it costs.
    search_effort, pilots
        How much of the usual searching is done to find candidates and starts, and how many pilot
        chains try them, one after the other (at most 5; below 1, a shorter one). All of it by
        default; where ``time`` is short, what there is time for, which the run records.
    structure_prior
        ``"fair"``, the default: the same weight for each number of parents of a node; or
        ``"uniform"``: the same weight for each DAG, as in the paper. Most DAGs have many edges, so
        the uniform prior expects many edges, and the more so the more variables there are. BIC and
        scores of your own are complete without a prior; their default is ``"uniform"``.
    knowledge
        A :class:`Knowledge`, or the path of a TOML or CSV file with one. The five options below
        say the same one by one and are combined with it; contradictions are refused.
    edge_prior
        A number p for every edge, or a table of them [parent, child]: every edge multiplies the
        weight of a DAG by p / (1 - p). As DAGs have no cycles, p is not the prior probability of
        the edge: with five variables and the uniform prior 0.1, 0.5 and 0.9 give 0.089, 0.301 and
        0.460.
    forbidden, required
        Edges (parent, child) that no DAG, or every DAG, has.
    tiers
        Groups of variables from causes to effects; no edge points back to an earlier group.
    roots
        Variables without parents.
    columns, drop, categorical, continuous, ordinal, normal_scores, discretize, weights, missing, \
na, decimal, separator, cardinality_row, interventions, strict
        How the data are read, as for :func:`load_dataset`: which columns, what they are, and what
        becomes of missing values. A variable that was set from outside in some rows
        (``interventions``) is scored by the others.
    allow_degenerate
        Keep constant columns and copies, and go on with variables that were set in every row.
    memory_limit
        Bytes the exact engine may use (default: what is free); ``"auto"`` samples where they are
        too few.
    time
        How long the whole run takes, apart from compiling, in seconds or as ``"90s"``, ``"10m"``,
        ``"2h"``; ``steps``, if given, is then an upper limit. Searches and pilots take at most half
        of it, warming up a quarter of what is left. Where scoring would take too long there are
        fewer ``max_parents``, unless they were given; ``"auto"`` samples where exact sums would
        take longer. Draws are thinned as the run grows, so that between ``draws`` and twice as many
        are kept; of a run that takes more than the usual number of steps the first quarter is left
        out.
    until_converged
        Sample until the chains agree (see ``Posterior.verdict``), or ``steps`` or ``time`` is up;
        without either, for at most 250 times the usual number of steps.
    planned_steps
        The number of steps that warm-up and thinning are made for, if it is not ``steps``; a run
        that a clock has ended, or that was continued, states it so that it can be made again.
    engine, scheduler
        ``"threads"`` of this process, or ``"dask"``: worker processes on this machine, or those
        of the Dask scheduler at this address. The draws are the same.
    threads
        Most threads, or local worker processes, to use at a time; by default as many as there are
        processors for this process, fewer if its container or the environment variables
        OMP_NUM_THREADS or NUMBA_NUM_THREADS say so. Results do not depend on it.
    out, overwrite, resume, checkpoint_seconds
        Directory for the results; while chains run they leave checkpoints there, every
        ``checkpoint_seconds``. ``resume`` continues a run bit for bit, one that was interrupted
        or, with more ``steps`` or ``time``, a finished one (and starts one if there is none).
        Options that are not given are then those of the run; other data, another score, other
        knowledge and options that are not those of the run are refused by name. ``overwrite``
        replaces an earlier run.
    command
        What the report shows as the way to make the same run again, or a function that returns it
        for the posterior.
    progress
        By default a run of more than two seconds shows how far it is, on a terminal and in a
        notebook. ``False`` shows nothing; ``True`` shows it everywhere and at once; a function is
        called with a :class:`outpoint.runs.Progress` now and then.
    """
    raise NotImplementedError  # _learn is called instead
