"""Definitions changed over the socket: what is shown before, what holds after, and who came first."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl_daemon.decide.due import expand
from jobctl_daemon.schedules import schedule_of
from unit.api.world import World, world

HOURLY = {"cron": "0 * * * *", "timezone": "UTC"}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def ledger(api: World) -> list[Any]:
    return [
        (row["reason"], row["from"], row["count"])
        for row in (await api.ask("GET", "/v1/jobs/greet/ledger")).json["items"]
    ]


async def due(api: World, job_id: int) -> None:
    """What the due scan does with a job."""
    cursor = await api.store.cursor(api.owner, job_id)
    await api.store.expand([expand(cursor, schedule_of(cursor.schedule), api.clock.now_ms())], api.clock.now_ms(), 1)


async def test_a_field_that_is_given_replaces_and_null_is_its_default_again(api: World) -> None:
    job = await api.add(timeout="1h", note="a", queue="q", env={"A": "1", "B": "2"}, retry={"max": 7, "backoff": 1})
    patch = {"timeout": None, "note": "b", "env": {"A": None, "C": "3"}, "retry": {"max": 2}, "priority": "high"}
    answer = await api.ask("PATCH", "/v1/jobs/greet", patch)
    assert answer.status == 200
    edited = answer.json
    assert (edited["timeout"], edited["note"], edited["queue"], edited["priority"]) == (None, "b", "q", -5)
    assert edited["env"] == {"B": "2", "C": "3"}
    assert (edited["retry"]["max"], edited["retry"]["backoff"]) == (2, 1)
    assert (edited["rev"], edited["id"], edited["uid"]) == (job["rev"] + 1, job["id"], job["uid"])
    assert (await api.ask("GET", "/v1/jobs/greet")).json == edited
    assert api.changes == 2


async def test_a_new_schedule_counts_from_the_edit_and_keeps_the_zone(api: World) -> None:
    await api.add(schedule={"cron": "0 9 * * *"}, timezone="Asia/Tokyo")
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "30 18 * * *"}})).json
    assert edited["schedule"]["timezone"] == "Asia/Tokyo"
    assert edited["next_run_at"] == "2027-01-15T09:30:00Z"
    assert edited["version"] == 2


async def test_a_time_that_passed_before_the_edit_never_fires(api: World) -> None:
    job = await api.add(schedule=HOURLY)
    api.clock.tick(3_605_000)  # five seconds after its time, and nobody has looked at it yet
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "0,30 * * * *"}})).json
    assert edited["next_run_at"] == "2027-01-15T09:30:00Z"
    assert await ledger(api) == [("edited", "2027-01-15T09:00:00Z", 1)]
    assert await api.store.due(api.clock.now_ms(), None, 10) == []
    assert (await api.ask("GET", f"/v1/jobs/{job['id']}/runs")).json["items"] == []


async def test_a_run_that_waits_is_superseded_and_one_that_runs_is_not_touched(api: World) -> None:
    job = await api.add(schedule=HOURLY, overlap="allow")
    running = await api.begun(job["id"])
    api.clock.tick(3_605_000)
    await due(api, job["id"])
    await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "0,30 * * * *"}})
    runs = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    assert {run["id"]: (run["state"], run["version"]) for run in runs} == {
        running.run_id: ("running", 1),
        running.run_id + 1: ("superseded", 1),
    }
    assert ("edited", "2027-01-15T09:00:00Z", 1) in await ledger(api)


async def test_another_command_is_taken_by_what_has_not_begun(api: World) -> None:
    await api.add(schedule=HOURLY)
    run = (await api.ask("POST", "/v1/jobs/greet/runs", {"run_at": "in 1h"})).json
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"target": {"shell": "date"}})).json
    assert (edited["target"], edited["version"], edited["next_run_at"]) == (
        {"shell": "date"},
        2,
        "2027-01-15T09:00:00Z",
    )
    assert (await api.ask("GET", f"/v1/runs/{run['id']}")).json["version"] == 2


async def test_a_policy_makes_no_version(api: World) -> None:
    await api.add(schedule=HOURLY)
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"overlap": "queue", "overlap_queue": 3})).json
    assert (edited["version"], edited["rev"], edited["overlap_queue"]) == (1, 2, 3)


async def test_an_interval_keeps_its_rhythm_until_the_interval_changes(api: World) -> None:
    await api.add(schedule={"every": "1h"})
    api.clock.tick(600_000)
    same = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"every": "60m"}, "note": "x"})).json
    assert (same["next_run_at"], same["version"]) == ("2027-01-15T09:00:00Z", 1)
    other = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"every": "30m"}})).json
    assert other["next_run_at"] == "2027-01-15T08:40:00Z"


@pytest.mark.parametrize("patch", [{"schedule": {"at": "2027-01-15T07:59:59Z"}}, {"run_at": "2020-01-01T00:00:00Z"}])
async def test_an_instant_that_has_passed_is_refused(api: World, patch: dict[str, Any]) -> None:
    job = await api.add(schedule=HOURLY)
    answer = await api.ask("PATCH", "/v1/jobs/greet", patch)
    assert (answer.status, answer.json["code"]) == (422, "invalid_input")
    assert (await api.ask("GET", "/v1/jobs/greet")).json == job


async def test_a_paused_job_waits_for_nothing_until_it_is_resumed(api: World) -> None:
    await api.add(schedule=HOURLY)
    await api.ask("POST", "/v1/jobs/greet/pause")
    api.clock.tick(7_200_000)
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "30 * * * *"}})).json
    assert (edited["next_run_at"], edited["state"]) == (None, "paused")
    assert await ledger(api) == [("paused", "2027-01-15T09:00:00Z", 2)]
    assert (await api.ask("POST", "/v1/jobs/greet/resume")).json["next_run_at"] == "2027-01-15T10:30:00Z"


async def test_a_job_may_be_made_by_hand_only_and_get_a_schedule_again(api: World) -> None:
    await api.add(schedule=HOURLY)
    by_hand = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": None})).json
    assert (by_hand["schedule"], by_hand["next_run_at"]) == (None, None)
    again = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": HOURLY})).json
    assert again["next_run_at"] == "2027-01-15T09:00:00Z"


async def test_an_occurrence_that_becomes_due_during_an_edit_is_accounted_for_once(
    api: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await api.add(schedule=HOURLY)
    api.clock.tick(3_605_000)
    real, tries = api.store.edit_job, []

    async def overtaken(*args: Any) -> Any:
        if not tries:
            await due(api, job["id"])
        tries.append(args)
        return await real(*args)

    monkeypatch.setattr(api.store, "edit_job", overtaken)
    assert (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "30 * * * *"}})).status == 200
    assert len(tries) == 2
    assert await ledger(api) == [("edited", "2027-01-15T09:00:00Z", 1)]
    (run,) = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    assert run["state"] == "superseded"


@pytest.mark.parametrize(
    ("schedule", "first", "rows"),
    [
        ({**HOURLY, "jitter": 1}, "2027-01-15T14:00:00Z", [("asked", "2027-01-15T09:00:00Z", 5)]),
        ({"cron": "30 * * * *"}, "2027-01-15T13:30:00Z", [("asked", "2027-01-15T08:30:00Z", 5)]),
        ({"cron": "0 0 * * *"}, "2027-01-16T00:00:00Z", []),
    ],
)
async def test_a_skip_holds_through_edits(api: World, schedule: Any, first: str, rows: list[Any]) -> None:
    await api.add(schedule=HOURLY)
    await api.ask("POST", "/v1/jobs/greet/skip", {"count": 5})
    shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", {"schedule": schedule})).json
    edited = (await api.ask("PATCH", "/v1/jobs/greet", {"schedule": schedule})).json
    assert edited["next_run_at"] == first
    assert shown["job"] == edited
    assert shown["before"]["items"][0]["at"] == "2027-01-15T14:00:00Z"
    assert shown["preview"]["items"][0]["at"] == first
    assert (await api.ask("GET", "/v1/jobs/greet/next")).json["items"] == shown["preview"]["items"] + (
        (await api.ask("GET", "/v1/jobs/greet/next?n=5")).json["items"][3:]
    )
    assert await ledger(api) == rows


async def test_a_skip_holds_through_an_edit_and_a_pause(api: World) -> None:
    await api.add(schedule=HOURLY)
    await api.ask("POST", "/v1/jobs/greet/skip", {"count": 5})
    await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "30 * * * *"}})
    assert (await api.ask("POST", "/v1/jobs/greet/skip")).json["next_run_at"] == "2027-01-15T14:30:00Z"
    await api.ask("POST", "/v1/jobs/greet/pause")
    await api.ask("PATCH", "/v1/jobs/greet", {"schedule": {"cron": "0,30 * * * *"}})
    shown = (await api.ask("GET", "/v1/jobs/greet/next")).json["items"][0]["at"]
    resumed = (await api.ask("POST", "/v1/jobs/greet/resume")).json["next_run_at"]
    assert (shown, resumed) == ("2027-01-15T14:00:00Z", "2027-01-15T14:00:00Z")
    assert sum(count for _, _, count in await ledger(api)) == 11


async def test_a_one_shot_that_is_done_comes_back_with_a_new_time(api: World) -> None:
    job = await api.add(run_at="in 1m")
    api.clock.tick(60_000)
    await due(api, job["id"])
    (run,) = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    await api.end(await api.claim(run["id"]))
    assert (await api.ask("GET", "/v1/jobs/greet")).json["state"] == "done"
    patch = {"schedule": {"at": "2027-01-15T09:00:00Z"}}
    shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", patch)).json
    edited = (await api.ask("PATCH", "/v1/jobs/greet", patch)).json
    assert (edited["state"], edited["next_run_at"]) == ("ok", "2027-01-15T09:00:00Z")
    assert shown["job"] == edited
    assert len((await api.ask("GET", "/v1/jobs")).json["items"]) == 1


async def test_a_one_shot_that_is_done_does_not_come_back_under_a_name_that_is_taken(api: World) -> None:
    job = await api.add(run_at="in 1m")
    api.clock.tick(60_000)
    await due(api, job["id"])
    (run,) = (await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]
    await api.end(await api.claim(run["id"]))
    await api.add()
    patch = {"schedule": {"at": "2027-01-15T09:00:00Z"}}
    for path in (f"/v1/jobs/{job['id']}?dry_run=1", f"/v1/jobs/{job['id']}"):
        answer = await api.ask("PATCH", path, patch)
        assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert (await api.ask("PATCH", f"/v1/jobs/{job['id']}", {**patch, "name": "again"})).status == 200


async def test_a_job_that_leaves_a_paused_queue_goes_on_and_one_that_enters_is_held(api: World) -> None:
    await api.add(queue="q", schedule=HOURLY)
    await api.ask("POST", "/v1/queues/q/pause")
    api.clock.tick(3_605_000)
    for patch, state, next_run_at in (
        ({"queue": "default"}, "ok", "2027-01-15T10:00:00Z"),
        ({"queue": "q", "note": "x"}, "paused", None),
        ({"queue": "default", "schedule": {"cron": "30 * * * *"}}, "ok", "2027-01-15T09:30:00Z"),
    ):
        shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", patch)).json["job"]
        edited = (await api.ask("PATCH", "/v1/jobs/greet", patch)).json
        assert (edited["state"], edited["next_run_at"]) == (state, next_run_at)
        assert shown == edited
    assert await ledger(api) == [("paused", "2027-01-15T09:00:00Z", 1)]


# ── a look first ──────────────────────────────────────────────


async def test_a_dry_run_shows_both_futures_and_stores_nothing(api: World) -> None:
    job = await api.add(schedule=HOURLY)
    patch = {"schedule": {"cron": "*/20 * * * *"}, "timeout": "1h", "name": "hello"}
    shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", patch)).json
    assert [item["at"] for item in shown["before"]["items"]] == [
        "2027-01-15T09:00:00Z",
        "2027-01-15T10:00:00Z",
        "2027-01-15T11:00:00Z",
    ]
    assert [item["at"] for item in shown["preview"]["items"]] == [
        "2027-01-15T08:20:00Z",
        "2027-01-15T08:40:00Z",
        "2027-01-15T09:00:00Z",
    ]
    changed = {change["field"]: (change["before"], change["after"]) for change in shown["changes"]}
    assert changed["timeout"] == (None, 3600)
    assert changed["name"] == ("greet", "hello")
    assert (await api.ask("GET", "/v1/jobs/greet")).json == job
    assert api.changes == 1
    assert (await api.ask("PATCH", "/v1/jobs/greet", patch)).json == shown["job"]


async def test_a_dry_run_warns_of_what_never_fires(api: World) -> None:
    await api.add(schedule=HOURLY)
    shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", {"schedule": {"cron": "0 0 30 2 *"}})).json
    assert shown["warnings"]
    assert (shown["preview"]["items"], shown["job"]["next_run_at"]) == ([], None)


async def test_a_dry_run_of_nothing_says_that_nothing_changes(api: World) -> None:
    job = await api.add(schedule=HOURLY)
    shown = (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", {})).json
    assert shown["changes"] == []
    assert shown["before"] == shown["preview"]
    assert shown["job"]["next_run_at"] == job["next_run_at"]


# ── who came first ──────────────────────────────────────────────


async def test_an_edit_of_a_job_that_was_changed_meanwhile_is_a_conflict(api: World) -> None:
    await api.add()
    etag = (await api.ask("GET", "/v1/jobs/greet")).headers["etag"]
    first = await api.ask("PATCH", "/v1/jobs/greet", {"note": "mine"}, If_Match=etag)
    second = await api.ask("PATCH", "/v1/jobs/greet", {"note": "theirs"}, If_Match=etag)
    assert (first.status, second.status, second.json["code"]) == (200, 409, "conflict")
    assert (second.json["title"], second.json["rev"], second.json["by"]) == (
        "greet was changed meanwhile by me", 2, "me",
    )  # fmt: skip
    assert first.headers["etag"] != etag
    assert (await api.ask("PATCH", "/v1/jobs/greet?dry_run=1", {"note": "theirs"}, If_Match=etag)).status == 409
    assert (await api.ask("GET", "/v1/jobs/greet")).json["note"] == "mine"


@pytest.mark.parametrize("tags", ["*", ' "1" ', '"7", "1"', 'W/"1","1"'])
async def test_any_tag_of_the_list_will_do(api: World, tags: str) -> None:
    await api.add()
    assert (await api.ask("PATCH", "/v1/jobs/greet", {"note": "x"}, If_Match=tags)).status == 200


@pytest.mark.parametrize("tag", ['W/"1"', '""', '"01"', '"-1"'])
async def test_a_weak_or_another_tag_matches_nothing(api: World, tag: str) -> None:
    await api.add()
    assert (await api.ask("PATCH", "/v1/jobs/greet", {"note": "x"}, If_Match=tag)).status == 409


@pytest.mark.parametrize("tag", ["1", '"1', "", ",", '"1" "2"', '"1",'])
async def test_what_is_no_tag_is_refused(api: World, tag: str) -> None:
    await api.add()
    answer = await api.ask("PATCH", "/v1/jobs/greet", {"note": "x"}, If_Match=tag)
    assert (answer.status, answer.json["field"]) == (422, "If-Match")


async def test_many_editors_without_a_tag_all_get_their_change_in(api: World) -> None:
    await api.add()
    answers = await asyncio.gather(
        *(api.ask("PATCH", "/v1/jobs/greet", {"env": {f"V{number}": "x"}}) for number in range(5))
    )
    assert {answer.status for answer in answers} == {200}
    assert (await api.ask("GET", "/v1/jobs/greet")).json["env"] == {f"V{number}": "x" for number in range(5)}


async def test_of_many_editors_with_one_tag_one_wins(api: World) -> None:
    await api.add()
    answers = await asyncio.gather(
        *(api.ask("PATCH", "/v1/jobs/greet", {"note": str(number)}, If_Match='"1"') for number in range(10))
    )
    assert sorted(answer.status for answer in answers) == [200] + [409] * 9


async def test_an_edit_that_changes_nothing_writes_nothing(api: World) -> None:
    job = await api.add(schedule=HOURLY, note="x")
    same = await api.ask("PATCH", "/v1/jobs/greet", {"note": "x", "schedule": {"cron": "0 * * * *"}})
    assert same.json == job
    assert api.changes == 1


# ── what cannot be ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        ({"source": "cli"}, "source"),
        ({"paused": True}, "paused"),
        ({"rev": 7}, "rev"),
        ({"only_failed": 1}, "only_failed"),
        ({"target": None}, "target"),
        ({"target": {}}, "target"),
        ({"name": "7"}, "name"),
        ({"name": "x" * 200}, "name"),
        ({"priority": 10}, "priority"),
        ({"queue": ""}, "queue"),
        ({"retry": {"max": -1}}, "retry.max"),
        ({"schedule": {"cron": "0 0 * *"}}, "schedule.cron"),
        ({"schedule": {"cron": "0 0 * * *", "every": 5}}, "schedule"),
        ({"env": {"A=": "x"}}, "env"),
        ({"timeout": 0}, "timeout"),
    ],
)
async def test_a_change_that_is_not_right_is_refused_by_field(api: World, patch: dict[str, Any], field: str) -> None:
    job = await api.add(schedule=HOURLY)
    for path in ("/v1/jobs/greet", "/v1/jobs/greet?dry_run=1"):
        answer = await api.ask("PATCH", path, patch)
        assert (answer.status, answer.json["code"]) == (422, "invalid_input")
        assert answer.json["field"].startswith(field)
    assert (await api.ask("GET", "/v1/jobs/greet")).json == job


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b"[" * 100_000, b'{"env":' * 50_000, b'{"note":"\\ud800"}', b'{"note":"\xff"}',
     b'{"timeout":NaN}', b'{"timeout":1e999}', b'{"retry":{"max":' + b"9" * 400 + b"}}", b'{"tags":{}}',
     b'{"schedule":[]}', b'{"schedule":{"cron":"' + b"0," * 400_000 + b'"}}', b'{"timezone":"../../etc/passwd"}',
     b'{"env":{"A":1}}', b'{"target":{"shell":"a\\u0000b"}}'],
)  # fmt: skip
async def test_a_hostile_patch_is_refused(api: World, body: bytes) -> None:
    job = await api.add(schedule=HOURLY)
    answer = await api.ask("PATCH", "/v1/jobs/greet", body)
    assert (answer.status, answer.json["code"]) == (422, "invalid_input")
    assert (await api.ask("GET", "/v1/jobs/greet")).json == job


async def test_a_name_that_is_taken_is_a_conflict(api: World) -> None:
    await api.add()
    await api.add(name="other")
    for path in ("/v1/jobs/greet", "/v1/jobs/greet?dry_run=1"):
        answer = await api.ask("PATCH", path, {"name": "other"})
        assert (answer.status, answer.json["code"]) == (409, "conflict")


async def test_a_job_that_is_not_there_cannot_be_edited(api: World) -> None:
    assert (await api.ask("PATCH", "/v1/jobs/nobody", {})).status == 404


async def test_the_command_of_a_run_is_no_job_to_edit(api: World) -> None:
    run = (await api.ask("POST", "/v1/runs", {"target": {"shell": "date"}})).json
    answer = await api.ask("PATCH", f"/v1/jobs/{run['job_id']}", {"schedule": HOURLY})
    assert (answer.status, answer.json["code"]) == (409, "conflict")


# ── a job after another ──────────────────────────────────────────────


async def test_a_job_comes_after_another_by_its_name(api: World) -> None:
    await api.add(name="first")
    shown = (
        await api.ask("POST", "/v1/jobs?dry_run=1", {"target": {"shell": "x"}, "schedule": {"after": "first"}})
    ).json
    job = await api.add(name="second", schedule={"after": "first:any"})
    assert shown["job"]["schedule"]["after"] == "first:success"
    assert job["schedule"]["after"] == "first:any"
    assert "first" in job["schedule"]["words"]
    await api.ask("PATCH", "/v1/jobs/first", {"name": "primus"})
    edited = (await api.ask("PATCH", "/v1/jobs/second", {"note": "x"})).json
    assert edited["schedule"]["after"] == "primus:any"
    other = (await api.ask("PATCH", "/v1/jobs/second", {"schedule": {"after": "primus:failure"}})).json
    assert other["schedule"]["after"] == "primus:failure"


async def test_a_job_cannot_come_after_one_that_is_not_there(api: World) -> None:
    await api.add()
    draft = {"target": {"shell": "x"}, "schedule": {"after": "nobody"}}
    for method, path, body in (
        ("POST", "/v1/jobs", draft),
        ("POST", "/v1/jobs?dry_run=1", draft),
        ("POST", "/v1/jobs/import", {"jobs": [draft]}),
        ("PATCH", "/v1/jobs/greet", {"schedule": {"after": "nobody"}}),
        ("PATCH", "/v1/jobs/greet?dry_run=1", {"schedule": {"after": "nobody"}}),
        ("POST", "/v1/schedule/preview", {"schedule": {"after": "nobody"}}),
    ):
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.json["code"], answer.json["field"]) == (404, "not_found", "schedule.after")
        assert "nobody" in answer.json["title"]


async def test_a_circle_of_jobs_is_a_conflict(api: World) -> None:
    await api.add(name="a")
    await api.add(name="b", schedule={"after": "a"})
    for path in ("/v1/jobs/a", "/v1/jobs/a?dry_run=1"):
        for upstream in ("a", "b"):
            answer = await api.ask("PATCH", path, {"schedule": {"after": upstream}})
            assert (answer.status, answer.json["code"]) == (409, "conflict")


async def test_a_job_that_others_come_after_is_not_removed(api: World) -> None:
    await api.add(name="a")
    await api.add(name="b", schedule={"after": "a"})
    answer = await api.ask("DELETE", "/v1/jobs/a")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "b" in answer.json["title"] + answer.json["hint"]
    assert (await api.ask("DELETE", "/v1/jobs/b")).status == 204
    assert (await api.ask("DELETE", "/v1/jobs/a")).status == 204
