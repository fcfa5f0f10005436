"""Watching a run that is retried: every attempt, in order, and the exit code of the last."""

from typing import Any

import pytest

from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, Asked, FakeDaemon, job, problem, run

DEAD = {"state": "dead", "attempt": 3, "max_attempts": 3, "class": "exit_code", "outcome": "exit_code", "exit_code": 9}


@pytest.fixture
def retried(daemon: FakeDaemon) -> dict[str, Any]:
    """A run that has had three attempts by the first look."""
    of = job(9, "flaky")
    fresh = run(201, of, state="ready", attempt=0, started_at=None, finished_at=None, outcome=None, exit_code=None)
    over = run(201, of, **DEAD)

    def log(asked: Asked, _match: object) -> Answer:
        number = asked.query.get("attempt", "3")
        headers = {"Jobctl-Log-Offset": "0", "Jobctl-Log-Attempt": number, "Jobctl-Log-Complete": "1"}
        return Answer(200, f"try {number}\n".encode(), headers)

    daemon.override("POST", "/v1/runs", Answer(201, fresh))
    daemon.override("GET", "/v1/runs/201", Answer(200, over))
    daemon.override("GET", "/v1/runs/201/log", log)
    return over


def test_the_log_of_every_attempt_is_shown(cli: Cli, retried: dict[str, Any]) -> None:
    result = cli("run", "--retries", "2", "--follow", "--", "flaky")
    assert (result.code, result.out) == (9, "try 1\ntry 2\ntry 3\n")
    assert "attempt 2\n" in result.err


def test_waiting_ends_with_the_code_of_the_last_attempt(cli: Cli, retried: dict[str, Any]) -> None:
    result = cli("run", "--retries", "2", "--wait", "--", "flaky")
    assert (result.code, result.out) == (9, "")
    assert "dead: exit 9" in result.err


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ({"class": "timed_out", "exit_code": None}, 124),
        ({"class": "signal", "exit_code": None, "signal": 9}, 137),
        ({"class": "lost", "exit_code": None}, 1),
        ({"class": "spawn_error", "exit_code": None, "reason": "ENOENT: program x: gone"}, 127),
    ],
)
def test_a_dead_letter_ends_like_a_failure(
    cli: Cli, retried: dict[str, Any], ending: dict[str, Any], code: int
) -> None:
    retried |= ending
    assert cli("run", "--wait", "--", "flaky").code == code


def test_a_run_under_a_key_is_followed_from_where_it_is(cli: Cli, daemon: FakeDaemon, retried: dict[str, Any]) -> None:
    daemon.override("POST", "/v1/runs", Answer(200, retried | {"attempt": 2, "state": "running"}))
    assert cli("run", "--key", "k", "-f", "--", "flaky").out == "try 2\ntry 3\n"


def test_a_job_whose_run_is_active_says_what_to_do(cli: Cli, daemon: FakeDaemon) -> None:
    hint = "wait for it with `jobctl wait 5`"
    daemon.override("POST", "/v1/jobs/backup/runs", problem(409, "conflict", "run 5 of backup is still active", hint))
    refused = cli("run", "backup")
    assert (refused.code, hint in refused.err) == (5, True)


def test_a_time_is_read_in_the_zone_of_the_job(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["schedule"]["timezone"] = "Asia/Tokyo"
    cli("run", "backup", "--at", "2026-12-01 09:00")
    cli("run", "backup", "--at", "2026-12-01 09:00", "--tz", "UTC")
    cli("run", "backup", "--at", "2026-11-29 11:15")
    assert daemon.posted("/v1/jobs/backup/runs") == [
        {"run_at": "2026-12-01T00:00:00Z"}, {"run_at": "2026-12-01T09:00:00Z"}, {"run_at": "2026-11-29T02:15:00Z"},
    ]  # fmt: skip
