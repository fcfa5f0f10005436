"""Keys that come several in one read, as from a held key or over a slow line."""

import os
from collections.abc import Iterator

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.emulator import Emulator
from kit.seat import UI, seat

ESCAPE, ENTER = "\x1b", "\r"
#: Opens something, and is followed by more than closes it.
BURSTS = (
    ("?", ESCAPE * 3), ("?", "???"), (":", ENTER * 4), (":", ESCAPE * 3), ("y", "nnn"), ("y", ESCAPE * 3),
    ("v", ESCAPE * 3), ("v", ENTER * 3), ("D", ESCAPE * 4), ("P", ESCAPE * 3), ("l", ESCAPE * 3),
    ("n", ESCAPE * 3), ("e", ESCAPE * 3),
    ("/", ESCAPE * 3), ("R", ESCAPE * 3), (ENTER, ESCAPE * 3),
)  # fmt: skip


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("h")) as daemon:
        daemon.add("aims", "exit 3", retry={"max": 0})
        daemon.finished(daemon.triggered("aims"))
        for number in range(3):
            daemon.add(f"other{number}", "true", schedule={"every": "1h"})
        yield daemon


@pytest.fixture
def environ(daemon: RealDaemon) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "JOBCTL_HOME": str(daemon.home)}


@pytest.mark.long
def test_what_closes_a_screen_closes_no_other_and_ends_nothing(environ: dict[str, str], daemon: RealDaemon) -> None:
    with seat(UI, environ) as terminal:
        ui = Emulator(terminal)
        ui.shows("other2")
        for opens, closes in BURSTS:
            for keys in (opens + closes, opens, closes):  # in one read, and in two
                ui.press(keys)
                ui.rest()
                assert terminal.process.poll() is None, (opens, closes, ui.text())
            while not ("[1 Jobs]" in ui.text() and "q Quit" in ui.lines()[-1]):  # what is asked for may come late
                ui.press(ESCAPE)
                ui.rest()
        ui.press("\x03")
        assert terminal.ended() == 0
    assert not (daemon.home / "state" / "ui.log").exists()


@pytest.mark.parametrize("together", [True, False])
def test_a_filter_that_is_typed_in_one_go_holds_before_the_next_key_acts(
    environ: dict[str, str], daemon: RealDaemon, together: bool
) -> None:
    with seat(UI, environ) as terminal:
        ui = Emulator(terminal)
        ui.shows("other2")
        for keys in ("/name:other1" + ENTER,) if together else ("/", "name:other1" + ENTER):
            ui.press(keys)
        ui.shows("1 of 4")
        ui.press("p")
        ui.until(lambda: daemon.client.job("other1")["paused"], "a pause")
        ui.press("q")
        assert terminal.ended() == 0
    daemon.client.resume_job("other1")
    assert not any(job["paused"] for job in daemon.client.jobs())
