"""Commands that ask a run about structures: what Python answers, on screen and as JSON."""

import outpoint as op
from tests.cli.conftest import Run, Runs, check_schema, strict_json

FEATURES = ["a -> b", "adjusts({b}, a, d)", "a -> ... -> d and not root(c)"]


def test_probabilities(run: Run, runs: Runs) -> None:
    posterior = op.load(runs.exact)
    found = strict_json(run("probability", str(runs.exact), *FEATURES, "--json").out)
    check_schema(found, "probability")
    for row, feature in zip(found["probabilities"], FEATURES, strict=True):
        estimate = posterior.estimate(feature)
        assert row["feature"] == feature
        assert (row["probability"], row["mcse"]) == (estimate.value, estimate.mcse)
    numbers = run("probability", str(runs.exact), *FEATURES, "-q").out.split()
    assert [float(number) for number in numbers] == [
        row["probability"] for row in found["probabilities"]
    ]
    lines = run("probability", str(runs.exact), FEATURES[0]).out.splitlines()
    assert lines[1].split() == ["feature", "probability", "mcse", "status"]
    assert lines[-1].startswith("Verdict")


def test_adjustment_sets(run: Run, runs: Runs) -> None:
    expected = op.load(runs.exact).adjustment_sets("a", "d", 4)
    words = ["adjustment-sets", str(runs.exact), "a", "d", "-n", "4"]
    found = strict_json(run(*words, "--json").out)
    check_schema(found, "adjustment_sets")
    assert [tuple(row["adjustment_set"]) for row in found["adjustment_sets"]] == list(
        expected["adjustment_set"]
    )
    for name in ("size", "probability", "optimal"):
        assert [row[name] for row in found["adjustment_sets"]] == expected[name].tolist()
    shown = run(*words).out
    assert shown.startswith("adjustment sets for the effect of a on d\n")
    assert "no set is valid where d -> a: probability " in shown
    assert run(*words, "-q").out == ""


def test_next_experiment(run: Run, runs: Runs) -> None:
    posterior = op.load(runs.exact)
    for words, target in (([], None), (["--target", "a -> b"], "a -> b")):
        expected = posterior.next_experiment(target)
        command = ["next-experiment", str(runs.exact), *words]
        found = strict_json(run(*command, "--json").out)
        check_schema(found, "next_experiment")
        assert found["target"] == target
        for name in ("variable", "removed", "before", "after"):
            assert [row[name] for row in found["experiments"]] == expected[name].tolist()
        shown = run(*command).out
        assert shown.startswith(f"experiments that tell most about {target or 'the DAG'}\n")
        assert "bits, which no further observations can remove" in shown
        assert run(*command, "-q").out == ""
