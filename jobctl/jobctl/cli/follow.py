"""A log as it grows, over daemon restarts, and a run until it is over."""

import time
from collections.abc import Callable
from typing import Any, Final

from jobctl.cli import describe
from jobctl.cli.patience import Patience
from jobctl.cli.session import Session
from jobctl.client.log_position import Position
from jobctl.client.sync import Client
from jobctl.client.transport import Response
from jobctl.errors import Unavailable, Unreachable
from jobctl.reading.safe import LogFilter

ACTIVE: Final = ("scheduled", "ready", "running")
_POLL_S: Final = 0.1
_LOOKS_SILENT: Final = 10
#: The daemon answers when a run is over; that it waits for a retry is looked for in between.
_LOOK_S: Final = 1

Run = dict[str, Any]
#: Told before each piece of a log: of which attempt it is, and where in that log it stands.
Placed = Callable[[int, int], None]


def is_active(run: Run) -> bool:
    return run["state"] in ACTIVE


def until_over(
    session: Session, client: Client, run: Run, deadline_ms: int | None = None, *, quiet: bool = False
) -> Run:
    """The run when it has ended, a dead letter too, or as it is at the deadline (boot milliseconds).

    That an attempt failed, and when the next one is due, is said on the way.
    """
    clock = session.world.clock

    def left_s() -> int:
        left_ms = _LOOK_S * 1000 if deadline_ms is None else deadline_ms - clock.boot_ms()
        return max(0, min(_LOOK_S, -(-left_ms // 1000)))

    patience = Patience(session, lambda: deadline_ms is not None and clock.boot_ms() >= deadline_ms)
    told = 0
    while is_active(run) and (deadline_ms is None or clock.boot_ms() < deadline_ms):
        if run["attempt"] != told and describe.waits_for_retry(run) and not quiet and not session.render.machine:
            told = run["attempt"]
            session.render.word(f"run {run['id']} of {run['job']} {_awaited(session, run)}")
        run = patience.ask(lambda ident=run["id"]: client.run(ident, left_s()))  # type: ignore[misc]
    return run


def until_started(session: Session, client: Client, run: Run) -> Run:
    """The run once it has an attempt, or is over. One that is due later is waited for, and said so once."""
    return _until_attempt(session, client, run, 1)


def has_log(run: Run) -> bool:
    """Whether it has had an attempt, whatever became of it since; a single one that could not be started is none."""
    never_began = run["attempt"] == 1 and run["class"] == "spawn_error" and not run["started_at"]
    return run["attempt"] > 0 and not never_began


def _until_attempt(session: Session, client: Client, run: Run, number: int) -> Run:
    patience = Patience(session)
    looks = 0
    while is_active(run) and run["attempt"] < number:
        if looks == _LOOKS_SILENT:
            session.render.word(f"run {run['id']} of {run['job']} {_awaited(session, run)}")
        looks += 1
        time.sleep(_POLL_S)
        run = patience.ask(lambda ident=run["id"]: client.run(ident))  # type: ignore[misc]
    return run


def _awaited(session: Session, run: Run) -> str:
    if describe.waits_for_retry(run):
        return f"failed: {describe.failure(run)}; {describe.retry(run, session.viewer)}"
    waits = f": it {run['reason']}" if str(run["reason"] or "").startswith("waits") else ""
    return f"has not started; it is due {session.viewer.both(run['due_at'])}{waits}"


def follow_log(
    session: Session,
    client: Client,
    run: Run,
    *,
    write: Callable[[bytes], None],
    attempt: int | None = None,
    offset: int = 0,
    placed: Placed | None = None,
) -> None:
    """Write the log from `offset` until its attempt has ended, and then those of further attempts.

    With `attempt` of that one only. `placed` hears where each piece stands.
    """
    if attempt is not None:
        _follow_attempt(session, client, run, write=write, attempt=attempt, offset=offset, placed=placed)
        return
    first = run["attempt"] or None
    shown = _follow_attempt(session, client, run, write=write, attempt=first, offset=offset, placed=placed)
    patience = Patience(session)
    while True:
        run = patience.ask(lambda ident=run["id"]: client.run(ident))  # type: ignore[misc]
        if is_active(run) and not (run["state"] == "running" and run["attempt"] == shown):
            run = _until_attempt(session, client, run, shown + 1)
        if run["attempt"] <= shown:
            return
        session.render.word(f"attempt {shown + 1}")
        shown = _follow_attempt(session, client, run, write=write, attempt=shown + 1, offset=0, placed=placed)


def _follow_attempt(
    session: Session,
    client: Client,
    run: Run,
    *,
    write: Callable[[bytes], None],
    attempt: int | None,
    offset: int,
    placed: Placed | None,
) -> int:
    """Until the attempt has ended; its number. A break is resumed where it happened.

    An answer also ends when the daemon stops or the log was truncated; the last one is that which was complete already
    when it began.
    """
    patience = Patience(session)
    while True:
        try:
            answer = client.log(run["id"], attempt=attempt, offset=offset, follow=True)
            patience.answered()
            if answer.headers.get("jobctl-log-reset") == "1":
                session.render.word("the command truncated its log; from its beginning")
            attempt = int(answer.headers.get("jobctl-log-attempt", attempt or 1))
            before, offset = offset, passed_on(answer, Position(answer.headers, offset), write, placed)
        except _Broken as broken:
            offset = broken.offset
            patience.missed(broken.error)
            continue
        except (Unreachable, Unavailable) as error:
            patience.missed(error)
            continue
        if answer.headers.get("jobctl-log-complete") == "1":
            return attempt
        if offset == before:
            time.sleep(_POLL_S)


class _Broken(Exception):
    """The connection broke, and where."""

    def __init__(self, error: Unreachable, offset: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.offset = offset


def passed_on(
    answer: Response, position: Position, write: Callable[[bytes], None], placed: Placed | None = None
) -> int:
    """Write the body of an answer; the offset of what comes after it."""
    pieces = answer.pieces()
    attempt = int(answer.headers.get("jobctl-log-attempt", 1))
    while True:
        try:
            piece = next(pieces, None)
        except Unreachable as error:
            raise _Broken(error, position.offset) from error
        if piece is None:
            return position.offset
        if placed is not None:
            placed(attempt, position.offset)
        position.passed(piece)
        write(piece)


class Watched:
    """Passes bytes on, and knows whether the last line is unfinished: words on a terminal would go on in it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._last = b"\n"

    def __call__(self, data: bytes) -> None:
        self._last = data[-1:] or self._last
        self._write(data)

    def end_line(self, session: Session) -> None:
        """On stderr: not a byte of the output is ours."""
        if self._last != b"\n":
            session.render.word("")


def log_writer(session: Session, *, raw: bool) -> tuple[Callable[[bytes], None], Callable[[], None]]:
    """How to print a log's bytes, and how to finish: as they are when piped or `raw`, filtered on a terminal."""
    render = session.render
    if render.machine:
        return render.err.bytes, lambda: None  # stdout is for the one document
    if raw or not render.out.terminal:
        return render.bytes, lambda: None
    screen = LogFilter()
    return lambda data: render.text(screen.feed(data)), lambda: render.text(screen.feed(b"", final=True))
