"""A clock that tests move."""


class ManualClock:
    """Wall, boot and awake time stand still until they are told to move."""

    def __init__(self, now_ms: int = 1_800_000_000_000, boot_ms: int = 1_000_000) -> None:
        self._now_ms = now_ms
        self._boot_ms = boot_ms
        self._asleep_ms = 0

    def now_ms(self) -> int:
        return self._now_ms

    def boot_ms(self) -> int:
        return self._boot_ms

    def awake_ms(self) -> int:
        return self._boot_ms - self._asleep_ms

    def tick(self, ms: int) -> None:
        """Time passes on all clocks."""
        self._now_ms += ms
        self._boot_ms += ms

    def sleep(self, ms: int) -> None:
        """The machine is suspended for so long."""
        self.tick(ms)
        self._asleep_ms += ms

    def step(self, ms: int) -> None:
        """Somebody sets the wall clock."""
        self._now_ms += ms

    def set(self, now_ms: int) -> None:
        """Somebody sets the wall clock to an instant."""
        self._now_ms = now_ms

    def reboot(self, off_ms: int = 0) -> None:
        """The machine was off for so long, and counts from nothing again."""
        self._now_ms += off_ms
        self._boot_ms = 0
        self._asleep_ms = 0
