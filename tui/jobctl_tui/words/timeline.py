"""The hours to come as lanes of cells: which cells a width has room for, what stands over them, and each lane's signs.

A lane is what GET /v1/upcoming counts for a job: fires in each cell.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from math import ceil, log2
from typing import Any, Final, NamedTuple

from jobctl.reading.safe import cell
from jobctl.reading.times import milliseconds, span
from jobctl_tui.words.glyphs import Glyphs

Json = Mapping[str, Any]
Local = Callable[[int], datetime]
"""From ms UTC to the reader's wall clock."""

#: What `+` and `-` step through, in hours.
ZOOMS: Final = (1, 6, 24, 168)
ZOOM_WORDS: Final = {1: "1 h", 6: "6 h", 24: "24 h", 168: "7 d"}
#: Widths of a cell, in minutes: those that a reader can count with. Each divides all longer windows it is used in.
_CELLS: Final = {1: (1, 2, 3, 4, 5, 10), 6: (5, 10, 15, 20, 30, 60), 24: (10, 15, 20, 30, 60, 120, 240),
                 168: (60, 120, 180, 240, 360, 720, 1440)}  # fmt: skip
#: Minutes between two marks of the axis.
_STEPS: Final = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)
_MARK_COLUMNS: Final = 6
_CELLS_MAX: Final = 240
_HOUR: Final = 60
_DAY: Final = 1440
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


class Shape(NamedTuple):
    """Where things stand on a line of some width."""

    name: int
    fires: int
    next: int
    """0: there is no room for it."""
    cells: int

    @property
    def start(self) -> int:
        """The column of the first cell."""
        return 1 + self.name + 1 + self.fires + 1 + (self.next + 1 if self.next else 0)


def shape(width: int, hours: int) -> Shape:
    """As many cells as there is room for, one column each."""
    name, fires, beside = (16, 6, 9) if width >= 100 else (14, 6, 0) if width >= 60 else (10, 5, 0)
    if width < 45:
        name, fires = max(4, width // 4), 0
    made = Shape(name, fires, beside, 0)
    return made._replace(cells=cells_in(max(1, width - made.start - 1), hours))


def cells_in(columns: int, hours: int) -> int:
    """How many cells of a window have room: they are as narrow as a countable width allows."""
    total = hours * _HOUR
    room = min(columns, _CELLS_MAX)
    fitting = [total // minutes for minutes in _CELLS[hours] if total // minutes <= room]
    return fitting[0] if fitting else total // _CELLS[hours][-1]


def cell_words(hours: int, cells: int) -> str:
    """`30 min`, `2 h`: how much a cell is."""
    minutes = hours * _HOUR // cells
    return f"{minutes // _HOUR} h" if minutes % _HOUR == 0 else f"{minutes} min"


def axis(from_ms: int, hours: int, cells: int, local: Local) -> str:
    """The marks over the cells: hours, minutes of a short window, days at midnight."""
    minutes = hours * _HOUR // cells
    step = next((step for step in _STEPS if step // minutes >= _MARK_COLUMNS), _DAY)
    line = [" "] * cells
    free = 0
    for place in range(cells):
        begin_ms = from_ms + place * minutes * 60_000
        at = local(begin_ms)
        later = -(at.hour * _HOUR + at.minute) % step  # minutes until the next multiple of the step
        if place < free or later >= minutes:
            continue
        marks = _marks(local(begin_ms + later * 60_000), step)
        mark = next((mark for mark in marks if place + len(mark) <= cells), "")
        if mark:
            line[place : place + len(mark)] = mark
            free = place + len(mark) + 1
    return "".join(line).rstrip()


def _marks(at: datetime, step: int) -> Iterator[str]:
    """The best first; where it has no room, a shorter one."""
    if at.hour == at.minute == 0 or step >= _DAY:
        yield f"{_DAYS[at.weekday()]} {at.day:02d}"
    if step < _DAY:
        yield f"{at:%H:%M}" if step < _HOUR or at.minute else f"{at:%H}"


# ── lanes ──────────────────────────────────────────────────

Part = tuple[str, str]
"""A text and the name of its style."""


def lane(job: Json, cell_ms: int, glyphs: Glyphs, *, from_ms: int = 0, from_now: bool = True) -> list[Part]:
    """The signs of a job: a bar where it fires in most cells, else a mark as long as its run usually is; another where
    a time is left out. `from_ms`: where the first cell begins; `from_now`: that has now in it, and so what is late."""
    counts: Sequence[int] = job["lane"]
    if job["paused"]:
        return _together((glyphs.paused, "-paused") if count else (glyphs.lane, "-dim") for count in counts)
    signs = [(glyphs.lane, "-dim")] * len(counts)
    often = sum(1 for count in counts if count) * 2 > len(counts)
    runs = ceil(float(job.get("p50") or 0) * 1000 / cell_ms) if not often else 0
    for place, count in enumerate(counts):
        if not count:
            continue
        for later in range(place + 1, min(place + runs, len(counts))):
            if not counts[later]:
                signs[later] = (glyphs.medium, "-running")
        full = runs > 1 and count == 1
        sign = glyphs.eighths[-1] if full else glyphs.tick if count == 1 and not often else level(count, glyphs)
        signs[place] = (sign, "-running")
    for place in _left_out(job, cell_ms, from_ms, len(counts)):
        signs[place] = (glyphs.skipped, "-late")
    if job["late_since"] is not None and signs and from_now:
        signs[0] = (glyphs.late, "-late")
    return _together(signs)


def _left_out(job: Json, cell_ms: int, from_ms: int, cells: int) -> set[int]:
    """The cells in which the first and the last of its times lie that are left out."""
    found = job.get("skips") or {}
    places = ((milliseconds(found[end]) - from_ms) // cell_ms for end in ("first", "last") if end in found)
    return {place for place in places if 0 <= place < cells}


def level(count: int, glyphs: Glyphs) -> str:
    """The same height for the same number in every lane: each twice as many is a step up."""
    return glyphs.levels[min(len(glyphs.levels) - 1, int(log2(count)))]


def heights(numbers: Sequence[float], full: float, glyphs: Glyphs, floor: float = 0) -> str:
    """Each by its place between `floor` and `full`: nothing is nothing, and what is more than full is full."""
    top, room = len(glyphs.levels), full - floor
    return "".join(
        glyphs.lane if number <= 0 or room <= 0 else glyphs.levels[_step((number - floor) / room, top)]
        for number in numbers
    )


def _step(share: float, top: int) -> int:
    return min(top, max(1, ceil(share * top))) - 1


def dense(numbers: Sequence[float], glyphs: Glyphs) -> str:
    """Where more happens than elsewhere. What happens always is taken away where it would make all bars alike: the
    first cell, of which a part has passed, does not count for that."""
    most, least = max(numbers, default=0), min(numbers[1:], default=0)
    return heights(numbers, most, glyphs, least * 0.9 if least * 2 > most else 0)


def _together(signs: Iterator[Part] | Sequence[Part]) -> list[Part]:
    """Neighbours of one style in one part."""
    return [("".join(text for text, _ in group), style) for style, group in groupby(signs, key=lambda part: part[1])]


def fires_words(job: Json, glyphs: Glyphs) -> Part:
    """How often it fires in the window, or why it does not."""
    if job["late_since"] is not None:
        return "LATE", "-late"
    if job["paused"]:
        return "paused", "-paused"
    times = "x" if glyphs.dash == "-" else "×"
    return (f"{short(job['fires'])}{times}", "") if job["fires"] else (glyphs.dash, "-dim")


def short(number: int) -> str:
    """`96`, `1440`, `86k`: at most four characters."""
    for unit, size in (("M", 10**6), ("k", 10**3)):
        if number >= size * 10:
            return f"{number // size}{unit}"
    return str(number)


# ── words about all of it ──────────────────────────────────


def about(more: Json, hours: int, since: str, glyphs: Glyphs, *, narrow: bool) -> str:
    """`next 24 h · 15 jobs fire · 3301 fires`; `since` are the words of a window that was moved."""
    jobs = int(more.get("jobs") or 0)
    parts = [f"{since} +{ZOOM_WORDS[hours]}" if since else f"next {ZOOM_WORDS[hours]}"]
    uncounted = int((more.get("left_out") or {}).get("jobs") or 0)
    if uncounted:
        jobs_in_all = int(more.get("total") or jobs + uncounted)
        return f" {glyphs.dot} ".join([*parts, f"sums without {uncounted} of {jobs_in_all} jobs"])
    if narrow:
        parts += [] if since else [f"{jobs} {'job' if jobs == 1 else 'jobs'}"]
    else:
        parts += [f"{jobs} {'job fires' if jobs == 1 else 'jobs fire'}", f"{more.get('fires') or 0} fires"]
    return f" {glyphs.dot} ".join(parts)


def crowded(more: Json, clock: Callable[[str], str], most: int) -> Iterator[list[Part]]:
    """The fullest minutes, the fullest first, with some names."""
    found = sorted(more.get("crowded") or (), key=lambda one: (-one["count"], one["at"]))[:most]
    for one in found:
        names = ", ".join(map(cell, one["jobs"]))
        rest = f" and {one['count'] - len(one['jobs'])} more" if one["count"] > len(one["jobs"]) else ""
        yield [
            (f"  {clock(one['at'])}", "-key"),
            (f"  {one['count']} start in one minute: ", ""),
            (names + rest, "-dim"),
        ]


def clock_changes(more: Json, clock: Callable[[str], str]) -> Iterator[list[Part]]:
    """Those of the window, or the next one after it."""
    for change in more.get("transitions") or ():
        yield [(f"  {clock(change['at'])}", "-late"), (f"  {_change(change)}", "")]
    later = more.get("next_transition")
    if not more.get("transitions") and later is not None:
        yield [("  no clock change in this window", "-dim"), (f" (next: {_date(later)}, {_change(later)})", "-dim")]


def _change(change: Json) -> str:
    by = float(change["offset_after"]) - float(change["offset_before"])
    how = f"{'+' if by > 0 else '-'}{span(abs(by))}"
    jobs = int(change["jobs"])
    keep = "job keeps" if jobs == 1 else "jobs keep"
    return f"the clock of {cell(change['timezone'])} goes {how}; {jobs} {keep} its time"


def _date(change: Json) -> str:
    return str(change["local"])[:10]


def left_out(more: Json) -> str:
    """What there was no time to count; empty when all is counted."""
    left = more.get("left_out") or {}
    parts = []
    if left.get("jobs"):
        parts.append(f"{left['jobs']} jobs are not counted in the sums")
    if left.get("busy"):
        parts.append(f"{left['busy']} count as taking no time")
    return "; ".join(parts)


def left_out_words(row: Json, clock: Callable[[str], str]) -> str:
    """`left out: 16:39`, `3 left out: 16:39 to 18:39`; empty: nothing of what is to come."""
    found = row.get("skips")
    if not found:
        return ""
    if found["count"] == 1:
        return f"left out: {clock(found['first'])}"
    return f"{found['count']} left out: {clock(found['first'])} to {clock(found['last'])}"


def coming(items: Sequence[Json], clock: Callable[[str], str]) -> str:
    """`then Tue 02:30 CET, Wed 02:30 CET`: the fires after the first."""
    return ", ".join(clock(item["at"]) for item in items)


def usual(took: Json | None, duration: Callable[[float], str]) -> str:
    """`usually 28m (p95 31m, of 30 runs)`; empty when nobody knows."""
    if not took or took.get("p50") is None:
        return ""
    count = int(took["count"])
    p95 = f"p95 {duration(float(took['p95']))}, " if took.get("p95") is not None else ""
    return f"usually {duration(float(took['p50']))} ({p95}of {count} {'run' if count == 1 else 'runs'})"


def ahead(at: str, now_ms: int) -> str:
    """`23h17m`, `now`, `12m ago`: for a narrow column."""
    seconds = (milliseconds(at) - now_ms) / 1000
    return span(seconds) if seconds >= 1 else "now" if seconds > -1 else f"{span(seconds)} ago"
