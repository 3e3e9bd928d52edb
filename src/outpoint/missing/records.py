"""What chains over completed tables have recorded, as posteriors take it."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from outpoint.arrays import Booleans, Floats
from outpoint.mcmc.moves import MOVES
from outpoint.missing.chain import AugmentedChain
from outpoint.runs import ChainRecord
from outpoint.tables.parent_sets import Codes, ParentSets

MOST_BATCHES = 512


def make_records(chains: Sequence[AugmentedChain], sets: ParentSets) -> list[ChainRecord]:
    """The records of the chains so far, with equally many tables of each."""
    n_tables = min(chain.n_steps for chain in chains)
    best, best_log_score = _find_best(chains)
    best_code = codes_of(best[None], sets)[0]
    none = np.zeros(0, dtype=np.int64)
    records = []
    for chain in chains:
        edges = by_candidate(np.stack(chain.edges[:n_tables]), sets)
        log_scores = np.concatenate(chain.log_scores[:n_tables])
        assert chain.first is not None
        records.append(
            ChainRecord(
                codes=codes_of(np.concatenate(chain.dags[:n_tables]), sets),
                log_score=log_scores,
                log_weight=log_scores,
                edge_batches=_coarse(edges),
                edges=edges.mean(axis=0),
                outside_batches=np.zeros((0, 0, 0)),
                outside_edges=np.zeros((0, 0)),
                best_code=best_code,
                best_log_score=best_log_score,
                start_code=codes_of(chain.first[None], sets)[0],
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


def by_candidate(edges: Floats, sets: ParentSets) -> Floats:
    """Numbers [..., parent, child] as [..., child, i-th candidate]; 0 where there is none."""
    children = np.arange(len(sets.candidates))[:, None]
    is_there = sets.candidates >= 0
    return np.asarray(edges[..., np.where(is_there, sets.candidates, 0), children] * is_there)


def codes_of(dags: Booleans, sets: ParentSets) -> Codes:
    """Codes (draw, node) of DAGs (draw, parent, child), all of them of candidates."""
    bits = by_candidate(dags.astype(np.int32), sets).astype(np.int32)
    return (bits << np.arange(bits.shape[-1], dtype=np.int32)).sum(axis=-1, dtype=np.int32)


def _coarse(series: Floats) -> Floats:
    """Means of batches of tables, all of the same length; the first ones may be left out."""
    length = -(-len(series) // MOST_BATCHES)
    n_batches = len(series) // length
    last = series[len(series) - n_batches * length :]
    return np.asarray(last.reshape(n_batches, length, *series.shape[1:]).mean(axis=1))


def _find_best(chains: Sequence[AugmentedChain]) -> tuple[Booleans, float]:
    """The DAG that was best in most completed tables, and its mean log score there."""
    counts = Counter(packed for chain in chains for packed, _ in chain.best)
    most = max(counts.values())
    chosen = min(packed for packed, count in counts.items() if count == most)
    scores = [score for chain in chains for packed, score in chain.best if packed == chosen]
    n = len(chains[0].edges[0])
    bits = np.unpackbits(np.frombuffer(chosen, dtype=np.uint8), count=n * n)
    return bits.reshape(n, n).astype(np.bool_), float(np.mean(scores))
