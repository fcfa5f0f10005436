"""`jobctl dlq show`: one dead letter, all that is needed to decide about it."""

from typing import Annotated, Any, Final

import typer

from jobctl.cli import describe, outdated, unset
from jobctl.cli.select import find_job, quoted
from jobctl.cli.session import Session
from jobctl.cli.tail import tail_offset
from jobctl.cli.worked import work_of
from jobctl.client.sync import Client
from jobctl.errors import Conflict, JobctlError, NotFound
from jobctl.reading import attempts, spawning
from jobctl.reading.facts import of_work, put_back
from jobctl.reading.safe import LogFilter

EXAMPLES = (
    ("jobctl dlq show 4812", ""),
    ("jobctl dlq show backup", "the newest of a job"),
    ("jobctl dlq show 4812 --json | jq .attempts", ""),
)
_INDENT: Final = 13
_LINES: Final = 10
_LINE_BYTES_MAX: Final = 16_384
#: Of a replay, with --current or without.
_TAKEN: Final = (
    "recorded is what is run: command, input, environment, user, directory; "
    "retries, timeout, queue and all else are the job's of now"
)


def verb(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN|JOB", help="the id of a dead letter, or a job for its newest")],
) -> None:
    """Show one dead letter: why, what it ran, its attempts, the end of its log, and what can be done."""
    session: Session = ctx.obj
    client, render = session.reader(), session.render
    found = _dead(client, run)
    tries, work = client.attempts(found["id"]), work_of(client, found)
    if render.output in {"json", "ndjson"}:
        render.json({**found, "work": work, "attempts": tries})
        return
    if render.machine:
        render.names([str(found["id"])])
        return
    render.flow(f"run {found['id']} of {found['job']}   DEAD: {describe.failure(found)}")
    facts = [
        *_facts(session, found),
        *of_work(work),
        *attempts.facts(tries, session.viewer, state=str(found["state"])),
    ]
    for label, text in facts:
        render.fact(f"  {label}", text, _INDENT)
    _show_log(session, client, found)
    commands = _next(found, _job(client, found))
    wide = max(len(command) for command, _ in commands) + 4
    for command, comment in commands:
        render.fact(f"  {command}", comment, wide)
    render.flow(f"  {_TAKEN}")


def _dead(client: Client, text: str) -> dict[str, Any]:
    """By its id, or the newest of a job, also of one that was removed. Digits are a run first."""
    if not text.isdigit():
        return _newest(client, text)
    try:
        run = client.run(text)
    except NotFound as error:
        raise NotFound(f"there is no run {text}", "see jobctl dlq ls --runs") from error
    if run["state"] != "dead":
        raise Conflict(f"run {text} is no dead letter: {describe.ended(run)}", f"see jobctl show {text} --run")
    return run


def _newest(client: Client, name: str) -> dict[str, Any]:
    try:
        job = find_job(client, name)
    except NotFound as error:
        found = next((run for run in client.dead(q=quoted(name)) if run["job"] == name), None)
        if found is None:
            raise error from None
        return found
    found = next(iter(client.dead(limit=1, job=job["id"])), None)
    if found is None:
        raise NotFound(f"{job['name']} has no dead letters", f"see its history: jobctl runs {job['name']}")
    return found


def _facts(session: Session, run: dict[str, Any]) -> list[tuple[str, str]]:
    viewer = session.viewer
    reason = spawning.in_words(str(run["reason"] or describe.failure(run)))
    facts = [("died", viewer.both(run["finished_at"])), ("reason", reason)]
    if run["put_back"]:
        facts[1:1] = put_back(run, viewer.both(run["put_back"]["at"]))
    if run["class"]:
        facts.append(("class", run["class"]))
    if describe.first_line(run["error"]):
        facts.append(("error", describe.first_line(run["error"])))
    if hint := unset.hint(run):
        facts.append(("hint", hint))
    facts.append(("for", f"{viewer.full(run['scheduled_at'])}, trigger {run['trigger']}, version {run['version']}"))
    facts.append(("replays", str(run["replays"]) if run["replays"] else "none"))
    facts.append(("key", f"{run['key']}   fence {run['fence']}"))
    facts.append(("alike", f"jobctl dlq ls --runs --fingerprint {run['fingerprint']}"))
    return facts


def _show_log(session: Session, client: Client, run: dict[str, Any]) -> None:
    """Its last lines, safe on any terminal. One that is gone, or was never begun, is no error here."""
    render = session.render
    try:
        data = client.log(run["id"], offset=tail_offset(client, run["id"], None, _LINES)).read()
    except JobctlError as error:
        render.fact("  log", error.message, _INDENT)
        return
    lines = LogFilter().feed(data[-_LINE_BYTES_MAX:], final=True).splitlines()
    if not lines:
        render.fact("  log", "it printed nothing", _INDENT)
        return
    render.line("  log")
    for line in lines:
        render.line(f"    {line}")


def _job(client: Client, run: dict[str, Any]) -> dict[str, Any]:
    """Empty when it was removed."""
    try:
        return client.job(run["job_id"])
    except NotFound:
        return {}


def _next(run: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str]]:
    ident, job = run["id"], run["job"]
    version = f", version {now['version']}" if outdated.is_older(run, now) else ""
    return [
        (f"jobctl log {ident}", "all that it printed"),
        (f"jobctl dlq replay {ident}", f"run it again under its key, as version {run['version']} of {job} says"),
        (f"jobctl dlq replay {ident} --current", f"with what {job} is now{version}"),
        (f"jobctl dlq replay {ident} --edit", "with another command, environment or input"),
        (f"jobctl dlq discard {ident}", "give it up"),
    ]
