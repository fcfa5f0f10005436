"""Changing a job by options and in an editor: what is sent, what is shown first, and what stays as it was."""

import errno
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.main import run
from jobctl.cli.world import World
from jobctl.reading.document import changes, line_of, parsed, text_of, written
from unit.cli.conftest import Cli, StandingClock, Stream
from unit.client.fake_daemon import PREVIEW, Answer, FakeDaemon, job, problem


def sent(daemon: FakeDaemon) -> list[dict[str, Any]]:
    """The bodies of the edits that were made, not only looked at."""
    return [asked.body for asked in daemon.asked if asked.method == "PATCH" and not asked.query]


def edited(cli: Cli, daemon: FakeDaemon, *argv: str) -> dict[str, Any]:
    result = cli("edit", *argv)
    assert result.code == 0, result
    return sent(daemon)[-1]


# ── by options ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("argv", "patch"),
    [
        (["--grace", "5s"], {"grace": "5s"}),
        (["--name", "nightly"], {"name": "nightly"}),
        (["--", "cmd", "--flag"], {"target": {"command": ["cmd", "--flag"]}}),
        (["--shell", "a | b"], {"target": {"shell": "a | b"}}),
        (["--retries", "0", "--backoff", "1m"], {"retry": {"max": 0, "backoff": "1m"}}),
        (["--on-lost", "retry:7"], {"retry": {"on_lost": "retry", "lost": 7}}),
        (["--env", "A=b"], {"env": {"A": "b"}}),
        (["--tag", "a", "--tag", "b"], {"tags": ["a", "b"]}),
        (["--tz", "UTC"], {"timezone": "UTC"}),
        (["--overlap", "queue:3"], {"overlap": "queue", "overlap_queue": 3}),
        (["--note", ""], {"note": ""}),
        (["--nice", "0"], {"nice": 0}),
        (["--clear", "timeout,tag"], {"timeout": None, "tags": None}),
        (["--clear", "env.A", "--clear", "env.B"], {"env": {"A": None, "B": None}}),
        (["--clear", "retries,on-lost"], {"retry": {"max": None, "on_lost": None, "lost": None}}),
        (["--clear", "--payload"], {"payload_ref": None}),
        (["--clear", "tz"], {"timezone": None}),
        (["--clear", "cron"], {"schedule": None}),
        (["--grace", "5s", "--clear", "retry"], {"grace": "5s", "retry": None}),
    ],
)
def test_only_what_is_given_is_sent(cli: Cli, daemon: FakeDaemon, argv: list[str], patch: dict[str, Any]) -> None:
    retry = {"max": 9, "backoff": 1, "backoff_max": 2, "no_retry_on": ["3"], "on_lost": "dead", "lost": 9}
    daemon.jobs[0] |= {"timeout": 9, "nice": 9, "payload_ref": "/p", "env": {"A": "1", "B": "2"}, "retry": retry}
    assert edited(cli, daemon, "backup", *argv) == patch


@pytest.mark.parametrize(
    ("argv", "plan"),
    [
        (["--cron", "30 2 * * *"], {"cron": "30 2 * * *", "jitter": 30, "dst_gap": "skip"}),
        (["--cron", "30 2 * * *", "--jitter", "1m"], {"cron": "30 2 * * *", "jitter": "1m", "dst_gap": "skip"}),
        (["--every", "90s"], {"every": "90s", "jitter": 30}),
        (["--after", "sync:any"], {"after": "sync:any"}),
        (["--in", "10m"], {"at": "2026-11-29T02:22:41Z"}),
        (["--at", "2026-12-01 09:00"], {"at": "2026-12-01T08:00:00Z"}),
        (["--on-boot"], {"on_boot": True}),
        (["--dst-gap", "auto"], {"cron": "0 3 * * *", "jitter": 30, "dst_gap": "auto"}),
        (["--clear", "jitter"], {"cron": "0 3 * * *", "dst_gap": "skip"}),
        (["--line", "5 4 * * * x"], {"cron": "5 4 * * *", "jitter": 30, "dst_gap": "skip"}),
    ],
)
def test_a_schedule_is_sent_whole_with_its_zone(
    cli: Cli, daemon: FakeDaemon, argv: list[str], plan: dict[str, Any]
) -> None:
    daemon.jobs[0]["schedule"] |= {"jitter": 30, "dst_gap": "skip", "on_boot": False, "at": None}
    assert edited(cli, daemon, "backup", *argv)["schedule"] == {**plan, "timezone": "Europe/Berlin"}


def test_a_zone_and_a_schedule_go_together(cli: Cli, daemon: FakeDaemon) -> None:
    patch = edited(cli, daemon, "backup", "--tz", "UTC", "--at", "2026-12-01 09:00")
    assert patch == {"schedule": {"at": "2026-12-01T09:00:00Z", "timezone": "UTC"}}


def test_a_job_by_hand_gets_a_schedule(cli: Cli, daemon: FakeDaemon) -> None:
    assert edited(cli, daemon, "hand", "--every", "1h") == {"schedule": {"every": "1h"}}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ((), "edit which job?"),
        (("backup", "extra", "--grace", "1s"), "jobctl edit backup -- extra"),
        (("backup", "--clear", "tiemout"), "did you mean timeout?"),
        (("backup", "--clear", "command"), "no job can be without"),
        (("backup", "--clear", "grace", "--grace", "1s"), "--grace is given and cleared"),
        (("backup", "--clear", "retries", "--retries", "1"), "--retries is given and cleared"),
        (("backup", "--overlap", "skip:3"), "only queue takes a number"),
        (("backup", "--line", "* * * * * x", "--", "y"), "--line has a command already"),
    ],
)
def test_what_cannot_be(cli: Cli, daemon: FakeDaemon, argv: tuple[str, ...], said: str) -> None:
    refused = cli("edit", *argv)
    assert (refused.code, said in refused.err) == (2, True), refused
    assert not sent(daemon)


def test_no_such_job_names_the_nearest(cli: Cli) -> None:
    refused = cli("edit", "bakcup", "--grace", "1s")
    assert (refused.code, "closest: backup" in refused.err) == (3, True)


def test_it_is_shown_before_it_is_done(cli: Cli, daemon: FakeDaemon) -> None:
    shown = cli("edit", "backup", "--cron", "0 4 * * *", "--retries", "5", terminal=True, stdin="y\n")
    assert shown.code == 0
    for text in ("next, before", "Mon 30 Nov 2026 03:00:00 CET", "next, after", "Tue 01 Dec 2026 03:00:00 CET"):
        assert text in shown.out
    assert shown.err.index("warning: think") < shown.err.index("apply? [Y/n]")
    assert shown.out.endswith("changed backup, id 1, version 1\n")


@pytest.mark.parametrize(("count", "said"), [(1, "1 dead letter from before"), (2, "2 dead letters from before")])
def test_who_changes_what_a_job_runs_is_told_how_its_dead_letters_run_so(
    cli: Cli, daemon: FakeDaemon, count: int, said: str
) -> None:
    daemon.jobs[0]["dead"] = count
    told = f"{said}: jobctl dlq replay backup --current runs {'it' if count == 1 else 'them'} as version 1\n"
    assert cli("edit", "backup", "--env", "A=1").err.endswith(told)
    assert cli("edit", "backup", "--yes", "--", "/bin/false").err.endswith(told)
    assert "dead letter" not in cli("edit", "backup", "--retries", "7").err
    assert "dead letter" not in cli("edit", "backup", "--env", "A=2", "--json").err
    daemon.jobs[0]["dead"] = 0
    assert "dead letter" not in cli("edit", "backup", "--env", "A=3").err


@pytest.mark.parametrize(("answer", "code"), [("\n", 0), ("y\n", 0), ("n\n", 5), ("what\n", 5), ("", 5)])
def test_it_asks_on_a_terminal(cli: Cli, daemon: FakeDaemon, answer: str, code: int) -> None:
    result = cli("edit", "backup", "--grace", "5s", terminal=True, stdin=answer)
    assert (result.code, len(sent(daemon))) == (code, 1 if code == 0 else 0)


def test_it_does_not_ask_who_cannot_answer_or_said_yes(cli: Cli, daemon: FakeDaemon) -> None:
    assert "apply?" not in cli("edit", "backup", "--grace", "5s").err
    assert "apply?" not in cli("edit", "backup", "--grace", "6s", "--yes", terminal=True).err
    assert sent(daemon) == [{"grace": "5s"}, {"grace": "6s"}]


def test_a_dry_run_only_shows(cli: Cli, daemon: FakeDaemon) -> None:
    shown = cli("edit", "backup", "--grace", "5s", "--dry-run").out
    assert shown.startswith("  grace  10s → 5s\n  next   as before:\n         Mon 30 Nov 2026 03:00:00 CET")
    told = cli("edit", "backup", "--grace", "5s", "--dry-run", "--json").json()
    assert set(told) == {"job", "before", "preview", "changes", "warnings"}
    assert not sent(daemon)


def test_of_a_paused_job_the_times_are_those_of_its_schedule(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0] |= {"paused": True, "paused_by": "ana"}
    assert (
        "held   paused by ana: nothing starts until that ends"
        in cli("edit", "backup", "--grace", "5s", "--dry-run").out
    )


def test_for_programs_it_prints_the_job(cli: Cli, daemon: FakeDaemon) -> None:
    assert cli("edit", "backup", "--grace", "5s", "--json").json()["grace"] == 5
    assert cli("edit", "backup", "--grace", "6s", "-q").out == "1\n"
    assert cli("edit", "backup", "--name", "nightly", "-o", "name").out == "nightly\n"


def test_what_is_so_already_is_not_sent(cli: Cli, daemon: FakeDaemon) -> None:
    result = cli("edit", "backup", "--nice", "0")
    assert (result.code, result.out, sent(daemon)) == (0, "", [])
    assert "nothing was changed: backup is as you want it" in result.err


def test_it_is_of_the_revision_that_was_shown(cli: Cli, daemon: FakeDaemon) -> None:
    def moves(_asked: object, _match: object) -> Answer:
        return Answer(200, job(1, "backup", rev=7))

    cli("edit", "backup", "--grace", "5s")
    tags = [asked.headers.get("If-Match") for asked in daemon.asked if asked.method == "PATCH"]
    assert tags == ['"1"', '"1"']
    daemon.override("GET", "/v1/jobs/backup", moves)
    refused = cli("edit", "backup", "--grace", "6s")
    assert (refused.code, "changed meanwhile" in refused.err, "look at it again" in refused.err) == (5, True, True)


def test_errors_of_the_api_name_the_option(cli: Cli, daemon: FakeDaemon) -> None:
    wrong = problem(422, "invalid_input", "1001 is over the limit", "up to 1000", "retry.max")
    daemon.override("PATCH", "/v1/jobs/1", wrong)
    assert "--retries: 1001 is over the limit" in cli("edit", "backup", "--retries", "1001").err


# ── in an editor ──────────────────────────────────────────────


def editor(tmp_path: Path, script: str) -> str:
    """An $EDITOR: a shell script that gets the file as $1."""
    path = tmp_path / "my editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"'{path}' "


def test_a_line_that_is_changed_added_and_taken_out(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.jobs[0] |= {"timeout": 60, "env": {"OLD": "1"}}
    script = "sed -i -e 's/^# grace.*/grace = \"5s\"/' -e '/^timeout/d' -e 's/^env.OLD/env.NEW/' \"$1\""
    result = cli("edit", "backup", terminal=True, stdin="\n", VISUAL=editor(tmp_path, script), EDITOR="false")
    assert result.code == 0, result
    assert sent(daemon) == [{"grace": "5s", "timeout": None, "env": {"OLD": None, "NEW": "1"}}]


def test_an_unchanged_text_changes_nothing(cli: Cli, daemon: FakeDaemon) -> None:
    result = cli("edit", "backup", terminal=True, EDITOR="true")
    assert (result.code, "nothing was changed" in result.err, sent(daemon)) == (0, True, [])


@pytest.mark.parametrize("command", ["false", "/nonexistent/editor", "sh -c 'kill -9 $$'"])
def test_an_aborted_editor_changes_nothing(cli: Cli, daemon: FakeDaemon, command: str) -> None:
    result = cli("edit", "backup", terminal=True, EDITOR=command)
    assert (result.code, "the editor" in result.err, sent(daemon)) == (1, True, [])


def test_what_is_broken_can_be_edited_again(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    script = 'grep -q "^broken" "$1" && sed -i -e /^broken/d -e \'s/^# nice.*/nice = 3/\' "$1" || echo broken >> "$1"'
    result = cli("edit", "backup", terminal=True, stdin="e\ny\n", EDITOR=editor(tmp_path, script))
    assert result.code == 0, result
    assert "the text is not TOML" in result.err
    assert "edit it again, or quit? [E/q]" in result.err
    assert sent(daemon) == [{"nice": 3}]


def kept(text: str) -> Path:
    path = Path(text.split("your text is kept in ")[1].splitlines()[0])
    assert path.stat().st_mode & 0o777 == 0o600
    return path


@pytest.mark.parametrize("answers", ["q\n", ""])
def test_who_quits_keeps_the_text(cli: Cli, daemon: FakeDaemon, tmp_path: Path, answers: str) -> None:
    result = cli("edit", "backup", terminal=True, stdin=answers, EDITOR=editor(tmp_path, 'echo broken >> "$1"'))
    assert (result.code, sent(daemon)) == (5, [])
    path = kept(result.err)
    assert path.read_text().endswith("broken\n")
    path.unlink()


class Gone(Stream):
    """A terminal that was there until something was asked."""

    def readline(self, _: int = -1, /) -> str:
        raise OSError(errno.EIO, "Input/output error")


def test_a_terminal_that_goes_away_at_the_question_keeps_the_text(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    environ = {**cli.environ, "EDITOR": editor(tmp_path, 'echo broken >> "$1"')}
    out, err = Stream(terminal=True), Stream(terminal=True)
    code = run(["edit", "backup"], World(environ, Gone(terminal=True), out, err, StandingClock(), 1000))
    err.flush()
    assert (code, sent(daemon)) == (5, [])
    kept(err.raw_bytes.getvalue().decode()).unlink()


def test_what_the_daemon_refuses_can_be_edited_again_or_is_kept(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    daemon.override(
        "PATCH", "/v1/jobs/1", problem(422, "invalid_input", "there is no field 'nise'", "did you mean nice?")
    )
    wrong = editor(tmp_path, "echo 'nise = 3' >> \"$1\"")
    result = cli("edit", "backup", terminal=True, stdin="q\n", EDITOR=wrong)
    assert "did you mean nice?" in result.err
    kept(result.err).unlink()
    alone = cli("edit", "backup", "--yes", EDITOR=wrong)
    assert (alone.code, "edit it again" in alone.err) == (2, False)
    kept(alone.err).unlink()


def test_a_job_that_changed_while_it_was_edited(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    changed = job(1, "backup", rev=2, grace=20, overlap="queue", retry={**job(1, "x")["retry"], "max": 5}, paused=True)
    shown = iter([job(1, "backup", rev=1), changed, changed])
    daemon.override("GET", "/v1/jobs/[^/]+", lambda _asked, _match: Answer(200, next(shown)))
    daemon.override("PATCH", "/v1/jobs/1", problem(409, "conflict", "backup was changed meanwhile", "look at it again"))
    result = cli("edit", "backup", terminal=True, EDITOR=editor(tmp_path, 'echo \'note = "n"\' >> "$1"'))
    assert (result.code, "changed meanwhile" in result.err, "[E/q]" in result.err) == (5, True, False)
    assert "since you looked at it:\n  paused  no → yes\n  grace  10s → 20s\n  overlap  skip → queue\n" in result.err
    assert "  retries  3 → 5\n" in result.err
    kept(result.err).unlink()


def test_edit_once_more_instead_of_applying(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    script = "grep -q '^nice' \"$1\" && sed -i 's/^nice.*/nice = 4/' \"$1\" || sed -i 's/^# nice.*/nice = 3/' \"$1\""
    result = cli("edit", "backup", terminal=True, stdin="e\ny\n", EDITOR=editor(tmp_path, script))
    assert (result.code, sent(daemon)) == (0, [{"nice": 4}])


def test_without_a_terminal_it_wants_options(cli: Cli) -> None:
    refused = cli("edit", "backup", EDITOR="true")
    assert (refused.code, "give options" in refused.err) == (2, True)


# ── the text ──────────────────────────────────────────────

FULL = job(
    5,
    "a b",
    stdin='two\nlines """ of \\ it\t\x07\n',
    env={"A.B": "x", "C": 'q"q'},
    tags=["t"],
    notify=["mail", "exec:a 'b'"],
    mail={"to": "ada, ops@example.org", "on": None},
    timeout=5400,
    log_max=4097,
    limit=2,
    overlap="queue",
    overlap_queue=4,
    target={"shell": "a\nb\r\nc"},
    retry={"max": 0, "backoff": 1.5, "backoff_max": 60, "no_retry_on": ["3"], "on_lost": "dead", "lost": 0},
    schedule={"timezone": "UTC", "words": "w", "every": 90, "jitter": 0.5, "on_boot": False, "dst_gap": "auto"},
    priority=-5,
    queue="q",
    user="pg",
    cwd="/srv",
)


@pytest.mark.parametrize("of", [job(1, "plain"), job(2, "hand", schedule=None), FULL])
def test_the_text_says_what_is_set_and_means_no_change(of: dict[str, Any]) -> None:
    text = text_of(of)
    table, whole = parsed(text), written(of)
    assert changes(table, parsed(text)) == {}
    flat = {f"{part}.{name}": value for part, inside in whole.items() if isinstance(inside, dict)
            for name, value in inside.items()}  # fmt: skip
    for part, value in table.items():
        inside = value if isinstance(value, dict) else {}
        assert all(flat[f"{part}.{name}"] == inner for name, inner in inside.items())
        assert inside or whole[part] == value
    for name in ("target", "env"):
        assert table.get(name, {}) == of[name]


def test_every_comment_is_a_line_that_could_stand_there() -> None:
    lines = [line.removeprefix("# ") for line in text_of(job(1, "plain")).splitlines() if line.startswith("# ")]
    fields = [line for line in lines if " = " in line]
    assert len(fields) > 30
    for line in fields:
        tomllib.loads(line)


def test_times_of_toml_are_texts() -> None:
    assert parsed("schedule.at = 2026-12-01T09:00:00Z") == {"schedule": {"at": "2026-12-01T09:00:00+00:00"}}


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {}, {"a": None}),
        ({"retry": {"max": 1}}, {}, {"retry": {"max": None}}),
        ({}, {"retry": {"max": 1}}, {"retry": {"max": 1}}),
        ({"env": {"A": "1", "B": "2"}}, {"env": {"A": "1", "C": "3"}}, {"env": {"B": None, "C": "3"}}),
        ({"env": {"A": "1"}}, {"env": 3}, {"env": 3}),
        ({"schedule": {"cron": "x", "jitter": "1s"}}, {"schedule": {"cron": "y"}}, {"schedule": {"cron": "y"}}),
        ({"schedule": {"cron": "x"}}, {}, {"schedule": None}),
        (
            {"schedule": {"cron": "x", "timezone": "UTC", "jitter": "1s"}},
            {"schedule": {"timezone": "UTC", "jitter": "1s"}},
            {"schedule": None, "timezone": "UTC"},
        ),
        ({"schedule": {}}, {"schedule": {"timezone": "UTC"}}, {"schedule": None, "timezone": "UTC"}),
        ({"schedule": {"cron": "x"}}, {"schedule": {"corn": "x"}}, {"schedule": {"corn": "x"}}),
    ],
)
def test_what_differs(before: dict[str, Any], after: dict[str, Any], patch: dict[str, Any]) -> None:
    assert changes(before, after) == patch


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("overlap", 2), ("retry.max", 4), ("retry", 4), ("env.A.B", 7), ("env.C", 8), ("target.command[1]", 11),
        ("target", 10), ("schedule.cron", 14), ("schedule", 14), ("timeout", None), ("env.note", None),
    ],
)  # fmt: skip
def test_the_line_of_a_field(field: str, line: int | None) -> None:
    text = "\n".join([
        '# overlap = "skip"', 'overlap = "never"', "# retry.max = 3", "retry.max = -1", "  retry . lost = 2", "[env]",
        '"A.B" = 1', "C = 2", "[target]", 'shell = "x"', 'command = ["a", 2]', "# at = 1", "[schedule]", "cron = 3",
    ])  # fmt: skip
    assert line_of(text, field) == line


def test_a_text_of_several_lines_has_no_fields() -> None:
    assert line_of('stdin = """\numask = 1\n"""\numask = 2\n', "umask") == 4


def test_an_error_names_the_line_of_the_text(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    wrong = problem(422, "invalid_input", "1001 is over the limit", "up to 1000", "retry.max")
    daemon.override("PATCH", "/v1/jobs/1", wrong)
    script = editor(tmp_path, "sed -i 's/^# retry.max.*/retry.max = 1001/' \"$1\"")
    result = cli("edit", "backup", terminal=True, stdin="q\n", EDITOR=script)
    path = kept(result.err)
    line = 1 + path.read_text().splitlines().index("retry.max = 1001")
    assert f": line {line}: retry.max: 1001 is over the limit\n" in result.err
    path.unlink()


def test_a_schedule_whose_times_are_taken_out_is_by_hand(cli: Cli, daemon: FakeDaemon, tmp_path: Path) -> None:
    result = cli("edit", "backup", "--yes", EDITOR=editor(tmp_path, 'sed -i /^schedule.cron/d "$1"'))
    assert (result.code, sent(daemon)) == (0, [{"schedule": None, "timezone": "Europe/Berlin"}])


def test_a_time_is_read_in_the_zone_of_the_job(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.override("GET", "/v1/jobs/[^/]+/next", Answer(200, PREVIEW | {"timezone": "Asia/Tokyo"}))
    assert edited(cli, daemon, "hand", "--at", "2026-12-01 09:00") == {"schedule": {"at": "2026-12-01T00:00:00Z"}}
    patch = edited(cli, daemon, "hand", "--at", "2026-12-01 09:00", "--tz", "UTC")
    assert patch == {"schedule": {"at": "2026-12-01T09:00:00Z", "timezone": "UTC"}}
    daemon.jobs[0]["schedule"]["timezone"] = "Asia/Tokyo"
    assert edited(cli, daemon, "backup", "--at", "2026-12-01 09:00")["schedule"]["at"] == "2026-12-01T00:00:00Z"


def test_a_schedule_without_times_before_and_after_is_shown_in_words(cli: Cli, daemon: FakeDaemon) -> None:
    daemon.jobs[0]["schedule"] = {"timezone": "UTC", "words": "on boot", "on_boot": True}
    becomes = daemon.jobs[0] | {"schedule": {"timezone": "UTC", "words": "after sync ends", "after": "sync:any"}}
    nothing = PREVIEW | {"items": []}
    shown = {"job": becomes, "before": nothing, "preview": nothing, "warnings": [],
             "changes": [{"field": "schedule.after", "before": None, "after": "sync:any"}]}  # fmt: skip
    daemon.override("PATCH", "/v1/jobs/1", Answer(200, shown))
    said = cli("edit", "backup", "--after", "sync:any", "--dry-run").out
    assert "next, before  on boot, UTC\n  next, after   after sync ends\n" in said
