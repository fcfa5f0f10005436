"""The daemon watches itself: beats of the services, their last error, and start lag (start − due).

Start lag is kept in buckets of a power of two, so that a long-lived daemon needs no more memory than a young one.
"""

from dataclasses import dataclass, field

from jobctl.clock import Clock

_BUCKETS = 24
#: A service that has been inside one pass for so long is stalled.
STALLED_MS = 30_000
#: Ready is refused, and `status --check` fails, when the oldest due run is older.
OLDEST_DUE_MS = 60_000


@dataclass(slots=True)
class Beat:
    """One service: how many passes it made, when the last began and ended (boot time, ms), and what went wrong."""

    beats: int = 0
    began_ms: int | None = None
    ended_ms: int | None = None
    error: str | None = None


@dataclass(slots=True)
class StartLag:
    """A histogram of start lag. Bucket n holds lags below 2**n ms."""

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
        self.start_lag = StartLag()
        self.warnings: dict[str, str] = {}
        """By topic, so that a repeated trouble is one line and a mended one goes."""

    def register(self, name: str) -> Beat:
        return self.services.setdefault(name, Beat())

    def begin(self, beat: Beat) -> None:
        beat.began_ms = self._clock.boot_ms()
        beat.ended_ms = None

    def end(self, beat: Beat, error: str | None = None) -> None:
        beat.beats += 1
        beat.ended_ms = self._clock.boot_ms()
        beat.error = error

    def stalled(self) -> list[str]:
        """Services inside one pass for too long."""
        now_ms = self._clock.boot_ms()
        return [
            name
            for name, beat in self.services.items()
            if beat.began_ms is not None and beat.ended_ms is None and now_ms - beat.began_ms > STALLED_MS
        ]
