"""What goes wrong: what, why, what to do, and the exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobctl.cli import main
from jobctl.cli.verbs import VERBS
from jobctl.errors import BY_CODE, from_code
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, FakeDaemon, problem


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_error_of_the_daemon_has_its_exit_code(cli: Cli, daemon: FakeDaemon, code: str) -> None:
    kind = BY_CODE[code]
    daemon.override("GET", "/v1/jobs", problem(kind.http_status, code, "the message", "the hint"))
    plain = cli("ls")
    assert plain.code == kind.exit_code
    assert plain.err == "error: the message\n  try:  the hint\n"
    found = cli("ls", "--json")
    assert (found.code, found.out) == (kind.exit_code, "")
    assert found.error() == {"code": code, "message": "the message", "hint": "the hint"}


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (("lss",), 2, "did you mean ls?"),
        (("daemon",), 2, "run, start, stop, status, log, pause, resume"),
        (("dlq",), 2, "ls, show, replay, discard"),
        (("dlq", "replay"), 2, "which dead letters?"),
        (("dlq", "discard"), 2, "which dead letters?"),
        (("dlq", "replay", "90", "--all"), 2, "say which, or --all"),
        (("dlq", "replay", "90", "--class", "oom"), 2, "runs or filters"),
        (("dlq", "replay", "backup", "sync"), 2, "or one job"),
        (("dlq", "replay", "90", "--current", "--as-recorded"), 2, "exclude each other"),
        (("dlq", "replay", "90", "--pace", "5"), 2, "--pace"),
        (("dlq", "replay", "backup", "--edit"), 2, "--edit is for one run"),
        (("dlq", "ls", "--class", "nonsense"), 2, "'nonsense' is none of exit_code"),
        (("dlq", "ls", "--runs", "--groups"), 2, "exclude each other"),
        (("dlq", "ls", "bakcup"), 3, "closest: backup"),
        (("dlq", "show", "backup"), 3, "backup has no dead letters"),
        (("dlq", "show", "999"), 3, "there is no run 999"),
        (("dlq", "show", "102"), 5, "run 102 is no dead letter: ok"),
        (("dlq", "discard", "102"), 3, "102 is no dead letter"),
        (("dlq", "replay", "102"), 3, "run 102 was not replayed"),
        (("queue", "set", "mail"), 2, "set what?"),
        (("queue", "set", "mail", "--concurrency", "0"), 2, "no number from 1 on"),
        (("queue", "set", "mail", "--concurrency", "-1"), 2, "no number from 1 on"),
        (("queue", "resume", "default"), 5, "is not paused"),
        (("skip",), 2, "which jobs?"),
        (("skip", "backup", "-n", "0"), 2, "-n"),
        (("retry", "103"), 5, "is running"),
        (("retry", "hand"), 5, "nothing to retry"),
        (("retry", "101", "102", "--key", "k"), 2, "--key is for one run"),
        (("retry", "101", "103"), 7, "failed: 103"),
        (("status", "--check", "--new", "soon"), 2, "--new"),
        (("daemon", "strat"), 2, "did you mean start?"),
        (("add", "x", "--repeats", "3", "--", "true"), 2, "no such option: --repeats"),
        (("ls", "--output", "xml"), 2, "is none of table"),
        (("show",), 2, "missing argument"),
        (("runs", "--limit", "no"), 2, "not a whole number"),
        (("add", "x", "--every", "1m"), 2, "there is no command"),
        (("add", "x", "y", "--", "true"), 2, "'y' is not expected here"),
        (("add", "x", "--cron", "61 * * * *", "--", "true"), 2, "minute"),
        (("add", "x", "--cron", "@every 10m", "--", "true"), 2, "--every 10m"),
        (("add", "x", "--cron", "@reboot", "--", "true"), 2, "--on-boot"),
        (("add", "x", "--cron", "@daily", "--every", "5m", "--", "true"), 2, "--cron and --every"),
        (("add", "x", "--at", "17:00", "--in", "5m", "--", "true"), 2, "--at and --in"),
        (("add", "x", "--in", "5", "--", "true"), 2, "5m for minutes"),
        (("add", "x", "--env", "NOT_SET_HERE", "--", "true"), 2, "not set here"),
        (("add", "x", "--shell", "true", "--", "true"), 2, "two commands"),
        (("add", "x", "--line", "* * * * * true", "--", "true"), 2, "has a command already"),
        (("add", "x", "--misfire", "never", "--", "true"), 2, "once, all, skip"),
        (("run",), 2, "run what?"),
        (("run", "backup", "--cwd", "/tmp"), 2, "--cwd is not for one run of backup"),
        (("run", "backup", "--", "true"), 2, "-- COMMAND is for a command of its own"),
        (("pause",), 2, "which jobs?"),
        (("pause", "backup", "--all"), 2, "names or filters"),
        (("rm", "backup"), 2, "say --yes"),
        (("rm", "backup", "--runs", "now", "--yes"), 2, "--runs is cancel"),
        (("log", "backup", "--tail", "many"), 2, "--tail 'many' is no number"),
        (("log", "backup", "--tail", "5", "--offset", "5"), 2, "leave one of them out"),
        (("show", "x", "--run", "--job"), 2, "exclude each other"),
        (("next", "61 * * * *"), 2, "61"),
        (("next", "@every 10m"), 2, "every 10m"),
        (("next", "backup", "--tz", "UTC"), 2, "--tz is for expressions"),
        (("explain", "0 0 * * FOO"), 2, "FOO"),
        (("completion", "tcsh"), 2, "bash, zsh or fish"),
        (("show", "bakcup"), 3, "closest: backup"),
        (("why", "nothing-like-it"), 3, "see jobctl ls"),
        (("log", "hand"), 3, "has not run yet"),
        (("log", "999"), 3, "there is no run 999\n  try:  see jobctl runs"),
        (("wait", "999"), 3, "there is no run 999"),
        (("cancel", "999"), 3, "there is no run 999"),
        (("kill", "999"), 3, "there is no run 999"),
        (("cancel", "hand"), 5, "no active run"),
        (("cancel", "101"), 5, "is over"),
        (("wait", "103", "--timeout", "1s"), 124, ""),
        (("cancel", "103", "101"), 7, "failed: 101"),
        (("status", "--check"), 1, ""),
    ],
    ids=lambda value: "-".join(value)[:60] if isinstance(value, tuple) else None,
)
def test_the_table_of_exit_codes(cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...], code: int, said: str) -> None:
    daemon.status["warnings"] = ["something is wrong"]
    cli.step_ms = 600
    result = cli(*argv)
    assert (result.code, said in result.err) == (code, True), result


@pytest.mark.parametrize(
    "argv",
    [
        ("lss", "--json"),
        ("ls", "--json", "--nonsense"),
        ("add", "x", "--json"),
        ("show", "none", "-o", "json"),
        ("--json", "lss"),
    ],
)
def test_with_json_errors_are_json_too(cli: Cli, argv: tuple[str, ...]) -> None:
    result = cli(*argv)
    assert set(result.error()) == {"code", "message", "hint"}
    assert result.out == ""


def test_json_behind_the_dashes_belongs_to_the_command(cli: Cli) -> None:
    assert cli("add", "x", "--bad", "--", "cmd", "--json").err.startswith("error: ")


def test_without_a_daemon(alone: Cli) -> None:
    for argv in (("ls",), ("status",), ("show", "x"), ("add", "x", "--no-start", "--", "true"), ()):
        result = alone(*argv)
        assert result.code == 4, argv
        assert "there is no socket" in result.err
        assert result.err.rstrip().endswith("jobctl daemon start")


def test_a_named_socket_starts_nothing(alone: Cli, tmp_path: Path) -> None:
    assert alone("add", "x", "--", "true", JOBCTL_SOCKET=str(tmp_path / "none")).code == 4


def test_daemon_status_without_a_daemon_is_still_json(alone: Cli) -> None:
    result = alone("daemon", "status", "--json")
    assert result.code == 4
    assert result.json() == {"pid": None, "runner_pid": None, "version": None, "state": "stopped", "uptime_s": None}


def test_another_protocol(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.protocol = "7"
    assert cli("ls").code == 8


def test_a_bug_is_one_line(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/jobs", Answer(200, {"schema": 1, "items": [{"nonsense": 1}], "next": None}))
    result = cli("ls")
    assert result.code == 70
    assert result.err.startswith("error: this is a bug of jobctl: KeyError")
    assert "Traceback" not in result.err
    with pytest.raises(KeyError):
        cli("ls", JOBCTL_DEBUG="1")


def test_interrupted(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "_run", interrupt)
    assert cli("ls").code == 130


def test_a_reader_that_goes_away_is_not_told(daemon: FakeDaemon) -> None:
    program = "from jobctl.cli.main import main; main()"
    script = f'exec 2>&1; {sys.executable} -c "{program}" ls | true'
    environ = os.environ | {"JOBCTL_SOCKET": daemon.path}
    done = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("run", "code"),
    [
        ({"state": "succeeded"}, 0),
        ({"state": "failed", "class": "exit_code", "exit_code": 7}, 7),
        ({"state": "failed", "class": "signal", "signal": 9}, 137),
        ({"state": "failed", "class": "timed_out", "signal": 15}, 124),
        ({"state": "failed", "class": "lost"}, 1),
        ({"state": "failed", "class": "spawn_error", "reason": "it …: ENOENT: program x: No such file"}, 127),
        ({"state": "failed", "class": "spawn_error", "reason": "it …: EACCES: program x: Permission denied"}, 126),
        ({"state": "failed", "class": "spawn_error", "reason": "it …: ENOENT: folder /x: No such file"}, 126),
        ({"state": "dead", "class": "exit_code", "exit_code": 7}, 7),
        ({"state": "dead", "class": "timed_out", "signal": 15}, 124),
        ({"state": "dead", "class": "spawn_error", "reason": "it …: ENOENT: program x: No such file"}, 127),
        ({"state": "discarded", "class": "exit_code", "exit_code": 7}, 1),
        ({"state": "superseded"}, 1),
        ({"state": "cancelled", "signal": 15}, 1),
        ({"state": "skipped"}, 1),
    ],
)
def test_the_code_of_a_run(run: dict[str, object], code: int) -> None:
    assert main.code_of_run(run) == code


def test_all_errors_keep_the_table_of_the_api() -> None:
    assert {from_code(code, "").exit_code for code in BY_CODE} <= {1, 2, 3, 4, 5, 6, 8, 9, 70}
    assert len(VERBS) == len({verb.words for verb in VERBS})


def test_json_errors_are_one_line_of_json(cli: Cli) -> None:
    assert json.loads(cli("show", "none", "--json").err)["error"]["code"] == "not_found"


def test_an_event_kind_that_does_not_exist(cli: Cli) -> None:
    refused = cli("events", "--kind", "run.failed,nonsense")
    assert (refused.code, "'nonsense' is none of job, job.created" in refused.err) == (2, True)
    assert cli("events", "--kind", "run.failed,job").code == 0


@pytest.mark.parametrize("argv", [("add", "--cron"), ("export", "crontab", "--to"), ("list", "--state")])
def test_a_usage_hint_names_the_verb(cli: Cli, argv: tuple[str, ...]) -> None:
    named = {"list": "ls", "export": "export crontab"}.get(argv[0], argv[0])
    assert f"see jobctl {named} --help" in cli(*argv).err


def test_a_directory_that_was_removed_under_somebody_is_named(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = cli("run", "--", "true")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: the directory that you are in was removed\n  try:  cd to one that is there\n"
