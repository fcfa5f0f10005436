"""Held and let go over the socket: jobs, queues, the daemon as a whole, and occurrences that are left out."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Forbidden
from jobctl_daemon.api.context import ClockReport, ClockStep, Downtime
from jobctl_daemon.api.rights import ROOT, must_operate
from jobctl_daemon.rows import Caller
from jobctl_daemon.services import resuming
from unit.api.world import BODY, NOW_MS, World, world

HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}
HOUR = 3_600_000


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def ledger(api: World, name: str = "greet") -> list[Any]:
    rows = (await api.ask("GET", f"/v1/jobs/{name}/ledger")).json["items"]
    return [(row["reason"], row["from"], row["count"]) for row in rows]


# ── catching up ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("misfire", "ran"), [({"misfire": "once"}, 1), ({"misfire": "all"}, 3), ({"misfire": "skip"}, 0)]
)
async def test_a_resumption_with_catch_up_asks_the_misfire_policy(api: World, misfire: Any, ran: int) -> None:
    await api.add(schedule=HOURLY, **misfire)
    await api.ask("POST", "/v1/jobs/greet/pause")
    api.clock.tick(3 * HOUR + 120_000)
    resumed = await api.ask("POST", "/v1/jobs/greet/resume", {"catch_up": True})
    assert (resumed.status, resumed.json["next_run_at"]) == (200, "2027-01-15T12:00:00Z")
    runs = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    assert [run["trigger"] for run in runs] == ["catch_up"] * ran
    assert sum(count for reason, _, count in await ledger(api) if reason == "paused") == 3 - ran


async def test_without_catch_up_nothing_of_the_pause_runs(api: World) -> None:
    await api.add(schedule=HOURLY, misfire="all")
    await api.ask("POST", "/v1/jobs/greet/pause")
    api.clock.tick(3 * HOUR + 120_000)
    await api.ask("POST", "/v1/jobs/greet/resume", {"catch_up": False})
    assert (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"] == []
    assert await ledger(api) == [("paused", "2027-01-15T09:00:00Z", 3)]


async def test_a_job_that_is_not_paused_is_not_resumed(api: World) -> None:
    await api.add()
    for body in (None, {"catch_up": True}):
        answer = await api.ask("POST", "/v1/jobs/greet/resume", body)
        assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert (await api.ask("POST", "/v1/jobs/nobody/resume")).status == 404


# ── leaving out ──────────────────────────────────────────────


async def test_the_next_occurrences_are_left_out_and_a_row_says_who_asked(api: World) -> None:
    await api.add(schedule=HOURLY)
    first = await api.ask("POST", "/v1/jobs/greet/skip", {"why": "a\nholiday"})
    assert (first.status, first.json["next_run_at"]) == (200, "2027-01-15T10:00:00Z")
    second = await api.ask("POST", "/v1/jobs/greet/skip", {"count": 3})
    assert second.json["next_run_at"] == "2027-01-15T13:00:00Z"
    rows = (await api.ask("GET", "/v1/jobs/greet/ledger")).json["items"]
    assert [(row["reason"], row["from"], row["count"], row["detail"]) for row in rows] == [
        ("asked", "2027-01-15T09:00:00Z", 1, "skipped by me: a\nholiday"),
        ("asked", "2027-01-15T10:00:00Z", 3, "skipped by me"),
    ]
    assert api.changes == 3


async def test_an_occurrence_that_is_due_now_runs_and_the_one_after_it_is_left_out(api: World) -> None:
    await api.add(schedule=HOURLY)
    api.clock.tick(HOUR + 5000)
    skipped = await api.ask("POST", "/v1/jobs/greet/skip")
    assert skipped.json["next_run_at"] == "2027-01-15T11:00:00Z"
    (run,) = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    assert run["scheduled_at"] == "2027-01-15T09:00:00Z"
    assert ("asked", "2027-01-15T10:00:00Z", 1) in await ledger(api)


async def test_what_was_left_out_stays_so_over_a_pause(api: World) -> None:
    await api.add(schedule=HOURLY)
    await api.ask("POST", "/v1/jobs/greet/skip", {"count": 2})
    await api.ask("POST", "/v1/jobs/greet/pause")
    assert (await api.ask("POST", "/v1/jobs/greet/resume")).json["next_run_at"] == "2027-01-15T11:00:00Z"


@pytest.mark.parametrize("schedule", [None, {"on_boot": True}, {"cron": "0 0 30 2 *"}])
async def test_without_a_time_to_come_there_is_nothing_to_leave_out(api: World, schedule: Any) -> None:
    await api.add(schedule=schedule)
    answer = await api.ask("POST", "/v1/jobs/greet/skip")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert await ledger(api) == []


@pytest.mark.parametrize("path", ["/v1/jobs/greet", "/v1/queues/default", "/v1/daemon"])
async def test_what_is_left_out_of_a_job_that_is_held_does_not_run_when_it_goes_on(api: World, path: str) -> None:
    await api.add(schedule=HOURLY, misfire="all")
    await api.ask("POST", f"{path}/pause")
    api.clock.tick(HOUR + 1000)
    skipped = await api.ask("POST", "/v1/jobs/greet/skip", {"count": 2})
    assert (skipped.status, skipped.json["state"], skipped.json["next_run_at"]) == (200, "paused", None)
    assert (await api.ask("GET", "/v1/jobs/greet/next?n=1")).json["items"][0]["at"] == "2027-01-15T12:00:00Z"
    api.clock.tick(HOUR)
    await api.ask("POST", f"{path}/resume", {"catch_up": True})
    await resuming.settle(api.store, api.clock.now_ms(), api.services.epoch)
    assert (await api.ask("GET", "/v1/jobs/greet")).json["next_run_at"] == "2027-01-15T12:00:00Z"
    (run,) = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    assert run["scheduled_at"] == "2027-01-15T09:00:00Z"
    assert await ledger(api) == [(None, "2027-01-15T09:00:00Z", 1), ("asked", "2027-01-15T10:00:00Z", 2)]


@pytest.mark.parametrize("lead_ms", range(1, 9))
async def test_what_becomes_due_while_its_successors_are_left_out_is_not_lost(
    api: World, monkeypatch: pytest.MonkeyPatch, lead_ms: int
) -> None:
    await api.add(schedule=HOURLY)
    api.clock.tick(HOUR - lead_ms)
    now_ms = api.clock.now_ms

    def passing() -> int:
        api.clock.tick(1)
        return now_ms()

    monkeypatch.setattr(api.clock, "now_ms", passing)
    answer = await api.ask("POST", "/v1/jobs/greet/skip", {"count": 2})
    monkeypatch.undo()
    assert answer.status == 200
    assert (await ledger(api))[0][1] == "2027-01-15T09:00:00Z"


async def test_what_is_left_out_is_taken_back(api: World) -> None:
    await api.add(schedule=HOURLY)
    refused = await api.ask("POST", "/v1/jobs/greet/skip", {"count": 0})
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    await api.ask("POST", "/v1/jobs/greet/skip", {"count": 3})
    api.clock.tick(HOUR)
    back = await api.ask("POST", "/v1/jobs/greet/skip", {"count": 0})
    assert (back.status, back.json["next_run_at"]) == (200, "2027-01-15T10:00:00Z")
    assert await ledger(api) == [("asked", "2027-01-15T09:00:00Z", 1)]
    assert (await api.ask("GET", "/v1/jobs/greet/next?n=1")).json["items"][0]["at"] == "2027-01-15T10:00:00Z"
    assert (await api.ask("POST", "/v1/jobs/greet/skip", {"count": 0})).status == 409
    assert (await api.ask("POST", "/v1/jobs/nobody/skip", {"count": 0})).status == 404


async def test_the_next_times_begin_behind_what_is_left_out(api: World) -> None:
    await api.add(schedule=HOURLY)
    job = (await api.ask("POST", "/v1/jobs/greet/skip", {"count": 3})).json
    coming = (await api.ask("GET", "/v1/jobs/greet/next?n=2")).json["items"]
    assert [item["at"] for item in coming] == [job["next_run_at"], "2027-01-15T13:00:00Z"]
    asked = (await api.ask("GET", "/v1/jobs/greet/next?n=1&from=2027-01-15T08:00:00Z")).json["items"]
    assert asked[0]["at"] == "2027-01-15T09:00:00Z"


@pytest.mark.parametrize(
    ("body", "field"),
    [({"count": -1}, "count"), ({"count": 101}, "count"), ({"count": 10**30}, "count"),
     ({"count": 1.5}, "count"), ({"count": "2"}, "count"), ({"why": "x" * 1001}, "why"), ({"why": "a\0b"}, "why"),
     ({"n": 1}, "n"), ([], None)],
)  # fmt: skip
async def test_a_skip_that_is_not_right_is_refused(api: World, body: Any, field: str | None) -> None:
    job = await api.add(schedule=HOURLY)
    answer = await api.ask("POST", "/v1/jobs/greet/skip", body)
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_input", field)
    assert (await api.ask("GET", "/v1/jobs/greet")).json == job
    assert (await api.ask("POST", "/v1/jobs/nobody/skip")).status == 404


# ── queues ──────────────────────────────────────────────


async def test_a_queue_is_there_when_a_job_is_in_it_or_somebody_set_it(api: World) -> None:
    await api.add(queue="reports")
    put = await api.ask("PUT", "/v1/queues/mail", {"concurrency": 2})
    assert (put.status, put.json["name"], put.json["concurrency"], put.json["jobs"]) == (200, "mail", 2, 0)
    again = await api.ask("PUT", "/v1/queues/mail", {"concurrency": 2})
    assert again.json == put.json
    found = {queue["name"]: queue for queue in (await api.ask("GET", "/v1/queues")).json["items"]}
    assert (found["mail"], found["reports"]["jobs"], found["reports"]["concurrency"]) == (put.json, 1, None)
    assert (await api.ask("PUT", "/v1/queues/mail", {"concurrency": None})).json["concurrency"] is None


async def test_a_paused_queue_holds_its_jobs_and_no_other(api: World) -> None:
    await api.add(name="in", queue="reports", schedule=HOURLY)
    await api.add(name="out", schedule=HOURLY)
    paused = await api.ask("POST", "/v1/queues/reports/pause", {"why": "month's end", "until": "in 5h"})
    assert (paused.status, paused.json["paused"], paused.json["paused_by"]) == (200, True, "me")
    assert (paused.json["paused_why"], paused.json["paused_until"]) == ("month's end", "2027-01-15T13:00:00Z")
    held = (await api.ask("GET", "/v1/jobs/in")).json
    assert (held["state"], held["paused"], held["suspended_by"], held["next_run_at"]) == (
        "paused",
        False,
        "queue",
        None,
    )
    assert (await api.ask("GET", "/v1/jobs/out")).json["next_run_at"] == "2027-01-15T09:00:00Z"
    answer = await api.ask("POST", "/v1/jobs/in/resume")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "reports" in answer.json["hint"]


async def test_a_second_pause_of_a_queue_changes_only_what_is_given(api: World) -> None:
    first = (await api.ask("POST", "/v1/queues/q/pause", {"why": "a", "until": "in 1h"})).json
    changes = api.changes
    assert (await api.ask("POST", "/v1/queues/q/pause")).json == first
    assert api.changes == changes
    api.clock.tick(1000)
    second = (await api.ask("POST", "/v1/queues/q/pause", {"why": "b"})).json
    assert second == {**first, "paused_why": "b"}


async def test_a_resumed_queue_lets_its_jobs_go_and_their_time_is_accounted_for(api: World) -> None:
    await api.add(queue="q", schedule=HOURLY, misfire="all")
    await api.ask("POST", "/v1/queues/q/pause")
    api.clock.tick(2 * HOUR + 1000)
    changes = api.changes
    resumed = await api.ask("POST", "/v1/queues/q/resume", {"catch_up": True})
    assert (resumed.status, resumed.json["paused"], resumed.json["paused_by"]) == (200, False, None)
    assert api.changes == changes + 1  # the due scan does the rest
    await resuming.settle(api.store, api.clock.now_ms(), api.services.epoch)
    job = (await api.ask("GET", "/v1/jobs/greet")).json
    assert (job["state"], job["suspended_by"], job["next_run_at"]) == ("ok", None, "2027-01-15T11:00:00Z")
    assert len((await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]) == 2
    assert (await api.ask("POST", "/v1/queues/q/resume")).status == 409


async def test_a_job_that_two_pauses_hold_is_free_when_both_are_over(api: World) -> None:
    await api.add(queue="q", schedule=HOURLY)
    await api.ask("POST", "/v1/queues/q/pause")
    await api.ask("POST", "/v1/jobs/greet/pause")
    assert (await api.ask("GET", "/v1/jobs/greet")).json["suspended_by"] == "job"
    half = (await api.ask("POST", "/v1/jobs/greet/resume")).json
    assert (half["paused"], half["suspended_by"], half["next_run_at"]) == (False, "queue", None)
    await api.ask("POST", "/v1/queues/q/resume")
    await resuming.settle(api.store, api.clock.now_ms(), api.services.epoch)
    assert (await api.ask("GET", "/v1/jobs/greet")).json["next_run_at"] == "2027-01-15T09:00:00Z"


async def test_a_queue_nobody_uses_is_not_paused_and_not_resumed(api: World) -> None:
    answer = await api.ask("POST", "/v1/queues/nowhere/resume")
    assert (answer.status, answer.json["code"]) == (409, "conflict")


@pytest.mark.parametrize("name", ["%00", "-x", "a%20b", "x" * 65, "%E2%80%AEx", "%2e%2e%2F%2e%2e%20", "...", "%ff"])
async def test_a_name_that_no_queue_can_have_is_refused(api: World, name: str) -> None:
    for method, path, body in (
        ("PUT", f"/v1/queues/{name}", {}),
        ("POST", f"/v1/queues/{name}/pause", {}),
        ("POST", f"/v1/queues/{name}/resume", {}),
    ):
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (422, "invalid_input")
    assert (await api.ask("GET", "/v1/queues")).json["items"] == []


@pytest.mark.parametrize(
    "body", [{"concurrency": 0}, {"concurrency": -1}, {"concurrency": 100_001}, {"concurrency": 10**30},
             {"concurrency": 1.5}, {"concurrency": "2"}, {"paused": True}, b"", b"null", b"{"]
)  # fmt: skip
async def test_a_concurrency_that_is_not_right_is_refused(api: World, body: Any) -> None:
    answer = await api.ask("PUT", "/v1/queues/q", body)
    assert (answer.status, answer.json["code"]) == (422, "invalid_input")
    assert (await api.ask("GET", "/v1/queues")).json["items"] == []


@pytest.mark.parametrize(
    ("body", "field"),
    [({"until": "2020-01-01T00:00:00Z"}, "until"), ({"until": "some day"}, "until"), ({"why": "x" * 1001}, "why"),
     ({"why": "a\0"}, "why"), ({"by": "root"}, "by"), ({"until": 5}, "until")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v1/jobs/greet", "/v1/queues/q", "/v1/daemon"])
async def test_a_pause_that_is_not_right_is_refused(api: World, path: str, body: Any, field: str | None) -> None:
    await api.add()
    answer = await api.ask("POST", f"{path}/pause", body)
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_input", field)
    assert (await api.ask("GET", "/v1/status")).json["paused"] is None
    assert (await api.ask("POST", f"{path}/resume", {"catchup": True})).status == 422


# ── the daemon ──────────────────────────────────────────────


async def test_a_paused_daemon_holds_every_job_and_says_so(api: World) -> None:
    await api.add(schedule=HOURLY)
    assert (await api.ask("GET", "/v1/status")).json["paused"] is None
    paused = await api.ask("POST", "/v1/daemon/pause", {"why": "a new disk"})
    assert (paused.status, paused.json["name"], paused.json["paused"], paused.json["jobs"]) == (200, "", True, 1)
    assert (await api.ask("GET", "/v1/status")).json["paused"] == paused.json
    assert (await api.ask("GET", "/v1/jobs/greet")).json["suspended_by"] == "daemon"
    assert (await api.ask("POST", "/v1/daemon/pause")).json == paused.json
    draft = {**BODY, "name": "later", "schedule": HOURLY}
    shown = (await api.ask("POST", "/v1/jobs?dry_run=1", draft)).json["job"]
    assert (shown["state"], shown["suspended_by"], shown["next_run_at"]) == ("paused", "daemon", None)
    made = await api.add(name="later", schedule=HOURLY)
    for field in ("suspended_since", "suspended_until", "suspended_why"):
        assert shown[field] == made[field]
    assert made["suspended_why"] == "the daemon was paused by me: a new disk"
    assert (made["suspended_by"], made["next_run_at"]) == ("daemon", None)
    resumed = await api.ask("POST", "/v1/daemon/resume")
    assert (resumed.status, resumed.json["name"], resumed.json["paused"], resumed.json["jobs"]) == (200, "", False, 2)
    await resuming.settle(api.store, api.clock.now_ms(), api.services.epoch)
    assert (await api.ask("GET", "/v1/jobs/later")).json["next_run_at"] == "2027-01-15T09:00:00Z"
    assert (await api.ask("POST", "/v1/daemon/resume")).status == 409
    assert [queue["name"] for queue in (await api.ask("GET", "/v1/queues")).json["items"]] == ["default"]


def test_queues_and_the_daemon_are_of_whoever_runs_it() -> None:
    for uid in (ROOT, 1000):
        must_operate(Caller(uid=uid, name="x"), 1000)
    with pytest.raises(Forbidden):
        must_operate(Caller(uid=1001, name="mallory"), 1000)


# ── what status tells ──────────────────────────────────────────────


async def test_status_tells_of_dead_letters_and_of_the_clock(api: World) -> None:
    await api.dead("a", ["disk full", "disk full"])
    status = (await api.ask("GET", "/v1/status")).json
    assert status["dead"] == {"total": 2, "newest_at": "2027-01-15T08:00:01Z"}
    assert (status["skipping"], status["quarantined"], status["untold"]) == (0, 0, 1)
    assert status["clock"] == {"synchronised": None, "generation": 0, "last_step": None, "last_down": None}
    step = ClockStep(at_ms=NOW_MS, from_ms=NOW_MS + 7_200_500, to_ms=NOW_MS)
    down = Downtime(from_ms=NOW_MS - 240_000, to_ms=NOW_MS, clean=True)
    api.health.clock = ClockReport(synchronised=False, generation=1, last_step=step, last_down=down)
    assert (await api.ask("GET", "/v1/status")).json["clock"] == {
        "synchronised": False,
        "generation": 1,
        "last_step": {"at": "2027-01-15T08:00:00Z", "from": "2027-01-15T10:00:00.500Z", "to": "2027-01-15T08:00:00Z"},
        "last_down": {"from": "2027-01-15T07:56:00Z", "to": "2027-01-15T08:00:00Z", "clean": True},
    }
