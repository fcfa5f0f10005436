"""A log as it grows, over daemon restarts, and a run until it is over."""

import time
from collections.abc import Callable
from typing import Any, Final

from jobctl.cli.logview import Position
from jobctl.cli.patience import Patience
from jobctl.cli.safe import LogFilter
from jobctl.cli.session import Session
from jobctl.client.sync import WAIT_S_MAX, Client
from jobctl.errors import NotFound, Unavailable, Unreachable

ACTIVE: Final = ("scheduled", "ready", "running")
_POLL_S: Final = 0.1
_LOOKS_SILENT: Final = 10

Run = dict[str, Any]


def is_active(run: Run) -> bool:
    return run["state"] in ACTIVE


def until_over(session: Session, client: Client, run: Run, deadline_ms: int | None = None) -> Run:
    """The run when it is final, or as it is at the deadline (boot milliseconds)."""
    clock = session.world.clock

    def left_s() -> int:
        left_ms = WAIT_S_MAX * 1000 if deadline_ms is None else deadline_ms - clock.boot_ms()
        return max(0, min(WAIT_S_MAX, -(-left_ms // 1000)))

    patience = Patience(session, lambda: deadline_ms is not None and clock.boot_ms() >= deadline_ms)
    while is_active(run) and (deadline_ms is None or clock.boot_ms() < deadline_ms):
        run = patience.ask(lambda ident=run["id"]: client.run(ident, left_s()))  # type: ignore[misc]
    return run


def until_started(session: Session, client: Client, run: Run) -> Run:
    """The run once it runs or is over. One that is due later is waited for, and said so once."""
    patience = Patience(session)
    looks = 0
    while is_active(run) and run["state"] != "running":
        if looks == _LOOKS_SILENT:
            due = session.viewer.both(run["due_at"])
            session.render.word(f"run {run['id']} of {run['job']} has not started; it is due {due}")
        looks += 1
        time.sleep(_POLL_S)
        run = patience.ask(lambda ident=run["id"]: client.run(ident))  # type: ignore[misc]
    return run


def follow_log(
    session: Session,
    client: Client,
    run: Run,
    *,
    write: Callable[[bytes], None],
    attempt: int | None = None,
    offset: int = 0,
) -> None:
    """Write the log from `offset` until its attempt has ended. A break is resumed where it happened."""
    patience = Patience(session)
    while True:
        try:
            answer = client.log(run["id"], attempt=attempt, offset=offset, follow=True)
        except (Unreachable, Unavailable) as error:
            patience.missed(error)
            continue
        patience.answered()
        if answer.headers.get("jobctl-log-reset") == "1":
            session.render.word("the command truncated its log; from its beginning")
        position = Position(answer.headers, offset)
        attempt = _attempt(answer.headers.get("jobctl-log-attempt"), attempt)
        try:
            for piece in answer.pieces():
                position.passed(piece)
                write(piece)
        except Unreachable as error:
            offset = position.offset
            patience.missed(error)
            continue
        offset = position.offset
        if _ended(patience, client, run["id"], attempt):
            return


def _attempt(said: str | None, asked: int | None) -> int | None:
    return int(said) if said and said.isdigit() else asked


def _ended(patience: Patience, client: Client, run_id: int, attempt: int | None) -> bool:
    """Whether the attempt is over: an answer also ends when the daemon stops, or the log was truncated."""

    def ask() -> bool:
        if not is_active(client.run(run_id)):
            return True
        attempts = client.attempts(run_id)
        return any(item["attempt"] == attempt and item["ended_at"] is not None for item in attempts)

    try:
        return patience.ask(ask)
    except NotFound:
        return True


def log_writer(session: Session, *, raw: bool) -> tuple[Callable[[bytes], None], Callable[[], None]]:
    """How to print a log's bytes, and how to finish: as they are when piped or `raw`, filtered on a terminal."""
    render = session.render
    if raw or not render.out.terminal:
        return render.bytes, lambda: None
    screen = LogFilter()
    return lambda data: render.text(screen.feed(data)), lambda: render.text(screen.feed(b"", final=True))
