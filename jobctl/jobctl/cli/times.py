"""Times and durations as people read them: relative, and absolute with the zone's name.

Absolute times are of the viewer's zone: `TZ`, else the host's. `--utc` shows UTC.
"""

import time
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_LONG: Final = 48 * _HOUR
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


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
    """`19s`, `2m19s`, `23h47m`, `6d22h`: two units at most, whole seconds."""
    whole = int(abs(seconds))
    if whole < _MINUTE:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m{whole % _MINUTE:02d}s"
    if whole < _LONG:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02d}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR:02d}h"


def took(seconds: float) -> str:
    """How long something ran: `0.4s` below ten seconds, else as `span`."""
    return f"{seconds:.1f}s" if seconds < 10 else span(seconds)


class Viewer:
    """Times as one reader sees them: now, and in which zone; without one that of the process."""

    def __init__(self, now_ms: int, *, zone: tzinfo | None = None) -> None:
        self.now_ms = now_ms
        self._zone = zone

    def ago(self, text: str) -> str:
        """`in 2m19s` or `12m03s ago`."""
        seconds = (milliseconds(text) - self.now_ms) / 1000
        return f"in {span(seconds)}" if seconds >= 0 else f"{span(seconds)} ago"

    def clock(self, text: str) -> str:
        """`03:00 CET`, with the weekday within a week, else the date, with the year when it is another."""
        at, now = self._local(milliseconds(text)), self._local(self.now_ms)
        seconds = f":{at.second:02d}" if at.second else ""
        hour = f"{at:%H:%M}{seconds} {at.tzname()}"
        days = abs((at.date() - now.date()).days)
        if days == 0:
            return hour
        if days < 7:
            return f"{_DAYS[at.weekday()]} {hour}"
        year = f" {at.year}" if at.year != now.year else ""
        return f"{at.day:02d} {_MONTHS[at.month - 1]}{year} {hour}"

    def full(self, text: str) -> str:
        """`Mon 30 Nov 2026 03:00:00 CET`."""
        return _full(self._local(milliseconds(text)))

    def both(self, text: str) -> str:
        """`Mon 03:00 CET, in 23h47m`."""
        return f"{self.clock(text)}, {self.ago(text)}"

    def _local(self, at_ms: int) -> datetime:
        if self._zone is not None:
            return datetime.fromtimestamp(at_ms // 1000, self._zone)
        local = time.localtime(at_ms // 1000)
        zone = timezone(timedelta(seconds=local.tm_gmtoff), local.tm_zone)
        return datetime.fromtimestamp(at_ms // 1000, zone)


def of_fire(item: dict[str, object]) -> str:
    """A fire of a preview in its own zone: `Mon 30 Nov 2026 03:00:00 CET`."""
    at = moment(str(item["local"]))
    return f"{_full(at).rsplit(' ', 1)[0]} {item.get('zone') or at.tzname()}"


def _full(at: datetime) -> str:
    return f"{_DAYS[at.weekday()]} {at.day:02d} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M:%S} {at.tzname()}"
