"""What a schedule will do: its next fires, the clock changes of the next twelve months, and what looks odd."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from jobctl.errors import InvalidInput

from .base import Schedule
from .cron import Cron
from .fire import Fire
from .local import LocalFire, local_fire, local_time
from .offsets import DAY_MS, Stretch, Stretches, stretches_of
from .warn import warnings_of
from .words import describe

MAX_FIRES = 1000
_YEAR_MS = 366 * DAY_MS
_MAX_PER_DAY = 48
_MAX_SWALLOWED = 12


@dataclass(frozen=True, slots=True)
class Transition:
    """A clock change and what the schedule does around it.

    `swallowed` are wall times (`02:30`) of the schedule that the gap skips, `repeated` those that occur twice;
    at most 12 each. `fires` are those of the local day (at most 48, `fires_that_day` counts them all).
    """

    at_ms: int
    local: str
    kind: Literal["gap", "overlap"]
    old_offset_ms: int
    new_offset_ms: int
    fires: tuple[LocalFire, ...]
    fires_that_day: int
    swallowed: tuple[str, ...]
    repeated: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class Preview:
    """A schedule in words, its next fires in local time, its clock changes and its warnings."""

    words: str
    zone: str
    fires: tuple[LocalFire, ...]
    transitions: tuple[Transition, ...]
    warnings: tuple[str, ...]


def preview(
    schedule: Schedule, now_ms: int, *, n: int = 5, until_ms: int | None = None, tz: str | None = None
) -> Preview:
    """The next `n` fires after `now_ms` (no later than `until_ms`), and the clock changes of twelve months.

    Times are shown in the zone of a cron schedule, otherwise in `tz` (UTC when not given). Intervals and single
    instants are untouched by clock changes, so they have no transitions. Raises `InvalidInput` for an `n` beyond
    1,000 and for an unknown zone.
    """
    if not 0 <= n <= MAX_FIRES:
        raise InvalidInput(f"{n} fires cannot be shown", f"Ask for 0 to {MAX_FIRES}.", field="n")
    zone = schedule.tz if isinstance(schedule, Cron) else tz or "UTC"
    stretches = stretches_of(zone)
    transitions: tuple[Transition, ...] = ()
    if isinstance(schedule, Cron):
        changes = stretches.changes_between(now_ms, now_ms + _YEAR_MS)
        transitions = tuple(_transition(schedule, stretches, change) for change in changes)
    fires = islice(schedule.fires(now_ms, until_ms), n)
    return Preview(
        words=describe(schedule),
        zone=zone,
        fires=tuple(local_fire(fire, zone) for fire in fires),
        transitions=transitions,
        warnings=(*warnings_of(schedule), *_gap_warnings(schedule, transitions)),
    )


def _transition(cron: Cron, stretches: Stretches, change: Stretch) -> Transition:
    old_wall_ms, new_wall_ms = change.start_ms + change.before_ms, change.start_ms + change.offset_ms
    forward = new_wall_ms > old_wall_ms
    affected = [_clock(wall) for wall in cron.nominal_walls(*sorted((old_wall_ms, new_wall_ms)))]
    from_ms, to_ms = _local_day(stretches, change)
    at_change = next(cron.fires(change.start_ms - 1, change.start_ms), None)
    second_pass = any(cron.fires(change.start_ms - 1, change.start_ms + old_wall_ms - new_wall_ms - 1))
    first_pass = any(cron.fires(change.start_ms - old_wall_ms + new_wall_ms - 1, change.start_ms - 1))
    if forward:
        words = _gap_words(affected, at_change, _clock(new_wall_ms))
    else:
        words = _overlap_words(affected, first_pass, second_pass)
    return Transition(
        at_ms=change.start_ms,
        local=local_time(change.start_ms, cron.tz),
        kind="gap" if forward else "overlap",
        old_offset_ms=change.before_ms,
        new_offset_ms=change.offset_ms,
        fires=tuple(local_fire(fire, cron.tz) for fire in islice(cron.fires(from_ms, to_ms), _MAX_PER_DAY)),
        fires_that_day=cron.count(from_ms, to_ms).number,
        swallowed=tuple(affected[:_MAX_SWALLOWED]) if forward else (),
        repeated=() if forward else tuple(affected[:_MAX_SWALLOWED]),
        words=words,
    )


def _local_day(stretches: Stretches, change: Stretch) -> tuple[int, int]:
    """The day of the change: exclusive start and inclusive end, in instants."""
    midnight_ms = (change.start_ms + change.offset_ms) // DAY_MS * DAY_MS
    return stretches.instant_of(midnight_ms) - 1, stretches.instant_of(midnight_ms + DAY_MS) - 1


def _clock(wall_ms: int) -> str:
    minute = wall_ms % DAY_MS // 60_000
    return f"{minute // 60:02}:{minute % 60:02}"


def _listed(times: list[str]) -> str:
    more = len(times) - _MAX_SWALLOWED
    return ", ".join(times[:_MAX_SWALLOWED]) + (f" and {more} more" if more > 0 else "")


def _gap_words(swallowed: list[str], at_change: Fire | None, end: str) -> str:
    if not swallowed:
        return "no run is affected"
    does_not_exist = f"{_listed(swallowed)} {'does' if len(swallowed) == 1 else 'do'} not exist"
    if at_change is None or at_change.note != "gap":
        return f"{does_not_exist} and {'does' if len(swallowed) == 1 else 'do'} not run"
    once = "runs" if at_change.coalesced == 0 else "one run stands for all"
    return f"{does_not_exist}: {once} at {end}, the end of the gap"


def _overlap_words(repeated: list[str], first_pass: bool, second_pass: bool) -> str:
    if not repeated:
        return "no run is affected"
    twice = f"{_listed(repeated)} {'occurs' if len(repeated) == 1 else 'occur'} twice"
    if first_pass and second_pass:
        return f"{twice} and both passes run"
    return f"{twice}: only the {'first' if first_pass else 'second'} pass runs"


def _gap_warnings(schedule: Schedule, transitions: tuple[Transition, ...]) -> Iterator[str]:
    """Gaps that move fixed times or leave a day without any run; a `*/15` that loses an hour is no surprise."""
    wildcard = isinstance(schedule, Cron) and schedule.fields.wildcard
    for transition in transitions:
        if transition.swallowed and not (wildcard and transition.fires_that_day):
            yield f"on {transition.local[:10]} the clock goes forward: {transition.words}"
