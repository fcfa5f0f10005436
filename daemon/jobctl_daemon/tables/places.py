"""Where tables are: the host's for the system's daemon, the user's own for a user's."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from jobctl.crontabs.parts import FOLDERS
from jobctl.crontabs.periodic import ANACRONTAB
from jobctl.paths import Places
from jobctl_daemon.decide.tables import Kind, is_table

_SPOOL: Final = "var/spool/cron/crontabs"


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `user`: whose it is; None for one with a user column, which is root's."""

    path: str
    kind: Kind
    user: str | None = None


@dataclass(frozen=True, slots=True)
class TablePlaces:
    """The folders and files that may hold tables of this daemon."""

    spool: str
    crontab: str | None = None
    cron_d: str | None = None
    only: str | None = None
    """The one user whose table counts; None: every user's."""
    root: str = "/"
    """The folder in which the host's etc and var are."""

    @property
    def folders(self) -> tuple[str, ...]:
        return (self.spool,) if self.cron_d is None else (self.cron_d, self.spool)

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.crontab is None else (self.crontab,)

    def table(self, path: str) -> Table | None:
        """What a path is; None for what can be no table here."""
        if path == self.crontab:
            return Table(path, Kind.SYSTEM)
        folder, name = os.path.split(path)
        if folder == self.cron_d:
            return Table(path, Kind.SYSTEM) if is_table(Kind.SYSTEM, name) else None
        if folder == self.spool and is_table(Kind.USER, name) and self.only in (None, name):
            return Table(path, Kind.USER, name)
        return None

    def is_followed(self, path: str) -> bool:
        """Whether jobs are declared under a path because of what is there: as a table, or beside those of a host."""
        host = () if self.cron_d is None else (ANACRONTAB, *FOLDERS)
        return self.table(path) is not None or path in [place(self.root, one) for one in host]

    def holder(self, path: str) -> str:
        """The folder whose being there makes a missing file a removed one."""
        return os.path.dirname(path)

    def ours(self, paths: list[str]) -> Iterator[str]:
        """Those of the paths that can be tables here."""
        return (path for path in paths if self.table(path) is not None)


def place(root: str, path: str) -> str:
    """Where a path of the host is."""
    return os.path.join(root, path.removeprefix("/"))


def table_places(places: Places, host_root: str, user: str, *, system: bool) -> TablePlaces:
    """`system`: the daemon is root's; `user`: its name."""
    if not system:
        return TablePlaces(os.path.join(places.state_dir, "crontabs"), only=user)
    return TablePlaces(
        os.path.join(host_root, _SPOOL),
        os.path.join(host_root, "etc/crontab"),
        os.path.join(host_root, "etc/cron.d"),
        root=host_root,
    )
