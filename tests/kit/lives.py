"""The due scan of one host through all its lives, in one process: a store that stays, a clock that the test moves.

Runs are started and succeed at once, so that what a clock does to waiting runs shows as what it does to their starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobctl.model import Event, Execution, Job, JobSpec, Policies, ScheduleSpec
from jobctl.states import Misfire, Overlap, RunState
from jobctl_daemon.decide.admission import admit
from jobctl_daemon.rows import Caller, Finish, LedgerRow
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.services.clock import Timekeeper
from jobctl_daemon.services.materialise import Materialise
from jobctl_daemon.store.sqlite import SqliteStore
from kit.clock import ManualClock

OWNER = Caller(uid=1000, name="ada", all_owners=True)
#: 2027-01-16T00:00:00Z
T0 = 1_800_057_600_000
SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000
DAY = 86_400_000
_FOR_EVER = 1 << 60


@dataclass(frozen=True, slots=True)
class Start:
    """A run that was started: for which instant, under which key, and when by the wall and in real time."""

    job: str
    slot_ms: int
    key: str
    wall_ms: int
    real_ms: int
    generation: int
    """The clock's, at the start; the key has the one of the moment when the run was made."""


class Lives:
    """`real_ms` is the time that really passed, which no step changes."""

    def __init__(self, folder: Path, now_ms: int = T0) -> None:
        self.clock = ManualClock(now_ms)
        self.real_ms = 0
        self.starts: list[Start] = []
        self.events: list[Event] = []
        self.room: int | None = None
        """How many commands may run at once; each of them then takes a second. None: they end at once."""
        self.most_running = 0
        self.corrections: set[int] = set()
        """The generations that began with a step of more than three hours."""
        self._running: list[tuple[int, Finish]] = []
        self._path = folder / "jobctl.db"

    # ── lives ─────────────────────────────────────────────────────
    async def begin(self) -> "Lives":
        """A daemon starts."""
        self.store = SqliteStore(self._path)
        await self.store.open()
        self.store.listen(self.events.extend)
        self.epoch = await self.store.take_epoch("host", self.clock.now_ms())
        self.time = Timekeeper(self.store, self.clock, self.epoch)
        await self.time.begin()
        self.scan = Materialise(self.store, self.time, self.epoch, lambda: None)
        await self.look()
        return self

    async def stop(self) -> None:
        """It ends in the ordinary way."""
        await self.time.end()
        await self.store.close()

    async def crash(self) -> None:
        """It is killed: nothing is written."""
        await self.store.close()

    async def off(self, ms: int, *, shows_ms: int | None = None) -> None:
        """The machine loses its power for so long; afterwards its clock shows the right time, or `shows_ms`."""
        await self.crash()
        self.clock.reboot(ms)
        self.real_ms += ms
        if shows_ms is not None:
            self.clock.set(shows_ms)
        await self.begin()

    async def down(self, ms: int) -> None:
        """No daemon runs for so long."""
        await self.stop()
        self._pass(ms)
        await self.begin()

    # ── time ─────────────────────────────────────────────────────
    async def live(self, ms: int) -> None:
        """Real time passes; the due scan is woken when it asked for it, and what is due is started."""
        end_ms = self.real_ms + ms
        while True:
            next_ms = await self.look()
            left_ms = end_ms - self.real_ms
            wait_ms = left_ms if next_ms is None else min(left_ms, max(0, next_ms - self.clock.now_ms()))
            if self._running:
                wait_ms = min(wait_ms, self._running[0][0] + SECOND - self.real_ms)
            self._pass(wait_ms)
            if self.real_ms >= end_ms:
                await self.look()
                return

    async def step(self, ms: int) -> None:
        """Somebody sets the clock; the alarm tells the due scan at once."""
        self.clock.step(ms)
        await self.look()

    async def set(self, now_ms: int) -> None:
        await self.step(now_ms - self.clock.now_ms())

    async def sleep(self, ms: int) -> None:
        """The machine is suspended."""
        self.clock.sleep(ms)
        self.real_ms += ms
        await self.look()

    def _pass(self, ms: int) -> None:
        self.clock.tick(ms)
        self.real_ms += ms

    async def look(self) -> int | None:
        """One wake of the due scan, and what comes of it; when it wants the next."""
        while (done := await self.scan.run_once()).again:
            pass
        if self.time.last_step is not None and self.time.last_step.correction:
            self.corrections.add(self.time.generation)
        while await self._work():
            pass
        return done.next_ms

    async def _work(self) -> int:
        now_ms = self.clock.now_ms()
        pending = await self.store.pending(now_ms, 1000)
        if pending:
            await self.store.admit(admit(pending, now_ms), now_ms)
        done = [self._running.pop(0)[1] for began, _ in list(self._running) if began + SECOND <= self.real_ms]
        free = 1000 if self.room is None else self.room - len(self._running)
        claims = await self.store.claim(now_ms, free, "host", "boot") if free else []
        self.starts += [
            Start(claim.job_name, claim.slot_ms, claim.key, self.clock.now_ms(), self.real_ms, self.time.generation)
            for claim in claims
        ]
        ends = [_succeeded(claim.run_id, claim.fence, now_ms) for claim in claims]
        if self.room is None:
            done += ends
        else:
            self._running += [(self.real_ms, end) for end in ends]
            self.most_running = max(self.most_running, len(self._running))
        if done:
            await self.store.finish(done, now_ms)
        return len(pending) + len(claims) + len(done)

    # ── jobs ─────────────────────────────────────────────────────
    async def add(
        self,
        name: str,
        *,
        cron: str | None = None,
        every_ms: int | None = None,
        at_ms: int | None = None,
        misfire: Misfire = Misfire.ONCE,
        within_ms: int = DAY,
        paused: bool = False,
        jitter_ms: int = 0,
    ) -> Job:
        now_ms = self.clock.now_ms()
        schedule = ScheduleSpec(
            timezone="UTC", cron=cron, every_ms=every_ms, anchor_ms=now_ms, at_ms=at_ms, jitter_ms=jitter_ms
        )
        policies = Policies(overlap=Overlap.ALLOW, misfire=misfire, misfire_within_ms=within_ms)
        spec = JobSpec(
            name=name, schedule=schedule, execution=Execution(command=["true"]), policies=policies, paused=paused
        )
        fire = schedule_of(schedule).next_after(now_ms)
        return (await self.store.create_job(OWNER, spec, fire.at_ms if fire else None, now_ms, None)).job

    def of(self, name: str, since: int = 0) -> list[Start]:
        """The starts of a job, from the one with this number on."""
        return [start for start in self.starts if start.job == name][since:]

    def slots(self, name: str) -> list[int]:
        return [start.slot_ms for start in self.of(name)]

    async def rows(self, name: str) -> list[LedgerRow]:
        job = await self.store.job(OWNER, name)
        return await self.store.ledger(OWNER, job.id, 0, _FOR_EVER, 1_000_000)

    async def missed(self, name: str) -> list[LedgerRow]:
        """The rows of what did not run."""
        return [row for row in await self.rows(name) if row.run_id is None]

    def said(self, kind: str) -> Sequence[Event]:
        return [event for event in self.events if event.kind == kind]


def _succeeded(run_id: int, fence: int, now_ms: int) -> Finish:
    return Finish(
        run_id=run_id,
        fence=fence,
        state=RunState.SUCCEEDED,
        outcome="ok",
        failure_class=None,
        reason=None,
        started_ms=now_ms,
        ended_ms=now_ms,
        exit_code=0,
    )
