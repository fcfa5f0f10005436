"""GET /v1/crontabs, POST /v1/crontabs/live: the tables that this daemon runs as they stand, and whether it does."""

from typing import Any

from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.crontabs.crond import running
from jobctl.errors import Conflict, Forbidden
from jobctl.model import Value
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.callers import ROOT
from jobctl_daemon.api.context import Tables
from jobctl_daemon.api.definitions import checked
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.status import shown_file
from jobctl_daemon.files import FileState


class Live(Value, frozen=True):
    """The body. `since`: the instant from which new jobs count, so that nothing is lost after cron's end. `force`: also
    while a cron daemon runs the same tables."""

    on: bool
    since: str | None = None
    force: bool = False


async def crontabs(call: Call) -> StreamResponse:
    """Every table, or the caller's own, with what was refused of it."""
    call.query(NoQuery)
    return answer(_shown(call))


async def live(call: Call) -> StreamResponse:
    """Takes all tables of the host over, or lets them go: then their jobs are removed, and their history stays."""
    call.query(NoQuery)
    wanted = await call.body(Live)
    tables = call.services.tables
    if call.caller.uid != ROOT:
        raise Forbidden("only root decides who runs the crontabs of this host", "ask root")
    if tables is None or call.services.host.uid != ROOT:
        raise Conflict("a user's daemon runs that user's own crontab only", "ask the system's daemon")
    since_ms = call.instant(wanted.since, "since")
    if since_ms is not None and since_ms > call.now_ms:
        raise Conflict("since is a time to come", "give the time at which cron was stopped", details={"field": "since"})
    if wanted.on:
        await _must_be_possible(tables, force=wanted.force)
    elif tables.wanted == "on":
        raise Conflict('jobd.toml says `crontabs = "on"`', "take that out, and reload the daemon")
    await tables.set_live(wanted.on, since_ms)
    call.services.changed()
    return answer(_shown(call))


async def _must_be_possible(tables: Tables, *, force: bool) -> None:
    if tables.wanted == "off":
        raise Conflict('jobd.toml says `crontabs = "off"`', "take that out, and reload the daemon")
    found = [] if force else await checked(running, tables.root)
    if found:
        raise Conflict(
            f"{found[0].words} runs, and would run every line too",
            "stop it first, as `jobctl import crontab --system --apply` does",
            details={"pids": [process.pid for process in found]},
        )


def _shown(call: Call) -> dict[str, Any]:
    tables, caller = call.services.tables, call.caller
    report = call.services.health.snapshot()
    items = [shown_file(state) for state in report.tables if _is_theirs(call, state)]
    watch = report.polling.get("crontabs")
    return {
        "schema": wire.SCHEMA,
        "live": tables is not None and tables.live,
        "spool": tables.spool
        if tables is not None and (caller.all_owners or not call.services.places.system)
        else None,
        "watch": {"how": "events" if watch is None else "polling", "why": watch},
        "items": items,
        "next": None,
    }


def _is_theirs(call: Call, state: FileState) -> bool:
    caller = call.caller
    return state.kind == "crontab" and (caller.all_owners or state.is_of(caller.uid, caller.name))
