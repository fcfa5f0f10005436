"""`jobctl apply`: the jobs of files become what the files say."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from jobctl.cli.applying import ORDER, Adopt, Files, How, Prune, plan, sent, show_head, show_tail, to_send
from jobctl.cli.ending import Ended
from jobctl.cli.ending import How as Ending
from jobctl.cli.session import Session
from jobctl.client.sync import Client
from jobctl.errors import JobctlError

Json = dict[str, Any]

EXAMPLES = (
    ("jobctl apply web.toml", "jobs that are new are made, changed ones changed"),
    ("jobctl apply web.toml --dry-run", "only say what would change, as jobctl diff does"),
    ("jobctl apply ~/jobs --prune", "all files of a folder; jobs that are in none of them any more are removed"),
    ("ssh web jobctl export jobs | jobctl apply -", ""),
    ("jobctl export jobs --to web.toml; jobctl apply --adopt web.toml", "jobs made by hand get a file"),
    ("jobctl apply", "the files in jobs.d, at once instead of within a second"),
)


def verb(
    ctx: typer.Context,
    files: Files = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change, and change nothing")] = False,
    prune: Prune = False,
    adopt: Adopt = False,
) -> None:
    """Make jobs what files of jobs (jobs.toml(5)) say. Of a file all jobs are taken or none; of a broken one none.

    The jobs belong to the file from then on: they are changed there, not by hand. A job that did not change keeps its
    place in time; a changed one counts from now. With --adopt a job made by hand keeps its history under a file. Ends
    with 1 when a file in jobs.d is broken.
    """
    session: Session = ctx.obj
    how = How(prune, adopt, dry_run)
    if dry_run:
        from jobctl.cli.planned import show_plan

        planned = plan(session, session.reader(), files, how)
        show_plan(session, planned)
        _end_with_mistakes(planned)
    elif files:
        _apply(session, session.writer(), files, how)
    else:
        _load_folder(session, session.writer(), how)


def _apply(session: Session, client: Client, files: Sequence[str], how: How) -> None:
    done: list[Json] = []
    for sending in to_send(session, client, files, how):
        shown = sending.file.shown
        try:
            done.append({**sent(client, sending, how), "path": shown})
        except JobctlError:
            if done:
                _show(session, done)
                session.render.word(f"{shown} and what comes behind it was not applied")
            raise
    _show(session, done)


def _load_folder(session: Session, client: Client, how: How) -> None:
    answer = client.apply_folder(adopt=how.adopt)
    _show(session, answer["files"], folder=str(answer["folder"]))
    _end_with_mistakes(answer["files"])


def _end_with_mistakes(files: Sequence[Json]) -> None:
    if any(file.get("problems") for file in files):
        raise Ended(Ending.TROUBLE)


def _show(session: Session, files: list[Json], folder: str | None = None) -> None:
    render = session.render
    render.listing(
        files,
        name=lambda file: str(file["path"]),
        fields=("path", "items", "notes"),
        show=lambda _: _show_files(session, files),
    )
    if folder is not None and not files and not render.machine:
        render.word(f"there is no file of jobs in {folder}")


def _show_files(session: Session, files: list[Json]) -> None:
    for file in files:
        show_head(session, file)
        for item in sorted(file["items"], key=lambda item: (ORDER.index(item["action"]), item["name"])):
            if item["action"] != "unchanged":
                session.render.line(f"  {item['action']:<8} {item['name']}")
        show_tail(session, file)
