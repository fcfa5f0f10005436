"""Whether the kernel takes the wall clock for right: asked with adjtimex(2), which here never changes anything."""

import ctypes
from typing import Final

_STA_UNSYNC: Final = 0x0040
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
    """None when it cannot be asked: no such call, or a sandbox forbids it."""
    if _adjtimex is None:
        return None
    answer = _Timex()
    if _adjtimex(ctypes.byref(answer)) < 0:
        return None
    return not answer.status & _STA_UNSYNC
