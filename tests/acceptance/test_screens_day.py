"""One sitting before `jobctl ui` on a real terminal, never leaving it: a job from its making to its mending."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.emulator import Emulator
from kit.seat import UI, seat

TERMINALS = {
    "256 colours": {"TERM": "xterm-256color"},
    "16 colours": {"TERM": "xterm"},
    "no colours": {"TERM": "xterm-256color", "NO_COLOR": "1"},
}
ESCAPE, ENTER, TAB, RIGHT, BACK_TAB, CTRL_S, CTRL_U = "\x1b", "\r", "\t", "\x1b[C", "\x1b[Z", "\x13", "\x15"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    """With running, failing, late, dead and paused jobs."""
    with real_daemon(tmp_path / "h") as daemon:
        client = daemon.client
        client.set_queue("narrow", 1)
        daemon.add("long", "while sleep 1; do echo still here; done", queue="narrow", schedule={"every": "1h"})
        daemon.triggered("long")
        daemon.add("late", "true", queue="narrow", schedule={"every": "1s"}, late_after=1)
        daemon.add("failing", "exit 3", schedule={"every": "1h"}, retry={"max": 5, "backoff": 600})
        daemon.triggered("failing")
        daemon.add("lost-cause", "echo it is over >&2; exit 4", retry={"max": 0})
        daemon.finished(daemon.triggered("lost-cause"))
        daemon.add("resting", "true", schedule={"every": "1h"}, paused=True)
        yield daemon


def field(ui: Emulator, name: str, text: str, key: str = TAB, instead_of: str = "") -> None:
    """Goes to a field of the editor, whose words for it stand below, and types there what it is to be."""
    while (at := _field(ui)) != name:
        ui.press(key)
        ui.until(lambda at=at: _field(ui) != at, "the next field")  # type: ignore[misc]
    if instead_of:
        ui.press(CTRL_U)
        ui.until(lambda: instead_of not in ui.text(), "an empty field")
    ui.press(text)
    ui.shows(text[-12:])


def _field(ui: Emulator) -> str:
    """The field that has the keys, once that no longer changes."""
    name = ""
    for _ in range(40):
        if name and name == _said(ui):
            return name
        name = _said(ui)
        ui.rest()
    raise AssertionError(ui.text())


def _said(ui: Emulator) -> str:
    found = re.match(r" ([A-Z][A-Za-z ]+): ", ui.lines()[-2]) if "Review & save" in ui.text() else None
    return found[1] if found else ""


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.parametrize("kind", TERMINALS)
def test_a_job_is_made_watched_killed_mended_and_replayed_without_leaving_the_screens(
    daemon: RealDaemon, tmp_path: Path, kind: str
) -> None:
    environ = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    environ |= {"LANG": "C.UTF-8", "JOBCTL_HOME": str(daemon.home)} | TERMINALS[kind]
    with seat(UI, environ) as terminal:
        ui = Emulator(terminal)
        # What is wrong stands at the top, and in the first line.
        ui.shows("lost-cause")
        for words in ("FAILED", "retry", "LATE", "running", "paused"):
            ui.shows(words)

        # A job that at first does not end, and then fails.
        ui.press("n", "new job")
        field(ui, "Name", "copy")
        field(ui, "Command", f"sh -c 'mkdir {tmp_path}/x && while sleep 0.2; do echo working; done; exit 9'")
        field(ui, "Schedule", "every 8s")
        ui.shows("every 8 seconds")
        field(ui, "Retry", "0x")
        ui.press(CTRL_S, "Add it: press s")
        ui.shows("Same as  jobctl add copy")
        ui.press("s", "added copy")
        ui.until(lambda: "running" in ui.line(" copy "), "a run of copy")

        # Its log as it is written, and its end.
        ui.press("l", "working")
        ui.shows("▶ running")
        ui.press("K", "Kill: press k")
        ui.press("k", "killed")
        ui.press(ESCAPE, "[1 Jobs]")
        ui.until(lambda: "FAILED" in ui.line(" copy "), "a run of copy that fails")

        # It lies with the dead letters, with its reason; it is mended there.
        ui.press("4", "[4 Dead:")
        ui.press("g", "cannot create directory")
        ui.press("e", "copy / edit")
        field(ui, "Command", "echo mended", key=BACK_TAB, instead_of="mkdir")
        ui.press(CTRL_S, "Cancel")
        ui.press("s", "changed copy")
        ui.shows("[4 Dead:")

        # Replayed as it is now, which is what somebody means who has edited it, it succeeds, and is no dead letter.
        ui.press("R", "(•) as it is now")
        ui.press("r")
        ui.until(lambda: "copy" not in {one["job"] for one in daemon.client.dead()}, "no dead letter of copy")
        ui.shows("[4 Dead:1]")
        ui.until(lambda: not ui.line(" copy "), "a list without copy")
        ui.press("1", "[1 Jobs]")
        ui.until(lambda: " ok " in ui.line(" copy "), "a run of copy that succeeds")

        # A pause is taken back.
        ui.press("/")
        ui.until(lambda: "/" in {line.strip() for line in ui.lines()}, "a line for the filter")
        ui.press("copy")
        ui.shows("1 of ")
        ui.press(ENTER)
        ui.rest()
        ui.press("p")
        ui.until(lambda: daemon.client.job("copy")["paused"], "a pause")
        ui.shows("paused")
        ui.press("u")
        ui.until(lambda: not daemon.client.job("copy")["paused"], "an end of the pause")
        ui.press("q")
        assert terminal.ended() == 0
        assert terminal.left()
    replayed = [run for run in daemon.client.job_runs("copy") if run["attempt"] > 1]
    assert [run["state"] for run in replayed] == ["succeeded"] * len(replayed) != []
