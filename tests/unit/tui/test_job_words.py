"""A job as the cells of its row."""

from typing import Any

import pytest

from jobctl_tui.words import job as words
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.when import When

NOW_MS = 1_764_385_961_000  # 2025-11-29T03:12:41Z
WHEN = When(zone="utc")


def line(**fields: Any) -> dict[str, Any]:
    job = {
        "id": 1, "name": "backup-db", "owner": "root", "state": "ok", "rank": 5, "words": "every day at 03:00",
        "expression": "0 3 * * *", "timezone": "UTC", "paused_why": None, "suspended_by": None, "suspended_until": None,
        "quarantined": False, "next_run_at": "2025-11-30T03:00:00Z", "late_since": None, "active": None, "last": None,
        "recent": "", "error": None, "dead": 0, "tags": [], "queue": "default", "priority": 0, "declared": None,
        "rev": 1, "p50": None, "p95": None,
    }  # fmt: skip
    return {**job, **fields}


def ended(state: str = "dead", **fields: Any) -> dict[str, Any]:
    run = {"id": 9, "state": state, "outcome": "exit_code", "class": "exit_code", "exit_code": 1, "signal": None,
           "finished_at": "2025-11-29T03:00:41Z", "duration": 41}  # fmt: skip
    return {**run, **fields}


def active(state: str = "running", **fields: Any) -> dict[str, Any]:
    run = {"id": 10, "state": state, "started_at": "2025-11-29T02:30:41Z", "due_at": "2025-11-29T02:30:00Z",
           "attempt": 1, "max_attempts": 1}  # fmt: skip
    return {**run, **fields}


@pytest.mark.parametrize(
    ("job", "text", "style"),
    [
        (line(state="dead"), "✗ DEAD", "-failed"),
        (line(state="failed"), "✗ FAILED", "-failed"),
        (line(state="late"), "! LATE", "-late"),
        (line(state="retrying", active=active("ready", attempt=2, max_attempts=5)), "↻ retry 2/5", "-retry"),
        (line(state="running", active=active()), "▶ running", "-running"),
        (line(state="paused", quarantined=True), "‖ QUARANT.", "-failed"),
        (line(state="manual"), "· manual", "-dim"),
        (line(state="brewing\x1b[2J"), "· brewing\\x1b[2J", "-dim"),
    ],
)
def test_a_state_is_a_sign_and_a_word_and_trouble_is_in_capitals(job: dict[str, Any], text: str, style: str) -> None:
    assert words.state(job, UTF8) == (text, style)


def test_without_utf_8_states_have_signs_of_ascii() -> None:
    assert all(words.state(line(state=state), ASCII)[0].isascii() for state in words.STATES)


@pytest.mark.parametrize(
    ("job", "text"),
    [
        (line(), "23h47m"),
        (line(state="late", late_since="2025-11-29T03:00:00Z"), "due 12m ago"),
        (line(state="retrying", active=active("ready", due_at="2025-11-29T03:12:59Z")), "18s"),
        (line(state="retrying", active=active("ready", due_at="2025-11-29T03:12:00Z")), "now"),
        (line(state="paused", suspended_by="job"), "—"),
        (line(state="paused", suspended_by="job", suspended_until="2025-11-29T06:00:00Z"), "till 2h47m"),
        (line(next_run_at=None, words="after load succeeds"), "after load succeeds"),
        (line(next_run_at=None, words="on boot"), "next boot"),
        (line(next_run_at=None, words="by hand"), "—"),
    ],
)
def test_next_is_when_it_starts_or_what_starts_it(job: dict[str, Any], text: str) -> None:
    assert words.next_time(job, WHEN, NOW_MS)[0] == text


def test_next_is_a_clock_for_who_asks_for_one() -> None:
    assert words.next_time(line(), When(zone="utc", form="absolute"), NOW_MS)[0] == "Sun 03:00 UTC"


ATTEMPT = {"attempt": 2, "max_attempts": 5, "class": "exit_code", "exit_code": 7, "signal": None}


@pytest.mark.parametrize(
    ("job", "text", "style"),
    [
        (line(last=ended()), "exit 1 12m ago", "-failed"),
        (line(last=ended(**{"class": "timed_out", "exit_code": None})), "timeout · 12m", "-failed"),
        (line(last=ended("succeeded", **{"class": None, "outcome": "ok"})), "ok 12m ago", ""),
        (line(), "—", "-dim"),
        (line(state="running", active=active()), "42m00s so far", "-running"),
        (line(state="running", active=active(), p50=3000, p95=4000), "42m of 50m", "-running"),
        (line(state="running", active=active(), p50=1680, p95=1860), "42m > p95 31m", "-late"),
        (line(state="paused", suspended_by="job", paused_why="ana: a\nb"), "ana: a\\nb", "-paused"),
        (line(state="paused", suspended_by="job", paused_why="the job was paused by ana: x"), "by ana: x", "-paused"),
        (line(state="paused", suspended_by="queue", paused_why="queue q paused"), "queue q paused", "-paused"),
        (line(state="retrying", active=active("ready", attempt=2)), "failed 2×", "-retry"),
        (line(state="retrying", active=active("ready", **ATTEMPT)), "exit 7", "-retry"),
        (line(state="paused", suspended_by="job", paused_why="x", last=ended()), "exit 1 12m ago", "-failed"),
    ],
)  # fmt: skip
def test_last_is_how_it_went_and_when_or_what_it_is_at(job: dict[str, Any], text: str, style: str) -> None:
    assert words.last(job, NOW_MS) == (text, style)


def test_where_there_is_room_more_is_said() -> None:
    retrying = line(state="retrying", active=active("ready", **ATTEMPT))
    assert words.last(retrying, NOW_MS, 17) == ("exit 7, retry 2/5", "-retry")
    assert words.last(line(last=ended(**{"class": "timed_out"})), NOW_MS, 15)[0] == "timeout 12m ago"
    assert words.trouble(retrying) == "exit 7, retry 2/5"


def test_a_pause_does_not_hide_that_the_last_run_failed() -> None:
    job = line(state="paused", suspended_by="job", last=ended())
    assert words.state(job, UTF8) == ("‖ paused", "-paused")
    assert words.state(job, UTF8, words.STATE_WIDE) == ("‖ paused, FAILED", "-failed")
    assert words.state(line(state="paused", suspended_by="job"), UTF8, 99) == ("‖ paused", "-paused")


def test_the_line_that_says_why_is_the_one_printed_last_and_is_safe() -> None:
    job = line(state="failed", last=ended(), error="FATAL: \x1b]52;c;bad\x07No space left\nmore")
    assert words.trouble(job) == "FATAL: \\x1b]52;c;bad\\x07No space left"


def test_a_failure_without_a_word_is_told_by_its_exit_code_and_a_job_that_is_well_by_nothing() -> None:
    assert words.trouble(line(state="failed", last=ended())) == "it ended with exit 1, and printed nothing"
    assert words.trouble(line(error="of long ago")) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (8.9, "8s"), (725, "12m"), (7200, "2h"), (86_400 * 28, "28d"), (1e8, "3y")]
)
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert words.coarse(seconds) == text


def test_a_name_in_a_cell_cannot_act_on_the_terminal() -> None:
    assert words.name(line(name="\x1b[31mred"))[0] == "\\x1b[31mred"
