"""What the next hours hold: for each job a lane of cells with how often it fires in each, and what all lanes come to.

Pure. Instants are ms UTC. A schedule that fires often is counted cell by cell, one that fires seldom instant by
instant: so a job of every second costs no more than one of every hour.
"""

from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Final, NamedTuple

from jobctl.errors import InvalidInput
from jobctl.schedule import Cron, Every, Schedule
from jobctl.schedule.offsets import Stretch, stretches_of
from jobctl_daemon.decide.due import jitter_ms
from jobctl_daemon.rows import Foreseen
from jobctl_daemon.schedules import schedule_of

#: One that fires more often within the window crowds every minute alike, and tells nothing of any of them.
_SELDOM: Final = 300
_MINUTE_MS: Final = 60_000
_NAMED: Final = 5
#: Lanes that are remembered, for the jobs that have the same, and those that wait to be summed up.
_KNOWN: Final = 4096
_ALIKE: Final = 1024
_CROWDED: Final = 10
_YEAR_MS: Final = 366 * 86_400_000


class Window(NamedTuple):
    """From the beginning of the first cell to the end of the last; what lies at or before `begin_ms` is in none: it is
    past, or comes before the window."""

    from_ms: int
    cell_ms: int
    cells: int
    begin_ms: int
    now_ms: int

    @property
    def until_ms(self) -> int:
        return self.from_ms + self.cell_ms * self.cells


def window(now_ms: int, hours: int, cells: int, since_ms: int | None = None) -> Window:
    """So many cells over so many hours, the first of which has now in it, or a later instant; they begin at whole
    multiples of their width, so that a half-hour's is the half-hour of the clock."""
    cell_ms = hours * 3_600_000 // cells
    first_ms = max(now_ms, since_ms or 0)
    from_ms = first_ms // cell_ms * cell_ms
    return Window(from_ms, cell_ms, cells, max(now_ms, from_ms - 1), now_ms)


class Lane(NamedTuple):
    """How often a job fires in each cell; `instants` are all of them when they are few, else none."""

    counts: tuple[int, ...]
    instants: tuple[int, ...]

    @property
    def fires(self) -> int:
        return sum(self.counts)


class Lanes:
    """The lanes of many jobs within one window: many jobs have few texts, and each is worked out once."""

    def __init__(self, over: Window) -> None:
        self._over = over
        self._known: dict[Cron, Lane] = {}

    def of(self, job: Foreseen) -> Lane:
        """Of one job; of one that a pause holds as it would fire. A schedule that cannot be read here has none."""
        try:
            schedule = schedule_of(job.schedule)
        except InvalidInput:
            return _empty(self._over)
        after_ms = max(self._over.begin_ms, job.handled_ms, job.skip_until_ms or 0)
        later_ms = jitter_ms(job.job_uid, job.schedule.jitter_ms)
        if not isinstance(schedule, Cron) or later_ms or after_ms != self._over.begin_ms:
            return _lane(schedule, self._over, after_ms, later_ms)
        known = self._known.get(schedule)
        if known is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            known = self._known[schedule] = _lane(schedule, self._over, after_ms, 0)
        return known


def _lane(schedule: Schedule, over: Window, after_ms: int, later_ms: int) -> Lane:
    """`later_ms`: by how much each run is due after its instant."""
    instants = _instants(schedule, after_ms, over.until_ms - 1)
    if instants is None:
        return Lane(_counted(schedule, over, after_ms), ())
    if later_ms:
        instants = tuple(at_ms + later_ms for at_ms in instants)
    counts = [0] * over.cells
    for at_ms in instants:
        counts[min((at_ms - over.from_ms) // over.cell_ms, over.cells - 1)] += 1
    return Lane(tuple(counts), instants)


def _instants(schedule: Schedule, after_ms: int, until_ms: int) -> tuple[int, ...] | None:
    """All of them; None when they are not few."""
    if isinstance(schedule, Every):
        times = range(schedule.next_after(after_ms).at_ms, until_ms + 1, schedule.interval_ms)
        return tuple(times) if len(times) <= _SELDOM else None
    found = tuple(fire.at_ms for fire in islice(schedule.fires(after_ms, until_ms), _SELDOM + 1))
    return found if len(found) <= _SELDOM else None


def _counted(schedule: Schedule, over: Window, after_ms: int) -> tuple[int, ...]:
    edges = [over.from_ms + over.cell_ms * number - 1 for number in range(over.cells + 1)]
    if isinstance(schedule, Every):
        passed = [(max(edge, after_ms) - schedule.anchor_ms) // schedule.interval_ms for edge in edges]
        return tuple(end - begin for begin, end in pairwise(passed))
    return tuple(
        schedule.count(max(begin, after_ms), end).number if end > after_ms else 0 for begin, end in pairwise(edges)
    )


def _empty(over: Window) -> Lane:
    return Lane((0,) * over.cells, ())


class Crowd(NamedTuple):
    """A minute in which several jobs fire, and some of their names."""

    at_ms: int
    fires: int
    jobs: tuple[str, ...]


class Change(NamedTuple):
    """A zone's clock is set, and how many of the jobs that were counted keep its time."""

    at_ms: int
    timezone: str
    before_ms: int
    after_ms: int
    jobs: int

    @property
    def kind(self) -> str:
        return "gap" if self.after_ms > self.before_ms else "overlap"


@dataclass(slots=True)
class _Minute:
    count: int = 0
    jobs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Alike:
    """Jobs that have one lane."""

    lane: Lane
    jobs: int = 0
    names: list[str] = field(default_factory=list)


class Sum:
    """What the lanes of all jobs add up to. Jobs that a pause holds are in their order, and in no sum."""

    def __init__(self, over: Window) -> None:
        self.over = over
        self.density = [0] * over.cells
        self.busy_ms = [0.0] * over.cells
        self.jobs = 0
        self._minutes: dict[int, _Minute] = {}
        self._zones: dict[str, int] = {}
        self._alike: dict[int, _Alike] = {}

    @property
    def fires(self) -> int:
        return sum(self.density)

    def add(self, job: Foreseen, of: Lane, usual_ms: int | None) -> None:
        """One job more; `usual_ms` is how long its runs usually take, when that is known."""
        if job.schedule.cron is not None:
            self._zones[job.schedule.timezone] = self._zones.get(job.schedule.timezone, 0) + 1
        alike = self._alike.get(id(of))
        if alike is None:
            if len(self._alike) >= _ALIKE:
                self.settle()
            alike = self._alike[id(of)] = _Alike(of)
        alike.jobs += 1
        if len(alike.names) < _NAMED:
            alike.names.append(job.name)
        if usual_ms:
            self._occupy(of, usual_ms, alone=job.alone)

    def settle(self) -> None:
        """What was added is counted. Until then lanes that are one are only numbered."""
        for alike in self._alike.values():
            fires = alike.lane.fires
            if not fires:
                continue
            self.jobs += alike.jobs
            self.density = [
                before + count * alike.jobs for before, count in zip(self.density, alike.lane.counts, strict=True)
            ]
            for at_ms in alike.lane.instants:
                self._crowd(at_ms, alike)
        self._alike.clear()

    def busy(self) -> list[float]:
        """How many runs are under way in each cell, on average, when all take as long as usual."""
        return [round(took / self.over.cell_ms, 2) for took in self.busy_ms]

    def crowded(self) -> list[Crowd]:
        """The fullest minutes, in order of time; a minute of one job is none."""
        full = [
            Crowd(minute * _MINUTE_MS, one.count, tuple(one.jobs))
            for minute, one in self._minutes.items()
            if one.count > 1
        ]
        fullest = sorted(full, key=lambda crowd: (-crowd.fires, crowd.at_ms))[:_CROWDED]
        return sorted(fullest)

    def changes(self) -> tuple[list[Change], Change | None]:
        """The clock changes of the window, and the first after it within a year, of zones that jobs keep."""
        over = self.over
        found = sorted(
            Change(change.start_ms, zone, change.before_ms, change.offset_ms, jobs)
            for zone, jobs in self._zones.items()
            for change in _zone_changes(zone, over.begin_ms)
        )
        within = [change for change in found if change.at_ms <= over.until_ms]
        return within, next((change for change in found if change.at_ms > over.until_ms), None)

    def _crowd(self, at_ms: int, alike: "_Alike") -> None:
        minute = self._minutes.setdefault(at_ms // _MINUTE_MS, _Minute())
        minute.count += alike.jobs
        for name in alike.names[: _NAMED - len(minute.jobs)]:
            if name not in minute.jobs:
                minute.jobs.append(name)

    def _occupy(self, of: Lane, usual_ms: int, *, alone: bool) -> None:
        """Runs that begin in a cell go on in the next ones, as far as they usually take and the window goes. `alone`:
        of this job never two run at once."""
        cell_ms = self.over.cell_ms
        taken = [0.0] * self.over.cells
        for begins, count in enumerate(of.counts):
            left_ms, number = usual_ms if count else 0, begins
            while left_ms > 0 and number < self.over.cells:
                taken[number] += min(left_ms, cell_ms) * count
                left_ms -= cell_ms
                number += 1
        self.busy_ms = [
            before + (min(took, cell_ms) if alone else took) for before, took in zip(self.busy_ms, taken, strict=True)
        ]


def _zone_changes(zone: str, now_ms: int) -> list[Stretch]:
    try:
        return stretches_of(zone).changes_between(now_ms, now_ms + _YEAR_MS)
    except InvalidInput:  # a zone that this host does not know
        return []
