"""An hour of events, as fast as they are taken: nothing is missed, and nothing of it stays in memory."""

import ctypes
import gc
import os
from collections.abc import Iterator

import pytest

from kit.hour import Busy
from kit.screens import screens

MINUTES = 60
#: Ten a second.
EVENTS = 600
#: What is kept on purpose is full by then: recent events, rows around the screen, sentences.
WARM = 10
_PAGE = os.sysconf("SC_PAGESIZE")


@pytest.fixture
def busy() -> Iterator[Busy]:
    made = Busy()
    yield made
    made.close()


def resident_bytes() -> int:
    """Without what is free: how much of it the allocator keeps depends on all that ran in this process before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * _PAGE


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_memory_is_flat_over_an_hour_of_events_on_every_tab(busy: Busy) -> None:
    sizes, counts = [], []
    async with screens(busy.client(), (80, 24), clock=busy.clock) as ui:
        await ui.shows("job-0")
        for minute in range(MINUTES):
            last = busy.passes(EVENTS)
            await ui.press("12345"[minute % 5], "j", "j", "G", "k", "g")
            await ui.until(lambda last=last: ui.app.feed.event >= last)
            busy.clock.at_ms += 60_000
            if minute % 7 == 6:
                followed = busy.followed
                busy.drops()
                await ui.until(lambda followed=followed: busy.followed > followed)
            if minute % 10 == 9:
                await ui.press("1")
                await ui.pilot.pause()
                sizes.append(resident_bytes())
                counts.append(objects())
        await ui.shows("job-0")
    assert busy.event == MINUTES * EVENTS
    print(f"resident bytes {sizes}, objects {counts}")
    assert max(counts[1:]) < counts[0] * 1.02 + 500, counts
    # The allocator takes what it needs in the first minutes; from the half hour on nothing more is wanted.
    assert max(sizes[3:]) < sizes[2] + (2 << 20), sizes
    assert max(sizes) < sizes[0] + (8 << 20), sizes


async def test_a_burst_of_a_thousand_events_is_one_refresh_and_is_shown(busy: Busy) -> None:
    async with screens(busy.client(), (80, 24), clock=busy.clock) as ui:
        await ui.shows("job-0")
        told: list[int] = []
        before = ui.app.changed
        ui.app.feed._changed = lambda changes: (told.append(len(changes.jobs)), before(changes))
        last = busy.passes(1_000)
        await ui.until(lambda: ui.app.feed.event >= last)
        assert len(told) < 20
        assert max(told) <= 200
        words = {job["name"]: job["state"] for job in (busy._job(place) for place in range(5))}
        for name, word in words.items():
            await ui.until(lambda name=name, word=word: word.upper() in ui.line_with(f"{name} ").upper())
