"""Crontabs: reading them as Debian's cron does, what becomes of each line, and writing them back."""

from .line import COMMAND_BYTES_MAX, JOBD_MARKER, parse_line
from .read import Dialect, read
from .table import Crontab, CrontabLine, EnvLine, RefusedLine, is_utf8, shown
from .users import HostUsers

__all__ = [
    "COMMAND_BYTES_MAX",
    "JOBD_MARKER",
    "Crontab",
    "CrontabLine",
    "Dialect",
    "EnvLine",
    "HostUsers",
    "RefusedLine",
    "is_utf8",
    "parse_line",
    "read",
    "shown",
]
