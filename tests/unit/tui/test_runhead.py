"""What stands above a log: which run, what it is at and why, and its attempts side by side."""

from datetime import UTC
from typing import Any

from jobctl.reading.times import milliseconds
from jobctl.reading.width import width
from jobctl_tui.live.runfacts import Facts
from jobctl_tui.words.glyphs import ASCII, UTF8
from jobctl_tui.words.runhead import Line, Room, above, attempts, headline
from jobctl_tui.words.when import When

NOW_MS = milliseconds("2026-11-29T02:12:41Z")
WHEN = When(local=UTC)


def run(state: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": 4812, "job_id": 7, "job": "backup-db", "state": state, "trigger": "schedule", "attempt": 3,
        "max_attempts": 3, "uncounted": 0, "replays": 0, "scheduled_at": "2026-11-29T02:00:00Z",
        "due_at": "2026-11-29T02:00:00Z", "started_at": "2026-11-29T02:00:00.200Z",
        "finished_at": "2026-11-29T02:00:41.200Z", "class": "exit_code", "exit_code": 1, "signal": None,
        "reason": "exit 1; 3 attempts have failed", "error": "FATAL: no space", "key": "k", "fence": 3, "p50": None,
        "p95": None, **fields,
    }  # fmt: skip


def attempt(number: int, begun: str, ended: str | None, **fields: Any) -> dict[str, Any]:
    return {"attempt": number, "claimed_at": begun, "started_at": begun, "ended_at": ended, "class": "exit_code",
            "exit_code": 1, "signal": None, **fields}  # fmt: skip


TRIES = [
    attempt(1, "2026-11-29T02:00:00.200Z", "2026-11-29T02:00:10Z"),
    attempt(2, "2026-11-29T02:00:16Z", "2026-11-29T02:00:26Z"),
    attempt(3, "2026-11-29T02:00:32Z", "2026-11-29T02:00:41.200Z"),
]
DEAD = Facts(run("dead"), TRIES)


def text(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line) for line in lines]


def test_the_headline_says_which_run_and_what_it_is_at() -> None:
    (line,) = text([headline(DEAD, UTF8, NOW_MS, 80)])
    assert line.startswith(" ‹ Runs / backup-db / run 4812 ")
    assert line.rstrip().endswith("✗ DEAD  exit 1     attempt 3 of 3")


def test_the_headline_fits_wherever_it_stands() -> None:
    long = Facts(run("dead", job="a" * 128), TRIES)
    for columns in (20, 40, 60, 80, 200):
        assert width(text([headline(DEAD, UTF8, NOW_MS, columns)])[0]) <= max(columns, 24)
        assert width(text([headline(long, UTF8, NOW_MS, columns)])[0]) <= max(columns, 24)
    assert "DEAD" in text([headline(long, UTF8, NOW_MS, 40)])[0]


def test_attempts_are_bars_and_the_one_below_is_marked() -> None:
    lines = text(attempts(DEAD, 3, UTF8, NOW_MS, Room(80, 4)))
    assert lines[0].startswith("  1 ✗ exit 1      9.8s █████")
    assert "░" in lines[1]
    assert [line.endswith("◂") for line in lines] == [False, False, True]
    assert "(waited 6.0s)" in lines[1]
    assert all(width(line) <= 80 for line in lines)


def test_many_attempts_are_folded_into_one_line() -> None:
    many = [attempt(n, f"2026-11-29T02:{n:02d}:00Z", f"2026-11-29T02:{n:02d}:30Z") for n in range(10)]
    many[3] = {**many[3], "class": "lost", "exit_code": None}
    lines = text(attempts(Facts(run("dead"), many), 9, UTF8, NOW_MS, Room(80, 4)))
    assert len(lines) == 4
    assert lines[0] == " … 7 earlier: 6 times exit 1, lost"
    assert lines[-1].endswith("◂")


def test_a_run_that_runs_shows_what_is_usual_and_when_its_time_is_over() -> None:
    seen = run("running", attempt=1, started_at="2026-11-29T01:30:00Z", finished_at=None, reason=None, error=None,
               **{"class": None})  # fmt: skip
    running = attempt(1, "2026-11-29T01:30:00Z", None, **{"class": None})
    facts = Facts(seen, [running], {"p50": 1680.0, "p95": 1860.0, "count": 30}, None, 3600)
    lines = text(above(facts, 1, UTF8, WHEN, NOW_MS, Room(100, 4)))
    assert lines[1] == " usually 28m00s, p95 31m00s of 30 runs · now 42m41s: slower than usual · timeout in 17m19s"
    assert "p50 28m00s ─" in lines[3]
    assert "p95 31m00s" in lines[3] or "│p95" in lines[3]


def test_nothing_but_ascii_where_the_terminal_has_no_more() -> None:
    lines = [headline(DEAD, ASCII, NOW_MS, 80), *above(DEAD, 3, ASCII, WHEN, NOW_MS, Room(80, 4))]
    assert all(line.isascii() for line in text(lines)), text(lines)


def test_a_narrow_screen_has_words_and_no_bars() -> None:
    lines = text(attempts(DEAD, 3, UTF8, NOW_MS, Room(36, 4)))
    assert [line.rstrip() for line in lines] == [
        "  1 ✗ exit 1      9.8s",
        "  2 ✗ exit 1       10s",
        "  3 ✗ exit 1      9.2s  ◂",
    ]
