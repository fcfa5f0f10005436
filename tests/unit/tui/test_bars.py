"""Attempts as bars: one scale for all of them, and nothing that happened is too short to be seen."""

from typing import Any

import pytest

from jobctl.reading.times import rfc3339
from jobctl_tui.words.bars import chart, progress, ruler
from jobctl_tui.words.spark import spark

T0 = 1_796_000_000_000
NO_DURATIONS: dict[str, Any] = {"p50": None, "p95": None, "count": 0}
EIGHTHS = "▏▎▍▌▋▊▉█"


def attempt(number: int, begun_s: float, ended_s: float | None, **more: Any) -> dict[str, Any]:
    at = [rfc3339(T0 + round(second * 1000)) for second in (begun_s, begun_s)]
    ended = None if ended_s is None else rfc3339(T0 + round(ended_s * 1000))
    fails = {"class": "exit_code", "exit_code": 1} if ended_s is not None else {"class": None, "exit_code": None}
    return {"attempt": number, "claimed_at": at[0], "started_at": at[1], "ended_at": ended, "signal": None,
            "detail": None, **fails, **more}  # fmt: skip


def run(state: str, **more: Any) -> dict[str, Any]:
    return {"state": state, "attempt": 1, "due_at": rfc3339(T0), "class": None, "uncounted": 0, **more}


def test_waiting_and_working_parts_lie_side_by_side_on_one_scale() -> None:
    bars = chart([attempt(1, 0, 10), attempt(2, 20, 30), attempt(3, 30, 40)], run("failed"), NO_DURATIONS, T0, 40).bars
    assert [(bar.lead, bar.wait, bar.work) for bar in bars] == [(0, 0, 10), (10, 10, 10), (30, 0, 10)]
    assert [bar.words for bar in bars] == ["exit 1"] * 3
    assert [bar.note for bar in bars] == ["", "waited 10s", ""]
    assert [bar.took for bar in bars] == ["10s", "10s", "10s"]


@pytest.mark.parametrize("cells", [1, 2, 7, 40, 119])
def test_no_bar_is_wider_than_its_room_and_none_is_empty(cells: int) -> None:
    tries = [attempt(number, number * 100, number * 100 + 0.001) for number in range(1, 9)]
    for bar in chart(tries, run("failed"), NO_DURATIONS, T0, cells).bars:
        assert bar.work >= 1
        assert bar.lead >= 0
        assert bar.wait >= 0
        assert bar.lead + bar.wait + bar.work <= cells


def test_an_attempt_that_runs_grows_against_what_is_usual() -> None:
    now_ms = T0 + 30_000
    shown = chart([attempt(1, 0, None)], run("running"), {"p50": 30.0, "p95": 60.0, "count": 9}, now_ms, 60)
    assert [(bar.work, bar.words, bar.open) for bar in shown.bars] == [(30, "running", True)]
    assert [(mark.cell, mark.label) for mark in shown.marks] == [(30, "p50 30s"), (60, "p95 1m00s")]


def test_a_retry_that_waits_is_a_bar_that_only_waits() -> None:
    due = rfc3339(T0 + 40_000)
    waits = run("ready", due_at=due, **{"class": "exit_code"})
    bars = chart([attempt(1, 0, 20)], waits, NO_DURATIONS, T0 + 22_000, 40).bars
    assert (bars[1].attempt, bars[1].words, bars[1].lead, bars[1].wait, bars[1].work) == (2, "retry in 18s", 20, 20, 0)


def test_an_attempt_that_was_lost_is_told_apart_from_one_that_failed() -> None:
    lost = attempt(1, 0, 10, **{"class": "lost", "exit_code": None})
    bars = chart(
        [lost, attempt(2, 10, 20, exit_code=0, **{"class": None})], run("succeeded"), NO_DURATIONS, T0, 20
    ).bars
    assert [(bar.words, bar.style) for bar in bars] == [("lost", "-late"), ("ok", "-ok")]


def test_clocks_that_went_back_make_no_bar_negative() -> None:
    tries = [attempt(1, 50, 40), attempt(2, 10, 20)]
    for bar in chart(tries, run("failed"), NO_DURATIONS, T0, 30).bars:
        assert min(bar.lead, bar.wait, bar.work) >= 0


def test_a_run_that_never_began_has_no_bars() -> None:
    assert chart([], run("skipped"), NO_DURATIONS, T0, 40).bars == ()


def test_the_ruler_names_its_marks_where_they_are() -> None:
    shown = chart([attempt(1, 0, None)], run("running"), {"p50": 30.0, "p95": 60.0, "count": 9}, T0 + 30_000, 60)
    line = ruler(shown.marks, 60, line="-", stop="|")
    assert line == "p50 30s ----------------------|p95 1m00s ------------------|"
    assert len(line) == 60


def test_marks_that_have_no_room_are_left_out_instead_of_written_over_each_other() -> None:
    shown = chart([attempt(1, 0, None)], run("running"), {"p50": 59.0, "p95": 60.0, "count": 9}, T0 + 30_000, 12)
    assert ruler(shown.marks, 12, line="-", stop="|") == "p50 59s ---|"


@pytest.mark.parametrize(
    ("elapsed_s", "shown"),
    [
        (0, "            0%"),
        (61, "██████       61%"),
        (63, "██████▎      63%"),
        (100, "██████████  100%"),
        (135, "██████████▶135%"),
        (100_000, "██████████▶999%"),
    ],
)
def test_progress_is_a_bar_and_a_number(elapsed_s: float, shown: str) -> None:
    assert progress(elapsed_s, 100, 10, EIGHTHS, "▶").split() == shown.split()
    assert len(progress(elapsed_s, 100, 10, EIGHTHS, "▶")) <= 16


def test_nothing_is_said_of_progress_where_nothing_is_known() -> None:
    assert progress(5, None, 10, EIGHTHS, "▶") == ""
    assert progress(5, 0, 10, EIGHTHS, "▶") == ""


def test_a_spark_begins_at_zero_and_shows_the_last_of_the_values() -> None:
    assert spark([1, 1, 1], "▁▂▃▄▅▆▇█", 10) == "███"
    assert spark([99, 1, 2, 4, 8], "▁▂▃▄▅▆▇█", 4) == "▁▂▄█"
    assert spark([0, None, 8], "▁▂▃▄▅▆▇█", 4) == "▁ █"
    assert spark([0, 0], "▁▂▃▄▅▆▇█", 4) == "▁▁"
    assert spark([], "▁▂▃▄▅▆▇█", 4) == ""
