"""The tab of runs: what is active, what has ended, and that keys act on the run that is highlighted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.daemon import RealDaemon, real_daemon
from kit.screens import VIEWS, Shown, screens
from kit.scripted import Scripted

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x] \x1b[2J"


def line(ident: int, job: str, state: str, started: str | None, ended: str | None = None, **more: Any) -> Json:
    """A RunLine of tonight; times are of the 29th."""
    times = [None if at is None else f"2026-11-29T{at}Z" for at in (started, ended)]
    return {
        "id": ident, "job_id": ident, "job": job, "owner": "root", "state": state, "trigger": "schedule",
        "scheduled_at": times[0] or "2026-11-29T02:00:00Z", "due_at": times[0] or "2026-11-29T02:00:00Z",
        "started_at": times[0], "finished_at": times[1], "attempt": 1, "max_attempts": 1, "outcome": None,
        "class": None, "reason": None, "exit_code": None, "signal": None, "queue": "default", "priority": 0,
        "node": "prod-db1", "error": None, "p50": None, "p95": None, "waits_for": None, **more,
    }  # fmt: skip


RUNS = [
    line(4785, "etl-orders", "running", "01:30:00", p50=1680.0, p95=1860.0),
    line(4771, "vacuum-pg", "running", "01:00:41", p50=7080.0, p95=9000.0),
    line(4840, "thumbs", "running", "02:12:33", max_attempts=2),
    line(4839, "push-metrics", "ready", None, due_at="2026-11-29T02:12:59Z", attempt=2, max_attempts=5,
         error="connection refused", **{"class": "exit_code", "exit_code": 7}),
    line(4814, "report-daily", "scheduled", None, attempt=0, max_attempts=3, waits_for="a free place in its queue"),
    line(4838, "heartbeat", "succeeded", "02:12:00", "02:12:00.200", exit_code=0),
    line(4812, "backup-db", "dead", "02:00:32", "02:00:41", attempt=3, max_attempts=3, exit_code=1,
         error="FATAL: No space left on device", **{"class": "exit_code"}),
    line(4793, "sync-crm", "failed", "01:45:00", "02:00:30", **{"class": "timed_out"}, reason="timed out after 15m"),
    line(4813, "sync-crm", "skipped", None, "02:00:00", attempt=0, outcome="overlap",
         reason="an earlier run was still active"),
    line(4765, "thumbs", "cancelled", "00:52:33", "00:52:45", reason="it was killed by ana"),
    line(4761, HOSTILE, "succeeded", "00:45:00", "00:48:12", attempt=2, max_attempts=3, exit_code=0),
]  # fmt: skip
LOG = b"copied 9 110 004 rows\ncopied 9 120 004 rows\n\x1b[31mslow chunk\x1b[0m 913: 4.8 s (lock wait)\n"


@pytest.fixture
def tonight() -> Iterator[Scripted]:
    window = {"schema": 1, "event": 88120, "total": len(RUNS), "offset": 0, "items": RUNS, "active": 5,
              "today": {"succeeded": 1311, "dead": 3, "failed": 4}}  # fmt: skip
    daemon = Scripted({"/v1/runs/window": window, **{f"/v1/runs/{run['id']}/log": LOG for run in RUNS}})
    yield daemon
    daemon.close()


@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_runs_look_like_this(tonight: Scripted, size: tuple[int, int], look: str) -> None:
    async with screens(tonight.client(), size, look, clock=tonight.clock, tab="runs") as ui:
        await ui.shows("slow chunk")
        await ui.snapshot("runs")


async def test_a_narrow_screen_has_a_sign_the_job_and_how_it_went(tonight: Scripted) -> None:
    async with screens(tonight.client(), (40, 10), "mono", clock=tonight.clock, tab="runs") as ui:
        await ui.shows("etl-orders")
        await ui.snapshot("runs")


async def test_what_a_job_wrote_is_shown_by_its_escapes(tonight: Scripted) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="runs") as ui:
        await ui.shows("\\x1b]52")
        assert "\x1b" not in ui.text()


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


def begun(daemon: RealDaemon, said: str, **fields: Any) -> Json:
    """A run that has said something, and goes on."""
    run = daemon.run(f"echo {said}; sleep 300", name=said, **fields)
    return daemon.until_says(run, said.encode())


async def cursor_on(ui: Shown, words: str) -> None:
    """By the keys of a person."""
    await ui.shows(words)
    await ui.press("g")
    for _ in range(60):
        if words in await ui.under_cursor():
            return
        await ui.press("j")
    raise AssertionError(ui.text())


async def test_new_runs_come_in_above_and_the_cursor_stays_with_its_run(daemon: RealDaemon) -> None:
    for name in ("one", "two", "three"):
        daemon.finished(daemon.run("true", name=f"stays-{name}"))
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "stays-two")
        daemon.finished(daemon.run("true", name="newcomer"))
        await ui.shows("newcomer")
        assert "stays-two" in next(line for line in ui.lines() if line.startswith("▌"))


async def test_the_strip_follows_the_last_lines_of_the_run_under_the_cursor(daemon: RealDaemon, tmp_path: Path) -> None:
    more = tmp_path / "more"
    run = daemon.run(
        f"echo first words; until [ -e {more} ]; do sleep 0.05; done; echo last words; sleep 300", name="talks"
    )
    daemon.until_says(run, b"first words")
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "talks")
        await ui.shows("first words")
        more.touch()
        await ui.shows("last words")
    daemon.client.kill_run(run["id"])
    daemon.finished(run)


async def test_a_kill_is_asked_and_names_the_run_that_was_highlighted(daemon: RealDaemon) -> None:
    run = begun(daemon, "victim")
    other = begun(daemon, "bystander")
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "victim")
        await ui.press("K")
        await ui.shows(f"Kill run {run['id']} of victim?")
        await ui.shows(f"jobctl kill {run['id']}")
        await ui.press("enter")  # Cancel has the keys
        await ui.until(lambda: "of victim?" not in ui.text())
        assert daemon.client.run(run["id"])["state"] == "running"
        await ui.press("K", "k")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "cancelled")
        await ui.until(lambda: "killed" in ui.line_with(f" {run['id']} victim"))
    assert daemon.client.run(other["id"])["state"] == "running"
    daemon.client.kill_run(other["id"])
    daemon.finished(other)


async def test_a_run_is_named_by_its_number_in_a_command(daemon: RealDaemon) -> None:
    run = begun(daemon, "numbered")
    async with screens(daemon.client, tab="runs") as ui:
        await ui.shows("numbered")
        await ui.press("colon", *f"kill {run['id']}", "enter")
        await ui.shows(f"Kill run {run['id']} of numbered?")
        await ui.press("k")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "cancelled")


async def test_marked_runs_are_stopped_together(daemon: RealDaemon) -> None:
    runs = [begun(daemon, f"pair-{number}") for number in range(2)]
    async with screens(daemon.client, tab="runs") as ui:
        for number in range(2):
            await cursor_on(ui, f"pair-{number}")
            await ui.press("space")
        await ui.press("c")
        await ui.shows("Stop run ")
        await ui.press("s")
        for run in runs:
            await ui.until(lambda run=run: daemon.client.run(run["id"])["state"] == "cancelled")  # type: ignore[misc]
        await ui.until(lambda: "marked" not in ui.text())


async def test_a_run_that_waits_is_cancelled_and_nobody_speaks_of_signals(daemon: RealDaemon) -> None:
    run = daemon.run("exit 1", name="waiter", retry={"max": 1, "backoff": 3600})
    daemon.state(run, "ready", attempt=1)
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "waiter")
        await ui.press("c")
        await ui.shows("It is not running: cancelled")
        assert "SIGTERM" not in ui.text()
        await ui.press("s")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "cancelled")


async def test_what_has_ended_cannot_be_killed_and_that_is_said(daemon: RealDaemon) -> None:
    daemon.finished(daemon.run("true", name="is-over"))
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "is-over")
        await ui.press("K")
        await ui.shows("has ended: there is nothing to stop")


async def test_a_retry_says_what_it_comes_to_and_which_run_it_made(daemon: RealDaemon) -> None:
    run = daemon.finished(daemon.run("exit 3", name="again", on_failure="record"))
    async with screens(daemon.client, tab="runs") as ui:
        await cursor_on(ui, "again")
        await ui.press("R")
        await ui.shows("A new run of the same command")
        await ui.press("r")
        made = daemon.until(lambda: [one for one in daemon.client.runs(limit=5) if one["retry_of"] == run["id"]])
        await ui.shows(f"run {run['id']} is run again as run {made[0]['id']}")


async def test_a_filter_narrows_the_runs_and_escape_takes_it_away(daemon: RealDaemon) -> None:
    daemon.finished(daemon.run("exit 4", name="needle", on_failure="record"))
    daemon.finished(daemon.run("true", name="straw"))
    async with screens(daemon.client, tab="runs") as ui:
        await ui.shows("straw")
        await ui.press("slash", *"exit:4", "enter")
        await ui.until(lambda: "needle" in ui.text() and "straw" not in ui.text())
        assert "needle" in next(line for line in ui.lines() if line.startswith("▌")), "the cursor is on what is left"
        await ui.press("escape")
        await ui.shows("straw")


async def test_where_nothing_is_like_that_the_filter_is_named(daemon: RealDaemon) -> None:
    async with screens(daemon.client, tab="runs") as ui:
        await ui.press("slash", *"nowhere-at-all", "enter")
        await ui.shows("Nothing matches")
