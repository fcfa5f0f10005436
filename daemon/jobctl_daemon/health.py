"""The daemon watches itself: beats of the services, their last error, and start lag (start − due).

A beat is judged when somebody looks, never by a timer: an idle daemon neither wakes up nor writes to prove that it
lives. What counts is whether there is work, and how long it has been waiting.

Lag is kept in buckets of a power of two, so that a long-lived daemon needs no more memory than a young one.
"""

from dataclasses import dataclass, field

from jobctl.clock import Clock
from jobctl_daemon.files import FileState

_BUCKETS = 24
#: A service that has been inside one pass for so long, or has left work lying for so long, is stalled.
STALLED_MS = 30_000
#: Ready is refused, and `status --check` fails, when the oldest due run is older.
OLDEST_DUE_MS = 60_000


@dataclass(slots=True)
class Beat:
    """One service: how many passes it made, what waits for it, what went wrong. Boot time in ms, but for `due_ms`."""

    beats: int = 0
    began_ms: int | None = None
    ended_ms: int | None = None
    """None while it is inside a pass."""
    woken_ms: int | None = None
    """Since when it has been woken for a pass that has not begun."""
    due_ms: int | None = None
    """The wall time at which it wanted to be called."""
    error: str | None = None
    failures: int = 0
    """Passes in a row that failed."""
    failing_ms: int | None = None
    """When the first of them did."""


@dataclass(slots=True)
class Lag:
    """A histogram of how late things were. Bucket n holds lags below 2**n ms."""

    count: int = 0
    max_ms: int = 0
    buckets: list[int] = field(default_factory=lambda: [0] * _BUCKETS)

    def add(self, lag_ms: int) -> None:
        lag_ms = max(0, lag_ms)
        self.count += 1
        self.max_ms = max(self.max_ms, lag_ms)
        self.buckets[min(lag_ms.bit_length(), _BUCKETS - 1)] += 1

    def quantile_ms(self, share: float) -> int:
        """An upper bound of the quantile: the edge of its bucket, never above the largest lag seen."""
        left = share * self.count
        for power, count in enumerate(self.buckets):
            left -= count
            if left <= 0:
                return min((1 << power) - 1, self.max_ms)
        return self.max_ms


class Health:
    """What the services tell, and what `status`, the health routes and the watchdog read."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.services: dict[str, Beat] = {}
        self.start_lag = Lag()
        self.warnings: dict[str, str] = {}
        """By topic, so that a repeated trouble is one line and a mended one goes."""
        self.tables: dict[str, FileState] = {}
        """The files that declare jobs, by path."""
        self.polling: dict[str, str] = {}
        """What is followed by looking only, and why."""

    def register(self, name: str) -> Beat:
        return self.services.setdefault(name, Beat())

    def woken(self, beat: Beat) -> None:
        """There is work for it from now on."""
        if beat.woken_ms is None:
            beat.woken_ms = self._clock.boot_ms()

    def begin(self, beat: Beat) -> None:
        beat.began_ms = self._clock.boot_ms()
        beat.ended_ms = beat.woken_ms = beat.due_ms = None

    def end(self, beat: Beat, error: str | None = None) -> None:
        """A pass has ended, or the service as a whole, well or with an error."""
        now_ms = self._clock.boot_ms()
        beat.beats += 1
        beat.ended_ms = now_ms
        beat.error = error
        beat.failures = beat.failures + 1 if error is not None else 0
        beat.failing_ms = None if error is None else beat.failing_ms or now_ms

    def stalled(self) -> dict[str, str]:
        """Service → what it has not done for too long."""
        found = ((name, self._stall(beat)) for name, beat in self.services.items())
        return {name: words for name, words in found if words is not None}

    def _stall(self, beat: Beat) -> str | None:
        boot_ms = self._clock.boot_ms()
        if beat.began_ms is not None and beat.ended_ms is None:
            return _too_long("has been inside one pass for", boot_ms - beat.began_ms)
        if beat.woken_ms is not None:
            return _too_long("was woken and has not begun for", boot_ms - beat.woken_ms)
        if beat.due_ms is not None:
            return _too_long("was due and has not begun for", self._clock.now_ms() - beat.due_ms)
        return None


def _too_long(words: str, ms: int) -> str | None:
    return f"{words} {ms // 1000} s" if ms > STALLED_MS else None
