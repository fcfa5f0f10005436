"""Somebody at a terminal who looks at what goes on until it is left: `ui` by its key, the rest by Ctrl-C.

    python hands.py COMMAND ARG…        ends with 0 when the command showed something and let itself be left

What is followed with -f is left after the first that it prints, which is printed here too: it is for whoever reads on.
What paints is left when it is still.
"""

import os
import pty
import select
import signal
import subprocess
import sys

PATIENCE_S = 20
#: So long nothing more comes when all has been painted.
QUIET_S = 0.5
LEFT = (0, 130)


def main(command: list[str]) -> int:
    return _followed(command) if "-f" in command else _painted(command, b"q" if "ui" in command else b"\x03")


def _followed(command: list[str]) -> int:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        shown = _read(process.stdout.fileno(), PATIENCE_S)
        os.write(1, shown)
        process.send_signal(signal.SIGINT)
        code = process.wait(PATIENCE_S)
    return 0 if shown and code in LEFT else 1


def _painted(command: list[str], key: bytes) -> int:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    shown = b""
    while piece := _read(terminal, QUIET_S if shown else PATIENCE_S):
        shown += piece
    os.write(terminal, key)
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
