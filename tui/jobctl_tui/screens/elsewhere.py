"""The log of a run elsewhere: in a file, in a pager, in an editor."""

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, Protocol

from textual.app import App
from textual.screen import ModalScreen

from jobctl.client.sync import Client
from jobctl.errors import Conflict, InvalidInput, JobctlError
from jobctl.reading.runs import size
from jobctl.reading.safe import cell
from jobctl_tui.host import Host
from jobctl_tui.live import logfile
from jobctl_tui.live.logfile import Which
from jobctl_tui.screens.ask import Ask
from jobctl_tui.screens.lines import Line
from jobctl_tui.screens.outside import outside
from jobctl_tui.screens.save import SaveLog


class Pane(Protocol):
    """Whose log it is."""

    @property
    def app(self) -> App[Any]: ...
    @property
    def host(self) -> Host: ...
    @property
    def errand(self) -> Callable[..., None]: ...
    @property
    def run_worker(self) -> Callable[..., object]: ...
    def which(self) -> Which: ...
    def put(self, dialog: ModalScreen[Any], answered: Callable[[Any], None]) -> None: ...


class Elsewhere:
    """Of the log that is shown."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane

    def save(self, *typed: str) -> None:
        """To a path; asks for one where none was typed."""
        which, folder = self._pane.which(), os.getcwd()
        if not typed:
            self._pane.put(SaveLog(which, folder), lambda path: self._save(which, path))
            return
        try:
            path = logfile.place(" ".join(typed), which, folder)
        except InvalidInput as error:
            self._pane.host.say(f"{error.message}: {error.hint}", trouble=True)
        else:
            self._save(which, path)

    def _save(self, which: Which, path: str, *, overwrite: bool = False) -> None:
        def failed(error: JobctlError) -> None:
            if isinstance(error, Conflict) and not overwrite:
                facts: list[Line] = [[(cell(error.message), "")], [("What is in it now will be gone.", "")]]
                ask = Ask("Overwrite it?", facts, "Overwrite", "o")
                self._pane.put(ask, lambda _: self._save(which, path, overwrite=True))
            else:
                self._pane.host.say(f"not saved: {error.message}", trouble=True)

        self._pane.host.errand(
            "save",
            lambda client: logfile.save(client, which, path, overwrite=overwrite),
            lambda count: self._pane.host.say(f"saved {size(count)} to {path}"),
            failed,
        )

    def read_with(self, command_of: Callable[[Any], list[str]]) -> None:
        """A copy without escapes, in a folder that nobody else can enter and that goes when the program has ended."""
        which = self._pane.which()
        try:
            command = command_of(os.environ)
        except InvalidInput as error:
            self._pane.host.say(f"{error.message}: {error.hint}", trouble=True)
            return

        def written(client: Client) -> str:
            folder = tempfile.mkdtemp(prefix="jobctl-")
            try:
                return logfile.to_read(client, which, folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise

        self._pane.errand("read the log", written, lambda path: self._run([*command, path]), group="outside")

    def _run(self, command: list[str]) -> None:
        self._pane.run_worker(self._ran(command), group="outside", exclusive=True)

    async def _ran(self, command: list[str]) -> None:
        host = self._pane.host
        try:
            code = await outside(self._pane.app, command, os.environ)
        except JobctlError as error:
            host.say(f"{error.message}; {error.hint}", trouble=True)
        else:
            if code < 0:
                host.say(f"{os.path.basename(command[0])} was ended by signal {-code}", trouble=True)
        finally:
            shutil.rmtree(os.path.dirname(command[-1]), ignore_errors=True)
