"""What a command took is what it took, not what its parent did."""

import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.measuring import measure


@pytest.mark.long
def test_peak_memory_is_that_of_the_command():
    ballast = np.ones(30_000_000)  # 240 MB, of which a fork would have a copy
    small = measure([sys.executable, "-I", "-S", "-c", "print('done')"], limit=60)
    large = measure([sys.executable, "-I", "-S", "-c", "x = b'x' * 150_000_000"], limit=60)
    assert ballast.all()
    assert small.printed == "done\n"
    assert small.failure is None
    assert small.peak_bytes < 60e6
    assert 150e6 < large.peak_bytes < 210e6


def test_processor_time_is_not_the_time_of_waiting():
    slept = measure([sys.executable, "-c", "import time; time.sleep(1)"], limit=60)
    assert slept.seconds > 1
    assert slept.processor_seconds < slept.seconds


@pytest.mark.long
def test_what_a_command_started_is_ended_with_it():
    measured = measure(["sh", "-c", "sleep 600 & echo $!; wait"], limit=2)
    assert measured.failure == "not done after 2 s"
    status = Path("/proc", measured.printed.strip(), "stat")
    assert not status.exists() or ") Z " in status.read_text()
