"""Files of jobs on their way to the daemon: what is asked of it, and its answers with the places in the file."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer

from jobctl.cli.jobfiles import Named, how_many, named, read_all, refuse_broken
from jobctl.cli.moves import Moves, moving
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput
from jobctl.reading.safe import cell

if TYPE_CHECKING:
    from jobctl.jobfiles import JobFile

Json = dict[str, Any]

ORDER: Final = ("created", "adopted", "changed", "removed", "left", "unchanged")
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE|DIR]…", help="- is stdin; without one jobs.d of the daemon", show_default=False),
]
Prune = Annotated[bool, typer.Option("--prune", help="remove jobs that a file declared and does no more")]
Adopt = Annotated[bool, typer.Option("--adopt", help="jobs made by hand that have a name of a file become the file's")]
_KEPT: Final = "; its jobs stay as they are"


class How(NamedTuple):
    """What the caller wants beside the files."""

    prune: bool
    adopt: bool
    dry_run: bool


def plan(session: Session, client: Client, files: Sequence[str] | None, how: How) -> list[Json]:
    """What an apply would do, a file each: {"path", "items", "notes", "problems"}."""
    if not files:
        found: list[Json] = client.apply_folder(dry_run=True, adopt=how.adopt)["files"]
        return found
    return [
        {"problems": [], **sent(client, sending, how), "path": sending.file.shown}
        for sending in to_send(session, client, files, how)
    ]


class Sending(NamedTuple):
    """One file on its way. `read` is None for one that is gone."""

    file: Named
    read: "JobFile | None"
    moves: Moves


def to_send(session: Session, client: Client, files: Sequence[str], how: How) -> list[Sending]:
    """The files, of which none has a mistake that can be seen from here."""
    where = named(files)
    read = read_all(session, where)
    refuse_broken(session, read)
    folders = {one.folder for one in where if one.folder is not None}
    jobs = list(client.jobs(done=True)) if folders or len(where) > 1 else []
    every: list[tuple[Named, JobFile | None]] = [*zip(where, read, strict=True)]
    every += [(one, None) for one in (_vanished(jobs, where) if how.prune else ())]
    declared = {one.path: [job.name for job in file.jobs] if file is not None else [] for one, file in every}
    moves = moving(jobs, declared)
    return [Sending(one, file, moves[one.path]) for one, file in every]


def _vanished(jobs: Sequence[Json], where: Sequence[Named]) -> list[Named]:
    """Files of the named folders that are gone, and whose jobs are still there."""
    folders = {one.folder for one in where if one.folder is not None}
    there = {one.path for one in where}
    paths = {str(job["declared"]) for job in jobs if job.get("declared")}
    gone = [path for path in sorted(paths - there) if os.path.dirname(path) in folders and not os.path.lexists(path)]
    return [Named(path, path) for path in gone]


def sent(client: Client, sending: Sending, how: How) -> Json:
    """What the daemon answers; mistakes that only it sees are told with their places in the file."""
    file = sending.read
    drafts = [] if file is None else [job.draft for job in file.jobs]
    ask = partial(client.apply, sending.file.path, drafts, **how._asdict(), **sending.moves.fields())
    return ask() if file is None else _told_in(file, ask)


def _told_in(file: "JobFile", ask: Callable[[], Json]) -> Json:
    try:
        return ask()
    except InvalidInput as error:
        problems = error.details.get("problems")
        if not isinstance(problems, list):
            raise
        jobs = file.jobs
        for one in problems:
            file.tell_of(jobs[one["job"]], one["field"], one["reason"], one["hint"])
        told = "\n".join(str(problem) for problem in file.problems)
        raise InvalidInput(f"nothing of {file.path} was applied:\n{told}", "mend it and apply it again") from error


def show_head(session: Session, file: Json, done: Callable[[str], str] = str) -> None:
    """`web.toml: 2 created, 5 unchanged`. `done`: what is said of an action."""
    counts = [(sum(item["action"] == action for item in file["items"]), action) for action in ORDER]
    said = ", ".join(f"{number} {done(action)}" for number, action in counts if number)
    if file.get("problems"):
        said = f"{how_many(len(file['problems']), 'mistake')}{_KEPT}"
    elif not said:
        said = f"{how_many(file['jobs'], 'job')}, as before" if file.get("jobs") else "no jobs"
    session.render.flow(f"{file['path']}: {said}")


def show_tail(session: Session, file: Json) -> None:
    """What is wrong with a file, and what else its author should know."""
    for problem in file.get("problems", ()):
        at = ":".join(str(part) for part in (problem["line"], problem["column"]) if part is not None)
        reason = str(problem["reason"]).removesuffix(_KEPT)
        session.render.flow(f"  {f'{at}: ' if at else ''}{cell(reason)}", 4)
    for note in file["notes"]:
        session.render.word(f"warning: {note['job']}: {note['text']}")
    if any(item["action"] == "left" for item in file["items"]):
        session.render.word("what is left is no longer in the file: --prune removes it")
