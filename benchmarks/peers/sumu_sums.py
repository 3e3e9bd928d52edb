"""Are the sums of sumu right? ``python -m benchmarks.peers.sumu_sums``.

On scores that sumu computes itself (BGe), with nothing of ours between: its sum over the parent
sets within U that meet T, for random U and T, next to a plain sum over the same sets. Sums far
below that over all subsets of U are where a difference of two sums would lose its digits.
"""

import numpy as np
import sumu

FAR = 20.0
"""Log units below the sum over all subsets of U."""

N_QUERIES = 3000


def main() -> None:
    """Print how many sums are off by more than 1e-6, or no number, near and far from the total."""
    print("variables  most parents   near: sums  wrong    far: sums  wrong")
    for n_nodes, max_parents in ((8, -1), (11, -1), (8, 1), (8, 2), (11, 1), (11, 2)):
        counts = check(n_nodes, max_parents)
        limit = "none" if max_parents < 0 else max_parents
        print(f"{n_nodes:>9}  {limit:>12}   {counts[0, 0]:>10}  {counts[0, 1]:>5}", end="")
        print(f"   {counts[1, 0]:>10}  {counts[1, 1]:>5}")


def check(n_nodes: int, max_parents: int) -> np.ndarray:
    """Numbers of [sums, wrong sums], near and far."""
    gadget = sumu.Gadget(
        data=sumu.Data(chain_of_copies(n_nodes), discrete=False),
        scoref="bge",
        max_id=max_parents,
        K=n_nodes - 1,
        d=3,
        cp_algo="top",
    )
    gadget._find_candidate_parents()
    gadget._precompute_scores_for_all_candidate_psets()
    gadget._precompute_candidate_restricted_scoring()
    rng = np.random.default_rng(0)
    sets = np.arange(gadget.score_array.shape[1])
    counts = np.zeros((2, 2), dtype=int)
    for _ in range(N_QUERIES):
        child, size = int(rng.integers(n_nodes)), int(rng.integers(1, n_nodes))
        allowed = rng.choice(n_nodes - 1, size, replace=False)
        required = allowed[: rng.integers(1, size + 1)]
        within, meets = (int(np.sum(1 << members)) for members in (allowed, required))
        scores = gadget.score_array[child]
        inside = (sets & ~within) == 0
        total = np.logaddexp.reduce(scores[inside])
        plain = np.logaddexp.reduce(scores[inside & ((sets & meets) != 0)])
        found = gadget.c_r_score.sum(child, within, meets)
        is_wrong = not abs(found - plain) < 1e-6
        counts[int(total - plain > FAR)] += (1, int(is_wrong))
    return counts


def chain_of_copies(n_nodes: int, noise: float = 0.3, n_obs: int = 1000) -> np.ndarray:
    """Each variable is an earlier one and some noise."""
    rng = np.random.default_rng(1)
    values = np.zeros((n_obs, n_nodes))
    for v in range(n_nodes):
        values[:, v] = noise * rng.normal(size=n_obs)
        if v:
            values[:, v] += values[:, rng.integers(v)]
    return values


if __name__ == "__main__":
    main()
