"""A program from elsewhere, for the tests: edges by listing all DAGs, from a ``.jkl`` file alone.

It shares no code with outpoint. Arguments: SCORES EDGES.
"""

import math
import sys
from itertools import product
from pathlib import Path


def read(path):
    words = iter(Path(path).read_text().split())
    scores = {}
    for _ in range(int(next(words))):
        child, n_sets = next(words), int(next(words))
        scores[child] = {}
        for _ in range(n_sets):
            score, size = float(next(words)), int(next(words))
            scores[child][frozenset(next(words) for _ in range(size))] = score
    return scores


def is_acyclic(parents):
    left = dict(parents)
    while left:
        roots = [v for v, above in left.items() if not above & left.keys()]
        if not roots:
            return False
        for v in roots:
            del left[v]
    return True


def main(scores_path, edges_path):
    scores = read(scores_path)
    top = sum(max(families.values()) for families in scores.values())
    total, edges = 0.0, dict.fromkeys(product(scores, scores), 0.0)
    for sets in product(*scores.values()):
        parents = dict(zip(scores, sets, strict=True))
        if is_acyclic(parents):
            weight = math.exp(sum(scores[v][above] for v, above in parents.items()) - top)
            total += weight
            for child, above in parents.items():
                for parent in above:
                    edges[parent, child] += weight
    with open(edges_path, "w") as file:
        file.write("parent,child,probability\n")
        for (parent, child), weight in edges.items():
            file.write(f"{parent},{child},{weight / total!r}\n")
    print("all DAGs")


if __name__ == "__main__":
    main(*sys.argv[1:])
