"""A text in the person's own editor: $VISUAL, $EDITOR, else one that is there."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from typing import Final

from jobctl.errors import CallerError, InvalidInput

_USUAL: Final = ("sensible-editor", "editor", "vi", "nano")
_HINT: Final = "set EDITOR to one that is there"


class Sheet:
    """A text in a private file of its own, which is removed behind it unless somebody wants to keep it."""

    def __init__(self, text: str, suffix: str) -> None:
        self._keeps = False
        descriptor, self.path = tempfile.mkstemp(prefix="jobctl-", suffix=suffix)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)

    def edited(self, environ: Mapping[str, str]) -> str:
        """The text when the editor has closed. Raises `CallerError` when it was aborted, or is no UTF-8."""
        command = [*editor(environ), self.path]
        try:
            code = subprocess.run(command, env=dict(environ), check=False).returncode
        except OSError as error:
            raise CallerError(f"the editor {command[0]} could not be started: {error.strerror}", _HINT) from error
        if code != 0:
            how = f"ended with {code}" if code > 0 else f"was stopped by signal {-code}"
            raise CallerError(f"the editor {how}", "nothing was changed")
        return self.text()

    def text(self) -> str:
        """As it was last saved."""
        try:
            with open(self.path, encoding="utf-8") as file:
                return file.read()
        except UnicodeDecodeError as error:
            raise InvalidInput("the text is not UTF-8", "save it as UTF-8") from error
        except OSError as error:
            raise CallerError(f"the text is gone: {error.strerror}", "nothing was changed") from error

    def differs(self, text: str) -> bool:
        """Whether something else than `text` was saved: work that somebody may want back."""
        try:
            return self.text() != text
        except CallerError:
            return os.path.exists(self.path)

    def keep(self) -> str:
        """The file stays; where it is."""
        self._keeps = True
        return self.path

    def close(self) -> None:
        if not self._keeps:
            with contextlib.suppress(OSError):
                os.unlink(self.path)


@contextlib.contextmanager
def sheet(text: str, suffix: str) -> Iterator[Sheet]:
    """A sheet for as long as it is worked on."""
    made = Sheet(text, suffix)
    try:
        yield made
    finally:
        made.close()


def editor(environ: Mapping[str, str]) -> list[str]:
    """The command of the editor, its own arguments included."""
    from shlex import split
    from shutil import which

    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            try:
                return split(environ[name])
            except ValueError as error:
                raise InvalidInput(f"{name} cannot be read: {error}", _HINT) from error
    found = next(filter(None, (which(name, path=environ.get("PATH")) for name in _USUAL)), None)
    if found is None:
        raise InvalidInput("there is no editor on this host", "set EDITOR, or give options: see jobctl edit --help")
    return [found]
