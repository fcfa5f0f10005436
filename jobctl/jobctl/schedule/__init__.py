"""When jobs are due: cron texts, intervals, single instants, and what clock changes do to them.

Pure and synchronous. Instants are UTC milliseconds since the epoch throughout; names end in `_ms`.
"""

from .base import Schedule
from .boot import OnBoot, OnStart
from .clock_change import GAPS, OVERLAPS, DstGap, DstOverlap
from .cron import Cron, forget_zones
from .cron_text import MAX_TEXT, CronFields, parse_cron
from .debian import debian_reading
from .debian_starts import debian_fields, debian_starts
from .duration import MAX_DURATION_MS, format_duration, parse_duration
from .fire import Count, Fire, Note
from .interval import MIN_INTERVAL_MS, Every
from .local import LocalFire, local_fire, local_time
from .once import Once
from .preview import MAX_FIRES, Preview, Transition, preview
from .spec import build
from .warn import warnings_of
from .when import parse_when
from .words import describe
from .zone import find_zone, host_zone, tzdata_mark, tzdata_version

__all__ = [
    "GAPS",
    "MAX_DURATION_MS",
    "MAX_FIRES",
    "MAX_TEXT",
    "MIN_INTERVAL_MS",
    "OVERLAPS",
    "Count",
    "Cron",
    "CronFields",
    "DstGap",
    "DstOverlap",
    "Every",
    "Fire",
    "LocalFire",
    "Note",
    "OnBoot",
    "OnStart",
    "Once",
    "Preview",
    "Schedule",
    "Transition",
    "build",
    "debian_fields",
    "debian_reading",
    "debian_starts",
    "describe",
    "find_zone",
    "forget_zones",
    "format_duration",
    "host_zone",
    "local_fire",
    "local_time",
    "parse_cron",
    "parse_duration",
    "parse_when",
    "preview",
    "tzdata_mark",
    "tzdata_version",
    "warnings_of",
]
