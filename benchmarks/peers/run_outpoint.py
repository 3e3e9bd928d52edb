"""outpoint on a table of data, with its defaults, or for a number of steps."""

import outpoint as op
from benchmarks.peers.contract import parse, write_edges


def main() -> None:
    """Learn, write the edges, print the verdict."""
    task = parse()
    post = op.learn(
        task.input,
        method=task.method,
        max_parents=task.max_parents,
        steps=task.steps,
        structure_prior="fair",
        seed=task.seed,
        allow_degenerate=True,
    )
    write_edges(task.edges, post.names, post.edge_probabilities.to_numpy())
    if task.method == "exact":
        print("exact")
    else:
        verdict = "converged" if post.converged else "said not to have converged"
        print(f"{post.n_chains} chains of {post.steps_per_chain:,} steps, {verdict}")


if __name__ == "__main__":
    main()
