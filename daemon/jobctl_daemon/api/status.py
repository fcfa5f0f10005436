"""GET /v1/status: the daemon on one page."""

import asyncio
import dataclasses
import os
from typing import Any, Final

from aiohttp.web_response import StreamResponse

import jobctl
from jobctl import wire
from jobctl.errors import Unavailable
from jobctl.model import Queue
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.context import ClockReport, HealthReport, Lag, Services
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.queues import daemon_as_queue
from jobctl_daemon.api.rights import ROOT, operates
from jobctl_daemon.files import FileState, Problem
from jobctl_daemon.rows import Caller, Counts

#: Who asks how the daemon is wants to hear it also when its store hangs.
_STORE_S: Final = 2.0
_NO_LAG: Final = Lag(count=0, p50_ms=None, p99_ms=None, max_ms=None)
#: The installer's words: see arrange_return in install.sh.
_BY_CRON: Final = "cron starts it"
#: What somebody who does not operate the daemon hears of what is wrong with it: the words may name others' jobs.
TROUBLE: Final = "the daemon is in trouble; its administrators see what it is: jobctl status, as root"


async def status(call: Call) -> StreamResponse:
    """Everything that `jobctl status` shows; costs no scan."""
    call.query(NoQuery)
    now_ms = call.now_ms
    await call.services.execution.look()
    counts, pause = await _counted(call.services, call.caller, now_ms)
    paused = daemon_as_queue(pause, counts, call.services.settings.slots) if pause else None
    shown = {
        **_daemon(call.services, now_ms),
        "caller": _who(call),
        **_work(counts, now_ms),
        "paused": paused,
        **_health(call.services, call.caller),
        "standbys": await call.services.health.standbys(),
    }
    return answer(shown if operates(call.caller, call.services.host.uid) else {**shown, **_for_others(shown)})


def _who(call: Call) -> dict[str, Any]:
    """As whom the caller is served, and what the numbers are of."""
    caller = call.caller
    role = "root" if caller.uid == ROOT else "admin" if caller.all_owners else "user"
    return {"uid": caller.uid, "name": caller.name, "role": role}


def _for_others(shown: dict[str, Any]) -> dict[str, Any]:
    """What is said in place of all that tells of others: how much is done here, by which processes, and what fails."""
    return {
        "runner_pid": None,
        "runners": [],
        "standbys": [],
        "services": {},
        "database_bytes": None,
        "start_lag": _NO_LAG,
        "loop_lag": _NO_LAG,
        "syslog": None,
        "warnings": [TROUBLE] if shown["warnings"] else [],
    }


async def _counted(services: Services, caller: Caller, now_ms: int) -> tuple[Counts, Queue | None]:
    try:
        async with asyncio.timeout(_STORE_S):
            return await services.store.counts(caller, now_ms), await services.store.daemon_pause()
    except TimeoutError as error:
        why = await services.health.tried() or "the store is slow"
        raise Unavailable(f"the daemon runs, but {why}", "see its log", details={"why": why}) from error


def _daemon(services: Services, now_ms: int) -> dict[str, Any]:
    host, places = services.host, services.places
    runners = services.execution.runners()
    return {
        "schema": wire.SCHEMA,
        "version": jobctl.__version__,
        "protocol": wire.PROTOCOL,
        "pid": services.pid,
        "runner_pid": runners[0]["pid"] if runners else None,
        "runners": runners,
        "started_at": wire.rfc3339(services.started_ms),
        "uptime_s": (services.clock.boot_ms() - services.started_boot_ms) / 1000,
        "now": wire.rfc3339(now_ms),
        "timezone": host.timezone,
        "timezone_from": host.timezone_from,
        "tzdata": host.tzdata,
        "host": host.hostname,
        "user": host.user,
        "system": places.system,
        "home": places.home,
        "socket": places.socket,
        "state_dir": places.state_dir,
        "database_bytes": _database_bytes(places.database),
        "engine": dict(zip(("name", "note"), services.store.engine(), strict=True)),
        "slots": services.settings.slots,
    }


def _work(counts: Counts, now_ms: int) -> dict[str, Any]:
    oldest_ms = counts.oldest_due_ms
    return {
        "running": counts.running,
        "ready": counts.ready,
        "retrying": counts.retrying,
        "scheduled": counts.scheduled,
        "oldest_due_s": None if oldest_ms is None else max(0, now_ms - oldest_ms) / 1000,
        "jobs": {"total": counts.jobs, "paused": counts.paused, "failed": counts.failed, "parked": counts.parked},
        "dead": {"total": counts.dead, "newest_at": _at(counts.newest_dead_ms)},
        "skipping": counts.skipping,
        "quarantined": counts.quarantined,
        "untold": counts.untold,
        "next_run_at": _at(counts.next_ms),
        "last_event": counts.last_event,
    }


def _health(services: Services, caller: Caller) -> dict[str, Any]:
    report = services.health.snapshot()
    returns, why = _returns(services, report)
    return {
        "state": "stopping" if report.stopping else "running",
        "start_lag": report.start_lag,
        "loop_lag": report.loop_lag,
        "services": report.services,
        "warnings": report.warnings,
        "returns_after_reboot": returns,
        "returns_after_reboot_why": why,
        "clock": _clock(report.clock),
        "tables": [
            shown_file(state) for state in report.tables if caller.all_owners or state.is_of(caller.uid, caller.name)
        ],
        "syslog": _syslog(services),
    }


def _returns(services: Services, report: HealthReport) -> tuple[bool, str]:
    """What the installer arranged; but cron starts nobody once the daemon has taken its place."""
    live = services.places.system and services.tables is not None and services.tables.live
    if live and report.returns_after_reboot_why.startswith(_BY_CRON):
        return False, "cron was to start it, and it has taken cron's place: run ./install.sh where init or systemd runs"
    return report.returns_after_reboot, report.returns_after_reboot_why


def _syslog(services: Services) -> dict[str, Any] | None:
    written = services.audit.written()
    return None if written is None else dataclasses.asdict(written)


def shown_file(state: FileState) -> dict[str, Any]:
    """A file that declares jobs, as status and the list of crontabs show it."""
    return {
        "path": state.path,
        "kind": state.kind,
        "jobs": state.jobs,
        "loaded_at": _at(state.loaded_ms),
        "problems": [shown_problem(one) for one in state.problems],
    }


def shown_problem(problem: Problem) -> dict[str, Any]:
    """What of a file was refused, and why."""
    return {"line": problem.line, "column": problem.column, "text": problem.text, "reason": problem.reason}


def _clock(report: ClockReport) -> dict[str, Any]:
    step, down = report.last_step, report.last_down
    return {
        "synchronised": report.synchronised,
        "generation": report.generation,
        "last_step": None
        if step is None
        else {"at": _at(step.at_ms), "from": _at(step.from_ms), "to": _at(step.to_ms)},
        "last_down": None if down is None else {"from": _at(down.from_ms), "to": _at(down.to_ms), "clean": down.clean},
    }


def _at(at_ms: int | None) -> str | None:
    return None if at_ms is None else wire.rfc3339(at_ms)


def _database_bytes(path: str) -> int:
    """The database and its write-ahead log. Only looked at: opening it would drop SQLite's locks."""
    size = 0
    for name in (path, f"{path}-wal"):
        try:
            size += os.stat(name).st_size
        except OSError:
            continue
    return size
