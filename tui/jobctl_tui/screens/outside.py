"""Another program on the terminal of the screens: a pager, an editor. They have it back whatever became of that.

The loop goes on meanwhile, so that the daemon is heard and a signal ends this program as at any other time.
"""

import asyncio
import contextlib
import os
import signal
import termios
from collections.abc import Iterator, Mapping, Sequence
from shlex import split
from shutil import which
from typing import Any, Final

from textual.app import App

from jobctl.errors import CallerError, InvalidInput

#: Out of what a program that died may have left on: the alternate screen, a hidden cursor, keys of an application.
_LEAVE: Final = b"\x1b[?1049l\x1b[?25h\x1b[?1l\x1b>\x1b[m"
#: `-R` shows what is left of colours; there are no escapes in what it is given, so that it is never asked for more.
_LESS: Final = ["less", "-R"]


def pager(environ: Mapping[str, str]) -> list[str]:
    """The command of JOBCTL_PAGER or PAGER; else less, or more. Raises `InvalidInput` when there is none."""
    for name in ("JOBCTL_PAGER", "PAGER"):
        if environ.get(name, "").strip():
            try:
                return split(environ[name])
            except ValueError as error:
                raise InvalidInput(f"{name} cannot be read: {error}", "unset it, or set it to less") from error
    for command in (_LESS, ["more"]):
        if which(command[0], path=environ.get("PATH")):
            return command
    raise InvalidInput("there is no pager on this host", "set PAGER to one, or save the log with s")


async def outside(app: App[Any], command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Gives it the terminal until it has ended; its exit code, or minus the signal that ended it.

    Raises `CallerError` when it cannot be started.
    """
    failure: OSError | None = None
    code = 0
    with app.suspend():  # which does not come back from what is raised in it
        try:
            with _kept(0):
                code = await _ended(command, environ)
        except OSError as error:
            failure = error
        if code != 0:
            with contextlib.suppress(OSError):
                os.write(1, _LEAVE)
    if failure is not None:
        raise CallerError(f"{command[0]} could not be started: {failure.strerror}", "name another one") from failure
    return code


async def _ended(command: Sequence[str], environ: Mapping[str, str]) -> int:
    process = await asyncio.create_subprocess_exec(*command, env=dict(environ))
    try:
        return await process.wait()
    finally:
        if process.returncode is None:  # this program ends before it
            with contextlib.suppress(ProcessLookupError):
                process.terminate()


@contextlib.contextmanager
def _kept(terminal: int) -> Iterator[None]:
    """How the terminal treats keys is put back; an interrupt is for the program that has the terminal, not for us."""
    with contextlib.suppress(termios.error):
        modes = termios.tcgetattr(terminal)
    handlers = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        with contextlib.suppress(termios.error, NameError):
            termios.tcsetattr(terminal, termios.TCSADRAIN, modes)
