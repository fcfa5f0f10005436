"""From what was asked for on the command line to an application that runs."""

import asyncio
import os
import socket
import threading
from typing import Any

from jobctl.client.sync import Client
from jobctl.client.transport import Transport
from jobctl.clock import Clock
from jobctl_tui.app import Screens, Setup
from jobctl_tui.driver import TerminalDriver
from jobctl_tui.leaving import Leaving
from jobctl_tui.settings import Settings
from jobctl_tui.theme import theme_for
from jobctl_tui.words.glyphs import ASCII, glyphs_for
from jobctl_tui.words.when import When


def started(
    daemon: Transport, clock: Clock, settings: Settings, state_dir: str | None, leaving: Leaving, *, utc: bool
) -> tuple[BaseException | None, int, list[str]]:
    """Runs the screens until they are left: the mistake that ended them, if one did, the exit code, and what is said
    to somebody who left."""
    setup = Setup(
        connect=lambda: Client(daemon),
        clock=clock,
        theme=theme_for(os.environ, settings.theme),
        glyphs=ASCII if settings.ascii else glyphs_for(os.environ),
        when=When("utc" if utc else "local"),
        settings=settings,
        host=socket.gethostname(),
        state_dir=state_dir,
    )
    # Textual turns a NO_COLOR that is empty into greys; whether there is colour has been decided above.
    no_color = os.environ.pop("NO_COLOR", None)
    app = Screens(setup, TerminalDriver)
    if no_color is not None:
        os.environ["NO_COLOR"] = no_color
    leaving.stop = lambda code: app.post(lambda: app.leave(code))
    app.leaving = leaving
    threading.excepthook = lambda about: _of_a_thread(app, about)
    asyncio.run(app.run_async(mouse=settings.mouse))
    from jobctl_tui.words.farewell import farewell  # not before it is needed

    return app.crash, app.return_code or 0, farewell(app.feed.status, reached=app.feed.link.reached)


def _of_a_thread(app: Screens, about: Any) -> None:
    """A thread that died unnoticed is a screen that looks alive and is not."""
    error = about.exc_value
    if isinstance(error, Exception):
        app.post(lambda: app.failed_by(error))
