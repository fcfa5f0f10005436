"""What is left of a schedule when some of its occurrences have their rows already."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobctl.schedule import Fire, Schedule

#: From and to, both of them left out; in order and apart.
Ranges = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Without(Schedule):
    """A schedule that passes over ranges of instants."""

    whole: Schedule
    ranges: Ranges

    def next_after(self, t_ms: int) -> Fire | None:
        """The first fire after `t_ms` that no range has."""
        fire = self.whole.next_after(t_ms)
        for from_ms, to_ms in self.ranges:
            if fire is not None and from_ms <= fire.at_ms <= to_ms:
                fire = self.whole.next_after(to_ms)
        return fire


def stretches(after_ms: int, until_ms: int, ranges: Ranges) -> Iterator[tuple[int, int]]:
    """What lies between ranges: (after, until] cut into such pieces."""
    for from_ms, to_ms in ranges:
        if after_ms < min(from_ms - 1, until_ms):
            yield after_ms, min(from_ms - 1, until_ms)
        after_ms = max(after_ms, to_ms)
    if after_ms < until_ms:
        yield after_ms, until_ms
