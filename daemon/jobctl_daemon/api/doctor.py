"""GET /v1/doctor: what the daemon sees of its own files and records, as findings; with `deep` all of the database.

Nothing is written. The deep look reads in short pieces on a connection of its own, so that the daemon goes on.
"""

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.model import Fact
from jobctl_daemon.api import backup
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import Query
from jobctl_daemon.api.rights import must_operate, operates
from jobctl_daemon.decide.adoption import attempt_id
from jobctl_daemon.execution import log_folders
from jobctl_daemon.rows import Broken

_DAY_MS: Final = 86_400_000
#: A backup that is older than this is worth a warning to somebody who makes backups.
_BACKUP_OLD_MS: Final = 8 * _DAY_MS
#: For so long a restore is worth being told of.
_RESTORED_MS: Final = 30 * _DAY_MS
_BATCH: Final = 500
_SHOWN: Final = 5
#: Between two looks at claims and runners: what is on its way then is not what is wrong.
_APART_S: Final = 0.7
_REPORT: Final = (
    "please report it, with what `jobctl backup` makes; jobctl daemon stop and start looks at all runs again"
)


class Wanted(Query, frozen=True):
    """Whether everything is read."""

    deep: bool = False


class Found(Fact, frozen=True):
    """A finding; levels are those of `jobctl doctor`: ok, note, warn, bad."""

    check: str
    level: str
    text: str
    hint: str = ""


async def doctor(call: Call) -> StreamResponse:
    """All findings on one page."""
    wanted = call.query(Wanted)
    services = call.services
    if not operates(call.caller, services.host.uid):
        if wanted.deep:
            must_operate(call.caller, services.host.uid)
        return page([_engine(*services.store.engine())])  # the daemon's files and copies are nobody else's business
    notes = await services.store.meta()
    findings = [
        _engine(*services.store.engine()),
        *_backup(notes, call.now_ms),
        *_restored(notes, call.now_ms),
        *await asyncio.to_thread(lambda: [*_files(services.places.state_dir), *_kept(services.places.state_dir)]),
    ]
    if wanted.deep:
        findings += [*_rules(await services.store.inspect()), *await _claims(call), *await _logs(call)]
    return page(findings)


def _engine(name: str, fault: str | None) -> Found:
    return Found(check="engine", level="ok", text=name if fault is None else f"{name}: {fault}")


# ── backups ──────────────────────────────────────────────


def _backup(notes: dict[str, str], now_ms: int) -> Iterator[Found]:
    """Only who makes backups is told how old the newest is."""
    if backup.NOTE not in notes:
        return
    note = msgspec.json.decode(notes[backup.NOTE], type=backup.Note)
    text = f"the newest is of {wire.rfc3339(note.at_ms // 1000 * 1000)}, {note.bytes} bytes"
    old = now_ms - note.at_ms > _BACKUP_OLD_MS
    hint = "what makes them may have stopped: jobctl backup FILE"
    yield Found(check="backup", level="warn" if old else "ok", text=text, hint=hint if old else "")


def _restored(notes: dict[str, str], now_ms: int) -> Iterator[Found]:
    if "restored" not in notes:
        return
    facts: dict[str, Any] = msgspec.json.decode(notes["restored"])
    at_ms = int(facts.get("at_ms", 0))
    if now_ms - at_ms < _RESTORED_MS:
        text = f"at {facts['at']} a copy of {facts['copy_of']} took the place of the database"
        hint = "jobctl why JOB --since tells what became unknown"
        yield Found(check="restored", level="note", text=text, hint=hint)


# ── files ──────────────────────────────────────────────


def _files(state_dir: str) -> Iterator[Found]:
    """Whose the files are, and who else may read them."""
    uid, wrong = os.geteuid(), []
    for name in sorted(os.listdir(state_dir)):
        found = os.lstat(os.path.join(state_dir, name))
        mode = stat.S_IMODE(found.st_mode)
        if found.st_uid != uid:
            wrong.append((f"{name} belongs to uid {found.st_uid}", f"chown {uid} {os.path.join(state_dir, name)}"))
        elif not stat.S_ISLNK(found.st_mode) and mode & 0o077 and name.startswith("jobctl"):
            wrong.append((f"{name} is open to others, mode {mode:04o}", f"chmod 600 {os.path.join(state_dir, name)}"))
    for text, hint in wrong:
        yield Found(check="files", level="bad", text=text, hint=hint)
    if not wrong:
        yield Found(check="files", level="ok", text="all files of the daemon are its own and closed to others")


def _kept(state_dir: str) -> Iterator[Found]:
    """Databases that a restore has replaced: nobody else removes them."""
    folder = os.path.join(state_dir, "replaced")
    if not os.path.isdir(folder):
        return
    size = sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names)
    text = f"{len(os.listdir(folder))} replaced by a restore, {size} bytes in {folder}"
    yield Found(check="kept", level="note", text=text, hint="remove what you do not need any more")


# ── all of it ──────────────────────────────────────────────


def _rules(broken: Iterable[Broken]) -> Iterator[Found]:
    found = list(broken)
    for one in found:
        where = ", ".join(one.where) + (", …" if one.count > len(one.where) else "")
        text = f"{one.of} {where}: this does not hold: {one.sentence} ({one.count})"
        if one.of == "table":
            text, hint = f"table {where}: {one.sentence}", "stop the daemon and restore a backup: jobctl restore FILE"
        elif one.lasting:
            hint = _REPORT
        else:
            text = f"{one.of} {where}: more are active than may be ({one.count}): a limit was lowered meanwhile"
            hint = "nothing has to be done: it holds again when they have ended"
        yield Found(check="records", level="bad" if one.lasting else "note", text=text, hint=hint)
    if not found:
        yield Found(
            check="records", level="ok", text="every table is sound, and every invariant that tables can show holds"
        )


async def _claims(call: Call) -> list[Found]:
    """Attempts that are running by the store, against those that runners hold; both looks must agree."""
    first = await _mismatched(call)
    if any(first):
        await asyncio.sleep(_APART_S)  # noqa: TID251 - a pause that nothing ends
    second = await _mismatched(call) if any(first) else first
    lonely, foreign = (sorted(before & after) for before, after in zip(first, second, strict=True))
    findings = []
    if lonely:
        text = f"running, and no runner knows them: {_some(lonely)}"
        findings.append(Found(check="claims", level="bad", text=text, hint="jobctl daemon stop and start settles them"))
    if foreign:
        text = f"held by runners, and no run knows them: {_some(foreign)}"
        hint = "of another database, before a restore: they run on, unrecorded; their ends are in jobd.log"
        findings.append(Found(check="claims", level="warn", text=text, hint=hint))
    if not findings:
        findings.append(Found(check="claims", level="ok", text="what is running is what the runners hold"))
    return findings


async def _mismatched(call: Call) -> tuple[set[str], set[str]]:
    held = call.services.execution.held()
    running = {attempt_id(run.run_id, run.fence) for run in await call.services.store.running()}
    held |= call.services.execution.held()  # handed over while the store was asked
    return running - held, held - running


async def _logs(call: Call) -> list[Found]:
    """Logs that no attempt refers to. Retention removes those that are a day old."""
    directory = call.services.logs.directory
    unknown: list[tuple[int, int]] = []
    for folder in await asyncio.to_thread(log_folders.folders, directory):
        found = await asyncio.to_thread(log_folders.files, directory, folder)
        files = sorted({(file.run_id, file.fence) for file in found})  # a log and its times are one
        for at in range(0, len(files), _BATCH):
            unknown += await call.services.store.unknown_logs(files[at : at + _BATCH])
    if not unknown:
        return [Found(check="logs", level="ok", text="every log is of an attempt that is known")]
    text = f"{len(unknown)} of no attempt that is known: {_some([f'{run_id}-{fence}' for run_id, fence in unknown])}"
    return [Found(check="logs", level="note", text=text, hint="nothing has to be done: they are removed after a day")]


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
