"""The lines of cron in the system's log that auditors and log watchers know, as Debian's cron 3.0pl1 writes them.

    CRON[4711]: (ada) CMD (backup --all)              a command was started; the number is its process
    cron[812]: (*system*) RELOAD (/etc/crontab)       a table was read again
    crontab[812]: (ada) REPLACE (ada)                 somebody changed a crontab

They go to the local syslog socket as one datagram each, in the form that syslog(3) of glibc writes (RFC 3164 without
the host's name). Nothing here ever waits: where nobody listens, or the receiver is behind, a line is left out and
counted.
"""

import os
import socket
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from jobctl import schedule
from jobctl.clock import Clock

#: Where syslogd, or journald in its stead, listens.
SOCKET: Final = "/dev/log"
#: Whose a table is that is no user's.
SYSTEM: Final = "*system*"
#: Facility cron (9), severity informational (6) and warning (4): RFC 3164, 4.1.1.
_INFO, _WARNING = 9 * 8 + 6, 9 * 8 + 4
#: cron takes no longer command (MAX_COMMAND), and so writes no longer one.
_DETAIL_BYTES: Final = 999
_NAME_BYTES: Final = 100
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True)
class Written:
    """How it went since the daemon began; `why` is what the last line failed by, None when it was taken."""

    path: str
    lines: int
    dropped: int
    why: str | None


class AuditLog:
    """One for the daemon. `path` None: nothing is written, and nothing counted. No method raises or waits."""

    def __init__(self, clock: Clock, path: str | None = SOCKET, zone: str | None = None) -> None:
        """`zone` is that of the times in the lines: the host's, unless it is given."""
        self._clock = clock
        self._zone = zone or schedule.host_zone()[0]
        self._socket: socket.socket | None = None
        self._lines = self._dropped = 0
        self._why: str | None = None
        self.path = path
        """May be set anew while the daemon runs."""

    def command(self, pid: int, user: str, words: str) -> None:
        """`CRON[pid]: (user) CMD (words)`: a command was started."""
        self.say("CRON", pid, user, "CMD", words)

    def reload(self, user: str | None, path: str) -> None:
        """`cron[…]: (*system*) RELOAD (/etc/crontab)`: a table has changed, and was read again. `user`: whose it is."""
        detail = path if user is None else f"crontabs/{os.path.basename(path)}"
        self.say("cron", os.getpid(), user or SYSTEM, "RELOAD", detail)

    def failed(self, user: str, why: str) -> None:
        """`CRON[…]: (user) FAILED (why)`: a command could not be started."""
        self.say("CRON", os.getpid(), user, "FAILED", why, warning=True)

    def undelivered(self, user: str, size: int, status: int) -> None:
        """The mail program did not take the output of a command of this user: its exit code, as wait(2) has it."""
        words = f"mailed {size} byte{'' if size == 1 else 's'} of output but got status 0x{status << 8:04x} from MTA"
        self.say("CRON", os.getpid(), user, "MAIL", words, warning=True)

    def no_mail(self) -> None:
        """What was printed goes nowhere."""
        self.say("CRON", os.getpid(), "CRON", "info", "No MTA installed, discarding output")

    def crontab(self, user: str, event: str, detail: str, pid: int | None = None) -> None:
        """`crontab[…]: (user) LIST (whose)`: what `user` did with somebody's crontab: LIST, REPLACE, DELETE, …

        `pid` is that of the program that asked, where it is known.
        """
        self.say("crontab", pid or os.getpid(), user, event, detail)

    def say(self, program: str, pid: int, user: str, event: str, detail: str, *, warning: bool = False) -> None:
        """Any other line of this form."""
        if self.path is None:
            return
        head = f"<{_WARNING if warning else _INFO}>{self._now()} {program}[{pid}]:"
        line = f"{head} ({safe(user, _NAME_BYTES)}) {event} ({safe(detail)})"
        self._why = self._send(line.encode("ascii"))
        if self._why is None:
            self._lines += 1
        else:
            self._dropped += 1

    def written(self) -> Written | None:
        """For status; None where nothing is to be written."""
        return None if self.path is None else Written(self.path, self._lines, self._dropped, self._why)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, line: bytes) -> str | None:
        """What was in the way. The socket has no peer, so a syslogd that is started anew is met at once."""
        assert self.path is not None
        try:
            if self._socket is None:
                self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            self._socket.sendto(line, self.path)
        except OSError as error:
            return "it does not keep up" if isinstance(error, BlockingIOError) else error.strerror or str(error)
        return None

    def _now(self) -> str:
        moment = datetime.fromisoformat(schedule.local_time(self._clock.now_ms(), self._zone))
        return f"{_MONTHS[moment.month - 1]} {moment.day:2} {moment:%H:%M:%S}"


def safe(text: str, most: int = _DETAIL_BYTES) -> str:
    """Printable ASCII, as cron makes it (misc.c, mkprint): `^J` for a newline, `\\303` for a byte that is not ASCII."""
    given = text.encode("utf-8", "surrogateescape" if _stands_for_bytes(text) else "replace")[:most]
    return "".join(_SHOWN[byte] for byte in given)


def _stands_for_bytes(text: str) -> bool:
    """Whether every surrogate in it is a byte of a file's that is not UTF-8."""
    return all(not 0xD800 <= ord(char) <= 0xDFFF or 0xDC80 <= ord(char) <= 0xDCFF for char in text)


def _shown(byte: int) -> str:
    if byte < 0x20:
        return f"^{chr(byte + 0x40)}"
    if byte < 0x7F:
        return chr(byte)
    return "^?" if byte == 0x7F else f"\\{byte:03o}"


_SHOWN: Final = tuple(_shown(byte) for byte in range(256))
