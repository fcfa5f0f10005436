"""The command line, read by hand: argparse would cost a tenth of the runner's memory."""

from __future__ import annotations

import re

USAGE = (
    "usage: python -m jobctl_daemon.runner --state DIR --instance NAME "
    "[--idle-exit SECONDS] [--program-version VERSION] [--foreground]"
)


class Usage(Exception):
    """A command line that is not understood."""


class Options:
    """What the starter asked for. idle_exit_s is in seconds."""

    __slots__ = ("foreground", "idle_exit_s", "instance", "state", "version")

    def __init__(self, arguments: list[str]) -> None:
        """Read the arguments; raises Usage."""
        self.foreground = False
        given = {"--state": "", "--instance": "", "--idle-exit": "10", "--program-version": ""}
        words = iter(arguments)
        for word in words:
            name, has_value, value = word.partition("=")
            if word == "--foreground":
                self.foreground = True
            elif name in given:
                given[name] = value if has_value else next(words, "")
            else:
                raise Usage(f"unknown option {word}")
        self.state = given["--state"]
        self.instance = given["--instance"]
        self.version = given["--program-version"]
        if not self.state.startswith("/"):
            raise Usage("--state is not an absolute path")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", self.instance):
            raise Usage("--instance is not a name of letters, digits, dot, dash, underscore")
        try:
            self.idle_exit_s = float(given["--idle-exit"])
        except ValueError:
            raise Usage("--idle-exit is not a number of seconds") from None
