"""Watches the wall clock. It is looked at before every due scan, and a step or a resume wakes the due scan at once."""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import structlog

from jobctl.clock import Clock
from jobctl.errors import InvalidInput
from jobctl.states import SkipReason
from jobctl_daemon.decide import clock as decided
from jobctl_daemon.decide.clock import Gap, Reading
from jobctl_daemon.decide.set_back import aim
from jobctl_daemon.rows import ClockStep, DueJob, Expansion
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.store import Store

#: Cursors aimed in one transaction.
BATCH: Final = 500
#: What was on its way into the store when the clock was set back is found by a second look after so long.
_AGAIN_MS: Final = 10_000
#: Gaps that are remembered: a backlog is handled when its gap ends, so few are ever asked for.
_GAPS: Final = 8
#: The three clocks are read within so many ms, or read again.
_READ_MS: Final = 5
_READS: Final = 5


class Downtime(NamedTuple):
    """The time without a daemon before this one; ms UTC. Not `clean`: the last sign of life was at `from_ms`."""

    from_ms: int
    to_ms: int
    clean: bool


class Timekeeper:
    """Knows what the wall clock did in this daemon's life, and aims the cursors when it was set back."""

    def __init__(self, store: Store, clock: Clock, epoch: int) -> None:
        self.generation = 0
        self.last_step: ClockStep | None = None
        self.last_down: Downtime | None = None
        self._store = store
        self._clock = clock
        self._epoch = epoch
        self._before = read(clock)
        self._shown_ms = self._before.now_ms
        self._gaps: deque[Gap] = deque(maxlen=_GAPS)
        self._doubted: tuple[Gap, int] | None = None
        self._back: ClockStep | None = None
        self._looks = 0
        self._look_boot_ms = 0

    @property
    def gaps(self) -> Sequence[Gap]:
        """The stretches in which nothing could start, oldest first."""
        return self._gaps

    async def begin(self) -> None:
        """At the start, before anything is written: what happened since the last sign of life."""
        state = await self._store.clock()
        self.generation, self.last_step = state.generation, state.last
        self._before = now = read(self._clock)
        if state.back is not None:  # a daemon died while it aimed
            self._aim_from(state.back, now)
        seen_ms = state.seen_ms if state.seen_ms is not None else now.now_ms
        self._shown_ms = max(seen_ms, now.now_ms)
        if gap := decided.down(seen_ms, now.now_ms):
            self._remember(gap, now)
            self.last_down = Downtime(gap.from_ms, gap.to_ms, state.clean)
        await self.look()

    async def look(self) -> int:
        """What the clock did since the last look is written down and dealt with. Returns the wall time."""
        now, before = read(self._clock), self._before
        expected_ms = decided.expected_ms(before, now)
        if step := self._step_back(max(self._shown_ms, expected_ms), now):
            await self._set_back(step, now)
        else:
            forward = decided.set_forward(before, now)
            if forward is not None and forward.length_ms > decided.BACK_MS:
                await self._set_forward(forward)
            for gap in (decided.slept(before, now), forward):
                if gap is not None:
                    self._remember(gap, now)
            self._shown_ms = max(self._shown_ms, now.now_ms)
        self._before = now
        await self._aim_when_due(now)
        return now.now_ms

    async def end(self) -> None:
        """At a clean stop: the time without a daemon begins now."""
        await self._store.seen(self._clock.now_ms())

    def next_ms(self) -> int | None:
        """When it wants to look again by itself; None: whenever somebody does."""
        if self._back is None:
            return None
        return self._clock.now_ms() + max(0, self._look_boot_ms - self._clock.boot_ms())

    def age_ms(self) -> int:
        """The wall time by which things are old enough to be thrown away, also of a leap that nobody has seen yet."""
        now = read(self._clock)
        gap, noticed_boot_ms = self._doubted or (decided.set_forward(self._before, now), now.boot_ms)
        return decided.age_judged_at_ms(now, gap, noticed_boot_ms)

    async def covered(self, jobs: Sequence[DueJob], now_ms: int) -> dict[int, int]:
        """Job id → until when it has its rows, of those that a leap took over time which may have been lived before."""
        leapt = [
            job.job_id
            for job in jobs
            if job.generation and job.next_ms is not None and decided.leapt(self._gaps, job.next_ms, now_ms)
        ]
        return await self._store.covered(leapt, now_ms) if leapt else {}

    # ── steps ──────────────────────────────────────────────
    def _step_back(self, shown_ms: int, now: Reading) -> ClockStep | None:
        known = list(self._gaps)
        if self.last_step is not None and self.last_step.to_ms > self.last_step.from_ms:
            known.append(Gap(self.last_step.from_ms, self.last_step.to_ms, SkipReason.CLOCK, ""))
        return decided.set_back(shown_ms, now.now_ms, self.last_step, known)

    async def _set_back(self, step: ClockStep, now: Reading) -> None:
        generation = await self._store.stepped(step, self._epoch)
        if generation is None:  # another daemon has taken over
            return
        self.generation, self.last_step = generation, step
        self._shown_ms = step.to_ms
        self._doubted = None
        self._gaps = deque((gap for gap in self._gaps if gap.to_ms <= step.to_ms), maxlen=_GAPS)
        self._aim_from(step, now)
        structlog.get_logger().warning("clock.set_back", by_ms=step.from_ms - step.to_ms, generation=generation)

    async def _set_forward(self, gap: Gap) -> None:
        held_ms = max(gap.to_ms, self.last_step.held_ms if self.last_step else 0)
        step = ClockStep(from_ms=gap.from_ms, to_ms=gap.to_ms, held_ms=held_ms)
        await self._store.stepped(step, self._epoch)
        self.last_step = step
        structlog.get_logger().warning("clock.set_forward", by_ms=gap.length_ms)

    def _remember(self, gap: Gap, now: Reading) -> None:
        self._gaps.append(gap)
        if gap.length_ms > decided.DOUBTED_MS:
            self._doubted = (gap, now.boot_ms)

    # ── cursors ──────────────────────────────────────────────
    def _aim_from(self, step: ClockStep, now: Reading) -> None:
        self._back = step
        self._looks = 0
        self._look_boot_ms = now.boot_ms

    async def _aim_when_due(self, now: Reading) -> None:
        if self._back is None or now.boot_ms < self._look_boot_ms:
            return
        await self._aim_all(self._back)
        self._looks += 1
        self._look_boot_ms = now.boot_ms + _AGAIN_MS
        if self._looks == 2:
            await self._store.aimed()
            self._back = None

    async def _aim_all(self, step: ClockStep) -> None:
        """In batches: a step must not hold up everything else in one transaction."""
        after = 0
        while jobs := await self._store.ahead(self._clock.now_ms(), after, BATCH):
            after = jobs[-1].job_id
            now_ms = self._clock.now_ms()
            aims = [aimed for job in jobs if (aimed := _aimed(job, step, now_ms))]
            if aims:
                await self._store.aim(aims, now_ms, self._epoch)


def _aimed(job: DueJob, step: ClockStep, now_ms: int) -> Expansion | None:
    try:
        return aim(job, schedule_of(job.schedule), step, now_ms)
    except InvalidInput:  # a zone that is gone: the due scan parks the job, with the reason
        return None


def read(clock: Clock) -> Reading:
    """All clocks at one moment, as nearly as that can be had: again when something came between."""
    for _ in range(_READS):
        boot_ms = clock.boot_ms()
        reading = Reading(clock.now_ms(), boot_ms, clock.awake_ms())
        if clock.boot_ms() - boot_ms <= _READ_MS:
            break
    return reading
