"""Status on one screen: what comes first, and what is left out where there is no room."""

from typing import Any

import pytest

from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon, dead, queue, run

SCREEN = {"TERM": "xterm", "COLUMNS": "80", "LINES": "24", "NO_COLOR": "1"}


def labels(text: str) -> list[str]:
    """The labels of its lines, each once, in their order."""
    return list(dict.fromkeys(line.split(" ")[0] for line in text.splitlines() if not line.startswith(" ")))


def trouble(daemon: FakeDaemon, warnings: int) -> None:
    daemon.status |= {
        "warnings": [f"the disk number {number} has less than 64 MB left, and no job is started" for number in
                     range(warnings)],
        "dead": {"total": 9, "newest_at": "2026-11-29T02:00:00Z"}, "running": 1, "returns_after_reboot": False,
        "system": True, "socket": "/run/jobctl/jobd.sock",
        "caller": {"uid": 0, "name": "root", "role": "root"}, "untold": 3, "standbys": [7],
        "syslog": {"path": "/dev/log", "lines": 3, "dropped": 0, "why": None},
    }  # fmt: skip
    daemon.runs += [dead(90 + number, daemon.jobs[0], fingerprint=f"f{number}") for number in range(8)]
    daemon.queues = [queue("mail", paused=True, paused_by="ana", paused_since="2026-11-29T01:12:41Z")]


def test_trouble_comes_first_then_what_runs_what_is_next_and_what_is_dead(cli: Cli, daemon: FakeDaemon) -> None:
    trouble(daemon, 1)
    shown = cli("status").out
    assert labels(shown)[:7] == ["jobd", "reboot", "trouble", "paused", "running", "next", "dead"]
    assert "running sync: run 103 for 2m41s, usually 41s; slower than usual\n" in shown
    assert "next    Mon 03:00 CET, in 23h47m: backup\n" in shown
    assert "dead    backup: 1 × exit 1: disk is full, the newest 11m59s ago\n" in shown


@pytest.mark.parametrize("warnings", [0, 1, 12, 40])
@pytest.mark.parametrize(("columns", "rows"), [("80", 24), ("60", 15), ("40", 10)])
def test_it_is_as_long_as_the_terminal_is_high(
    cli: Cli, daemon: FakeDaemon, warnings: int, columns: str, rows: int
) -> None:
    trouble(daemon, warnings)
    shown = cli("status", terminal=True, **(SCREEN | {"COLUMNS": columns, "LINES": str(rows)})).out
    lines = shown.splitlines()
    assert len(lines) < rows  # and one for the prompt
    assert all(len(line) <= int(columns) for line in lines)
    assert lines[0].startswith("jobd")
    assert "will NOT come back" in shown
    left_out = len(cli("status", "-o", "wide", terminal=True, **(SCREEN | {"COLUMNS": columns})).out.splitlines())
    assert f"{left_out - len(lines) + 1} lines: jobctl status -o wide" in " ".join(shown.split())


def test_what_tells_least_goes_first(cli: Cli, daemon: FakeDaemon) -> None:
    trouble(daemon, 6)
    shown = cli("status", terminal=True, **SCREEN).out
    assert set(labels(shown)) >= {"jobd", "reboot", "trouble", "paused", "running", "next", "dead", "runs", "more"}
    assert not set(labels(shown)) & {"syslog", "standby", "note"}


def test_in_a_pipe_and_when_asked_for_all_nothing_is_left_out(cli: Cli, daemon: FakeDaemon) -> None:
    trouble(daemon, 40)
    piped = cli("status").out
    assert "more    " not in piped
    assert set(labels(piped)) >= {"syslog", "standby", "note", "zone", "socket", "clock", "starts"}
    wide = cli("status", "-o", "wide", terminal=True, **SCREEN).out
    assert set(labels(wide)) == set(labels(piped))


def test_more_run_than_are_shown(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.status["running"] = 9
    daemon.runs = [run(200 + number, daemon.jobs[1], state="running", finished_at=None) for number in range(9)]
    shown = cli("status").out
    assert shown.count(": run 20") == 5
    assert "        and 4 more: jobctl runs --state running\n" in shown


@pytest.mark.parametrize("path", ["/v1/jobs/window", "/v1/runs/window", "/v1/dead/groups"])
def test_what_a_daemon_cannot_tell_is_left_out(cli: Cli, daemon: FakeDaemon, path: str) -> None:
    from unit.client.fake_daemon import problem

    trouble(daemon, 1)
    daemon.override("GET", path, lambda asked, match: problem(404, "not_found", "there is nothing at this path"))
    result = cli("status")
    assert result.code == 0
    assert "next    Mon 03:00 CET, in 23h47m" in result.out


def test_what_jobs_print_and_are_called_reaches_no_terminal(cli: Cli, daemon: FakeDaemon) -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b[2J"
    daemon.status |= {"running": 1, "dead": {"total": 1, "newest_at": "2026-11-29T02:00:00Z"}, "warnings": [evil]}
    daemon.jobs[0]["name"] = evil
    daemon.runs = [dead(90, daemon.jobs[0], error=evil), run(91, daemon.jobs[0], state="running", job=evil)]
    shown = cli("status", terminal=True, **SCREEN).raw
    assert b"\x1b" not in shown
    assert b"\x07" not in shown


def lines_of(cli: Cli, *words: str, **environ: Any) -> list[str]:
    return cli(*words, **environ).out.splitlines()


def test_the_same_in_json_as_ever(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("status", "--json").json() == daemon.status
    assert lines_of(cli, "status", "-o", "name") == ["running"]
