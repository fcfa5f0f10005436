"""The crontabs of a host in a folder: /etc/crontab, /etc/cron.d and the spool, and ways to save them."""

import contextlib
import os
import pwd
import select
import shutil
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from kit.daemon import RealDaemon

Json = dict[str, Any]
#: A change is active after this.
SOON_S = 2.0


class CrontabHost:
    """`root` is what a daemon is given as host_root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.crontab = root / "etc" / "crontab"
        self.cron_d = root / "etc" / "cron.d"
        self.spool = root / "var" / "spool" / "cron" / "crontabs"
        self.cron_d.mkdir(parents=True)
        self.spool.mkdir(parents=True)

    def settings(self, **more: str) -> str:
        """What jobd.toml says. Nobody gets mail."""
        words = {"host_root": str(self.root), "crontabs": "on", "crontab_mail": "never", **more}
        return "".join(f'{key} = "{value}"\n' for key, value in words.items())

    def save(self, path: Path, data: bytes | str) -> Path:
        """A whole new file by a rename, with the owner and mode that cron wants."""
        draft = path.with_name(f".{path.name}.draft")
        self._make(draft, data, path)
        os.rename(draft, path)
        return path

    def overwrite(self, path: Path, data: bytes | str) -> Path:
        """Truncated, and written anew."""
        path.write_bytes(_bytes(data))
        return path

    def user(self, name: str, data: bytes | str) -> Path:
        return self.save(self.spool / name, data)

    def site(self, name: str, data: bytes | str) -> Path:
        return self.save(self.cron_d / name, data)

    def clear(self, daemon: RealDaemon) -> None:
        """No table is left, and nothing of it."""
        for folder in (self.cron_d, self.spool):
            for path in folder.iterdir():
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        daemon.up().reload()
        soon(daemon, lambda: not [one for one in daemon.client.status()["tables"] if one["kind"] == "crontab"], 10.0)

    def _make(self, draft: Path, data: bytes | str, path: Path) -> None:
        draft.write_bytes(_bytes(data))
        if path.parent == self.spool:
            draft.chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(draft, path.name)


@contextlib.contextmanager
def live_host(folder: Path) -> Iterator[tuple[CrontabHost, RealDaemon]]:
    """A host, and a daemon that runs its crontabs."""
    host = CrontabHost(folder / "host")
    daemon = RealDaemon(folder / "h").settings(host.settings())
    try:
        daemon.start()
        yield host, daemon
    finally:
        daemon.close()


@cache
def never_soon() -> str:
    """Minute and hour of a time of the day that does not come while tests run; always the same."""
    now = time.localtime(time.time() + 7200)
    return f"{now.tm_min} {now.tm_hour}"


def four_lines(*commands: str) -> str:
    """A comment, and up to three lines of root's."""
    return "# a comment\n" + "".join(f"{never_soon()} * * * root {command}\n" for command in commands)


def _bytes(data: bytes | str) -> bytes:
    return data.encode() if isinstance(data, str) else data


def jobs(daemon: RealDaemon, path: Path | None = None) -> dict[tuple[str, int], Json]:
    """(name of the file, line) → job, of all tables or of one."""
    filters = {} if path is None else {"declared": str(path)}
    return {place(job): job for job in daemon.client.jobs(done=True, **filters) if job["declared"]}


def place(job: Json) -> tuple[str, int]:
    """Where a job's line stands."""
    return os.path.basename(job["declared"]), int(job["source"].split(":", 3)[2])


def commands(daemon: RealDaemon, path: Path | None = None) -> dict[str, Json]:
    """Command → job."""
    return {job["target"].get("shell") or "": job for job in jobs(daemon, path).values()}


def table(daemon: RealDaemon, path: Path) -> Json | None:
    """What status says of a table."""
    return next((one for one in daemon.client.status()["tables"] if one["path"] == str(path)), None)


def soon(daemon: RealDaemon, holds: Any, within_s: float = SOON_S) -> Any:
    """The answer once it holds. What is wrong with a file is no event, so it is asked for again and again."""
    until = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < until, daemon.log()[-3000:]
        select.select([], [], [], 0.02)
    return found


def users(count: int) -> list[str]:
    """Users that this host has."""
    found = [entry.pw_name for entry in pwd.getpwall() if entry.pw_uid < 1000 and not entry.pw_name.startswith("jt")]
    assert len(found) >= count, "this host has too few users"
    return found[:count]
