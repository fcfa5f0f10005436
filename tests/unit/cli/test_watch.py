"""Status again and again: on a real terminal in place, elsewhere one below the other; and how it ends."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator

import pytest

from kit.keyboard import Keyboard, keyboard
from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon

PROGRAM = [sys.executable, "-c", "from jobctl.cli.main import main; main()"]
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"


def environ(daemon: FakeDaemon, **more: str) -> dict[str, str]:
    wanted = {"JOBCTL_SOCKET": daemon.path, "TERM": "xterm", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}
    return os.environ | wanted | more


@pytest.fixture
def watched(daemon: FakeDaemon) -> Iterator[Keyboard]:
    with keyboard([*PROGRAM, "status", "--watch", "0.1"], environ(daemon)) as made:
        made.until(ENTER)
        made.until("comes back after a reboot")
        yield made


def test_it_is_painted_in_place_in_one_piece_and_never_cleared(watched: Keyboard) -> None:
    watched.until("\x1b[?2026h")
    picture = watched.until("\x1b[?2026l")
    assert picture.startswith("\x1b[H")
    assert "\x1b[2J" not in picture
    lines = picture.removesuffix("\x1b[J\x1b[?2026l").split("\r\n")
    assert len(lines) <= 24
    assert all(line.endswith("\x1b[K") for line in lines)
    assert lines[0].removeprefix("\x1b[H").startswith("every 0.1 s, ")
    assert lines[1].startswith("jobd    0.1.0, running for ")


def test_what_changes_is_painted(watched: Keyboard, daemon: FakeDaemon) -> None:
    daemon.status["warnings"] = ["the disk is full"]
    watched.until("trouble the disk is full")
    daemon.status["warnings"] = []
    watched.until("\x1b[?2026h")
    while "the disk is full" in watched.until("\x1b[?2026l"):
        pass


def test_an_interrupt_leaves_the_terminal_as_it_was_with_the_last_picture_on_it(watched: Keyboard) -> None:
    watched.type("\x03")
    code, rest = watched.end()
    assert code == 130
    behind = rest.rpartition(LEAVE)[2]
    assert "comes back after a reboot" in behind
    assert "\x1b" not in behind
    assert watched.settings() == watched.before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_that_ends_it_leaves_the_terminal_as_it_was(watched: Keyboard, number: signal.Signals) -> None:
    watched.process.send_signal(number)
    code, rest = watched.end()
    assert code == -number
    assert rest.count(LEAVE) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_signal_ends_it_in_the_middle_of_a_picture_that_the_terminal_does_not_take(
    daemon: FakeDaemon, number: signal.Signals
) -> None:
    with keyboard([*PROGRAM, "status", "--watch", "0.1"], environ(daemon)) as made:
        made.until(ENTER)
        made.fills()
        made.process.send_signal(number)
        assert made.process.wait(10) == -number


def test_it_can_be_stopped_for_a_while(watched: Keyboard) -> None:
    watched.process.send_signal(signal.SIGTSTP)
    watched.until(LEAVE)
    os.waitid(os.P_PID, watched.process.pid, os.WSTOPPED)
    watched.process.send_signal(signal.SIGCONT)
    watched.until(ENTER)
    watched.until("comes back after a reboot")


def test_another_size_of_the_terminal_is_taken_at_once(daemon: FakeDaemon) -> None:
    with keyboard([*PROGRAM, "status", "--watch", "3600"], environ(daemon, COLUMNS="", LINES="")) as made:
        made.until("\x1b[?2026l")
        fcntl.ioctl(made._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 70, 0, 0))
        picture = made.until("\x1b[?2026l")
        assert len(picture.split("\r\n")) <= 6
        assert "lines: jobctl status -o wide" in picture


def test_a_daemon_that_goes_away_and_comes_back_is_waited_for(watched: Keyboard, daemon: FakeDaemon) -> None:
    away = f"{daemon.path}.away"
    os.rename(daemon.path, away)
    watched.until("○ DOWN")
    assert "comes back after a reboot" in watched.until("\x1b[?2026l")  # what was true then is still there
    os.rename(away, daemon.path)
    watched.until("every 0.1 s, ")


def test_without_a_daemon_it_says_so_and_waits(daemon: FakeDaemon) -> None:
    away = f"{daemon.path}.away"
    os.rename(daemon.path, away)
    with keyboard([*PROGRAM, "status", "--watch", "0.1"], environ(daemon)) as made:
        made.until("○ DOWN")
        os.rename(away, daemon.path)
        made.until("comes back after a reboot")


def appended(daemon: FakeDaemon, *argv: str, until: int, **more: str) -> tuple[list[str], int]:
    """So many lines of what it writes to a pipe, and how it ends after an interrupt."""
    with subprocess.Popen(
        [*PROGRAM, "status", "--watch", "0.1", *argv],
        env=environ(daemon, **more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(until)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        return lines, process.returncode


def test_elsewhere_one_picture_comes_below_the_other(daemon: FakeDaemon) -> None:
    lines, code = appended(daemon, until=40)
    assert sum(line.startswith("every 0.1 s, ") for line in lines) >= 2
    assert "\x1b" not in "".join(lines)
    assert code == 130


def test_for_a_program_each_is_a_line(daemon: FakeDaemon) -> None:
    lines, code = appended(daemon, "--json", until=3)
    assert [json.loads(line)["pid"] for line in lines] == [812] * 3
    assert code == 130


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_that_cannot_move_its_cursor_is_only_written_to(daemon: FakeDaemon, term: str) -> None:
    with keyboard([*PROGRAM, "status", "--watch", "0.1"], environ(daemon, TERM=term)) as made:
        first = made.until("comes back after a reboot")
        second = made.until("comes back after a reboot")
        assert "\x1b" not in first + second
        made.type("\x03")
        assert made.end()[0] == 130


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("--watch", "0"), 2, "from 0.1 to 86400"),
        (("--watch", "1e9"), 2, "from 0.1 to 86400"),
        (("--watch", "1x"), 2, "'1x' is not a valid float"),
        (("--watch", "--check"), 2, "--watch and --check exclude each other"),
    ],
)
def test_what_makes_no_sense(cli: Cli, argv: tuple[str, ...], code: int, said: str) -> None:
    result = cli("status", *argv)
    assert result.code == code
    assert said in result.err
