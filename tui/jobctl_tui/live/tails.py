"""The last lines of the logs of runs that somebody looks at: read once of those that have ended, again and again of
one that runs."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import NotFound
from jobctl.reading.safe import LogFilter, cell
from jobctl_tui.live.window import Asks

Json = dict[str, Any]

#: Of the end of a log: enough for the few lines that are shown, whatever their length.
BYTES: Final = 4096
#: The log of a run that is running is read again after so long.
AGAIN_MS: Final = 900
_KEPT: Final = 64


class _Known(NamedTuple):
    lines: tuple[str, ...]
    state: str
    attempt: int
    """Of the run when they were asked for."""
    read_ms: int


class Tails:
    """Called on the loop; `came` says that lines of a run are here, or are others."""

    def __init__(self, errands: Asks, clock: Clock, came: Callable[[int], None]) -> None:
        self._errands = errands
        self._clock = clock
        self._came = came
        self._known: dict[int, _Known] = {}
        self._asked: tuple[int, int] | None = None
        """Of which run, and when: an answer is on its way."""

    def of(self, run: Json) -> tuple[str, ...] | None:
        """What is known; None: it has not been read."""
        known = self._known.get(int(run["id"]))
        return None if known is None else known.lines

    def want(self, run: Json) -> None:
        """Reads what is missing, or may have grown."""
        ident, now_ms = int(run["id"]), self._clock.awake_ms()
        if not int(run["attempt"]) or self._is_fresh(run, now_ms):
            return
        if self._asked is not None and self._asked[0] == ident and now_ms - self._asked[1] < AGAIN_MS:
            return
        self._asked = (ident, now_ms)
        state, attempt = str(run["state"]), int(run["attempt"])
        self._errands.run(
            lambda client: tail(client, ident),
            lambda lines: self._take(ident, _Known(lines, state, attempt, now_ms)),
            lambda _: None,  # it is asked for again as long as somebody looks
            "tails",
        )

    def _is_fresh(self, run: Json, now_ms: int) -> bool:
        known = self._known.get(int(run["id"]))
        if known is None or (known.state, known.attempt) != (run["state"], run["attempt"]):
            return False
        return run["state"] != "running" or now_ms - known.read_ms < AGAIN_MS

    def _take(self, ident: int, found: _Known) -> None:
        self._asked = None
        before = self._known.pop(ident, None)
        self._known[ident] = found
        while len(self._known) > _KEPT:
            self._known.pop(next(iter(self._known)))
        if before is None or before.lines != found.lines:
            self._came(ident)


def tail(client: Client, run_id: int) -> tuple[str, ...]:
    """The last lines that say something; none where there is no log. Raises what keeps a daemon from answering."""
    try:
        answer = client.log(run_id, offset=-BYTES)
        data = answer.read()
    except NotFound:
        return ()
    whole = int(answer.headers.get("jobctl-log-offset", 0)) == 0
    lines = LogFilter().feed(data, final=True).splitlines()
    return tuple(cell(line) for line in (lines if whole else lines[1:]) if line.strip())
