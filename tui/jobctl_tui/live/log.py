"""The log of one attempt: its end as it is written, and whatever else of it somebody looks at. Knows no widget.

One thread follows the end, from an offset: a connection that breaks is taken up where it broke, so that nothing is
missing and nothing comes twice. Other parts are read when they are wanted, and once through to count the lines.
"""

import re
import threading
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, Protocol

from jobctl.client.log_position import Position, dropped
from jobctl.client.sync import Client
from jobctl.client.transport import Response
from jobctl.errors import CallerError, JobctlError
from jobctl.states import ENDED
from jobctl_tui.live.link import FIRST_RETRY_MS, LAST_RETRY_MS
from jobctl_tui.live.loglines import BLOCK, LogLine, LogLines, Missing

#: An answer is asked for again after so many bytes: its headers tell what the cap has removed by then.
FOLLOWED_BYTES: Final = 1 << 20
#: So much is read at a time to count its lines.
COUNTED_BYTES: Final = 16 * BLOCK
#: So much may be here that the loop has not taken yet; then the follower waits, and so does the daemon.
WAITING_BYTES: Final = 4 << 20
#: Whether a run that has no log yet has one now.
UNSTARTED_S: Final = 1.0
_QUIET_S: Final = 0.1
#: A part that could not be read is asked for again.
AGAIN_MS: Final = 1_000

#: What a daemon puts in the place of what its cap removes while somebody follows (docs/api.md, "Log").
_MARKER_HEAD: Final = b"\n[jobctl: "
_MARKER: Final = re.compile(rb"\n\[jobctl: \d+ bytes, from (\d+) to (\d+), were removed by the log limit\]\n")
_MARKER_BYTES_MAX: Final = 160

State = Literal["connecting", "waiting", "live", "lost", "done", "missing"]
Post = Callable[[Callable[[], None]], None]


class LogState(NamedTuple):
    """How the log's end is reached."""

    state: State = "connecting"
    """waiting: the run has not begun; lost: tried again for ever; done: all is written; missing: there is no log."""
    error: JobctlError | None = None
    attempt: int | None = None
    resets: int = 0
    """How often the command has cut its log short."""


class Asks(Protocol):
    """What is needed of `Errands`."""

    def run(
        self,
        work: Callable[[Client], object],
        done: Callable[[object], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None: ...

    def later(self, after_ms: int, call: Callable[[], None]) -> None: ...


class _Read(NamedTuple):
    """A range of the log, as it was answered."""

    parts: list[tuple[int, bytes]]
    dropped: tuple[int, int] | None


class LogPages:
    """All of it is called on the loop of the screens; `changed` too."""

    def __init__(
        self,
        run: int,
        attempt: int | None,
        connect: Callable[[], Client],
        errands: Asks,
        post: Post,
        changed: Callable[[], None],
    ) -> None:
        """Without an attempt that which is the last when the log is first read."""
        self.run = run
        self.state = LogState(attempt=attempt)
        self.lines = LogLines()
        self.changed = changed
        self._connect = connect
        self._errands = errands
        self._post = post
        self._asked: set[int] = set()
        self._counting = False
        self._follower = _Follower(run, attempt, connect, self._inbox)
        self._lock = threading.Condition()
        self._arrived: list[_Told] = []
        self._arrived_bytes = 0
        self._closed = False

    def start(self) -> None:
        threading.Thread(target=self._follower.run, name=f"log {self.run}", daemon=True).start()

    def close(self) -> None:
        """Returns at once; nothing is told any more."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._follower.close()

    def wake(self) -> None:
        """Something has happened to the run: a log that was waited for may be there."""
        self._follower.wake()

    # ── what is there ──────────────────────────────────────
    @property
    def size(self) -> int:
        """Bytes that the command has written, with those that were removed."""
        return self.lines.end

    @property
    def count(self) -> int | None:
        """Lines; None while they are being counted."""
        return self.lines.count

    def number(self, start: int) -> int | None:
        """Of the line that begins there, from 1; None while it is not known."""
        try:
            return self.lines.number(start)
        except Missing as missing:
            self._want(missing.block)
            return None

    def forward(self, start: int, count: int) -> tuple[list[LogLine], bool]:
        """So many lines from that which begins at `start`, and whether these are all that are there.

        What is missing is asked for, and `changed` called when it has come.
        """
        found: list[LogLine] = []
        try:
            while len(found) < count and (line := self.lines.line(start)) is not None:
                found.append(line)
                start = line.next
        except Missing as missing:
            self._want(missing.block)
            return found, False
        return found, True

    def backward(self, start: int, count: int) -> tuple[list[LogLine], bool]:
        """So many lines before it, the nearest first; and whether these are all that are there."""
        found: list[LogLine] = []
        try:
            while len(found) < count and (line := self.lines.before(start)) is not None:
                found.append(line)
                start = line.start
        except Missing as missing:
            self._want(missing.block)
            return found, False
        return found, True

    def holding(self, offset: int) -> LogLine | None:
        """The line that the byte is in; None while it is not here, and when there is none."""
        try:
            return self.lines.holding(offset)
        except Missing as missing:
            self._want(missing.block)
            return None

    # ── parts are read ─────────────────────────────────────
    def _want(self, block: int) -> None:
        if block in self._asked or self._closed:
            return
        self._asked.add(block)
        lines = self.lines

        def came(read: object) -> None:
            self._asked.discard(block)
            if isinstance(read, _Read) and lines is self.lines and not self._closed:
                self._gap(read.dropped)
                for offset, data in read.parts:
                    lines.put(offset, data)
                self._told()

        self._read(block * BLOCK, BLOCK, came, lambda error: self._unread(block, error))

    def _unread(self, block: int, error: JobctlError) -> None:
        """A daemon that went away is asked again, by whoever still looks at that part."""
        if isinstance(error, CallerError):
            self.state = self.state._replace(state="missing", error=error)

        def again() -> None:
            self._asked.discard(block)
            self._told()

        self._errands.later(AGAIN_MS, again)

    def _read(
        self, offset: int, limit: int, came: Callable[[object], None], failed: Callable[[JobctlError], None]
    ) -> None:
        run, attempt = self.run, self.state.attempt
        self._errands.run(lambda client: read_range(client, run, attempt, offset, limit), came, failed)

    def _count(self) -> None:
        """The next part that has not been counted, one at a time."""
        block = self.lines.uncounted()
        if block is None or self._counting or self.state.state == "missing" or self._closed:
            return
        self._counting = True
        lines = self.lines

        def came(read: object) -> None:
            self._counting = False
            if isinstance(read, _Read) and lines is self.lines and not self._closed:
                self._gap(read.dropped)
                before = lines.uncounted()
                for offset, data in read.parts:
                    lines.counted(offset, data)
                if lines.uncounted() != before:  # else the answer was of no use: the next news asks again
                    self._told()

        def again() -> None:
            self._counting = False
            self._count()

        def failed(_: JobctlError) -> None:
            self._errands.later(AGAIN_MS, again)

        self._read(block * BLOCK, COUNTED_BYTES, came, failed)

    def _gap(self, gap: tuple[int, int] | None) -> None:
        if gap is not None:
            self.lines.drop(*gap)

    # ── the end comes ──────────────────────────────────────
    def _inbox(self, told: "_Told") -> bool:
        """In the follower's thread; False when nobody listens any more."""
        with self._lock:
            while self._arrived_bytes > WAITING_BYTES and not self._closed:
                self._lock.wait()
            if self._closed:
                return False
            first = not self._arrived
            self._arrived.append(told)
            self._arrived_bytes += len(told.data)
        if first:
            self._post(self._take)
        return True

    def _take(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
            self._arrived_bytes = 0
            self._lock.notify_all()
        if self._closed:
            return
        for told in arrived:
            self._apply(told)
        self._told()

    def _apply(self, told: "_Told") -> None:
        if told.reset:
            self.lines = LogLines()
            self._asked.clear()
            self._counting = False
            self.state = self.state._replace(resets=self.state.resets + 1)
        if told.begin is not None:
            self.lines.begin(told.begin)
        self._gap(told.dropped)
        if told.data:
            self.lines.append(told.offset, told.data)
        if told.state is not None:
            attempt = told.attempt or self.state.attempt
            self.state = self.state._replace(state=told.state, error=told.error, attempt=attempt)

    def _told(self) -> None:
        if not self._closed:
            self._count()
            self.changed()


class _Told(NamedTuple):
    """What the follower tells the loop."""

    offset: int = 0
    data: bytes = b""
    begin: int | None = None
    """Only the end of so many bytes is going to be read."""
    dropped: tuple[int, int] | None = None
    reset: bool = False
    state: State | None = None
    error: JobctlError | None = None
    attempt: int | None = None


def read_range(client: Client, run: int, attempt: int | None, offset: int, limit: int) -> _Read:
    """Some bytes of a log, without the marker of a gap between them."""
    answer = client.log(run, attempt=attempt, offset=offset, limit=limit)
    position = Position(answer.headers, offset)
    parts: list[tuple[int, bytes]] = []
    for piece in answer.pieces():
        for at, data in position.parts(piece):
            if parts and parts[-1][0] + len(parts[-1][1]) == at:
                parts[-1] = (parts[-1][0], parts[-1][1] + data)
            else:
                parts.append((at, data))
    if answer.headers.get("jobctl-log-reset") == "1":
        parts = []  # it was cut short: the follower will tell
    return _Read(parts, dropped(answer.headers))


class _Follower:
    """The thread that reads the end of a log for as long as it grows."""

    def __init__(
        self, run: int, attempt: int | None, connect: Callable[[], Client], tell: Callable[[_Told], bool]
    ) -> None:
        self._run = run
        self._attempt = attempt
        self._connect = connect
        self._tell = tell
        self._next: int | None = None
        """The next byte; None: not even where to begin is known."""
        self._taken_for_text: int | None = None
        """What looks like a marker and begins here was printed by the command."""
        self._event = threading.Event()
        self._closed = False
        self._answer: Response | None = None

    def close(self) -> None:
        self._closed = True
        self._event.set()
        answer = self._answer
        if answer is not None:
            answer.hang_up()

    def wake(self) -> None:
        self._event.set()

    def run(self) -> None:
        """Until all is read, or nobody wants it any more."""
        tries = 0
        while not self._closed:
            try:
                client = self._connect()
                goes_on = self._begin(client) if self._next is None else self._stream(client)
                tries = 0
                if not goes_on:
                    return
            except CallerError as error:
                if not self._no_log(error):
                    return
            except JobctlError as error:
                if self._closed or not self._tell(_Told(state="lost", error=error)):
                    return
                self._wait(min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** min(tries, 10)) / 1000)
                tries += 1

    def _wait(self, seconds: float) -> None:
        self._event.wait(seconds)
        if not self._closed:
            self._event.clear()

    def _no_log(self, error: CallerError) -> bool:
        """There is none: not yet, or no more. Whether to go on looking."""
        try:
            ended = self._next is not None or self._connect().run(self._run)["state"] in ENDED
        except CallerError as gone:
            error, ended = gone, True
        except JobctlError:
            return True
        if not self._tell(_Told(state="missing" if ended else "waiting", error=error)) or ended:
            return False
        self._wait(UNSTARTED_S)
        return True

    def _begin(self, client: Client) -> bool:
        """How long the log is: its last blocks are what is looked at first."""
        answer = client.log(self._run, attempt=self._attempt, limit=0)
        answer.read()
        size = int(answer.headers.get("jobctl-log-size", 0))
        self._attempt = int(answer.headers.get("jobctl-log-attempt", 0)) or self._attempt
        self._next = max(0, (size - 1) // BLOCK - 1) * BLOCK if size else 0
        gap = dropped(answer.headers)
        if gap is not None and gap[0] <= self._next < gap[1]:
            self._next = gap[1]
        return self._tell(_Told(begin=self._next, dropped=gap, attempt=self._attempt, state="live"))

    def _stream(self, client: Client) -> bool:
        """One answer; whether there may be more."""
        assert self._next is not None
        before = self._next
        answer = client.log(self._run, attempt=self._attempt, offset=before, limit=FOLLOWED_BYTES, follow=True)
        self._answer = answer
        if self._closed:
            answer.close()
            return False
        try:
            if answer.headers.get("jobctl-log-reset") == "1":
                self._next = 0
                if not self._tell(_Told(reset=True)):
                    return False
            gap = dropped(answer.headers)
            if not self._tell(_Told(state="live", dropped=gap if gap and gap[0] <= before else None)):
                return False
            how = self._through(answer)
            if how != "all":
                return how == "again"
        finally:
            self._answer = None
            answer.close()
        if answer.headers.get("jobctl-log-complete") == "1" and self._next - before < FOLLOWED_BYTES:
            self._tell(_Told(state="done"))
            return False
        if self._next == before:
            self._wait(_QUIET_S)
        return True

    def _through(self, answer: Response) -> Literal["all", "again", "closed"]:
        """The pieces of an answer up to its end, or up to what may be a marker that its headers have not told of."""
        assert self._next is not None
        position = Position(answer.headers, self._next)
        held = b""
        for piece in answer.pieces():
            held += piece
            if not position.at_marker and self._taken_for_text != position.offset and _may_be_marker(held):
                if match := _MARKER.fullmatch(held):
                    self._ask_about(position.offset, int(match[1]), int(match[2]))
                    return "again"
                continue  # the rest of it is still to come
            piece, held = held, b""
            if not self._passed(position, piece):
                return "closed"
        return "all" if not held or self._passed(position, held) else "closed"

    def _passed(self, position: Position, piece: bytes) -> bool:
        for offset, data in position.parts(piece):
            if not self._tell(_Told(offset, data)):
                return False
        self._next = position.offset
        return True

    def _ask_about(self, offset: int, begin: int, end: int) -> None:
        """What is really there is told by the headers of another answer, which no command can write."""
        if begin <= offset < end:
            answer = self._connect().log(self._run, attempt=self._attempt, offset=offset, limit=0)
            answer.read()
            gap = dropped(answer.headers)
            if gap is not None and gap[0] <= offset < gap[1]:
                return
        self._taken_for_text = offset


def _may_be_marker(held: bytes) -> bool:
    """A daemon sends a marker as a piece of its own, which may have been cut on its way."""
    if _MARKER_HEAD.startswith(held):
        return True
    whole = held.endswith(b"\n")
    return (
        held.startswith(_MARKER_HEAD)
        and len(held) <= _MARKER_BYTES_MAX
        and (not whole or bool(_MARKER.fullmatch(held)))
    )
