"""What fires next: as it looks, and that its keys move the window and act on the job that is highlighted."""

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.errors import Unavailable
from jobctl.reading.times import milliseconds, rfc3339
from kit.daemon import RealDaemon, real_daemon
from kit.screens import VIEWS, Shown, screens
from kit.scripted import Scripted, answered
from unit.client.fake_daemon import job

Json = dict[str, Any]
HOSTILE = "\x1b]52;c;QUJD\x07[/x]"
#: Name, fires in each cell, and what else its row says.
JOBS: list[tuple[str, list[int], Json]] = [
    ("report-daily", [1], {"late_since": "2026-11-29T02:00:00Z", "state": "late"}),
    ("heartbeat", [30], {}),
    ("thumbs", [6], {}),
    ("rotate-logs", [1, 0], {}),
    ("etl-orders", [0] * 20 + [1] + [0] * 19, {"p50": 5400.0}),
    (HOSTILE, [0] * 11 + [1] + [0] * 28, {}),
    ("fetch-rates", [1, 0, 0, 0, 0, 0], {"paused": True, "state": "paused", "next_run_at": None}),
]


def lanes(cells: int) -> list[Json]:
    rows = []
    for ident, (name, pattern, more) in enumerate(JOBS, 1):
        lane = [pattern[cell % len(pattern)] for cell in range(cells)]
        rows.append(
            {"id": ident, "name": name, "state": "ok", "paused": False, "late_since": None, "p50": None,
             "next_run_at": "2026-11-29T03:00:00Z", "fires": sum(lane), "lane": lane, **more}
        )  # fmt: skip
    return rows


class Daemon(Scripted):
    """Has lanes of as many cells as it is asked for."""

    def __init__(self) -> None:
        usual = {"schema": 1, "count": 30, "p50": 5400.0, "p95": 6100.0, "items": []}
        coming = {"items": [{"at": f"2026-11-29T0{hour}:00:00Z"} for hour in (3, 4, 5)]}
        answers: Json = {"/v1/upcoming": self.upcoming}
        for ident, (name, _, _) in enumerate(JOBS, 1):
            answers |= {
                f"/v1/jobs/{ident}": job(ident, name),
                f"/v1/jobs/{ident}/next": coming,
                f"/v1/jobs/{ident}/durations": usual,
            }
        super().__init__(answers)

    def upcoming(self, request: Request) -> Response:
        cells = int(parse_qs(urlsplit(request.path).query)["cells"][0])
        rows = lanes(cells)
        change = {"at": "2027-03-28T01:00:00Z", "local": "2027-03-28T03:00:00+02:00", "timezone": "Europe/Berlin",
                  "kind": "gap", "offset_before": 3600, "offset_after": 7200, "jobs": 3}  # fmt: skip
        return answered({
            "schema": 1, "event": 88_120, "from": "2026-11-29T02:00:00Z", "until": "2026-11-30T02:00:00Z",
            "timezone": "UTC", "cells": cells, "total": len(rows), "offset": 0, "jobs": 6, "fires": 1801,
            "items": rows, "density": [36 + cell % 5 for cell in range(cells)],
            "busy": [(cell % 9) / 1.0 for cell in range(cells)], "slots": 8,
            "crowded": [{"at": "2026-11-29T03:00:00Z", "count": 4, "jobs": ["heartbeat", HOSTILE]}],
            "transitions": [], "next_transition": change, "left_out": {"jobs": 0, "busy": 0},
        })  # fmt: skip

    def windows(self) -> list[dict[str, str]]:
        """What was asked, in order, each once."""
        found: list[dict[str, str]] = []
        for asked in self.asked:
            address = urlsplit(asked.path)
            query = {name: values[0] for name, values in parse_qs(address.query).items()}
            query = {name: query[name] for name in ("hours", "cells", "since") if name in query}
            if address.path == "/v1/upcoming" and (not found or found[-1] != query):
                found.append(query)
        return found


@pytest.fixture
def tonight() -> Iterator[Daemon]:
    daemon = Daemon()
    yield daemon
    daemon.close()


@pytest.mark.parametrize(("size", "look"), VIEWS)
async def test_the_hours_to_come_look_like_this(tonight: Daemon, size: tuple[int, int], look: str) -> None:
    async with screens(tonight.client(), size, look, clock=tonight.clock, tab="upcoming") as ui:
        await ui.shows("etl-orders")
        for _ in range(4):
            await ui.press("j")
        await ui.until(lambda: "usually" in ui.text())
        await ui.snapshot("upcoming")


async def test_a_narrow_screen_has_a_name_and_a_lane(tonight: Daemon) -> None:
    async with screens(tonight.client(), (40, 10), clock=tonight.clock, tab="upcoming", ascii_only=True) as ui:
        await ui.shows("heartbea")
        line = ui.line_with("etl-orders")
        assert "|" in line or "#" in line
        assert all(len(line) <= 40 for line in ui.lines())


async def test_no_name_reaches_the_terminal_as_it_is(tonight: Daemon) -> None:
    async with screens(tonight.client(), (120, 40), clock=tonight.clock, tab="upcoming") as ui:
        await ui.shows("\\x1b]52")
        assert "\x1b" not in ui.text()


async def test_the_window_is_zoomed_and_moved_and_comes_back_to_now(tonight: Daemon) -> None:
    async with screens(tonight.client(), clock=tonight.clock, tab="upcoming") as ui:
        await ui.shows("next 24 h")
        await ui.press("minus")
        await ui.shows("next 7 d")
        await ui.until(lambda: tonight.windows()[-1]["hours"] == "168")
        await ui.press("plus")
        await ui.shows("next 24 h")
        await ui.until(lambda: [window["hours"] for window in tonight.windows()][-1] == "24")
        await ui.press("plus")
        await ui.shows("next 6 h")
        await ui.press("right")
        await ui.shows("03:40 UTC +6 h")
        # A question that has not begun gives way to the next.
        await ui.until(lambda: {"hours": "6", "cells": "36", "since": "2026-11-29T03:40:00Z"} in tonight.windows())
        await ui.press("left")
        await ui.shows("next 6 h")
        await ui.press("right", "right", "0")
        await ui.shows("next 6 h")
    assert [window["hours"] for window in tonight.windows() if "since" not in window][:3] == ["24", "168", "24"]


async def test_crowded_minutes_and_clock_changes_are_told_when_asked_for(tonight: Daemon) -> None:
    async with screens(tonight.client(), clock=tonight.clock, tab="upcoming") as ui:
        await ui.shows("heartbeat")
        assert "start in one minute" not in ui.text()
        await ui.press("w")
        await ui.shows("4 start in one minute: heartbeat, \\x1b]52")
        await ui.shows("no clock change in this window (next: 2027-03-28")
        await ui.press("w")
        await ui.until(lambda: "start in one minute" not in ui.text())


# ── with a daemon ────────────────────────────────────────────
@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("d")) as made:
        yield made


async def cursor_on(ui: Shown, name: str) -> None:
    await ui.shows(name)
    await ui.press("g")
    for _ in range(20):
        if name in await ui.under_cursor():
            return
        await ui.press("j")
    raise AssertionError(ui.text())


def fires(ui: Shown, name: str) -> int:
    """How often a lane says that its job fires."""
    return int(ui.line_with(f"{name}  ").partition("×")[0].split()[-1])


async def test_where_nothing_fires_it_says_what_to_do_and_then_what_fires(daemon: RealDaemon) -> None:
    for before in list(daemon.client.jobs()):  # of other tests
        daemon.client.delete_job(before["id"])
    async with screens(daemon.client, tab="upcoming") as ui:
        await ui.shows("Nothing fires in the next 24 h.")
        daemon.add("hourly", ["/bin/true"], schedule={"cron": "0 * * * *", "timezone": "UTC"})
        await ui.shows("hourly")
        assert fires(ui, "hourly") in (23, 24)


async def test_the_next_time_is_left_out_and_comes_back(daemon: RealDaemon) -> None:
    daemon.add("skipped", ["/bin/true"], schedule={"cron": "30 */6 * * *", "timezone": "UTC"})
    before = daemon.client.job("skipped")["next_run_at"]
    async with screens(daemon.client, tab="upcoming") as ui:
        await cursor_on(ui, "skipped")
        before_fires = fires(ui, "skipped")
        await ui.press("s")
        await ui.shows("left the next time of skipped out")
        assert daemon.client.job("skipped")["next_run_at"] > before
        await ui.until(lambda: fires(ui, "skipped") < before_fires)
        await ui.until(lambda: "−" in ui.line_with("skipped  "))
        await ui.shows("left out: ")
        await ui.press("u")
        await ui.shows("taken back")
        assert daemon.client.job("skipped")["next_run_at"] == before


async def test_what_is_left_out_is_seen_while_the_overview_of_all_takes_long(daemon: RealDaemon) -> None:
    """The answers about all jobs are held back once the key is pressed: the row does not wait for them."""
    daemon.add("swift", ["/bin/true"], schedule={"cron": "20 */6 * * *", "timezone": "UTC"})
    held = threading.Event()

    class Held(Client):
        """As of a daemon that has very many jobs."""

        def upcoming(self, **query: Any) -> Json:
            if "job" not in query and held.is_set():
                raise Unavailable("it takes long", "wait")
            return daemon.client.upcoming(**query)

    async with screens(lambda: Held(daemon.client._transport), tab="upcoming") as ui:
        await cursor_on(ui, "swift")
        before_fires = fires(ui, "swift")
        held.set()
        await ui.press("s")
        await ui.until(lambda: fires(ui, "swift") == before_fires - 1)
        held.clear()
    daemon.client.unskip(daemon.client.job("swift")["id"])


async def test_a_pause_shows_when_it_would_have_fired_and_the_same_key_resumes(daemon: RealDaemon) -> None:
    daemon.add("held", ["/bin/true"], schedule={"cron": "45 * * * *", "timezone": "UTC"})
    async with screens(daemon.client, tab="upcoming") as ui:
        await cursor_on(ui, "held")
        await ui.press("p")
        await ui.until(lambda: "paused" in ui.line_with("held  "))
        assert "‖" in ui.line_with("held  ")
        await cursor_on(ui, "held")
        await ui.press("p")
        await ui.until(lambda: "×" in ui.line_with("held  "))
        assert not daemon.client.job("held")["paused"]


@pytest.mark.long
async def test_enter_opens_the_times_and_e_the_editor_and_j_goes_to_the_job(daemon: RealDaemon) -> None:
    daemon.add("looked-at", ["/bin/true"], schedule={"cron": "50 * * * *", "timezone": "Europe/Berlin"})
    async with screens(daemon.client, (100, 40), tab="upcoming") as ui:
        await cursor_on(ui, "looked-at")
        await ui.press("e")
        await ui.shows("Jobs / looked-at / edit")
        await ui.press("escape")
        await cursor_on(ui, "looked-at")
        await ui.press("enter")
        await ui.shows("times of looked-at")
        coming = daemon.client.job_next("looked-at", 20)["items"]
        assert coming[-1]["at"] in ui.line_with(" 20 ")
        assert "clock changes in the next 12 months" in ui.text()
        daemon.client.skip_next(daemon.client.job("looked-at")["id"])
        await ui.until(lambda: coming[0]["at"] not in ui.text() and coming[1]["at"] in ui.line_with("  1 "))
        assert "left out" in ui.text()
        await ui.press("e")
        await ui.shows("Jobs / looked-at / edit")
        await ui.press("escape")
        await ui.shows("times of looked-at")
        await ui.press("J")
        await ui.shows("[1 Jobs]")
        await ui.shows("── looked-at ")


@pytest.mark.long
async def test_the_filter_narrows_the_lanes(daemon: RealDaemon) -> None:
    daemon.add("needle", ["/bin/true"], schedule={"cron": "5 * * * *", "timezone": "UTC"})
    daemon.add("straw", ["/bin/true"], schedule={"cron": "5 * * * *", "timezone": "UTC"})
    async with screens(daemon.client, tab="upcoming") as ui:
        await ui.shows("straw")
        await ui.press("slash", *"needle", "enter")
        await ui.until(lambda: "straw" not in ui.text() and "needle" in ui.text())
        await ui.press("escape")
        await ui.shows("straw")


def test_a_window_that_begins_later_has_only_what_fires_then(daemon: RealDaemon) -> None:
    daemon.add("nightly", ["/bin/true"], schedule={"cron": "30 2 * * *", "timezone": "UTC"})
    whole = daemon.client.upcoming(hours=48, cells=48, q="nightly")
    at = next(cell for cell, count in enumerate(whole["items"][0]["lane"]) if count)
    begin_ms = milliseconds(whole["from"]) + (at + 1) * 3_600_000
    later = daemon.client.upcoming(hours=24, cells=24, q="nightly", since=rfc3339(begin_ms))
    assert milliseconds(later["from"]) == begin_ms
    lane = later["items"][0]["lane"]
    assert sum(lane) == 1
    assert lane.index(1) == 23
