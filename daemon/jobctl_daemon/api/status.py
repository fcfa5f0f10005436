"""GET /v1/status: the daemon on one page."""

import os
from typing import Any

from aiohttp.web_response import StreamResponse

import jobctl
from jobctl import wire
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.rows import Counts


async def status(call: Call) -> StreamResponse:
    """Everything that `jobctl status` shows; costs no scan."""
    call.query(NoQuery)
    now_ms = call.now_ms
    counts = await call.services.store.counts(call.caller, now_ms)
    return answer({**_daemon(call.services, now_ms), **_work(counts, now_ms), **_health(call.services)})


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
        "socket": places.socket,
        "state_dir": places.state_dir,
        "database_bytes": _database_bytes(places.database),
        "slots": services.settings.slots,
    }


def _work(counts: Counts, now_ms: int) -> dict[str, Any]:
    oldest_ms = counts.oldest_due_ms
    return {
        "running": counts.running,
        "ready": counts.ready,
        "scheduled": counts.scheduled,
        "oldest_due_s": None if oldest_ms is None else max(0, now_ms - oldest_ms) / 1000,
        "jobs": {"total": counts.jobs, "paused": counts.paused, "failed": counts.failed, "parked": counts.parked},
        "next_run_at": None if counts.next_ms is None else wire.rfc3339(counts.next_ms),
        "last_event": counts.last_event,
    }


def _health(services: Services) -> dict[str, Any]:
    report = services.health.snapshot()
    return {
        "state": "stopping" if report.stopping else "running",
        "start_lag": report.start_lag,
        "services": report.services,
        "warnings": report.warnings,
        "returns_after_reboot": report.returns_after_reboot,
        "returns_after_reboot_why": report.returns_after_reboot_why,
    }


def _database_bytes(path: str) -> int:
    """The database and its write-ahead log. Only looked at: opening it would drop SQLite's locks."""
    size = 0
    for name in (path, f"{path}-wal"):
        try:
            size += os.stat(name).st_size
        except OSError:
            continue
    return size
