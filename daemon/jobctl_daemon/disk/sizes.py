"""How much is kept free, kept back and written ahead: less on a small filesystem, which must hold jobs as well."""

from dataclasses import dataclass
from typing import Final

_MIB: Final = 1 << 20
#: The write-ahead log is written back at this size.
_LOG_BYTES_MAX: Final = 16 * _MIB
_LOG_BYTES_MIN: Final = _MIB
#: Shares of the filesystem.
_LOG_SHARE: Final = 16
_LOW_SHARE: Final = 20


@dataclass(frozen=True, slots=True)
class Sizes:
    """All in bytes."""

    log: int
    """The write-ahead log is written back and emptied when it has grown so long."""
    reserve: int
    """Kept back in a file of its own: more than the log may take, so that a full disk leaves room for one more."""
    low: int
    """With less than this left, new work waits."""
    enough: int
    """With so much left, it goes on: more than `low`, so that it does not stop and go with every file."""


def sizes(total: int, wanted_low: int) -> Sizes:
    """The sizes for a filesystem of so many bytes. `wanted_low` is what the operator set, at most a 20th of it all."""
    log = max(_LOG_BYTES_MIN, min(_LOG_BYTES_MAX, total // _LOG_SHARE))
    low = min(wanted_low, total // _LOW_SHARE)
    return Sizes(log=log, reserve=log + log // 4, low=low, enough=low + low // 4)
