"""What the next hours hold, how long runs took, and what the daemon says of itself."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import structlog

from jobctl.filters import parse
from jobctl_daemon import journal
from jobctl_daemon.api import overviews
from jobctl_daemon.decide.upcoming import window
from jobctl_daemon.journal import Said
from jobctl_daemon.rows import Caller
from jobctl_daemon.windows import JobWindow
from kit.clock import ManualClock
from unit.api.world import NOW_MS, World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_jobs_come_by_their_next_fire_late_ones_first_and_held_ones_last(api: World) -> None:
    await api.add(name="noon", schedule={"cron": "0 12 * * *"})
    await api.add(name="held", schedule={"cron": "*/30 * * * *"}, paused=True)
    await api.add(name="soon", schedule={"every": "10m"})
    await api.add(name="hand")
    late = await api.add(name="late")
    await api.ask("POST", f"/v1/jobs/{late['id']}/runs")
    api.clock.tick(60_000)
    told = (await api.ask("GET", "/v1/upcoming?cells=24")).json
    assert [item["name"] for item in told["items"]] == ["late", "soon", "noon", "held"]
    assert told["total"] == 4
    first, soon, noon, held = told["items"]
    assert (first["late_since"], first["fires"]) == ("2027-01-15T08:00:00Z", 0)
    assert (soon["fires"], soon["lane"][:2]) == (143, [5, 6])
    assert (noon["next_run_at"], noon["late_since"], noon["paused"]) == ("2027-01-15T11:00:00Z", None, False)
    assert (held["paused"], held["state"], held["next_run_at"], held["fires"]) == (True, "paused", None, 47)
    # What is held is in no sum.
    assert (told["jobs"], told["fires"], sum(told["density"])) == (2, 144, 144)
    assert (told["from"], told["until"]) == ("2027-01-15T08:00:00Z", "2027-01-16T08:00:00Z")
    assert (told["slots"], told["left_out"]) == (4, {"jobs": 0, "busy": 0})


async def test_pages_and_a_part_of_a_name_choose_lanes_and_the_sums_stay(api: World) -> None:
    for number in range(5):
        await api.add(name=f"job-{number}", schedule={"cron": f"{number} 12 * * *"})
    told = (await api.ask("GET", "/v1/upcoming?offset=1&limit=2")).json
    assert ([item["name"] for item in told["items"]], told["total"], told["fires"]) == (["job-1", "job-2"], 5, 5)
    assert (await api.ask("GET", "/v1/upcoming?limit=0")).json["items"] == []
    only = (await api.ask("GET", "/v1/upcoming?q=B-3")).json
    assert ([item["name"] for item in only["items"]], only["total"], only["jobs"]) == (["job-3"], 1, 1)


async def test_its_filter_may_be_as_long_as_any_other(api: World) -> None:
    assert (await api.ask("GET", "/v1/upcoming?q=" + "x" * 500)).status == 200
    refused = await api.ask("GET", "/v1/upcoming?q=" + "x" * 501)
    assert (refused.status, refused.json["field"], refused.json["at"]) == (422, "q", 500)


async def test_who_asks_for_an_overview_waits_for_one_of_the_many_of_another(api: World) -> None:
    answered: list[str] = []
    over = window(NOW_MS, 24, 48, None)

    async def ask(caller: Caller, q: str) -> None:
        await api.services.overviews.of(caller, parse(q), over, 0)
        answered.append(caller.name)

    eve, root = Caller(uid=1002, name="eve"), Caller(uid=0, name="root", all_owners=True)
    await asyncio.gather(*(ask(eve, f"x{number}") for number in range(10)), ask(root, ""))
    assert "root" in answered[:2]


async def test_an_overview_does_not_wait_for_one_whose_account_has_asked_for_much_else(api: World) -> None:
    """What is read for another's overview stands behind all his other questions; nobody else has to wait for that."""
    answered: list[str] = []
    over = window(NOW_MS, 24, 48, None)
    eve, root = Caller(uid=1002, name="eve"), Caller(uid=0, name="root", all_owners=True)
    await api.add(name="a", schedule={"every": "1h"})

    async def overview(caller: Caller) -> None:
        await api.services.overviews.of(caller, parse(""), over, 0)
        answered.append(f"overview of {caller.name}")

    async def jobs() -> None:
        await api.store.job_window(eve, JobWindow(q=parse("/x/")), NOW_MS)
        answered.append("window")

    await asyncio.gather(*(jobs() for _ in range(60)), overview(eve), overview(root))
    assert answered.index("overview of root") <= 15
    assert answered.index("overview of root") < answered.index("overview of eve")


async def test_many_overviews_of_one_account_drive_out_none_of_another(api: World) -> None:
    over = window(NOW_MS, 24, 48, None)
    of = api.services.overviews.of
    eve, root = Caller(uid=1002, name="eve"), Caller(uid=0, name="root", all_owners=True)
    kept = await of(root, parse(""), over, 0)
    for number in range(20):
        await of(eve, parse(f"x{number}"), over, 0)
    assert await of(root, parse(""), over, 0) is kept


@pytest.mark.parametrize("query", ["hours=0", "hours=193", "cells=0", "cells=241", "limit=501", "offset=-1", "x=1"])
async def test_what_is_beyond_the_limits_is_refused(api: World, query: str) -> None:
    assert (await api.ask("GET", f"/v1/upcoming?{query}")).status == 422


async def test_what_there_was_no_time_for_is_counted(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "_BUDGET_MS", -1)
    for number in range(3):
        await api.add(name=f"job-{number}", schedule={"cron": "0 12 * * *"})
    await api.add(name="held", schedule={"cron": "0 12 * * *"}, paused=True)
    told = (await api.ask("GET", "/v1/upcoming")).json
    assert (told["left_out"]["jobs"], told["jobs"], told["fires"]) == (4, 0, 0)
    assert [item["fires"] for item in told["items"]] == [1, 1, 1]


async def test_jobs_beyond_those_that_are_timed_take_no_time(api: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overviews, "_TIMED", 1)
    for name in ("a", "b"):
        job = await api.add(name=name, schedule={"cron": "0 12 * * *"})
        await api.end(await api.begun(job["id"]), started_ms=NOW_MS - 1_800_000)
    told = (await api.ask("GET", "/v1/upcoming?cells=24")).json
    assert told["left_out"] == {"jobs": 0, "busy": 1}
    assert max(told["busy"]) == 0.5
    assert {item["p50"] for item in told["items"]} == {1800.001}


async def test_another_caller_sees_only_his_own(tmp_path: Path) -> None:
    async with world(tmp_path, system=True) as api:
        await api.add(name="mine", schedule={"cron": "0 12 * * *"})
        api.who.caller_now = Caller(uid=4711, name="bob")
        told = (await api.ask("GET", "/v1/upcoming")).json
        assert (told["items"], told["total"], told["fires"], told["crowded"]) == ([], 0, 0, [])


# ── durations ──────────────────────────────────────────────


async def test_durations_tell_what_is_usual_of_runs_that_succeeded(api: World) -> None:
    job = await api.add(name="x")
    for took_ms in (4_000, 2_000, 3_000):
        await api.end(await api.begun(job["id"]), started_ms=NOW_MS + 1 - took_ms)
    await api.die(await api.begun(job["id"]))
    told = (await api.ask("GET", "/v1/jobs/x/durations")).json
    assert (told["count"], told["p50"], told["p95"]) == (3, 3, 4)
    assert [(item["state"], item["duration"]) for item in told["items"]] == [
        ("dead", 0), ("succeeded", 3), ("succeeded", 2), ("succeeded", 4),
    ]  # fmt: skip
    assert len((await api.ask("GET", "/v1/jobs/x/durations?limit=2")).json["items"]) == 2
    assert (await api.ask("GET", "/v1/jobs/x/durations?limit=501")).status == 422


async def test_a_job_that_never_ran_has_no_usual_duration(api: World) -> None:
    await api.add(name="x")
    told = (await api.ask("GET", "/v1/jobs/x/durations")).json
    assert told == {"schema": 1, "count": 0, "p50": None, "p95": None, "items": []}


# ── the daemon's log ──────────────────────────────────────────────


async def test_the_last_lines_of_the_daemons_log_are_told_oldest_first(tmp_path: Path) -> None:
    async with world(tmp_path) as api:
        lines = [Said("2027-01-15T08:00:00Z", "info", f"line {number}") for number in range(3)]
        object.__setattr__(api.services, "journal", lambda: lines)
        told = (await api.ask("GET", "/v1/daemon/log?lines=2")).json
        assert told["items"] == [
            {"at": "2027-01-15T08:00:00Z", "level": "info", "text": "line 1"},
            {"at": "2027-01-15T08:00:00Z", "level": "info", "text": "line 2"},
        ]
        assert (await api.ask("GET", "/v1/daemon/log?lines=501")).status == 422


@pytest.fixture
def untouched() -> Iterator[None]:
    """The log is set up as it was afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.usefixtures("untouched")
def test_a_daemon_remembers_what_it_says_and_what_the_one_before_it_said(tmp_path: Path) -> None:
    path, clock = str(tmp_path / "jobd.log"), ManualClock(NOW_MS)
    for _ in range(2):
        journal.configure(clock, "info", path)
        structlog.get_logger().info("began", pid=7)
        structlog.get_logger().error("went.wrong", exc_info=ValueError("not\nthis"))
        logging.getLogger("library").warning("says %s", "this")
    said = [(line.level, line.text) for line in journal.recent()]
    once = [("info", "began pid=7"), ("error", "went.wrong exception=this"), ("warning", "library: says this")]
    assert said[3:] == once
    assert [text for _, text in said[:2]] == [text for _, text in once[:2]]
    assert {line.at for line in journal.recent()[:5]} == {"2027-01-15T08:00:00Z"}


@pytest.mark.usefixtures("untouched")
def test_a_log_file_that_is_no_log_is_no_reason_not_to_begin(tmp_path: Path) -> None:
    path = tmp_path / "jobd.log"
    path.write_bytes(b"\xff{[\n[1]\n" + b"x" * 200_000)
    journal.configure(ManualClock(NOW_MS), "info", str(path))
    assert journal.recent() == []


async def test_a_job_alone_is_told_as_it_is_now_also_while_the_overview_of_all_is_an_old_one(
    api: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overviews, "_QUICK_MS", -1)  # every overview took long, and is kept
    monkeypatch.setattr(overviews, "_GOOD_FOR", 1 << 40)
    job = await api.add(name="noon", schedule={"cron": "0 */6 * * *"})
    other = await api.add(name="other", schedule={"every": "10m"})
    before = (await api.ask("GET", "/v1/upcoming")).json
    await api.ask("POST", f"/v1/jobs/{job['id']}/skip", {"count": 2})
    await api.ask("POST", f"/v1/jobs/{other['id']}/pause")
    alone = (await api.ask("GET", f"/v1/upcoming?job={job['id']}")).json
    [row] = alone["items"]
    assert (alone["total"], alone["jobs"]) == (1, 1)
    assert row["fires"] == next(item["fires"] for item in before["items"] if item["name"] == "noon") - 2
    assert (row["skips"]["count"], row["skips"]["last"] < row["next_run_at"]) == (2, True)
    [held] = (await api.ask("GET", f"/v1/upcoming?job={other['id']}")).json["items"]
    assert (held["paused"], held["skips"]) == (True, None)
    assert (await api.ask("GET", "/v1/upcoming?job=999")).status == 404


async def test_a_row_of_the_list_says_what_of_it_is_left_out(api: World) -> None:
    job = await api.add(name="noon", schedule={"cron": "0 12 * * *"})
    await api.ask("POST", f"/v1/jobs/{job['id']}/skip", {"count": 3})
    [row] = (await api.ask("GET", "/v1/jobs/window")).json["items"]
    assert row["skips"]["count"] == 3
    assert row["skips"]["last"] < row["next_run_at"]
    await api.ask("POST", f"/v1/jobs/{job['id']}/skip", {"count": 0})
    [row] = (await api.ask("GET", "/v1/jobs/window")).json["items"]
    assert row["skips"] is None
