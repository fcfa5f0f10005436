"""`jobctl status`: is the daemon alive, and what is wrong."""

from collections.abc import Iterator
from typing import Annotated, Any, Final

import typer

from jobctl.cli import describe
from jobctl.cli.dead import count_words
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.cli.times import Viewer, duration, milliseconds, span, took

EXAMPLES = (
    ("jobctl status", ""),
    ("jobctl status --check || alert", "a line for each trouble, and then 1"),
    ("jobctl status --check --new 15m", "for a monitor that asks every quarter of an hour"),
)
_INDENT: Final = 8
#: What is due and not started for longer is a trouble.
_OLDEST_DUE_S: Final = 60
_NEW_MS: Final = 86_400_000


def verb(
    ctx: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="only what is wrong, and end with 1 if anything is")] = False,
    new: Annotated[
        str | None, typer.Option("--new", metavar="DURATION", help="with --check: how long a dead letter is new (24h)")
    ] = None,
) -> None:
    """Show the daemon: alive, keeping up, and what is wrong. `jobctl` alone does the same.

    With --check it is a line for each trouble: starts that are over 60 s behind, dead letters that are new, a service
    that fails or stalls, a schedule that cannot be expanded, a warning.
    """
    session: Session = ctx.obj
    new_ms = _NEW_MS
    if new is not None:
        from jobctl.cli.draft import duration_ms

        new_ms = duration_ms("--new", new)
    client = session.reader()
    status = client.status()
    alarms = list(_alarms(status, session.viewer, new_ms))
    render = session.render
    if render.output in {"json", "ndjson"}:
        render.json({**status, "troubles": alarms} if check else status)
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    elif check:
        for line in alarms:
            render.flow(line)
    else:
        paused = [queue for queue in client.queues() if queue["paused"]]
        _show(session, status, paused)
    if check and alarms:
        raise Ended(How.TROUBLE)


def _alarms(status: dict[str, Any], viewer: Viewer, new_ms: int) -> Iterator[str]:
    """What a monitor is to hear of, one sentence each."""
    yield from _unwell(status)
    dead = status["dead"]
    if dead["newest_at"] and viewer.now_ms - milliseconds(dead["newest_at"]) < new_ms:
        since = duration(new_ms / 1000)
        total = count_words(dead["total"])
        yield f"a dead letter is new, {viewer.ago(dead['newest_at'])}: jobctl dlq ls --since {since} ({total} in all)"
    yield from _parked(status)


def _troubles(status: dict[str, Any]) -> Iterator[str]:
    """What is wrong, new or not."""
    yield from _unwell(status)
    if status["dead"]["total"]:
        yield f"{count_words(status['dead']['total'])}: jobctl dlq ls"
    if status["jobs"]["failed"]:
        yield f"{status['jobs']['failed']} failed: jobctl ls --state failed"
    if status["quarantined"]:
        yield f"{status['quarantined']} quarantined after too many dead letters: jobctl ls --state quarantined"
    if status["skipping"]:
        yield f"{status['skipping']} skipped again and again: jobctl ls --state skipping"
    yield from _parked(status)


def _unwell(status: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the daemon itself."""
    if status["state"] != "running":
        yield f"the daemon is {status['state']}"
    yield from (str(text) for text in status["warnings"])
    yield from _silent_services(status)
    oldest_s = status["oldest_due_s"]
    if oldest_s is not None and oldest_s > _OLDEST_DUE_S:
        yield f"the oldest due run has been waiting for {span(oldest_s)}: jobctl runs --state scheduled,ready"


def _silent_services(status: dict[str, Any]) -> Iterator[str]:
    """Services that fail and of which no warning tells."""
    for name, service in status["services"].items():
        if service.get("error") and not any(name in str(text) for text in status["warnings"]):
            yield f"{name} fails: {service['error']}"


def _parked(status: dict[str, Any]) -> Iterator[str]:
    if status["jobs"]["parked"]:
        yield f"{status['jobs']['parked']} parked, their schedules cannot be expanded: jobctl ls --state parked"


def _show(session: Session, status: dict[str, Any], queues: list[dict[str, Any]]) -> None:
    fact, viewer = session.render.fact, session.viewer
    kind = "system" if status["system"] else f"of {status['user']}"
    up = span(status["uptime_s"])
    fact("jobd", f"{status['version']}, {status['state']} for {up}, pid {status['pid']}, {kind}", _INDENT)
    for label, text in _facts(viewer, status):
        fact(label, text, _INDENT)
    back = status["returns_after_reboot"]
    text = "comes back after a reboot" if back else "will NOT come back after a reboot or logout"
    why = f": {status['returns_after_reboot_why']}" if status.get("returns_after_reboot_why") else ""
    fact("reboot", text + why, _INDENT, "" if back else "bad")
    for line in _pauses(status, queues, viewer):
        fact("paused", line, _INDENT, "warn")
    for line in _troubles(status):
        fact("trouble", line, _INDENT, "bad")
    if status["untold"]:
        number = f"{status['untold']} job" + ("" if status["untold"] == 1 else "s")
        fact("note", f"nobody is told of failures of {number}: jobctl edit JOB --notify mail", _INDENT)


def _pauses(status: dict[str, Any], queues: list[dict[str, Any]], viewer: Viewer) -> Iterator[str]:
    if status["paused"]:
        yield f"the daemon, {describe.paused(status['paused'], viewer)}; jobctl daemon resume"
    for queue in queues:
        yield f"queue {queue['name']}, {describe.paused(queue, viewer)}; jobctl queue resume {queue['name']}"


def _facts(viewer: Viewer, status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    jobs, lag = status["jobs"], status["start_lag"]
    yield "socket", status["socket"]
    yield "clock", viewer.full(status["now"]) + _clock(status["clock"], viewer)
    yield "zone", f"{status['timezone']}, from {status['timezone_from']}; tzdata {status['tzdata']}"
    counts = [f"{jobs[word]} {word}" for word in ("failed", "parked", "paused") if jobs[word]]
    yield "jobs", f"{jobs['total']}" + (f": {', '.join(counts)}" if counts else "")
    waiting = f"{status['ready']} ready, {status['scheduled']} scheduled"
    dead = f", {status['dead']['total']} dead" if status["dead"]["total"] else ""
    yield "runs", f"{status['running']} running in {status['slots']} slots, {waiting}{dead}"
    if lag.get("count"):
        yield (
            "starts",
            ", ".join(
                f"{words} {took(lag[name] / 1000)}"
                for words, name in (("half within", "p50_ms"), ("99 % within", "p99_ms"), ("at most", "max_ms"))
            ),
        )
    if status["next_run_at"]:
        yield "next", viewer.both(status["next_run_at"])


def _clock(clock: dict[str, Any], viewer: Viewer) -> str:
    """What is to be known of the host's clock; nothing when all is well, or nothing is known."""
    parts = ["not synchronised"] if clock["synchronised"] is False else []
    step = clock["last_step"]
    if step:
        moved_s = (milliseconds(step["to"]) - milliseconds(step["from"])) / 1000
        way = "forward" if moved_s >= 0 else "back"
        parts.append(f"stepped {way} by {span(moved_s)} {viewer.ago(step['at'])}")
    return "".join(f"; {part}" for part in parts)
