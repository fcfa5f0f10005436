"""Jobs over the socket: made once, read, paused, resumed and deleted."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.model import Policies
from jobctl.states import RunState
from unit.api.world import BODY, NOW_MS, World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_the_same_key_and_body_give_the_same_job_again(api: World) -> None:
    first = await api.ask("POST", "/v1/jobs", BODY, Idempotency_Key="order-1")
    again = await api.ask("POST", "/v1/jobs", dict(reversed(BODY.items())), Idempotency_Key="order-1")
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    assert api.changes == 1


async def test_the_same_key_with_another_body_is_a_conflict_and_after_a_delete_gone(api: World) -> None:
    job = (await api.ask("POST", "/v1/jobs", BODY, Idempotency_Key="order-1")).json
    other = await api.ask("POST", "/v1/jobs", {**BODY, "note": "another"}, Idempotency_Key="order-1")
    assert (other.status, other.json["code"]) == (409, "conflict")
    assert (await api.ask("DELETE", f"/v1/jobs/{job['id']}")).status == 204
    gone = await api.ask("POST", "/v1/jobs", BODY, Idempotency_Key="order-1")
    assert (gone.status, gone.json["code"]) == (410, "gone")
    assert (await api.ask("GET", f"/v1/jobs/{job['id']}")).status == 404


async def test_a_key_looks_at_what_is_meant_and_not_at_how_it_is_written(api: World) -> None:
    body = {**BODY, "timeout": 2, "schedule": {"cron": "0 3 * * *"}}
    await api.ask("POST", "/v1/jobs", body, Idempotency_Key="k")
    written = b'{"schedule": {"dst_gap": "auto", "cron": "0 3 * * *"},\n "timeout": 2.0, "nice": null, "name": "greet",'
    written += b'"target": {"command": ["/bin/ech\\u006f", "hello"]}}'
    again = await api.ask("POST", "/v1/jobs", written, Idempotency_Key="k", Content_Type="text/plain")
    assert again.status == 200


async def test_many_callers_with_one_key_make_one_job(api: World) -> None:
    answers = await asyncio.gather(
        *(api.ask("POST", "/v1/jobs", {"target": {"shell": "date"}}, Idempotency_Key="k") for _ in range(20))
    )
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert len({answer.json["id"] for answer in answers}) == 1
    assert len((await api.ask("GET", "/v1/jobs")).json["items"]) == 1


async def test_a_name_from_the_command_gets_a_number_when_it_is_taken(api: World) -> None:
    draft = {"target": {"command": ["/usr/local/bin/backup.sh", "--all"]}}
    names = [(await api.ask("POST", "/v1/jobs", draft)).json["name"] for _ in range(3)]
    assert names == ["backup.sh", "backup.sh-2", "backup.sh-3"]


async def test_many_callers_without_a_name_all_get_their_job(api: World) -> None:
    answers = await asyncio.gather(*(api.ask("POST", "/v1/jobs", {"target": {"shell": "date"}}) for _ in range(5)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.json["name"] for answer in answers}) == 5


async def test_a_name_that_was_given_and_is_taken_is_a_conflict(api: World) -> None:
    await api.add()
    again = await api.ask("POST", "/v1/jobs", BODY)
    assert (again.status, again.json["code"]) == (409, "conflict")
    assert again.json["hint"]


async def test_a_dry_run_stores_nothing_and_shows_what_would_be(api: World) -> None:
    draft = {**BODY, "schedule": {"cron": "0 3 * * *"}, "paused": True}
    answer = await api.ask("POST", "/v1/jobs?dry_run=1", draft)
    assert answer.status == 200
    assert answer.json["preview"]["items"][0]["local"].startswith("2027-01-16T03:00:00+01:00")
    made = (await api.ask("POST", "/v1/jobs", draft)).json
    foretold = answer.json["job"]
    for job in (foretold, made):  # a field of a schedule that has its default may be left out
        job["schedule"] = {"dst_gap": "auto", "dst_overlap": "auto", **job["schedule"]}
        job.update(id=0, uid="")
    assert foretold == made
    assert (await api.ask("POST", "/v1/jobs?dry_run=1", draft)).status == 409


async def test_an_import_is_all_or_none(api: World) -> None:
    good = [{"target": {"shell": "date"}}, {"target": {"shell": "date"}}, {**BODY, "source": "crontab"}]
    answer = await api.ask("POST", "/v1/jobs/import", {"jobs": good})
    assert answer.status == 201
    assert [job["name"] for job in answer.json["items"]] == ["date", "date-2", "greet"]
    bad = await api.ask("POST", "/v1/jobs/import", {"jobs": [{"target": {"shell": "x"}}, {"target": {}}]})
    assert (bad.status, bad.json["field"]) == (422, "jobs[1].target")
    taken = await api.ask("POST", "/v1/jobs/import", {"jobs": [{**BODY, "name": "new"}, BODY]})
    assert taken.status == 409
    assert len((await api.ask("GET", "/v1/jobs")).json["items"]) == 3


async def test_jobs_are_listed_by_name_in_pages(api: World) -> None:
    for name in ("c", "a", "b"):
        await api.add(name=name, tags=["x"] if name != "b" else [])
    first = (await api.ask("GET", "/v1/jobs?limit=2")).json
    assert [job["name"] for job in first["items"]] == ["a", "b"]
    rest = (await api.ask("GET", f"/v1/jobs?limit=2&cursor={first['next']}")).json
    assert [job["name"] for job in rest["items"]] == ["c"]
    assert rest["next"] is None
    assert [job["name"] for job in (await api.ask("GET", "/v1/jobs?tag=x&q=c")).json["items"]] == ["c"]


async def test_a_job_is_found_by_id_name_and_the_beginning_of_its_uid(api: World) -> None:
    job = await api.add(name="nightly / backup: größe")
    for selector in (job["id"], "nightly%20%2F%20backup%3A%20gr%C3%B6%C3%9Fe", job["uid"][:8]):
        assert (await api.ask("GET", f"/v1/jobs/{selector}")).json == job


async def test_an_unknown_name_suggests_the_nearest(api: World) -> None:
    await api.add(name="nightly-backup")
    answer = await api.ask("GET", "/v1/jobs/nightly-bakup")
    assert answer.status == 404
    assert "nightly-backup" in answer.json["hint"]


async def test_what_a_pause_swallowed_becomes_one_row(api: World) -> None:
    job = await api.add(schedule={"every": "1m"})
    paused = await api.ask("POST", f"/v1/jobs/{job['id']}/pause", {"why": "holiday"})
    assert (paused.json["state"], paused.json["paused_why"], paused.json["next_run_at"]) == ("paused", "holiday", None)
    api.clock.tick(600_500)
    resumed = await api.ask("POST", f"/v1/jobs/{job['id']}/resume")
    assert resumed.json["paused"] is False
    assert resumed.json["next_run_at"] == "2027-01-15T08:11:00Z"
    (row,) = (await api.ask("GET", f"/v1/jobs/{job['id']}/ledger")).json["items"]
    assert (row["count"], row["reason"], row["from"], row["to"]) == (
        10,
        "paused",
        "2027-01-15T08:01:00Z",
        "2027-01-15T08:10:00Z",
    )
    assert (await api.ask("POST", f"/v1/jobs/{job['id']}/resume")).status == 409


@pytest.mark.parametrize("schedule", [None, {"on_boot": True}, {"cron": "0 0 30 2 *"}])
async def test_a_job_that_waits_for_no_time_is_paused_and_resumed_too(api: World, schedule: object) -> None:
    job = await api.add(schedule=schedule)
    assert (await api.ask("POST", f"/v1/jobs/{job['id']}/pause")).status == 200
    api.clock.tick(600_000)
    assert (await api.ask("POST", f"/v1/jobs/{job['id']}/resume")).json["next_run_at"] is None


async def test_a_one_shot_whose_time_came_in_a_pause_is_due_when_it_ends(api: World) -> None:
    job = await api.add(run_at="in 1m", paused=True)
    api.clock.tick(600_000)
    resumed = (await api.ask("POST", f"/v1/jobs/{job['id']}/resume")).json
    assert resumed["next_run_at"] == "2027-01-15T08:01:00Z"


async def test_a_second_pause_changes_only_what_is_given(api: World) -> None:
    job = await api.add()
    pause = f"/v1/jobs/{job['id']}/pause"
    first = (await api.ask("POST", pause, {"why": "holiday", "until": "in 1h"})).json
    assert (await api.ask("POST", pause)).json == first
    later = (await api.ask("POST", pause, {"until": "in 2h"})).json
    kept = ("paused_by", "paused_since", "paused_why")
    assert [later[name] for name in kept] == [first[name] for name in kept]
    assert later["paused_until"] > first["paused_until"]
    assert (await api.ask("POST", pause, {"why": "still"})).json["paused_until"] == later["paused_until"]


async def test_a_pause_that_has_ended_already_is_refused(api: World) -> None:
    job = await api.add()
    answer = await api.ask("POST", f"/v1/jobs/{job['id']}/pause", {"until": "2020-01-01T00:00:00Z"})
    assert (answer.status, answer.json["field"]) == (422, "until")
    answer = await api.ask("POST", f"/v1/jobs/{job['id']}/pause", {"until": "in 1h"})
    assert answer.json["paused_until"] == "2027-01-15T09:00:00Z"


async def test_delete_lets_a_running_run_finish_unless_told_to_cancel_it(api: World) -> None:
    claim = await api.claimed()
    assert (await api.ask("DELETE", "/v1/jobs/greet")).status == 204
    assert api.execution.asked == []
    other = await api.claimed("other")
    assert (await api.ask("DELETE", "/v1/jobs/other?runs=cancel")).status == 204
    assert api.execution.asked == [(other.run_id, other.fence, "cancel", Policies().grace_ms)]
    await api.end(claim)
    assert (await api.store.run(api.owner, claim.run_id)).state is RunState.SUCCEEDED


async def test_the_next_fires_of_a_job_and_of_a_schedule_nobody_has(api: World) -> None:
    job = await api.add(schedule={"cron": "30 2 * * *"}, timezone="Europe/Berlin")
    shown = (await api.ask("GET", f"/v1/jobs/{job['id']}/next?n=2&from=2027-03-27T12:00:00Z")).json
    assert [item["at"] for item in shown["items"]] == ["2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    assert shown["items"][0]["note"] == "gap"
    draft = {"schedule": {"cron": "30 2 * * *"}, "timezone": "Europe/Berlin", "n": 2, "since": "2027-03-27T12:00:00Z"}
    assert (await api.ask("POST", "/v1/schedule/preview", draft)).json == shown
    gap, *_ = [change for change in shown["transitions"] if change["kind"] == "gap"]
    assert (gap["offset_before"], gap["offset_after"], gap["skipped"]) == (3600, 7200, ["02:30"])


async def test_a_preview_of_no_schedule_shows_nothing(api: World) -> None:
    shown = (await api.ask("POST", "/v1/schedule/preview", {"schedule": {}})).json
    assert (shown["words"], shown["items"], shown["transitions"]) == ("by hand", [], [])


async def test_the_ledger_is_read_in_pages_without_a_gap_or_a_double(api: World) -> None:
    job = await api.add(schedule={"every": "1m"})
    for number in range(5):
        await api.ask("POST", f"/v1/jobs/{job['id']}/pause")
        api.clock.tick(120_000)
        await api.ask("POST", f"/v1/jobs/{job['id']}/resume")
        await api.ask("POST", f"/v1/jobs/{job['id']}/runs", {"run_at": "in 1d"}, Idempotency_Key=f"{number}")
    whole = (await api.ask("GET", f"/v1/jobs/{job['id']}/ledger")).json
    assert (len(whole["items"]), whole["next"]) == (10, None)
    for limit in (1, 2, 3, 7):
        rows, cursor = [], ""
        while cursor is not None:
            page = (await api.ask("GET", f"/v1/jobs/{job['id']}/ledger?limit={limit}&cursor={cursor}")).json
            rows += page["items"]
            cursor = page["next"]
        assert rows == whole["items"]


def test_now_is_what_the_expectations_above_say() -> None:
    assert NOW_MS == 1_800_000_000_000  # 2027-01-15 08:00 UTC
