"""GET /v1/jobs/window and /v1/runs/window over the socket, and filters wherever a list takes one."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import pytest

from unit.api.world import NOW_MS, World, world


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


async def test_a_window_of_jobs_has_rows_a_place_and_an_event(api: World) -> None:
    for number in range(7):
        tags = ["even"] if number % 2 == 0 else []
        await api.add(name=f"job-{number}", tags=tags, schedule={"cron": "0 9 * * *"}, timezone="Europe/Berlin")
    window = (await api.ask("GET", "/v1/jobs/window?sort=name&offset=2&limit=3")).json
    assert (window["schema"], window["total"], window["offset"]) == (1, 7, 2)
    assert [item["name"] for item in window["items"]] == ["job-2", "job-3", "job-4"]
    status = (await api.ask("GET", "/v1/status")).json
    assert window["event"] == status["last_event"] > 0
    assert window["items"][0] | {"id": 0, "next_run_at": None} == {
        "id": 0, "name": "job-2", "owner": "me", "state": "new", "rank": 5, "words": window["items"][0]["words"],
        "expression": "0 9 * * *", "timezone": "Europe/Berlin", "paused_why": None, "suspended_by": None,
        "suspended_until": None, "quarantined": False, "next_run_at": None, "late_since": None, "active": None,
        "last": None, "recent": "", "error": None, "dead": 0, "tags": ["even"], "queue": "default", "priority": 0,
        "declared": None, "rev": 1, "p50": None, "p95": None, "skips": None,
    }  # fmt: skip
    backwards = (await api.ask("GET", "/v1/jobs/window?sort=name&reverse=1&limit=1&q=-tag:even")).json
    assert (backwards["total"], backwards["items"][0]["name"]) == (3, "job-5")
    around = window["items"][2]["id"]
    assert (await api.ask("GET", f"/v1/jobs/window?sort=name&limit=3&around={around}")).json["offset"] == 3


async def test_a_window_of_runs_says_how_many_are_active_and_how_today_went(api: World) -> None:
    (dead,) = await api.dead("broken")
    claim = await api.begun((await api.add(name="fine", overlap="allow"))["id"])
    await api.end(claim)
    running = await api.begun((await api.ask("GET", "/v1/jobs/fine")).json["id"])
    window = (await api.ask("GET", "/v1/runs/window")).json
    assert [item["id"] for item in window["items"]] == [running.run_id, claim.run_id, dead]
    assert (window["active"], window["total"], window["today"]) == (1, 3, {"dead": 1, "succeeded": 1})
    (item,) = (await api.ask("GET", "/v1/runs/window?q=error:disk")).json["items"]
    assert (item["id"], item["class"], item["owner"], item["job"]) == (dead, "exit_code", "me", "broken")


async def test_today_begins_at_midnight_where_the_host_is(api: World) -> None:
    claim = await api.claimed()
    await api.end(claim)
    api.clock.tick(16 * 3_600_000)  # 08:00 UTC is 09:00 in Berlin: an hour into the next day
    assert (await api.ask("GET", "/v1/runs/window")).json["today"] == {}
    assert (await api.ask("GET", "/v1/runs/window")).json["total"] == 1
    assert NOW_MS == 1_800_000_000_000


async def test_every_list_takes_the_same_filter(api: World) -> None:
    (dead,) = await api.dead("broken")
    await api.add(name="fine")
    q = quote('state:dead name:b* -"fine" /^br/')
    assert [job["name"] for job in (await api.ask("GET", f"/v1/jobs?q={q}")).json["items"]] == ["broken"]
    for path in ("/v1/runs", "/v1/dead", "/v1/jobs/broken/runs", "/v1/runs/window"):
        assert [run["id"] for run in (await api.ask("GET", f"{path}?q={q}")).json["items"]] == [dead], path
    assert [group["count"] for group in (await api.ask("GET", f"/v1/dead/groups?q={q}")).json["items"]] == [1]
    refused = await api.ask("POST", "/v1/dead/discard", {"q": "stat:dead"})
    assert (refused.status, refused.json["field"]) == (422, "q")
    assert (await api.ask("POST", "/v1/dead/discard", {"q": "class:signal"})).json == {"discarded": []}
    assert (await api.ask("POST", "/v1/dead/discard", {"q": "last<1h exit:3"})).json == {"discarded": [dead]}


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/jobs/window", "/v1/runs", "/v1/runs/window", "/v1/dead"])
@pytest.mark.parametrize(("q", "at"), [
    ("x stat:failed", 2), ("state:fialed", 6), ('"open', 0), ("/a(/", 3), ("/((((a{99}){99}){99}){99})/", None),
    ("--" * 50, 0), ("-" * 200, 0), ("next<", 5), ("-state:", 7), ("exit:" + "1," * 100, None), ("( " * 100, None),
])  # fmt: skip
async def test_what_is_no_filter_is_refused_with_its_place(api: World, path: str, q: str, at: int | None) -> None:
    answer = await api.ask("GET", f"{path}?q={quote(q)}")
    assert (answer.status, answer.json["code"], answer.json["field"]) == (422, "invalid_input", "q")
    assert answer.json["hint"]
    assert at in (None, answer.json["at"])


@pytest.mark.parametrize("query", [
    "limit=0", "limit=501", "offset=-1", "offset=x", "around=0", "around=x", "sort=size", "order=name", "cursor=x",
    f"around={1 << 63}", f"offset={1 << 50}", "q=" + "x" * 501,
])  # fmt: skip
async def test_a_window_that_cannot_be_is_refused(api: World, query: str) -> None:
    assert (await api.ask("GET", f"/v1/jobs/window?{query}")).status == 422


async def test_a_window_beyond_the_end_is_empty(api: World) -> None:
    await api.add()
    for path in ("jobs", "runs"):
        window = (await api.ask("GET", f"/v1/{path}/window?offset=999999")).json
        assert (window["items"], window["offset"]) == ([], 999_999)


async def test_a_job_that_is_called_window_is_not_hidden_by_the_route(api: World) -> None:
    await api.add(name="window")
    assert (await api.ask("GET", "/v1/jobs/%77indow")).json["name"] == "window"
    answer = await api.ask("PATCH", "/v1/jobs/window", {"note": "x"})
    assert (answer.status, answer.json["note"]) == (200, "x")
    assert (await api.ask("GET", "/v1/jobs/window")).json["total"] == 1
