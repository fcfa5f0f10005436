"""`jobctl run`: a job now, or a command once."""

# ruff: noqa: ARG001  the options are read together, as ctx.params

import os
from shlex import quote as shell_word
from typing import Annotated, Any

import typer

from jobctl.cli import definition, draft, over
from jobctl.cli.ending import CommandEnded
from jobctl.cli.follow import Watched, follow_log, has_log, is_active, log_writer, until_over, until_started
from jobctl.cli.select import find_job, zone_of
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput, NotFound
from jobctl.reading.times import milliseconds

EXAMPLES = (
    ("jobctl run backup", "now, whatever its schedule"),
    ("jobctl run backup --follow", "with its output; ends with its exit code"),
    ("jobctl run -- make -C /srv/site all", "a command once, here and with this PATH"),
    ("jobctl run --in 10m -- systemctl restart web", "once, later"),
    ("jobctl run import --key order-4711", "the same key never runs twice"),
)
_SOON_MS = 1_000
#: What belongs to a job itself: only a command of its own takes it.
_OF_COMMANDS = (
    "shell", "name", "env", "stdin", "user", "cwd", "umask", "timeout", "grace", "log_max", "retries", "backoff",
    "backoff_max", "on_failure", "notify", "queue", "priority", "note",
)  # fmt: skip


def verb(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB]", help="a job, by name or id", show_default=False)
    ] = None,
    at: definition.At = None,
    later: definition.In = None,
    tz: definition.Zone = None,
    shell: definition.Shell = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="how to call the run", rich_help_panel=definition.ABOUT)
    ] = None,
    env: definition.Env = None,
    stdin: definition.Stdin = None,
    user: definition.User = None,
    cwd: definition.Cwd = None,
    umask: definition.Umask = None,
    timeout: definition.Timeout = None,
    grace: definition.Grace = None,
    queue: definition.Queue = None,
    priority: definition.Priority = None,
    log_max: definition.LogMax = None,
    retries: definition.RetriesOfRun = None,
    backoff: definition.Backoff = None,
    backoff_max: definition.BackoffMax = None,
    on_failure: definition.OnFailureOfRun = None,
    notify: definition.Notify = None,
    note: definition.Note = None,
    idempotency_key: definition.Key = None,
    wait: Annotated[bool, typer.Option("--wait", help="wait, and end with the command's exit code")] = False,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="show its output, and end with its exit code")] = False,
    quiet: definition.Quiet = False,
) -> None:
    """Run a job now, or a command once. A run goes on when you stop watching it."""
    session: Session = ctx.obj
    job, extra = (words[0], words[1:]) if words else (None, [])
    if extra:
        draft.refuse_words(extra, "run", " ".join(map(shell_word, words or ())))
    client = session.writer()
    run = _of_job(session, client, job, ctx.params) if job else _of_command(session, client, ctx.params)
    _announce(session, run, quiet=quiet, watched=wait or follow)
    if wait or follow:
        _watch(session, client, run, follow=follow, quiet=quiet)


def _watch(session: Session, client: Client, run: dict[str, Any], *, follow: bool, quiet: bool) -> None:
    """Until it is over. ^C ends the watching only, and says so."""
    try:
        if follow:
            _follow(session, client, run)
        ended = until_over(session, client, run, quiet=quiet)
    except KeyboardInterrupt:
        session.render.word(f"run {run['id']} goes on: jobctl log {run['id']} -f, jobctl cancel {run['id']}")
        raise
    end(session, ended, quiet=quiet)


def _follow(session: Session, client: Client, run: dict[str, Any]) -> None:
    """From the attempt on that there was when it was asked for: by the first look it may be over, and be retried."""
    first = max(1, run["attempt"])
    run = until_started(session, client, run)
    if has_log(run):
        write, finish = log_writer(session, raw=False)
        watched = Watched(write)
        follow_log(session, client, {**run, "attempt": first}, write=watched)
        finish()
        watched.end_line(session)


def _of_job(session: Session, client: Client, job: str, options: dict[str, Any]) -> dict[str, Any]:
    given = [name for name in _OF_COMMANDS if options[name] or options[name] == 0]
    if session.command is not None or options["shell"] is not None:
        what = "-- COMMAND" if session.command is not None else "--shell"
        raise InvalidInput(f"{what} is for a command of its own, and {job!r} is a job", "leave one of them out")
    if given:
        raise _of_its_definition(find_job(client, job)["name"], "--" + given[0].replace("_", "-"))
    if options["at"] is not None and options["tz"] is None:
        options = {**options, "tz": zone_of(client, find_job(client, job))}
    at = draft.moment(session, options, f"jobctl run {job}")
    body = {"run_at": at} if at else {}
    try:
        return draft.told(lambda: client.trigger(job, body, options["idempotency_key"]))
    except NotFound:
        find_job(client, job)  # names the nearest
        raise


def _of_its_definition(name: str, option: str) -> InvalidInput:
    return InvalidInput(
        f"a run of a job takes the job's definition: {option} is not for one run of {name}",
        f"jobctl edit {shell_word(name)} changes it; jobctl dlq replay RUN --edit changes what one dead letter runs",
        field=option,
    )


def _of_command(session: Session, client: Client, options: dict[str, Any]) -> dict[str, Any]:
    if session.command is None and options["shell"] is None:
        raise InvalidInput("run what?", "name a job, or put a command behind --")
    environ = session.world.environ
    body = draft.fields(session, options)
    body |= {"target": draft.target(session, options["shell"]), "cwd": body.get("cwd") or os.getcwd()}
    taken = {"PATH": environ["PATH"]} if environ.get("PATH") else {}
    body["env"] = taken | draft.variables(options["env"] or (), environ)
    at = draft.moment(session, options, draft.run_now(body["target"]))
    body |= {"run_at": at} if at else {}
    _warn(session, options, body)
    return draft.told(lambda: client.create_run(body, options["idempotency_key"]))


def _warn(session: Session, options: dict[str, Any], body: dict[str, Any]) -> None:
    """Of a run that is due later, and of what its end could not say: of one that starts now it says what was wrong."""
    if "run_at" not in body and "notify" not in body:
        return
    from jobctl.cli.slips import clock_change, no_mail, slips
    from jobctl.schedule import host_zone

    environ = session.world.environ
    found = slips(body, uid=session.world.uid, environ=environ) if "run_at" in body else [*no_mail(body, environ)]
    if options["at"] is not None:
        found += clock_change(options["at"], milliseconds(body["run_at"]), options["tz"] or host_zone()[0])
    for slip in found:
        session.render.word(f"warning: {slip}")


def _announce(session: Session, run: dict[str, Any], *, quiet: bool, watched: bool) -> None:
    render = session.render
    if quiet:
        render.line(str(run["id"]))
        return
    if render.machine and watched:
        return  # one document: the run when it is over
    if render.machine:
        print_run(session, run)
        return
    later = milliseconds(run["due_at"]) > session.viewer.now_ms + _SOON_MS
    when = f", due {session.viewer.both(run['due_at'])}" if later else ""
    text = f"run {run['id']} of {run['job']}{when}"
    (render.word if watched else render.flow)(text)


def print_run(session: Session, run: dict[str, Any]) -> None:
    if session.render.output in {"name", "csv"}:
        session.render.names([str(run["id"])])
    else:
        session.render.json(run)


def end(session: Session, run: dict[str, Any], *, quiet: bool = False) -> None:
    """Say how it went and end as the command did."""
    if session.render.machine:
        print_run(session, run)
    elif not quiet and not is_active(run):
        session.render.word(over.words(run, session.viewer))
        over.tell_next(session, [run])
    raise CommandEnded(run)
