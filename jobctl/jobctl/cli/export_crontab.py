"""`jobctl export crontab`: jobs as a crontab, and as comments those that cron cannot express."""

from typing import Annotated

import typer

from jobctl.cli.options import grouped
from jobctl.cli.select import Selector, named_jobs
from jobctl.cli.session import Session
from jobctl.errors import Conflict, Forbidden
from jobctl.reading.safe import cell

EXAMPLES = (
    ("jobctl export crontab", "all jobs, on stdout"),
    ("jobctl export crontab --tag crontab --to old.crontab", "what was imported, into a file"),
    ("jobctl export crontab --system --all", "with a user column, for /etc/cron.d"),
)


@grouped
def verb(
    ctx: typer.Context,
    which: Selector,
    to: Annotated[str | None, typer.Option("--to", metavar="FILE", help="write here instead of stdout")] = None,
    system: Annotated[bool, typer.Option("--system", help="with a user column, as in /etc/crontab")] = False,
) -> None:
    """Write jobs as a crontab: schedules, commands, input after %, variables, CRON_TZ.

    What cron cannot do (every 10 s, on start, time limits) becomes a comment with the reason. Without a selection all
    jobs are written.
    """
    from jobctl.crontabs.export import export
    from jobctl.schedule import host_zone

    session: Session = ctx.obj
    client = session.reader()
    asked = which.names or which.filters or which.all
    listed = named_jobs(client, which) if asked else client.jobs()
    jobs = [client.job(job["id"]) for job in listed]  # lists carry neither variables nor input
    exported = export(jobs, caller=caller_of(session), host_zone=host_zone()[0], system=system)
    if to is not None:
        save(to, exported.data)
    if session.render.machine:
        comments = [{"name": name, "reason": reason} for name, reason in exported.comments]
        text = exported.data.decode("utf-8", "backslashreplace")
        session.render.json({"schema": 1, "crontab": text, "lines": exported.lines, "not_for_cron": comments})
    elif to is None:
        print_text(session, exported.data)
    for name, reason in exported.comments:
        session.render.word(f"not for cron: {cell(name)}: {cell(reason)}")


def print_text(session: Session, data: bytes) -> None:
    """As it is into a pipe; made safe on a terminal."""
    if session.render.out.terminal:
        for line in data.decode("utf-8", "surrogateescape").splitlines():
            session.render.line(line)
    else:
        session.render.bytes(data)


def save(path: str, data: bytes) -> None:
    """A new file; `Conflict` when there is one."""
    try:
        with open(path, "xb") as file:
            file.write(data)
    except FileExistsError as error:
        raise Conflict(f"{path} exists already", "name a new file") from error
    except OSError as error:
        raise Forbidden(f"{path} cannot be written", details={"why": error.strerror}) from error


def caller_of(session: Session) -> str:
    """The login name of whoever asks."""
    from jobctl.crontabs.users import name_of_uid

    return name_of_uid(session.world.uid)
