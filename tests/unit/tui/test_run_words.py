"""A run in a row and above its log: one word for what it is at, and the reason where there is one."""

from datetime import UTC
from typing import Any

import pytest

from jobctl.reading.times import milliseconds, rfc3339
from jobctl_tui.words import run as words
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.when import When

NOW = "2026-11-29T02:12:41Z"
NOW_MS = milliseconds(NOW)
WHEN = When(local=UTC)
HOSTILE = "\x1b]52;c;AAAA\x07[/x]\u202e"


def run(state: str, **fields: Any) -> dict[str, Any]:
    """A RunLine."""
    return {
        "id": 4812, "job_id": 7, "job": "backup-db", "owner": "root", "state": state, "trigger": "schedule",
        "scheduled_at": "2026-11-29T02:00:00Z", "due_at": "2026-11-29T02:00:00Z", "started_at": None,
        "finished_at": None, "attempt": 1, "max_attempts": 3, "outcome": None, "class": None, "reason": None,
        "exit_code": None, "signal": None, "queue": "default", "priority": 0, "node": None, "error": None,
        "p50": None, "p95": None, "waits_for": None, "key": "4812", "fence": 3, "replays": 0, "uncounted": 0, **fields,
    }  # fmt: skip


def ended(state: str, **fields: Any) -> dict[str, Any]:
    times = {"started_at": "2026-11-29T02:00:00.200Z", "finished_at": "2026-11-29T02:00:41.200Z"}
    return run(state, **{**times, **fields})


FAILED = {"class": "exit_code", "exit_code": 1, "reason": "exit 1; 3 attempts have failed"}


@pytest.mark.parametrize(
    ("seen", "kind", "result"),
    [
        (run("running", started_at=NOW), "running", "running"),
        (run("running", started_at=NOW, reason="stopped by signal 19"), "stopping", "stopping"),
        (run("ready", due_at="2026-11-29T02:12:59Z", **FAILED), "retrying", "retry in 18s"),
        (run("scheduled", due_at="2026-11-29T02:12:00Z", **FAILED), "retrying", "retry now"),
        (run("scheduled", attempt=0, due_at="2026-11-29T02:13:00Z"), "to come", "due in 19s"),
        (run("scheduled", attempt=0, reason="waits for run 12"), "waiting", "waits"),
        (run("ready", attempt=0), "waiting", "queued"),
        (ended("succeeded", exit_code=0), "succeeded", "ok"),
        (ended("failed", **FAILED), "failed", "exit 1"),
        (ended("dead", **FAILED), "dead", "dead: exit 1"),
        (ended("cancelled", reason="it was killed by ana"), "killed", "killed"),
        (ended("cancelled", reason="it was cancelled by ana"), "cancelled", "cancelled"),
        (run("skipped", attempt=0, outcome="overlap"), "skipped", "skipped"),
        (run("a new state"), "a new state", "a new state"),
    ],
)
def test_a_run_is_told_by_what_it_is_at(seen: dict[str, Any], kind: str, result: str) -> None:
    assert words.phase(seen, NOW_MS) == kind
    assert words.result(seen, UTF8, NOW_MS)[0] == result


def test_a_run_that_takes_longer_than_nineteen_of_twenty_is_slow() -> None:
    slow = run("running", started_at="2026-11-29T01:30:00Z", p50=1680.0, p95=1860.0)
    assert words.is_slow(slow, NOW_MS)
    assert words.result(slow, UTF8, NOW_MS) == ("██████████▶152%", "-late")
    assert words.note(slow, NOW_MS) == ("slower than usual: p95 31m00s", "-late")
    assert words.headline(slow, UTF8, NOW_MS) == ("▶ running 42m41s  slower than usual", "-late")
    assert not words.is_slow({**slow, "p95": None}, NOW_MS)
    assert not words.is_slow({**slow, "state": "succeeded"}, NOW_MS)


def test_the_note_of_a_failed_run_is_the_line_that_it_printed_last() -> None:
    assert words.note(ended("dead", error="FATAL: no space\nmore", **FAILED), NOW_MS)[0] == "FATAL: no space"
    assert words.note(ended("dead", **FAILED), NOW_MS)[0] == "exit 1; 3 attempts have failed"


def test_the_note_says_what_a_run_waits_for_and_who_stopped_it() -> None:
    assert words.note(run("ready", attempt=0, waits_for="queue pg"), NOW_MS)[0] == "queue pg"
    assert words.note(ended("cancelled", reason="it was killed by ana"), NOW_MS)[0] == "by ana"
    assert words.note(ended("succeeded", attempt=2), NOW_MS)[0] == "in attempt 2"


def test_nothing_that_a_job_wrote_reaches_a_cell_as_it_is() -> None:
    for state in ("running", "ready", "scheduled", "succeeded", "failed", "dead", "cancelled", "skipped", "discarded"):
        seen = ended(state, job=HOSTILE, error=HOSTILE, reason=HOSTILE, waits_for=HOSTILE, queue=HOSTILE,
                     trigger=HOSTILE, key=HOSTILE, outcome=HOSTILE, **{"class": HOSTILE})  # fmt: skip
        work = {"env": {HOSTILE: HOSTILE}, "cwd": HOSTILE, "user": HOSTILE}
        texts = [text for text, _ in words.cells(seen, UTF8, WHEN, NOW_MS)]
        texts += [words.times(seen, WHEN, NOW_MS), words.identity(seen, work, UTF8), words.no_log(seen, NOW_MS)]
        texts += [words.headline(seen, UTF8, NOW_MS)[0], words.why(seen, UTF8, NOW_MS)[0]]
        assert all(text.isprintable() for text in texts), texts


def test_what_stands_above_a_log_says_when_and_why() -> None:
    seen = ended("dead", error="FATAL: no space", **FAILED)
    assert words.headline(seen, UTF8, NOW_MS) == ("✗ DEAD  exit 1", "-failed")
    assert words.headline(seen, ASCII, NOW_MS)[0].isascii()
    assert (
        words.times(seen, WHEN, NOW_MS)
        == "scheduled 02:00:00 UTC  started +0.2s  ended 02:00:41  took 41s  by schedule"
    )
    assert words.why(seen, UTF8, NOW_MS)[0] == "exit 1; 3 attempts have failed · FATAL: no space"


def test_a_retry_says_which_it_is_and_when_it_comes() -> None:
    waits = run("ready", attempt=2, due_at="2026-11-29T02:12:59Z", **FAILED)
    assert words.why(waits, UTF8, NOW_MS)[0] == "exit 1; retry 2 of 2 comes in 18s"
    assert words.why({**waits, "uncounted": 2}, UTF8, NOW_MS)[0] == "exit 1; the next attempt comes in 18s"


def test_how_long_runs_of_the_job_take_and_how_much_time_is_left() -> None:
    seen = run("running", started_at="2026-11-29T01:30:00Z")
    known = {"p50": 1680.0, "p95": 1860.0, "count": 30}
    assert words.usual(seen, known, 3600, UTF8, NOW_MS) == (
        "usually 28m00s, p95 31m00s of 30 runs · now 42m41s: slower than usual · timeout in 17m19s"
    )
    assert words.usual(seen, {"p50": None, "p95": None, "count": 0}, None, UTF8, NOW_MS) == ""


def test_why_there_is_no_log_is_said_in_words() -> None:
    assert "retention has removed it" in words.no_log(ended("succeeded"), NOW_MS)
    assert "could not be started" in words.no_log(ended("dead", **{"class": "spawn_error"}), NOW_MS)
    assert "has not started" in words.no_log(run("scheduled", attempt=0), NOW_MS)
    skipped = run("skipped", attempt=0, reason="an earlier run was still active")
    assert words.no_log(skipped, NOW_MS).endswith("skipped: an earlier run was still active")


def test_what_a_replay_took_is_what_its_own_attempt_took_and_not_the_waiting_before_it() -> None:
    ended = {"started_at": "2026-11-29T02:00:00Z", "finished_at": "2026-11-29T02:00:05Z", "state": "succeeded"}
    retried = words.times(run(**ended, replays=0), WHEN, NOW_MS, "2026-11-29T01:00:00Z")
    replayed = words.times(run(**ended, replays=1), WHEN, NOW_MS, "2026-11-29T01:00:00Z")
    assert "took 1h00m" in retried
    assert "took 5.0s  replayed 1×" in replayed


def test_times_of_other_days_say_which() -> None:
    assert words.started(run("running", started_at=NOW), WHEN, NOW_MS)[0] == "02:12:41"
    assert words.started(run("running", started_at="2026-11-28T04:23:01Z"), WHEN, NOW_MS)[0] == "Sat 04:23"
    assert words.started(run("running", started_at="2026-10-01T04:23:01Z"), WHEN, NOW_MS)[0] == "01 Oct"
    assert words.started(run("running", started_at="2025-10-01T04:23:01Z"), WHEN, NOW_MS)[0] == "01 Oct 2025"


def test_section_lines_count_what_is_below_them() -> None:
    shown = [run("running", started_at=NOW), run("ready", **FAILED), run("scheduled", attempt=0)]
    assert words.active_line(shown, 3, (1, 8), UTF8, NOW_MS) == "running 1 · retrying 1 · waiting 1 · slots 1/8"
    assert words.active_line([*shown, None], 400, None, UTF8, NOW_MS) == "active 400"
    assert words.ended_line({"succeeded": 1311, "dead": 7}, UTF8) == "ended · newest first · 1 318 today · 7 failed"
    assert words.ended_line({}, UTF8) == "ended · newest first · 0 today"


def test_the_time_a_run_waits_for_its_turn_grows() -> None:
    waits = run("scheduled", attempt=0, due_at=rfc3339(NOW_MS - 720_000))
    assert words.lasted(waits, UTF8, NOW_MS) == ("wait 12m", "-late")
    assert words.lasted(run("skipped", attempt=0), UTF8, NOW_MS)[0] == "—"
