"""What the machine has none of just now is nobody's bug: the caller may ask again."""

import errno
import os
from typing import Final

from jobctl.errors import Unavailable

_LACKS: Final = {
    errno.EAGAIN: "process or thread",
    errno.EMFILE: "file descriptor",
    errno.ENFILE: "file descriptor",
    errno.ENOMEM: "memory",
    errno.ENOSPC: "room on its disk",
    errno.EDQUOT: "room in its quota",
}
#: What Python makes of EAGAIN from pthread_create(3): it keeps no number.
_NO_THREAD: Final = "can't start new thread"


def lacking(error: BaseException) -> Unavailable | None:
    """The error to answer with when this one says that the system ran out of something, else None."""
    if isinstance(error, MemoryError):
        return _none(errno.ENOMEM)
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return _none(errno.EAGAIN)
    if isinstance(error, OSError) and error.errno in _LACKS:
        return _none(error.errno)
    return None


def _none(number: int) -> Unavailable:
    what = f"the daemon gets no {_LACKS[number]} just now: {os.strerror(number)}"
    return Unavailable(what, "ask again; if it lasts, see `jobctl doctor` and the limits of the daemon's process")
