"""When starts that could not be made are tried again: no process to be had, no room for a log, no runner.

The delay grows by the round, not by the run: a hundred starts refused at once are one sign of one lack. It is measured
in real time, whatever the wall clock does meanwhile.
"""

import structlog

from jobctl.clock import Clock
from jobctl_daemon.health import Health

_DELAY_MS_MIN = 1_000
_DELAY_MS_MAX = 30_000
_TOPIC = "starts"


class StartAgain:
    """Shared by those who give claims back."""

    def __init__(self, health: Health, clock: Clock) -> None:
        self._health = health
        self._clock = clock
        self._delay_ms = 0
        self._until_boot_ms = 0

    def refused(self, count: int, why: str) -> int:
        """The wall instant at which the refused starts are due again: never before the round is over."""
        boot_ms = self._clock.boot_ms()
        if boot_ms >= self._until_boot_ms:
            self._delay_ms = min(max(self._delay_ms * 2, _DELAY_MS_MIN), _DELAY_MS_MAX)
            self._until_boot_ms = boot_ms + self._delay_ms
            structlog.get_logger().warning("runs.start_refused", count=count, why=why, again_ms=self._delay_ms)
        self._health.warnings[_TOPIC] = f"commands cannot be started now: {why}"
        return self._clock.now_ms() + self._until_boot_ms - boot_ms

    def started(self) -> None:
        """A start went well; after the round of refusals that means that the lack is over."""
        if self._delay_ms and self._clock.boot_ms() >= self._until_boot_ms:
            self._delay_ms = 0
            self._health.warnings.pop(_TOPIC, None)
