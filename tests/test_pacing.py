"""A clock that is kept: what is done before sampling, where time is short."""

import numpy as np
import pytest

import outpoint as op
from outpoint.errors import TooLargeError
from outpoint.exact.feasibility import describe_cost, is_quick, require_in_time
from outpoint.options import LEARN, Options
from outpoint.pacing import PREPARING, SEARCHING, Pace, affordable_parents, effort_options
from outpoint.progress import Clock


class Watch:
    """A clock that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr("outpoint.progress.perf_counter", lambda: self.now)

    def spend(self, seconds: float, part: float = 1.0) -> float:
        self.now += seconds
        return part


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def test_without_a_clock_everything_is_done(watch: Watch) -> None:
    pace = Pace()
    pace.plan_searches(100.0, lambda: watch.spend(1e9))
    pace.plan_pilots(100.0, lambda: lambda: watch.spend(1e9))
    assert pace.allows_pilot(4, 1e9)
    assert not pace.allows_pilot(5, 0.0)
    assert pace.effort == (1.0, 5.0)
    assert effort_options(pace.effort) == {}
    assert watch.now == 0.0, "nothing is measured"


def test_searches_are_as_long_as_there_is_time(watch: Watch) -> None:
    """Two tries of a second each, of a hundredth of the searches; then their share is cut."""
    pace = Pace(Clock(100.0))
    pace.plan_searches(100.0, lambda: watch.spend(1.0))
    assert pace.search_effort == pytest.approx((100 * SEARCHING - 2.0) / 100.0, abs=1e-3)
    assert effort_options(pace.effort) == {"search_effort": pace.search_effort}
    quick = Pace(Clock(100.0))
    quick.plan_searches(100.0, lambda: watch.spend(0.01))
    assert quick.search_effort == 1.0
    late = Pace(Clock(1.0))
    late.plan_searches(100.0, lambda: watch.spend(1.0))
    assert late.search_effort == 1 / 64


def test_pilots_end_with_their_share(watch: Watch) -> None:
    pace = Pace(Clock(100.0))
    pace.plan_pilots(10.0, lambda: lambda: watch.spend(1.0))
    assert pace.pilots == 5.0
    watch.now = 100 * PREPARING - 15.0
    assert pace.allows_pilot(1, 10.0)
    watch.now += 10.0
    assert not pace.allows_pilot(2, 10.0)
    assert effort_options(pace.effort) == {"pilots": 2.0}
    again = Pace(pilots=2.0)
    assert again.allows_pilot(1, 1e9)
    assert not again.allows_pilot(2, 0.0)
    short = Pace(Clock(10.0))
    short.plan_pilots(100.0, lambda: lambda: watch.spend(0.1))
    assert 1 / 8 <= short.pilots < 1.0


@pytest.mark.parametrize("effort", [0.0, 1.5, "all", True, float("nan")])
def test_efforts_that_are_none(effort: object) -> None:
    with pytest.raises(op.OptionError, match="search_effort must be a number from"):
        Options.read(LEARN, {"search_effort": effort})


class SlowScorer:
    """Scores that take a millisecond each."""

    n_nodes = 10

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def every_family(self, size: int) -> None:
        self._watch.spend(1e-3 * 10 * (1 + 9 + 36 * (size == 2)))


def test_parents_that_can_be_scored(watch: Watch) -> None:
    """A second lasts for small sets, an hour for all."""
    scorer = SlowScorer(watch)
    assert affordable_parents(scorer, 9, Clock(3600.0)) == 9  # type: ignore[arg-type]
    few = affordable_parents(scorer, 9, Clock(10.0))  # type: ignore[arg-type]
    assert 1 < few < 9
    assert affordable_parents(scorer, 9, Clock(1e-3)) == 1  # type: ignore[arg-type]


class SlowOutside(SlowScorer):
    """Of many nodes, quick all together, and slow for sets that are asked for by themselves."""

    n_nodes = 1000

    def every_family(self, size: int) -> None:
        self._watch.spend(1e-3)

    def families(self, child: int, parents: np.ndarray) -> None:  # type: ignore[type-arg]
        self._watch.spend(1e-6 * parents.size)


def test_sets_outside_count_for_every_table(watch: Watch) -> None:
    """Ten million pairs take 20 seconds, and there are three tables."""
    scorer = SlowOutside(watch)
    assert affordable_parents(scorer, 3, Clock(6000.0)) == 3  # type: ignore[arg-type]
    assert affordable_parents(scorer, 3, Clock(400.0)) == 2  # type: ignore[arg-type]
    assert affordable_parents(scorer, 3, Clock(200.0)) == 1  # type: ignore[arg-type]


def test_too_slow_scores(watch: Watch) -> None:
    """Fewer parents by default, with a note; a number that was asked for is refused."""

    def score(child: int, parents: tuple[int, ...]) -> float:
        watch.spend(1e-3)
        return -float(len(parents))

    data = np.random.default_rng(1).normal(size=(20, 6))
    options = {"method": "mcmc", "time": 1.0, "steps": 100, "seed": 1, "chains": 2}
    post = op.learn(data, op.CustomScore(score), **options)
    assert post.info.max_parents < 5
    assert any("instead of 5" in note for note in post.info.notes)
    with pytest.raises(TooLargeError, match=r"up to 5 parents takes too long .* max_parents="):
        op.learn(data, op.CustomScore(score), max_parents=5, **options)


def test_what_exact_runs_take() -> None:
    assert describe_cost(22, 2) == "about 63 seconds and 3.0 GB of memory"
    assert describe_cost(24, 2) == "about 9 minutes and 12.1 GB of memory"
    assert is_quick(20, 2**34, seconds=60.0, threads=2)
    assert not is_quick(20, 2**34, seconds=1.0, threads=2)
    with pytest.raises(TooLargeError, match=r"takes about .* but time is 1 seconds"):
        require_in_time(24, 1.0)
    require_in_time(24, None)
