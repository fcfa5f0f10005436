"""`jobctl why`: reads the ledger of a job's occurrences and says what became of them."""

from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.select import find_job
from jobctl.cli.session import Session, instant
from jobctl.cli.times import Viewer, milliseconds, of_fire, rfc3339
from jobctl.client.sync import Client
from jobctl.errors import NotFound

EXAMPLES = (
    ("jobctl why backup", "what became of its last occurrences"),
    ("jobctl why backup --at 03:00", "did it run then, and why not"),
    ("jobctl why backup --since 7d", ""),
    ('jobctl why backup --at "2026-12-01 03:00"', "also times to come"),
)
_SHOWN = 10
_DAY_MS = 86_400_000
_ALWAYS = "1970-01-01T00:00:00Z"
_SINCE_MS = 7 * _DAY_MS
_REASONS = {
    "overlap": "skipped: an earlier run was still active",
    "misfire": "skipped: too late, its misfire policy did not make it up",
    "paused": "skipped: the job was paused",
    "coalesced": "not run by itself: one run stood for all",
    "deleted": "skipped: the job was removed",
    "not_due": "not due then",
}
_NO_RECORD = (
    "today's schedule was due then, but nothing is recorded: it had another one, or the record is no longer kept"
)

Entry = dict[str, Any]


def verb(
    ctx: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="a job, by name or id")],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="TIME", help="one instant: `03:00` is the last such, `2026-12-01 03:00`"),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="everything since: `2h`, `2026-12-01`")
    ] = None,
) -> None:
    """Say why a job ran, ran late, or did not run: for one instant, or for its last occurrences."""
    session: Session = ctx.obj
    client = session.reader()
    found = find_job(client, job)
    zone = (found["schedule"] or {}).get("timezone")
    if at is not None:
        moment = _last_such(session, at, zone)
        entries = [_at(session, client, found, moment)]
    else:
        begin = instant(session, since, past=True, option="--since", zone=zone)
        entries = _recent(session, client, found, begin)
    _print(session, found, entries, whole=at is None)


def _last_such(session: Session, text: str, zone: str | None) -> str:
    """An hour alone means the last time the clock showed it; `parse_when` takes the next."""
    moment = instant(session, text, zone=zone)
    assert moment is not None
    if text.replace(":", "").strip().isdigit():
        at_ms = milliseconds(moment)
        return rfc3339(at_ms - _DAY_MS) if at_ms > session.world.clock.now_ms() else moment
    return moment


def _recent(session: Session, client: Client, job: Entry, begin: str | None) -> list[Entry]:
    """The ledger since `begin`; without it its last ten entries, of a week if that has any."""
    start = begin or rfc3339(session.world.clock.now_ms() - _SINCE_MS)
    entries = list(client.ledger(job["id"], start, None))
    if not entries and begin is None:
        entries = list(client.ledger(job["id"], _ALWAYS, None, limit=1000))
    return [_told(session, client, entry) for entry in (entries if begin else entries[-_SHOWN:])]


def _told(session: Session, client: Client, entry: Entry) -> Entry:
    """The entry with `words`, and the run that it became."""
    entry = dict(entry)
    run = None
    if entry.get("run_id") is not None:
        try:
            run = client.run(entry["run_id"])
        except NotFound:
            run = None
    entry["state"] = run["state"] if run else None
    entry["words"] = _words(session.viewer, entry, run)
    return entry


def _words(viewer: Viewer, entry: Entry, run: Entry | None) -> str:
    reason, detail = entry.get("reason"), entry.get("detail")
    if run is not None and run["state"] != "skipped":
        text = _ran(viewer, run)
    elif reason:
        text = _REASONS.get(str(reason), f"skipped: {reason}")
    elif entry.get("run_id") is not None:
        text = f"ran as run {entry['run_id']}, which is no longer kept"
    else:
        text = "recorded"
    return f"{text} ({detail})" if detail else text


def _ran(viewer: Viewer, run: Entry) -> str:
    state = run["state"]
    if state in ("scheduled", "ready"):
        return f"run {run['id']} is waiting to start, due {viewer.both(run['due_at'])}"
    if state == "running":
        return f"run {run['id']} is running, {describe.run_time(run, viewer)}"
    started = f", started {viewer.clock(run['started_at'])}" if run["started_at"] else ""
    late = ""
    if run["late"] and run["started_at"]:
        late = f", late ({(milliseconds(run['started_at']) - milliseconds(run['scheduled_at'])) // 1000}s)"
    made_up = ", made up later" if run["trigger"] == "catch_up" else ""
    outcome = describe.outcome(run)
    reason = f": {run['reason']}" if run.get("reason") and run["reason"] not in outcome else ""
    return f"run {run['id']} ended {outcome}{reason}{started}{late}{made_up}"


def _at(session: Session, client: Client, job: Entry, moment: str) -> Entry:
    """What became of one instant, or what will."""
    at_ms = milliseconds(moment)
    around = list(client.ledger(job["id"], rfc3339(at_ms - 60_000), rfc3339(at_ms + 60_000)))
    covering = [entry for entry in around if _covers(entry, at_ms)]
    if covering:
        return _told(session, client, covering[0])
    if at_ms > session.world.clock.now_ms():
        return _future(session, client, job, moment)
    return _unknown(session, client, job, moment)


def _covers(entry: Entry, at_ms: int) -> bool:
    """Whether an entry is of this instant; one without seconds means its whole minute."""
    first, last = milliseconds(entry["from"]), milliseconds(entry["to"] or entry["from"])
    span_ms = 60_000 if at_ms % 60_000 == 0 else 1000
    return first < at_ms + span_ms and last >= at_ms


def _entry(moment: str, reason: str, words: str) -> Entry:
    return {"from": moment, "to": moment, "count": 0, "run_id": None, "reason": reason, "detail": None,
            "recorded_at": None, "state": None, "words": words}  # fmt: skip


def _future(session: Session, client: Client, job: Entry, moment: str) -> Entry:
    at_ms = milliseconds(moment)
    until = rfc3339(at_ms + (59_999 if at_ms % 60_000 == 0 else 999))
    fires = client.job_next(job["id"], 1, rfc3339(at_ms - 1), until)["items"]
    paused = f"; the job is paused {describe.paused(job, session.viewer)}".rstrip() if job["paused"] else ""
    if fires:
        return _entry(moment, "future", f"due then, in the future{paused}")
    following = client.job_next(job["id"], 1, moment)["items"]
    next_words = f"; the next is {of_fire(following[0])}" if following else "; it has no time to come"
    return _entry(moment, "not_due", f"not due then{next_words}{paused}")


def _unknown(session: Session, client: Client, job: Entry, moment: str) -> Entry:
    at_ms, created_ms = milliseconds(moment), milliseconds(job["created_at"])
    if at_ms < created_ms:
        return _entry(moment, "unknown", f"not known: the job was added {session.viewer.full(job['created_at'])}")
    until = rfc3339(at_ms + (59_999 if at_ms % 60_000 == 0 else 999))
    fires = client.job_next(job["id"], 1, rfc3339(at_ms - 1), until)["items"] if job["schedule"] else []
    if fires:
        return _entry(moment, "unknown", _NO_RECORD)
    following = client.job_next(job["id"], 1, moment)["items"] if job["schedule"] else []
    after = f"; the next after it is {of_fire(following[0])}" if following else ""
    why = "not due then" if job["schedule"] else "not due then: it runs by hand only"
    return _entry(moment, "not_due", why + after)


def _print(session: Session, job: Entry, entries: list[Entry], *, whole: bool) -> None:
    render, viewer = session.render, session.viewer
    if render.output in {"json", "ndjson"}:
        render.items(entries)
        return
    if render.output == "name":
        render.names(str(entry["run_id"]) for entry in entries if entry["run_id"] is not None)
        return
    if render.output == "csv":
        fields = ("from", "to", "count", "run_id", "state", "reason", "words")
        render.csv(fields, ([entry[field] for field in fields] for entry in entries))
        return
    for entry in entries:
        render.line(f"{_span(viewer, entry)}   {entry['words']}")
    if whole:
        if not entries:
            render.line("nothing was due in that time")
        _now(session, job)


def _span(viewer: Viewer, entry: Entry) -> str:
    first = viewer.full(entry["from"])
    if not entry["to"] or entry["to"] == entry["from"]:
        return first
    return f"{first} to {viewer.full(entry['to'])} ({entry['count']}×)"


def _now(session: Session, job: Entry) -> None:
    """What holds at this moment, after what was."""
    viewer, line = session.viewer, session.render.line
    if job["error"]:
        line(f"now: parked, its schedule cannot be expanded: {job['error']}")
    if job["paused"]:
        line(f"now: paused {describe.paused(job, viewer)}".rstrip())
    elif job["next_run_at"]:
        line(f"next: {viewer.full(job['next_run_at'])}, {viewer.ago(job['next_run_at'])}")
    elif not job["schedule"]:
        line(f"it runs by hand only: jobctl run {job['name']}")
