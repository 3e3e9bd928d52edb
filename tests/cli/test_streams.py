"""Standard error that is closed, full or gone: the run goes on and its results are written."""

import io
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from outpoint.cli.terminal import ForgivingStream, forgiving_stderr
from tests.cli.conftest import table
from tests.grids import first
from tests.runs.problems import environment

WORDS = ["learn", "data.csv", "--method", "partition", "--steps", "3000", "--seed", "1"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(table())
    return tmp_path


def shell(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=place,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


READERS = {
    "a reader that dies": "2> >(exec true)",
    "a full disk": "2> /dev/full",
    "a reader that dies after a line": "2> >(head -n 1 > first)",
    "none at all": "2>&-",
}


@pytest.mark.attack("standard error that nobody reads", "the run goes on, exit code 0")
@pytest.mark.parametrize("kind", first(READERS))
def test_nobody_reads_standard_error(kind: str, place: Path) -> None:
    words = shlex.join([sys.executable, "-m", "outpoint", *WORDS, "--out", "run"])
    done = shell(f"{words} {READERS[kind]}; echo code $?", place)
    assert done.stdout.splitlines()[-1] == "code 0", done.stderr
    assert "Verdict" in done.stdout
    assert (place / "run" / "summary.json").exists()


@pytest.mark.parametrize("kind", first(READERS))
def test_an_error_without_a_reader(kind: str, place: Path) -> None:
    words = shlex.join([sys.executable, "-m", "outpoint", "learn", "nothing.csv"])
    assert shell(f"{words} {READERS[kind]}; echo code $?", place).stdout == "code 2\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nohup_is_heeded(number: signal.Signals) -> None:
    """What the user has arranged to be ignored is."""
    code = (
        "import signal, sys; from outpoint.signals import treat_as_interruption; "
        f"signal.signal({int(number)}, signal.SIG_IGN); treat_as_interruption(); "
        f"signal.raise_signal({int(number)}); print('alive')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "alive\n")


class Broken(io.StringIO):
    """Fails from the second write on."""

    count = 0

    def write(self, text: str) -> int:
        self.count += 1
        if self.count > 1:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)


def test_a_stream_that_breaks() -> None:
    broken = Broken()
    stream = ForgivingStream(broken)
    assert [stream.write(word) for word in ("one", "three", "seven")] == [3, 5, 5]
    stream.flush()
    assert broken.getvalue() == "one"
    assert broken.count == 2, "it is not tried again"
    broken.close()
    ForgivingStream(broken).write("closed")


def test_standard_error_is_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    with forgiving_stderr():
        print("hello", file=sys.stderr)
        assert not sys.stderr.isatty()
    assert sys.stderr is before
    assert capsys.readouterr().err == "hello\n"
