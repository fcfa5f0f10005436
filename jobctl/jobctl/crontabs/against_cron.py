"""Where jobd's starts would not be those of Debian's cron, line by line, with the reason and the starts. Pure.

Looked at are seven days, and the hours around each clock change of a year. Debian's side is not our schedule but its
own loop, retold (`jobctl.schedule.debian_starts`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Final, Literal

from jobctl.schedule import Cron, debian_fields, debian_starts, local_time
from jobctl.schedule.offsets import stretches_of

from .jobs import Planned
from .report import TableReport, utc
from .table import shown

Kind = Literal["begins", "stops", "zone", "gap", "delay", "time"]

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS
_WEEK_MS: Final = 7 * _DAY_MS
_YEAR_MS: Final = 366 * _DAY_MS
#: Of the week, so many starts: a line that runs each minute is known after an hour. Around a clock change all of them.
_FIRES_MAX: Final = 60
_AROUND_MAX: Final = 2_000
_SHOWN: Final = 3
_ROOT: Final = "root"


@dataclass(frozen=True, slots=True)
class Difference:
    """A line that jobd would start at other times than cron does. `jobd` and `cron` are the first starts that the other
    one has not, in UTC ms; `delay` and `@reboot` have none."""

    table: str
    line: int
    schedule: str
    command: str
    kind: Kind
    reason: str
    jobd: tuple[int, ...] = field(default=())
    cron: tuple[int, ...] = field(default=())


def differences(reports: Iterable[TableReport], now_ms: int, zone: str, *, takes_over: bool) -> list[Difference]:
    """All of them, by table and line. `zone`: the host's, in which cron reads every schedule.

    `takes_over`: cron ends, so that lines of which no job is made stop, and lines that it ignores today begin.
    """
    return [
        found
        for report in reports
        for planned in report.planned
        for found in _of_line(report, planned, now_ms, zone, takes_over)
    ]


def _of_line(
    report: TableReport, planned: Planned, now_ms: int, zone: str, takes_over: bool
) -> Iterator[Difference]:  # fmt: skip
    item, user = planned.item, planned.origin.user_of(planned.item)
    if item.starts_jobd:
        if takes_over and user != _ROOT:
            why = f"at boot it starts the daemon of {shown(user)}, which nothing else would do"
            yield _difference(report, planned, "stops", why, (), ())
        return
    ours, theirs = _jobd(planned, zone), _cron(planned, zone)
    if report.crontab.drops and takes_over:
        if planned.draft is not None:
            why = f"Debian's cron ignores the whole file: {'; '.join(report.crontab.drops)}"
            yield _difference(report, planned, "begins", why, ours.first(now_ms), ())
        return
    if planned.draft is None:
        if takes_over and (item.schedule == "@reboot" or (when := theirs.first(now_ms))):
            lost = () if item.schedule == "@reboot" else when
            yield _difference(report, planned, "stops", shown(planned.problem or ""), (), lost)
        return
    if item.schedule != "@reboot":
        yield from _times(report, planned, now_ms, ours, theirs)
    if item.random_delay:
        why = (
            f"each start is put off by up to {item.random_delay} min (RANDOM_DELAY), which Debian's cron does not know"
        )
        yield _difference(report, planned, "delay", why, (), ())


def _times(
    report: TableReport, planned: Planned, now_ms: int, ours: "_Jobd", theirs: "_Debian"
) -> Iterator[Difference]:  # fmt: skip
    only_ours, only_theirs, several = _compared(ours, theirs, now_ms)
    if only_ours or only_theirs:
        kind: Kind = "zone" if ours.zone != theirs.zone else "time"
        why = f"its times are of {shown(ours.zone)}, and cron takes the host's zone, {theirs.zone}"
        if kind == "time":
            why = "jobd and cron start it at other times"
        yield _difference(report, planned, kind, why, only_ours, only_theirs)
    elif several:
        at, number = several[0]
        when = local_time(at, ours.zone)
        why = f"at {when} the clock has skipped {number} of its times: cron starts it {number} times, jobd once"
        yield _difference(report, planned, "gap", why, (at,), (at,) * number)


@lru_cache(maxsize=4096)
def _compared(
    ours: "_Jobd", theirs: "_Debian", now_ms: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The first starts that only one of them has, and those that cron makes several times. Many lines have one
    schedule, so it is remembered."""
    only_ours: list[int] = []
    only_theirs: list[int] = []
    several: list[tuple[int, int]] = []
    spans = [(now_ms, now_ms + _WEEK_MS, _FIRES_MAX)]
    spans += [(*span, _AROUND_MAX) for span in _around_changes(ours.zone, theirs.zone, now_ms)]
    for after_ms, until_ms, limit in spans:
        jobd, until_ms = ours.starts(max(after_ms, now_ms), until_ms, limit)
        cron = theirs.starts(max(after_ms, now_ms), until_ms)
        only_ours += sorted(at for at in jobd if at not in cron)
        only_theirs += [at for at in cron if at not in jobd]
        several += [(at, number) for at, number in cron.items() if number > 1 and at in jobd]
    return tuple(only_ours[:_SHOWN]), tuple(only_theirs[:_SHOWN]), tuple(several)


@lru_cache(maxsize=64)
def _around_changes(ours: str, theirs: str, now_ms: int) -> tuple[tuple[int, int], ...]:
    """The hours in which a clock change of a year may move a start: as long as the jump, and an hour on both sides."""
    return tuple(
        (stretch.start_ms - around, stretch.start_ms + around)
        for zone in dict.fromkeys((ours, theirs))
        for stretch in stretches_of(zone).changes_between(now_ms, now_ms + _YEAR_MS)
        for around in [abs(stretch.offset_ms - stretch.before_ms) + _HOUR_MS]
    )


def _difference(
    report: TableReport, planned: Planned, kind: Kind, why: str, jobd: tuple[int, ...], cron: tuple[int, ...]
) -> Difference:
    item = planned.item
    return Difference(report.path, item.line, shown(item.schedule), shown(item.command), kind, why, jobd, cron)


def _jobd(planned: Planned, zone: str) -> "_Jobd":
    schedule = (planned.draft or {}).get("schedule", {})
    text = schedule.get("cron")
    zone = schedule.get("timezone", zone)
    return _Jobd(Cron(text, zone) if text else None, zone)


def _cron(planned: Planned, zone: str) -> "_Debian":
    return _Debian(planned.item.schedule, zone)


@dataclass(frozen=True, slots=True)
class _Jobd:
    """Our starts of a line."""

    cron: Cron | None
    zone: str

    def first(self, now_ms: int) -> tuple[int, ...]:
        fires = () if self.cron is None else islice(self.cron.fires(now_ms, now_ms + _YEAR_MS), _SHOWN)
        return tuple(fire.at_ms for fire in fires)

    def starts(self, after_ms: int, until_ms: int, limit: int) -> tuple[frozenset[int], int]:
        """The starts, and up to where they are all: after so many, no more are looked at."""
        fires = [] if self.cron is None else list(islice(self.cron.fires(after_ms, until_ms), limit))
        all_until_ms = fires[-1].at_ms if len(fires) == limit else until_ms
        return frozenset(fire.at_ms for fire in fires), all_until_ms


@dataclass(frozen=True, slots=True)
class _Debian:
    """Debian's starts of a line, also of one that it accepts by accident."""

    schedule: str
    zone: str

    def first(self, now_ms: int) -> tuple[int, ...]:
        for span_ms in (_DAY_MS, _WEEK_MS, _YEAR_MS):
            found = tuple(self.starts(now_ms, now_ms + span_ms))
            if len(found) >= _SHOWN:
                break
        return found[:_SHOWN]

    def starts(self, after_ms: int, until_ms: int) -> dict[int, int]:
        fields = debian_fields(self.schedule)
        if fields is None or fields.reboot:
            return {}
        return debian_starts(fields, self.zone, after_ms, until_ms)


def as_rows(found: Iterable[Difference]) -> list[dict[str, object]]:
    """As the report has them: instants in RFC 3339."""
    return [
        {
            **{name: getattr(one, name) for name in ("table", "line", "schedule", "command", "kind", "reason")},
            "jobd": [utc(at) for at in one.jobd],
            "cron": [utc(at) for at in one.cron],
        }
        for one in found
    ]
