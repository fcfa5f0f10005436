"""Whether there is room for new work. Looking costs two system calls, so it is done before every piece of work."""

import contextlib
import errno
import os
import threading
from collections.abc import Callable
from typing import Final

from jobctl.errors import JobctlError, Unavailable
from jobctl_daemon.disk.left import bytes_left, files_left
from jobctl_daemon.disk.reserve import Reserve, take
from jobctl_daemon.disk.sizes import Sizes, sizes
from jobctl_daemon.disk.trouble import Look, Trouble, judge

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_PROBE_BYTES: Final = 4096
#: The reserve is made again as soon as this share of `Sizes.low` would be left beside it.
_BESIDE: Final = 4
#: Bytes that the database needs to open: its log's index, and the first transactions of a start.
_TO_OPEN: Final = 512 << 10


class Room:
    """The disk of one state folder. Its methods may be called from any thread.

    `changed` is called when a trouble begins or another one takes its place, and when a piece of the reserve is spent.
    """

    def __init__(self, folder: str, database: str, wanted_low: int) -> None:
        self._folder = folder
        self._database = database
        self._total = _total(folder)
        self._wanted_low = wanted_low
        self.sizes: Sizes = sizes(self._total, wanted_low)
        self.reserve = Reserve(os.path.join(folder, "reserve"), self.sizes.reserve)
        self.changed: Callable[[], None] = _nothing
        self.trouble: Trouble | None = None
        """As of the last look."""
        self.waiting = False
        """Somebody was told to wait, and nobody has woken him since."""
        self._opened: tuple[int, int] | None = None
        self._refused = False
        self._lock = threading.Lock()

    @property
    def wanted_low(self) -> int:
        """What the operator wants to be left; it changes with a reload."""
        return self._wanted_low

    @wanted_low.setter
    def wanted_low(self, wanted: int) -> None:
        self._wanted_low = wanted
        self.sizes = sizes(self._total, wanted)

    # ── looking ──────────────────────────────────────────────
    def opened(self) -> None:
        """The database is open: from now on its path must lead to this file."""
        found = os.stat(self._database)
        self._opened = (found.st_dev, found.st_ino)

    def closed(self) -> None:
        self._opened = None

    def seen(self) -> Look:
        """The folder as it is now."""
        try:
            filesystem = os.statvfs(self._folder)
        except OSError:
            return Look(free=0, total=self._total, free_files=-1, read_only=False, there=False)
        return Look(
            free=bytes_left(filesystem, os.geteuid()),
            total=filesystem.f_blocks * filesystem.f_frsize,
            free_files=files_left(filesystem, os.geteuid()),
            read_only=bool(filesystem.f_flag & os.ST_RDONLY) or not os.access(self._folder, os.W_OK | os.X_OK),
            there=self._there(),
            refused=self._refused,
        )

    def look(self) -> Trouble | None:
        """What is wrong now; None when there is room for new work."""
        with self._lock:
            before, seen = self.trouble, self.seen()
            full = before is not None and before.kind == "full"
            self.trouble = judge(seen, self._folder, self.sizes.enough if full else self.sizes.low)
            news = self.trouble is not None and (before is None or before.kind != self.trouble.kind)
        if news:
            self.changed()
        return self.trouble

    def held(self) -> bool:
        """Whether new work must wait. Who is told so is to be woken when there is room."""
        short = self.look() is not None
        self.waiting = self.waiting or short
        return short

    def must_have(self) -> None:
        """Raises `Unavailable` that says what is full, how much is left, and what to do."""
        trouble = self.look()
        if trouble is not None:
            raise trouble.error()

    def _there(self) -> bool:
        if self._opened is None:
            return True
        try:
            found = os.stat(self._database)
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == self._opened

    # ── the reserve ──────────────────────────────────────────────
    def spend(self, file: str = "") -> bool:
        """After the disk has refused a write: frees a piece of the reserve; False when there is none left.

        The piece is allocated to `file` at once, before whoever fills the disk has it.
        """
        with self._lock:
            given = self.reserve.give()
            if given and file:
                take(file, self.reserve.piece)
            self._refused = True
        self.look()
        self.changed()
        return given

    def refused(self) -> None:
        """The disk has refused a write that must not spend the reserve."""
        with self._lock:
            self._refused = True
        self.look()

    def begin(self) -> None:
        """Before the database is opened: on a full disk not even that would be possible."""
        if self.seen().free < _TO_OPEN:
            self.spend()

    def mend(self) -> bool:
        """Makes the reserve again where there is room for it, and looks whether the disk takes writes; whether all is
        as it should be."""
        with self._lock:
            if self._refused and self.refusal() not in _NO_ROOM:
                self._refused = False
            if not self._refused and not self.reserve.whole():
                missing = self.sizes.reserve - self.reserve.held()
                seen = self.seen()
                if not seen.read_only and seen.there and seen.free - missing >= self.sizes.low // _BESIDE:
                    with contextlib.suppress(OSError):
                        self.reserve.make()
        return self.look() is None and self.reserve.whole()

    def refusal(self) -> int:
        """The errno with which the disk refuses a small new file; 0 when it takes it."""
        path = os.path.join(self._folder, ".probe")
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                os.pwrite(descriptor, os.urandom(_PROBE_BYTES), 0)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
                os.unlink(path)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def is_full(self) -> bool:
        """Whether the disk refuses a small new file for want of room, or for a quota."""
        return self.refusal() in _NO_ROOM


def refused_start(folder: str, database: str, wanted_low: int, error: BaseException) -> BaseException:
    """What a daemon that cannot start for want of a disk that takes writes says; any other error as it is."""
    full = isinstance(error, OSError) and error.errno in _NO_ROOM
    why = error.details.get("why") if isinstance(error, JobctlError) else None
    if not full and why not in ("full", "read_only"):
        return error
    try:
        room = Room(folder, database, wanted_low)
    except OSError:  # there is not even the folder
        return Unavailable(
            f"it was not started: the disk of {folder} is full", "make room there, then start jobd again"
        )
    if full or why == "full":
        room.refused()
    trouble = room.look()
    return error if trouble is None else trouble.refusal()


def _total(folder: str) -> int:
    filesystem = os.statvfs(folder)
    return filesystem.f_blocks * filesystem.f_frsize


def _nothing() -> None:
    return None
