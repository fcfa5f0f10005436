"""Schedules that are read again, edited, paused and resumed under way: one series, no flood, nothing late."""

from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from jobctl.states import SkipReason
from kit.daemon import RealDaemon
from kit.gate import Gates
from kit.lives import MINUTE, OWNER, SECOND, T0, Lives
from kit.marks import Marks


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Lives]:
    made = await Lives(tmp_path).begin()
    yield made
    await made.store.close()


@pytest.mark.case("F061")
def test_a_reload_waits_for_nobody_and_makes_nobody_wait(own: RealDaemon, gates: Gates, marks: Marks) -> None:
    own.add("long", gates.command("long", "echo old"), retry={"max": 0})
    long = own.until_says(own.triggered("long"), b"begin")
    names = [f"each-{number}" for number in range(10)]
    for name in names:
        own.add(name, marks.line(name), schedule={"every": 1}, overlap="allow", misfire="all")
    own.until(lambda: all(marks.all(name) for name in names))
    own.settings("slots = 77\n")
    assert own.process is not None
    asked_ms = milliseconds(own.client.status()["now"])
    own.process.send_signal(1)
    while own.client.status()["slots"] != 77:
        pass
    done_ms = milliseconds(own.client.status()["now"])
    own.client.edit_job("long", {"target": {"shell": "echo new"}})
    own.client.edit_job("each-0", {"target": {"shell": marks.line("edited")}})
    own.until(lambda: len(marks.all("edited")) >= 2)
    for name in names:
        own.client.pause_job(name)
    gates.open("long")
    ended = own.finished(long)

    assert done_ms - asked_ms < 1000
    assert own.output(ended) == b"begin\nend\nold\n"
    assert own.output(own.finished(own.triggered("long"))) == b"new\n"
    for name in names:
        runs = [own.finished(run) for run in own.runs_of(name) if run["started_at"]]
        slots = [milliseconds(run["scheduled_at"]) for run in runs]
        assert {after - before for before, after in pairwise(slots)} == {1000}
        for run in runs:
            assert milliseconds(run["started_at"]) - milliseconds(run["scheduled_at"]) < 1000, run


@pytest.mark.case("F064")
@pytest.mark.parametrize("offset_ms", [-5 * SECOND, 5 * SECOND])
async def test_after_a_pause_the_next_slot_runs_once_and_what_it_swallowed_is_one_row(
    host: Lives, offset_ms: int
) -> None:
    job = await host.add("minutely", cron="* * * * *")
    await host.live(30 * SECOND)
    await host.store.pause_job(OWNER, job.id, "ada", None, "maintenance", host.clock.now_ms())
    await host.live(20 * MINUTE)
    await host.crash()
    await host.begin()
    await host.live(30 * MINUTE + 30 * SECOND + offset_ms)
    resumed_ms = host.clock.now_ms()
    await host.store.resume_job(OWNER, job.id, False, resumed_ms)
    await host.live(2 * MINUTE)
    (row,) = await host.missed("minutely")
    first_ms = resumed_ms - resumed_ms % MINUTE + MINUTE

    assert host.slots("minutely") == [first_ms, first_ms + MINUTE]
    assert (row.reason, row.from_ms, row.to_ms) == (SkipReason.PAUSED, T0 + MINUTE, first_ms - MINUTE)
    assert row.count == (first_ms - T0) // MINUTE - 1
    assert "ada" in (row.detail or "")


@pytest.mark.case("F064")
def test_who_paused_what_and_since_when_is_listed_and_a_run_by_hand_is_marked(daemon: RealDaemon) -> None:
    daemon.add("held", ["/bin/echo", "by hand"], schedule={"every": 1})
    daemon.client.pause_job("held", why="the provider is down")
    daemon.client.edit_job("held", {"schedule": {"every": 2}})
    daemon.restart()
    shown = daemon.jobctl("show", "held").stdout
    listed = daemon.jobctl("ls").stdout
    run = daemon.finished(daemon.triggered("held"))

    assert daemon.client.status()["user"] in shown
    assert "the provider is down" in shown
    assert "paused" in listed
    assert (run["state"], run["trigger"]) == ("succeeded", "manual")
    assert daemon.client.job("held")["paused"]
    assert [one["id"] for one in daemon.runs_of("held") if one["started_at"]] == [run["id"]]
