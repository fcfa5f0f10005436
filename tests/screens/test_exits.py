"""Every way out of the screens leaves the terminal as it was, and none keeps a process behind."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from kit.daemon import real_daemon
from kit.seat import UI, Seat, seat

#: A mistake is put into the program of the test's own process; nothing of it is in the product.
CRASHES = {
    "compose": """
def body(self):
    password = "hunter2"
    raise ZeroDivisionError("in compose")
    yield
MainScreen.body = body
""",
    "a timer": """
def tick(self):
    password = "hunter2"
    raise ZeroDivisionError("in a timer")
Screens._tick = tick
""",
    "a worker": """
from textual import work
async def working():
    password = "hunter2"
    raise ZeroDivisionError("in a worker")
mounted = Screens.on_mount
def on_mount(self):
    mounted(self)
    self.run_worker(working())
Screens.on_mount = on_mount
""",
    "a thread": """
import threading
def working():
    password = "hunter2"
    raise ZeroDivisionError("in a thread")
mounted = Screens.on_mount
def on_mount(self):
    mounted(self)
    threading.Thread(target=working, daemon=True).start()
Screens.on_mount = on_mount
""",
    "an answer": """
def changed(self, changes):
    password = "hunter2"
    raise ZeroDivisionError("in an answer")
Screens.changed = changed
""",
}
WITH_A_MISTAKE = """
import os, sys
os.environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"
from jobctl_tui.app import Screens
from jobctl_tui.screens.main import MainScreen
{mistake}
from jobctl_tui.__main__ import main
sys.argv = ["jobctl ui"]
main()
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Of somebody who has no daemon: the screens open all the same, and say so."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "JOBCTL_HOME": str(tmp_path / "h")}


@pytest.mark.case("F142")
def test_each_key_that_leaves_does_so_with_0_and_the_terminal_as_it_was(environ: dict[str, str]) -> None:
    for keys in ("q", "\x03", ":quit\r"):
        with seat(UI, environ) as terminal:
            terminal.shows("DOWN")
            terminal.type(keys)
            assert terminal.ended() == 0
            assert terminal.before == terminal.settings()
            assert terminal.left()
            assert terminal.afterwards() == ""


@pytest.mark.case("F142")
@pytest.mark.parametrize(
    "name", ["TERM", *(pytest.param(name, marks=pytest.mark.long) for name in ("HUP", "INT", "QUIT"))]
)
def test_a_signal_ends_it_and_is_named_on_the_screen_that_was_there_before(environ: dict[str, str], name: str) -> None:
    number = signal.Signals[f"SIG{name}"]
    with seat(UI, environ) as terminal:
        terminal.shows("DOWN")
        terminal.process.send_signal(number)
        assert terminal.ended(2) == 128 + number
        assert terminal.before == terminal.settings()
        assert terminal.left()
        assert terminal.afterwards().strip() == f"jobctl: ended by {name}; jobs go on"


@pytest.mark.case("F141")
@pytest.mark.parametrize(
    ("ignored", "seated"), [((), True), pytest.param((signal.SIGHUP,), True, marks=pytest.mark.long), ((), False)]
)
def test_it_ends_with_its_terminal_also_when_nobody_tells_it_so(
    environ: dict[str, str], ignored: tuple[int, ...], seated: bool
) -> None:
    with seat(UI, environ, ignored=ignored, seated=seated) as terminal:
        terminal.shows("DOWN")
        terminal.close()
        assert terminal.ended(2) == 129


@pytest.mark.case("F142")
@pytest.mark.parametrize(
    "where",
    [pytest.param(where, marks=() if where in ("compose", "a thread") else pytest.mark.long) for where in CRASHES],
)
def test_a_mistake_is_one_line_on_the_normal_screen_and_a_report_without_values(
    environ: dict[str, str], tmp_path: Path, where: str
) -> None:
    program = [sys.executable, "-c", WITH_A_MISTAKE.format(mistake=CRASHES[where])]
    with seat(program, environ) as terminal:
        assert terminal.ended() == 70
        assert terminal.before == terminal.settings()
        assert terminal.left()
        report = tmp_path / "h" / "state" / "ui.log"
        lines = terminal.afterwards().split("\r\n")
        assert lines[0].startswith("jobctl: this is a bug of jobctl ui: "), lines
        assert lines[0].endswith(f"; more in {report}")
        assert lines[1:] == [""]
        assert "ZeroDivisionError" in report.read_text()
        assert "hunter2" not in terminal.plain() + report.read_text().replace('password = "hunter2"', "")
        assert report.stat().st_mode & 0o077 == 0


@pytest.mark.case("F142")
def test_after_a_stop_the_shell_has_its_terminal_and_fg_gives_the_screens_back(environ: dict[str, str]) -> None:
    with seat(UI, environ, shell=True) as terminal:
        terminal.shows("DOWN")
        terminal.until(lambda: terminal.settings() != terminal.before)
        terminal.type("\x1a")
        terminal.until(terminal.stopped, "it stops")
        assert terminal.settings() == terminal.before
        terminal.until(terminal.left, "what it has written last is read")
        seen = len(terminal.raw)
        terminal.signal(signal.SIGCONT)
        terminal.shows("Upcoming", after=seen)  # which nothing has changed about: it is painted anew
        assert terminal.settings() != terminal.before
        terminal.type("q")
        assert terminal.ended() == 0
        assert terminal.settings() == terminal.before


def test_where_no_shell_waits_it_is_not_suspended(environ: dict[str, str]) -> None:
    with seat(UI, environ) as terminal:  # as `ssh -t host jobctl ui` has it
        terminal.shows("DOWN")
        terminal.type("\x1a")
        terminal.shows("there is no shell")
        terminal.type("q")
        assert terminal.ended() == 0


@pytest.mark.case("F142")
@pytest.mark.long
def test_a_stop_from_outside_does_not_make_it_forget_how_the_terminal_was(environ: dict[str, str]) -> None:
    with seat(UI, environ) as terminal:
        terminal.shows("DOWN")
        terminal.process.send_signal(signal.SIGSTOP)
        terminal.until(terminal.stopped, "it stops")
        seen = len(terminal.raw)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.shows("Upcoming", after=seen)
        terminal.type("q")
        assert terminal.ended() == 0
        assert terminal.settings() == terminal.before
        assert terminal.left()


@pytest.mark.long
def test_one_that_is_told_to_end_while_it_is_stopped_ends_when_it_goes_on(environ: dict[str, str]) -> None:
    with seat(UI, environ, shell=True) as terminal:
        terminal.shows("DOWN")
        terminal.type("\x1a")
        terminal.until(terminal.stopped, "it stops")
        terminal.signal(signal.SIGTERM)
        terminal.signal(signal.SIGCONT)
        assert terminal.ended(3) == 143
        assert terminal.settings() == terminal.before


@pytest.mark.case("F141")
@pytest.mark.long
def test_a_terminal_that_takes_nothing_is_painted_anew_afterwards_and_keeps_nobody_from_ending(
    environ: dict[str, str],
) -> None:
    with seat(UI, environ, size=(200, 60)) as terminal:
        terminal.shows("DOWN")
        terminal.stall()
        for _ in range(40):  # more than a terminal and the program's own store hold
            terminal.type("\x0c12345")
            pause_until_slept(terminal)
        seen = len(terminal.raw)
        terminal.go_on()
        terminal.shows("Upcoming", after=seen)
        terminal.stall()
        for _ in range(40):
            terminal.type("\x0c12345")
            pause_until_slept(terminal)
        terminal.process.terminate()
        assert terminal.process.wait(2) == 143
        assert terminal.settings() == terminal.before


def pause_until_slept(terminal: Seat) -> None:
    """It has done what it was told, and waits for more."""
    terminal.until(lambda: terminal.state() == "S", "it comes to rest")


def test_bytes_that_are_no_text_and_answers_of_a_terminal_are_no_keys(environ: dict[str, str]) -> None:
    with seat(UI, environ) as terminal:
        terminal.shows("DOWN")
        terminal.type(b"\xff\xfe\x80")
        terminal.type("\x1b]11;rgb:2222/2222/2222\x1b\\\x1b[?62;22c\x1bP1+r52\x1b\\")
        terminal.type("?")
        terminal.shows("Help: Jobs")  # an r, a 2 or a 5 would have led elsewhere
        terminal.type(b"\x03")
        assert terminal.ended() == 0


def test_what_goes_wrong_is_told_where_standard_error_leads_and_the_screens_go_where_output_leads(
    environ: dict[str, str], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    program = ["/bin/sh", "-c", f"exec {sys.executable} -m jobctl_tui 2>{told}"]
    with seat(program, environ) as terminal:
        terminal.shows("DOWN")
        terminal.process.terminate()
        assert terminal.ended(2) == 143
        assert told.read_text() == "jobctl: ended by TERM; jobs go on\n"
        assert terminal.left()


@pytest.mark.case("F141")
@pytest.mark.long
def test_a_stalled_terminal_costs_next_to_nothing_while_jobs_come_and_go(tmp_path: Path) -> None:
    with real_daemon(tmp_path / "h") as daemon:
        for number in range(5):
            daemon.add(f"tick-{number}", "exit 0", schedule={"every": "1s"})
        environ = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        with seat(UI, environ | {"JOBCTL_HOME": str(daemon.home)}) as terminal:
            terminal.shows("tick-4")
            terminal.stall()
            began = time.monotonic()
            terminal.until(lambda: time.monotonic() - began > 8, "the terminal's own store is full")
            before_s, began = terminal.cpu_s(), time.monotonic()
            terminal.until(lambda: time.monotonic() - began > 10, "time passes")
            share = (terminal.cpu_s() - before_s) / (time.monotonic() - began)
            assert share < 0.02, f"{share:.1%}"
            seen = len(terminal.raw)
            terminal.go_on()
            terminal.shows("[1 Jobs]", after=seen)
            terminal.process.terminate()
            assert terminal.ended(2) == 143
