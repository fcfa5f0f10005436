"""What a terminal gets before and with the first frame: words at once, then all of it in one piece."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.seat import UI, seat

#: A whole screen begins at its first line.
FRAME = re.compile(r"\x1b\[1;1H")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("f")) as daemon:
        daemon.add("first-of-all", ["/bin/true"], schedule={"cron": "0 3 * * *"})
        yield daemon


def environ(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "JOBCTL_HOME": str(home)}


def test_words_come_first_and_then_a_frame_with_nothing_left_out(daemon: RealDaemon) -> None:
    with seat(UI, environ(daemon.home)) as terminal:
        terminal.shows("first-of-all")
        before, waiting, frame = FRAME.split(terminal.raw.decode(), maxsplit=2)
        terminal.type("q")
        assert terminal.ended() == 0
    assert before.startswith("jobctl: connecting...")
    assert waiting.strip() == "jobctl: connecting..."
    for words in ("● live", "first-of-all", "1 Jobs", "1 of 1", "attention first", "q Quit"):
        assert words in re.sub(r"\x1b\[[0-9;]*m", "", frame), words
    assert not re.search(r"\? q(?!\S* Quit)", re.sub(r"\x1b\[[0-9;]*m", "", frame))


def test_who_leaves_is_told_that_jobs_go_on_and_until_when(daemon: RealDaemon) -> None:
    with seat(UI, environ(daemon.home)) as terminal:
        terminal.shows("first-of-all")
        assert "! no reboot" in terminal.plain()
        terminal.type("q")
        assert terminal.ended() == 0
        lines = terminal.afterwards().split("\r\n")
    assert lines[0] == f"jobctl: jobs go on: jobd runs as pid {daemon.client.status()['pid']}"
    assert lines[1].startswith("jobctl: jobd will NOT come back after a reboot or logout: ")


def test_keys_that_are_typed_before_a_tab_is_there_are_meant_for_it(daemon: RealDaemon) -> None:
    with seat(UI, environ(daemon.home)) as terminal:
        terminal.shows("first-of-all")
        terminal.type("5d")
        terminal.shows("What doctor found")
        terminal.type("\x03")
        assert terminal.ended() == 0
