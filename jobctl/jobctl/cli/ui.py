"""`jobctl ui`: becomes the screens."""

import os
import sys
from typing import Annotated

import typer

from jobctl.cli.session import Session
from jobctl.cli.verbs import LOOKS
from jobctl.errors import InvalidInput

EXAMPLES = (
    ("jobctl ui", "jobs, trouble first; ? shows the keys, q leaves, jobs go on"),
    ("jobctl ui --read-only", "look, and change nothing"),
    ("NO_COLOR=1 jobctl ui", "bold and reverse instead of colours"),
    ("jobctl ui --print-keys", "the ids that [keys] of ui.toml may give other keys"),
)


def verb(
    ctx: typer.Context,
    theme: Annotated[
        str | None, typer.Option("--theme", metavar="NAME", help="jobctl-dark, jobctl-light, ansi or mono")
    ] = None,
    ascii_only: Annotated[bool, typer.Option("--ascii", help="no signs but those of ASCII")] = False,
    no_mouse: Annotated[bool, typer.Option("--no-mouse", help="leave the mouse to the terminal")] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="without all that changes anything")] = False,
    print_keys: Annotated[bool, typer.Option("--print-keys", help="list actions and their keys")] = False,
) -> None:
    """Show jobs, runs, what comes next, dead letters and the daemon on the whole terminal, and act on them.

    When the daemon is away it shows what was true last, and goes on by itself once it is back. Settings are in ui.toml
    in $XDG_CONFIG_HOME/jobctl. Without a terminal: jobctl status --watch.
    """
    session: Session = ctx.obj
    if theme is not None and theme not in LOOKS:
        raise InvalidInput(
            f"--theme {theme!r} is none of {', '.join(LOOKS)}", "without it: as the terminal is", field="--theme"
        )
    options = [] if session.common.socket is None else ["--socket", session.common.socket]
    options += [] if theme is None else ["--theme", theme]
    wanted = {"--ascii": ascii_only, "--no-mouse": no_mouse, "--read-only": read_only, "--print-keys": print_keys,
              "--utc": session.common.utc}  # fmt: skip
    options += [name for name, on in wanted.items() if on]
    session.world.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "jobctl_tui", *options])
