"""``outpoint probability`` and ``outpoint adjustment-sets``: what Python answers."""

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
