"""Who may do what: the table of docs/security.md, asked of every route; and what others learn of a job: nothing."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl_daemon.api.routes import ROUTES
from jobctl_daemon.rows import Admission, Caller, JobFilter
from unit.api.world import NOW_MS, Answer, World, world

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
ROOT = Caller(uid=0, name="root", all_owners=True)
ADMIN = Caller(uid=1003, name="eve", all_owners=True)
ADA, BOB = Caller(uid=1001, name="ada"), Caller(uid=1002, name="bob")
ROLES = {"root": ROOT, "admin": ADMIN, "owner": ADA, "other": BOB, "refused": None}


class Line(NamedTuple):
    """A row of the table: a route, which of its uses, and what each role is told."""

    method: str
    path: str
    use: str
    may: dict[str, str]


def table() -> list[Line]:
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| (GET|POST|PUT|PATCH|DELETE) (/v1/\S+)(?: \((.*)\))? \| (.*) \|", line)
        if row is not None:
            words = [word.strip() for word in row[4].split("|")]
            found.append(Line(row[1], row[2], row[3] or "", dict(zip(ROLES, words, strict=True))))
    return found


class Thing(NamedTuple):
    """Something of ada's."""

    job: int
    dead: int
    waiting: int


async def something(api: World, number: int) -> Thing:
    """A job that waits, with a dead letter and a run for later."""
    store = api.store
    spec = JobSpec(
        name=f"secret-{number}",
        schedule=ScheduleSpec(timezone="UTC", cron="0 * * * *", words="every hour"),
        execution=Execution(shell="secret", env={"TOKEN": "secret"}),
        policies=Policies(),
        queue="secret-queue",
    )
    job = (await store.create_job(ADA, spec, NOW_MS + 3_600_000, NOW_MS, None)).job
    run = (await store.trigger(ADA, job.id, NOW_MS, NOW_MS, None)).run
    await store.admit([Admission(run_id=one.run_id) for one in await store.pending(NOW_MS, 100)], NOW_MS)
    for claim in await store.claim(NOW_MS, 100, "node", "boot"):
        await api.die(claim)
    waiting = (await store.trigger(ADA, job.id, NOW_MS + 60_000, NOW_MS, None)).run
    return Thing(job.id, run.id, waiting.id)


#: For each row: the path's parameter, the query and the body with which it is asked for something of ada's.
ASKED: dict[tuple[str, str, str], Callable[[Thing], tuple[Any, str, Any]]] = {
    ("POST", "/v1/jobs", ""): lambda _: (None, "?dry_run=1", {"target": {"shell": "x"}}),
    ("POST", "/v1/jobs/import", ""): lambda _: (None, "", {"jobs": []}),
    ("PATCH", "/v1/jobs/{}", "when it runs, limits, names"): lambda t: (t.job, "", {"timeout": "1h", "note": "x"}),
    ("PATCH", "/v1/jobs/{}", "what it runs"): lambda t: (t.job, "", {"target": {"shell": "mine"}}),
    ("PATCH", "/v1/jobs/{}", "who is told, by what"): lambda t: (t.job, "", {"notify": ["exec:mine"]}),
    ("PATCH", "/v1/jobs/{}", "as whom"): lambda t: (t.job, "?dry_run=1", {"user": "daemon"}),
    ("POST", "/v1/jobs/{}/resume", ""): lambda t: (t.job, "", None),
    ("POST", "/v1/apply", ""): lambda _: (None, "", {"path": "stdin", "jobs": [], "dry_run": True}),
    ("POST", "/v1/runs", ""): lambda _: (None, "", {"target": {"shell": "x"}}),
    ("POST", "/v1/runs", "as another user"): lambda _: (None, "", {"target": {"shell": "x"}, "user": "daemon"}),
    ("POST", "/v1/runs/{}/cancel", ""): lambda t: (t.waiting, "", None),
    ("POST", "/v1/runs/{}/kill", ""): lambda t: (t.waiting, "", None),
    ("POST", "/v1/dead/replay", ""): lambda t: (None, "", {"ids": [t.dead]}),
    ("POST", "/v1/dead/replay", "changed"): lambda t: (None, "", {"ids": [t.dead], "edit": {"cwd": "/tmp"}}),
    ("POST", "/v1/dead/discard", ""): lambda t: (None, "", {"ids": [t.dead]}),
    ("PUT", "/v1/queues/{}", ""): lambda _: ("secret-queue", "", {"concurrency": 1}),
    ("POST", "/v1/queues/{}/pause", ""): lambda _: ("secret-queue", "", None),
    ("POST", "/v1/queues/{}/resume", ""): lambda _: ("secret-queue", "", None),
    ("GET", "/v1/crontab", "another's"): lambda _: (None, "?user=daemon", None),
    ("PUT", "/v1/crontab", ""): lambda _: (None, "", {"base64": "", "dry_run": True}),
    ("POST", "/v1/crontabs/live", ""): lambda _: (None, "", {"on": False}),
    ("POST", "/v1/owners/{}/rename", ""): lambda _: ("nobody-at-all", "", {"to": "no-such-account"}),
    ("GET", "/v1/events", ""): lambda _: (None, "?after=0&follow=0", None),
    ("POST", "/v1/schedule/preview", ""): lambda _: (None, "", {"schedule": {"cron": "0 * * * *"}}),
    ("GET", "/v1/doctor", "deep"): lambda _: (None, "?deep=1", None),
}


def asked(line: Line, thing: Thing) -> tuple[str, Any]:
    """The path with its query, and the body."""
    usual: tuple[Any, str, Any] = (thing.dead if line.path.startswith("/v1/runs/") else thing.job, "", None)
    ask = ASKED.get((line.method, line.path, line.use))
    parameter, query, body = usual if ask is None else ask(thing)
    return line.path.replace("{}", str(parameter)) + query, body


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    async with world(tmp_path, system=True) as made:
        yield made


def test_every_route_is_in_the_table() -> None:
    assert {(line.method, line.path) for line in table()} == {(route.method, route.path) for route in ROUTES}
    assert ASKED.keys() <= {(line.method, line.path, line.use) for line in table()}


@pytest.mark.case("F123")
@pytest.mark.parametrize("role", ROLES)
async def test_the_table_holds(api: World, role: str) -> None:
    for number, line in enumerate(table()):
        thing = await something(api, number)
        path, body = asked(line, thing)
        before = (await api.store.job(ROOT, str(thing.job)), await api.store.run(ROOT, thing.dead))
        api.who.caller_now = ROLES[role]
        answer = await api.ask(line.method, path, body)
        where = (line, answer.status, answer.body)
        match line.may[role]:
            case "yes":
                assert answer.status not in (403, 404), where
            case "own":
                assert answer.status != 403, where
                if role == "other":
                    assert b"secret" not in answer.body.replace(b'"/v1', b""), where
                if role not in ("root", "admin", "owner"):
                    assert (await api.store.run(ROOT, thing.dead)) == before[1], where
            case "–":
                assert (answer.status, answer.json["code"]) == (404, "not_found"), where
                assert b"secret" not in answer.body, where
            case "no":
                assert (answer.status, answer.json["code"]) == (403, "forbidden"), where
                assert b"secret" not in answer.body, where
            case word:
                raise AssertionError(f"{line}: what is {word!r}?")
        if line.may[role] in ("–", "no"):
            now = (await api.store.job(ROOT, str(thing.job)), await api.store.run(ROOT, thing.dead))
            assert now == before, where


async def same(api: World, ask: Callable[[str], Awaitable[Answer]], theirs: str, nobodys: str) -> None:
    """The two answers are one, to the byte, but for what was asked for."""
    one, other = await ask(theirs), await ask(nobodys)
    assert one.status == other.status == 404
    assert one.body.replace(theirs.encode(), b"#") == other.body.replace(nobodys.encode(), b"#")
    assert {name: value for name, value in one.headers.items() if name not in ("date", "content-length")} == {
        name: value for name, value in other.headers.items() if name not in ("date", "content-length")
    }


async def test_an_id_of_anothers_is_answered_as_one_that_never_was_to_the_byte(api: World) -> None:
    thing = await something(api, 1)
    uid = (await api.store.job(ADA, str(thing.job))).uid
    await api.store.create_job(BOB, JobSpec(
        name="mine", schedule=ScheduleSpec(timezone="UTC"), execution=Execution(shell="x"), policies=Policies(),
    ), None, NOW_MS, None)  # fmt: skip
    api.who.caller_now = BOB
    for line in table():
        if "{}" not in line.path or line.may["other"] != "–":
            continue
        _, body = asked(line, thing)
        of_run = line.path.startswith("/v1/runs/")
        pairs = [(str(thing.dead), "99")] if of_run else [
            (str(thing.job), "99"), ("secret-1", "sacred-1"), (uid[:8], "0123abcd"),
        ]  # fmt: skip
        for theirs, nobodys in pairs:

            async def ask(selector: str, line: Line = line, body: Any = body) -> Answer:
                return await api.ask(line.method, line.path.replace("{}", selector), body)

            await same(api, ask, theirs, nobodys)
    for draft in (lambda job: {"target": {"shell": "x"}, "schedule": {"after": job}},):

        async def after(selector: str, draft: Callable[[str], Any] = draft) -> Answer:
            return await api.ask("POST", "/v1/jobs", draft(selector))

        await same(api, after, "secret-1", "sacred-1")
        await same(api, after, str(thing.job), "99")


async def test_nothing_tells_an_ordinary_user_how_much_others_have_and_do(api: World) -> None:
    api.who.caller_now = BOB
    quiet = await everything_told(api)
    for number in range(3):
        await something(api, number)
    assert await everything_told(api) == quiet


async def everything_told(api: World) -> list[Any]:
    status = (await api.ask("GET", "/v1/status")).json
    assert (status["runners"], status["runner_pid"], status["services"]) == ([], None, {})
    assert not any("a warning" in text for text in status["warnings"])
    del status["last_event"]  # numbers are of the whole host
    lists = [(await api.ask("GET", path)).json for path in (
        "/v1/jobs", "/v1/runs", "/v1/dead", "/v1/dead/groups", "/v1/queues", "/v1/doctor", "/v1/crontabs",
        "/v1/jobs/window", "/v1/runs/window", "/v1/jobs/window?q=/secret/", "/v1/runs/window?q=-nothing",
        "/v1/jobs?owner=ada", "/v1/runs?owner=ada", "/v1/jobs?q=secret", "/v1/jobs?queue=secret-queue",
    )]  # fmt: skip
    for window in lists:
        window.pop("event", None)  # and so are these
    events = await api.ask("GET", "/v1/events?after=0&follow=0")
    snapshot = (await api.ask("GET", "/v1/events?snapshot=1&follow=0")).body
    return [status, lists, events.body, re.sub(rb'(id: |"event":)\d+', b"", snapshot)]


async def test_the_time_of_an_answer_tells_nothing_coarse(api: World) -> None:
    """Of an id of another's and of one that never was, taken in turns: the medians are alike."""
    thing = await something(api, 1)
    api.who.caller_now = BOB
    loop_time = asyncio.get_running_loop().time
    taken: dict[int, list[float]] = {thing.job: [], 9_999: []}
    for _ in range(60):
        for number, times in taken.items():
            began = loop_time()
            assert (await api.ask("GET", f"/v1/jobs/{number}")).status == 404
            times.append(loop_time() - began)
    one, other = (sorted(times)[len(times) // 2] for times in taken.values())
    assert abs(one - other) < 0.5 * max(one, other) + 0.002


# ── what runs as somebody else ──────────────────────────────────────────────


@pytest.mark.case("F123")
async def test_what_runs_as_somebody_else_is_roots_to_change_also_for_the_jobs_owner(api: World) -> None:
    """Root has said that a job of ada's runs as another user: from then on its command is not hers."""
    job = (await something(api, 1)).job
    api.who.caller_now = ROOT
    assert (await api.ask("PATCH", f"/v1/jobs/{job}", {"user": "daemon"})).json["user"] == "daemon"
    api.who.caller_now = ADA
    for patch in (
        {"target": {"shell": "mine"}}, {"env": {"LD_PRELOAD": "/tmp/x.so"}}, {"cwd": "/tmp"}, {"stdin": "x"},
        {"umask": "000"}, {"env_file": "/tmp/x"}, {"payload_ref": "/tmp/x"}, {"notify": ["exec:mine"]},
        {"retry": {"on_lost": "ask:mine"}}, {"user": "root"}, {"user": "daemon", "note": "x"}, {"nice": -1},
    ):  # fmt: skip
        answer = await api.ask("PATCH", f"/v1/jobs/{job}", patch)
        assert answer.status == 403, (patch, answer)
    assert (await api.ask("PATCH", f"/v1/jobs/{job}", {"note": "hers", "timeout": "1h"})).status == 200
    # Her own identity she may give it back, and then it is hers again.
    assert (await api.ask("PATCH", f"/v1/jobs/{job}", {"user": None})).json["user"] is None
    assert (await api.ask("PATCH", f"/v1/jobs/{job}", {"target": {"shell": "mine"}})).status == 200


@pytest.mark.case("F123")
@pytest.mark.parametrize("who", [ADMIN, ADA])
async def test_only_root_says_as_whom_something_runs_by_any_way(api: World, who: Caller) -> None:
    draft = {"target": {"shell": "x"}, "user": "root"}
    api.who.caller_now = who
    for method, path, body in (
        ("POST", "/v1/jobs", draft),
        ("POST", "/v1/jobs?dry_run=1", draft),
        ("POST", "/v1/runs", draft),
        ("POST", "/v1/jobs/import", {"jobs": [{"target": {"shell": "x"}}, draft]}),
        ("POST", "/v1/jobs", {"target": {"shell": "x"}, "nice": -1}),
    ):
        answer = await api.ask(method, path, body)
        assert (answer.status, answer.json["code"]) == (403, "forbidden"), (path, answer)
    assert (await api.ask("POST", "/v1/jobs", {**draft, "user": who.name})).json["user"] is None
    unknown = {"uid": 0, "owner": "root"}
    assert (await api.ask("POST", "/v1/jobs", {"target": {"shell": "x"}, **unknown})).status == 422


@pytest.mark.case("F123")
async def test_refusals_of_changes_and_changes_themselves_are_written_down_for_those_who_operate(api: World) -> None:
    thing, other = await something(api, 1), await something(api, 2)
    api.who.caller_now = BOB
    assert (await api.ask("PATCH", f"/v1/jobs/{thing.job}", {"note": "x"})).status == 404
    assert (await api.ask("POST", f"/v1/runs/{thing.dead}/retry")).status == 404
    assert (await api.ask("PATCH", "/v1/jobs/never-was", {"note": "x"})).status == 404
    for _ in range(5):
        assert (await api.ask("POST", "/v1/daemon/pause")).status == 403
    api.who.caller_now = ADMIN
    assert (await api.ask("PATCH", f"/v1/jobs/{other.job}", {"target": {"shell": "mine"}})).status == 403
    api.who.caller_now = ROOT
    assert (await api.ask("PATCH", f"/v1/jobs/{thing.job}", {"target": {"shell": "roots"}})).status == 200
    await api.settled()
    found = await api.store.events(0, 1000, ROOT)
    denied = [event.data for event in found if event.kind == "access.denied"]
    assert sorted((one["name"], one["path"]) for one in denied) == sorted([
        ("bob", f"/v1/jobs/{thing.job}"), ("bob", f"/v1/runs/{thing.dead}/retry"), ("bob", "/v1/daemon/pause"),
        ("eve", f"/v1/jobs/{other.job}"),
    ])  # fmt: skip
    edited = [event.data for event in found if event.kind == "job.edited"]
    assert [(one["by"], one["uid"]) for one in edited] == [("root", 0)]
    assert edited[0]["before"] != edited[0]["after"]
    for who in (ADA, BOB):
        assert "access.denied" not in {event.kind for event in await api.store.events(0, 1000, who)}


async def test_who_has_nothing_of_that_name_himself_means_anothers_only_where_he_sees_it(api: World) -> None:
    await something(api, 1)
    api.who.caller_now = ADMIN
    assert (await api.ask("GET", "/v1/jobs/secret-1")).json["owner"] == "ada"
    mine = (await api.ask("POST", "/v1/jobs", {"target": {"shell": "x"}, "name": "secret-1"})).json
    assert (mine["owner"], (await api.ask("GET", "/v1/jobs/secret-1")).json["id"]) == ("eve", mine["id"])
    # What an admin makes comes after his own; what he changes of ada's comes after hers.
    made = (await api.ask("POST", "/v1/jobs", {"target": {"shell": "x"}, "schedule": {"after": "secret-1"}})).json
    assert (await api.store.spec(ROOT, made["id"])).schedule.after_job == mine["id"]
    later = await something(api, 2)
    assert (await api.ask("PATCH", f"/v1/jobs/{later.job}", {"schedule": {"after": "secret-1"}})).status == 200
    assert (await api.store.spec(ROOT, later.job)).schedule.after_job != mine["id"]


async def test_one_key_of_two_users_stands_for_two_requests_and_tells_nothing(api: World) -> None:
    ids = []
    for who in (ADA, BOB, ADMIN):
        api.who.caller_now = who
        draft = {"target": {"shell": who.name}, "name": "keyed"}
        answers = [await api.ask("POST", "/v1/jobs", draft, Idempotency_Key="k") for _ in range(2)]
        assert [answer.status for answer in answers] == [201, 200]
        ids.append(answers[0].json["id"])
    assert len(set(ids)) == 3


# ── what is taken away ──────────────────────────────────────────────


async def test_a_stream_goes_on_with_what_is_his_own_or_ends_when_a_role_is_taken_away(api: World) -> None:
    api.who.caller_now = ADMIN
    reader, _ = await api.connect(b"GET /v1/events HTTP/1.0\r\n\r\n")
    assert b"200" in await reader.readline()
    await something(api, 1)
    assert b"secret-1" in await reader.readuntil(b"secret-1")
    api.who.caller_now = Caller(uid=ADMIN.uid, name=ADMIN.name)
    await something(api, 2)
    await api.ask("POST", "/v1/jobs", {"target": {"shell": "x"}, "name": "mine"})
    more = await reader.readuntil(b'"mine"')
    assert b"secret-2" not in more
    api.who.caller_now = None
    await something(api, 3)
    assert b"secret" not in await reader.read()


async def test_a_reader_of_a_log_is_cut_off_when_the_right_to_it_is_taken_away(api: World) -> None:
    api.owner = ADA
    claim = await api.begun((await something(api, 1)).job)
    api.log_path(claim).write_bytes(b"one\n")
    api.who.caller_now = ADMIN
    reader, _ = await api.connect(b"GET /v1/runs/%d/log?follow=1 HTTP/1.0\r\n\r\n" % claim.run_id)
    await reader.readuntil(b"one\n")
    api.who.caller_now = BOB
    api.clock.tick(1_000)
    with api.log_path(claim).open("ab") as log:
        log.write(b"two\n")
    rest = await reader.read()
    api.clock.tick(1_000)
    assert rest in (b"", b"two\n")
    assert (await api.ask("GET", f"/v1/runs/{claim.run_id}/log")).status == 404


@pytest.mark.case("F122")
async def test_a_file_of_anothers_is_not_there_also_for_who_was_given_his_number(api: World) -> None:
    """What `apply` says of a path is what the caller's own file was; it takes nothing of others' away."""
    job = {"name": "secret-1", "target": {"shell": "secret"}}
    for path in ("stdin", "/home/ada/jobs.toml"):
        api.who.caller_now = ADA
        done = await api.ask("POST", "/v1/apply", {"path": path, "jobs": [{**job, "name": f"secret{len(path)}"}]})
        assert done.status == 200, done
        for other in (BOB, Caller(uid=ADA.uid, name="heir"), ADMIN):
            api.who.caller_now = other
            for dry_run in (True, False):
                body = {"path": path, "jobs": [], "prune": True, "dry_run": dry_run}
                answer = await api.ask("POST", "/v1/apply", body)
                assert (answer.status, b"secret" in answer.body) == (200, False), answer
    assert len((await api.store.jobs(ADA, JobFilter()))[0]) == 2
