"""An owner has so many jobs, and so many runs that have not started; who has more of them is told, and nobody else."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl_daemon.api.limits import IMPORT_MAX
from jobctl_daemon.rows import Caller
from unit.api.world import BODY, NOW_MS, Answer, World, world

RUN = {"target": {"command": ["/bin/true"]}}
BOB = Caller(uid=54_321, name="bob")


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, owner_runs=5, owner_jobs=3) as made:
        yield made


async def run(api: World, key: str | None = None) -> Answer:
    headers = {} if key is None else {"Idempotency_Key": key}
    return await api.ask("POST", "/v1/runs", RUN, **headers)


async def test_a_run_beyond_what_an_owner_may_have_waiting_is_refused_until_some_have_ended(api: World) -> None:
    made = [await run(api, f"key-{number}") for number in range(5)]
    full = await run(api, "one-more")
    again = await run(api, "key-3")
    assert [answer.status for answer in made] == [201] * 5
    assert (full.status, full.json["code"]) == (409, "conflict")
    assert "5 runs of" in full.json["detail"]
    assert "owner_runs" in full.json["hint"]
    assert (again.status, again.json["id"]) == (200, made[3].json["id"])
    assert (await api.ask("POST", f"/v1/runs/{made[0].json['id']}/cancel")).status == 200
    api.clock.tick(1_001)
    assert (await run(api, "one-more")).status == 201
    assert (await run(api, "two-more")).status == 409


async def test_a_job_and_an_import_beyond_what_an_owner_may_have_are_refused(api: World) -> None:
    drafts = [{**BODY, "name": f"job-{number}"} for number in range(4)]
    assert (await api.ask("POST", "/v1/jobs/import", {"jobs": drafts})).status == 409
    api.clock.tick(1_001)
    assert (await api.ask("POST", "/v1/jobs/import", {"jobs": drafts[:2]})).status == 201
    last = await api.ask("POST", "/v1/jobs", drafts[2], Idempotency_Key="mine")
    full = await api.ask("POST", "/v1/jobs", drafts[3])
    again = await api.ask("POST", "/v1/jobs", drafts[2], Idempotency_Key="mine")
    assert (last.status, full.status, again.status) == (201, 409, 200)
    assert "owner_jobs" in full.json["hint"]
    assert (await api.ask("DELETE", "/v1/jobs/job-0")).status == 204
    api.clock.tick(1_001)
    assert (await api.ask("POST", "/v1/jobs", drafts[3])).status == 201


async def test_an_import_has_so_many_jobs_at_the_most(api: World) -> None:
    refused = await api.ask("POST", "/v1/jobs/import", {"jobs": [{"target": {"shell": "x"}}] * (IMPORT_MAX + 1)})
    assert (refused.status, f"{IMPORT_MAX} jobs" in refused.json["detail"]) == (422, True)


async def test_what_others_have_does_not_count(api: World) -> None:
    spec = JobSpec(
        name="theirs",
        schedule=ScheduleSpec(timezone="UTC", words="by hand"),
        execution=Execution(shell="true"),
        policies=Policies(),
    )
    job = (await api.store.create_job(BOB, spec, None, NOW_MS, None)).job
    for _ in range(9):
        await api.store.trigger(BOB, job.id, NOW_MS + 9_000, NOW_MS, None)
    assert [(await run(api)).status for _ in range(6)] == [201] * 5 + [409]


async def test_another_setting_holds_at_once(api: World) -> None:
    assert [(await run(api)).status for _ in range(6)] == [201] * 5 + [409]
    api.services.settings.owner_runs = 6
    assert [(await run(api)).status for _ in range(2)] == [201, 409]
    api.services.settings.owner_runs = 2
    assert (await run(api)).status == 409
