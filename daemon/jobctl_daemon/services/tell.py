"""Telling people of failures and recoveries: events become messages, messages become runs of hidden jobs.

The event log is the queue, and a delivery is a run like any other: durable, retried, off the loop, done as the job's
user, with a log that can be read. A receiver that hangs holds up nothing but its own run.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec
import structlog

from jobctl.clock import Clock
from jobctl.errors import NotFound
from jobctl.model import Event, Run
from jobctl_daemon.decide import letters, notices
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.notices import Address, Box, Happening, Kind
from jobctl_daemon.decide.told import TOLD, Memory
from jobctl_daemon.health import Health
from jobctl_daemon.loop import Pass
from jobctl_daemon.rows import Caller, JobFilter, Notice
from jobctl_daemon.store import Store
from jobctl_daemon.wake import Wake

BATCH: Final = 500
_PAGE: Final = 500
#: Events of any kind after which it looks, so that the place it has written down never falls far behind.
_LOOK_EVERY: Final = 250
_TOPIC: Final = "notices"
_EVERYBODY: Final = Caller(uid=0, name="root", all_owners=True)


class _Audience(NamedTuple):
    """Who is told of a job."""

    job_uid: str
    addresses: tuple[Address, ...]


class Tell:
    """Woken by `heard`. After a pass that failed it begins again from what is stored."""

    name = "tell"
    pace_ms = 100

    def __init__(self, store: Store, clock: Clock, health: Health, here: Here) -> None:
        self.wake = Wake()
        self._store = store
        self._clock = clock
        self._health = health
        self.here = here
        self._memory: Memory | None = None
        self._unlooked = 0
        self.held: Callable[[], bool] = _never
        """Whether messages, which are runs, must wait for want of room."""

    def heard(self, events: Sequence[Event]) -> None:
        """These were committed. While there is a warning any success may be that of a delivery done again."""
        self._unlooked += len(events)
        warned = _TOPIC in self._health.warnings
        news = any(notices.concerns(event) or (warned and event.kind == "run.succeeded") for event in events)
        if news or self._unlooked >= _LOOK_EVERY:
            self.wake.set()

    async def run_once(self) -> Pass:
        if self.held():
            return Pass()
        memory, self._memory = self._memory, None
        oldest, newest = await self._store.event_span()
        if memory is None:
            memory = Memory(await self._store.meta(), oldest)
        self._unlooked = 0
        now_ms = self._clock.now_ms()
        again = await self._look(memory, oldest, newest)
        told = await self._tell(memory, now_ms)
        self._warn(memory.warning(now_ms))
        self._memory = memory
        return Pass(did=told, again=again, next_ms=memory.next_ms(now_ms))

    # ── what happened ──────────────────────────────────────────────
    async def _look(self, memory: Memory, oldest: int, newest: int) -> bool:
        """Takes in a batch of events; whether there are more."""
        if memory.lost(oldest):
            structlog.get_logger().warning("notices.lost", oldest=oldest)
            await self._own_up(memory, oldest)
        events = await self._store.notices(memory.looked, BATCH)
        known: dict[int, _Audience] = {}
        for event in events:
            await self._take(memory, event, known)
        more = len(events) == BATCH
        memory.looked = events[-1].id if more else max([memory.looked, newest, *(event.id for event in events[-1:])])
        return more

    async def _take(self, memory: Memory, event: Event, known: dict[int, _Audience]) -> None:
        end = notices.delivery(event)
        if end is not None:
            memory.delivered(end)
            return
        what = notices.happening(event)
        if what is None:
            return
        if what.job_id not in known:
            known[what.job_id] = await self._audience(what.job_id)
        audience = known[what.job_id]
        if audience.addresses:
            key = f"{audience.job_uid}/{what.key}" if what.key else ""
            memory.take(msgspec.structs.replace(what, key=key), audience.addresses)
        else:
            memory.forget(what.job_id)

    async def _audience(self, job_id: int) -> _Audience:
        """Whom the job wants told; nobody when it is gone."""
        try:
            job = await self._store.job(_EVERYBODY, str(job_id))
            work = (await self._store.spec(_EVERYBODY, job_id)).execution
        except NotFound:
            return _Audience("", ())
        path = work.env.get("PATH", work.path)
        wanted = dict.fromkeys(job.notify)
        return _Audience(job.uid, tuple(Address(to=to, owner=job.owner, user=work.user, path=path) for to in wanted))

    async def _own_up(self, memory: Memory, oldest: int) -> None:
        """Events went before they were looked at: everybody who is told anything is told so."""
        now_ms, cursor, seen = self._clock.now_ms(), None, set()
        while True:
            jobs, cursor = await self._store.jobs(_EVERYBODY, JobFilter(limit=_PAGE, cursor=cursor))
            for job in jobs:
                if not job.notify or (way := (job.owner, job.user, *job.notify)) in seen:
                    continue
                seen.add(way)
                lost = Happening(event_id=oldest, kind=Kind.UNTOLD, at_ms=now_ms, job_id=job.id)
                memory.tell(lost, (await self._audience(job.id)).addresses)
            if cursor is None:
                return

    # ── what follows ──────────────────────────────────────────────
    async def _tell(self, memory: Memory, now_ms: int) -> int:
        """Writes the messages that are due, and what is remembered; returns how many were made."""
        boxes = memory.due(now_ms)
        if not boxes and not memory.behind:
            return 0
        wanted = [await self._notice(box, now_ms) for box in boxes]
        for box in boxes:
            memory.sent(box, now_ms)
        made = await self._store.tell(wanted, {**memory.changes(now_ms), TOLD: str(memory.looked)}, now_ms)
        memory.written()
        if wanted:
            structlog.get_logger().info("notices.sent", count=made)
        return made

    async def _notice(self, box: Box, now_ms: int) -> Notice:
        run = await self._run(box.held[0]) if len(box.held) == 1 and not box.more else None
        wanted = letters.letter(box, run, self.here)
        return Notice(
            key=notices.key_of(box),
            job_id=box.held[0].job_id,
            name=letters.name(box),
            execution=letters.execution(box, wanted, self.here, now_ms),
        )

    async def _run(self, what: Happening) -> Run | None:
        if what.run_id is None:
            return None
        try:
            return await self._store.run(_EVERYBODY, what.run_id)
        except NotFound:  # discarded or pruned meanwhile
            return None

    def _warn(self, words: str | None) -> None:
        if words is None:
            self._health.warnings.pop(_TOPIC, None)
        else:
            self._health.warnings[_TOPIC] = words


def _never() -> bool:
    return False
