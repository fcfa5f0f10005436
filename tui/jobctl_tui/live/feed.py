"""The one stream of events of the daemon, and how the daemon is: what all screens hear, collected and told in time.

Three threads, none of which anybody waits for: one reads the stream and connects again for ever, one asks for the
status, one judges the silence and tells what has come, through `post`, on the loop of the screens. A daemon that is
stopped or hangs therefore holds up neither the loop nor the end of the program.
"""

import contextlib
import json
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from jobctl.client.sse import Message, messages
from jobctl.client.sync import Client
from jobctl.client.transport import PROTOCOL, Response, mismatch, spoken
from jobctl.clock import Clock
from jobctl.errors import InternalError, JobctlError, Unreachable
from jobctl.reading.times import milliseconds
from jobctl_tui.live.changes import Back, Changes
from jobctl_tui.live.link import REFUSED_RETRY_MS, Link, State, heartbeat, is_refusal, retry_after_ms
from jobctl_tui.live.news import TROUBLE, News

Json = dict[str, Any]

#: Events of before that are read at the beginning, and that are kept for whoever looks at them.
RECENT: Final = 200
TROUBLES: Final = 20
#: The status is asked for so often; its answers are the sign of life of a daemon in which nothing happens.
STATUS_MS: Final = 2_000
#: After an event the counters are asked for sooner, but not oftener than this.
COUNTERS_MS: Final = 1_000
#: The silence is judged so often; a longer step means that this program itself was stopped, which is nobody's silence.
JUDGE_MS: Final = 500
_STEP_MS_MAX: Final = 2 * JUDGE_MS


class Feed:
    """What is read from it belongs to the loop of the screens: it changes only between two of its turns.

    `connect` gives a client that stays with one daemon. `post` puts a call onto the loop, from any thread. `changed`
    is called there, at most every `every_ms`.
    """

    def __init__(
        self,
        connect: Callable[[], Client],
        clock: Clock,
        post: Callable[[Callable[[], None]], None],
        changed: Callable[[Changes], None],
        every_ms: int = 100,
    ) -> None:
        self.link = Link("connecting", clock.now_ms())
        self.status: Json | None = None
        self.event = 0
        """The number of the newest event that was told."""
        self.recent: deque[Json] = deque(maxlen=RECENT)
        self.troubles: deque[Json] = deque(maxlen=TROUBLES)
        """Those that were trouble: they outlast the others."""
        self._connect = connect
        self._clock = clock
        self._post = post
        self._changed = changed
        self._every_ms = every_ms
        # What follows belongs to the threads, under this lock; it is also what they wait on.
        self._lock = threading.Condition()
        self._closed = False
        self._posted = False
        self._told_ms = -every_ms
        self._next_link = self.link
        self._next_status: Json | None = None
        self._news = News()
        self._position: int | None = None
        self._who: tuple[object, ...] = ()
        self._ahead_ms = 0
        self._silent_ms = 0
        self._asked_ms = 0
        self._counters_old = False
        self._retry = False
        self._stream: Response | None = None
        self._trouble: JobctlError | None = None

    # ── of the loop ──────────────────────────────────────────────
    def start(self) -> None:
        for work in (self._follow, self._ask, self._tell):
            threading.Thread(target=work, name=f"feed{work.__name__}", daemon=True).start()

    def close(self) -> None:
        """Returns at once, whatever the daemon does."""
        with self._lock:
            self._closed = True
            if self._stream is not None:
                self._stream.hang_up()
            self._lock.notify_all()

    def retry_now(self) -> None:
        """Somebody cannot wait, neither for the next try nor for one that is stuck."""
        with self._lock:
            self._retry = True
            if self._stream is not None and not self._next_link.reached:
                self._stream.hang_up()
            self._lock.notify_all()

    def now_ms(self) -> int:
        """The daemon's clock."""
        return self._clock.now_ms() + self._ahead_ms

    def _deliver(self) -> None:
        with self._lock:
            self._posted = False
            if self._closed:
                return
            self._told_ms = self._clock.awake_ms()
            told, self._news = self._news, News()
            self.link, self.status = self._next_link, self._next_status
            self.event = told.newest or self.event
        if told.anew:
            self.recent.clear()
            self.troubles.clear()
        events = (*told.history, *told.events)
        self.recent.extend(events)
        self.troubles.extend(event for event in events if event["kind"] in TROUBLE)
        self._changed(told.changes())

    # ── the stream ──────────────────────────────────────────────
    def _follow(self) -> None:
        client = self._connect()
        while not self._closed:
            try:
                self._read(client)
                error: JobctlError = Unreachable("the daemon has hung up", "start one: jobctl daemon start")
            except JobctlError as failure:
                error = failure
            except (ValueError, KeyError, TypeError) as failure:  # an answer that is none of ours
                error = InternalError(f"the daemon's answer is not understood: {failure!r}", "see jobd.log")
            self._lost(error)
            self._wait_for_retry()

    def _read(self, client: Client) -> None:
        """From where it stood to the end of the connection."""
        status = _status(client)
        fresh = self._begins(status)
        back = Back(self.now_ms() - (self._next_link.as_of_ms or self.now_ms()))
        with self._stream_of(client, follow=False) as past:
            for message in past:
                back = self._caught_up(message, back, fresh=fresh)
        with self._stream_of(client, follow=True) as news:
            self._is_live(status, back)
            for message in news:
                self._heard(message)

    @contextlib.contextmanager
    def _stream_of(self, client: Client, *, follow: bool) -> Iterator[Iterator[Message]]:
        response = client.event_stream(after=self._position, follow=follow)
        with self._lock:
            self._stream = response
            if self._closed:
                response.hang_up()
        try:
            yield messages(self._alive(response.pieces()))
        finally:
            with self._lock:
                self._stream = None
            response.close()

    def _alive(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Whatever comes is a sign of life, comments too."""
        for piece in pieces:
            self._silent_ms = 0
            yield piece

    def _begins(self, status: Json) -> bool:
        """A daemon answers; whether it is another one than before, or the first."""
        who = (status["host"], status["state_dir"], status["user"])
        with self._lock:
            fresh = who != self._who
            if fresh:
                self._news.forget()
                self._who, self._position = who, max(0, status["last_event"] - RECENT)
            return fresh

    def _is_live(self, status: Json, back: Back) -> None:
        with self._lock:
            lost_before = self._next_link.as_of_ms is not None
            self._silent_ms, self._trouble = 0, None
            self._take(status)
            self._news.newest = max(self._position or 0, status["last_event"])
            self._link(Link("live", self.now_ms()))
            self._note(reset=True, back=back if lost_before else None)

    def _caught_up(self, message: Message, back: Back, *, fresh: bool) -> Back:
        """What happened before this moment: known from a snapshot, so it is told as history only."""
        if message.event == "reset":
            self._moved(message)
            return back
        event = json.loads(message.data)
        with self._lock:
            self._position = event["id"]
            self._news.past(event)
        if fresh or not event["kind"].startswith("run."):
            return back
        failed = event["kind"] in {"run.failed", "run.dead"}
        ended = failed or event["kind"] in {"run.succeeded", "run.cancelled"}
        return back._replace(ended=back.ended + ended, failed=back.failed + failed)

    def _heard(self, message: Message) -> None:
        if message.event == "reset":
            self._moved(message)
            return
        event = json.loads(message.data)
        with self._lock:
            self._position = event["id"]
            self._counters_old = True
            if self._news.add(event):
                self._lock.notify_all()

    def _moved(self, message: Message) -> None:
        """What came in between is gone, or the database is another."""
        with self._lock:
            newest: int = json.loads(message.data)["event"]
            if newest < (self._position or 0):
                self._news.forget()
            self._position = self._news.newest = newest
            self._note(reset=True)

    def _lost(self, error: JobctlError) -> None:
        with self._lock:
            before = self._next_link
            tries = before.tries + 1
            after_ms = REFUSED_RETRY_MS if is_refusal(error) else retry_after_ms(tries, random.random())
            state: State = "refused" if is_refusal(error) else "down"
            trouble = self._trouble if state == "down" and self._trouble is not None and tries == 1 else error
            now_ms = self.now_ms()
            as_of_ms = before.as_of_ms
            if as_of_ms is None and self._next_status is not None:
                as_of_ms = now_ms  # it was there until it hung up
            since_ms = as_of_ms or (before.since_ms if before.state == state else now_ms)
            self._link(Link(state, since_ms, trouble, tries, now_ms + after_ms, as_of_ms))

    def _wait_for_retry(self) -> None:
        with self._lock:
            wait_ms = (self._next_link.retry_at_ms or 0) - self.now_ms()
            self._lock.wait_for(lambda: self._retry or self._closed, max(0, wait_ms) / 1000)
            self._retry = False
            self._link(self._next_link._replace(retry_at_ms=None))

    # ── how it is ──────────────────────────────────────────────
    def _ask(self) -> None:
        client = self._connect()
        while self._until_due():
            try:
                status, trouble = _status(client), None
            except JobctlError as error:
                status, trouble = None, error
            with self._lock:
                self._asked_ms = self._clock.awake_ms()
                self._trouble = trouble
                if not self._next_link.reached:
                    continue  # the stream has been lost meanwhile, and who reads it knows better
                if not isinstance(trouble, Unreachable):
                    self._silent_ms = 0
                if status is not None:
                    self._take(status)
                    self._note()

    def _until_due(self) -> bool:
        """Waits until the status is to be read again; False: no more."""
        with self._lock:
            while not self._closed:
                wait_ms = self._due_ms() - self._clock.awake_ms()
                if wait_ms <= 0 and self._next_link.reached:
                    self._counters_old = False
                    return True
                self._lock.wait(max(wait_ms, JUDGE_MS) / 1000 if not self._next_link.reached else wait_ms / 1000)
            return False

    def _due_ms(self) -> int:
        return self._asked_ms + (COUNTERS_MS if self._counters_old else STATUS_MS)

    def _take(self, status: Json) -> None:
        self._next_status = status
        self._asked_ms = self._clock.awake_ms()
        self._ahead_ms = milliseconds(status["now"]) - self._clock.now_ms()
        self._news.status = True

    # ── judging and telling ──────────────────────────────────────────────
    def _tell(self) -> None:
        judged_ms = self._clock.awake_ms()
        while not self._closed:
            with self._lock:
                self._lock.wait(self._tell_in_ms() / 1000)
                now_ms = self._clock.awake_ms()
                if now_ms - judged_ms >= JUDGE_MS:
                    self._judge(min(now_ms - judged_ms, _STEP_MS_MAX))
                    judged_ms = now_ms
                due = bool(self._news) and not self._posted and now_ms - self._told_ms >= self._every_ms
                self._posted = self._posted or due
            if due:
                with contextlib.suppress(RuntimeError):  # the loop has ended before this program
                    self._post(self._deliver)

    def _tell_in_ms(self) -> int:
        if not self._news or self._posted:
            return JUDGE_MS
        return max(1, self._every_ms - (self._clock.awake_ms() - self._told_ms))

    def _judge(self, step_ms: int) -> None:
        link = self._next_link
        if not link.reached:
            return
        self._silent_ms += step_ms
        state = heartbeat(self._silent_ms, STATUS_MS)
        if state == "live" and self._trouble is not None and not isinstance(self._trouble, Unreachable):
            state = "slow"  # it answers that it cannot say how it is
        if state == "down":
            if self._stream is not None:
                self._stream.hang_up()  # whoever reads it goes on as after any other loss
            return
        if state != link.state or (state == "slow" and self._trouble is not link.error):
            now_ms = self.now_ms()
            as_of_ms = (link.as_of_ms or now_ms - self._silent_ms) if state == "slow" else None
            self._link(Link(state, as_of_ms or now_ms, self._trouble, as_of_ms=as_of_ms))

    def _link(self, link: Link) -> None:
        if link != self._next_link:
            self._next_link = link
            self._news.link = True
            self._lock.notify_all()

    def _note(self, *, reset: bool = False, back: Back | None = None) -> None:
        self._news.reset = self._news.reset or reset
        self._news.back = back or self._news.back
        self._lock.notify_all()


def _status(client: Client) -> Json:
    """Of a daemon that speaks as we do: others tell their status too, but what is in it may be something else."""
    status = client.status()
    if spoken(status) != PROTOCOL:
        raise mismatch(spoken(status))
    return status
