"""Dead letters over the socket: found, grouped, replayed under their key, discarded; and retries by hand."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.states import RunState
from unit.api.world import World, world

DEAD = "/v1/dead"
REPLAY = "/v1/dead/replay"
DISCARD = "/v1/dead/discard"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def run(api: World, run_id: int) -> Any:
    return (await api.ask("GET", f"/v1/runs/{run_id}")).json


async def ids(api: World, query: str = "") -> list[int]:
    answer = await api.ask("GET", f"{DEAD}{query}")
    assert answer.status == 200
    return [item["id"] for item in answer.json["items"]]


# ── finding ──────────────────────────────────────────────


async def test_dead_letters_are_listed_with_their_reason_newest_death_first(api: World) -> None:
    first, second = await api.dead("a", ["disk full", "no route"])
    (third,) = await api.dead("b")
    assert await ids(api) == [third, second, first]
    (shown,) = (await api.ask("GET", f"{DEAD}?q=route")).json["items"]
    assert (shown["state"], shown["class"], shown["reason"], shown["error"]) == (
        "dead",
        "exit_code",
        "exit 3",
        "no route",
    )
    assert shown == await run(api, second)


@pytest.mark.parametrize(
    ("query", "found"),
    [("?job=a", [1, 0]), ("?job=b", [2]), ("?class=exit_code", [2, 1, 0]), ("?class=signal", []),
     ("?since=2027-01-15T08:00:01Z", [2, 1]), ("?until=2027-01-15T08:00:01Z", [0]), ("?job=a&q=disk", [0]),
     ("?fingerprint=exit_code%3A3%3Ano%20route", [1]), ("?fingerprint=x", [])],
)  # fmt: skip
async def test_every_field_of_a_filter_must_hold(api: World, query: str, found: list[int]) -> None:
    made = [*await api.dead("a", ["disk full", "no route"]), *await api.dead("b")]
    assert await ids(api, query) == [made[place] for place in found]


async def test_dead_letters_are_read_in_pages(api: World) -> None:
    made = await api.dead("a", ["x", "y", "z"])
    first = (await api.ask("GET", f"{DEAD}?limit=2")).json
    rest = (await api.ask("GET", f"{DEAD}?limit=2&cursor={first['next']}")).json
    assert [item["id"] for item in first["items"] + rest["items"]] == made[::-1]
    assert rest["next"] is None


async def test_dead_letters_that_failed_alike_are_a_group(api: World) -> None:
    await api.dead("a", ["disk full", "no route", "disk full"])
    (newest,) = await api.dead("b")
    large, small = (await api.ask("GET", f"{DEAD}/groups")).json["items"]
    assert (large["count"], large["jobs"], large["error"], large["newest_run_id"]) == (
        3,
        ["a", "b"],
        "disk full",
        newest,
    )
    assert (large["first_at"], large["last_at"]) == ("2027-01-15T08:00:00Z", "2027-01-15T08:00:03Z")
    assert (small["count"], small["class"]) == (1, "exit_code")
    (of_b,) = (await api.ask("GET", f"{DEAD}/groups?job=b")).json["items"]
    assert of_b["count"] == 1
    assert len((await api.ask("GET", f"{DEAD}/groups?limit=1")).json["items"]) == 1


async def test_the_dead_letters_of_a_job_that_is_not_there_are_not_found(api: World) -> None:
    for method, path, body in (
        ("GET", f"{DEAD}?job=nobody", None),
        ("GET", f"{DEAD}/groups?job=nobody", None),
        ("POST", REPLAY, {"job": "nobody"}),
        ("POST", DISCARD, {"job": "nobody"}),
    ):
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (404, "not_found")


async def test_a_dead_letter_has_ended_for_who_waits(api: World) -> None:
    claim = await api.claimed()
    waiting = asyncio.ensure_future(api.ask("GET", f"/v1/runs/{claim.run_id}?wait=60"))
    await asyncio.wait([waiting], timeout=0.2)
    await api.die(claim)
    assert (await asyncio.wait_for(waiting, 5)).json["state"] == "dead"


# ── replaying ──────────────────────────────────────────────


async def test_a_replay_keeps_id_and_key_and_raises_the_fence(api: World) -> None:
    (run_id,) = await api.dead("a")
    before = await run(api, run_id)
    answer = await api.ask("POST", REPLAY, {"ids": [run_id]})
    assert (answer.status, answer.json["replayed"], answer.json["skipped"]) == (200, [run_id], [])
    claim = await api.claim(run_id)
    assert claim.fence > before["fence"]
    now = await run(api, run_id)
    assert (now["key"], now["replays"], now["state"]) == (before["key"], 1, "running")
    assert await ids(api) == []


async def test_the_same_key_replays_once_and_answers_the_same(api: World) -> None:
    (run_id,) = await api.dead("a")
    body = {"job": "a"}
    first = await api.ask("POST", REPLAY, body, Idempotency_Key="k")
    await api.die(await api.claim(run_id))
    again = await api.ask("POST", REPLAY, body, Idempotency_Key="k")
    assert (again.status, again.json) == (200, first.json)
    assert (await run(api, run_id))["replays"] == 1
    other = await api.ask("POST", REPLAY, {"all": True}, Idempotency_Key="k")
    assert (other.status, other.json["code"]) == (409, "conflict")


async def test_many_callers_with_one_key_make_one_replay(api: World) -> None:
    made = await api.dead("a", ["x", "y"])
    answers = await asyncio.gather(*(api.ask("POST", REPLAY, {"ids": made}, Idempotency_Key="k") for _ in range(10)))
    assert {answer.status for answer in answers} == {200}
    assert len({answer.json["batch"] for answer in answers}) == 1
    assert [(await run(api, one))["replays"] for one in made] == [1, 1]


async def test_what_is_no_dead_letter_is_said_and_left_alone(api: World) -> None:
    (run_id,) = await api.dead("a")
    claim = await api.claimed("b")
    answer = (await api.ask("POST", REPLAY, {"ids": [claim.run_id, 999, run_id, run_id]})).json
    assert answer["replayed"] == [run_id]
    assert [one["id"] for one in answer["skipped"]] == [claim.run_id, 999]
    assert all(one["reason"] for one in answer["skipped"])


async def test_a_replay_takes_the_oldest_up_to_its_limit_at_its_pace(api: World) -> None:
    made = await api.dead("a", ["x", "y", "z"])
    answer = (await api.ask("POST", REPLAY, {"job": "a", "limit": 2, "pace": "1m"})).json
    assert answer["replayed"] == made[:2]
    first, second = [(await run(api, one))["due_at"] for one in made[:2]]
    assert (first, second) == ("2027-01-15T08:00:03Z", "2027-01-15T08:01:03Z")
    assert await ids(api) == [made[2]]


async def test_a_replay_that_stops_on_failure_puts_the_rest_back(api: World) -> None:
    made = await api.dead("a", ["x", "y", "z"])
    await api.ask("POST", REPLAY, {"all": True, "stop_on_failure": True})
    await api.die(await api.claim(made[0]))
    assert await ids(api) == [made[0], made[2], made[1]]
    assert [(await run(api, one))["replays"] for one in made] == [1, 0, 0]


async def test_replays_that_keep_failing_need_force_when_they_are_many(api: World) -> None:
    made = await api.dead("a", ["x", "x"])
    for _ in range(2):
        await api.ask("POST", REPLAY, {"ids": made[:1]})
        await api.die(await api.claim(made[0]), "x")
    refused = await api.ask("POST", REPLAY, {"job": "a"})
    assert (refused.status, refused.json["code"]) == (409, "conflict")
    assert "force" in refused.json["hint"]
    assert (await api.ask("POST", REPLAY, {"job": "a", "force": True})).json["replayed"] == [made[1], made[0]]


async def test_a_replay_runs_what_was_recorded_or_what_the_job_is_now(api: World) -> None:
    recorded, current = await api.dead("a", ["x", "y"])
    await api.ask("PATCH", "/v1/jobs/a", {"target": {"shell": "now"}})
    await api.ask("POST", REPLAY, {"ids": [recorded]})
    assert (await api.claim(recorded)).execution.command == ["/bin/echo", "hello"]
    await api.ask("POST", REPLAY, {"ids": [current], "current": True})
    claim = await api.claim(current)
    assert (claim.execution.shell, claim.version) == ("now", 2)


async def test_an_edit_is_of_the_one_run_alone(api: World) -> None:
    made = await api.dead("a", ["x", "y"])
    edit = {"target": {"shell": "echo mended"}, "env": {"B": "2"}, "cwd": "/tmp", "stdin": "in"}
    assert (await api.ask("POST", REPLAY, {"ids": made[:1], "edit": edit})).status == 200
    work = (await api.claim(made[0])).execution
    assert (work.shell, work.command, work.env, work.cwd, work.stdin) == (
        "echo mended",
        None,
        {"B": "2"},
        "/tmp",
        "in",
    )
    await api.die(await _running(api, made[0]))
    await api.ask("POST", REPLAY, {"ids": made[:1], "edit": {"env": {"C": "3"}}})
    work = (await api.claim(made[0])).execution
    assert (work.shell, work.env) == ("echo mended", {"B": "2", "C": "3"})
    await api.ask("POST", REPLAY, {"ids": made[1:]})
    assert (await api.claim(made[1])).execution.command == ["/bin/echo", "hello"]
    assert (await api.ask("GET", "/v1/jobs/a")).json["target"] == {"command": ["/bin/echo", "hello"]}


async def test_what_a_run_executes_can_be_read(api: World) -> None:
    (run_id,) = await api.dead("a")
    recorded = {"target": {"command": ["/bin/echo", "hello"]}, "stdin": None, "payload_ref": None, "env": {},
                "env_file": None, "user": None, "cwd": None, "version": 1, "edited": False}  # fmt: skip
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work")).json == recorded
    await api.ask("PATCH", "/v1/jobs/a", {"target": {"shell": "now"}})
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work")).json == recorded
    edit = {"target": {"shell": "echo mended"}, "env": {"B": "2"}, "stdin": "in"}
    await api.ask("POST", REPLAY, {"ids": [run_id], "edit": edit})
    mended = {**recorded, **edit, "edited": True}
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work")).json == mended
    claim = await api.claim(run_id)
    await api.die(claim)
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work")).json == mended
    await api.ask("POST", REPLAY, {"ids": [run_id], "current": True})
    now = {**recorded, "target": {"shell": "now"}, "version": 2}
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work")).json == now
    assert (await api.ask("GET", "/v1/runs/999/work")).status == 404
    assert (await api.ask("GET", f"/v1/runs/{run_id}/work?x=1")).status == 422


async def _running(api: World, run_id: int) -> Any:
    (claim,) = [one for one in await api.store.running() if one.run_id == run_id]
    return claim


async def test_an_edit_of_an_older_version_changes_what_was_recorded(api: World) -> None:
    (run_id,) = await api.dead("a")
    await api.ask("PATCH", "/v1/jobs/a", {"target": {"shell": "now"}, "env": {"NEW": "1"}})
    await api.ask("POST", REPLAY, {"ids": [run_id], "edit": {"cwd": "/tmp"}})
    work = (await api.claim(run_id)).execution
    assert (work.command, work.env, work.cwd) == (["/bin/echo", "hello"], {}, "/tmp")


async def test_dead_letters_of_a_deleted_job_are_replayed_as_recorded(api: World) -> None:
    first, second = await api.dead("a", ["x", "y"])
    assert (await api.ask("DELETE", "/v1/jobs/a")).status == 204
    assert await ids(api) == [second, first]
    edited = await api.ask("POST", REPLAY, {"ids": [first], "edit": {"cwd": "/tmp"}})
    assert edited.json["replayed"] == [first]
    assert (await api.claim(first)).execution.cwd == "/tmp"
    assert (await api.ask("POST", DISCARD, {"ids": [second]})).json["discarded"] == [second]


EDITS: list[tuple[Any, str]] = [
    ({"target": {}}, "edit.target"),
    ({"target": {"shell": "x", "command": ["x"]}}, "edit.target"),
    ({"target": {"shell": "a\0b"}}, "edit.target.shell"),
    ({"cwd": "tmp"}, "edit.cwd"),
    ({"env": {"A=": "x"}}, "edit.env"),
]


@pytest.mark.parametrize(("edit", "field"), EDITS)
async def test_an_edit_that_is_not_right_is_refused(api: World, edit: Any, field: str) -> None:
    (run_id,) = await api.dead("a")
    answer = await api.ask("POST", REPLAY, {"ids": [run_id], "edit": edit})
    assert (answer.status, answer.json["field"]) == (422, field)
    assert await ids(api) == [run_id]


@pytest.mark.parametrize("which", [{"job": "a"}, {"all": True}, {"ids": [1, 2]}])
async def test_an_edit_is_of_exactly_one_id(api: World, which: Any) -> None:
    await api.dead("a", ["x", "y"])
    answer = await api.ask("POST", REPLAY, {**which, "edit": {"cwd": "/tmp"}})
    assert (answer.status, answer.json["field"]) == (422, "edit")


# ── discarding ──────────────────────────────────────────────


async def test_what_is_discarded_is_in_history_with_who_and_why(api: World) -> None:
    first, second = await api.dead("a", ["x", "y"])
    answer = await api.ask("POST", DISCARD, {"ids": [first, 999], "why": "known"})
    assert (answer.status, answer.json) == (200, {"discarded": [first]})
    assert await ids(api) == [second]
    gone = await run(api, first)
    assert gone["state"] == "discarded"
    assert "me" in gone["reason"]
    assert "known" in gone["reason"]
    assert (await api.ask("POST", DISCARD, {"ids": [first]})).json == {"discarded": []}
    assert (await api.ask("POST", REPLAY, {"ids": [first]})).json["replayed"] == []
    assert (await api.ask("POST", DISCARD, {"all": True})).json == {"discarded": [second]}


# ── which ──────────────────────────────────────────────


@pytest.mark.parametrize("path", [REPLAY, DISCARD])
@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "ids"), ({"all": False}, "ids"), ({"ids": []}, "ids"), ({"ids": [0]}, "ids"), ({"ids": [-1]}, "ids"),
     ({"ids": [1 << 63]}, "ids"), ({"ids": list(range(1, 1002))}, "ids"), ({"ids": ["1"]}, "ids"), ({"ids": 1}, "ids"),
     ({"q": ""}, "q"), ({"q": "  "}, "q"), ({"q": "x" * 501}, "q"), ({"job": ""}, "job"), ({"job": "a\0"}, "job"),
     ({"fingerprint": ""}, "fingerprint"), ({"class": "sad"}, "class"), ({"since": "some day"}, "since"),
     ({"until": ""}, "until"), ({"failure_class": "oom"}, "failure_class"), ({"jobs": ["a"]}, "jobs"), ([], None),
     (None, None)],
)  # fmt: skip
async def test_dead_letters_that_nobody_means_are_not_touched(api: World, path: str, body: Any, field: Any) -> None:
    made = await api.dead("a", ["x", "y"])
    answer = await api.ask("POST", path, body)
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_input", field)
    assert await ids(api) == made[::-1]


@pytest.mark.parametrize(
    ("body", "field"),
    [({"pace": 3601}, "pace"), ({"pace": "2h"}, "pace"), ({"pace": -1}, "pace"), ({"pace": "often"}, "pace"),
     ({"limit": 0}, "limit"), ({"limit": 1001}, "limit"), ({"limit": 10**30}, "limit"), ({"why": "x"}, "why"),
     ({"edit": {"user": "root"}}, "edit.user"), ({"edit": []}, "edit")],
)  # fmt: skip
async def test_a_replay_that_is_not_right_is_refused(api: World, body: Any, field: str | None) -> None:
    (run_id,) = await api.dead("a")
    answer = await api.ask("POST", REPLAY, {"ids": [run_id], **body})
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_input", field)
    assert await ids(api) == [run_id]


@pytest.mark.parametrize("why", ["x" * 1001, "a\0b"])
async def test_a_reason_that_cannot_be_kept_is_refused(api: World, why: str) -> None:
    (run_id,) = await api.dead("a")
    answer = await api.ask("POST", DISCARD, {"ids": [run_id], "why": why})
    assert (answer.status, answer.json["field"]) == (422, "why")
    assert await ids(api) == [run_id]


async def test_all_with_a_filter_means_all_of_the_filter(api: World) -> None:
    await api.dead("a")
    (of_b,) = await api.dead("b")
    assert (await api.ask("POST", DISCARD, {"all": True, "job": "b"})).json == {"discarded": [of_b]}


# ── retrying by hand ──────────────────────────────────────────────


async def test_a_retry_that_waits_is_due_now(api: World) -> None:
    claim = await api.claimed()
    now_ms = api.clock.now_ms()
    await api.die(claim, state=RunState.READY, retry_ms=now_ms + 60_000, fingerprint=None)
    assert (await run(api, claim.run_id))["due_at"] == "2027-01-15T08:01:00Z"
    answer = await api.ask("POST", f"/v1/runs/{claim.run_id}/retry")
    assert (answer.status, answer.json["how"], answer.json["run"]["id"]) == (200, "now", claim.run_id)
    assert answer.json["run"]["due_at"] == "2027-01-15T08:00:00Z"


async def test_a_dead_letter_is_replayed_by_a_retry(api: World) -> None:
    (run_id,) = await api.dead("a")
    answer = await api.ask("POST", f"/v1/runs/{run_id}/retry")
    assert (answer.status, answer.json["how"], answer.json["run"]["id"]) == (200, "replayed", run_id)
    assert answer.json["run"]["replays"] == 1


async def test_of_another_run_that_has_ended_a_new_one_is_made_once_for_each_key(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim)
    path = f"/v1/runs/{claim.run_id}/retry"
    answer = await api.ask("POST", path, Idempotency_Key="k")
    assert (answer.status, answer.json["how"], answer.json["run"]["retry_of"]) == (201, "again", claim.run_id)
    again = await api.ask("POST", path, Idempotency_Key="k")
    assert again.json["run"]["id"] == answer.json["run"]["id"]
    assert len((await api.ask("GET", "/v1/jobs/greet/runs")).json["items"]) == 2


async def test_the_same_key_does_not_replay_a_second_time(api: World) -> None:
    (run_id,) = await api.dead("a")
    path = f"/v1/runs/{run_id}/retry"
    first = await api.ask("POST", path, Idempotency_Key="k")
    await api.die(await api.claim(run_id))
    again = await api.ask("POST", path, Idempotency_Key="k")
    assert (first.status, again.status) == (200, 200)
    assert (again.json["run"]["state"], again.json["run"]["replays"]) == ("dead", 1)


async def test_what_has_not_ended_is_not_retried(api: World) -> None:
    claim = await api.claimed()
    await api.add(name="b")
    waits = (await api.ask("POST", "/v1/jobs/b/runs", {"run_at": "in 1h"})).json
    for run_id in (claim.run_id, waits["id"]):
        answer = await api.ask("POST", f"/v1/runs/{run_id}/retry")
        assert (answer.status, answer.json["code"]) == (409, "conflict")


@pytest.mark.parametrize("number", ["999", "0"])
async def test_a_run_that_is_not_there_is_not_retried(api: World, number: str) -> None:
    assert (await api.ask("POST", f"/v1/runs/{number}/retry")).status == 404


@pytest.mark.parametrize("number", ["x", "-1", "1e3", "%00"])
async def test_what_can_be_no_run_is_not_retried(api: World, number: str) -> None:
    assert (await api.ask("POST", f"/v1/runs/{number}/retry")).status == 422
