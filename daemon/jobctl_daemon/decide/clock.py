"""What the wall clock did: told from clocks that never step, and from the last sign of life (docs/decisions/0010).

Wall time and boot time run at one rate, so their difference changes only when somebody sets the clock; boot time and
awake time part only while the machine sleeps. Backward steps make a new generation of occurrences; every other gap is
a reason why occurrences were missed, and goes the one way of a backlog.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from jobctl.states import SkipReason
from jobctl.wire import rfc3339
from jobctl_daemon.rows import ClockStep

#: A clock that is behind by more than this was set back.
BACK_MS: Final = 60_000
#: A larger step back is the correction of a wrong clock (Debian's cron 3.0pl1: 3 hours).
CORRECTION_MS: Final = 3 * 3_600_000
#: A smaller step forward, or a shorter sleep, is none: the three clocks cannot be read at one instant.
NOTICED_MS: Final = 2_000
#: A larger step forward may be a wrong clock, and nothing is thrown away for its age on the word of a young one.
DOUBTED_MS: Final = 86_400_000
DOUBTED_FOR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Reading:
    """The clocks at one moment: wall time, and the time since boot with and without sleep."""

    now_ms: int
    boot_ms: int
    awake_ms: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of wall time in which nothing could start: the reason for what was missed in it, and its words."""

    from_ms: int
    to_ms: int
    reason: SkipReason
    words: str

    @property
    def length_ms(self) -> int:
        return self.to_ms - self.from_ms


def expected_ms(before: Reading, now: Reading) -> int:
    """What the wall clock would show now if nobody had set it since `before`."""
    return before.now_ms + now.boot_ms - before.boot_ms


def slept(before: Reading, now: Reading) -> Gap | None:
    """The machine's sleep between two readings. It is noticed at its end."""
    asleep_ms = (now.boot_ms - before.boot_ms) - (now.awake_ms - before.awake_ms)
    if asleep_ms <= NOTICED_MS:
        return None
    until_ms = expected_ms(before, now)
    return _gap(until_ms - asleep_ms, until_ms, SkipReason.CLOCK, "the machine slept from {} to {}")


def set_forward(before: Reading, now: Reading) -> Gap | None:
    """The wall time that a step forward left out."""
    from_ms = expected_ms(before, now)
    if now.now_ms - from_ms <= NOTICED_MS:
        return None
    return _gap(from_ms, now.now_ms, SkipReason.CLOCK, "the clock was set forward from {} to {}")


def down(seen_ms: int | None, now_ms: int) -> Gap | None:
    """The time between the last sign of life of any daemon and this start."""
    if seen_ms is None or seen_ms >= now_ms:
        return None
    return _gap(seen_ms, now_ms, SkipReason.DOWN, "no daemon ran: last seen at {}, back at {}")


def set_back(seen_ms: int, now_ms: int, last: ClockStep | None, gaps: Iterable[Gap]) -> ClockStep | None:
    """The step when the clock is behind what it has shown by more than a minute.

    Steps that follow each other before the time they took back has come again count together: fixed-time jobs are
    held back for up to three hours of real time, not for three hours at each step. `gaps` are the known ones: a step
    into one, or to where it began, takes it back, and what was made after it belongs to a time that never was.
    """
    if seen_ms - now_ms <= BACK_MS:
        return None
    held_ms = max(seen_ms, last.held_ms) if last is not None and last.held_ms > now_ms else seen_ms
    correction = held_ms - now_ms > CORRECTION_MS
    undoes = any(gap.from_ms - CORRECTION_MS <= now_ms < gap.to_ms <= seen_ms for gap in gaps)
    return ClockStep(
        from_ms=seen_ms, to_ms=now_ms, held_ms=now_ms if correction else held_ms, correction=correction, undoes=undoes
    )


def cause(gaps: Iterable[Gap], from_ms: int, to_ms: int) -> tuple[SkipReason, str]:
    """Why occurrences in [from, to] were missed: the gap with the most of them, else a misfire."""
    shares = [(min(gap.to_ms, to_ms) - max(gap.from_ms, from_ms), gap) for gap in gaps]
    share_ms, widest = max(shares, key=lambda found: found[0], default=(-1, None))
    if widest is None or share_ms < 0:
        return SkipReason.MISFIRE, "nothing could start it in time"
    return widest.reason, widest.words


def leapt(gaps: Iterable[Gap], from_ms: int, to_ms: int) -> bool:
    """Whether a gap touches [from, to]: its times were not lived one after another."""
    return any(gap.from_ms <= to_ms and gap.to_ms >= from_ms for gap in gaps)


def age_judged_at_ms(now: Reading, doubted: Gap | None, noticed_boot_ms: int) -> int:
    """The wall time by which things are old: not that of a clock which has just leapt by more than a day.

    Until it has stood for an hour, it is the time from before the leap, and what has passed since.
    """
    since_ms = now.boot_ms - noticed_boot_ms
    if doubted is None or doubted.length_ms <= DOUBTED_MS or since_ms >= DOUBTED_FOR_MS:
        return now.now_ms
    return min(now.now_ms, doubted.from_ms + since_ms)


def _gap(from_ms: int, to_ms: int, reason: SkipReason, words: str) -> Gap:
    return Gap(from_ms, to_ms, reason, words.format(_second(from_ms), _second(to_ms)))


def _second(at_ms: int) -> str:
    return rfc3339(at_ms // 1000 * 1000)
