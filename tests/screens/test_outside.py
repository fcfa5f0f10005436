"""A log in somebody's pager or editor: what it is given has no escapes, and the screens have their terminal back
whatever became of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.seat import UI, Seat, seat

#: A pager that keeps what it was given and says so, turns the terminal inside out, and is killed in the middle.
DYING = """#!/bin/sh
cp "$1" "{kept}/text" && stat -c %a "$1" > "{kept}/mode" && echo "$1" > "{kept}/path"
printf '\\033[?1049h\\033[?25lIN THE PAGER'
stty raw -echo
kill -9 $$
"""
#: One that waits until it is told to end, and takes an interrupt for its own.
WAITING = """#!/bin/sh
trap 'printf INTERRUPTED' INT
printf 'IN THE PAGER'
until [ -e "{kept}/go" ]; do sleep 0.05; done
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        made.finished(made.run("printf '\\033]52;c;QUJD\\007plain \\033[31mred\\033[0m words\\n'", name="talker"))
        yield made


def environ(daemon: RealDaemon, program: Path | str, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return {**kept, "TERM": "xterm-256color", "LANG": "C.UTF-8", "JOBCTL_HOME": str(daemon.home), "PAGER": str(program),
            "EDITOR": str(program), **more}  # fmt: skip


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "program"
    path.write_text(text.format(kept=tmp_path))
    path.chmod(0o700)
    return path


def on_the_run(terminal: Seat) -> None:
    """Its log is on the screen."""
    terminal.shows("live")
    terminal.type("2")
    terminal.shows("talker")
    terminal.type("\r")
    terminal.shows("end of log")


@pytest.mark.case("F142")
@pytest.mark.parametrize("key", ["o", pytest.param("E", marks=pytest.mark.long)])
def test_a_pager_that_is_killed_leaves_the_screens_their_terminal(daemon: RealDaemon, tmp_path: Path, key: str) -> None:
    with seat(UI, environ(daemon, script(tmp_path, DYING))) as terminal:
        on_the_run(terminal)
        inside = terminal.settings()
        said = len(terminal.raw)
        terminal.type(key)
        terminal.shows("IN THE PAGER", said)
        terminal.shows("was ended by signal 9", said)
        terminal.until(lambda: terminal.settings() == inside, "the modes of the screens")
        assert (tmp_path / "text").read_text() == "plain red words\n"
        assert (tmp_path / "mode").read_text().strip() == "600"
        terminal.until(lambda: not Path((tmp_path / "path").read_text().strip()).exists(), "the copy is gone")
        terminal.type("q")
        assert terminal.ended() == 0
        assert terminal.before == terminal.settings()
        assert terminal.left()


@pytest.mark.long
def test_an_interrupt_in_the_pager_is_not_one_of_the_screens(daemon: RealDaemon, tmp_path: Path) -> None:
    with seat(UI, environ(daemon, script(tmp_path, WAITING))) as terminal:
        on_the_run(terminal)
        said = len(terminal.raw)
        terminal.type("o")
        terminal.shows("IN THE PAGER", said)
        terminal.type("\x03")
        terminal.shows("INTERRUPTED", said)
        assert terminal.process.poll() is None
        before = len(terminal.raw)
        (tmp_path / "go").touch()
        terminal.shows("end of log", before)
        terminal.type("q")
        assert terminal.ended() == 0


@pytest.mark.case("F142")
def test_a_signal_ends_the_screens_and_the_pager_with_them(daemon: RealDaemon, tmp_path: Path) -> None:
    with seat(UI, environ(daemon, script(tmp_path, WAITING))) as terminal:
        on_the_run(terminal)
        said = len(terminal.raw)
        terminal.type("o")
        terminal.shows("IN THE PAGER", said)
        terminal.process.terminate()
        assert terminal.ended(5) == 143
        assert terminal.before == terminal.settings()
        assert terminal.left()


@pytest.mark.long
def test_a_pager_that_is_not_there_is_said(daemon: RealDaemon) -> None:
    with seat(UI, environ(daemon, "/nowhere/pager")) as terminal:
        on_the_run(terminal)
        terminal.type("o")
        terminal.shows("could not be started")
        terminal.type("q")
        assert terminal.ended() == 0
