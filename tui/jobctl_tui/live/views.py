"""Saved views: a filter and an order under a name, kept in a file of the user's state folder between two sittings.

Several screens of one user share the file: each change is made to what stands in it just then, under a lock.
"""

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from jobctl.errors import Conflict, InvalidInput
from jobctl.windows import JOB_SORTS

NAME_CHARS_MAX: Final = 40
VIEWS_MAX: Final = 100
#: Shows every job: the way back from all others, which cannot be removed.
ALL: Final = "all"
_FILE: Final = "views.json"
_LOCK: Final = "views.lock"
_BYTES_MAX: Final = 1 << 20
_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class View(NamedTuple):
    """What a list shows."""

    query: str = ""
    sort: str = "attention"
    reverse: bool = False


#: What is there before anybody has saved one.
FIRST: Final[Mapping[str, View]] = {
    ALL: View(),
    "trouble": View("state:failed,late,retrying,parked,quarantined"),
    "running": View("state:running,queued,retrying"),
    "next hour": View("next<1h", "next"),
    "paused": View("state:paused"),
}


class _Kept(msgspec.Struct):
    query: str
    sort: str
    reverse: bool


class _File(msgspec.Struct):
    views: dict[str, _Kept]


class Views:
    """`folder` None: they are forgotten at the end. A file that cannot be read counts as none, and is left alone."""

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._views = dict(FIRST)
        self._broken = False
        self.renew()

    @property
    def all(self) -> Mapping[str, View]:
        """By name, in the order in which they were saved."""
        return self._views

    def renew(self) -> None:
        """Also what other screens have saved since."""
        if self._folder is None:
            return
        self._broken = False
        try:
            self._views = _views(_read(os.path.join(self._folder, _FILE)))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError):
            self._broken = True

    def save(self, name: str, view: View) -> None:
        """Raises `InvalidInput` of a name that is none; `OSError` or `Conflict` when it cannot be kept."""
        name = name.strip()
        if not _is_name(name):
            raise InvalidInput("a view's name is up to 40 printable characters", "choose another", field="name")

        def put(views: dict[str, View]) -> None:
            if len(views) >= VIEWS_MAX and name not in views:
                raise InvalidInput(f"there are {VIEWS_MAX} views already", "remove one of them", field="name")
            views[name] = view

        self._change(put)

    def remove(self, name: str) -> None:
        """Raises as `save` does."""
        if name == ALL:
            raise InvalidInput(f"the view {ALL} stays", "it is the way back from the others", field="name")
        self._change(lambda views: views.pop(name, None))

    def _change(self, change: Callable[[dict[str, View]], object]) -> None:
        """Here in any case, so that it lasts as long as the sitting; then of what stands in the file."""
        change(self._views)
        if self._folder is None:
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with _alone(os.path.join(self._folder, _LOCK)):
            self.renew()
            path = os.path.join(self._folder, _FILE)
            change(self._views)
            if self._broken:
                raise Conflict(f"{path} is no file of views", "move it away: what is saved now is kept until the end")
            _write(path, self._views)


def _is_name(name: str) -> bool:
    return 0 < len(name) <= NAME_CHARS_MAX and name.isprintable()


def _views(data: bytes) -> dict[str, View]:
    """Raises `ValueError` or `RecursionError` of anything that was not written here."""
    found = {ALL: FIRST[ALL]}
    for name, kept in msgspec.json.decode(data, type=_File).views.items():
        if not _is_name(name) or kept.sort not in JOB_SORTS:
            raise ValueError(name)
        found[name] = View(kept.query, kept.sort, kept.reverse)
    return found


@contextlib.contextmanager
def _alone(path: str) -> Iterator[None]:
    """A file of its own is locked: the other one is replaced at each change. Held for the time of a write."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    """Raises `OSError`; `ValueError` of what is no file, or of one that is too long to be one of views."""
    descriptor = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(path)
        data = os.read(descriptor, _BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    if len(data) > _BYTES_MAX:
        raise ValueError(path)
    return data


def _write(path: str, views: Mapping[str, View]) -> None:
    """A whole file or the one before: it is renamed into its place. The caller is alone."""
    data = json.dumps({"views": {name: view._asdict() for name, view in views.items()}}, indent=1).encode()
    if len(data) > _BYTES_MAX:
        raise InvalidInput("the views' filters are too long together", "remove one of them", field="name")
    beside = f"{path}.new"
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
