"""The sampler of sumu (Gadget: partition MCMC, tempered) on the scores of a ``.jkl`` file.

Settings are those of its documentation: 15 candidate parents found by "greedy-lite", 16 tempered
chains, every 10th partition kept, the first half left out. Scores are handed over because BDeu
of sumu 0.1.2 ends in a TypeError with NumPy 2.4. It knows no limit of time: we take its steps until
the time is up, and drawing DAGs from the partitions comes on top. Sets with too many parents get a
low score and not minus infinity, lest infinities be what its wrong sums come from; ``sumu_sums``
finds wrong sums with scores of its own as well.
"""

import time
from types import SimpleNamespace

import numpy as np
import sumu

import outpoint as op
from benchmarks.peers.contract import parse, write_edges

N_CANDIDATES = 15
N_CHAINS = 16
THINNING = 10
MAX_DRAWS = 2000
NEVER = 1000.0
"""Log units below all others: the score of a set that cannot occur."""


class Scores:
    """What sumu asks of its class LocalScore, from scores that are known."""

    def __init__(self, known: list[dict[frozenset[int], float]]) -> None:
        self.known = known
        self.n = len(known)
        self.maxid = max(len(parents) for families in known for parents in families)
        self.lowest = min(score for families in known for score in families.values())

    def _local(self, child, parents):
        return self.known[child][frozenset(int(u) for u in parents)]

    def clear_cache(self):
        """There is none."""

    def all_candidate_restricted_scores(self, candidates):
        """Scores of all subsets of the candidates: bit i of a place is candidate i."""
        out = np.full((self.n, 1 << candidates.shape[1]), self.lowest - NEVER)
        for child, families in enumerate(self.known):
            bits = {int(u): 1 << i for i, u in enumerate(candidates[child])}
            for parents, score in families.items():
                if parents <= bits.keys():
                    out[child, sum(bits[u] for u in parents)] = score
        return out

    def complementary_scores_dict(self, candidates, d):
        """Scores of all other parent sets."""
        return {
            child: {
                tuple(sorted(parents)): score
                for parents, score in families.items()
                if not parents <= set(candidates[child])
            }
            for child, families in enumerate(self.known)
        }


def main() -> None:
    """Sample until the time is up, write the edges, print how much was done."""
    task = parse()
    np.random.seed(task.seed)  # noqa: NPY002 - the one that sumu draws from
    named = op.read_jkl(task.input)
    names = list(named)
    number = {name: v for v, name in enumerate(names)}
    scores = Scores(
        [
            {frozenset(number[u] for u in parents): score for parents, score in families.items()}
            for families in named.values()
        ]
    )
    gadget = prepare(scores)
    n_steps = sample(gadget, task.seconds)
    dags, _ = gadget._sample_dags()
    edges = np.zeros((scores.n, scores.n))
    for dag in dags:
        for family in dag:
            child, parents = family[0], family[1] if len(family) > 1 else ()
            edges[list(parents), child] += 1 / len(dags)
    write_edges(task.edges, names, np.minimum(edges, 1))
    print(f"{N_CHAINS} tempered chains of {n_steps:,} steps")


def prepare(scores: Scores) -> sumu.Gadget:
    """A sampler before its first step: Gadget.sample up to there, with scores that are known."""
    n_candidates = min(N_CANDIDATES, scores.n - 1)
    gadget = sumu.Gadget(
        data=SimpleNamespace(n=scores.n),
        K=n_candidates,
        d=scores.maxid,
        mc3_chains=N_CHAINS,
        tolerance=2**-32,
    )
    if n_candidates == scores.n - 1:
        gadget.C = {v: tuple(u for u in range(scores.n) if u != v) for v in range(scores.n)}
    else:
        find = sumu.candidate_parent_algorithm["greedy-lite"]
        gadget.C = find(n_candidates, scores=scores)
    gadget.C_array = np.array([gadget.C[v] for v in range(scores.n)], dtype=np.int32)
    gadget.score_array = scores.all_candidate_restricted_scores(gadget.C_array)
    gadget._precompute_candidate_restricted_scoring()
    gadget.c_c_score = None
    if n_candidates < scores.n - 1:
        gadget.c_c_score = sumu.CandidateComplementScore(gadget.C, scores, scores.maxid)
    gadget._init_mcmc()
    return gadget


def sample(gadget: sumu.Gadget, seconds: float) -> int:
    """Take steps until so much processor time has gone; at least two partitions are kept."""
    kept: list[object] = []
    n_steps = 0
    while time.process_time() < seconds or len(kept) < 2:
        partition, _ = gadget.mcmc.sample()
        n_steps += 1
        if n_steps % THINNING == 0:
            kept.append(partition)
    kept = kept[len(kept) // 2 :]
    gadget.Rs = kept[:: -(-len(kept) // MAX_DRAWS)]
    return n_steps


if __name__ == "__main__":
    main()
