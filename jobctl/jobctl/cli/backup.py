"""`jobctl backup`: a copy of the database, made by the daemon and written by this program."""

import os
import re
from typing import Annotated, Any, Final

import typer

from jobctl.cli import describe
from jobctl.cli.newfile import new_file
from jobctl.cli.progress import Progress
from jobctl.cli.session import Session
from jobctl.client.transport import Response
from jobctl.errors import InvalidInput, Unreachable

EXAMPLES = (
    ("jobctl backup /srv/backup/jobctl.db", "everything that was recorded until now"),
    ("jobctl backup /srv/backup --keep 14", "in that folder, named by host and time; the newest 14 stay"),
    ("jobctl add backup-jobs --cron '30 2 * * *' -- jobctl backup /srv/backup --keep 14", "every night"),
)
_STAMP: Final = "%Y%m%dT%H%M%SZ"


def verb(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE|FOLDER", help="the new file, or a folder to put it into")],
    force: Annotated[bool, typer.Option("--force", help="replace FILE when it is there")] = False,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", min=1, help="in FOLDER, keep the newest N of this host")
    ] = None,
) -> None:
    """Copy the whole database, as it is at one instant, while the daemon runs.

    The copy is checked before it gets its name, has mode 0600, and needs no other file. What commands printed and
    jobd.toml are not in it. `jobctl restore` puts it back.
    """
    session: Session = ctx.obj
    client = session.reader()
    status = client.status()
    path = _path(session, file, str(status["host"]))
    _must_be_elsewhere(path, str(status["state_dir"]))
    if keep is not None and path == file:
        raise InvalidInput("--keep is for a folder", "name the folder to put backups into", field="--keep")
    began_ms = session.world.clock.boot_ms()
    with new_file(path, force=force) as target, Progress(session, "backup", unit="bytes") as progress:
        response = client.backup()
        length = response.headers.get("content-length", "")
        progress.reach(0, int(length) if length.isdigit() else None)
        size = _write(response, target, progress)
    removed = _rotate(path, str(status["host"]), keep) if keep is not None else []
    _said(session, response, path, size, (session.world.clock.boot_ms() - began_ms) / 1000, removed)


def _path(session: Session, file: str, host: str) -> str:
    """The file to write: FILE itself, or a new name in the folder."""
    if not os.path.isdir(file):
        return file
    from datetime import UTC, datetime

    stamp = datetime.fromtimestamp(session.world.clock.now_ms() / 1000, UTC).strftime(_STAMP)
    return os.path.join(file, f"{_prefix(host)}{stamp}.db")


def _prefix(host: str) -> str:
    return f"jobctl-{re.sub(r'[^A-Za-z0-9._-]', '_', host)}-"


def _must_be_elsewhere(path: str, state_dir: str) -> None:
    """Nothing in the daemon's own folder is written by anybody else; and what is lost with it would be no backup."""
    folder = os.path.realpath(os.path.dirname(path) or ".")
    state = os.path.realpath(state_dir)
    if folder == state or folder.startswith(state + os.sep):
        raise InvalidInput(f"{path} is in the daemon's state folder", "put a backup somewhere else", field="FILE")


def _write(response: Response, target: Any, progress: Progress) -> int:
    import hashlib

    found, size = hashlib.sha256(), 0
    for piece in response.pieces():
        target.write(piece)
        found.update(piece)
        size += len(piece)
        progress.reach(size)
    if found.hexdigest() != response.headers.get("jobctl-backup-sha256"):
        raise Unreachable("the copy arrived damaged", "do it again; nothing was written")
    return size


def _rotate(path: str, host: str, keep: int) -> list[str]:
    """Removes the oldest of this host's backups in the folder; returns those that went."""
    folder, prefix = os.path.dirname(path), _prefix(host)
    ours = re.compile(re.escape(prefix) + r"\d{8}T\d{6}Z\.db")
    found = sorted(name for name in os.listdir(folder) if ours.fullmatch(name))
    old = [os.path.join(folder, name) for name in found[:-keep] if os.path.join(folder, name) != path]
    for name in old:
        os.unlink(name)
    return old


def _said(session: Session, response: Response, path: str, size: int, seconds: float, removed: list[str]) -> None:
    headers = response.headers
    jobs, runs = int(headers["jobctl-backup-jobs"]), int(headers["jobctl-backup-runs"])
    if session.render.machine:
        session.render.json({
            "schema": 1,
            "file": path,
            "bytes": size,
            "jobs": jobs,
            "runs": runs,
            "database_schema": int(headers["jobctl-backup-schema"]),
            "sha256": headers["jobctl-backup-sha256"],
            "at": headers["jobctl-backup-at"],
            "seconds": round(seconds, 3),
            "removed": removed,
        })  # fmt: skip
        return
    counted = f"{jobs} job{'' if jobs == 1 else 's'}, {runs} run{'' if runs == 1 else 's'}"
    session.render.flow(f"{path}: {describe.size(size)}, {counted}, in {seconds:.1f} s")
    for name in removed:
        session.render.word(f"removed {name}")
    session.render.word("what commands printed (runs/ in the state folder) and jobd.toml are not in it")
