"""`jobctl edit`: changes a definition, by options or in an editor; what would come of it is shown first."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NamedTuple

import typer

from jobctl.cli import draft
from jobctl.cli.asking import letter
from jobctl.cli.definition import Definition, Quiet
from jobctl.cli.options import grouped
from jobctl.cli.select import find_job
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import Conflict, InvalidInput, JobctlError

EXAMPLES = (
    ('jobctl edit backup --cron "30 2 * * *"', "shows the next fires before and after, and asks"),
    ("jobctl edit backup", "all of it, in $VISUAL or $EDITOR"),
    ("jobctl edit backup --retries 5 --backoff 1m --yes", "without a question"),
    ("jobctl edit backup --clear timeout,env.DEBUG --dry-run", "the default again; only shows it"),
    ("jobctl edit backup --name nightly -- /usr/local/bin/backup --fast", "another name and command"),
)

Json = dict[str, Any]


class How(NamedTuple):
    """What the caller wants beside the change itself."""

    dry_run: bool
    yes: bool
    quiet: bool


@grouped
def verb(
    ctx: typer.Context,
    definition: Definition,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="JOB", help="a job, by name or id", show_default=False)
    ] = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NEW", help="another name")] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(
            "--clear", metavar="FIELD[,FIELD]", help="back to the default, by option: `timeout,notify,env.NAME`"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask")] = False,
    quiet: Quiet = False,
) -> None:
    """Change a job by options, or all of it in an editor. What changes and the next fires are shown first.

    A changed schedule counts from now on; a run that is running goes on as it was. --env adds variables; other lists
    are replaced.
    """
    session: Session = ctx.obj
    which = _one(words or [])
    how = How(dry_run, yes, quiet)
    options = {**definition._asdict(), "name": name}
    cleared = [word for text in clear or () for word in text.split(",") if word.strip()]
    if not cleared and session.command is None and not any(map(_is_given, options.values())):
        _in_editor(session, which, how)
        return
    from jobctl.cli.patch import patch_of

    draft.fields(session, options)  # what is wrong by itself is told before a daemon is started
    client = session.reader() if dry_run else session.writer()
    job = _made_by_hand(find_job(client, which))
    patch = patch_of(session, client, options, cleared, job)
    with _still_as(session, client, job):
        answer = draft.told(lambda: _foretold(client, job, patch))
        _show(session, job, answer, how)
        if not dry_run and answer["changes"]:
            if not yes and session.world.interactive() and letter(session, "apply? [Y/n]", "yn") != "y":
                raise Conflict("nothing was changed", "answer y, or say --yes")
            job = draft.told(lambda: _changed(client, job, patch))
    _tell(session, job, answer, how)


def _one(words: list[str]) -> str:
    if not words:
        raise InvalidInput("edit which job?", "name it: jobctl edit JOB", field="JOB")
    if len(words) > 1:
        from shlex import join

        draft.refuse_words(words[1:], f"edit {words[0]}", join(words[1:]))
    return words[0]


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ([], ())


def _in_editor(session: Session, which: str, how: How) -> None:
    from jobctl.cli import editor
    from jobctl.reading.document import text_of

    if not session.world.interactive() and not how.yes and not how.dry_run:
        raise InvalidInput("there is no terminal to edit on", "give options, or --yes: see jobctl edit --help")
    client = session.reader() if how.dry_run else session.writer()
    job = _made_by_hand(find_job(client, which))
    text = text_of(job)
    with _still_as(session, client, job):
        editor.edit(session, text, lambda after: _edited(session, client, job, text, after, how))


def _made_by_hand(job: Json) -> Json:
    """The job; `Conflict` for one that a file owns, before anybody has edited it for nothing."""
    if not job.get("declared"):
        return job
    from jobctl.cli.describe import origin

    raise Conflict(f"{job['name']} comes from {origin(job)} and cannot be edited by hand", _way(job))


def _way(job: Json) -> str:
    """How its file is changed."""
    if str(job["declared"]).endswith(f"/crontabs/{job['owner']}"):
        return "change it with jobctl crontab -e"
    crontab = str(job["source"]).startswith("crontab:")
    return "edit it there" if crontab else "edit it there; jobctl diff shows what changes"


@contextmanager
def _still_as(session: Session, client: Client, job: Json) -> Iterator[None]:
    """When somebody changed the job meanwhile: what is different now, before the error says so."""
    try:
        yield
    except Conflict:
        with suppress(JobctlError):
            _tell_what_is_new(session, job, client.job(job["id"]))
        raise


def _tell_what_is_new(session: Session, seen: Json, now: Json) -> None:
    if now["rev"] == seen["rev"] or session.render.machine:
        return
    from jobctl.cli.changed import since_seen

    changes = since_seen(seen, now)
    if changes:
        session.render.word("since you looked at it:")
    for label, text in changes:
        session.render.word(f"  {label}  {text}")


def _edited(session: Session, client: Client, job: Json, before: str, after: str, how: How) -> bool:
    """Carries out what was edited; False when it is to be edited again."""
    from jobctl.cli.editor import wants_again
    from jobctl.reading.document import changes, parsed

    asks = session.world.interactive()
    try:
        patch = changes(parsed(before), parsed(after))
        answer = _foretold(client, job, patch) if patch else {"changes": []}
    except (InvalidInput, Conflict) as error:
        told = _in_its_line(error, after)
        if not asks or client.job(job["id"])["rev"] != job["rev"]:
            raise told from error
        if wants_again(session, told):
            return False
        raise Conflict("nothing was changed", "edit it again: jobctl edit JOB") from error
    _show(session, job, answer, how)
    if not how.dry_run and answer["changes"]:
        wish = letter(session, "apply? [Y/n/e], e to edit again", "yne") if asks and not how.yes else "y"
        if wish == "e":
            return False
        if wish != "y":
            raise Conflict("nothing was changed", "answer y, or say --yes")
        job = _changed(client, job, patch)
    _tell(session, job, answer, how)
    return True


def _in_its_line(error: InvalidInput | Conflict, text: str) -> InvalidInput | Conflict:
    """The same error with the line of the text that it is about."""
    from jobctl.reading.document import line_of

    field = str(error.details.get("field") or "")
    line = line_of(text, field) if field else None
    if line is None:
        return error
    about = "" if field in error.message else f"{field}: "
    message = f"line {line}: {about}{error.message}"
    if isinstance(error, InvalidInput):
        return InvalidInput(message, error.hint, field=field)
    return Conflict(message, error.hint, details=error.details)


def _foretold(client: Client, job: Json, patch: Json) -> Json:
    """What would come of it; `Conflict` when it is no longer what was looked at."""
    return client.preview_edit(job["id"], patch, job["rev"])


def _changed(client: Client, job: Json, patch: Json) -> Json:
    return client.edit_job(job["id"], patch, job["rev"])


def _show(session: Session, job: Json, answer: Json, how: How) -> None:
    if not answer["changes"]:
        session.render.word(f"nothing {'would be' if how.dry_run else 'was'} changed: {job['name']} is as you want it")
        return
    from jobctl.cli.changed import show_changes
    from jobctl.cli.slips import slips
    from jobctl.reading.document import written

    found = slips(written(answer["job"]), uid=session.world.uid, environ=session.world.environ)
    show_changes(session, job, answer, found, aside=session.render.machine or how.quiet)


def _tell(session: Session, job: Json, answer: Json, how: How) -> None:
    """What is on stdout at the end: for programs the job, or what a dry run foretells."""
    render = session.render
    if how.quiet:
        render.line(str(job["id"]))
    elif render.output in ("name", "csv"):
        render.names([job["name"]])
    elif render.machine:
        render.json(answer if how.dry_run and answer["changes"] else job)
    elif answer["changes"] and not how.dry_run:
        render.line(f"changed {job['name']}, id {job['id']}, version {job['version']}")
        from jobctl.cli.outdated import after_edit

        if words := after_edit(job, answer["changes"]):
            render.word(words)
