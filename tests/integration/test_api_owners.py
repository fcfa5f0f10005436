"""What is another's does not exist: not to be read, changed, replayed, discarded, or guessed from a count."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl_daemon.rows import Admission, Caller
from unit.api.world import NOW_MS, World, world

BOB = Caller(uid=54_321, name="bob")
SPEC = JobSpec(
    name="theirs",
    schedule=ScheduleSpec(timezone="UTC", cron="0 * * * *", words="every hour"),
    execution=Execution(shell="secret"),
    policies=Policies(),
    queue="secret-queue",
)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def theirs(api: World) -> tuple[int, int]:
    """A job of another with a dead letter: their ids."""
    job = (await api.store.create_job(BOB, SPEC, NOW_MS + 3_600_000, NOW_MS, None)).job
    run = (await api.store.trigger(BOB, job.id, NOW_MS, NOW_MS, None)).run
    pending = await api.store.pending(NOW_MS, 10)
    await api.store.admit([Admission(run_id=one.run_id) for one in pending], NOW_MS)
    (claim,) = await api.store.claim(NOW_MS, 10, "node", "boot")
    await api.die(claim)
    return job.id, run.id


async def test_another_owners_job_and_run_are_not_found_by_any_verb(api: World) -> None:
    job_id, run_id = await theirs(api)
    before = (await api.store.job(BOB, "theirs"), await api.store.run(BOB, run_id))
    draft = {"target": {"shell": "x"}, "schedule": {"after": "theirs"}}
    asked: list[tuple[str, str, Any]] = [
        ("PATCH", f"/v1/jobs/{job_id}", {"note": "x"}),
        ("PATCH", f"/v1/jobs/{job_id}?dry_run=1", {"note": "x"}),
        ("PATCH", "/v1/jobs/theirs", {}),
        ("POST", f"/v1/jobs/{job_id}/skip", None),
        ("POST", f"/v1/jobs/{job_id}/pause", None),
        ("POST", f"/v1/jobs/{job_id}/resume", None),
        ("POST", f"/v1/runs/{run_id}/retry", None),
        ("POST", "/v1/jobs", draft),
        ("POST", "/v1/jobs", {**draft, "schedule": {"after": str(job_id)}}),
        ("GET", f"/v1/dead?job={job_id}", None),
        ("GET", "/v1/dead/groups?job=theirs", None),
        ("POST", "/v1/dead/replay", {"job": "theirs"}),
        ("POST", "/v1/dead/replay", {"ids": [run_id], "edit": {"cwd": "/tmp"}}),
        ("POST", "/v1/dead/replay", {"ids": [run_id], "edit": {"cwd": "/tmp"}, "current": True}),
        ("POST", "/v1/dead/discard", {"job": str(job_id)}),
    ]
    for method, path, body in asked:
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (404, "not_found"), (method, path)
        assert b"secret" not in answer.body
    assert (await api.store.job(BOB, "theirs"), await api.store.run(BOB, run_id)) == before


async def test_a_filter_never_reaches_over_to_another_owner(api: World) -> None:
    _, run_id = await theirs(api)
    (mine,) = await api.dead("mine")
    assert [run["id"] for run in (await api.ask("GET", "/v1/dead")).json["items"]] == [mine]
    (group,) = (await api.ask("GET", "/v1/dead/groups")).json["items"]
    assert (group["count"], group["jobs"]) == (1, ["mine"])
    replayed = (await api.ask("POST", "/v1/dead/replay", {"ids": [run_id, mine]})).json
    assert (replayed["replayed"], [one["id"] for one in replayed["skipped"]]) == ([mine], [run_id])
    nobody = (await api.ask("POST", "/v1/dead/replay", {"ids": [999]})).json["skipped"][0]["reason"]
    assert replayed["skipped"][0]["reason"] == nobody
    await api.die(await api.claim(mine))
    assert (await api.ask("POST", "/v1/dead/discard", {"all": True})).json == {"discarded": [mine]}
    assert (await api.store.run(BOB, run_id)).state == "dead"


async def test_counts_and_queues_are_of_the_callers_own(api: World) -> None:
    await theirs(api)
    assert (await api.ask("GET", "/v1/queues")).json["items"] == []
    status = (await api.ask("GET", "/v1/status")).json
    assert (status["dead"], status["jobs"]["total"], status["untold"]) == ({"total": 0, "newest_at": None}, 0, 0)
    assert (await api.ask("POST", "/v1/daemon/pause")).json["jobs"] == 0


async def test_one_key_of_two_owners_stands_for_two_requests(api: World) -> None:
    _, run_id = await theirs(api)
    (mine,) = await api.dead("mine")
    answer = await api.ask("POST", "/v1/dead/replay", {"all": True}, Idempotency_Key="k")
    assert answer.json["replayed"] == [mine]
    assert (await api.store.run(BOB, run_id)).replays == 0
