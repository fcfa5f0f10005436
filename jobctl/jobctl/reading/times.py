"""Times and durations as people read them: relative, and absolute with the zone's name.

Absolute times are of the viewer's zone: `TZ`, else the host's. `--utc` shows UTC.
"""

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LONG: Final = 48 * _HOUR
_YEAR: Final = 365 * _DAY
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: How an instant is written.
Clock = Callable[[str], str]


def moment(text: str) -> datetime:
    """An instant of the API."""
    return datetime.fromisoformat(text)


def milliseconds(text: str) -> int:
    return round(moment(text).timestamp() * 1000)


def rfc3339(at_ms: int) -> str:
    """As `jobctl.wire.rfc3339`, without importing msgspec."""
    text = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=at_ms)
    return text.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds").replace("+00:00", "Z")


def span(seconds: float) -> str:
    """`19s`, `2m19s`, `23h47m`, `6d22h`, `6y330d`: two units at most, whole seconds."""
    whole = int(abs(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    if whole < _LONG:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    if whole >= 2 * _YEAR:
        return f"{whole // _YEAR}y{whole % _YEAR // _DAY}d"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02d}h"


def took(seconds: float) -> str:
    """How long something ran: `12ms` below a second, `1.4s` below ten, else as `span`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    return f"{seconds:.1f}s" if seconds < 10 else span(seconds)


def duration(seconds: float) -> str:
    """A duration as it may be written: `5m`, `90s`, `24h`, `1h30m5s`, exactly and without units that are zero."""
    whole, rest_ms = divmod(round(seconds * 1000), 1000)
    if rest_ms == 0 and whole < 2 * _MINUTE and whole % _MINUTE:
        return f"{whole}s"
    if rest_ms == 0 and 0 < whole <= _LONG and whole % _HOUR == 0:
        return f"{whole // _HOUR}h"
    parts = []
    for unit, size in (("d", _DAY), ("h", _HOUR), ("m", _MINUTE), ("s", 1)):
        number, whole = divmod(whole, size)
        if number:
            parts.append(f"{number}{unit}")
    if rest_ms:
        parts.append(f"{rest_ms}ms")
    return "".join(parts) or "0s"


class Viewer:
    """Times as one reader sees them: now, and in which zone; without one that of the process."""

    def __init__(self, now_ms: int, *, zone: tzinfo | None = None) -> None:
        self.now_ms = now_ms
        self._zone = zone

    def ago(self, text: str) -> str:
        """`in 2m19s` or `12m03s ago`."""
        seconds = (milliseconds(text) - self.now_ms) / 1000
        return f"in {span(seconds)}" if seconds >= 0 else f"{span(seconds)} ago"

    def clock(self, text: str, *, exact: bool = False) -> str:
        """`03:00 CET`, with the weekday within a week, else the date, with the year when it is another.

        Seconds where there are some, or where it is to be `exact`.
        """
        at, now = self._local(milliseconds(text)), self._local(self.now_ms)
        seconds = f":{at.second:02d}" if at.second or exact else ""
        hour = f"{at:%H:%M}{seconds} {at.tzname()}"
        days = abs((at.date() - now.date()).days)
        if days == 0:
            return hour
        if days < 7:
            return f"{_DAYS[at.weekday()]} {hour}"
        year = f" {at.year}" if at.year != now.year else ""
        return f"{at.day:02d} {_MONTHS[at.month - 1]}{year} {hour}"

    def alike(self, column: Iterable[str | None]) -> Clock:
        """`clock` for a column of a table: when one of its times has seconds, all of them do."""
        exact = any(text is not None and milliseconds(text) // 1000 % _MINUTE for text in column)
        return lambda text: self.clock(text, exact=exact)

    def full(self, text: str) -> str:
        """`Mon 30 Nov 2026 03:00:00 CET`."""
        return _full(self._local(milliseconds(text)))

    def both(self, text: str, clock: Clock | None = None) -> str:
        """`Mon 03:00 CET, in 23h47m`; as `clock` writes it where others stand beside it."""
        return f"{(clock or self.clock)(text)}, {self.ago(text)}"

    def moment(self, at_ms: int) -> datetime:
        """On the reader's wall clock."""
        return self._local(at_ms)

    def _local(self, at_ms: int) -> datetime:
        if self._zone is not None:
            return datetime.fromtimestamp(at_ms // 1000, self._zone)
        local = time.localtime(at_ms // 1000)
        zone = timezone(timedelta(seconds=local.tm_gmtoff), local.tm_zone)
        return datetime.fromtimestamp(at_ms // 1000, zone)


def no_time(words: str) -> str:
    """When a schedule without a known time starts its job, by the schedule's words."""
    known = {"on boot": "at the next boot of the host", "when the daemon starts": "each time the daemon starts",
             "by hand": "by hand only"}  # fmt: skip
    if words in known:
        return known[words]
    after, _, end = words.removeprefix("after ").rpartition(" ")
    if words.startswith("after ") and end in ("succeeds", "fails", "ends"):
        return f"when a run of {after} {end}"
    return "never: its time has passed" if words.startswith("once ") else "never: this date never comes"


def of_fire(item: dict[str, object]) -> str:
    """A fire of a preview in its own zone: `Mon 30 Nov 2026 03:00:00 CET`."""
    at = moment(str(item["local"]))
    return f"{_full(at).rsplit(' ', 1)[0]} {item.get('zone') or at.tzname()}"


def short_fire(item: dict[str, object]) -> str:
    """As `of_fire`, for where there is no room: `30 Nov 2026 03:00 CET`."""
    at = moment(str(item["local"]))
    return f"{at.day:02d} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M} {item.get('zone') or at.tzname()}"


def _full(at: datetime) -> str:
    return f"{_DAYS[at.weekday()]} {at.day:02d} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M:%S} {at.tzname()}"
