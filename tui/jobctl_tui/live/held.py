"""Rows that keep their places while somebody chooses among them, and for a while after each key."""

from jobctl.clock import Clock


class Held:
    """Of a window. Times are those of `Clock.awake_ms`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held = False
        self._held_until_ms = 0

    def _look(self) -> None:
        """Reads or takes over what is due by now."""
        raise NotImplementedError

    @property
    def hold(self) -> bool:
        """The order stays as it is: somebody is about to do something with what he sees."""
        return self._held or self._clock.awake_ms() < self._held_until_ms

    @hold.setter
    def hold(self, held: bool) -> None:
        self._held = held
        self._look()

    def hold_for(self, held_ms: int) -> None:
        """A key was pressed."""
        self._held_until_ms = max(self._held_until_ms, self._clock.awake_ms() + held_ms)
