"""A clock that tests move."""


class ManualClock:
    """Wall and boot time stand still until they are told to move."""

    def __init__(self, now_ms: int = 1_800_000_000_000, boot_ms: int = 1_000_000) -> None:
        self._now_ms = now_ms
        self._boot_ms = boot_ms

    def now_ms(self) -> int:
        return self._now_ms

    def boot_ms(self) -> int:
        return self._boot_ms

    def tick(self, ms: int) -> None:
        """Time passes on both clocks."""
        self._now_ms += ms
        self._boot_ms += ms

    def step(self, ms: int) -> None:
        """Somebody sets the wall clock."""
        self._now_ms += ms
