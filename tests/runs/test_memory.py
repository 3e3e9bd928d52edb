"""Long runs stay small: of all their steps nothing but the kept draws is left."""

import json
from pathlib import Path

import pytest

from tests.runs.problems import python

SCRIPT = """
import json, resource, sys
import outpoint as op

posterior = op.learn(
    "boston", method="partition", max_parents=3, draws=100_000, steps=10_000_000, chains=4, seed=1,
    out=sys.argv[1],
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"megabytes": peak / 1024, "draws": posterior.n_draws}))
"""


@pytest.mark.long
def test_ten_million_steps_on_14_nodes(tmp_path: Path) -> None:
    done = python("-c", SCRIPT, str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    print(f"peak memory: {found['megabytes']:.0f} MB")
    assert found["draws"] == 100_000
    assert found["megabytes"] < 1024
