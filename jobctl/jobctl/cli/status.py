"""`jobctl status`: is the daemon alive, and what is wrong."""

from collections.abc import Iterator
from shlex import quote
from typing import Annotated, Any, Final, NoReturn

import typer

from jobctl import __version__
from jobctl.cli import describe
from jobctl.cli.dead import count_words
from jobctl.cli.ending import Ended, How
from jobctl.cli.session import Session
from jobctl.cli.times import Viewer, duration, milliseconds, rfc3339, span, took
from jobctl.client.sync import Client
from jobctl.client.transport import PROTOCOL, mismatch
from jobctl.errors import Unavailable

EXAMPLES = (
    ("jobctl status", ""),
    ("jobctl status --check || alert", "a line for each trouble, and then 1"),
    ("jobctl status --check --new 15m", "for a monitor that asks every quarter of an hour"),
)
_INDENT: Final = 8
#: What is due and not started for longer is a trouble.
_OLDEST_DUE_S: Final = 60
_NEW_MS: Final = 86_400_000
#: A time without a daemon is told for so long, from so much on: a restart takes some of it.
_LATELY_MS: Final = 86_400_000
_GAP_MS: Final = 10_000
#: How runners end commands where nothing can leave them.
_GROUPS: Final = "cgroup"
#: Who has paused what the daemon paused by itself.
_ITSELF: Final = "jobd"


def verb(
    ctx: typer.Context,
    check: Annotated[bool, typer.Option("--check", help="only what is wrong, and end with 1 if anything is")] = False,
    new: Annotated[
        str | None, typer.Option("--new", metavar="DURATION", help="with --check: how long a dead letter is new (24h)")
    ] = None,
) -> None:
    """Show the daemon: alive, keeping up, and what is wrong. `jobctl` alone does the same.

    With --check it is a line for each trouble: starts that are over 60 s behind, dead letters that are new, jobs that
    are quarantined, are skipped again and again or whose schedule cannot be expanded, a service that fails or stalls, a
    store that takes no write, a warning. What a person has paused is a line too, but no trouble.
    """
    session: Session = ctx.obj
    new_ms = _NEW_MS
    if new is not None:
        from jobctl.cli.draft import duration_ms

        new_ms = duration_ms("--new", new)
    client = session.reader()
    status = client.status()
    render = session.render
    if str(status["protocol"]) != PROTOCOL:
        _show_foreign(session, status)
    if check:
        _check(session, client, status, new_ms)
    elif render.output in {"json", "ndjson"}:
        render.json(status)
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    else:
        _show(session, status, _paused(client, status))


def _show_foreign(session: Session, status: dict[str, Any]) -> NoReturn:
    """What a daemon of another protocol surely says; nothing else is believed."""
    if session.render.machine:
        session.render.json(status)
    else:
        session.render.fact("jobd", f"{status['version']}, {status['state']}, pid {status['pid']}", _INDENT)
        session.render.fact("jobctl", f"{__version__}, this program", _INDENT)
    raise mismatch(str(status["protocol"]))


def _check(session: Session, client: Client, status: dict[str, Any], new_ms: int) -> None:
    render, pauses = session.render, _paused(client, status)
    own = [pause for pause in pauses if pause["paused_by"] == _ITSELF]
    alarms = [*_alarms(status, client, session.viewer, new_ms), *_held(own, session.viewer)]
    alarms += _unready(client, alarms)
    notes = list(_held([pause for pause in pauses if pause not in own], session.viewer))
    if render.output in {"json", "ndjson"}:
        render.json({**status, "troubles": alarms, "notes": notes})
    elif render.output in {"name", "csv"}:
        render.names([str(status["state"])])
    else:
        for line in (*alarms, *notes):
            render.flow(line)
    if alarms:
        raise Ended(How.TROUBLE)


def _unready(client: Client, told: list[str]) -> list[str]:
    """Why it cannot take work, as a write of its own shows, unless that is told already."""
    try:
        client.ready()
    except Unavailable as error:
        known = {_without_numbers(text) for text in told}
        return [] if _without_numbers(error.message) in known else [error.message]
    return []


def _without_numbers(text: str) -> str:
    return "".join(letter for letter in text if not letter.isdigit())


def _paused(client: Client, status: dict[str, Any]) -> list[dict[str, Any]]:
    """The daemon's pause, and those of queues."""
    queues = [queue for queue in client.queues() if queue["paused"] and queue["name"]]
    return [status["paused"], *queues] if status["paused"] else queues


def _alarms(status: dict[str, Any], client: Client, viewer: Viewer, new_ms: int) -> Iterator[str]:
    """What a monitor is to hear of, one sentence each."""
    yield from _unwell(status)
    dead = status["dead"]
    if dead["newest_at"] and viewer.now_ms - milliseconds(dead["newest_at"]) < new_ms:
        since = duration(new_ms / 1000)
        new = sum(1 for _ in client.dead(since=rfc3339(viewer.now_ms - new_ms + 1)))
        words = count_words(new).replace("dead", "new dead")
        yield (f"{words} in {since}, of {dead['total']} in all, the newest {viewer.ago(dead['newest_at'])}: "
               f"jobctl dlq ls --since {since}")  # fmt: skip
    yield from _jobs_in_trouble(status)


def _troubles(status: dict[str, Any]) -> Iterator[str]:
    """What is wrong, new or not."""
    yield from _unwell(status)
    if status["dead"]["total"]:
        yield f"{count_words(status['dead']['total'])}: jobctl dlq ls"
    if status["jobs"]["failed"]:
        yield f"{status['jobs']['failed']} failed: jobctl ls --state failed"
    yield from _jobs_in_trouble(status)


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


def _jobs_in_trouble(status: dict[str, Any]) -> Iterator[str]:
    if status["quarantined"]:
        yield f"{status['quarantined']} quarantined after too many dead letters: jobctl ls --state quarantined"
    if status["skipping"]:
        yield f"{status['skipping']} skipped again and again: jobctl ls --state skipping"
    if status["jobs"]["parked"]:
        yield f"{status['jobs']['parked']} parked, their schedules cannot be expanded: jobctl ls --state parked"


def _show(session: Session, status: dict[str, Any], pauses: list[dict[str, Any]]) -> None:
    fact, viewer = session.render.fact, session.viewer
    kind = "system" if status["system"] else f"of {status['user']}"
    if status["home"]:
        kind = f"trial of {status['user']} in JOBCTL_HOME {status['home']}"
    up = span(status["uptime_s"]) + _down(status["clock"]["last_down"], viewer)
    installed = "" if status["version"] == __version__ else f" (installed is {__version__}: start it anew)"
    fact("jobd", f"{status['version']}{installed}, {status['state']} for {up}, pid {status['pid']}, {kind}", _INDENT)
    for label, text in _facts(viewer, status):
        fact(label, text, _INDENT)
    for pid in status.get("standbys", ()):
        fact("standby", f"pid {pid} takes over when this one is gone", _INDENT)
    back = status["returns_after_reboot"]
    text = "comes back after a reboot" if back else "will NOT come back after a reboot or logout"
    why = f": {status['returns_after_reboot_why']}" if status.get("returns_after_reboot_why") else ""
    fact("reboot", text + why, _INDENT, "" if back else "bad")
    for line in _pauses(pauses, viewer):
        fact("paused", line, _INDENT, "warn")
    for line in _troubles(status):
        fact("trouble", line, _INDENT, "bad")
    if status["untold"]:
        number = f"{status['untold']} job" + ("" if status["untold"] == 1 else "s")
        fact("note", f"nobody is told of failures of {number}: jobctl edit JOB --notify mail", _INDENT)


def _pauses(pauses: list[dict[str, Any]], viewer: Viewer) -> Iterator[str]:
    for pause in pauses:
        what, resume = f"queue {pause['name']}", f"jobctl queue resume {quote(pause['name'])}"
        if not pause["name"]:
            what, resume = "the daemon", "jobctl daemon resume"
        yield f"{what}, {describe.paused(pause, viewer)}; {resume}"


def _held(pauses: list[dict[str, Any]], viewer: Viewer) -> Iterator[str]:
    yield from (f"paused: {line}" for line in _pauses(pauses, viewer))


def _down(down: dict[str, Any] | None, viewer: Viewer) -> str:
    """How long there was no daemon before this one, if that was lately: one that was killed may have been idle."""
    if down is None or viewer.now_ms - milliseconds(down["to"]) > _LATELY_MS:
        return ""
    gap_ms = milliseconds(down["to"]) - milliseconds(down["from"])
    if gap_ms < _GAP_MS:
        return ""
    clock = viewer.alike([down["from"], down["to"]])
    if down["clean"]:
        return f", after {span(gap_ms / 1000)} without a daemon ({clock(down['from'])} to {clock(down['to'])})"
    seen = f"last sign of life {clock(down['from'])}, back {clock(down['to'])}"
    return f", after up to {span(gap_ms / 1000)} without a daemon ({seen})"


def _facts(viewer: Viewer, status: dict[str, Any]) -> Iterator[tuple[str, str]]:
    jobs, lag = status["jobs"], status["start_lag"]
    yield "socket", status["socket"]
    yield "clock", viewer.full(status["now"]) + _clock(status["clock"], viewer)
    yield "zone", f"{status['timezone']}, from {status['timezone_from']}; tzdata {status['tzdata']}"
    counts = [f"{jobs[word]} {word}" for word in ("failed", "parked", "paused") if jobs[word]]
    yield "jobs", f"{jobs['total']}" + (f": {', '.join(counts)}" if counts else "")
    ready = max(0, status["ready"] - status["retrying"])
    retrying = f"{status['retrying']} waiting for a retry, " if status["retrying"] else ""
    waiting = f"{ready} ready, {retrying}{status['scheduled']} scheduled"
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
    without = sorted({runner["kill_by"] for runner in status["runners"] if runner["kill_by"]} - {_GROUPS})
    if without:
        yield "kills", f"by {', '.join(without)}: there is no place for control groups"


def _clock(clock: dict[str, Any], viewer: Viewer) -> str:
    """What is to be known of the host's clock; nothing when all is well, or nothing is known."""
    parts = ["not synchronised"] if clock["synchronised"] is False else []
    step = clock["last_step"]
    if step:
        moved_s = (milliseconds(step["to"]) - milliseconds(step["from"])) / 1000
        way = "forward" if moved_s >= 0 else "back"
        parts.append(f"stepped {way} by {span(moved_s)} {viewer.ago(step['at'])}")
    return "".join(f"; {part}" for part in parts)
