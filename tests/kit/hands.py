"""Somebody at a terminal who looks at what goes on until it is left: `ui` by its key, the rest by Ctrl-C.

    python hands.py COMMAND ARG…        ends with 0 when the command showed something and let itself be left

What is followed with -f is printed here too, for whoever reads on. All are left when nothing more comes; that
something is waited for is nothing yet.
"""

import fcntl
import os
import pty
import re
import select
import signal
import sys
import termios
import time

PATIENCE_S = 20
#: So long nothing more comes when all has been painted.
QUIET_S = 0.5
LEFT = (0, 130)
WAITS = re.compile(rb"waiting for [^()]* \(ctrl-c to stop\)")


def main(command: list[str]) -> int:
    followed = "-f" in command
    pid, terminal = pty.fork()
    if pid == 0:
        if not followed:
            os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
    shown, until = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < until and (
        piece := _read(terminal, QUIET_S if WAITS.sub(b"", shown).strip() else PATIENCE_S)
    ):
        shown += piece
        if followed:
            os.write(1, piece.replace(b"\r\n", b"\n"))
    if "ui" in command:
        os.write(terminal, b"q")
    else:
        os.kill(pid, signal.SIGINT)
    while _read(terminal, PATIENCE_S):
        pass
    handle = os.pidfd_open(pid)
    if not select.select([handle], [], [], PATIENCE_S)[0]:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return 0 if shown and os.waitstatus_to_exitcode(status) in LEFT else 1


def _read(source: int, within_s: float) -> bytes:
    if not select.select([source], [], [], within_s)[0]:
        return b""
    try:
        return os.read(source, 65536)
    except OSError:  # it has ended
        return b""


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
