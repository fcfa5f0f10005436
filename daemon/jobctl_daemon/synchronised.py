"""Whether the kernel takes the wall clock for right: asked with adjtimex(2), which here never changes anything."""

import ctypes
import os
from typing import Final

_STA_UNSYNC: Final = 0x0040
#: systemd-timesyncd(8) makes it when it has set the clock once; the one sign that a sandbox leaves.
TIMESYNC: Final = "/run/systemd/timesync/synchronized"
#: Larger than struct timex is anywhere; the kernel writes all of it.
_REST_BYTES: Final = 512


class _Timex(ctypes.Structure):
    """The beginning of struct timex. `modes` 0 only reads."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * _REST_BYTES),
    )


_adjtimex = getattr(ctypes.CDLL(None, use_errno=True), "adjtimex", None)


def synchronised() -> bool | None:
    """None when nobody can be asked: no such call, or a sandbox forbids it."""
    status = _status()
    if status is not None:
        return not status & _STA_UNSYNC
    return True if os.path.exists(TIMESYNC) else None


def _status() -> int | None:
    if _adjtimex is None:
        return None
    answer = _Timex()
    return answer.status if _adjtimex(ctypes.byref(answer)) >= 0 else None
