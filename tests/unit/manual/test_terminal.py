"""`jobctl help` on a terminal: man(1) where there is one, else the same page as text, at the terminal's width."""

import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

PROGRAM = "from jobctl.cli.main import main; main()"


def on_a_terminal(*argv: str, columns: int, **environ: str) -> tuple[int, str]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *argv],
        env={"TERM": "xterm", "LC_ALL": "C.UTF-8"} | environ,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65_536):
                shown += piece
        except OSError:  # the last one has closed it
            pass
        code = process.wait(timeout=30)
    os.close(ours)
    return code, shown.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [60, 100])
def test_without_man_it_is_text_at_the_width_of_the_terminal(tmp_path: Path, columns: int) -> None:
    code, shown = on_a_terminal("help", "why", columns=columns, PATH=str(tmp_path), HOME=str(tmp_path))
    assert code == 0
    assert shown.startswith("NAME\n       jobctl-why - ")
    text = shown.partition("\nEXAMPLES\n")[0].splitlines()
    assert columns - 12 < max(map(len, text)) <= columns - 2


def test_with_man_its_pager_shows_the_page(tmp_path: Path) -> None:
    if shutil.which("man") is None or shutil.which("groff") is None:
        pytest.skip("there is no man on this host")
    code, shown = on_a_terminal(
        "help", "dlq", "replay", columns=80, PATH="/usr/bin:/bin", HOME=str(tmp_path), MANPAGER="cat", MANWIDTH="72"
    )
    assert code == 0
    assert "JOBCTL-DLQ(1)" in shown
    assert "dead letters" in shown


def test_for_programs_there_is_no_pager(tmp_path: Path) -> None:
    code, shown = on_a_terminal(
        "help", "why", "--json", columns=80, PATH="/usr/bin:/bin", HOME=str(tmp_path), MANPAGER="false"
    )
    assert code == 0
    assert shown.startswith("{")
