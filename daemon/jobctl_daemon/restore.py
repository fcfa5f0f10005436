"""`python -m jobctl_daemon.restore FILE [--catch-up]`: a backup in the place of the database, while no daemon runs.

A program of its own, which `jobctl restore` starts: the command line opens no database. It holds the daemon's lock from
before its first look until its end. The copy is checked, brought to today's schema and made fit in a folder of its own;
only then is it put in place, in a swap that is finished by whoever comes next if this program is killed. Like app.py it
knows which backend there is. It says what it did as one JSON object on standard output; an error is one too.
"""

import argparse
import asyncio
import os
import socket
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from jobctl import __version__, wire
from jobctl.clock import SystemClock
from jobctl.errors import Conflict, Forbidden, InternalError, InvalidInput, JobctlError, NotFound, Unavailable
from jobctl.paths import Places, daemon_places
from jobctl_daemon import filesystem, holder
from jobctl_daemon.execution.held import held_attempts, highest_log
from jobctl_daemon.execution.identity import boot_key
from jobctl_daemon.holder import Holder
from jobctl_daemon.rows import HeldAttempt, Life
from jobctl_daemon.services.restoring import settle_past
from jobctl_daemon.store.sqlite import SqliteStore, swap
from jobctl_daemon.store.sqlite.restored import life_of
from jobctl_daemon.store.sqlite.staging import stage

_CLOCK: Final = SystemClock()
#: Where the database that is replaced cannot be read, its ids are known by what it left; so many may have left nothing.
_UNSEEN_IDS: Final = 1_000
_UNSEEN_EVENTS: Final = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or that of the error."""
    parser = argparse.ArgumentParser(prog="python -m jobctl_daemon.restore")
    parser.add_argument("file")
    parser.add_argument("--catch-up", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = restore(daemon_places(os.environ, os.geteuid()), options.file, catch_up=options.catch_up)
    except JobctlError as error:
        _say({"code": error.code, "message": error.message, "hint": error.hint, "details": error.details})
        return error.exit_code
    except OSError as error:
        _say({"code": Unavailable.code, "message": f"it cannot be done: {error}", "hint": "", "details": {}})
        return Unavailable.exit_code
    _say(found)
    return 0


def restore(places: Places, file: str, *, catch_up: bool) -> dict[str, object]:
    """Carries it out under the lock; returns what was done. Raises what is wrong before anything is touched."""
    os.umask(0o077)
    source = _checked_source(file)
    filesystem.prepare(places.state_dir)
    held = _locked(places)
    try:
        database = Path(places.database)
        swap.finish(database)
        if database.exists() and os.path.samefile(source, database):
            raise InvalidInput(f"{file} is the database itself", "name a backup", field="FILE")
        return asyncio.run(_restore(places, database, source, catch_up=catch_up))
    finally:
        os.close(held)


def _checked_source(file: str) -> Path:
    try:
        found = os.stat(file)
    except FileNotFoundError as error:
        raise NotFound(f"there is no {file}", "name a file that `jobctl backup` made") from error
    except OSError as error:
        raise Forbidden(f"{file} cannot be read: {error.strerror}", "ask as its owner") from error
    if not stat.S_ISREG(found.st_mode) or found.st_size == 0:
        raise InvalidInput(f"{file} is no backup", "name a file that `jobctl backup` made", field="FILE")
    if not os.access(file, os.R_OK):
        raise Forbidden(f"{file} may not be read", "ask as its owner")
    return Path(file).absolute()


def _locked(places: Places) -> int:
    try:
        held = holder.lock(places.lock_file)
    except Conflict as error:
        waiting = " ".join(map(str, holder.waiting(places.lock_file)))
        first = f"who stands by would take over, so first: kill {waiting}; then" if waiting else "stop it first:"
        hint = f"{first} jobctl daemon stop; under systemd: systemctl stop jobd; running commands go on"
        raise Conflict(f"the daemon runs: {holder.words(places.lock_file)}", hint) from error
    holder.name_holder(held, places.lock_file, Holder(os.getpid(), _CLOCK.now_ms(), __version__, "none, it restores"))
    return held


async def _restore(places: Places, database: Path, source: Path, *, catch_up: bool) -> dict[str, object]:
    staged = swap.prepare(database)
    try:
        copied = stage(source, staged)
        now_ms = _CLOCK.now_ms()
        attempts = held_attempts(places.runner_dir)
        store = SqliteStore(staged)
        await store.open()
        try:
            taken_ms = now_ms if copied.newest_ms is None else copied.newest_ms
            node = socket.gethostname()
            lives = _lives(places, database, attempts, now_ms, catch_up=catch_up)
            facts = await settle_past(store, lives, attempts, node, taken_ms, now_ms, catch_up=catch_up)
            counts = await store.counts(None, now_ms)
        finally:
            await store.close()
        _must_be_closed(staged)
        kept = swap.order(database, _stamp(database, now_ms))
    except BaseException:
        swap.discard(database)
        raise
    swap.finish(database)
    return {
        "schema": wire.SCHEMA,
        "database": str(database),
        "file": str(source),
        "database_schema": copied.schema,
        **facts,
        "jobs": counts.jobs,
        "dead": counts.dead,
        "next_run_at": None if counts.next_ms is None else wire.rfc3339(counts.next_ms),
        "replaced": None if kept is None else str(kept),
    }


def _must_be_closed(staged: Path) -> None:
    if any(path.stat().st_size for path in staged.parent.glob(f"{staged.name}-wal")):
        raise InternalError("the copy was not closed", "nothing was changed; please report it")


def _lives(
    places: Places, database: Path, attempts: Sequence[HeldAttempt], now_ms: int, *, catch_up: bool
) -> list[Life]:
    """The life that is replaced, as it says itself and as what it left on disk tells of it."""
    replaced = life_of(database)
    run_id, fence = highest_log(places.runs_dir)
    run_id = max([run_id, *(attempt.run_id for attempt in attempts)])
    fence = max([fence, now_ms, *(attempt.fence for attempt in attempts)])
    blind = replaced is None and database.exists()
    ids = {"runs": run_id}
    if blind:
        ids = {"runs": run_id + _UNSEEN_IDS, "events": _UNSEEN_EVENTS, "jobs": _UNSEEN_IDS, "replays": _UNSEEN_IDS}
    traces = Life(epoch=0, generation=0, fence=fence, ids=ids, boot=boot_key() if blind and not catch_up else None)
    return [traces] if replaced is None else [replaced, traces]


def _stamp(database: Path, now_ms: int) -> str:
    """A name that no kept database has."""
    name = wire.rfc3339(now_ms).replace(":", "-")
    return name if not (database.parent / swap.KEPT / name).exists() else f"{name}-{os.getpid()}"


def _say(found: dict[str, object]) -> None:
    sys.stdout.write(wire.encode(found).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
