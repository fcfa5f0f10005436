"""What commands print, on the daemon's standard output: for a container, whose log that is.

It follows the event log, so every attempt is met, and reads the logs in a thread. How far it came is written down
beside the events: a daemon that dies repeats about a second of it and leaves out nothing. Standard output that takes
nothing, or less than commands print, stops nobody: what is left out is counted and said.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import msgspec
import structlog

from jobctl.clock import Clock
from jobctl.errors import NotFound
from jobctl.model import Event
from jobctl_daemon.execution.lines import Shape
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.outlet import Outlet
from jobctl_daemon.execution.voice import Place, Voice
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Caller
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

BATCH: Final = 500
#: Bytes a second, of all commands together; so much more at once after a quiet time.
RATE: Final = 4 << 20
BURST: Final = 8 << 20
#: Attempts that wait for standard output. More are left out, the oldest first.
WAITING_MAX: Final = 1_000
#: Between two looks at the logs; twice as long after each at which nobody had said anything.
_SOON_MS: Final = 100
_LATE_MS: Final = 1_000
_NOTE_MS: Final = 1_000
_PARTING_MS: Final = 2_000
_WARNED_MS: Final = 600_000
NOTE: Final = "echo"
_TOPIC: Final = "echo"
_EVERYBODY: Final = Caller(uid=0, name="root", all_owners=True)
_ENDS: Final = frozenset(
    {
        "run.succeeded",
        "run.failed",
        "run.cancelled",
        "run.skipped",
        "run.superseded",
        "run.discarded",
        "run.dead",
        "run.retrying",
        "run.ready",
    }
)


class Mark(msgspec.Struct, frozen=True):
    """How far it came: all events up to `event` are taken in, and these attempts are not yet written to their end."""

    event: int
    places: tuple[Place, ...]


@dataclass(slots=True)
class _LeftOut:
    """What was not written, for want of somebody who takes it."""

    bytes: int = 0
    attempts: int = 0
    last_ms: int = 0

    def words(self, boot_ms: int) -> str | None:
        """For a while after the last time."""
        if not (self.bytes or self.attempts) or boot_ms - self.last_ms > _WARNED_MS:
            return None
        whole = f", and all of {self.attempts} attempts" if self.attempts else ""
        return f"standard output is too slow: {self.bytes} bytes{whole} were left out there; they are in the logs"


class Echo:
    """Woken by `heard`."""

    name = "echo"
    pace_ms = 50

    def __init__(
        self, store: Store, clock: Clock, health: Health, logs: LogFiles, outlet: Outlet, shape: Shape
    ) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._health = health
        self._logs = logs
        self._outlet = outlet
        self._shape = shape
        self._voices: OrderedDict[tuple[int, int], Voice] = OrderedDict()
        self._seen: int | None = None
        self._noted: Mark | None = None
        self._noted_ms = 0
        self._budget = BURST
        self._wait_ms = _SOON_MS
        self._speaking: asyncio.Future[int] | None = None
        self._filled_ms = clock.boot_ms()
        self._left_out = _LeftOut()

    def heard(self) -> None:
        """Something was committed."""
        self._wait_ms = _SOON_MS
        self.wake.set()

    async def run_once(self) -> Pass:
        await self.begin()
        more = await self._take_in()
        said = await self._speak()
        self._forget_over()
        self._warn()
        await self._note()
        if more:
            return Pass(did=said, again=True)
        self._wait_ms = _SOON_MS if said else min(2 * self._wait_ms, _LATE_MS)
        busy = self._voices or self._outlet.waiting or self._noted != self._mark()
        return Pass(did=said, next_ms=self._clock.now_ms() + self._wait_ms if busy else None)

    async def part(self) -> None:
        """The last words: the daemon ends, and with it what reads its standard output. Never fails."""
        try:
            await self._part()
        except Exception as error:  # noqa: BLE001 - no thread, no store: the place that is written down still holds
            structlog.get_logger().warning("echo.unfinished", error=f"{type(error).__name__}: {error}")

    async def _part(self) -> None:
        until_ms = self._clock.boot_ms() + _PARTING_MS
        while self._clock.boot_ms() < until_ms:
            self._budget = BURST
            done = await self.run_once()
            if self._outlet.waiting:
                await asyncio.to_thread(self._outlet.wait, _SOON_MS)
            elif not done.again and not done.did:
                break
        await self._note(at_once=True)
        if left := len(self._voices):
            structlog.get_logger().info("echo.unfinished", attempts=left)

    # ── whose output ─────────────────────────────────────────────
    async def begin(self) -> None:
        """Where the daemon before this one was; from now on where there was none."""
        if self._seen is not None:
            return
        oldest, newest = await self._store.event_span()
        mark = _read((await self._store.meta()).get(NOTE))
        self._noted = mark
        if mark is None:
            self._seen = newest
            for run in await self._store.running():
                await self._meet_running(run.run_id, run.fence)
            return
        self._seen = max(mark.event, oldest - 1)
        for place in mark.places:
            self._add(place)
        for run_id in {place.run_id for place in mark.places}:
            await self._settle(run_id)

    async def _meet_running(self, run_id: int, fence: int) -> None:
        try:
            run = await self._store.run(_EVERYBODY, run_id)
        except NotFound:
            return
        self._add(Place(run_id, fence, run.attempt, run.job, 0, 0))

    async def _take_in(self) -> bool:
        """A batch of events; whether there are more."""
        assert self._seen is not None
        events = await self._store.events(self._seen, BATCH, None)
        for event in events:
            await self._meet(event)
            self._seen = event.id
        return len(events) == BATCH

    async def _meet(self, event: Event) -> None:
        if event.run_id is None:
            return
        if event.kind == "run.running":
            fence, attempt = int(event.data["fence"]), int(event.data["attempt"])
            self._add(Place(event.run_id, fence, attempt, str(event.data["name"]), 0, 0))
        elif event.kind in _ENDS and any(run_id == event.run_id for run_id, _ in self._voices):
            await self._settle(event.run_id, ended=True)

    def _add(self, place: Place) -> None:
        key = (place.run_id, place.fence)
        if key not in self._voices:
            self._voices[key] = Voice(self._logs, place, self._shape)
        while len(self._voices) > WAITING_MAX:
            ended = next((key for key, voice in self._voices.items() if voice.ended), None)
            if ended is None:
                return
            del self._voices[ended]
            self._left_out.attempts += 1
            self._left_out.last_ms = self._clock.boot_ms()

    async def _settle(self, run_id: int, *, ended: bool = False) -> None:
        """What is on record of the ends of its attempts. One that was given back has no record, and is over."""
        try:
            attempts = await self._store.attempts(_EVERYBODY, run_id)
        except NotFound:
            attempts, ended = [], True
        known = {attempt.fence: attempt for attempt in attempts}
        for (of_run, fence), voice in self._voices.items():
            if of_run != run_id:
                continue
            attempt = known.get(fence)
            if attempt is not None and attempt.ended_at is not None:
                voice.ended, voice.size = True, attempt.log_size
            elif ended:
                voice.ended = True

    # ── what they say ────────────────────────────────────────────
    async def _speak(self) -> int:
        """A pass that is cancelled does not stop the thread: the next one waits for it first."""
        if self._speaking is not None:
            await asyncio.shield(self._speaking)
        loop = asyncio.get_running_loop()
        self._speaking = loop.run_in_executor(None, self._say, self._clock.now_ms())
        said = await asyncio.shield(self._speaking)
        self._speaking = None
        return said

    def _say(self, now_ms: int) -> int:
        """In a thread: a slice of everybody's, in turns, as long as somebody takes it. The bytes that went out."""
        self._refill()
        said, spoke = 0, True
        while spoke and self._budget > 0 and self._outlet.flush():
            spoke = False
            for voice in list(self._voices.values()):
                if voice.over or self._budget <= 0:
                    continue
                data = voice.read(now_ms)
                if data:
                    spoke = True
                    said += len(data)
                    self._budget -= len(data)
                    if not self._outlet.write(data):
                        break
        return said

    def _refill(self) -> None:
        now_ms = self._clock.boot_ms()
        self._budget = min(BURST, self._budget + (now_ms - self._filled_ms) * RATE // 1000)
        self._filled_ms = now_ms
        if len(self._voices) > 1:  # who was first is last the next time
            self._voices.move_to_end(next(iter(self._voices)))

    def _forget_over(self) -> None:
        for voice in self._voices.values():
            if voice.left_out:
                self._left_out.bytes += voice.left_out
                self._left_out.last_ms = self._clock.boot_ms()
                voice.left_out = 0
        for key in [key for key, voice in self._voices.items() if voice.over]:
            self._voices.pop(key)

    def _warn(self) -> None:
        if self._outlet.closed:
            self._health.warnings[_TOPIC] = (
                "nobody reads standard output any more: what commands print is in their logs"
            )
        elif (words := self._left_out.words(self._clock.boot_ms())) is not None:
            self._health.warnings[_TOPIC] = words
        else:
            self._health.warnings.pop(_TOPIC, None)

    # ── how far ──────────────────────────────────────────────────
    def _mark(self) -> Mark:
        return Mark(self._seen or 0, tuple(voice.place for voice in self._voices.values()))

    async def _note(self, *, at_once: bool = False) -> None:
        """Written down at most once a second, and only when something has moved."""
        now_ms = self._clock.boot_ms()
        if self._outlet.waiting or (not at_once and now_ms - self._noted_ms < _NOTE_MS):
            return  # what waits is not written yet: the mark of before is the one that leaves nothing out
        mark = self._mark()
        if mark != self._noted:
            await self._store.set_meta({NOTE: msgspec.json.encode(mark).decode()})
            self._noted, self._noted_ms = mark, now_ms


async def forget(store: Store) -> None:
    """Without an echo there is no place to go on from."""
    if (await store.meta()).get(NOTE):
        await store.set_meta({NOTE: ""})


def _read(text: str | None) -> Mark | None:
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=Mark)
    except msgspec.MsgspecError:
        return None
