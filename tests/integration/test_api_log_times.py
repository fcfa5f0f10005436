"""By when how much of a log had been written."""

import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobctl_daemon.rows import Claim
from unit.api.world import NOW_MS, World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


def noted(api: World, claim: Claim, *records: tuple[int, int]) -> None:
    """As a runner notes them."""
    path = Path(api.logs.times_path(claim.run_id, claim.fence))
    path.write_bytes(b"".join(struct.pack("<qq", size, at_ms) for size, at_ms in records))


async def test_times_reach_from_the_start_to_the_end(api: World) -> None:
    claim = await api.claimed()
    api.log_path(claim).write_bytes(b"x" * 300)
    noted(api, claim, (100, NOW_MS - 4_000), (200, NOW_MS - 2_000), (300, NOW_MS - 1_000))
    await api.end(claim, log_size=300, started_ms=NOW_MS - 9_000)
    told = (await api.ask("GET", f"/v1/runs/{claim.run_id}/log/times")).json
    assert told == {
        "schema": 1, "attempt": 1, "complete": True,
        "items": [
            [0, "2027-01-15T07:59:51Z"], [100, "2027-01-15T07:59:56Z"], [200, "2027-01-15T07:59:58Z"],
            [300, "2027-01-15T08:00:00.001Z"],
        ],
    }  # fmt: skip


async def test_a_short_run_has_its_start_and_its_end(api: World) -> None:
    claim = await api.claimed()
    api.log_path(claim).write_bytes(b"hello\n")
    await api.end(claim, log_size=6)
    told = (await api.ask("GET", f"/v1/runs/{claim.run_id}/log/times")).json
    assert told["items"] == [[0, "2027-01-15T08:00:00Z"], [6, "2027-01-15T08:00:00.001Z"]]


async def test_what_a_running_one_has_written_was_written_by_now(api: World) -> None:
    claim = await api.claimed()
    api.log_path(claim).write_bytes(b"x" * 150)
    noted(api, claim, (100, NOW_MS + 1_000))
    api.clock.tick(5_000)
    told = (await api.ask("GET", f"/v1/runs/{claim.run_id}/log/times?attempt=1")).json
    assert told["complete"] is False
    assert told["items"][1:] == [[100, "2027-01-15T08:00:01Z"], [150, "2027-01-15T08:00:05Z"]]


async def test_a_log_that_is_gone_has_its_times_still_at_both_ends(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim, log_size=900)
    assert [size for size, _ in (await api.ask("GET", f"/v1/runs/{claim.run_id}/log/times")).json["items"]] == [0, 900]


async def test_a_run_that_has_not_started_and_an_attempt_that_never_was_have_none(api: World) -> None:
    claim = await api.claimed()
    answer = await api.ask("GET", f"/v1/runs/{claim.run_id}/log/times?attempt=2")
    assert (answer.status, answer.json["title"]) == (404, f"run {claim.run_id} has no attempt 2")
    await api.add(name="waits")
    waits = (await api.ask("POST", "/v1/jobs/waits/runs")).json
    answer = await api.ask("GET", f"/v1/runs/{waits['id']}/log/times")
    assert (answer.status, answer.json["title"]) == (404, f"run {waits['id']} has not started")
