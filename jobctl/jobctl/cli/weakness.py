"""What others could change of a job that runs as the caller: they run commands as the caller, above all as root."""

import os
from typing import Any, Final

from jobctl.cli.session import Session

_ROOT: Final = 0


def weak_points(session: Session, job: dict[str, Any]) -> list[str]:
    """A sentence each. Jobs that run as others are passed over: what they name may not be the caller's to see."""
    from jobctl.trust import weaknesses

    account = _account(session.world.uid)
    if account is None or (job["user"] or job["owner"]) != account.name:
        return []
    target = job["target"]
    argv = target.get("command") or ["/bin/sh", "-c", target.get("shell") or ""]
    path = (job.get("env") or {}).get("PATH") or job.get("path") or os.defpath
    also = [job["env_file"]] if job.get("env_file") else []
    uids = {_ROOT, session.world.uid}
    return weaknesses(argv, job["cwd"] or account.home, path, also, uids, account.gids)


class _Account:
    def __init__(self, name: str, home: str, gids: set[int]) -> None:
        self.name = name
        self.home = home
        self.gids = gids


def _account(uid: int) -> _Account | None:
    """The caller; its own group is trusted when nobody else is in it."""
    import grp
    import pwd

    try:
        entry = pwd.getpwuid(uid)
        group = grp.getgrgid(entry.pw_gid)
    except KeyError:
        return None
    alone = group.gr_name == entry.pw_name and set(group.gr_mem) <= {entry.pw_name}
    return _Account(entry.pw_name, entry.pw_dir, {_ROOT, entry.pw_gid} if alone else {_ROOT})
