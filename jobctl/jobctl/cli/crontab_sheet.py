"""The file that a person edits a crontab in: private, in a folder of its own, and distrusted when it comes back.

The editor runs as the caller, in the foreground of their terminal. Whatever it does to the file is found out
afterwards; what it does to the terminal is undone.
"""

import contextlib
import os
import re
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Final

from jobctl.cli.crontab_table import BYTES_MAX, Said
from jobctl.cli.crontab_told import TELLING, Told, handling

_USUAL: Final = ("sensible-editor", "editor", "vi", "nano")
#: Editors that are told to end get so long to save what they have.
_END_S: Final = 3.0
_NOT_YOURS: Final = "Temporary crontab no longer owned by you."
#: With none of these the editor is started without a shell, which would take a ^C for its own.
_FOR_A_SHELL: Final = re.compile(r"[|&;<>()$`*?\[\]#~=%{}!\n]")


class Sheet:
    """A text on its way through an editor."""

    def __init__(self, data: bytes, environ: Mapping[str, str]) -> None:
        from tempfile import mkdtemp

        base = environ.get("TMPDIR", "")
        try:
            self.folder = mkdtemp(prefix="crontab.", dir=base if os.path.isabs(base) else "/tmp")
            self.path = os.path.join(self.folder, "crontab")
            self.write(data, os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise Said(f"crontab: no temporary file can be made: {error.strerror}: {error.filename}") from error
        self._environ = environ
        self._kept = False

    def write(self, data: bytes, flags: int = os.O_TRUNC) -> None:
        """The text of the file from now on."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)

    def edited(self) -> bytes:
        """The text when the editor has closed. `Said` when it ended badly, or has left no such file behind."""
        editor = editor_of(self._environ)
        code = _run(editor, self.path, self._environ)
        if code > 0:
            raise Said(f'crontab: "{editor}" exited with status {code}; nothing was installed')
        if code < 0:
            raise Said(f'crontab: "{editor}" killed; signal {-code}; nothing was installed')
        return self.read()

    def read(self) -> bytes:
        """What was saved. `Said` when it is no file of the caller's own any more."""
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            raise Said("crontab: the editor has removed the temporary file; nothing was installed") from None
        except OSError as error:
            if os.path.islink(self.path):
                raise _not_regular() from error
            raise Said(f"crontab: the temporary file cannot be read: {error.strerror}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            os.close(descriptor)
            raise _not_regular() if not stat.S_ISREG(found.st_mode) else Said(_NOT_YOURS)
        with open(descriptor, "rb") as file:
            data = file.read(BYTES_MAX + 1)
        if len(data) > BYTES_MAX:
            raise Said(f"crontab is too long; it may have {BYTES_MAX} bytes: put long commands in scripts.")
        return data

    def left(self, begun: bytes) -> str | None:
        """What is worth keeping, and stays: the file where it is not as it was in the beginning, or the folder where an
        editor that had to end has put what it had (`crontab.save`, `.crontab.swp`). None: there is nothing."""
        try:
            changed = self.read() != begun
        except Said:
            changed = os.path.lexists(self.path)
        with contextlib.suppress(OSError):
            if changed or any(entry.name != "crontab" for entry in os.scandir(self.folder)):
                self._kept = True
                return self.path if changed else self.folder
        return None

    def close(self) -> None:
        """Away with the folder, whatever the editor has left in it."""
        if not self._kept:
            from shutil import rmtree

            rmtree(self.folder, ignore_errors=True)


def editor_of(environ: Mapping[str, str]) -> str:
    """The editor's command, for the shell: $VISUAL, $EDITOR, else one that is there."""
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            return environ[name]
    from shutil import which

    found = next(filter(None, (which(name, path=environ.get("PATH")) for name in _USUAL)), None)
    if found is None:
        raise Said("crontab: there is no editor on this host: set EDITOR")
    return found


def _run(editor: str, path: str, environ: Mapping[str, str]) -> int:
    """The editor's exit code, negative for a signal. The caller's ^C and ^\\ are for the editor alone meanwhile.

    The handlers are functions and not SIG_IGN, which the editor would inherit.
    """
    with handling({signal.SIGINT: _nothing, signal.SIGQUIT: _nothing}), _terminal_as_it_was():
        process: subprocess.Popen[bytes] | None = None
        told: list[int] = []
        try:
            # Told in the midst of this, we would not know of the editor that is already there.
            with handling(dict.fromkeys(TELLING, lambda number, _: told.append(number))):
                process = subprocess.Popen(_command(editor, path), env=dict(environ))
            if told:
                signal.raise_signal(told[0])
            return process.wait()
        except OSError as error:
            raise Said(f'crontab: "{editor}" could not be started: {error.strerror}; nothing was installed') from error
        except Told as end:
            if process is not None:
                _end(process, end.number)
            raise


def _end(process: "subprocess.Popen[bytes]", number: int) -> None:
    """The editor is told the same, and may save what it has."""
    process.send_signal(number)
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _command(editor: str, path: str) -> list[str]:
    """Words, or a line for the shell, as crontab(1) takes it."""
    from shlex import split

    try:
        words = split(editor) if not _FOR_A_SHELL.search(editor) else []
    except ValueError:
        words = []
    return [*words, path] if words else ["/bin/sh", "-c", f'{editor} "$@"', "crontab", path]


def _nothing(_: int, __: FrameType | None) -> None:
    return None


@contextlib.contextmanager
def _terminal_as_it_was() -> Iterator[None]:
    """An editor that is killed leaves the terminal without echo and without lines."""
    import termios

    try:
        attributes = termios.tcgetattr(0)
    except (termios.error, OSError):
        yield
        return
    try:
        yield
    finally:
        with handling({signal.SIGTTOU: signal.SIG_IGN}), contextlib.suppress(termios.error, OSError):
            termios.tcsetattr(0, termios.TCSADRAIN, attributes)


def _not_regular() -> Said:
    return Said("crontab: the temporary crontab must remain a regular file; nothing was installed")
