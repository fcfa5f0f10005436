"""Starting a daemon: it answers, or says why not."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.client.start import start_daemon
from jobctl.clock import SystemClock
from jobctl.errors import Conflict, Unavailable
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


class Quicker(SystemClock):
    """Half a second passes at each look; the daemon that somebody else has started answers after two."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now_ms = 0
        self.other: FakeDaemon | None = None

    def boot_ms(self) -> int:
        self._now_ms += 500
        if self._now_ms >= 2_500 and self.other is None:
            self.other = FakeDaemon(self._path)
        return self._now_ms


@pytest.fixture
def quicker(tmp_path: Path) -> Iterator[Quicker]:
    clock = Quicker(tmp_path / "jobd.sock")
    yield clock
    if clock.other is not None:
        clock.other.close()


def test_another_start_that_was_quicker_is_waited_for(quicker: Quicker, tmp_path: Path) -> None:
    refused = ["/bin/sh", "-c", f"echo jobd: jobd is running already >&2; exit {Conflict.exit_code}"]
    status = start_daemon(str(tmp_path / "jobd.sock"), quicker, refused)
    assert quicker.other is not None
    assert status["pid"] == quicker.other.status["pid"]


def test_whoever_has_the_lock_and_never_answers_is_named_at_last(tmp_path: Path) -> None:
    refused = ["/bin/sh", "-c", f"echo jobd: jobd is running already >&2; exit {Conflict.exit_code}"]
    clock = Quicker(tmp_path / "elsewhere")
    with pytest.raises(Unavailable) as caught:
        start_daemon(str(tmp_path / "jobd.sock"), clock, refused)
    assert clock.other is not None
    clock.other.close()
    assert caught.value.details["why"] == "jobd is running already"
    assert "its socket is gone, or it hangs" in caught.value.hint
