"""Completion: what is offered, how fast, and that the scripts are scripts."""

import socket
import subprocess
import time
from pathlib import Path
from shutil import which

import pytest

from jobctl.cli.completion import SCRIPTS
from jobctl.cli.verbs import GROUPS, VERBS
from unit.cli.conftest import Cli
from unit.client.fake_daemon import FakeDaemon, dead, job, queue


def offered(cli: Cli, *words: str) -> list[str]:
    result = cli("__complete", *words)
    assert (result.code, result.err) == (0, "")
    return [line.split("\t")[0] for line in result.out.splitlines() if line != "\t"]


def test_verbs_first(cli: Cli) -> None:
    plain = [verb.words for verb in VERBS if " " not in verb.words]
    assert offered(cli, "") == [*plain, *GROUPS]
    assert offered(cli, "re") == ["resume", "retry", "restore"]
    assert offered(cli, "daemon", "st") == ["start", "stop", "status"]
    assert offered(cli, "dlq", "") == ["ls", "show", "replay", "discard"]
    assert offered(cli, "import", "") == ["crontab"]


def test_options_of_the_verb(cli: Cli) -> None:
    assert "--misfire-within" in offered(cli, "add", "--mis")
    assert offered(cli, "ls", "--outp") == ["--output"]


def test_values_of_options(cli: Cli) -> None:
    assert offered(cli, "ls", "-o", "j") == ["json"]
    assert offered(cli, "add", "x", "--overlap", "") == ["allow", "skip", "queue", "replace"]
    assert "spawn_error" in offered(cli, "dlq", "ls", "--class", "s")
    assert "quarantined" in offered(cli, "resume", "--state", "")
    assert offered(cli, "dlq", "ls", "--runs", "") == ["backup", "hand", "sync"]


def test_what_has_no_name_of_its_own(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.append(dead(90, daemon.jobs[0], error="disk\x1b[2J is full"))
    daemon.queues.append(queue("mail"))
    assert cli("__complete", "dlq", "replay", "").out == "90\tbackup: disk\\x1b[2J is full\n"
    assert offered(cli, "queue", "pause", "m") == ["mail"]
    assert offered(cli, "add", "x", "--queue", "") == ["default", "mail"]
    assert offered(cli, "add", "x", "--after", "ba") == ["backup"]


def test_names_of_jobs(cli: Cli) -> None:
    assert offered(cli, "show", "") == ["backup", "hand", "sync"]
    assert offered(cli, "log", "-f", "ba") == ["backup"]
    assert offered(cli, "logs", "s") == ["sync"]


def test_the_command_belongs_to_the_shell(cli: Cli) -> None:
    assert offered(cli, "run", "--", "ba") == []


def test_where_a_name_is_expected_and_there_is_none_no_file_is_right(cli: Cli, alone: Cli) -> None:
    for words in (("dlq", "replay", ""), ("show", "nosuch"), ("queue", "pause", "x")):
        assert cli("__complete", *words).out == "\t\n", words
    assert alone("__complete", "show", "").out == "\t\n"


def test_where_a_file_may_stand_the_shell_offers_its_own(cli: Cli) -> None:
    for words in (("validate", ""), ("run", "--", ""), ("add", "x", "--env-file", ""), ("run", "--cwd", "")):
        assert cli("__complete", *words).out == "", words


def test_shells_and_topics(cli: Cli) -> None:
    assert offered(cli, "completion", "") == ["bash", "zsh", "fish"]
    assert "exit-codes" in offered(cli, "help", "")


def test_names_that_a_shell_would_trip_over_are_left_out(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs = [job(1, "good"), job(2, "bad\tname"), job(3, "\x1b[31m")]
    assert offered(cli, "show", "") == ["good"]


def test_without_a_daemon_nothing_is_offered_and_none_is_started(alone: Cli, tmp_path: Path) -> None:
    assert offered(alone, "show", "") == []
    assert not (tmp_path / "home").exists()


def test_a_mute_daemon_costs_less_than_a_second(alone: Cli, tmp_path: Path) -> None:
    path = str(tmp_path / "mute.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        alone.environ["JOBCTL_SOCKET"] = path
        begin = time.monotonic()
        assert offered(alone, "show", "") == []
        assert time.monotonic() - begin < 1


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_of_a_shell(cli: Cli, shell: str) -> None:
    result = cli("completion", shell)
    assert result.out == SCRIPTS[shell]
    program = which(shell)
    if program is None:
        assert "__complete" in result.out  # the shell is not here to check its syntax
        return
    checked = subprocess.run([program, "-n"], input=result.out, text=True, capture_output=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_value_may_stand_behind_an_equals_sign(cli: Cli) -> None:
    assert offered(cli, "ls", "--state=qu") == ["--state=quarantined"]
    assert offered(cli, "ls", "--state", "=", "qu") == ["quarantined"]  # the three words of bash
    assert "ok" in offered(cli, "ls", "--state", "=")
    assert offered(cli, "run", "backup", "--", "--state=qu") == []


def test_the_states_of_runs_are_others(cli: Cli) -> None:
    assert "succeeded" in cli("__complete", "runs", "--state", "").out
    assert "parked" in cli("__complete", "ls", "--state", "").out
