"""From options to the body of a request."""

from pathlib import Path
from shlex import split
from typing import Any

import pytest

from jobctl.cli import slips
from unit.cli.conftest import Cli
from unit.client.fake_daemon import Answer, FakeDaemon, job, problem


def added(cli: Cli, daemon: FakeDaemon, *argv: str, **environ: str) -> dict[str, Any]:
    result = cli("add", *argv, **environ)
    assert result.code == 0, result
    body: dict[str, Any] = daemon.posted("/v1/jobs")[-1]
    return body


def test_every_option_has_its_field(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    options = (
        "--cron|0 3 * * *|--tz|Europe/Berlin|--jitter|30s|--dst-gap|skip|--dst-overlap|both|--env|A=b=c|--env|TAKEN"
        "|--env-file|/e|--payload|/p|--user|pg|--cwd|/srv|--umask|027|--nice|5|--timeout|1h|--grace|5s|--overlap|allow"
        "|--misfire|all|--misfire-within|6h|--late-after|1m|--log-max|5MB|--paused|--note|n|--tag|a|--tag|b|--limit|2"
        "|--queue|q|--priority|HIGH|--retries|5|--backoff|30s|--backoff-max|2h|--no-retry-on|3, oom"
        "|--on-lost|ask:did it|--on-failure|record|--notify|mail:a@b|--notify|exec:page me"
        "|--mail|ada,ops@example.org|--mail-on|failure"
    )
    body = added(cli, daemon, "x", *options.split("|"), "--", "cmd", "--flag", "--", "x", TAKEN="here")
    assert body == {
        "name": "x", "target": {"command": ["cmd", "--flag", "--", "x"]}, "source": "cli", "timezone": "Europe/Berlin",
        "schedule": {"cron": "0 3 * * *", "jitter": "30s", "dst_gap": "skip", "dst_overlap": "both"},
        "env": {"A": "b=c", "TAKEN": "here"}, "env_file": "/e", "payload_ref": "/p", "user": "pg", "cwd": "/srv",
        "umask": "027", "nice": 5, "timeout": "1h", "grace": "5s", "overlap": "allow", "misfire": "all",
        "misfire_within": "6h", "late_after": "1m", "log_max": "5MB", "paused": True, "note": "n", "tags": ["a", "b"],
        "limit": 2, "queue": "q", "priority": "high", "on_failure": "record", "notify": ["mail:a@b", "exec:page me"],
        "retry": {"max": 5, "backoff": "30s", "backoff_max": "2h", "no_retry_on": [3, "oom"], "on_lost": "ask:did it"},
        "mail": {"to": "ada, ops@example.org", "on": "failure"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "schedule"),
    [
        (["--every", "90s"], {"every": "90s"}),
        (["--in", "10m"], {"at": "2026-11-29T02:22:41Z"}),
        (["--at", "2026-12-01 09:00", "--tz", "Europe/Berlin"], {"at": "2026-12-01T08:00:00Z"}),
        (["--on-boot"], {"on_boot": True}),
        (["--on-start"], {"on_start": True}),
        (["--after", "backup:any"], {"after": "backup:any"}),
        ([], None),
    ],
)
def test_the_kinds_of_schedule(cli: Cli, daemon: FakeDaemon, argv: list[str], schedule: dict[str, Any] | None) -> None:
    assert added(cli, daemon, "x", *argv, "--", "true").get("schedule") == schedule


@pytest.mark.parametrize(
    ("line", "target", "schedule", "stdin"),
    [
        ("*/5 * * * * cd /srv && ./sync", "cd /srv && ./sync", {"cron": "*/5 * * * *"}, None),
        ("@daily mail ana%hello%you", "mail ana", {"cron": "@daily"}, "hello\nyou\n"),
        ("@reboot /srv/start", "/srv/start", {"on_boot": True}, None),
    ],
)
def test_a_crontab_line(
    cli: Cli, daemon: FakeDaemon, line: str, target: str, schedule: dict[str, Any], stdin: str | None
) -> None:
    body = added(cli, daemon, "x", "--line", line)
    assert (body["target"], body["schedule"], body.get("stdin")) == ({"shell": target}, schedule, stdin)


def test_a_crontab_line_that_cron_refuses(cli: Cli) -> None:
    result = cli("add", "x", "--line", "61 * * * * true")
    assert result.code == 2
    assert "--line" in result.err


def test_paths_are_of_the_callers_folder(
    cli: Cli, daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    body = added(cli, daemon, "x", "--payload", "in.txt", "--cwd", "sub", "--", "true")
    assert (body["payload_ref"], body["cwd"]) == (str(tmp_path / "in.txt"), str(tmp_path / "sub"))


def test_a_shell_line_and_no_name(cli: Cli, daemon: FakeDaemon) -> None:
    body = added(cli, daemon, "--shell", "a | b > c")
    assert (body["target"], "name" in body) == ({"shell": "a | b > c"}, False)


def test_the_key_travels(cli: Cli, daemon: FakeDaemon) -> None:
    cli("add", "x", "--idempotency-key", "k1", "--", "true")
    assert [asked.headers.get("Idempotency-Key") for asked in daemon.asked if asked.method == "POST"] == ["k1"]


def test_what_add_says(cli: Cli) -> None:
    shown = cli("add", "x", "--cron", "0 3 * * *", "--", "true").out
    for text in ("added x, id 4", "in words, Europe/Berlin", "Mon 30 Nov 2026 03:00:00 CET, in 23h47m",
                 "at least once", "overlap skip · misfire once within 24h · timeout none · grace 10s",
                 "retries 3 (10s, ×2, cap 1h) · lost: retry 3 · at last: dead letter",
                 "told      nobody: give --notify mail or --notify exec:COMMAND"):  # fmt: skip
        assert text in shown
    assert "queue" not in shown


def test_on_a_terminal_what_holds_by_default_is_left_out_and_warnings_come_last(cli: Cli, daemon: FakeDaemon) -> None:
    screen = {"terminal": True, "COLUMNS": "200", "TERM": "xterm"}
    told = cli("add", "x", "--every", "1d", "--", "nosuch", **screen)  # type: ignore[arg-type]
    assert "else      as every job, and delivered at least once: jobctl show x\n" in told.out
    assert not any(label in told.out for label in ("policy", "failure", "delivery"))
    assert "told      nobody" in told.out
    *_, before, last = told.err.splitlines()
    assert (before, last.partition("there")[0]) == ("try it now: jobctl run x --follow", "\x1b[33mwarning\x1b[0m: ")
    planned = cli("add", "x", "--dry-run", "--", "true", **screen).out  # type: ignore[arg-type]
    assert "policy" in planned
    assert "at least once: after a crash" in planned
    made = job(5, "y", timeout=60, retry=job(1, "z")["retry"] | {"max": 1})
    daemon.jobs.append(made)
    daemon.override("POST", "/v1/jobs", Answer(201, made))
    other = cli("add", "y", "--", "true", **screen).out  # type: ignore[arg-type]
    assert "policy    overlap skip · misfire once within 24h · timeout 1m" in other
    assert "failure   retries 1" in other


def told_of(cli: Cli, daemon: FakeDaemon, **changed: Any) -> str:
    """What add says of a job that the daemon answers."""
    made = job(4, "x", **changed)
    daemon.jobs.append(made)
    daemon.override("POST", "/v1/jobs", Answer(201, made))
    return cli("add", "x", "--", "true").out


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"overlap": "queue", "overlap_queue": 3}, "overlap queue (up to 3 wait)"),
        ({"overlap": "allow", "limit": 2}, "overlap allow · at most 2 at once"),
        ({"queue": "mail", "priority": -5}, "queue     mail · priority -5 (high)"),
        ({"priority": 3}, "queue     default · priority 3\n"),
        ({"notify": ["mail", "exec:page me"]}, "told      mail, exec:page me"),
        ({"mail": {"to": "ada", "on": None}}, "mail      ada, what each run prints\n"),
        ({"mail": {"to": "ada", "on": "failure"}}, "mail      ada, what a run printed that failed for good\n"),
        (
            {"mail": {"to": "ada", "on": None}, "source": "crontab:d:1:/etc/crontab"},
            "mail      ada, as crontab_mail in jobd.toml says\n",
        ),
        ({"on_failure": "record"}, "at last: recorded"),
        (
            {"retry": {"max": 0, "backoff": 1, "backoff_max": 2, "no_retry_on": ["3"], "on_lost": "dead", "lost": 3}},
            "retries 0 · none on 3 · lost: dead",
        ),
    ],
)
def test_what_differs_from_the_defaults_is_said(
    cli: Cli, daemon: FakeDaemon, changed: dict[str, Any], said: str
) -> None:
    assert said in told_of(cli, daemon, **changed)


def test_a_job_that_comes_after_another_has_words_and_no_times(cli: Cli, daemon: FakeDaemon) -> None:
    plan = {"timezone": "UTC", "words": "after backup succeeds", "after": "backup:success"}
    daemon.override("GET", "/v1/jobs/4/next", Answer(200, {"items": [], "warnings": []}))
    shown = told_of(cli, daemon, schedule=plan)
    assert "when      after backup succeeds\n" in shown
    assert "next" not in shown


def test_a_dry_run_only_says_so(cli: Cli, daemon: FakeDaemon) -> None:
    before = len(daemon.jobs)
    result = cli("add", "x", "--cron", "0 3 * * *", "--dry-run", "--", "true")
    assert result.out.startswith("would add x\n")
    assert set(cli("add", "x", "--dry-run", "--json", "--", "true").json()) == {"job", "preview", "warnings"}
    assert len(daemon.jobs) == before


def test_by_hand_only_and_a_time_that_has_passed(cli: Cli) -> None:
    assert "by hand only" in cli("add", "x", "--", "true").out
    just_now = "2026-11-29T02:12:20Z"
    assert "has passed: it runs now" in cli("add", "y", "--at", just_now, "--", "true").err


@pytest.mark.parametrize("verb", [("add", "y"), ("run",)])
def test_a_time_long_past_is_a_slip(cli: Cli, daemon: FakeDaemon, verb: tuple[str, ...]) -> None:
    refused = cli(*verb, "--at", "2020-01-01T00:00Z", "--", "date", "-u")
    assert refused.code == 2
    assert "--at 2020-01-01T00:00Z: that was 6y" in refused.err
    assert "jobctl run -- date -u" in refused.err
    assert not [asked for asked in daemon.asked if asked.method == "POST"]


def test_a_repetition_under_a_key_gets_its_job(cli: Cli) -> None:
    assert cli("add", "y", "--at", "2020-01-01T00:00Z", "--key", "k", "--", "true").code == 0
    assert "jobctl run backup" in cli("run", "backup", "--at", "2020-01-01T00:00Z").err


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (("run", "sleep", "100"), "jobctl run -- sleep 100"),
        (("add", "q", "date", "now"), "jobctl add q -- date now"),
        (("add", "q", "--cron", "0", "3", "*", "*", "*", "--", "date"), '--cron "0 3 * * *"'),
        (("add", "--cron", "*/5", "3", "*", "*", "*", "--", "date"), '--cron "*/5 3 * * *"'),
        (("add", "q", "--cron", "0", "3", "a file.txt", "b", "--", "date"), '--cron "0 3 * * *"'),
        (
            ("add", "q", "--cron", "15 25 * * *", "--", "date"),
            'try:  write it as in "30 3 * * 1-5"; see',
        ),
        (("explain", "15 25 * * *"), 'try:  write it as in "30 3 * * 1-5"; see jobctl help cron'),
        (("add", "q", "--stdin", "a", "--payload", "b", "--", "cat"), "leave one of them out"),
    ],
)
def test_hints_can_be_followed(cli: Cli, argv: tuple[str, ...], hint: str) -> None:
    refused = cli(*argv)
    assert (refused.code, hint in refused.err) == (2, True), refused


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("add", "nap", "--every", "1d", "sleep", "100"), "jobctl add nap --every 1d -- sleep 100"),
        (("add", "nap", "sleep", "100", "--cron", "0 3 * * *"), "jobctl add nap --cron '0 3 * * *' -- sleep 100"),
        (
            ("add", "a b", "--every=1d", "--paused", "date", "+%H %M"),
            "jobctl add 'a b' --every=1d --paused -- date '+%H %M'",
        ),
        (("add", "--every", "1d", "sleep", "100"), "jobctl add --every 1d -- sleep 100"),
        (("add", "nap", "other", "--every", "1d", "--", "date"), "leave it out"),
    ],
)
def test_a_command_without_dashes_is_shown_in_the_line_as_it_was_typed(
    cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...], line: str
) -> None:
    refused = cli(*argv)
    assert (refused.code, line in refused.err) == (2, True), refused
    if line.startswith("jobctl"):
        assert cli(*split(line)[1:]).code == 0  # and it can be followed


@pytest.mark.parametrize("argv", [("bad", "--cron", "0 3 * *"), ("--cron", "0 3 * *", "bad"), ("--cron", "0 3")])
def test_of_an_expression_that_had_quotes_nothing_is_guessed(cli: Cli, argv: tuple[str, ...]) -> None:
    refused = cli("add", *argv, "--", "true")
    assert (refused.code, "has five fields" in refused.err) == (2, True)
    assert "quotes" not in refused.err
    assert "* bad" not in refused.err


@pytest.mark.parametrize(
    ("message", "field", "said"),
    [
        ("'x' is not a size", "log_max", "--log-max: 'x' is not a size"),
        ("'x' is not a duration", "schedule.jitter", "--jitter: 'x' is not a duration"),
        ("timezone is 'A' and schedule.timezone is 'B'", "timezone", "--tz is 'A' and --tz is 'B'"),
        ("give stdin or payload_ref", "payload_ref", "give stdin or --payload"),
        ("'a b' cannot be a job's name", "name", "error: 'a b' cannot be a job's name"),
    ],
)
def test_errors_of_the_api_say_which_option(cli: Cli, daemon: FakeDaemon, message: str, field: str, said: str) -> None:
    daemon.override("POST", "/v1/jobs", lambda _asked, _match: problem(422, "invalid_input", message, "", field))
    assert said in cli("add", "x", "--", "true").err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--retries", "-1"), "--retries -1 is not possible"),
        (("--limit", "0"), "--limit 0 is not possible"),
        (("--backoff", "soon"), "--backoff: 'soon' is not a duration"),
        (("--backoff-max", "5 minutes"), "write it as 5m"),
        (("--overlap", "queue:0"), "only queue takes a number"),
        (("--overlap", "replace:2"), "only queue takes a number"),
        (("--overlap", "drop"), "none of allow, skip, queue, replace"),
        (("--on-failure", "mail"), "none of dead, record"),
        (("--on-lost", "ask:"), "none of retry, retry:N, dead, ask:COMMAND"),
        (("--on-lost", "dead:3"), "none of retry, retry:N, dead, ask:COMMAND"),
        (("--no-retry-on", "3,boom"), "'boom' is neither an exit code nor one of exit_code"),
        (("--no-retry-on", "0"), "'0' is neither an exit code"),
        (("--priority", "10"), "no number from -9 to 9"),
        (("--priority", "urgent"), "none of high, normal, low"),
        (("--mail", "-oQ/tmp"), "--mail: '-oQ/tmp' is no address"),
        (("--mail", "ada", "--mail-on", "never"), "none of output, failure, always"),
        (("--notify", "ana@example.org"), "none of mail, mail:ADDRESS, exec:COMMAND"),
        (("--after", "a", "--every", "5m"), "a job has one schedule, not --every and --after"),
    ],
)
def test_what_cannot_be_is_refused_before_a_daemon_is_started(
    alone: Cli, tmp_path: Path, argv: tuple[str, ...], said: str
) -> None:
    refused = alone("add", "x", *argv, "--", "true")
    assert (refused.code, said in refused.err) == (2, True), refused
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("priority", ["-5", "5", "low"])
def test_priorities_are_numbers_or_words(cli: Cli, daemon: FakeDaemon, priority: str) -> None:
    sent = added(cli, daemon, "x", "--priority", priority, "--", "true")["priority"]
    assert sent == (priority if priority == "low" else int(priority))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--every", "5m", "--retries", "5", "--backoff", "1m"), "a retry may wait 16m, longer than the 5m between"),
        (("--cron", "*/5 * * * *", "--backoff", "10m"), "longer than the 5m between two starts"),
        (("--every", "5m", "--backoff", "10m", "--overlap", "queue"), ""),
        (("--every", "5m", "--backoff", "10m", "--retries", "0"), ""),
        (("--every", "5m", "--backoff", "10m", "--limit", "2"), ""),
        (("--every", "5m", "--retries", "500", "--backoff-max", "4m"), ""),
        (("--cron", "* * * * *"), ""),
        (("--retries", "0", "--on-failure", "record"), "nobody will know when it fails"),
        (("--on-failure", "record", "--notify", "exec:page"), ""),
        (("--notify", "mail:ana@example.org"), "--notify mail:ana@example.org: there is no sendmail on this host"),
    ],
)
def test_what_may_go_wrong_when_it_fails(
    cli: Cli, argv: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slips, "_SENDMAIL", "/nonexistent")
    result = cli("add", "x", *argv, "--", "/bin/true", PATH="/nonexistent")
    assert (result.code, said in result.err, bool(result.err)) == (0, True, bool(said)), result


def test_run_warns_of_mail_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slips, "_SENDMAIL", "/nonexistent")
    result = cli("run", "--notify", "mail", "--", "no-such-program", PATH="/nonexistent")
    assert ("no sendmail" in result.err, "no program" in result.err) == (True, False)


def test_mail_with_sendmail_is_well(cli: Cli, tmp_path: Path) -> None:
    sendmail = tmp_path / "sendmail"
    sendmail.write_text("#!/bin/sh\n")
    sendmail.chmod(0o755)
    assert cli("add", "x", "--notify", "mail", "--", "/bin/true", PATH=str(tmp_path)).err == ""


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("retry.backoff_max is at least retry.backoff", "--backoff-max is at least --backoff"),
        ("overlap_queue goes with overlap queue", "--overlap queue:N goes with overlap queue"),
        ("schedule.after is gone", "--after is gone"),
    ],
)
def test_fields_in_hints_are_options(cli: Cli, daemon: FakeDaemon, message: str, said: str) -> None:
    daemon.override("POST", "/v1/jobs", problem(422, "invalid_input", "no", message, "retry.backoff_max"))
    assert said in cli("add", "x", "--", "true").err


def test_run_a_command_with_what_happens_when_it_fails(cli: Cli, daemon: FakeDaemon) -> None:
    options = "--retries 2 --backoff 1s --on-failure dead --queue q --priority low --notify mail"
    assert cli("run", *options.split(), "--", "true").code == 0
    body = daemon.posted("/v1/runs")[0]
    assert {name: body[name] for name in ("retry", "on_failure", "queue", "priority", "notify")} == {
        "retry": {"max": 2, "backoff": "1s"}, "on_failure": "dead", "queue": "q", "priority": "low", "notify": ["mail"],
    }  # fmt: skip


@pytest.mark.parametrize("option", [("--retries", "0"), ("--stdin", "x"), ("--env", "A=1")])
def test_a_run_of_a_job_takes_its_definition(cli: Cli, option: tuple[str, str]) -> None:
    refused = cli("run", "backup", *option)
    assert refused.code == 2
    assert f"a run of a job takes the job's definition: {option[0]} is not for one run of backup" in refused.err
    assert (
        "jobctl edit backup changes it; jobctl dlq replay RUN --edit changes what one dead letter runs" in refused.err
    )
    assert cli("run", "bakcup", *option).code == 3


def test_run_a_command_here(cli: Cli, daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("run", "--timeout", "5s", "--env", "A=b", "--", "make", "all", PATH="/my/bin").code == 0
    assert daemon.posted("/v1/runs") == [
        {
            "target": {"command": ["make", "all"]},
            "cwd": str(tmp_path),
            "env": {"PATH": "/my/bin", "A": "b"},
            "timeout": "5s",
        }
    ]


def test_run_a_job_later_under_a_key(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("run", "backup", "--in", "1h", "--key", "order-1").code == 0
    assert daemon.posted("/v1/jobs/backup/runs") == [{"run_at": "2026-11-29T03:12:41Z"}]
    assert daemon.asked[-1].headers["Idempotency-Key"] == "order-1"


def test_rm_asks_on_a_terminal(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("rm", "backup", terminal=True, stdin="\n").code == 5
    assert cli("rm", "backup", terminal=True, stdin="n\n").code == 5
    assert len(daemon.jobs) == 3
    asked = cli("rm", "backup", terminal=True, stdin="y\n")
    assert asked.err.startswith("remove backup? [y/N]")
    assert len(daemon.jobs) == 2
    daemon.jobs[0]["owner"], daemon.jobs[1]["owner"] = "ada", "bob"
    asked = cli("rm", "--all", terminal=True, stdin="n\n")
    assert asked.err.partition("?")[0].endswith(", jobs of ada, bob"), "of whom is said where they are of several"
    assert cli("rm", "--all", "--runs", "cancel", "-y").code == 0
    assert daemon.jobs == []
    assert daemon.asked[-1].query == {"runs": "cancel"}


def test_pause_says_who_until_when_and_why(cli: Cli, daemon: FakeDaemon) -> None:
    result = cli("pause", "sync", "--until", "2h", "--why", "provider down")
    assert result.out == "paused sync by ana 12m41s ago until 05:12 CET: provider down\n".replace("05:12", "05:12:41")
    assert daemon.posted("/v1/jobs/2/pause") == [{"until": "2026-11-29T04:12:41Z", "why": "provider down"}]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--", "date -u"), "--shell 'date -u'"),
        (("--", "echo hi | wc -l"), "--shell 'echo hi | wc -l'"),
        (("--", "echo", "hi", ">", "out"), "> is an argument of echo here"),
        (("--", "cd", "/tmp"), "--shell 'cd /tmp'"),
        (("--", "A=1", "env"), "--env A=1"),
        (("--", "no-such-program"), "there is no program no-such-program on the PATH"),
        (("--env", "PATH=/nowhere", "--", "true"), "there is no program true on the PATH of the job (/nowhere)"),
        (("--", "/no/such/program"), "/no/such/program does not exist"),
        (("--", "/etc/passwd"), "/etc/passwd is not executable"),
        (("--", "~/x"), "write the whole path"),
        (("--", "./x.sh"), "is looked for from HOME"),
        (("--", "cat", "here.txt"), "here.txt is here, but the command runs in HOME"),
        (("--env-file", "/no/env", "--", "true"), "--env-file: /no/env does not exist now"),
        (("--payload", "/no/in", "--", "true"), "--payload: /no/in does not exist now"),
        (("--cwd", "/no/folder", "--", "true"), "--cwd: /no/folder is no folder now"),
        (("--every", "5m", "--jitter", "10m", "--", "true"), "--jitter 10m is longer"),
        (("--cron", "0 3 * * *", "--jitter", "25h", "--", "true"), "--jitter 25h is longer"),
        (("--at", "2027-03-28 02:30", "--tz", "Europe/Berlin", "--", "true"), "skips 02:30 that day"),
        (("--at", "2027-10-31 02:30 Europe/Berlin", "--", "true"), "02:30 twice that day"),
    ],
)
def test_what_cannot_work_is_warned_of_and_taken(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").touch()
    for options in ((), ("--json",), ("-q",), ("--dry-run",)):
        result = cli("add", "x", *options, *argv)
        assert (result.code, said in result.err) == (0, True), result
    assert any(said in text for text in cli("add", "x", "--dry-run", "--json", *argv).json()["warnings"])


@pytest.mark.parametrize(
    "argv",
    [
        ("--", "sh", "-c", "a | b > c"),
        ("--shell", "cd /tmp && no-such-program"),
        ("--every", "5m", "--jitter", "1m", "--", "true"),
        ("--at", "2027-10-31T02:30+01:00", "--", "true"),
        ("--at", "2027-10-31 03:30 Europe/Berlin", "--", "true"),
    ],
)
def test_what_is_well_is_not_warned_of(cli: Cli, argv: tuple[str, ...]) -> None:
    assert cli("add", "x", *argv).err == ""


@pytest.mark.parametrize(
    ("option", "text", "hint"),
    [
        ("--every", "5 minutes", "write it as 5m"),
        ("--in", "1h30", "write it as 1h30m"),
        ("--cron", "every 5m", "write it as --every 5m"),
        ("--cron", "@every 2 hours", "write it as --every 2h"),
        ("--at", "noon", "write it as 12:00"),
        ("--at", "9:30pm", "write it as 21:30"),
        ("--at", "tomorrow 12 a.m.", "write it as tomorrow 00:00"),
        ("--timeout", "5min", "write it as 5m"),
        ("--every", "soon", "Write 90s, 10m"),
    ],
)
def test_times_as_people_say_them(cli: Cli, option: str, text: str, hint: str) -> None:
    refused = cli("add", "x", option, text, "--", "true")
    assert (refused.code, hint in refused.err) == (2, True), refused


def test_the_input_of_a_line_is_shown(cli: Cli) -> None:
    assert 'input     "hi\\nyou\\n"' in cli("add", "x", "--dry-run", "--line", "* * * * * mail%hi%you").out


def test_a_second_pause_keeps_what_is_not_given(cli: Cli) -> None:
    cli("pause", "sync", "--why", "provider down")
    assert "provider down" in cli("pause", "sync").out
