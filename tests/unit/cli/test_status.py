"""What status tells people, and what it tells a monitor."""

from typing import Any

import pytest

from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, FakeDaemon, dead, queue


def test_a_daemon_that_is_well(cli: Cli) -> None:
    assert cli().out == cli("status").out
    assert "comes back after a reboot" in cli("status").out
    assert not any(word in cli("status").out for word in ("trouble", "paused", "note", "synchronised", "dead"))
    check = cli("status", "--check")
    assert (check.code, check.out, check.err) == (0, "", "")


def test_a_daemon_that_will_not_come_back(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status |= {"returns_after_reboot": False, "returns_after_reboot_why": "no unit\x1b[31m"}
    shown = cli("status", terminal=True, TERM="xterm").out
    assert "\x1b[31mwill NOT come back after a reboot or logout: no unit\\x1b[31m\x1b[0m" in shown


def test_everything_that_is_wrong_is_a_line(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status |= {
        "jobs": {"total": 9, "paused": 1, "failed": 2, "parked": 1}, "skipping": 3, "quarantined": 1, "untold": 9,
        "dead": {"total": 12, "newest_at": "2026-11-29T02:00:00Z"}, "oldest_due_s": 75.0, "warnings": ["disk is full"],
        "services": {"due scan": {"beats": 3, "last_s": 0.1, "error": "boom"}},
    }  # fmt: skip
    shown = cli("status").out
    for text in ("trouble disk is full", "trouble due scan fails: boom", "trouble the oldest due run has been waiting",
                 "trouble 12 dead letters: jobctl dlq ls", "trouble 2 failed: jobctl ls --state failed",
                 "trouble 1 quarantined after too many dead letters: jobctl ls --state quarantined",
                 "trouble 3 skipped again and again: jobctl ls --state skipping",
                 "trouble 1 parked, their schedules cannot be expanded: jobctl ls --state parked",
                 "note    nobody is told of failures of 9 jobs: jobctl edit JOB --notify mail, or notify in its file",
                 "0 ready, 1 scheduled, 12 dead"):  # fmt: skip
        assert text in shown


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("user", "ana: your own jobs"),
        ("root", "ana: jobs of everybody"),
        ("admin", "ana: jobs of everybody, as one of"),
    ],
)
def test_the_systems_daemon_says_as_whom_one_is_served(cli: Cli, daemon: FakeDaemon, role: str, words: str) -> None:
    """An ordinary user is told less: no processes, no services, no sizes."""
    daemon.status |= {"system": True, "caller": {"uid": 1000, "name": "ana", "role": role}}
    daemon.status |= {"runners": [], "runner_pid": None, "services": {}, "database_bytes": None, "standbys": []}
    line = next(line for line in cli("status").out.splitlines() if line.startswith("you "))
    assert line.split(None, 1)[1].startswith(words)
    assert "None" not in cli("doctor").out


def test_pauses_of_the_daemon_and_of_queues(cli: Cli, daemon: FakeDaemon) -> None:
    pause = {"paused": True, "paused_by": "ana", "paused_since": "2026-11-29T01:12:41Z", "paused_why": "moving"}
    daemon.status["paused"] = queue("", **pause)
    daemon.queues = [queue("default"), queue("mail", **pause)]
    shown = cli("status")
    assert "paused  the daemon, by ana 1h00m ago: moving; jobctl daemon resume\n" in shown.out
    assert "paused  queue mail, by ana 1h00m ago: moving; jobctl queue resume mail\n" in shown.out
    assert "default" not in shown.out
    check = cli("status", "--check")
    assert (check.code, check.out.splitlines()) == (0, [
        "paused: the daemon, by ana 1h00m ago: moving; jobctl daemon resume",
        "paused: queue mail, by ana 1h00m ago: moving; jobctl queue resume mail",
    ])  # fmt: skip
    assert len(cli("status", "--check", "--json").json()["notes"]) == 2


def test_what_the_daemon_has_paused_by_itself_is_an_alarm(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.queues = [queue("mail", paused=True, paused_by="jobd", paused_since="2026-11-29T01:12:41Z")]
    check = cli("status", "--check")
    assert (check.code, check.out) == (1, "paused: queue mail, by jobd 1h00m ago; jobctl queue resume mail\n")


def test_a_trial_is_called_one(cli: Cli, daemon: FakeDaemon) -> None:
    assert ", pid 812, of ana\n" in cli("status").out
    daemon.status |= {"system": True, "user": "root"}
    assert ", pid 812, system\n" in cli("status").out
    daemon.status |= {"home": "/tmp/try"}
    assert ", pid 812, trial of root in JOBCTL_HOME /tmp/try\n" in cli("status").out


@pytest.mark.parametrize(
    ("down", "said"),
    [
        ({"from": "2026-11-29T01:01:00Z", "to": "2026-11-29T01:05:00Z", "clean": True},
         "running for 1h12m, after 4m00s without a daemon (02:01 CET to 02:05 CET), pid"),
        ({"from": "2026-11-29T01:01:00Z", "to": "2026-11-29T01:05:30Z", "clean": False},
         "after up to 4m30s without a daemon (last sign of life 02:01:00 CET, back 02:05:30 CET), pid"),
        ({"from": "2026-11-29T01:01:00Z", "to": "2026-11-29T01:01:09Z", "clean": True}, "running for 1h12m, pid"),
        ({"from": "2026-11-27T01:01:00Z", "to": "2026-11-28T02:12:40Z", "clean": True}, "running for 1h12m, pid"),
        (None, "running for 1h12m, pid"),
    ],
)  # fmt: skip
def test_that_there_was_no_daemon(cli: Cli, daemon: FakeDaemon, down: dict[str, Any] | None, said: str) -> None:
    daemon.status["clock"] = {**daemon.status["clock"], "last_down": down}
    assert said in cli("status").out


def test_waiting_retries_are_counted_apart(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status |= {"ready": 5, "retrying": 3}
    assert "2 ready, 3 waiting for a retry, 1 scheduled" in cli("status").out


@pytest.mark.parametrize(
    ("clock", "said"),
    [
        ({"synchronised": None}, "CET\n"),
        ({"synchronised": False}, "CET; not synchronised\n"),
        (
            {"last_step": {"at": "2026-11-29T02:00:00Z", "from": "2026-11-29T04:00:00Z", "to": "2026-11-29T02:00:00Z"}},
            "CET; stepped back by 2h00m 12m41s ago\n",
        ),
    ],
)
def test_the_clock(cli: Cli, daemon: FakeDaemon, clock: dict[str, Any], said: str) -> None:
    daemon.status["clock"] |= clock
    assert said in cli("status").out
    daemon.status["clock"] |= {"synchronised": True, "last_step": None}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"warnings": ["the service claim is stalled"]}, "the service claim is stalled"),
        ({"state": "stopping"}, "the daemon is stopping"),
        ({"oldest_due_s": 61.0}, "the oldest due run has been waiting for 1m01s"),
        ({"jobs": {"total": 1, "paused": 0, "failed": 0, "parked": 1}}, "1 parked"),
        (
            {"dead": {"total": 3, "newest_at": "2026-11-29T02:00:00Z"}},
            "2 new dead letters in 24h, of 3 in all, the newest 12m41s ago: jobctl dlq ls --since 24h",
        ),
        ({"quarantined": 1}, "1 quarantined after too many dead letters: jobctl ls --state quarantined"),
        ({"skipping": 2}, "2 skipped again and again: jobctl ls --state skipping"),
        ({"services": {"claim": {"beats": 3, "last_s": 0.1, "error": "boom"}}}, "claim fails: boom"),
    ],
)
def test_a_monitor_is_told_a_line_for_each_trouble(
    cli: Cli, daemon: FakeDaemon, changed: dict[str, Any], said: str
) -> None:
    daemon.status |= changed
    daemon.runs += [dead(number, daemon.jobs[0]) for number in (90, 91)]
    check = cli("status", "--check")
    assert (check.code, check.out.count("\n"), said in check.out) == (1, 1, True)
    found = cli("status", "--check", "--json")
    assert (found.code, len(found.json()["troubles"]), found.json()["pid"]) == (1, 1, 812)


@pytest.mark.parametrize(
    "changed",
    [
        {"jobs": {"total": 1, "paused": 1, "failed": 1, "parked": 0}},
        {"oldest_due_s": 60.0},
        {"dead": {"total": 3, "newest_at": "2026-11-28T02:00:00Z"}},
        {"untold": 1},
    ],
)
def test_what_is_old_or_meant_is_no_alarm(cli: Cli, daemon: FakeDaemon, changed: dict[str, Any]) -> None:
    daemon.status |= changed
    assert cli("status", "--check").code == 0


@pytest.mark.parametrize(("new", "code"), [("5m", 0), ("12m41s", 0), ("13m", 1), ("1h", 1)])
def test_how_long_a_dead_letter_is_new(cli: Cli, daemon: FakeDaemon, new: str, code: int) -> None:
    daemon.status["dead"] = {"total": 1, "newest_at": "2026-11-29T02:00:00Z"}
    assert cli("status", "--check", "--new", new).code == code


def test_a_warning_of_a_service_is_told_once(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status |= {"warnings": ["claim fails: boom"],
                      "services": {"claim": {"beats": 3, "last_s": 0.1, "error": "boom"}}}  # fmt: skip
    assert cli("status").out.count("boom") == 1


@pytest.mark.parametrize(
    ("warnings", "lines"), [([], 1), (["dispatch has been inside one pass for 40 s"], 1), (["disk is full"], 2)]
)
def test_a_check_asks_for_a_write_and_tells_what_is_in_its_way_once(
    cli: Cli, daemon: FakeDaemon, warnings: list[str], lines: int
) -> None:
    why = "dispatch has been inside one pass for 41 s"
    problem = {"code": "unavailable", "title": why, "detail": why, "hint": ""}
    daemon.override("GET", "/v1/health/ready", Answer(503, problem))
    daemon.status |= {"warnings": warnings}
    check = cli("status", "--check")
    assert check.code == 1
    assert len(check.out.splitlines()) == lines
    assert "dispatch has been inside one pass for 4" in check.out


def test_who_stands_by_is_a_line(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status |= {"standbys": [4711, 4712]}
    shown = cli("status").out
    assert "standby pid 4711 takes over when this one is gone" in shown
    assert "pid 4712" in shown
    assert (cli("status", "--check").code, cli("status", "--check").out) == (0, "")
