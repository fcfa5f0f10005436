"""GET, PUT and DELETE /v1/crontab: a user's own table, as crontab(1) lists, installs and removes it."""

import base64
import binascii
import hashlib
import pwd
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
import structlog
from aiohttp.web_response import Response, StreamResponse

from jobctl.crontabs.check import CRONTAB_BYTES_MAX, Fault, Verdict, check
from jobctl.errors import CallerError, Conflict, Forbidden, InvalidInput, JobctlError, NotFound, TooLarge
from jobctl_daemon.api.answers import answer, nothing
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.callers import ROOT
from jobctl_daemon.api.context import Tables
from jobctl_daemon.api.definitions import checked, checked_in_turn
from jobctl_daemon.api.queries import Query
from jobctl_daemon.patience import within
from jobctl_daemon.spool import Check, Spool

log = structlog.get_logger("jobctl.crontab")

_DIRECTORY_S: Final = 5.0
#: `If-Match` of a caller who has seen no table.
_NONE: Final = '"none"'


class Whose(Query, frozen=True):
    """`user`: another one's table; for root alone."""

    user: str | None = None


class Put(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a PUT. `dry_run`: only say what would come of it."""

    base64: str
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class _Table:
    """The table that a call is about."""

    tables: Tables
    spool: Spool
    user: str
    uid: int
    eyes: int | None
    """Who looks at it; None: root, who sees whoever's."""


async def get(call: Call) -> StreamResponse:
    """The bytes of the table; 404 when there is none, 403 when the file is another account's. What is wrong with it is
    said as well."""
    table = await _table(call)
    data = await checked(table.spool.read, table.user, eyes=table.eyes)
    _tell(call, "LIST", table)
    if data is None:
        raise _none(table.user)
    verdict = await checked_in_turn(call, check, data, table.user)
    shown = {
        "user": table.user,
        "path": table.spool.path(table.user),
        "base64": base64.b64encode(data).decode("ascii"),
        "problems": _listed(verdict.faults or verdict.warnings),
    }
    return _tagged(answer(shown), data)


async def put(call: Call) -> StreamResponse:
    """Installs it and runs it from now on. 400 with every line that is refused; then nothing has changed."""
    table = await _table(call)
    data, dry_run = await _sent(call)
    verdict = await checked_in_turn(call, check, data, table.user)
    if verdict.faults:
        raise _refused(verdict)
    done = {"user": table.user, "path": table.spool.path(table.user), "jobs": verdict.jobs}
    problems = _listed(verdict.warnings)
    if dry_run:
        return answer({**done, "problems": problems, "loaded": False, "why": None})
    await checked(table.spool.replace, table.user, table.uid, data, _unchanged(call), eyes=table.eyes)
    _tell(call, "REPLACE", table)
    log.info("crontab.replaced", user=table.user, by=call.caller.name, bytes=len(data))
    why = await _load(table)
    return _tagged(answer({**done, "problems": problems, "loaded": why is None, "why": why}), data)


async def delete(call: Call) -> StreamResponse:
    """204; its jobs are gone with it. 404 when there is none."""
    table = await _table(call)
    if not await checked(table.spool.remove, table.user, _unchanged(call), eyes=table.eyes):
        raise _none(table.user)
    _tell(call, "DELETE", table)
    log.info("crontab.removed", user=table.user, by=call.caller.name)
    await _load(table)
    return nothing()


def _tell(call: Call, event: str, table: _Table) -> None:
    """The line that crontab(1) writes to the system's log."""
    call.services.audit.crontab(call.caller.name, event, table.user)


async def _table(call: Call) -> _Table:
    """Whose table it is, where it is, and that it is ours to change."""
    wanted = call.query(Whose).user
    caller, host = call.caller, call.services.host
    user = caller.name if wanted is None else wanted
    if user != caller.name and (caller.uid != ROOT or host.uid != ROOT):
        raise Forbidden("must be privileged to use -u", "only root names another user's crontab")
    tables = _live(call.services.tables, system=host.uid == ROOT)
    spool = Spool(tables.spool, host.uid == ROOT)
    spool.path(user)  # what is no name is refused before anybody is asked who that is
    uid = caller.uid if user == caller.name else await checked(_uid_of, user)
    return _Table(tables, spool, user, uid, None if caller.uid == ROOT else uid)


def _live(tables: Tables | None, *, system: bool) -> Tables:
    if tables is not None and tables.live:
        return tables
    taken = "root takes them over: jobctl import crontab --system --apply; until then they are kept with cron's crontab"
    hint = taken if system else "see `crontabs` in jobd.toml"
    raise Conflict("this daemon does not run crontabs as they stand", hint, details={"field": "crontabs"})


def _uid_of(user: str) -> int:
    try:
        return within(_DIRECTORY_S, partial(pwd.getpwnam, user), f"who the user {user!r} is").pw_uid
    except (KeyError, ValueError) as error:
        raise InvalidInput(f"there is no user {user!r} on this host", "see getent passwd", field="user") from error


async def _sent(call: Call) -> tuple[bytes, bool]:
    try:
        body = await call.body(Put)
        data = base64.b64decode(body.base64, validate=True)
    except binascii.Error as error:
        raise InvalidInput("this is no base64", "send the bytes of the table in base64", field="base64") from error
    except TooLarge as error:
        raise _too_large() from error
    if len(data) > CRONTAB_BYTES_MAX:
        raise _too_large()
    return data, body.dry_run


def _too_large() -> TooLarge:
    return TooLarge(f"a crontab has at most {CRONTAB_BYTES_MAX:,} bytes", "put long commands in scripts")


def _unchanged(call: Call) -> Check | None:
    """Refuses a table that is no longer the one that the caller has seen, where they say which that is."""
    seen = call.request.headers.get("If-Match")
    if seen is None:
        return None

    def compare(found: bytes | None) -> None:
        if seen != (_NONE if found is None else _tag(found)):
            raise Conflict("the crontab has been changed meanwhile", "look at it again", details={"field": "If-Match"})

    return compare


async def _load(table: _Table) -> str | None:
    """Why its jobs are not as it says yet; the table is on the disk, and the daemon goes on trying."""
    try:
        await table.tables.load_now(table.spool.path(table.user))
    except JobctlError as error:
        log.warning("crontab.not_loaded", user=table.user, error=error.message)
        return error.message
    return None


def _none(user: str) -> NotFound:
    return NotFound(f"no crontab for {user}", "make one: crontab -e")


def _refused(verdict: Verdict) -> CallerError:
    lines = [fault for fault in verdict.faults if fault.line]
    told = "; ".join(f"line {fault.line}: {fault.reason}" for fault in lines[:3]) or verdict.faults[0].reason
    more = f"; and {len(lines) - 3} more" if len(lines) > 3 else ""
    return CallerError(
        f"errors in crontab file, can't install: {told}{more}",
        "mend them; nothing was changed",
        details={"problems": _listed(verdict.faults)},
    )


def _listed(faults: tuple[Fault, ...]) -> list[dict[str, Any]]:
    return [{"line": one.line, "text": one.text, "reason": one.reason, "kind": one.kind} for one in faults]


def _tag(data: bytes) -> str:
    return f'"{hashlib.sha256(data).hexdigest()}"'


def _tagged(response: Response, data: bytes) -> Response:
    response.headers["ETag"] = _tag(data)
    return response
