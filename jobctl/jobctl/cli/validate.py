"""`jobctl validate`: what is wrong with files of jobs, all of it at once; needs no daemon."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from jobctl.cli.ending import Ended, How
from jobctl.cli.jobfiles import as_json, how_many, named, read_all
from jobctl.cli.session import Session

if TYPE_CHECKING:
    from jobctl.jobfiles import JobFile

_NAMED_MAX = 5

EXAMPLES = (
    ("jobctl validate web.toml", "every mistake as FILE:LINE:COLUMN: what is wrong – how to mend it"),
    ("jobctl validate /etc/jobctl/jobs.d", "all files of a folder, and what is wrong between them"),
    ("jobctl validate - < web.toml && cp web.toml /etc/jobctl/jobs.d/", ""),
    ("jobctl validate --json .", "for a program"),
)


def verb(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE|DIR]…", help="- is stdin; else what the daemon reads", show_default=False),
    ] = None,
) -> None:
    """Look for mistakes in files of jobs (jobs.toml(5)). Changes nothing and needs no daemon.

    Ends with 1 when there is a mistake. What looks odd and may be meant so is a warning, and none.
    """
    session: Session = ctx.obj
    folder = own_folder(session)
    read = read_all(session, named(files or ([folder] if os.path.isdir(folder) else [])))
    render = session.render
    render.listing(
        [_item(file) for file in read],
        name=lambda item: str(item["path"]),
        fields=("path", "jobs", "problems"),
        show=lambda _: _show(session, read),
    )
    if any(file.problems for file in read):
        raise Ended(How.TROUBLE)


def own_folder(session: Session) -> str:
    """The jobs.d of the daemon that this user would start."""
    from jobctl.paths import daemon_places

    return daemon_places(session.world.environ, session.world.uid).jobs_dir


def _item(file: "JobFile") -> dict[str, object]:
    return {
        "path": file.path,
        "jobs": [job.name for job in file.jobs],
        "problems": [as_json(problem) for problem in file.problems],
    }


def _show(session: Session, read: "list[JobFile]") -> None:
    render = session.render
    if not read:
        render.word("there is no file of jobs; name one, or a folder of them")
    for file in read:
        for problem in file.problems:
            render.flow(str(problem))
        if not file.problems:
            render.line(f"{file.path}: {how_many(len(file.jobs), 'job')}, no mistakes")
            _warn(session, file)
    wrong = sum(len(file.problems) for file in read)
    if wrong:
        render.word(f"{how_many(wrong, 'mistake')} in {how_many(sum(bool(file.problems) for file in read), 'file')}")


def _warn(session: Session, file: "JobFile") -> None:
    """What looks odd; what many jobs have in common is told once."""
    from jobctl.cli.slips import slips
    from jobctl.jobfiles.saying import in_file_words

    found: dict[str, list[str]] = {}
    for job in file.jobs:
        for slip in slips(job.draft, uid=session.world.uid, environ=session.world.environ):
            found.setdefault(in_file_words("", slip, "")[0], []).append(job.name)
    for text, names in found.items():
        some = ", ".join(names[:_NAMED_MAX]) + (" and others" if len(names) > _NAMED_MAX else "")
        session.render.word(f"warning: {file.path}: {some}: {text}")
