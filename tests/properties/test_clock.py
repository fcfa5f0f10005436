"""What holds whatever is done to the clock, the machine and the daemon, in any order (design/store.md, I1, I8, I13)."""

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobctl.schedule import Cron, Every, Schedule
from jobctl.states import Misfire
from kit.lives import DAY, HOUR, MINUTE, SECOND, T0, Lives

TEN = 10 * MINUTE
INTERVAL = 13 * MINUTE
JOBS: dict[str, tuple[Schedule, dict[str, object], int]] = {
    "wildcard": (Cron("*/10 * * * *", "UTC"), {"cron": "*/10 * * * *"}, TEN),
    "all": (Cron("5-55/10 0-23 * * *", "UTC"), {"cron": "5-55/10 0-23 * * *", "misfire": Misfire.ALL}, TEN),
    "interval": (Every(interval_ms=INTERVAL, anchor_ms=T0), {"every_ms": INTERVAL, "misfire": Misfire.SKIP}, INTERVAL),
    "daily": (Cron("0 3 * * *", "UTC"), {"cron": "0 3 * * *"}, DAY),
}
FIXED = {"all", "daily"}

BACK = (-400 * DAY, -DAY, -5 * HOUR, -3 * HOUR, -2 * HOUR, -TEN, -61 * SECOND, -59 * SECOND, -5 * SECOND)
FORWARD = (5 * SECOND, 61 * SECOND, TEN, 2 * HOUR, DAY, 30 * DAY)

steps = st.sampled_from(BACK + FORWARD)
spans = st.sampled_from([SECOND, 59 * SECOND, TEN, 37 * MINUTE, 2 * HOUR])
actions = st.one_of(
    st.tuples(st.just("live"), spans),
    st.tuples(st.just("live"), spans),
    st.tuples(st.just("step"), steps),
    st.tuples(st.just("sleep"), spans),
    st.tuples(st.just("down"), spans),
    st.tuples(st.just("off"), spans),
    st.tuples(st.just("wrong at boot"), spans),
    st.tuples(st.just("set right"), st.just(0)),
    st.tuples(st.just("crash"), st.just(0)),
)


class Story:
    """A host, and what of wall time its daemon is answerable for."""

    def __init__(self, host: Lives) -> None:
        self.host = host
        self.crossed: list[tuple[int, int]] = []
        self.quiet_from: list[tuple[int, int]] = []
        """Stretches of real time in which nothing happened but that time passed."""

    async def act(self, what: str, ms: int) -> None:
        before, real_ms = self.host.clock.now_ms(), self.host.real_ms
        match what:
            case "wrong at boot":
                await self.host.off(ms, shows_ms=35 * SECOND)
            case "set right":
                await self.host.set(T0 + self.host.real_ms)
            case "crash":
                await self.host.crash()
                await self.host.begin()
            case _:
                await getattr(self.host, what)(ms)
        after = self.host.clock.now_ms()
        if after > before:
            self.crossed.append((max(before, T0), after))
        if what == "live":
            self.quiet_from.append((real_ms, self.host.real_ms))

    # ── what must hold ─────────────────────────────────────────────────────
    def check_starts(self) -> None:
        starts = self.host.starts
        assert len({(start.job, start.key) for start in starts}) == len(starts)
        assert all(start.wall_ms >= start.slot_ms for start in starts if _generation(start.key) == start.generation)

    def check_fixed(self) -> None:
        """An instant comes twice only when the clock was corrected in between."""
        for name in FIXED:
            known: dict[int, list[int]] = {}
            for start in self.host.of(name):
                known.setdefault(start.slot_ms, []).append(_generation(start.key))
            for generations in known.values():
                for earlier, later in pairwise(generations):
                    assert any(earlier < number <= later for number in self.host.corrections), (name, generations)

    def check_silence(self) -> None:
        """While time only passes, what follows the minutes is never silent for longer than its period and a minute."""
        for name in ("wildcard", "interval"):
            period_ms = JOBS[name][2]
            times = [start.real_ms for start in self.host.of(name)]
            for from_ms, to_ms in self.quiet_from:
                inside = [from_ms, *(real_ms for real_ms in times if from_ms <= real_ms <= to_ms), to_ms]
                assert all(later - earlier <= period_ms + MINUTE for earlier, later in pairwise(inside)), name

    async def check_rows(self) -> None:
        """Every occurrence that the wall clock has passed since the beginning is a run, or has a row that says why."""
        for name, (schedule, _, _) in JOBS.items():
            rows = await self.host.rows(name)
            single = {row.from_ms for row in rows if row.count == 1}
            ranges = [(row.from_ms, row.to_ms) for row in rows if row.count > 1]
            for from_ms, to_ms in self.crossed:
                for fire in schedule.fires(from_ms, to_ms):
                    covered = fire.at_ms in single or any(low <= fire.at_ms <= high for low, high in ranges)
                    assert covered, (name, fire.at_ms - T0)


def _generation(key: str) -> int:
    """The clock's generation when the run was made: the third part of its key, or none."""
    return int([*key.split(":"), "0"][2])


async def _told(folder: Path, story_of: list[tuple[str, int]]) -> None:
    host = Lives(folder)
    await host.begin()
    story = Story(host)
    try:
        for name, (_, facts, _) in JOBS.items():
            await host.add(name, **facts)  # type: ignore[arg-type]
        for what, ms in story_of:
            await story.act(what, ms)
        await story.act("live", 31 * MINUTE)
        story.check_starts()
        story.check_fixed()
        story.check_silence()
        await story.check_rows()
    finally:
        await host.store.close()


@pytest.mark.parametrize("examples", [20, pytest.param(60, marks=pytest.mark.long)])
def test_nothing_repeats_nothing_is_forgotten_and_nothing_falls_silent(examples: int) -> None:
    @settings(deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(actions, min_size=1, max_size=10))
    def holds(story_of: list[tuple[str, int]]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_told(Path(folder), story_of))

    holds()
