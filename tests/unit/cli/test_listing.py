"""Lists and facts as people see them, and as programs do."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli import checks
from jobctl.reading.width import width
from unit.cli.conftest import Cli
from unit.client.fake_daemon import PREVIEW, Answer, FakeDaemon, attempt, dead, job, queue, run

HOSTILE = ["\x1b]52;c;aGk=\x07", "[/x]", "日本語のジョブ", "a\u202eb", "x" * 300, "line\nbreak", "\x9b2J"]


def test_ls_piped(cli: Cli) -> None:
    result = cli("ls")
    assert result.err == ""
    assert result.out.splitlines() == [
        "STATE    NAME    SCHEDULE      NEXT                      LAST",
        "FAILED   backup  0 3 * * *     in 23h47m, Mon 03:00 CET  exit 1, 12m00s ago",
        "new      hand    by hand       -                         -",
        "running  sync    */15 * * * *  in 23h47m, Mon 03:00 CET  -",
    ]


def test_ls_says_whose_jobs_are_where_they_are_of_several(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs = [job(1, "backup"), job(2, "backup", owner="bob")]
    lines = cli("ls").out.splitlines()
    assert lines[0].split()[:3] == ["STATE", "NAME", "OWNER"]
    assert [line.split()[2] for line in lines[1:]] == ["ana", "bob"]


def test_ls_on_a_terminal_has_colour_and_a_sum(cli: Cli) -> None:
    result = cli("ls", terminal=True, COLUMNS="100", TERM="xterm")
    assert "\x1b[31mFAILED\x1b[0m" in result.out
    assert result.err == "3 jobs: 1 failed, 1 running\n"


def test_ls_marks_what_is_held_and_what_died(cli: Cli, daemon: FakeDaemon) -> None:
    last = daemon.jobs[0]["last_run"] | {"state": "dead"}
    held = {"state": "paused", "paused": True, "suspended_by": "job", "paused_since": "2026-11-29T01:12:41Z"}
    daemon.jobs = [
        job(1, "bad", state="failed", last_run=last, dead=3, skipping=4),
        job(
            2,
            "mail",
            queue="smtp",
            **HELD | {"suspended_by": "queue", "suspended_why": "the queue smtp was paused by root: a new disk"},
        ),
        job(3, "sick", quarantined=True, paused_why="5 dead letters in a row", dead=5, next_run_at=None, **held),
        job(4, "some", **HELD | {"suspended_until": "2026-11-29T05:00:00Z"}),
    ]
    assert [line.split("  ")[-1].strip() for line in cli("ls").out.splitlines()[1:]] == [
        "dead: exit 1, 12m00s ago, 3 dead",
        "held: the queue smtp was paused by root: a new disk; jobctl queue resume smtp",
        "quarantined 1h00m ago: 5 dead letters in a row; jobctl resume sick",
        "held: the daemon was paused by root: a new disk, until 06:00 CET; jobctl daemon resume",
    ]  # fmt: skip
    assert cli("ls").out.splitlines()[3].startswith("QUARANTINED  sick")
    assert "8 dead letters, 1 skipping" in cli("ls", terminal=True).err
    for state, names in (("dead", "bad\nsick\n"), ("quarantined", "sick\n"), ("skipping", "bad\n")):
        assert cli("ls", "--state", state, "-o", "name").out == names


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_when_it_is_not_wanted(cli: Cli, environ: dict[str, str]) -> None:
    assert "\x1b" not in cli("ls", terminal=True, **environ).out


def test_colour_is_forced_or_refused_by_the_option(cli: Cli) -> None:
    assert "\x1b[31m" in cli("ls", "--color", "always").out
    assert "\x1b" not in cli("ls", "--color", "never", terminal=True, TERM="xterm").out
    assert cli("ls", "--color", "blue").code == 2


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
@pytest.mark.parametrize("verb", ["ls", "runs"])
def test_a_narrow_terminal_is_not_overrun(cli: Cli, daemon: FakeDaemon, verb: str, columns: int) -> None:
    daemon.jobs[0]["name"] = daemon.runs[0]["job"] = "a-very-long-name-that-somebody-gave-to-it"
    shown = cli(verb, terminal=True, COLUMNS=str(columns), NO_COLOR="1").out
    assert all(width(line) <= columns for line in shown.splitlines())
    assert "exit 1" in shown


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
@pytest.mark.parametrize("argv", [("ls",), ("ls", "-o", "wide"), ("show", "1"), ("runs",), ("show", "101", "--run"),
                                  ("why", "1"), ("pause", "1"), ("rm", "1", "--yes"), ("log", "1"), ("dlq", "ls"),
                                  ("dlq", "ls", "--runs", "-o", "wide"), ("dlq", "show", "90"), ("queue", "ls"),
                                  ("retry", "90"), ("skip", "1"), ("resume", "1"), ("status",), ("dlq", "replay", "90"),
                                  ("__complete", "dlq", "show", "")])  # fmt: skip
def test_hostile_names_do_nothing(cli: Cli, daemon: FakeDaemon, name: str, argv: tuple[str, ...]) -> None:
    daemon.jobs = [job(1, name, note=name, target={"shell": name}, error=name, tags=[name], env={"A": name})]
    daemon.runs.append(dead(90, daemon.jobs[0], key=name, fingerprint=name))
    for item in daemon.runs:
        item |= {"job": name, "job_id": 1, "reason": name, "error": name}
    daemon.logs[90] = name.encode()
    daemon.queues = [queue(name, paused=True, paused_why=name, paused_by=name)]
    daemon.status |= {"warnings": [name], "paused": queue("", paused=True, paused_why=name)}
    daemon.ledger = [
        {"from": "2026-11-29T02:00:00Z", "to": "2026-11-29T02:00:00Z", "count": 1, "run_id": None, "reason": "paused",
         "detail": name, "recorded_at": "2026-11-29T02:00:00Z"},
    ]  # fmt: skip
    for terminal in (False, True):
        result = cli(*argv, terminal=terminal, NO_COLOR="1", COLUMNS="80")
        shown = result.out + result.err
        assert result.code in (0, 3), shown
        assert not any(char in shown for char in "\x1b\x07\x9b\u202e")
        assert "line\nbreak" not in shown or argv[:2] == ("dlq", "show")  # a log has lines


def test_names_for_scripts(cli: Cli) -> None:
    assert cli("ls", "-o", "name").out == "backup\nhand\nsync\n"
    assert cli("ls", "-o", "name", "--tag", "nightly").out == "backup\n"
    assert cli("runs", "-o", "name").out == "103\n102\n101\n"


def test_csv(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["note"] = 'say "hi", then\ngo'
    rows = list(csv.DictReader(io.StringIO(cli("ls", "-o", "csv").out, newline="")))
    assert rows[0]["note"] == 'say "hi", then\ngo'
    assert (rows[0]["last_run.exit_code"], rows[1]["next_run_at"]) == ("1", "")


def test_an_empty_list_says_how_to_begin(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs = []
    result = cli("ls")
    assert (result.code, result.out) == (0, "")
    assert "jobctl add" in result.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_no_encoding_makes_printing_fail(cli: Cli, daemon: FakeDaemon, encoding: str) -> None:
    daemon.jobs[0]["name"] = "日本語 é \udcff"
    for argv in (("ls",), ("ls", "--json"), ("ls", "-o", "name"), ("show", "1")):
        assert cli(*argv, encoding=encoding).code == 0
        assert cli(*argv, encoding=encoding, terminal=True).code == 0


def test_show_a_job(cli: Cli) -> None:
    shown = cli("show", "backup").out
    assert shown.startswith("backup   FAILED   id 1\n")
    for text in ("0 3 * * *   every day at 03:00, Europe/Berlin", "Mon 30 Nov 2026 03:00:00 CET, in 23h47m",
                 "run 101  exit 1 after 41s", "overlap skip", "misfire once within 24h"):  # fmt: skip
        assert text in shown


def test_directory_and_path_are_told(cli: Cli, daemon: FakeDaemon) -> None:
    shown = cli("show", "backup").out
    assert "  runs as    ana in HOME\n  PATH       /usr/bin:/bin\n" in shown
    assert "(as ana, in HOME)\n  PATH      /usr/bin:/bin\n" in cli("add", "x", "--dry-run", "--", "true").out
    daemon.jobs[0] |= {"cwd": "/srv", "user": "www", "env": {"PATH": "/opt/bin", "A": "1"}}
    shown = cli("show", "backup").out
    assert "  runs as    www in /srv\n  PATH       /opt/bin\n" in shown
    assert "env        A=1" in shown
    assert shown.count("/opt/bin") == 1


def test_show_a_job_that_goes_wrong(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"dead": 2, "skipping": 3, "notify": ["mail"], "limit": 2, "queue": "batch", "priority": -5,
                       "quarantined": True, "paused": True, "paused_why": "5 dead letters in a row"}  # fmt: skip
    shown = cli("show", "backup").out
    for text in ("backup   QUARANTINED   id 1", "held       quarantined: 5 dead letters in a row",
                 "retries 3 (10s, ×2, cap 1h)", "at most 2 at once", "queue batch", "priority -5", "told       mail",
                 "2 dead letters: jobctl dlq ls backup", "3 occurrences in a row: jobctl why backup"):  # fmt: skip
        assert text in shown


ATTEMPTS = [
    {"attempt": 1, "exit_code": 1, "class": "exit_code", "ended_at": "2026-11-29T02:00:01Z"},
    {"attempt": 2, "exit_code": None, "signal": 9, "class": "signal", "started_at": "2026-11-29T02:00:11.500Z",
     "ended_at": "2026-11-29T02:00:12Z"},
]  # fmt: skip


def test_show_a_run_that_waits_for_its_retry(cli: Cli, daemon: FakeDaemon) -> None:
    waiting = {"state": "ready", "class": "signal", "outcome": "signal", "reason": "ended by signal 9 (SIGKILL)",
               "attempt": 2, "max_attempts": 4, "due_at": "2026-11-29T02:12:53Z", "started_at": None,
               "finished_at": None, "exit_code": None}  # fmt: skip
    daemon.runs.insert(0, run(104, daemon.jobs[0], **waiting))
    tries = [attempt(daemon.runs[0], **({"started_at": "2026-11-29T02:00:00Z"} | one)) for one in ATTEMPTS]
    daemon.override("GET", "/v1/runs/104/attempts", Answer(200, {"schema": 1, "items": tries, "next": None}))
    shown = cli("show", "104", "--run").out
    assert shown.startswith("run 104 of backup   retrying\n")
    for text in ("attempt 1  exit 1 after 1.0s, pid 4242", "attempt 2  SIGKILL after 500ms, 10s after attempt 1",
                 "next       retry 2 of 3 is due in 12s, 03:12:53 CET", "now: jobctl retry 104"):  # fmt: skip
        assert text in shown
    assert "retry in 12s" in cli("runs").out
    assert "run 104 failed: SIGKILL, attempt 2 of 4; retry 2 of 3 is due in 12s" in cli("why", "104").out


def test_a_replay_begins_with_no_retries_used(cli: Cli, daemon: FakeDaemon) -> None:
    waiting = {"state": "ready", "class": "exit_code", "attempt": 5, "uncounted": 4, "max_attempts": 7, "replays": 1,
               "started_at": None, "finished_at": None, "due_at": "2026-11-29T02:12:53Z"}  # fmt: skip
    daemon.runs.insert(0, run(104, daemon.jobs[0], **waiting))
    assert "next       retry 1 of 2 is due in 12s" in cli("show", "104", "--run").out
    assert "attempt 1 of 3; retry 1 of 2 is due" in cli("why", "104").out
    daemon.runs[0] |= {"uncounted": 5, "class": "lost"}
    assert "next       its next retry is due in 12s" in cli("show", "104", "--run").out


def test_show_a_run_that_is_dead(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs.append(dead(90, daemon.jobs[0], replays=2, retry_of=80))
    shown = cli("show", "90", "--run").out
    assert shown.startswith("run 90 of backup   dead: exit 1\n")
    for text in ("error      disk is full", "replays    2", "again for  run 80", "fence 9",
                 "jobctl dlq show 90, jobctl dlq replay 90"):  # fmt: skip
        assert text in shown


def test_long_facts_wrap_behind_their_label_on_a_terminal_only(cli: Cli) -> None:
    narrow = cli("show", "backup", terminal=True, COLUMNS="50", NO_COLOR="1").out
    assert all(len(line) <= 50 for line in narrow.splitlines())
    assert "\n             " in narrow
    assert max(len(line) for line in cli("show", "backup").out.splitlines()) > 80


def test_a_number_is_a_job_first_and_a_run_when_asked(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.runs[2]["id"] = 1
    assert cli("show", "1").out.startswith("backup ")
    assert cli("show", "1", "--run").out.startswith("run 1 of backup")
    assert cli("show", "103").out.startswith("run 103 of sync")
    assert cli("show", "103", "--job").code == 3


def test_runs(cli: Cli) -> None:
    assert cli("runs").out.splitlines()[0].split() == ["RUN", "JOB", "STARTED", "TOOK", "RESULT", "TRIGGER"]
    assert "exit 1 (late)" in cli("runs", "backup").out
    assert cli("runs", "hand").err == "no runs\n"


@pytest.mark.parametrize(
    ("changed", "result"),
    [
        ({"state": "scheduled", "due_at": "2026-11-29T02:17:41Z"}, "in 5m00s"),
        ({"state": "scheduled", "due_at": "2026-11-29T02:17:41Z", "reason": "held: its job is paused"},
         "in 5m00s, held"),
        ({"state": "scheduled", "reason": "held: its job is paused"}, "held"),
        ({"state": "scheduled", "reason": "waits for an earlier run of its job"}, "waits"),
        ({"state": "ready"}, "ready"),
        ({"state": "ready", "class": "exit_code", "attempt": 1, "due_at": "2026-11-29T02:17:41Z"}, "retry in 5m00s"),
        ({"state": "ready", "class": "exit_code", "attempt": 1}, "retry due now"),
        ({"state": "scheduled", "class": "exit_code", "attempt": 1, "reason": "held: its job is paused"}, "retry held"),
        ({"state": "scheduled", "class": "exit_code", "attempt": 4, "uncounted": 4, "replays": 1,
          "reason": "waits for its turn in the replay"}, "replay waits"),
        ({"state": "skipped", "outcome": "limit", "finished_at": "2026-11-29T02:12:00Z"}, "skipped: limit, 41s ago"),
    ],
)  # fmt: skip
def test_what_has_not_started_says_when_it_will(
    cli: Cli, daemon: FakeDaemon, changed: dict[str, object], result: str
) -> None:
    unstarted = {"attempt": 0, "outcome": None, "started_at": None, "finished_at": None, "exit_code": None}
    daemon.runs = [run(104, daemon.jobs[0], **(unstarted | changed))]
    row = cli("runs").out.splitlines()[1]
    assert row.split("  ", 1)[1].split() == ["backup", "-", "-", *result.split(), "schedule"]
    last = cli("show", "backup").out.split("\n  last")[1].split("\n")[0]
    assert "run 104" in last
    assert changed["state"] != "skipped" or last.endswith("03:12 CET, 41s ago")


def test_times_of_a_column_have_seconds_together(cli: Cli, daemon: FakeDaemon) -> None:
    assert "03:00 CET, 12m40s ago" in cli("runs").out
    daemon.runs[0]["started_at"] = "2026-11-29T02:10:07Z"
    shown = cli("runs").out
    assert "03:10:07 CET, 2m34s ago" in shown
    assert "03:00:00 CET, 12m40s ago" in shown
    daemon.jobs[1]["next_run_at"] = "2026-11-29T02:12:51Z"
    assert "Mon 03:00:00 CET" in cli("ls").out


@pytest.fixture
def hung(daemon: FakeDaemon) -> FakeDaemon:
    """Run 103 of sync has been running for long, and what came after it was skipped."""
    sync = daemon.jobs[1]
    sync |= {"skipping": 40}
    skipped = {"state": "skipped", "attempt": 0, "outcome": "overlap", "started_at": None, "exit_code": None}
    daemon.runs = [*(run(number, sync, **skipped) for number in range(143, 103, -1)), *daemon.runs]
    return daemon


def test_a_job_means_its_run_that_is_under_way_not_what_was_skipped_since(cli: Cli, hung: FakeDaemon) -> None:
    hung.jobs[1]["next_run_at"] = None
    assert cli("log", "sync").out == "so far\n"
    assert cli("show", "sync", "--run").out.startswith("run 103 of sync   running")
    assert "running    run 103 for 2m41s, since 03:10 CET\n  last       run 143  skipped" in cli("show", "sync").out
    waited = cli("wait", "sync", "--timeout", "10ms")
    assert (waited.code, waited.out) == (124, "run 103 of sync: running\n")
    assert "running 2m41s, 40 skipped" in cli("ls").out


def test_a_job_means_its_last_run_that_was_not_skipped(cli: Cli, hung: FakeDaemon) -> None:
    for item in hung.runs:
        item |= {"state": "succeeded"} if item["state"] == "running" else {}
    assert cli("log", "sync").out == "so far\n"
    assert cli("wait", "sync").out == "run 103 of sync: ok\n"
    hung.runs.insert(0, run(144, hung.jobs[1], state="cancelled", attempt=0, started_at=None))
    assert cli("log", "sync").out == "so far\n"
    assert cli("wait", "sync").out == "run 144 of sync: cancelled\n"
    hung.runs = [item for item in hung.runs if item["state"] == "skipped"]
    assert cli("wait", "sync").out == "run 143 of sync: skipped: overlap\n"


def test_a_job_in_its_retries_says_so(cli: Cli, daemon: FakeDaemon) -> None:
    waits = {"state": "ready", "class": "exit_code", "outcome": "exit_code", "exit_code": None, "reason": "exit 3",
             "started_at": None, "finished_at": None, "due_at": "2026-11-29T02:17:41Z"}  # fmt: skip
    daemon.jobs[2] |= {"retrying": 1}
    daemon.runs.insert(0, run(104, daemon.jobs[2], **waits))
    assert cli("ls").out.splitlines()[2] == (
        "retrying  hand    by hand       -                         exit 3, retry in 5m00s"
    )
    assert cli("ls", "--state", "retrying", "-o", "name").out == "hand\n"
    shown = cli("show", "hand").out
    assert "hand   retrying   id 3\n" in shown
    assert "retrying   run 104  exit 3; retry 1 of 0" not in shown
    assert "retrying   run 104  exit 3; its next retry is due in 5m00s, 03:17:41 CET\n" in shown
    assert "has not run yet" not in shown


def test_what_has_had_an_attempt_has_a_log(cli: Cli, daemon: FakeDaemon) -> None:
    backup = daemon.jobs[0]
    cancelled = run(104, backup, state="cancelled", started_at=None, reason="it was cancelled by ana")
    daemon.runs += [cancelled, dead(90, backup, started_at=None, put_back={"at": "2026-11-29T02:00:00Z", "run": 3})]
    daemon.logs |= {104: b"tried\n", 90: b"died\n"}
    assert cli("log", "104").out == "tried\n"
    assert cli("log", "90").out == "died\n"
    daemon.runs.append(run(105, backup, state="skipped", attempt=0, started_at=None))
    assert (cli("log", "105").code, "has no log: skipped" in cli("log", "105").err) == (3, True)


def test_since_looks_back(cli: Cli, daemon: FakeDaemon) -> None:
    cli("runs", "--since", "2h")
    assert daemon.asked[-1].query["since"] == "2026-11-29T00:12:41Z"


def test_next_and_explain_need_no_daemon(alone: Cli) -> None:
    result = alone("next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2027-03-27", "-n", "3", "--json")
    assert [(item["at"], item["local"], item["note"]) for item in result.json()["items"]] == [
        ("2027-03-27T01:30:00Z", "2027-03-27T02:30:00+01:00", None),
        ("2027-03-28T01:00:00Z", "2027-03-28T03:00:00+02:00", "gap"),
        ("2027-03-29T00:30:00Z", "2027-03-29T02:30:00+02:00", None),
    ]
    assert alone("next", "0", "0", "30", "2", "*", "--json").json()["items"] == []
    assert "every 10 minutes" in alone("explain", "every 10m").out
    shown = alone("explain", "30 2 * * *", "--tz", "Europe/Berlin").out
    assert "2027-03-28 forward by 60 min: 02:30 does not exist" in shown


def test_next_of_a_job(cli: Cli) -> None:
    assert "Mon 30 Nov 2026 03:00:00 CET" in cli("next", "backup").out
    assert cli("explain", "backup").out.startswith("every day at 03:00   (Europe/Berlin)")


def test_times_of_a_job_are_read_in_its_zone(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["schedule"]["timezone"] = "Asia/Tokyo"
    cli("next", "backup", "--from", "2026-12-01", "--until", "2026-12-02 09:00")
    assert daemon.asked[-1].query == {"n": "5", "from": "2026-11-30T15:00:00Z", "until": "2026-12-02T00:00:00Z"}
    cli("next", "backup", "--from", "2026-12-01", "--utc")
    assert daemon.asked[-1].query["from"] == "2026-12-01T00:00:00Z"
    assert cli("next", "backup", "--from", "whenever").code == 2


HELD = {"state": "paused", "suspended_by": "daemon", "suspended_why": "the daemon was paused by root: a new disk",
        "suspended_since": "2026-11-29T01:12:41Z", "next_run_at": None}  # fmt: skip


def test_times_inside_a_pause_say_until_when_it_is(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= HELD | {"suspended_until": "2026-11-30T05:00:00Z"}
    first, second = cli("next", "backup").out.splitlines()[1:]
    assert first.endswith("paused until Mon 06:00 CET")
    assert second.endswith("2026-12-01T02:00:00Z  -")
    told = cli("explain", "backup").out
    assert "03:00:00 CET, in 23h47m   paused until Mon 06:00 CET\n" in told
    shown = cli("show", "backup").out
    words = "the daemon was paused by root: a new disk, until Mon 06:00 CET; jobctl daemon resume"
    assert f"  held       {words}\n" in shown
    assert "  would be   Mon 30 Nov 2026 03:00:00 CET, in 23h47m   paused until Mon 06:00 CET\n" in shown
    assert "  next       Tue 01 Dec 2026 03:00:00 CET, in 47h47m\n" in shown


def test_times_under_a_pause_without_an_end_are_paused(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= HELD
    assert [line.rpartition("  ")[2] for line in cli("next", "backup").out.splitlines()[1:]] == ["paused", "paused"]
    shown = cli("show", "backup").out
    assert "  would be   Mon 30 Nov 2026 03:00:00 CET, in 23h47m\n             Tue 01 Dec 2026" in shown
    assert all(set(fire) == {"at", "local", "zone", "note"} for fire in cli("next", "backup", "--json").json()["items"])


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("plan", "words", "said"),
    [
        ({"after": "a b:success"}, "after a b succeeds", "when a run of a b succeeds"),
        ({"after": "sync:failure"}, "after sync fails", "when a run of sync fails"),
        ({"after": "sync:any"}, "after sync ends", "when a run of sync ends"),
        ({"on_boot": True}, "on boot", "at the next boot of the host"),
        ({"on_start": True}, "when the daemon starts", "each time the daemon starts"),
    ],
)
def test_a_job_that_waits_for_no_time_says_for_what_it_waits(
    cli: Cli, daemon: FakeDaemon, plan: dict[str, Any], words: str, said: str, *, last: bool
) -> None:
    last_run = daemon.jobs[0]["last_run"] if last else None
    daemon.jobs[0] |= {"schedule": {"timezone": "UTC", "words": words, **plan}, "last_run": last_run}
    daemon.override("GET", "/v1/jobs/1/next", Answer(200, PREVIEW | {"items": [], "words": words}))
    assert cli("next", "backup").err == f"{said}\n"
    assert f"  next           {said}\n" in cli("explain", "backup").out
    assert f"  next       {said}\n" in cli("show", "backup").out


def test_doctor(cli: Cli, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    result = cli("doctor", "--json")
    found = {item["check"]: item["level"] for item in result.json()["items"]}
    assert {"daemon", "version", "clock", "zone", "permissions", "disk", "reboot", "command", "double", "path"} <= set(
        found
    )
    daemon.status["returns_after_reboot"] = False
    monkeypatch.setattr(checks, "_can_return", lambda: False)
    assert (cli("doctor").code, "warn  reboot" in cli("doctor").out) == (0, True)
    monkeypatch.setattr(checks, "_can_return", lambda: True)
    assert cli("doctor").code == 1


def test_doctor_without_a_daemon(alone: Cli) -> None:
    result = alone("doctor")
    assert result.code == 4
    assert "no daemon answers" in result.out


def test_runs_keep_the_name_of_a_job_that_is_gone(cli: Cli, daemon: FakeDaemon) -> None:
    gone = job(9, "sleep")
    daemon.runs += [run(99, gone), run(98, gone), run(97, job(10, "sleepy"))]
    daemon.logs[99] = b"slept\n"
    assert cli("log", "sleep").out == "slept\n"
    assert cli("show", "sleep").out.startswith("run 99 of sleep   ok")
    assert cli("runs", "sleep", "-o", "name").out == "99\n98\n"
    assert "no run of sleep is active" in cli("kill", "sleep").err
    assert cli("show", "sleep", "--job").code == 3
    assert cli("runs", "nothing-like-it").code == 3


def test_runs_that_share_a_name_are_not_stopped_together(cli: Cli, daemon: FakeDaemon) -> None:
    gone = job(9, "sleep")
    active = {"state": "running", "finished_at": None}
    daemon.runs += [run(99, gone, **active), run(98, gone, **active)]
    refused = cli("cancel", "sleep")
    assert (refused.code, "99 98" in refused.err) == (5, True)
    daemon.runs[-1]["state"] = "succeeded"
    assert cli("cancel", "sleep").code == 0
    assert daemon.asked[-1].path == "/v1/runs/99/cancel"


def test_why_it_could_not_start(cli: Cli, daemon: FakeDaemon) -> None:
    why = "ENOENT: program nosuch: No such file or directory"
    failed = {"state": "failed", "outcome": "spawn_error", "class": "spawn_error", "started_at": None,
              "reason": f"it could not be started: {why}", "exit_code": None}  # fmt: skip
    daemon.runs.insert(0, run(104, daemon.jobs[0], **failed))
    said = "could not start: no such program: nosuch"
    assert said in cli("show", "104", "--run").out
    assert said in cli("show", "backup").out
    assert said in cli("log", "104").err
    assert "see jobctl show 104 --run" in cli("log", "104").err
    waited = cli("wait", "104")
    assert (waited.code, said in waited.out) == (127, True)
    assert (why in cli("runs").out, why in cli("runs", "-o", "wide").out) == (False, True)


def test_ls_says_what_it_did_not_find(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("ls", "--tag", "none").err == "no job matches --tag none\n"
    assert cli("pause", "--tag", "none").err == "no job matches\n"
    daemon.jobs.clear()
    assert "no jobs; add one" in cli("ls").err


@pytest.mark.parametrize(
    ("verb", "known"), [("ls", "ok, failed"), ("pause", "ok, failed"), ("runs", "scheduled, ready, running, dead")]
)
def test_a_state_that_does_not_exist(cli: Cli, verb: str, known: str) -> None:
    refused = cli(verb, "--state", "nonsense")
    assert (refused.code, known in refused.err) == (2, True)


def test_running_is_every_job_with_an_active_run(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"state": "paused", "paused": True, "suspended_by": "job", "running": 1}
    assert cli("ls", "--state", "running", "-o", "name").out == "backup\nsync\n"
    assert cli("ls", "--state", "running,ok", "-o", "name").out == "backup\nhand\nsync\n"


@pytest.mark.parametrize(
    ("expression", "said"),
    [("@reboot", "at the next boot of the host"), ("0 0 30 2 *", "never: this date never comes")],
)
def test_what_comes_without_a_time(cli: Cli, expression: str, said: str) -> None:
    assert said in cli("next", expression).err
    assert said in cli("explain", expression).out
    assert cli("next", expression, "--json").json()["items"] == []


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize(
    "argv",
    [("ls",), ("next", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2027-03-26"), ("status",), ("show", "backup"),
     ("explain", "30 2 * * 1-5", "--tz", "Europe/Berlin"), ("dlq", "ls"), ("dlq", "ls", "--runs"), ("queue", "ls"),
     ("runs",)],
)  # fmt: skip
def test_a_terminal_is_not_overrun(cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...], columns: str) -> None:
    daemon.status["socket"] = "/s"
    daemon.runs.append(dead(90, daemon.jobs[0], error="a long line of what went wrong, as programs print it"))
    daemon.queues.append(
        queue("mail", paused=True, paused_by="ana", paused_why="the provider has been down since noon")
    )
    shown = cli(*argv, terminal=True, COLUMNS=columns, NO_COLOR="1")
    assert not [line for line in [*shown.out.splitlines(), *shown.err.splitlines()] if len(line) > int(columns)]
    if argv == ("ls",):
        assert "in 23h47m" in shown.out


def test_unquoted_and_expanded(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("next", "0", "3", "*", "*", "*").code == 0
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").touch()
    refused = cli("next", "0", "3", "a", "b", "a", "b", "a", "b")
    assert (refused.code, "in quotes" in refused.err) == (2, True)


def test_a_number_is_a_job_only_where_a_list_shows_one(cli: Cli, daemon: FakeDaemon) -> None:
    """A command that was run once has a job of its own, out of sight."""
    daemon.runs.append(run(7, job(900, "sleep")))
    daemon.override("GET", "/v1/jobs/7", Answer(200, job(7, "hidden")))
    assert cli("show", "7").out.startswith("run 7 of sleep")
