"""The screens on real terminals of every kind: what is written to each, byte by byte."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import CLI, RealDaemon, real_daemon
from kit.falsifier import falsified, same_length
from kit.seat import UI, Seat, seat

#: A name of that many bytes is exchanged for one that no job can have.
NAME = "hostile-" + "x" * 120
#: As JSON: the clipboard, the title, a cleared screen, a cursor that moves up, a text that runs backwards, markup.
HOSTILE = same_length(
    rb"a\u001b]52;c;b3duZWQ=\u0007\u001b]0;owned\u0007\u001b[2J\u009b1A\u202e[/x][red]b", len(NAME.encode())
)
#: What its command prints: the same, and a log that tries to leave its lines.
OUTPUT = (
    r"printf '\033]52;c;b3duZWQ=\007\033]0;owned\007\033[2J\033[1;1Hover\r\033[31mred\n[/x] [red]\n\342\200\256\n'; "
)
#: All that the screens themselves may send.
OURS = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[[0-9]+;[0-9]+H|\x1b\[\?[0-9]+[hl]|\x1b\[\?[0-9]+\$p|\x1b\[<u|\x1b\[[0-9]*[ABCD]|\x1b\[m"
)
DANGEROUS = re.compile("[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("h")) as daemon:
        daemon.add(NAME, OUTPUT + "exit 1", retry={"max": 0}, note="\x1b]0;owned\x07[/x]", tags=["t"])
        daemon.add("tr", "tr '[a-z]' '[A-Z]' </dev/null", schedule={"every": "1h"})
        daemon.finished(daemon.triggered(NAME))
        daemon.finished(daemon.triggered("tr"))
        daemon.client.pause_job("tr", None, "\x1b]52;c;b3duZWQ=\x07 [/x]")
        yield daemon


@pytest.fixture
def environ(daemon: RealDaemon) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
    return kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "JOBCTL_HOME": str(daemon.home)}


BACK = ("\x1b", "e Edit")
HOME = ("\x1b", "[1 Jobs]")
WALK = (
    ("?", "Help: Jobs"), BACK, (":host", "Go to job"), BACK, ("\r", "end of log"), HOME, ("D", "Cancel"), BACK,
    ("e", "Schedule"), HOME, ("2", "[2 Runs]"), ("3", "[3 Upcoming]"), ("5", "[5 Daemon]"), ("4", "1 group"),
    ("R", "Cancel"),
)  # fmt: skip


def walked(terminal: Seat, *steps: tuple[str, str]) -> str:
    """Somebody presses keys and sees what comes of each, and leaves."""
    terminal.shows("FAILED")
    terminal.shows("e Edit")
    for keys, words in steps:
        seen = len(terminal.raw)
        terminal.type(keys)
        terminal.shows(words, after=seen)
    terminal.type("\x03")
    assert terminal.ended() == 0
    return terminal.raw.decode()


def is_ours(text: str) -> None:
    rest = OURS.sub("", text)
    assert "\x1b" not in rest, [rest[max(0, at - 20) : at + 40] for at in (rest.index("\x1b"),)]
    found = DANGEROUS.search(rest)
    assert found is None, (found, rest[max(0, found.start() - 40) : found.end() + 40])


@pytest.mark.case("F038")
def test_nothing_that_a_job_is_called_or_prints_reaches_the_terminal(
    daemon: RealDaemon, environ: dict[str, str], tmp_path: Path
) -> None:
    with (
        falsified(daemon.socket, tmp_path / "s", {NAME.encode(): HOSTILE}) as socket,
        seat(UI, environ | {"JOBCTL_SOCKET": socket}, size=(120, 40)) as terminal,
    ):
        is_ours(walked(terminal, *WALK))
        assert "]52;c;b3duZWQ=" in terminal.plain()  # it is shown, by its escapes
        assert "[/x]" in terminal.plain()


@pytest.mark.parametrize(
    "words",
    [
        ["ls"],
        ["log", NAME],
        *(
            pytest.param(words, marks=pytest.mark.long)
            for words in (["runs"], ["show", NAME], ["dlq", "ls"], ["dlq", "show", NAME], ["status"])
        ),
    ],
)
def test_neither_does_it_by_the_command_line(
    daemon: RealDaemon, environ: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    with (
        falsified(daemon.socket, tmp_path / "s", {NAME.encode(): HOSTILE}) as socket,
        seat([*CLI, *words], environ | {"JOBCTL_SOCKET": socket}, size=(200, 40)) as terminal,
    ):
        assert terminal.ended() in (0, 1)
        is_ours(terminal.raw.decode())


LOOKS = {
    "true colour": {"COLORTERM": "truecolor"},
    "256 colours, as over ssh": {},
    "16 colours": {"TERM": "xterm"},
    "the console of Linux": {"TERM": "linux"},
    "screen": {"TERM": "screen"},
    "no colour": {"NO_COLOR": "1"},
    "an empty NO_COLOR": {"NO_COLOR": ""},
    "a locale that is not UTF-8": {"LANG": "C"},
}


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if number in (0, 5, 7) else pytest.mark.long) for number, kind in enumerate(LOOKS)],
)
def test_a_terminal_gets_what_it_can_show(environ: dict[str, str], kind: str) -> None:
    with seat(UI, environ | LOOKS[kind]) as terminal:
        text = walked(terminal, ("?", "Help: Jobs"), BACK)
        assert terminal.before == terminal.settings()
    is_ours(text)
    many = kind in ("256 colours, as over ssh", "an empty NO_COLOR", "a locale that is not UTF-8")
    assert ("38;2;" in text) == (kind == "true colour")
    assert ("38;5;" in text) == many
    assert bool(COLOUR.search(text)) == (kind != "no colour")
    assert "\x1b[7" in text or "48;" in text  # what is under the cursor stands out
    assert text.isascii() == (kind == "a locale that is not UTF-8")
    assert ("$p" in text) == (kind != "the console of Linux")


@pytest.mark.parametrize("term", ["dumb", "", "unknown"])
def test_a_terminal_that_cannot_place_text_is_told_what_needs_none(environ: dict[str, str], term: str) -> None:
    with seat(UI, environ | {"TERM": term}) as terminal:
        assert terminal.ended() == 2
        assert "jobctl status --watch" in terminal.plain()
        assert "\x1b" not in terminal.raw.decode()


@pytest.mark.parametrize("number", [0, 1])
def test_without_a_terminal_at_both_ends_nothing_is_drawn(environ: dict[str, str], number: int) -> None:
    ours, theirs = os.openpty()
    ends = [theirs, theirs]
    ends[number] = subprocess.DEVNULL if number == 0 else subprocess.PIPE
    done = subprocess.run(
        [*CLI, "ui"], env=environ, stdin=ends[0], stdout=ends[1], stderr=subprocess.PIPE, text=True, check=False,
        timeout=30,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2
    assert "jobctl status --watch" in done.stderr
    assert not done.stdout


def test_a_verb_loads_nothing_of_the_screens(environ: dict[str, str]) -> None:
    code = (
        "import sys, jobctl.cli.main as m, jobctl.cli.world as w; m.run(['ls'], w.real_world()); "
        "print([name for name in sys.modules if name.split('.')[0] in ('textual', 'rich', 'jobctl_tui')])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
