"""Runs on tables with holes: chains over completed tables, until they agree or time is up."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.clock import Clock
from outpoint.data import Dataset
from outpoint.errors import OptionError
from outpoint.exact import solve
from outpoint.mcmc.moves import MOVES
from outpoint.missing import AugmentedChain, Solved, make_cells
from outpoint.model import Model, prepare
from outpoint.naming import named, option
from outpoint.options import Options
from outpoint.parts import Split, solve_parts
from outpoint.parts.part import everyone_else
from outpoint.posterior import RunInfo
from outpoint.posterior.augmented import AugmentedPosterior, Holes, assess_augmented
from outpoint.posterior.diagnostics import MIN_BATCHES
from outpoint.processors import n_threads, thread_pool
from outpoint.progress import ChainStatus, Progress, ProgressCallback
from outpoint.runs import ChainRecord
from outpoint.scores import FamilyScorer, resolve_score
from outpoint.streams import named_seed
from outpoint.tables.parent_sets import MOST_CANDIDATES, ParentSets

USUAL_TABLES = 100
"""Completed tables of each chain that are recorded before the chains are first compared."""

MOST_TABLES = 4000
"""Most of them in a run that ends when its chains agree."""

WARMUP_TABLES = 50

GROWTH = 1.5
"""How much longer chains become from one comparison to the next."""

ENOUGH_ESS = 200
"""Effective draws of every edge from which on a run that has converged stops by itself."""

DRAWS = 4
"""DAGs that are drawn of each completed table."""

MOST_BATCHES = 512

LEAST_FOR_THREADS = 12
"""Smaller tables are solved so quickly that chains in several threads would only wait in line."""

PIECE_SECONDS = 0.25
"""Time between two looks at whether to stop."""

LARGEST = 18
"""Most variables of a part that is solved anew for every completed table."""


def prepare_completed(dataset: Dataset, asked: Options) -> Model:
    """The model of a table with holes: bound to a first completed table, it knows the whole one."""
    if dataset.slices is not None:
        raise OptionError(
            "missing values of a time series cannot be integrated out: drop rows with "
            f"{option('missing', 'drop')}."
        )
    score = resolve_score(asked.score, dataset)
    cells = make_cells(dataset, score)
    first = cells.start(np.random.default_rng(0))
    model = prepare(cells.complete(first), replace(asked, score=cells.score, allow_degenerate=True))
    return replace(model, data=dataset, score=score)


def require_small(split: Split, n_nodes: int) -> None:
    """Refuse problems that are too large to be solved again and again."""
    if split.largest <= LARGEST and n_nodes <= MOST_CANDIDATES:
        return
    raise OptionError(
        f"missing values are integrated out for up to {LARGEST} variables, and these are "
        f"{n_nodes}: choose some with {named('columns')}, or drop rows with holes with "
        f"{option('missing', 'drop')}."
    )


@dataclass(frozen=True)
class Budget:
    """How many completed tables each chain records; they are compared at ``checks``."""

    n_warmup: int
    most: int | None
    until_converged: bool

    @classmethod
    def of(cls, asked: Options) -> "Budget":
        """What the options of a run ask for."""
        n_warmup = WARMUP_TABLES if asked.warmup is None else int(asked.warmup)
        until = asked.until_converged
        if until is None:
            until = asked.steps is None and asked.time is None and asked.chains > 1
        most = asked.steps
        if most is None and asked.time is None:
            most = MOST_TABLES if until else USUAL_TABLES
        return cls(n_warmup, most, until)


def augment(
    model: Model,
    split: Split,
    asked: Options,
    make_info: Callable[[dict[str, float]], RunInfo],
    report: ProgressCallback,
    clock: Clock,
) -> AugmentedPosterior:
    """Run chains over completed tables and return what they found.

    Raises KeyboardInterrupt if it is interrupted before there is anything to return.
    """
    cells = make_cells(model.data, model.score)

    def solve_table(scorer: FamilyScorer, seed: int) -> Solved:
        return _solve(replace(model, scorer=scorer), split, seed)

    seeds = np.random.SeedSequence(named_seed(asked.known_seed, "augment")).spawn(asked.chains)
    budget = Budget.of(asked)
    chains = [AugmentedChain(cells, solve_table, budget.n_warmup, seed) for seed in seeds]
    sets = ParentSets(everyone_else(model.data.n_nodes), np.zeros((0, 0), dtype=np.int16))

    def has_converged() -> bool:
        records = _records(chains, sets)
        if records[0].n_steps < MIN_BATCHES:
            return False
        found = assess_augmented(records, model.data.names, sets)
        return found.converged and (found.smallest_ess or np.inf) >= ENOUGH_ESS

    is_complete = _drive(chains, budget, has_converged, report, clock, split.largest)
    if not min(chain.n_steps for chain in chains):
        raise KeyboardInterrupt
    records = _records(chains, sets)
    taken: dict[str, float] = {"steps": records[0].n_steps, "warmup": budget.n_warmup}
    return AugmentedPosterior(
        make_info(taken if is_complete else {}),
        model.data.names,
        sets,
        records,
        holes=_holes(chains, cells.missing, sets),
        data=model.data,
        is_complete=is_complete,
    )


def _solve(model: Model, split: Split, seed: int) -> Solved:
    """The exact posterior of a completed table."""
    if len(split.parts) > 1:
        names, scorer, prior = model.data.names, model.scorer, model.prior
        parts = solve_parts(names, scorer, prior, split, model.max_parents)[0]
        drawn = parts.draw(DRAWS, seed)
        best = parts.best_adjacency, parts.best_log_score
        return Solved(parts.edges, parts.ancestors, *drawn, *best)
    found = solve(model.problem.tabulate(model.data.n_nodes - 1))
    drawn = found.draw(DRAWS, seed)
    return Solved(found.edges, found.ancestors, *drawn, found.best_adjacency, found.best_log_score)


def _drive(
    chains: Sequence[AugmentedChain],
    budget: Budget,
    has_converged: Callable[[], bool],
    report: ProgressCallback,
    clock: Clock,
    n_nodes: int,
) -> bool:
    """Advance all chains together until they are done; false if somebody has interrupted that."""
    check, piece = USUAL_TABLES, 1
    n_workers = min(len(chains), n_threads()) if n_nodes >= LEAST_FOR_THREADS else 1
    with thread_pool(n_workers) as pool:
        try:
            while True:
                done = chains[0].n_steps
                if budget.most is not None and done >= budget.most:
                    return True
                if done and clock.left() <= 0:
                    return True
                if budget.until_converged and done >= check:
                    if has_converged():
                        return True
                    check = int(GROWTH * check)
                end = min(check if budget.until_converged else np.inf, budget.most or np.inf)
                piece = int(min(piece, budget.n_warmup + end - chains[0].step))
                begun = perf_counter()
                for future in [pool.submit(chain.advance, max(1, piece)) for chain in chains]:
                    future.result()
                pace = (perf_counter() - begun) / max(1, piece)
                piece = max(1, int(PIECE_SECONDS / pace))
                report(_progress(chains, budget, check, clock))
        except KeyboardInterrupt:
            return False


def _progress(
    chains: Sequence[AugmentedChain], budget: Budget, check: int, clock: Clock
) -> Progress:
    end = budget.most if not budget.until_converged else min(check, budget.most or check)
    fraction = chains[0].step / (budget.n_warmup + (end or check))
    if clock.is_limited:
        fraction = max(fraction if end else 0.0, clock.seconds / (clock.seconds + clock.left()))
    statuses = tuple(
        ChainStatus(
            chain.step,
            np.array([scores[0] for scores in chain.log_scores[-400:]]),
            max((score for _, score in chain.best), default=-np.inf),
        )
        for chain in chains
    )
    return Progress("completing the table", min(1.0, fraction), statuses)


def _coarse(series: Floats) -> Floats:
    """Means of batches of tables, all of the same length; the first ones may be left out."""
    length = -(-len(series) // MOST_BATCHES)
    n_batches = len(series) // length
    last = series[len(series) - n_batches * length :]
    return np.asarray(last.reshape(n_batches, length, *series.shape[1:]).mean(axis=1))


def _records(chains: Sequence[AugmentedChain], sets: ParentSets) -> list[ChainRecord]:
    """What the chains have recorded so far, as many tables of each."""
    n_tables = min(chain.n_steps for chain in chains)
    best, best_log_score = _best(chains)
    best_code = _codes(best[None], sets)[0]
    none = np.zeros(0, dtype=np.int64)
    n = len(sets.candidates)
    records = []
    for chain in chains:
        edges = np.stack(chain.edges[:n_tables])[:, sets.candidates, np.arange(n)[:, None]]
        log_scores = np.concatenate(chain.log_scores[:n_tables])
        assert chain.first is not None
        records.append(
            ChainRecord(
                codes=_codes(np.concatenate(chain.dags[:n_tables]), sets),
                log_score=log_scores,
                log_weight=log_scores,
                edge_batches=_coarse(edges),
                edges=edges.mean(axis=0),
                outside_batches=np.zeros((0, 0, 0)),
                outside_edges=np.zeros((0, 0)),
                best_code=best_code,
                best_log_score=best_log_score,
                start_code=_codes(chain.first[None], sets)[0],
                moves=MOVES,
                attempts=np.zeros(len(MOVES), dtype=np.int64),
                accepted=np.zeros(len(MOVES), dtype=np.int64),
                power=np.ones(1),
                swap_attempts=none,
                swap_accepted=none,
                round_trips=0,
                hot_log_weight=0.0,
                hot_spread=0.0,
                hot_batches=np.zeros(0),
                n_steps=n_tables,
                thin=1,
            )
        )
    return records


def _best(chains: Sequence[AugmentedChain]) -> tuple[Booleans, float]:
    """The DAG that was best in most completed tables, and its mean log score there."""
    counts = Counter(packed for chain in chains for packed, _ in chain.best)
    most = max(counts.values())
    chosen = min(packed for packed, count in counts.items() if count == most)
    scores = [score for chain in chains for packed, score in chain.best if packed == chosen]
    n = len(chains[0].edges[0])
    bits = np.unpackbits(np.frombuffer(chosen, dtype=np.uint8), count=n * n)
    return bits.reshape(n, n).astype(np.bool_), float(np.mean(scores))


def _codes(dags: Booleans, sets: ParentSets) -> np.ndarray:
    """Codes (draw, node) of DAGs (draw, parent, child)."""
    n, width = sets.candidates.shape
    bits = dags[:, sets.candidates, np.arange(n)[:, None]].astype(np.int32)
    return (bits << np.arange(width, dtype=np.int32)).sum(axis=-1, dtype=np.int32)


def _holes(chains: Sequence[AugmentedChain], missing: Booleans, sets: ParentSets) -> Holes:
    """The drawn cells of as many completed tables of each chain, and what goes with them."""
    n_kept = min(len(chain.tables) for chain in chains)
    n_tables = min(chain.n_steps for chain in chains)
    children = np.arange(len(sets.candidates))[:, None]
    squares = [np.mean(np.square(chain.edges[:n_tables]), axis=0) for chain in chains]
    return Holes(
        cells=np.argwhere(missing).astype(np.int32),
        tables=np.stack([chain.tables[:n_kept] for chain in chains]),
        squares=np.stack([own[sets.candidates, children] for own in squares]),
        ancestors=np.stack([chain.ancestors / chain.n_steps for chain in chains]),
    )
