"""Starting a daemon: it answers, or says why not."""

import sys
from pathlib import Path

import pytest

from jobctl.client.start import start_daemon
from jobctl.clock import SystemClock
from jobctl.errors import Unavailable
from unit.client.fake_daemon import FakeDaemon


def test_a_daemon_that_comes_up(daemon: FakeDaemon) -> None:
    status = start_daemon(daemon.path, SystemClock(), [sys.executable, "-c", ""])
    assert status["pid"] == daemon.status["pid"]


def test_a_daemon_that_fails_says_why(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no room on the disk')"]
    with pytest.raises(Unavailable) as caught:
        start_daemon(str(tmp_path / "none"), SystemClock(), command)
    assert caught.value.details["why"] == "no room on the disk"


def test_its_own_words_count_more_than_what_falls_off_afterwards(tmp_path: Path) -> None:
    text = "noise\\njobd: the database is of another version\\n  install that one\\nTraceback"
    command = [sys.executable, "-c", f"import sys; sys.exit('{text}')"]
    with pytest.raises(Unavailable) as caught:
        start_daemon(str(tmp_path / "none"), SystemClock(), command)
    assert caught.value.details["why"] == "the database is of another version"
    assert caught.value.hint == "install that one"


class FastClock(SystemClock):
    """Ten seconds pass at each look."""

    def __init__(self) -> None:
        self._now_ms = 0

    def boot_ms(self) -> int:
        self._now_ms += 10_000
        return self._now_ms


def test_a_daemon_that_never_answers(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        start_daemon(str(tmp_path / "none"), FastClock(), [sys.executable, "-c", ""])
    assert "10 s" in str(caught.value.details["why"])
