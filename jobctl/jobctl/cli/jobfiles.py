"""Files of jobs as a command line names them: found, read, checked, and what is wrong with them."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from jobctl.cli.session import Session
from jobctl.errors import Forbidden, InvalidInput, NotFound

if TYPE_CHECKING:
    from jobctl.drafts import Circumstances
    from jobctl.jobfiles import FileJob, JobFile, Problem

Json = dict[str, Any]

STDIN: Final = "-"


class Named(NamedTuple):
    """A file as it was named; `path` is what its jobs are known by."""

    shown: str
    path: str
    folder: str | None = None
    """The folder that was named instead of it."""


def named(paths: Sequence[str]) -> list[Named]:
    """Each file once; of a folder those that the daemon would read there."""
    found: dict[str, Named] = {}
    for path in paths:
        for one in _of(path):
            found.setdefault(one.path, one)
    return list(found.values())


def _of(path: str) -> list[Named]:
    if path == STDIN:
        return [Named("stdin", "stdin")]
    whole = os.path.abspath(path)
    if not os.path.isdir(path):
        if not os.path.lexists(path):
            raise NotFound(f"there is no file {path!r}", "name a file of jobs, or a folder of them")
        return [Named(path, whole)]
    from jobctl.jobfiles.folder import names_of_files

    try:
        names = names_of_files(os.listdir(path))
    except OSError as error:
        raise Forbidden(f"{path} cannot be looked into", details={"why": error.strerror}) from error
    return [Named(os.path.join(path, name), os.path.join(whole, name), whole) for name in names]


def read_all(session: Session, files: Sequence[Named]) -> "list[JobFile]":
    """All files, whatever is wrong with them."""
    from jobctl.jobfiles import together

    read = [_read(session, file) for file in files]
    for one in read:
        one.examine(lambda job: here(session, job))
    together(read)
    return read


def _read(session: Session, file: Named) -> "JobFile":
    from jobctl.jobfiles import FILE_BYTES_MAX, read, unreadable

    if file.path == "stdin":
        return read(file.shown, session.world.stdin.buffer.read(FILE_BYTES_MAX + 1))
    try:
        with open(file.path, "rb") as opened:
            return read(file.shown, opened.read(FILE_BYTES_MAX + 1))
    except OSError as error:
        return unreadable(file.shown, error.strerror or str(error))


def here(session: Session, job: "FileJob") -> "Circumstances":
    """What is true as far as can be said without a daemon: whom a job may run as, and what it may come after, is for
    the daemon to say."""
    from jobctl.drafts import Circumstances
    from jobctl.schedule import host_zone

    zone, source = host_zone()
    return Circumstances(
        now_ms=session.world.clock.now_ms(),
        host_tz=zone,
        host_tz_known=not source.startswith("default"),
        daemon_user="",
        caller_uid=0,
        system=True,
        path="",
        upstream=None if job.after is None else (1, job.after),
    )


def as_json(problem: "Problem") -> Json:
    """A mistake for programs."""
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "text": problem.text,
        "reason": problem.reason,
        "hint": problem.hint,
    }


def how_many(number: int, word: str) -> str:
    """`1 job`, `3 jobs`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def refuse_broken(session: Session, files: "Sequence[JobFile]") -> None:
    """Tells every mistake; `InvalidInput` when there is one: nothing of a broken file is taken."""
    problems = [problem for file in files for problem in file.problems]
    if not problems:
        return
    if not session.render.machine:
        for problem in problems:
            session.render.word(str(problem))
    broken = {problem.path for problem in problems}
    raise InvalidInput(
        f"{how_many(len(problems), 'mistake')} in {', '.join(sorted(broken)[:5])}; nothing was changed",
        "mend them; jobctl validate shows them without a daemon",
    )
