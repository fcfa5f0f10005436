"""`jobctl log`: what a run printed."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NamedTuple

import typer

from jobctl.cli import describe
from jobctl.cli.follow import (
    Placed,
    Watched,
    follow_log,
    has_log,
    is_active,
    log_writer,
    passed_on,
    until_over,
    until_started,
)
from jobctl.cli.meant import with_log
from jobctl.cli.select import find_run
from jobctl.cli.session import Session
from jobctl.cli.tail import tail_offset
from jobctl.client.log_position import Position
from jobctl.client.sync import Client
from jobctl.client.transport import Response
from jobctl.errors import InvalidInput, NotFound

EXAMPLES = (
    ("jobctl log backup", "the run that is under way, else the last one"),
    ("jobctl log 4812 --tail 20", "the last lines of one run"),
    ("jobctl log 4812 --times", "when each line was written"),
    ("jobctl log backup -f", "as it is written, and its next runs; also over a restart of the daemon"),
    ("jobctl log 4812 --tail 64kB > part", "piped: the bytes as they were written"),
)
Write = Callable[[bytes], None]
_SIZE = re.compile(r"([0-9]+) ?(B|kB|k|MB|M)", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 1000, "k": 1000, "mb": 1_000_000, "m": 1_000_000}


def verb(
    ctx: typer.Context,
    which: Annotated[
        str, typer.Argument(metavar="JOB|RUN", help="a run's id, or a job for the run under way, else its last")
    ],
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="go on as it grows; of a job also its next runs")
    ] = False,
    attempt: Annotated[int | None, typer.Option("--attempt", metavar="N", min=1, help="of an earlier attempt")] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", help="from this byte on; negative: from the end")
    ] = None,
    tail: Annotated[
        str | None, typer.Option("-n", "--tail", metavar="N", help="the last N lines, or bytes: `20`, `64kB`")
    ] = None,
    times: Annotated[
        bool, typer.Option("-t", "--times", help="in front of each line when it was written, to about a second")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="do not filter control characters on a terminal")] = False,
) -> None:
    """Show what a run printed. Piped, the bytes are as they were written; on a terminal escapes are filtered.

    With -f a run is followed to its end; a job that has a next run is followed from run to run, until ctrl-c.
    """
    session: Session = ctx.obj
    if offset is not None and tail is not None:
        raise InvalidInput("--offset and --tail both say where to begin", "leave one of them out")
    client = session.reader()
    job = _goes_on(client, which) if follow and attempt is None else None
    if job is not None:
        _follow_job(session, client, job, _Begin(offset, tail), raw=raw, times=times)
        return
    run = find_run(client, which, with_log)
    if follow and attempt is None:
        run = until_started(session, client, run)
    if not has_log(run):
        raise NotFound(
            f"run {run['id']} of {run['job']} has no log: {describe.ended(run)}", f"see jobctl show {run['id']} --run"
        )
    begin = _Begin(offset, tail).of(client, run, attempt)
    if session.render.output in {"json", "ndjson"}:
        _json(session, client, run, attempt=attempt, offset=begin, follow=follow, times=times)
        return
    write, finish = log_writer(session, raw=raw)
    write, placed = _timed(session, client, run, write) if times else (write, None)
    watched = Watched(write)
    if follow:
        follow_log(session, client, run, write=watched, attempt=attempt, offset=begin, placed=placed)
    else:
        answer = client.log(run["id"], attempt=attempt, offset=begin)
        with _progress(session, answer) as passed:
            passed_on(answer, Position(answer.headers, begin), _both(passed, watched), placed)
    finish()
    if session.render.out.terminal:
        watched.end_line(session)
        _say_end(session, until_over(session, client, run, 0 if not follow else None))


class _Begin(NamedTuple):
    """Where to begin, as it was asked for."""

    offset: int | None
    tail: str | None

    def of(self, client: Client, run: dict[str, Any], attempt: int | None) -> int:
        tail = self.tail
        if tail is None:
            return self.offset or 0
        size = _SIZE.fullmatch(tail)
        if size:
            return -(int(size[1]) * _UNITS[size[2].lower()])
        if not tail.isascii() or not tail.isdigit():
            raise InvalidInput(f"--tail {tail!r} is no number", "write lines as 20, bytes as 64kB", field="--tail")
        return tail_offset(client, run["id"], attempt, int(tail))


def _goes_on(client: Client, which: str) -> dict[str, Any] | None:
    """The job, when it is one that has a next run. A number is a run first."""
    if which.isdigit():
        try:
            client.run(which)
        except NotFound:
            pass
        else:
            return None
    try:
        job = client.job(which)
    except NotFound:
        return None
    return job if job["next_run_at"] else None


def _timed(session: Session, client: Client, run: dict[str, Any], write: Write) -> tuple[Write, Placed]:
    """What writes the times as well, and what has to hear where each piece stands."""
    from jobctl.cli.log_times import Timed

    timed = Timed(session, client, run["id"], write)
    return timed, timed.placed


@contextmanager
def _progress(session: Session, answer: Response) -> Iterator[Write]:
    """Of a long log that goes into a file: how much of it is there."""
    if not session.render.out.file or not session.render.err.moves:
        yield lambda _: None
        return
    from jobctl.cli.progress import Progress

    size, began = answer.headers.get("jobctl-log-size", ""), int(answer.headers.get("jobctl-log-offset", 0))
    with Progress(session, "log", total=int(size) - began if size.isdigit() else None, unit="bytes") as progress:
        yield lambda data: progress.add(len(data))


def _both(first: Write, second: Write) -> Write:
    def write(data: bytes) -> None:
        second(data)
        first(data)

    return write


def _follow_job(
    session: Session, client: Client, job: dict[str, Any], begin: _Begin, *, raw: bool, times: bool
) -> None:
    """One run after the other; only of the first may the beginning be left out."""
    from jobctl.cli.following import follow_runs

    first = [begin]

    def show(run: dict[str, Any]) -> None:
        offset = first.pop().of(client, run, None) if first else 0
        if session.render.output in {"json", "ndjson"}:
            _json(session, client, run, attempt=None, offset=offset, follow=True, times=times)
            return
        write, finish = log_writer(session, raw=raw)
        write, placed = _timed(session, client, run, write) if times else (write, None)
        watched = Watched(write)
        follow_log(session, client, run, write=watched, offset=offset, placed=placed)
        finish()
        watched.end_line(session)

    follow_runs(session, client, job, show)


def _json(
    session: Session,
    client: Client,
    run: dict[str, Any],
    *,
    attempt: int | None,
    offset: int,
    follow: bool,
    times: bool,
) -> None:
    """One object; with `-f` one object a piece, a line each."""
    if follow:
        session.common.output = session.render.output = "ndjson"

        def write(data: bytes) -> None:
            session.render.json({"run_id": run["id"], "text": data.decode("utf-8", "replace")})

        follow_log(session, client, run, write=write, attempt=attempt, offset=offset)
        return
    answer = client.log(run["id"], attempt=attempt, offset=offset)
    headers, data = answer.headers, answer.read()
    session.render.json(
        {
            "run_id": run["id"],
            "attempt": int(headers.get("jobctl-log-attempt", attempt or 1)),
            "offset": int(headers.get("jobctl-log-offset", 0)),
            "size": int(headers.get("jobctl-log-size", len(data))),
            "complete": headers.get("jobctl-log-complete") == "1",
            "dropped": headers.get("jobctl-log-dropped"),
            "text": data.decode("utf-8", "replace"),
            **({"times": client.log_times(run["id"], attempt)["items"]} if times else {}),
        }
    )


def _say_end(session: Session, run: dict[str, Any]) -> None:
    taken = describe.run_time(run, session.viewer)
    state = "running" if is_active(run) else describe.ended(run)
    session.render.word(f"run {run['id']} of {run['job']}: {state}" + (f", {taken}" if taken else ""))
