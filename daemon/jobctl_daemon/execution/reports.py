"""The runner's reports as typed values: the one place where its JSON is looked into."""

import functools
import signal
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from jobctl_daemon.decide.outcome import Result
from jobctl_daemon.execution.identity import boot_id

Message = dict[str, Any]
NO_ROOM_FOR_LOG: Final = "log_incomplete(ENOSPC)"
"""In the detail of a result: while the command ran, or at its end, there was no room for what it printed."""
EMPTIED: Final = "the command emptied its own log"
"""The detail of an end that is fine but for its output: opening it by name does that, as in `> /dev/stderr`."""
_GOING: Final = (signal.SIGHUP, signal.SIGTERM, signal.SIGKILL)
_SAYS_GOING: Final = tuple(128 + number for number in _GOING)
"""How a shell says the same of its last command."""


@dataclass(frozen=True, slots=True)
class Underway:
    """A start is made by a child of the runner, which takes the next one meanwhile."""

    run_id: int
    fence: int


@dataclass(frozen=True, slots=True)
class Started:
    """A command runs. `started_ms` is wall time."""

    run_id: int
    fence: int
    pid: int
    pid_start: int
    started_ms: int
    ends_boot_ms: int | None = None
    """When its timeout and its grace are over, in ms since boot; None: never, or a runner that does not tell."""


@dataclass(frozen=True, slots=True)
class Ended:
    """An attempt is over: what the runner recorded."""

    result: Result


@dataclass(frozen=True, slots=True)
class Refused:
    """The start could not be carried out now (no process to be had, an older attempt alive): no attempt is burnt."""

    run_id: int
    fence: int
    why: str


@dataclass(frozen=True, slots=True)
class Draining:
    """The runner takes no more starts."""


@dataclass(frozen=True, slots=True)
class Rescanned:
    """The runner has looked for what dead runners left, and has reported it; `busy`: another one was looking."""

    busy: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """What a runner holds: attempt id → starting, running or ended."""

    attempts: dict[str, str]


Report = Underway | Started | Ended | Refused | Held | Draining | Rescanned


def parse(line: bytes, now_ms: int) -> list[Report]:
    """The reports in one line; what this version does not know is passed over."""
    message: Message = msgspec.json.decode(line)
    if "started" in message:
        return [_started(message["started"])]
    if "starting" in message:
        return [Underway(*_ids(message["starting"]["id"]))]
    if "ended" in message:
        return [_ended(message["ended"], now_ms)]
    if "failed" in message:
        return [_ended(message["failed"], now_ms)]
    if "refused" in message:
        return _refused(message["refused"], now_ms)
    if "list" in message:
        return _listed(message["list"], now_ms)
    if "draining" in message:
        return [Draining()]
    if "rescanned" in message:
        return [Rescanned(bool(message["rescanned"].get("busy")))]
    return []


def _listed(entries: list[Message], now_ms: int) -> list[Report]:
    reports: list[Report] = [Held({entry["id"]: entry["state"] for entry in entries})]
    for entry in entries:
        if entry["state"] == "ended" and entry.get("result"):
            reports.append(_ended(entry["result"], now_ms))
        elif entry["state"] == "running":
            reports.append(_started(entry))
    return reports


def _started(entry: Message) -> Started:
    run_id, fence = _ids(entry["id"])
    return Started(run_id, fence, entry["pid"], entry["pid_start"], entry["started_at"], entry.get("ends_boot_ms"))


def _ended(entry: Message, now_ms: int) -> Report:
    """A start that failed for want of something that comes back is no end."""
    if entry.get("transient"):
        run_id, fence = _ids(entry["id"])
        return Refused(run_id, fence, _spawn_detail(entry))
    return Ended(_result(entry, now_ms))


def _refused(entry: Message, now_ms: int) -> list[Report]:
    run_id, fence = _ids(entry["id"])
    why = str(entry["reason"])
    if entry.get("invalid"):  # asking again would be refused again
        return [Ended(Result(run_id=run_id, fence=fence, ended_ms=now_ms, cause="spawn_error", detail=why))]
    refused = Refused(run_id, fence, why)
    return [Draining(), refused] if why == "draining" else [refused]


def _spawn_detail(entry: Message) -> str:
    return ": ".join(filter(None, (entry.get("errno"), entry.get("detail"))))


def _detail(entry: Message, cause: str | None) -> str | None:
    """What is to be known of it besides its end."""
    said = _spawn_detail(entry)
    if not said and cause is None and entry.get("log_truncated"):
        return EMPTIED
    return said or None


def _cause(entry: Message) -> str | None:
    """What a boot has left unread that has ended since, and was killed by nobody here, went down with the machine."""
    cause: str | None = entry.get("cause")
    if entry.get("interrupted"):
        return "interrupted"
    of_another_boot = entry.get("boot_id") not in (None, _this_boot())
    if cause is None and of_another_boot and _went(entry.get("signal"), entry.get("exit_code")):
        return "interrupted"
    return cause


def may_be_the_shutdown(result: Result) -> bool:
    """Whether it died as everything does when a machine goes down, and nobody here did it."""
    return result.cause is None and not result.oom and _went(result.signal, result.exit_code)


def _went(number: int | None, code: int | None) -> bool:
    return number in _GOING or code in _SAYS_GOING


@functools.cache
def _this_boot() -> str:
    return boot_id()


def _result(entry: Message, now_ms: int) -> Result:
    run_id, fence = _ids(entry["id"])
    cause = _cause(entry)
    return Result(
        run_id=run_id,
        fence=fence,
        ended_ms=entry.get("ended_at") or now_ms,
        started_ms=entry.get("started_at"),
        pid=entry.get("pid"),
        pid_start=entry.get("pid_start"),
        exit_code=entry.get("exit_code"),
        signal=entry.get("signal"),
        cause=cause,
        detail=_detail(entry, cause),
        oom=bool(entry.get("oom")),
        cpu_ms=entry.get("cpu_ms"),
        max_rss_kb=entry.get("max_rss_kb"),
        log_size=entry.get("log_size"),
        log_dropped_from=entry.get("log_dropped_from"),
        log_dropped_to=entry.get("log_dropped_to"),
        signals=tuple((at, name) for at, name in entry.get("signals") or ()),
        left_behind=tuple(entry.get("left_behind") or ()),
    )


def _ids(attempt: str) -> tuple[int, int]:
    run_id, _, fence = attempt.partition("-")
    return int(run_id), int(fence)
