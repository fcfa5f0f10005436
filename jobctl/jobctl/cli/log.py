"""`jobctl log`: what a run printed."""

import re
from typing import Annotated, Any

import typer

from jobctl.cli import describe
from jobctl.cli.follow import follow_log, is_active, log_writer, until_over, until_started
from jobctl.cli.select import find_run
from jobctl.cli.session import Session
from jobctl.cli.tail import tail_offset
from jobctl.client.sync import Client
from jobctl.errors import InvalidInput, NotFound

EXAMPLES = (
    ("jobctl log backup", "its newest run"),
    ("jobctl log 4812 --tail 20", "the last lines of one run"),
    ("jobctl log backup -f", "as it is written, also over a restart of the daemon"),
    ("jobctl log 4812 --tail 64kB > part", "piped: the bytes as they were written"),
)
_SIZE = re.compile(r"([0-9]+) ?(B|kB|k|MB|M)", re.IGNORECASE)
_UNITS = {"b": 1, "kb": 1000, "k": 1000, "mb": 1_000_000, "m": 1_000_000}


def verb(
    ctx: typer.Context,
    which: Annotated[str, typer.Argument(metavar="JOB|RUN", help="a run's id, or a job for its newest run")],
    follow: Annotated[bool, typer.Option("-f", "--follow", help="go on as it grows, until the run is over")] = False,
    attempt: Annotated[int | None, typer.Option("--attempt", metavar="N", min=1, help="of an earlier attempt")] = None,
    offset: Annotated[
        int | None, typer.Option("--offset", metavar="N", help="from this byte on; negative: from the end")
    ] = None,
    tail: Annotated[
        str | None, typer.Option("-n", "--tail", metavar="N", help="the last N lines, or bytes: `20`, `64kB`")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="do not filter control characters on a terminal")] = False,
) -> None:
    """Show what a run printed. Piped, the bytes are as they were written; on a terminal escapes are filtered."""
    session: Session = ctx.obj
    if offset is not None and tail is not None:
        raise InvalidInput("--offset and --tail both say where to begin", "leave one of them out")
    client = session.reader()
    run = find_run(client, which)
    if follow and attempt is None:
        run = until_started(session, client, run)
    if not run["started_at"] and run["state"] != "running":
        raise NotFound(
            f"run {run['id']} of {run['job']} has no log: {describe.ended(run)}", f"see jobctl show {run['id']} --run"
        )
    begin = _begin(client, run, attempt, offset, tail)
    if session.render.output in {"json", "ndjson"}:
        _json(session, client, run, attempt=attempt, offset=begin, follow=follow)
        return
    write, finish = log_writer(session, raw=raw)
    if follow:
        follow_log(session, client, run, write=write, attempt=attempt, offset=begin)
    else:
        for piece in client.log(run["id"], attempt=attempt, offset=begin).pieces():
            write(piece)
    finish()
    if session.render.out.terminal:
        _say_end(session, until_over(session, client, run, 0 if not follow else None))


def _begin(client: Client, run: dict[str, Any], attempt: int | None, offset: int | None, tail: str | None) -> int:
    if tail is None:
        return offset or 0
    size = _SIZE.fullmatch(tail)
    if size:
        return -(int(size[1]) * _UNITS[size[2].lower()])
    if not tail.isascii() or not tail.isdigit():
        raise InvalidInput(f"--tail {tail!r} is no number", "write lines as 20, bytes as 64kB", field="--tail")
    return tail_offset(client, run["id"], attempt, int(tail))


def _json(
    session: Session, client: Client, run: dict[str, Any], *, attempt: int | None, offset: int, follow: bool
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
        }
    )


def _say_end(session: Session, run: dict[str, Any]) -> None:
    taken = describe.run_time(run, session.viewer)
    state = "running" if is_active(run) else describe.ended(run)
    session.render.word(f"run {run['id']} of {run['job']}: {state}" + (f", {taken}" if taken else ""))
