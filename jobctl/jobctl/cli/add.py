"""`jobctl add`: a job with a schedule, or one that is run by hand."""

from typing import Annotated, Any

import typer

from jobctl.cli import draft, plan
from jobctl.cli.added import show_added
from jobctl.cli.definition import ABOUT, Definition, Key, Quiet
from jobctl.cli.options import grouped
from jobctl.cli.session import Session
from jobctl.errors import InvalidInput
from jobctl.reading.times import milliseconds

EXAMPLES = (
    ('jobctl add backup --cron "0 3 * * *" -- /usr/local/bin/backup --full', "every day at 03:00, host time"),
    ('jobctl add report --cron "30 8 * * 1-5" --tz Europe/Berlin --shell "make report | mail boss"', ""),
    ("jobctl add poll --every 90s --timeout 30s -- /opt/poll", "every 90 seconds from now on"),
    ("jobctl add --in 10m -- systemctl restart web", "once; the name is made from the command"),
    ("jobctl add publish --after report -- /opt/publish", "whenever report has succeeded"),
    ("jobctl add pull --every 5m --retries 5 --backoff 30s --notify mail -- /opt/pull", "and tell me when it fails"),
    ("jobctl add --line '*/5 * * * * cd /srv && ./sync' --dry-run", "what a crontab line would become"),
)


@grouped
def verb(
    ctx: typer.Context,
    definition: Definition,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]", help="a name; else one is made", show_default=False)
    ] = None,
    paused: Annotated[
        bool, typer.Option("--paused", help="add it, but do not start it", rich_help_panel=ABOUT)
    ] = False,
    idempotency_key: Key = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be added")] = False,
    quiet: Quiet = False,
) -> None:
    """Add a job. The command behind -- is run as it is, without a shell; --shell LINE runs a line."""
    session: Session = ctx.obj
    name, extra = (words[0], words[1:]) if words else (None, [])
    plan.check_quotes(words or [], extra, definition.cron)
    if words and extra:
        from jobctl.cli.misplaced import refuse

        refuse(ctx, words)
    options = {**definition._asdict(), "name": name, "idempotency_key": idempotency_key}
    body = _body(session, options) | ({"paused": True} if paused else {})
    found = _slips(session, options, body)
    client = session.reader() if dry_run else session.writer()
    if dry_run:
        answer = draft.told(lambda: client.preview_job(body))
        answer["warnings"] = [*answer.get("warnings", ()), *found]
        show_added(session, answer, stored=False)
        return
    job = draft.told(lambda: client.create_job(body, idempotency_key))
    if quiet:
        session.render.line(str(job["id"]))
    elif session.render.machine:
        show_added(session, {"job": job}, stored=True)
    else:
        preview = client.job_next(job["id"], 3)
        show_added(session, {"job": job, "preview": preview, "warnings": found}, stored=True)
        return
    for slip in found:
        session.render.word(f"warning: {slip}")


def _slips(session: Session, options: dict[str, Any], body: dict[str, Any]) -> list[str]:
    """What of it is likely to mean something else, as far as this side can see."""
    from jobctl.cli.slips import clock_change, slips
    from jobctl.schedule import host_zone

    found = slips(body, uid=session.world.uid, environ=session.world.environ)
    if options["at"] is not None:
        at_ms = milliseconds(body["schedule"]["at"])
        found += clock_change(options["at"], at_ms, options["tz"] or host_zone()[0])
    return found


def _body(session: Session, options: dict[str, Any]) -> dict[str, Any]:
    """The JobDraft."""
    body = draft.fields(session, options)
    read = plan.crontab_line(options["line"]) if options["line"] is not None else {}
    if read and (session.command is not None or options["shell"] is not None):
        raise InvalidInput("--line has a command already", "leave -- COMMAND and --shell out", field="--line")
    body |= {"target": read.pop("target", None) or draft.target(session, options["shell"]), "source": "cli"}
    if read.get("stdin") is not None:
        body["stdin"] = read["stdin"]
    schedule = plan.schedule(session, options, read.get("schedule", {}), draft.run_now(body["target"]))
    if schedule:
        body["schedule"] = schedule
    if options["tz"] is not None:
        body["timezone"] = options["tz"]
    return body
