"""The tab of jobs: trouble first, what is said of each, and that keys act on the job that is highlighted."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from textual import events

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.views import View, Views
from kit.daemon import RealDaemon, real_daemon
from kit.screens import VIEWS, Shown, screens
from kit.scripted import Scripted, answered

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x] \x1b[2J"


def line(ident: int, name: str, state: str, expression: str, next_at: str | None, **more: Any) -> Json:
    """A JobLine of tonight."""
    return {
        "id": ident, "name": name, "owner": "root", "state": state, "rank": 5, "words": "every day at 03:00",
        "expression": expression, "timezone": "Europe/Berlin", "paused_why": None, "suspended_by": None,
        "suspended_until": None, "quarantined": False, "next_run_at": next_at, "late_since": None, "active": None,
        "last": None, "recent": "..........", "error": None, "dead": 0, "tags": [], "queue": "default", "priority": 0,
        "declared": None, "rev": 1, "p50": None, "p95": None, **more,
    }  # fmt: skip


def last(ident: int, state: str, ended: str, duration: float | None = 1.0, **more: Any) -> Json:
    return {"id": ident, "state": state, "outcome": "ok" if state == "succeeded" else "exit_code", "class": None,
            "exit_code": 0, "signal": None, "finished_at": ended, "duration": duration, **more}  # fmt: skip


def active(ident: int, state: str, started: str | None, due: str, attempt: int = 1, most: int = 1) -> Json:
    return {"id": ident, "state": state, "started_at": started, "due_at": due, "attempt": attempt,
            "max_attempts": most}  # fmt: skip


FAILED = last(4812, "dead", "2026-11-29T02:00:41Z", 41.0, **{"class": "exit_code", "exit_code": 1})
TIMED_OUT = last(4793, "dead", "2026-11-29T02:00:30Z", 900.0, **{"class": "timed_out", "exit_code": None})
OK = last(4838, "succeeded", "2026-11-29T02:12:00Z", 0.2)
JOBS = [
    line(1, "backup-db", "failed", "0 3 * * *", "2026-11-30T02:00:00Z", last=FAILED, recent="......x..x", dead=3,
         error='FATAL: could not write to file "base/pgsql_tmp/t3_0": No space left on device', p50=660.0, p95=840.0,
         tags=["pg", "nightly"], declared=None),
    line(2, "sync-crm", "failed", "*/15 * * * *", "2026-11-29T02:15:00Z", last=TIMED_OUT, recent="....xxxxxx"),
    line(3, "report-daily", "late", "0 3 * * *", "2026-11-30T02:00:00Z", late_since="2026-11-29T02:00:00Z", last=OK),
    line(4, "push-metrics", "retrying", "* * * * *", "2026-11-29T02:13:00Z", recent="....x.x.xx", error="refused",
         active=active(4839, "ready", "2026-11-29T02:12:00Z", "2026-11-29T02:12:59Z", 2, 5)),
    line(5, "etl-orders", "running", "30 2 * * *", "2026-11-30T01:30:00Z", recent=".........>", p50=1680.0, p95=1860.0,
         active=active(4785, "running", "2026-11-29T01:30:00Z", "2026-11-29T01:30:00Z")),
    line(6, "thumbs", "running", "every 5m", "2026-11-29T02:17:33Z", recent=".........>",
         active=active(4840, "running", "2026-11-29T02:12:33Z", "2026-11-29T02:12:33Z", 1, 2)),
    line(7, "heartbeat", "ok", "* * * * *", "2026-11-29T02:13:00Z", last=OK),
    line(8, HOSTILE, "ok", "17 * * * *", "2026-11-29T02:17:00Z", last=OK, tags=["[/x]"], queue="\x1b[2J"),
    line(9, "fetch-rates", "paused", "*/10 * * * *", None, suspended_by="job", recent="...x......",
         paused_why="the job was paused by ana: provider down", last=OK),
    line(10, "reindex-all", "manual", "by hand", None, words="by hand", last=OK),
]  # fmt: skip
WHOLE: Json = {
    "id": 1, "name": "backup-db", "target": {"command": ["/opt/bin/backup.sh", "--full", "--to", "s3"]}, "stdin": None,
    "retry": {"max": 2, "backoff": 10, "backoff_max": 3600, "no_retry_on": [], "on_lost": "retry", "lost": 3},
    "timeout": 3600, "overlap": "skip", "misfire": "once", "misfire_within": 86400, "on_failure": "dead", "note": None,
    "version": 9, "declared": None,
}  # fmt: skip
FIRES = {"schema": 1, "words": "every day at 03:00", "timezone": "Europe/Berlin", "transitions": [], "warnings": [],
         "items": [{"at": f"2026-{day}T02:00:00Z", "local": f"2026-{day}T03:00:00+01:00", "zone": "CET", "note": None}
                   for day in ("11-30", "12-01", "12-02")]}  # fmt: skip
DURATIONS = {"schema": 1, "count": 30, "p50": 660.0, "p95": 840.0,
             "items": [{"run_id": 4000 + n, "state": "succeeded", "outcome": "ok", "started_at": "2026-11-28T02:00:00Z",
                        "duration": 600.0 + 37 * n % 240} for n in range(30)]}  # fmt: skip
LOG = (
    b'pg_dump: dumping contents of table "orders_2026"\n\x1b[31mFATAL\x1b[0m: could not write to file: No space left\n'
)


def window(jobs: list[Json]) -> Json:
    return {"schema": 1, "event": 88_120, "total": len(jobs), "offset": 0, "items": jobs}


@pytest.fixture
def tonight() -> Iterator[Scripted]:
    per_job = {f"/v1/jobs/{job['id']}": WHOLE | {"id": job["id"]} for job in JOBS}
    fires = {f"/v1/jobs/{job['id']}/next": FIRES for job in JOBS}
    durations = {f"/v1/jobs/{job['id']}/durations": DURATIONS for job in JOBS}
    daemon = Scripted(
        {"/v1/jobs/window": window(JOBS), "/v1/runs/4812/log": LOG, **per_job, **fires, **durations},
        status={"jobs": {"total": len(JOBS), "paused": 1, "failed": 2, "parked": 0, "late": 1}},
    )
    yield daemon
    daemon.close()


# ── how it looks ─────────────────────────────────────────────
@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_jobs_look_like_this(tonight: Scripted, size: tuple[int, int], look: str) -> None:
    async with screens(tonight.client(), size, look, clock=tonight.clock) as ui:
        await ui.shows("heartbeat")
        await ui.shows("POLICY" if size[0] >= 100 else "FATAL: could not")
        await ui.snapshot("jobs")


@pytest.mark.parametrize("size", [(40, 10), (170, 30)], ids=str)
async def test_columns_drop_and_come_with_the_width(tonight: Scripted, size: tuple[int, int]) -> None:
    async with screens(tonight.client(), size, "mono", clock=tonight.clock) as ui:
        await ui.shows("backup-db")
        await ui.shows("POLICY" if size[0] >= 100 else "sync-crm")
        await ui.snapshot("jobs")


async def test_without_utf_8_all_of_it_is_ascii(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), "mono", clock=tonight.clock, ascii_only=True) as ui:
        await ui.shows("POLICY")
        table = [row[:80] for row in ui.lines()[2:14]]
        assert [row for row in table if not row.replace("·", "").replace("—", "").replace("×", "").isascii()] == []


async def test_what_somebody_wrote_is_shown_by_its_escapes(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock) as ui:
        await ui.shows("\\x1b]52")
        await ui.press(*["j"] * 7)
        await ui.shows("[/x]")
        assert "\x1b" not in ui.text()


async def test_without_jobs_the_screen_says_how_to_have_some(tonight: Scripted) -> None:
    tonight.answers["/v1/jobs/window"] = window([])
    tonight.status = {**tonight.status, "jobs": {"total": 0, "paused": 0, "failed": 0, "parked": 0}}
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await ui.shows("jobctl import crontab")
        await ui.snapshot("jobs-none")


# ── the cursor and what keys act on ──────────────────────────
class Restless:
    """A daemon whose jobs come, go and change places whenever somebody looks, and that writes down what is paused."""

    def __init__(self, seed: int, gone: float = 0.0) -> None:
        """`gone`: how many of the jobs are not there just now."""
        self.random = random.Random(seed)
        self.gone = gone
        self.paused: list[int] = []
        self.jobs = {
            ident: line(ident, f"job-{ident}", "ok", "0 3 * * *", "2026-11-30T02:00:00Z") for ident in range(1, 41)
        }
        self.daemon = Scripted({"/v1/jobs/window": self.window}, status={"jobs": {"total": 40}})
        for ident in range(1, 41):
            self.daemon.answers[f"/v1/jobs/{ident}"] = {**WHOLE, "id": ident, "paused": False}
            self.daemon.answers[f"/v1/jobs/{ident}/pause"] = self.pause

    def window(self, request: Request) -> Response:
        """In another order each time."""
        asked = parse_qs(request.path.partition("?")[2])
        jobs = [job for job in self.jobs.values() if self.random.random() >= self.gone]
        self.random.shuffle(jobs)
        offset, limit = int(asked["offset"][0]), int(asked["limit"][0])
        around = int(asked["around"][0]) if "around" in asked else None
        place = next((at for at, job in enumerate(jobs) if job["id"] == around), None)
        first = offset if place is None else max(0, place - limit // 2)
        return answered({**window(jobs[first : first + limit]), "total": len(jobs), "offset": first})

    def pause(self, request: Request) -> Response:
        ident = int(request.path.split("/")[3])
        self.paused.append(ident)
        return answered({**WHOLE, "id": ident, "paused": True})


def highlighted(ui: Shown) -> str:
    """What a person sees under the cursor; nothing where its job is gone."""
    rows = [row for row in ui.lines() if row.startswith("▌")]
    return rows[0].split()[2] if rows else ""


@pytest.mark.case("F144")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("presses", [20, pytest.param(500, marks=pytest.mark.long)])
async def test_a_key_acts_on_the_job_that_was_highlighted_while_rows_come_go_and_change_places(presses: int) -> None:
    """Or on none, when it went before the key came: never on what slid under it."""
    restless = Restless(presses, gone=0.02)
    acted = 0
    async with screens(restless.daemon.client(), clock=restless.daemon.clock) as ui:
        await ui.shows("job-")
        tab: Any = ui.app.pane
        for _ in range(presses):
            tab.window.reorder()
            ui.app.changed(Changes(jobs=frozenset(restless.random.sample(range(1, 41), 5))))
            await ui.press(restless.random.choice(["j", "k", "j", "k", "g", "G", "ctrl+d", "s"]))
            ui.app.sayings.kept.clear()
            seen, before = highlighted(ui), list(restless.paused)
            if not seen:  # its job has gone; when it is back the cursor is on it again
                continue
            tab.window.reorder()
            ui.app.post_message(events.Key("p", "p"))
            tab.window.reorder()
            said = await ui.until(lambda: ui.app.all_said() and ui.app.all_said()[-1].words)
            if said == "there is no job under the cursor":
                assert restless.paused == before
            else:
                assert [f"job-{ident}" for ident in restless.paused[len(before) :]] == [seen]
                acted += 1
    restless.daemon.close()
    assert acted > presses / 2
    assert len(set(restless.paused)) > 5


@pytest.mark.case("F144")
async def test_a_question_names_the_job_it_was_asked_for_and_acts_on_it_wherever_it_is_by_then() -> None:
    restless = Restless(7)
    restless.daemon.answers |= {f"/v1/jobs/{ident}/runs": [] for ident in range(1, 41)}
    async with screens(restless.daemon.client(), clock=restless.daemon.clock) as ui:
        await ui.shows("job-")
        tab: Any = ui.app.pane
        await ui.press("j", "j", "j")
        meant = await ui.until(lambda: highlighted(ui))
        await ui.press("P")
        for _ in range(20):
            tab.window.reorder()
            await ui.pilot.pause()
        await ui.shows(f"Pause {meant}")
        await ui.press("enter", "enter")
        await ui.until(lambda: restless.paused)
        assert [f"job-{ident}" for ident in restless.paused] == [meant]
    restless.daemon.close()


async def test_a_job_that_is_gone_is_said_to_be_and_no_key_acts_on_what_took_its_place(tonight: Scripted) -> None:
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await ui.shows("reindex-all")
        await ui.press("j")
        tonight.answers["/v1/jobs/window"] = window([job for job in JOBS if job["id"] != 2])
        ui.app.pane.window.reorder()
        await ui.shows("this job is gone")
        await ui.press("p")
        await ui.shows("there is no job under the cursor")
        assert not [request for request in tonight.asked if request.path.endswith("/pause")]
        await ui.press("j")
        await ui.until(lambda: highlighted(ui) == "report-daily")


async def test_what_is_typed_before_the_daemon_has_said_its_first_word_is_done(tonight: Scripted) -> None:
    word = threading.Event()

    def way(request: Request) -> Response:
        if request.path.partition("?")[0] in ("/v1/status", "/v1/events"):
            assert word.wait(60)
        return tonight(request)

    async with screens(Client(way), clock=tonight.clock) as ui:
        await ui.shows("reindex-all")
        await ui.press("p")
        await ui.until(lambda: [request for request in tonight.asked if request.path.endswith("/pause")])
        word.set()


async def test_the_order_is_held_while_something_is_marked(tonight: Scripted) -> None:
    async with screens(tonight.client(), clock=tonight.clock) as ui:
        await ui.shows("reindex-all")
        await ui.press("space")
        assert ui.app.pane.window.hold
        await ui.press("escape")
        await ui.press("slash")
        assert ui.app.pane.window.hold


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


async def cursor_on(ui: Shown, name: str) -> None:
    """By the keys of a person."""
    await ui.shows(name)
    await ui.press("g")
    for _ in range(60):
        if name in await ui.under_cursor():
            return
        await ui.press("j")
    raise AssertionError(ui.text())


async def test_a_pause_is_seen_and_taken_back(daemon: RealDaemon) -> None:
    daemon.add("pausing", "true", schedule={"cron": "0 3 * * *"})
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "pausing")
        await ui.press("p")
        await ui.until(lambda: "paused" in ui.line_with("pausing   "))
        assert daemon.client.job("pausing")["paused"]
        await ui.press("u")
        await ui.until(lambda: not daemon.client.job("pausing")["paused"])


@pytest.mark.long
async def test_a_resume_that_is_taken_back_is_the_pause_that_was(daemon: RealDaemon) -> None:
    daemon.add("resuming", "true", schedule={"cron": "0 3 * * *"})
    daemon.client.pause_job("resuming", why="provider is down")
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "resuming")
        await ui.press("p")
        await ui.until(lambda: not daemon.client.job("resuming")["paused"])
        await ui.shows("u takes it back")
        await ui.press("u")
        await ui.until(lambda: daemon.client.job("resuming")["paused"])
        assert daemon.client.job("resuming")["paused_why"] == "provider is down"


async def test_a_run_by_hand_is_started_and_taken_back(daemon: RealDaemon) -> None:
    job = daemon.add("by-hand", "sleep 60")
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "by-hand")
        await ui.press("r")
        await ui.shows("started by-hand")
        await ui.press("u")
        await ui.until(lambda: [run["state"] for run in daemon.client.job_runs(job["id"])] == ["cancelled"])


async def test_the_next_time_is_left_out_and_comes_after_all(daemon: RealDaemon) -> None:
    job = daemon.add("skipping", "true", schedule={"cron": "0 3 1 1 *"})
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "skipping")
        await ui.press("x")
        await ui.until(lambda: daemon.client.job("skipping")["next_run_at"] != job["next_run_at"])
        await ui.shows("u takes it back")
        await ui.press("u")
        await ui.until(lambda: daemon.client.job("skipping")["next_run_at"] == job["next_run_at"])


async def test_what_is_typed_filters_at_once_and_a_mistake_is_shown_below_its_place(daemon: RealDaemon) -> None:
    daemon.add("filtered-one", "true", tags=["blue"])
    daemon.add("filtered-two", "true", tags=["red"])
    async with screens(daemon.client, (120, 40)) as ui:
        await ui.shows("filtered-one")
        await ui.press("slash", *"tag:blue")
        await ui.until(lambda: "filtered-two" not in ui.text() and "filtered-one" in ui.text())
        await ui.press("space", *"stat:x")
        await ui.shows("did you mean state?")
        where = ui.lines().index(ui.line_with("/ tag:blue stat:x"))
        assert ui.lines()[where + 1].index("^") == ui.lines()[where].index("stat:x")
        await ui.press(*["backspace"] * 7, "enter")
        await ui.until(lambda: "/ tag:blue" not in ui.text())
        assert "tag:blue" in ui.lines()[1]
        await ui.press("escape")
        await ui.shows("filtered-two")


async def test_tab_completes_what_is_offered_and_escape_takes_back_what_was_typed(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.press("slash", *"sta", "tab", *"qua", "tab")
        await ui.shows("/ state:quarantined")
        await ui.press("escape")
        await ui.until(lambda: "state:quarantined" not in ui.text())
        assert ui.app.pane.view.query == ""


async def test_marked_jobs_are_acted_on_together_and_taken_back_together(daemon: RealDaemon) -> None:
    for name in ("many-a", "many-b", "many-c"):
        daemon.add(name, "true", tags=["many"], schedule={"cron": "0 3 * * *"})
    async with screens(daemon.client) as ui:
        await ui.press("slash", *"tag:many", "enter")
        await ui.shows("3 of ")
        await ui.press("asterisk")
        await ui.shows("3 marked")
        await ui.press("p")
        await ui.shows("paused many-a, many-b and many-c")
        assert all(daemon.client.job(name)["paused"] for name in ("many-a", "many-b", "many-c"))
        await ui.until(lambda: " marked" not in ui.text())
        await ui.press("u")
        await ui.until(lambda: not any(daemon.client.job(name)["paused"] for name in ("many-a", "many-b", "many-c")))


@pytest.mark.long
async def test_running_several_asks_with_their_number_and_escape_runs_none(daemon: RealDaemon) -> None:
    ids = [daemon.add(name, "true")["id"] for name in ("some-a", "some-b")]
    async with screens(daemon.client) as ui:
        await ui.press("slash", *"name:some-*", "enter")
        await ui.shows("2 of ")
        await ui.press("space", "V", "r")
        await ui.shows("Run 2 jobs now")
        await ui.press("escape")
        assert [list(daemon.client.job_runs(ident)) for ident in ids] == [[], []]
        await ui.press("r")
        await ui.shows("Run 2 jobs now")
        await ui.press("y")
        await ui.until(lambda: all(list(daemon.client.job_runs(ident)) for ident in ids))


async def test_a_job_is_deleted_once_its_name_is_typed(daemon: RealDaemon) -> None:
    daemon.add("to-be-deleted", "true", schedule={"cron": "0 3 * * *"})
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "to-be-deleted")
        await ui.press("D")
        await ui.shows("Delete to-be-deleted")
        await ui.press(*"to-be-delete", "enter")
        assert daemon.client.job("to-be-deleted")
        await ui.press("d", "enter")
        await ui.shows("deleted to-be-deleted")
        await ui.until(lambda: "to-be-deleted" not in [job["name"] for job in daemon.client.jobs()])


async def test_a_job_that_a_file_declares_is_not_deleted_and_says_where_it_is(daemon: RealDaemon) -> None:
    daemon.client.apply("/etc/jobs.d/db.toml", [{"name": "declared", "target": {"command": ["true"]}}])
    async with screens(daemon.client, (120, 40)) as ui:
        await cursor_on(ui, "declared")
        await ui.press("D")
        await ui.until(lambda: "/etc/jobs.d/db.toml" in (ui.app.all_said()[-1].words if ui.app.all_said() else ""))
        assert daemon.client.job("declared")


async def test_what_runs_is_killed_after_a_question_that_names_it(daemon: RealDaemon) -> None:
    job = daemon.add("endless", "sleep 300")
    run = daemon.client.trigger(job["id"], {})
    daemon.until(lambda: daemon.client.run(run["id"])["state"] == "running")
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "endless")
        await ui.press("K")
        await ui.shows(f"Kill run {run['id']} of endless?")
        await ui.press("k")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "cancelled")


@pytest.mark.long
async def test_what_failed_last_is_run_again(daemon: RealDaemon) -> None:
    job = daemon.add("failing", "echo no good; exit 3", retry={"max": 0})
    run = daemon.finished(daemon.client.trigger(job["id"], {}))
    async with screens(daemon.client) as ui:
        await cursor_on(ui, "failing")
        await ui.press("R")
        await ui.shows(f"Replay run {run['id']} of failing?")
        await ui.shows(f"jobctl dlq replay {run['id']}")
        await ui.press("r")
        await ui.until(lambda: daemon.client.run(run["id"])["replays"] == 1)


@pytest.mark.long
async def test_a_saved_view_is_there_in_the_next_sitting(daemon: RealDaemon, tmp_path: Path) -> None:
    async with screens(daemon.client, state_dir=tmp_path) as ui:
        await ui.press("slash", *"tag:many", "enter", "s", "v")
        await ui.shows("Save what is shown")
        await ui.press("s", *"mine", "enter")
        await ui.shows("> mine")
    async with screens(daemon.client, state_dir=tmp_path) as ui:
        names = list(ui.app.pane.views.all)
        Views(str(tmp_path)).save("of another screen", View())
        await ui.press("v")
        await ui.shows("mine")
        await ui.shows("of another screen")
        await ui.press(*["j"] * names.index("mine"), "enter")
        await ui.until(lambda: (ui.app.pane.view.query, ui.app.pane.view.sort) == ("tag:many", "name"))


async def test_screens_that_only_read_change_nothing(daemon: RealDaemon) -> None:
    daemon.add("only-read", "true", schedule={"cron": "0 3 * * *"})
    async with screens(daemon.client, read_only=True) as ui:
        await cursor_on(ui, "only-read")
        await ui.press("p", "x", "D", "K")
        job = daemon.client.job("only-read")
        assert (job["paused"], ui.app.screen) == (False, ui.app.screen_stack[0])
