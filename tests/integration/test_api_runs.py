"""Runs over the socket: asked for, waited for, cancelled."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from unit.api.world import World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_the_same_key_never_makes_a_second_run_of_a_job(api: World) -> None:
    job = await api.add()
    first = await api.ask("POST", f"/v1/jobs/{job['id']}/runs", Idempotency_Key="2027-01-15")
    again = await api.ask("POST", f"/v1/jobs/{job['id']}/runs", {}, Idempotency_Key="2027-01-15")
    assert (first.status, again.status) == (201, 200)
    assert first.json == again.json
    assert first.json["trigger"] == "manual"


async def test_a_local_time_is_of_the_jobs_zone_unless_another_is_given(api: World) -> None:
    await api.add(schedule={"cron": "0 3 * * *"}, timezone="Asia/Tokyo", overlap="allow")
    for body, due_at in (
        ({"run_at": "18:00"}, "2027-01-15T09:00:00Z"),
        ({"run_at": "18:00", "timezone": "UTC"}, "2027-01-15T18:00:00Z"),
        ({"run_at": "2020-01-01"}, "2027-01-15T08:00:00Z"),
    ):
        answer = await api.ask("POST", "/v1/jobs/greet/runs", body)
        assert answer.json["due_at"] == due_at


async def test_one_key_may_stand_for_a_run_of_each_of_two_jobs(api: World) -> None:
    for name in ("a", "b"):
        job = await api.add(name=name)
        answer = await api.ask("POST", f"/v1/jobs/{job['id']}/runs", Idempotency_Key="2027-01-15")
        assert (answer.status, answer.json["job"]) == (201, name)


async def test_a_run_while_one_is_active_is_a_conflict_under_skip(api: World) -> None:
    await api.add()
    assert (await api.ask("POST", "/v1/jobs/greet/runs")).status == 201
    answer = await api.ask("POST", "/v1/jobs/greet/runs")
    assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert "wait" in answer.json["hint"]


async def test_a_run_at_the_limit_of_a_job_is_a_conflict_under_allow_and_waits_under_queue(api: World) -> None:
    for name, overlap, statuses in (("a", "allow", [201, 201, 409]), ("q", "queue", [201, 201, 201])):
        await api.add(name=name, overlap=overlap, limit=2)
        answers = [await api.ask("POST", f"/v1/jobs/{name}/runs") for _ in range(3)]
        assert [answer.status for answer in answers] == statuses


async def test_a_dead_letter_is_not_cancelled(api: World) -> None:
    (run_id,) = await api.dead("a")
    for verb in ("cancel", "kill"):
        answer = await api.ask("POST", f"/v1/runs/{run_id}/{verb}")
        assert (answer.status, answer.json["code"]) == (409, "conflict")
    assert (await api.ask("GET", f"/v1/runs/{run_id}")).json["state"] == "dead"


async def test_an_adhoc_command_says_what_happens_when_it_fails(api: World) -> None:
    draft = {"target": {"shell": "x"}, "retry": {"max": 2}, "on_failure": "dead", "queue": "q", "priority": "low"}
    run = (await api.ask("POST", "/v1/runs", draft)).json
    assert run["max_attempts"] == 3
    policies = (await api.store.spec(api.owner, run["job_id"])).policies
    assert (policies.retries, policies.on_failure) == (2, "dead")


async def test_an_adhoc_command_runs_without_a_job_in_the_list(api: World) -> None:
    answer = await api.ask("POST", "/v1/runs", {"target": {"command": ["ls"]}, "run_at": "in 5m"}, Idempotency_Key="x")
    assert answer.status == 201
    assert (answer.json["job"], answer.json["due_at"]) == ("ls", "2027-01-15T08:05:00Z")
    assert (await api.ask("GET", "/v1/jobs")).json["items"] == []
    again = await api.ask("POST", "/v1/runs", {"target": {"command": ["ls"]}, "run_at": "in 5m"}, Idempotency_Key="x")
    assert (again.status, again.json["id"]) == (200, answer.json["id"])


async def test_runs_are_listed_newest_first_and_filtered(api: World) -> None:
    await api.add(overlap="allow")
    for minutes in (1, 2, 3):
        await api.ask("POST", "/v1/jobs/greet/runs", {"run_at": f"in {minutes}m"})
    first = (await api.ask("GET", "/v1/jobs/greet/runs?limit=2&state=scheduled,ready")).json
    rest = (await api.ask("GET", f"/v1/jobs/greet/runs?limit=2&cursor={first['next']}")).json
    ids = [run["id"] for run in first["items"] + rest["items"]]
    assert ids == sorted(ids, reverse=True)
    assert len(ids) == 3
    assert (await api.ask("GET", "/v1/runs?state=failed")).json["items"] == []
    assert len((await api.ask("GET", "/v1/runs?q=gre&state=scheduled&state=ready")).json["items"]) == 3
    wrong = await api.ask("GET", "/v1/runs?state=sleeping")
    assert (wrong.status, wrong.json["field"]) == (422, "state")


async def test_cancel_stops_a_running_run_with_the_jobs_own_grace(api: World) -> None:
    claim = await api.claimed()
    answer = await api.ask("POST", f"/v1/runs/{claim.run_id}/cancel")
    assert (answer.status, answer.json["id"]) == (202, claim.run_id)
    await api.ask("POST", f"/v1/runs/{claim.run_id}/cancel?grace=2.5")
    await api.ask("POST", f"/v1/runs/{claim.run_id}/kill")
    run = (claim.run_id, claim.fence)
    assert api.execution.asked == [(*run, "cancel", 10_000), (*run, "cancel", 2500), (*run, "kill", 0)]
    (running,) = await api.store.running()
    assert running.stop_wanted == "kill"


async def test_cancel_of_a_run_that_has_not_begun_is_done_at_once(api: World) -> None:
    await api.add()
    run = (await api.ask("POST", "/v1/jobs/greet/runs", {"run_at": "in 1h"})).json
    answer = await api.ask("POST", f"/v1/runs/{run['id']}/cancel")
    assert (answer.status, answer.json["state"]) == (200, "cancelled")
    assert api.execution.asked == []
    assert (await api.ask("POST", f"/v1/runs/{run['id']}/cancel")).status == 409


async def test_attempts_tell_what_happened(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim, log_size=12, cpu_ms=30)
    (attempt,) = (await api.ask("GET", f"/v1/runs/{claim.run_id}/attempts?limit=1000")).json["items"]
    assert (attempt["fence"], attempt["exit_code"], attempt["cpu"], attempt["log_size"]) == (claim.fence, 0, 0.03, 12)


async def test_a_waiter_is_answered_when_its_run_ends_and_not_when_another_does(api: World) -> None:
    claim, other = await api.claimed(), await api.claimed("other")
    waiting = asyncio.ensure_future(api.ask("GET", f"/v1/runs/{claim.run_id}?wait=60"))
    await api.end(other)
    assert not (await asyncio.wait([waiting], timeout=0.2))[0]
    await api.end(claim)
    answer = await asyncio.wait_for(waiting, 5)
    assert answer.json["state"] == "succeeded"


async def test_many_waiters_of_one_run_are_all_answered(api: World) -> None:
    claim = await api.claimed()
    waiting = [asyncio.ensure_future(api.ask("GET", f"/v1/runs/{claim.run_id}?wait=60")) for _ in range(20)]
    await asyncio.wait(waiting, timeout=0.2)
    await api.end(claim)
    assert {(await one).json["state"] for one in waiting} == {"succeeded"}


async def test_a_waiter_gets_the_run_as_it_is_when_its_time_is_up(api: World) -> None:
    claim = await api.claimed()
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}?wait=0.05")
    assert answer.json["state"] == "running"
    assert (await api.ask("GET", f"/v1/runs/{claim.run_id}?wait=61")).status == 422


async def test_a_stopping_daemon_lets_waiters_go(tmp_path: Path) -> None:
    async with world(tmp_path) as api:
        claim = await api.claimed()
        waiting = asyncio.ensure_future(api.ask("GET", f"/v1/runs/{claim.run_id}?wait=60"))
        await asyncio.wait([waiting], timeout=0.2)
        await api.server.stop(2.0)
        assert (await asyncio.wait_for(waiting, 5)).json["state"] == "running"
