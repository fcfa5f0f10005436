"""`jobctl restore`: a backup in the place of the database, while no daemon runs. A program of the daemon does it."""

import json
import os
import subprocess
import sys
from typing import Annotated, Any, Final

import typer

from jobctl.cli.progress import Progress
from jobctl.cli.session import Session
from jobctl.client.start import of_no_run
from jobctl.errors import InternalError, InvalidInput, from_code

EXAMPLES = (
    ("jobctl daemon stop; jobctl restore /srv/backup/jobctl.db; jobctl daemon start", "running commands go on"),
    ("jobctl restore /srv/backup/jobctl.db --catch-up", "what was missed since then runs by each job's misfire policy"),
)
_PROGRAM: Final = ("-m", "jobctl_daemon.restore")


def verb(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="what `jobctl backup` has made")],
    catch_up: Annotated[
        bool, typer.Option("--catch-up", help="run what was missed, by the misfire policy of each job")
    ] = False,
) -> None:
    """Put a backup in the place of the database. The daemon must be stopped; commands that run go on.

    What is replaced is kept. What was due between the backup and now may have run: it does not run again, and each job
    gets a row that says so (`jobctl why`). Attempts that runners still hold are taken over.
    """
    session: Session = ctx.obj
    if session.places.named:
        raise InvalidInput("a database is in its own folder", "choose its places with JOBCTL_HOME, not a socket")
    with Progress(session, "restore"):
        done = subprocess.run(
            [sys.executable, *_PROGRAM, os.path.abspath(file), *(["--catch-up"] if catch_up else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd="/",
            env=of_no_run(session.world.environ),
            check=False,
        )
    found = _answer(done)
    if session.render.machine:
        session.render.json(found)
    else:
        _tell(session, found)


def _answer(done: "subprocess.CompletedProcess[bytes]") -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise InternalError(
            f"the restore ended with {done.returncode} and said nothing",
            "the database is the old one or the new one as a whole; jobctl daemon start finishes what was begun",
        ) from error
    if done.returncode:
        raise from_code(found["code"], found["message"], found["hint"], found["details"])
    return found


def _tell(session: Session, found: dict[str, Any]) -> None:
    render, view = session.render, session.viewer
    jobs = _count(found["jobs"], "job")
    render.flow(f"restored {jobs} from a copy of {view.full(found['copy_of'])}")
    if found["replaced"]:
        render.fact("replaced", f"kept in {found['replaced']}", 12)
    if found["jobs_moved"]:
        unknown = _count(found["occurrences_unknown"], "occurrence")
        words = " that did not run" if found["catch_up"] else " of which nobody knows whether they ran"
        render.fact("past", f"{_count(found['jobs_moved'], 'job')}, {unknown}{words}: jobctl why JOB", 12)
    ended = [
        f"{found[name]} {words}"
        for name, words in (
            ("lost", "lost"),
            ("buried", "to the dead letters"),
            ("skipped", "skipped"),
            ("cancelled", "cancelled"),
        )
        if found[name]
    ]
    if ended:
        render.fact("runs", ", ".join(ended) + "; none of them runs again by itself: jobctl dlq ls", 12)
    if found["taken_over"]:
        render.fact("attempts", f"{len(found['taken_over'])} that runners hold were taken over", 12)
    if found["left_alone"]:
        text = f"{', '.join(found['left_alone'])}: of jobs that the copy does not know; they run on, unrecorded"
        render.fact("left alone", text, 12)
    following = found["next_run_at"]
    render.fact("next run", view.full(following) if following else "none is due", 12)
    render.word("requests with a key from after the copy are not known any more; start it: jobctl daemon start")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
