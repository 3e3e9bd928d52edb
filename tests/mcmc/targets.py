"""The small problems that samplers are held to, by name."""

from functools import lru_cache

from tests.exact.problems import categorical, custom, gaussian, random_scores
from tests.mcmc.laws import Target


@lru_cache
def target(name: str, n: int) -> Target:
    """Uniform, random, data-based and constrained scores on n nodes."""
    names = "abcdefgh"[:n]
    if name == "uniform":
        return Target.of(custom(n, lambda v, parents: 0.0))
    if name == "edges":
        return Target.of(custom(n, lambda v, parents: float(len(parents))))
    if name == "random":
        return Target.of(random_scores(n, spread=1.5, seed=n))
    if name == "rough":
        return Target.of(random_scores(n, spread=6.0, seed=n))
    if name == "bge":
        return Target.of(gaussian(n))
    if name == "bdeu":
        return Target.of(categorical(n))
    if name == "forbidden":  # and no more than two parents
        prior = {"forbidden": [(names[0], names[1]), (names[2], names[0])]}
        return Target.of(random_scores(n, seed=n + 10, max_parents=2, **prior))
    if name == "required":
        prior = {"required": [(names[1], names[0])], "forbidden": [(names[2], names[1])]}
        return Target.of(random_scores(n, seed=n + 20, **prior))
    if name == "candidates":  # sets that leave the candidates do not exist
        return Target.of(random_scores(n, seed=n + 30), n_candidates=n - 2)
    if name == "steep":
        return Target.of(random_scores(n, spread=500.0, seed=n))
    raise ValueError(name)


NAMES = ("uniform", "random", "rough", "bge", "bdeu", "forbidden", "required", "candidates")
