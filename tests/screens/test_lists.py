"""What the lists have in common: where they open, what their keys are called, filters as they are typed."""

from collections.abc import Iterator
from typing import Any

import pytest

from jobctl_tui.screens.runacting import AskOfRuns
from kit.daemon import RealDaemon, real_daemon
from kit.screens import Shown, screens

Json = dict[str, Any]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """With a job whose run is a dead letter, one that is well, and one that is paused since it failed."""
    with real_daemon(tmp_path_factory.mktemp("lists")) as daemon:
        for name, command in (("breaks", "echo no good; exit 5"), ("works", "true"), ("held", "exit 6")):
            job = daemon.add(name, command, retry={"max": 0})
            daemon.finished(daemon.client.trigger(job["id"], {}))
        daemon.client.pause_job("held")
        yield daemon


def cursor(ui: Shown) -> str:
    """The row under the cursor."""
    return next((line for line in ui.lines() if line.startswith("▌")), "")


def keys(ui: Shown) -> str:
    return ui.lines()[-1]


async def down_to(ui: Shown, words: str) -> None:
    await ui.shows(words)
    await ui.press("g")
    for _ in range(12):
        if words in await ui.under_cursor():
            return
        await ui.press("j")
    raise AssertionError(f"the cursor does not come to {words!r}:\n{ui.text()}")


# ── filters ──────────────────────────────────────────────────
async def test_the_word_of_a_state_finds_what_is_in_it(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.shows("works")
        await ui.press("slash", *"failed")
        await ui.until(lambda: "works" not in ui.text() and "breaks" in ui.text())
        assert "held" in ui.text(), "a pause does not mend it"
        await ui.press("enter", "2")
        await ui.shows("works")
        await ui.press("slash", *"failed")
        await ui.until(lambda: "works" not in ui.text() and "breaks" in ui.text())


async def test_a_filter_that_shows_nothing_says_what_may_be_tried(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.shows("works")
        await ui.press("slash", *"borken", "enter")
        await ui.shows("Nothing matches  borken")
        assert "state:failed" in ui.text()


async def test_tab_shows_what_a_word_may_become_before_it_becomes_that(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.shows("works")
        await ui.press("slash")
        await ui.until(lambda: "esc As before" in keys(ui))
        assert "Edit" not in keys(ui)
        await ui.press(*"state:r", "tab")
        await ui.shows("> state:retrying")
        assert "state:running" in ui.text()
        await ui.press("tab")
        await ui.shows("> state:running")
        await ui.press("escape")
        await ui.until(lambda: "> state:" not in ui.text())
        await ui.press("tab", "enter")
        await ui.shows("/ state:retrying")
        await ui.press("escape")
        await ui.until(lambda: "Edit" in keys(ui))


# ── what keys are called ─────────────────────────────────────
async def test_the_key_bar_says_what_a_key_does_to_the_row_under_the_cursor(daemon: RealDaemon) -> None:
    async with screens(daemon.client, (120, 40)) as ui:
        await down_to(ui, "works")
        await ui.until(lambda: "p Pause" in keys(ui))
        await down_to(ui, "held")
        await ui.until(lambda: "p Resume" in keys(ui))
        await ui.press("g", "space", "space")
        await ui.until(lambda: "p Pause 2 marked" in keys(ui) or "p Resume 2 marked" in keys(ui))


async def test_a_paused_job_shows_that_its_last_run_failed(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.shows("held")
        await ui.until(lambda: "‖ paused" in ui.line_with("held") and "exit 6" in ui.line_with("held"))


async def test_a_run_that_has_ended_offers_its_job_and_no_kill(daemon: RealDaemon) -> None:
    async with screens(daemon.client, (120, 40), tab="runs") as ui:
        await down_to(ui, "breaks")
        await ui.until(lambda: "R Replay…" in keys(ui) and "Kill" not in keys(ui))
        await ui.press("enter")
        await ui.shows("DEAD  exit 5")
        await ui.until(lambda: "R Replay…" in keys(ui) and "p Pause job" in keys(ui))
        assert "Kill" not in keys(ui)
        await ui.press("p")
        await ui.until(lambda: daemon.client.job("breaks")["paused"])
        await ui.until(lambda: "p Resume job" in keys(ui))
        await ui.press("u")
        await ui.until(lambda: not daemon.client.job("breaks")["paused"])


async def test_how_long_it_runs_is_said_as_it_is_while_it_is_asked(daemon: RealDaemon) -> None:
    run = daemon.run(["/bin/sleep", "60"])
    daemon.state(run, "running")
    async with screens(daemon.client, tab="runs") as ui:
        await down_to(ui, f" {run['id']} ")
        await ui.press("K")
        await ui.shows(f"Kill run {run['id']} of ")
        assert isinstance(ui.app.screen, AskOfRuns)
        before = ui.line_with(" of sleep  running") if "of sleep  running" in ui.text() else ""
        await ui.until(lambda: before not in ui.text())
        await ui.press("k")
        await ui.until(lambda: daemon.client.run(run["id"])["state"] == "cancelled")


# ── where a list opens ───────────────────────────────────────
async def test_the_runs_open_at_their_top_whatever_came_since_the_start(daemon: RealDaemon) -> None:
    async with screens(daemon.client) as ui:
        await ui.shows("works")
        run = daemon.finished(daemon.client.trigger("works", {}))
        await ui.press("2")
        await ui.until(lambda: f" {run['id']} works" in cursor(ui))


async def test_what_is_gone_when_a_list_is_entered_leaves_the_cursor_on_the_first_row(daemon: RealDaemon) -> None:
    job = daemon.add("twice", "exit 9", retry={"max": 0})
    daemon.finished(daemon.client.trigger(job["id"], {}))
    async with screens(daemon.client, tab="dead") as ui:
        await down_to(ui, "twice")
        await ui.press("1")
        daemon.client.discard({"job": str(job["id"])})
        await ui.press("4")
        await ui.until(lambda: "twice" not in ui.text() and cursor(ui))
    daemon.client.delete_job(job["id"])


# ── what is done to many ─────────────────────────────────────
@pytest.mark.long
async def test_what_is_done_to_many_says_how_far_it_is_and_escape_stops_it(daemon: RealDaemon) -> None:
    jobs = [daemon.add(f"many-{number:03}", "true") for number in range(150)]
    async with screens(daemon.client) as ui:
        await ui.press("slash", *"many-", "enter")
        await ui.shows("150 of ")
        await ui.press("asterisk")
        await ui.shows("150 marked")
        await ui.press("p", "escape")
        await ui.shows("stopped: paused 150 jobs")
        paused = [job for job in jobs if daemon.client.job(job["id"])["paused"]]
        assert len(paused) < len(jobs)
    for job in jobs:  # the others would be pushed off the screen
        daemon.client.delete_job(job["id"])
