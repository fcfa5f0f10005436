"""`--json` on every verb: valid JSON on stdout, and nothing else there."""

import json

import pytest

from jobctl.cli.verbs import VERBS
from unit.cli.conftest import Cli
from unit.client.fake_daemon import PREVIEW, FakeDaemon, dead, queue

COMMANDS: dict[str, list[str]] = {
    "add": ["x", "--cron", "0 3 * * *", "--", "true"],
    "run": ["backup"],
    "show": ["backup"],
    "pause": ["backup"],
    "resume": ["backup"],
    "rm": ["hand", "--yes"],
    "log": ["101"],
    "wait": ["102"],
    "kill": ["103"],
    "cancel": ["103"],
    "why": ["backup"],
    "next": ["0 3 * * *"],
    "explain": ["0 3 * * *"],
    "completion": ["bash"],
    "crontab": ["-n", "-"],
    "help": ["time"],
    "edit": ["backup", "--note", "x"],
    "skip": ["backup"],
    "retry": ["101"],
    "dlq show": ["90"],
    "dlq replay": ["90"],
    "dlq discard": ["90"],
    "queue set": ["mail", "--concurrency", "2"],
    "queue pause": ["mail"],
    "queue resume": ["held"],
    "owner rename": ["ada", "lovelace"],
}
#: They replace this process, wait for it to end, or are tested where crontabs and files of jobs are.
ELSEWHERE = {
    "apply",
    "diff",
    "daemon run",
    "daemon start",
    "daemon stop",
    "import crontab",
    "export crontab",
    "backup",
    "restore",
    "ui",
}


@pytest.mark.parametrize("words", [verb.words for verb in VERBS if verb.words not in ELSEWHERE])
@pytest.mark.parametrize("form", [["--json"], ["-o", "json"], ["-o", "ndjson"]])
def test_json_of_a_verb(cli: Cli, daemon: FakeDaemon, words: str, form: list[str]) -> None:
    daemon.events = [
        {"id": 1, "at": "2026-11-29T02:00:00Z", "kind": "job.created", "job_id": 1, "run_id": None, "data": {}}
    ]
    daemon.runs.append(dead(90, daemon.jobs[0]))
    daemon.queues.append(queue("held", paused=True))
    result = cli(*words.split(), *form, *COMMANDS.get(words, []))
    assert result.code in (0, 1), result
    if form[-1] == "ndjson":
        assert all(isinstance(json.loads(line), dict) for line in result.out.splitlines())
    else:
        result.json()


def test_lists_have_one_shape(cli: Cli) -> None:
    lists = (["ls"], ["runs"], ["runs", "backup"], ["events"], ["why", "backup"], ["next", "@daily"], ["doctor"],
             ["dlq", "ls"], ["dlq", "ls", "--groups"], ["queue", "ls"])  # fmt: skip
    for argv in lists:
        found = cli(*argv, "--json").json()
        more = {"words", "timezone", "transitions", "warnings"} if argv[0] == "next" else set()
        assert (set(found), found["schema"], found["next"]) == ({"schema", "items", "next"} | more, 1, None), argv


def test_one_thing_is_the_object_itself(cli: Cli) -> None:
    assert cli("show", "backup", "--json").json()["name"] == "backup"
    assert cli("show", "101", "--json").json()["key"]
    assert cli("add", "x", "--json", "--", "true").json()["target"] == {"command": ["true"]}
    assert cli("run", "backup", "--json").json()["trigger"] == "manual"
    assert cli("run", "backup", "--wait", "--json").json()["state"] == "succeeded"
    assert cli("pause", "backup", "--json").json()["paused"] is True
    assert len(cli("resume", "backup", "sync", "--json").json()["items"]) == 2


def test_the_shape_of_daemon_status(cli: Cli) -> None:
    found = cli("daemon", "status", "--json").json()
    assert {"pid", "runner_pid", "version", "state", "uptime_s"} <= set(found)


def test_next_is_the_preview_of_the_api(alone: Cli, cli: Cli) -> None:
    found = alone("next", "@hourly", "--tz", "Europe/Berlin", "--json", "-n", "2").json()
    assert [set(item) for item in found["items"]] == [{"at", "local", "zone", "note"}] * 2
    assert (found["words"], found["timezone"]) == ("every hour", "Europe/Berlin")
    assert [set(change) for change in found["transitions"]] == [
        {"at", "local", "kind", "offset_before", "offset_after", "fires", "fires_that_day", "skipped", "repeated",
         "words"},
    ] * 2  # fmt: skip
    assert cli("next", "backup", "--json").json() == {**PREVIEW, "next": None}
    lines = cli("next", "backup", "-o", "ndjson").out.splitlines()
    assert [json.loads(line)["at"] for line in lines] == [item["at"] for item in PREVIEW["items"]]


def test_ids_only(cli: Cli) -> None:
    assert cli("add", "x", "-q", "--", "true").out == "4\n"
    assert cli("run", "x", "-q").out == "104\n"


def test_a_log_as_json(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.logs[101] = b"\xff\x1b[31m\n"
    found = cli("log", "101", "--json").json()
    assert (found["text"], found["size"], found["complete"]) == ("\N{REPLACEMENT CHARACTER}\x1b[31m\n", 7, True)
    follow = cli("log", "101", "-f", "--json").out
    assert [json.loads(line)["run_id"] for line in follow.splitlines()] == [101]


def test_json_to_a_terminal_has_no_teeth(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["note"] = "\x1b]52;c;x\x07\u202e\x9b日本"
    shown = cli("ls", "--json", terminal=True).out
    assert json.loads(shown)["items"][0]["note"] == daemon.jobs[0]["note"]
    assert not any(char in shown for char in "\x1b\x07\u202e\x9b")
