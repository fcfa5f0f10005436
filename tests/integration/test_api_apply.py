"""POST /v1/apply: the jobs that a file declares, all of them or none, and what would come of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl.drafts import Circumstances
from jobctl_daemon.health import Health
from jobctl_daemon.rows import Caller, JobFilter
from jobctl_daemon.services.jobfiles import JobFiles
from jobctl_daemon.services.tables import Tables
from jobctl_daemon.tables.places import TablePlaces
from unit.api.world import World, world

FILE = "/home/me/web.toml"
BOB = Caller(uid=54_321, name="bob")
ADMIN = Caller(uid=54_322, name="admin", all_owners=True)

Json = dict[str, Any]


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path) as made:
        yield made


def job(name: str, **fields: Any) -> Json:
    return {"name": name, "target": {"shell": "true"}, "schedule": {"cron": "0 3 * * *", "timezone": "UTC"}, **fields}


def circumstances(now_ms: int) -> Circumstances:
    return Circumstances(now_ms, "UTC", "me", 1000, False, "/bin")


async def apply(api: World, *jobs: Json, path: str = FILE, **more: Any) -> Json:
    answer = await api.ask("POST", "/v1/apply", {"path": path, "jobs": jobs, **more})
    assert answer.status == 200, answer.json
    found: Json = answer.json
    return found


def actions(answer: Json) -> dict[str, str]:
    return {item["name"]: item["action"] for item in answer["items"]}


async def names(api: World, owner: Caller | None = None) -> set[str]:
    jobs, _ = await api.store.jobs(owner or api.owner, JobFilter())
    return {one.name for one in jobs}


async def test_a_file_is_applied_changed_and_pruned(api: World) -> None:
    assert actions(await apply(api, job("a"), job("b"))) == {"a": "created", "b": "created"}
    before = (await api.ask("GET", "/v1/jobs/a")).json
    assert (before["declared"], before["source"], before["owner"]) == (FILE, f"file:a:{FILE}", "me")
    assert actions(await apply(api, job("a"), job("b"))) == {"a": "unchanged", "b": "unchanged"}
    changed = await apply(api, job("a", note="new"))
    assert actions(changed) == {"a": "changed", "b": "left"}
    after = (await api.ask("GET", "/v1/jobs/a")).json
    assert (after["id"], after["note"], after["version"]) == (before["id"], "new", 1)
    assert actions(await apply(api, job("a", note="new"), prune=True)) == {"a": "unchanged", "b": "removed"}
    assert await names(api) == {"a"}
    assert actions(await apply(api, prune=True)) == {"a": "removed"}
    assert api.changes == 4


async def test_a_dry_run_tells_fields_and_fires_and_stores_nothing(api: World) -> None:
    await apply(api, job("a", timeout=60), job("b"), job("c"))
    plan = await apply(
        api, job("a", timeout=90), job("b"), job("d", schedule={"every": "1h"}), prune=True, dry_run=True
    )
    assert actions(plan) == {"a": "changed", "b": "unchanged", "c": "removed", "d": "created"}
    items = {item["name"]: item for item in plan["items"]}
    assert items["a"]["changes"] == [{"field": "timeout", "before": 60, "after": 90}]
    assert items["a"]["before"] == items["a"]["preview"]
    assert len(items["d"]["preview"]["items"]) == 3
    assert items["c"]["before"]["items"][0]["at"].endswith("T03:00:00Z")
    assert await names(api) == {"a", "b", "c"}


async def test_everything_that_is_wrong_is_said_at_once_and_nothing_is_stored(api: World) -> None:
    await api.add(name="taken")
    jobs = [
        job("good"),
        job("taken"),
        job("bad", schedule={"cron": "61 * * * *"}, timeout="x", umask="99"),
        job("after", schedule={"after": "nobody"}),
        {"name": "empty"},
        {"name": 5, "target": {"shell": "x"}},
        {"target": {"shell": "x"}},
        job("good"),
        {"name": "odd", "target": "x", "schedule": "x"},
        job("typo", tiemout=5),
    ]
    answer = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": jobs})
    assert (answer.status, answer.json["code"]) == (422, "invalid_input")
    told = [(one["job"], one["field"]) for one in answer.json["problems"]]
    assert told == [
        (1, "name"), (2, "schedule.cron"), (2, "timeout"), (2, "umask"), (3, "schedule.after"), (4, "target"),
        (5, "name"), (6, "name"), (7, "name"), (8, "target"), (8, "schedule"), (9, "tiemout"),
    ] or sorted(set(told)) == sorted(told)  # fmt: skip
    assert {number for number, _ in told} == {1, 2, 3, 4, 5, 6, 7, 8, 9}
    assert {field for number, field in told if number == 2} == {"schedule.cron", "timeout", "umask"}
    assert all(one["reason"] for one in answer.json["problems"])
    assert await names(api) == {"taken"}


@pytest.mark.parametrize("path", ["web.toml", "", "/a\nb", "/" + "x" * 5000, None])
async def test_a_file_is_known_by_its_whole_path(api: World, path: str | None) -> None:
    answer = await api.ask("POST", "/v1/apply", {"path": path, "jobs": [job("a")]})
    assert (answer.status, answer.json["field"]) == (422, "path")


async def test_the_path_of_another_says_nothing_of_his_jobs_and_harms_none(api: World) -> None:
    await apply(api, job("mine"))
    api.who.caller_now = BOB
    assert actions(await apply(api, job("his"), dry_run=True, prune=True)) == {"his": "created"}
    assert actions(await apply(api, job("his"), prune=True)) == {"his": "created"}
    assert actions(await apply(api, prune=True)) == {"his": "removed"}
    await apply(api, job("mine"))
    api.who.caller_now = api.owner
    assert await names(api) == {"mine"}
    assert actions(await apply(api, job("mine"))) == {"mine": "unchanged"}
    api.who.caller_now = ADMIN
    assert actions(await apply(api, prune=True)) == {}
    assert await names(api, BOB) == {"mine"}


async def test_jobs_that_are_made_together_come_after_one_another(api: World) -> None:
    chain = [job("c", schedule={"after": "b"}), job("b", schedule={"after": "a:any"}), job("a")]
    plan = await apply(api, *chain, dry_run=True)
    assert actions(plan) == {"a": "created", "b": "created", "c": "created"}
    await apply(api, *chain)
    assert (await api.ask("GET", "/v1/jobs/c")).json["schedule"]["after"] == "b:success"
    # A chain that is turned round, one of which is new and one gone.
    turned = [job("c"), job("d", schedule={"after": "c"}), job("a", schedule={"after": "d:failure"})]
    changed = await apply(api, *turned, prune=True)
    assert actions(changed) == {"a": "changed", "b": "removed", "c": "changed", "d": "created"}
    assert (await api.ask("GET", "/v1/jobs/a")).json["schedule"]["after"] == "d:failure"
    assert actions(await apply(api, *turned)) == {"a": "unchanged", "c": "unchanged", "d": "unchanged"}
    # Nobody may come after what goes.
    late = {"path": FILE, "jobs": [job("x", schedule={"after": "c"})], "prune": True}
    answer = await api.ask("POST", "/v1/apply", late)
    assert answer.json["problems"][0]["field"] == "schedule.after"
    await api.ask("POST", "/v1/jobs", job("by-hand", schedule={"after": "a"}))
    answer = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": [], "prune": True})
    assert (answer.status, answer.json["title"]) == (409, "a cannot be removed: by-hand comes after it")
    assert await names(api) == {"a", "c", "d", "by-hand"}


async def test_a_circle_is_refused(api: World) -> None:
    jobs = [job("a", schedule={"after": "b"}), job("b", schedule={"after": "a"})]
    answer = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": jobs})
    assert answer.status == 422
    (told,) = answer.json["problems"]
    assert (told["job"], told["field"]) == (0, "schedule.after")
    assert told["reason"] == "these come after one another for ever: a after b after a"
    assert await names(api) == set()


async def test_a_moment_that_has_passed_makes_no_job(api: World) -> None:
    answer = await apply(api, job("old", schedule={"at": "2001-01-01T00:00:00Z"}), job("a"))
    assert actions(answer) == {"a": "created"}
    assert answer["notes"] == [{"job": "old", "text": "its time has passed: it is not made"}]


async def test_nothing_comes_after_what_is_not_made(api: World) -> None:
    past = job("old", schedule={"at": "2001-01-01T00:00:00Z"})
    answer = await apply(api, job("c", schedule={"after": "b"}), past, job("b", schedule={"after": "old"}), job("a"))
    assert actions(answer) == {"a": "created"}
    assert [note["job"] for note in answer["notes"]] == ["old", "b", "c"]


async def test_paused_is_how_a_job_begins(api: World) -> None:
    await apply(api, job("a", paused=True))
    assert (await api.ask("GET", "/v1/jobs/a")).json["paused"]
    await api.ask("POST", "/v1/jobs/a/resume")
    assert actions(await apply(api, job("a", paused=True))) == {"a": "unchanged"}
    assert not (await api.ask("GET", "/v1/jobs/a")).json["paused"]


async def test_jobs_made_by_hand_are_adopted_with_their_history_when_that_is_asked_for(api: World) -> None:
    made = (await api.ask("POST", "/v1/jobs", job("a"))).json
    await api.ask("POST", "/v1/jobs", job("b"))
    run = (await api.ask("POST", "/v1/jobs/a/runs")).json
    refused = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": [job("a")]})
    assert refused.json["problems"][0]["hint"].endswith("or let the file have it: jobctl apply --adopt")
    wanted = [job("a"), job("b", note="new"), job("c")]
    plan = await apply(api, *wanted, adopt=True, dry_run=True)
    assert actions(plan) == {"a": "adopted", "b": "adopted", "c": "created"}
    assert [item.get("changes", []) for item in plan["items"]][1] == [{"field": "note", "before": None, "after": "new"}]
    assert (await api.ask("GET", "/v1/jobs/a")).json["declared"] is None
    assert actions(await apply(api, *wanted, adopt=True)) == {"a": "adopted", "b": "adopted", "c": "created"}
    after = (await api.ask("GET", "/v1/jobs/a")).json
    assert {**after, "declared": None, "source": made["source"]} == {**made, "running": after["running"]}
    assert (after["declared"], after["source"]) == (FILE, f"file:a:{FILE}")
    assert [one["id"] for one in (await api.ask("GET", "/v1/jobs/a/runs")).json["items"]] == [run["id"]]
    assert actions(await apply(api, *wanted)) == {"a": "unchanged", "b": "unchanged", "c": "unchanged"}
    # What another file has is not to be had, and not another owner's.
    other = await api.ask("POST", "/v1/apply", {"path": "/other.toml", "jobs": [job("a")], "adopt": True})
    assert other.json["problems"][0]["reason"] == f"there is a job a already: {FILE} declares it"
    api.who.caller_now = BOB
    assert actions(await apply(api, job("a"), path="/b.toml", adopt=True)) == {"a": "created"}


@pytest.mark.case("F112")
async def test_under_the_path_of_a_file_that_is_followed_nobody_else_declares_jobs(api: World, tmp_path: Path) -> None:
    """They would go with the next change of it."""
    folder = tmp_path / "jobs.d"
    folder.mkdir()
    health = Health(api.clock)
    places = TablePlaces("/host/spool", "/host/etc/crontab", "/host/etc/cron.d", root="/host")
    common = (lambda: circumstances(api.clock.now_ms()), lambda: None)
    files = JobFiles(api.store, api.clock, health, str(folder), api.owner, *common)
    object.__setattr__(api.services, "jobfiles", files)
    object.__setattr__(api.services, "tables", Tables(api.store, api.clock, health, places, *common))
    own = str(folder / "a.toml")
    for who, path, status in (
        (BOB, own, 403),
        (ADMIN, own, 403),
        (BOB, "/host/etc/cron.daily", 409),
        (api.owner, "/host/etc/anacrontab", 409),
        (BOB, "/host/etc/cron.d/site", 409),
        (BOB, str(folder / "readme.txt"), 200),
        (BOB, "/etc/cron.daily", 200),
        (api.owner, own, 200),
    ):
        api.who.caller_now = who
        for dry_run in (True, False):
            body = {"path": path, "jobs": [job(f"a{len(path)}")], "dry_run": dry_run}
            assert (await api.ask("POST", "/v1/apply", body)).status == status, (who, path)
    api.who.caller_now = BOB
    refused = (await api.ask("POST", "/v1/apply", {"path": own, "jobs": [job("a")]})).json
    assert refused["detail"] == f"{own} is one of the files of jobs of me"
    assert refused["hint"] == "put the jobs into a file of yours"
    api.who.caller_now = api.owner
    stolen = {"path": FILE, "jobs": [job(f"a{len(own)}")], "take": {f"a{len(own)}": own}}
    assert (await api.ask("POST", "/v1/apply", stolen)).status == 422  # the file itself says what it has
    api.who.caller_now = BOB
    assert actions(await apply(api, path=own, prune=True)) == {}  # who has jobs there from before can take them away


async def test_a_job_goes_along_to_a_file_that_is_told_to_take_it_and_no_other(api: World) -> None:
    other = "/home/me/other.toml"
    await apply(api, job("a"), job("b"), job("c", schedule={"after": "a"}))
    before = (await api.ask("GET", "/v1/jobs/a")).json["id"]
    body = {"path": other, "jobs": [job("a")]}
    assert (await api.ask("POST", "/v1/apply", body)).status == 422
    assert (await api.ask("POST", "/v1/apply", {**body, "take": {"a": "/home/me/third.toml"}})).status == 422
    left = await apply(api, job("c", schedule={"after": "a"}), prune=True, leave=["a"], dry_run=True)
    assert actions(left) == {"b": "removed", "c": "unchanged"}
    left = await apply(api, job("c", schedule={"after": "a"}), prune=True, leave=["a"])
    assert actions(left) == {"b": "removed", "c": "unchanged"}
    for dry_run in (True, False):
        taken = await apply(api, job("a"), path=other, take={"a": FILE}, dry_run=dry_run)
        assert actions(taken) == {"a": "adopted"}
    after = (await api.ask("GET", "/v1/jobs/a")).json
    assert (after["id"], after["declared"]) == (before, other)
    api.who.caller_now = BOB
    assert actions(await apply(api, job("a"), path="/home/bob/a.toml", take={"a": other})) == {"a": "created"}
    assert (await api.ask("POST", "/v1/apply", {**body, "take": ["a"]})).status == 422


async def test_more_jobs_than_a_file_or_an_owner_may_have_are_refused(api: World) -> None:
    many = [{"name": f"a{number}", "target": {"shell": "x"}} for number in range(1001)]
    assert (await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": many})).status == 422
    api.services.settings.owner_jobs = 2
    assert (await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": many[:3]})).status == 409
    assert (await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": many[:2]})).status == 200


async def test_a_daemon_without_a_folder_says_so(api: World) -> None:
    answer = await api.ask("POST", "/v1/apply", {})
    assert (answer.status, answer.json["hint"]) == (409, "name one: jobctl apply FILE")


async def test_a_job_that_another_owner_has_under_this_name_is_in_nobodys_way(api: World) -> None:
    spec = (await api.add(name="same"))["name"]
    api.who.caller_now = BOB
    assert actions(await apply(api, job(spec))) == {"same": "created"}
    stored = await api.store.jobs(msgspec.structs.replace(BOB, all_owners=False), JobFilter())
    assert [one.owner for one in stored[0]] == ["bob"]


async def test_a_large_file_is_one_transaction_in_which_nothing_is_left_half_done(api: World) -> None:
    many = [job(f"a{number}") for number in range(300)]
    assert set(actions(await apply(api, *many)).values()) == {"created"}
    others = [job(f"b{number}") for number in range(300)]
    await api.ask("POST", "/v1/jobs", job("by-hand", schedule={"after": "a0"}))
    answer = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": others, "prune": True})
    assert (answer.status, answer.json["title"]) == (409, "a0 cannot be removed: by-hand comes after it")
    left, _ = await api.store.jobs(api.owner, JobFilter(declared=FILE, limit=1000))
    assert {one.name for one in left} == {one["name"] for one in many}


async def test_hostile_bodies_get_an_answer_soon(api: World) -> None:
    deep: Any = "x"
    for _ in range(400):
        deep = [deep]
    wrong = dict.fromkeys(("timeout", "grace", "late_after", "umask", "log_max", "cwd", "queue"), "?" * 200)
    for jobs in (
        [{"name": "a", "target": deep}],
        [{"name": "a", "target": {"shell": "x"}, "env": {"A": deep}}],
        [{"name": f"a{number}", "target": {"shell": "x"}, **wrong} for number in range(400)],
        [{"name": "\0\x1b" * 100, "target": {"shell": "\0"}, "schedule": {"cron": "1," * 9000}}],
        [{"name": "a", "target": {"shell": "x"}, "schedule": {"after": "\n" * 300}}],
    ):
        answer = await api.ask("POST", "/v1/apply", {"path": FILE, "jobs": jobs})
        assert answer.status in (400, 422), answer
        assert len(answer.json.get("problems", ())) < 300
    deeper = b'{"path": "/a", "jobs": [{"name": ' + b"[" * 100_000 + b"]}"
    assert (await api.ask("POST", "/v1/apply", deeper)).status == 422


async def test_two_who_apply_the_same_file_at_once_do_not_stand_in_each_others_way(
    api: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = api.store.declared
    others = [[job("a"), job("b")], [job("a"), job("b"), job("c")]]

    async def overtaken(*question: Any) -> Any:
        found = await declared(*question)
        if others:
            faster = others.pop(0)
            with monkeypatch.context() as patch:
                patch.setattr(api.store, "declared", declared)
                await apply(api, *faster)
        return found

    monkeypatch.setattr(api.store, "declared", overtaken)
    assert actions(await apply(api, job("a"), job("c"))) == {"a": "unchanged", "c": "unchanged", "b": "left"}
    assert await names(api) == {"a", "b", "c"}
