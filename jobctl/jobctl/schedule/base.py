"""What every schedule can answer; subclasses say only when they fire next, and count faster where they can."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from .fire import Count, Fire

_FIRST_WINDOW_MS = 2 * 60_000
_WINDOW_GROWTH = 8


class Schedule(ABC):
    """A frozen value that tells its fires. All instants are UTC milliseconds since the epoch."""

    __slots__ = ()

    @abstractmethod
    def next_after(self, t_ms: int) -> Fire | None:
        """The first fire strictly after `t_ms`, or None if there is none. Never raises; bounded work."""

    def _next(self, t_ms: int) -> Fire | None:
        """As `next_after`, for sweeps that must not fill a memo with instants nobody asks for again."""
        return self.next_after(t_ms)

    def fires(self, after_ms: int, until_ms: int | None = None) -> Iterator[Fire]:
        """The fires after `after_ms`, up to and including `until_ms`; without it, as long as there are any."""
        fire = self._next(after_ms)
        while fire is not None and (until_ms is None or fire.at_ms <= until_ms):
            yield fire
            fire = self._next(fire.at_ms)

    def latest_at_or_before(self, t_ms: int, after_ms: int) -> Fire | None:
        """The last fire in (`after_ms`, `t_ms`], or None.

        Bisects on `next_after`, so years of missed minutes cost a few dozen steps.
        """
        low, best = self._window_with_a_fire(t_ms, after_ms)
        if best is None:
            return None
        high = t_ms
        while low < high:
            middle = (low + high) // 2
            fire = self._next(middle)
            if fire is None or fire.at_ms > t_ms:
                high = middle
            else:
                best = fire
                low = max(fire.at_ms, middle + 1)
        return best

    def _window_with_a_fire(self, t_ms: int, after_ms: int) -> tuple[int, Fire | None]:
        window_ms = _FIRST_WINDOW_MS
        while after_ms < t_ms:
            start_ms = max(after_ms, t_ms - window_ms)
            fire = self._next(start_ms)
            if fire is not None and fire.at_ms <= t_ms:
                return fire.at_ms, fire
            if start_ms == after_ms:
                break
            window_ms *= _WINDOW_GROWTH
        return t_ms, None

    def count(self, after_ms: int, until_ms: int, limit: int = 1_000_000) -> Count:
        """How many fires lie in (`after_ms`, `until_ms`], exact up to `limit`; beyond it a lower bound."""
        number = 0
        for _ in self.fires(after_ms, until_ms):
            if number >= limit:
                return Count(limit, exact=False)
            number += 1
        return Count(number)
