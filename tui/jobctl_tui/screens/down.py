"""While the daemon is away: what is said about it above the lists, and what can be done until it is back."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from textual.app import App
from textual.content import Content

from jobctl.reading.width import width
from jobctl_tui.actions import Action, Scope
from jobctl_tui.host import Host, Shell
from jobctl_tui.live import programs
from jobctl_tui.screens.findings import findings
from jobctl_tui.screens.lines import Lines
from jobctl_tui.screens.sheet import Said, Sheet
from jobctl_tui.words import away

Json = dict[str, Any]

#: Of the daemon's log.
LINES: Final = 50
#: Border and padding at both sides.
_FRAME: Final = 4
#: Columns of the names of doctor's checks.
_CHECKS: Final = 14


class DownPanel(Lines):
    """Is there while the daemon is not, and says why. Nothing of what stands below it goes away."""

    DEFAULT_CSS = """
    DownPanel {
        display: none;
        height: auto;
        padding: 0 1;
        border: round $failed;
        border-title-color: $failed;
        border-title-style: bold;
    }
    DownPanel.-away { display: block; }
    DownPanel.-plain { border: none; }
    """

    def renew(self, host: Shell) -> None:
        """As the link is now; every second, since it counts."""
        link = host.feed.link
        is_away = link.state in {"down", "refused"}
        self.set_class(is_away, "-away")
        if not is_away:
            return
        low = self.screen.size.height < away.LOW
        self.set_class(low, "-plain")
        now_ms, columns = host.feed.now_ms(), self.screen.size.width - (2 if low else _FRAME)
        said = away.lines(link, now_ms, host.when, columns, self._facts(host))
        again = [(away.retry(link, now_ms, host.glyphs), "-bold")]
        if low:
            said = said[:1]
        else:
            self.border_title = Content(away.title(link))
            again += away.keys(_helpful(host), host.glyphs, columns - width(again[0][0]))
        self.styles.height = len(said) + (1 if low else 3)
        self.show([*said, again])

    def _facts(self, host: Shell) -> Sequence[str]:
        """What else is known, where there is room for it."""
        if self.screen.size.height < away.TALL:
            return ()
        socket = str((host.feed.status or {}).get("socket") or "")
        seen = [programs.socket_words(socket)] if socket else []
        last = [f"last event: {host.feed.event}"] if host.feed.event else []
        return [*seen, *last]


def _helpful(host: Shell) -> Iterator[Action]:
    """Where somebody answers and refuses, another daemon could not be started."""
    for action in host.actions_here():
        if action.scope is Scope.DOWN and not (action.id == "down.start" and host.feed.link.state == "refused"):
            yield action


class DownActs:
    """What keys do while the daemon is away, on every screen."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def act_down_retry(self) -> None:
        self._host.feed.retry_now()

    def act_down_start(self) -> None:
        host = self._host
        socket = (host.feed.status or {}).get("socket")
        why = programs.why_not_start(os.environ, os.getuid(), socket)
        if host.feed.link.state == "refused":
            why = "a daemon runs already; it has to be ended first: jobctl daemon stop"
        if why is not None:
            host.say(why, trouble=True)
            return
        host.say("jobctl daemon start: it is being started")
        host.errand("jobctl daemon start", lambda _: programs.start_daemon(), self._started, group="start the daemon")

    def _started(self, words: str) -> None:
        self._host.say(words)
        self._host.feed.retry_now()

    def act_down_doctor(self) -> None:
        look_around(self._host)

    def act_down_log(self) -> None:
        host = self._host
        path = programs.log_file(os.environ, os.getuid(), host.feed.status)
        host.errand(
            "the daemon's log", lambda _: programs.log_tail(path, LINES), lambda lines: _read_log(host, path, lines)
        )

    def act_down_copy(self) -> None:
        link = self._host.feed.link
        if link.error is not None:
            hint = f"\n{link.error.hint}" if link.error.hint else ""
            self._host.copy(f"{link.error.message}: {link.why}{hint}", "why the daemon is not reached")


def look_around(host: Host, *, deep: bool = False) -> None:
    """`jobctl doctor`, and a sheet of what it found."""
    socket = (host.feed.status or {}).get("socket")
    host.say("jobctl doctor --deep: it reads the whole database" if deep else "jobctl doctor: it looks around")
    host.errand(
        "jobctl doctor",
        lambda _: programs.doctor(socket, deep=deep),
        lambda found: put_above(host, Sheet("What doctor found", findings(found, host.glyphs), _CHECKS)),
        group="doctor",
    )


def put_above(host: Host, sheet: Sheet) -> None:
    cast("App[Any]", host).push_screen(sheet)


def _read_log(host: Host, path: str, lines: Sequence[str]) -> None:
    said = [Said(line) for line in lines] or [Said("It is empty.", style="-dim")]
    put_above(host, Sheet(f"The last lines of {path}", said, at_end=True))
