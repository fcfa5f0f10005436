"""Definitions on the command line against a real daemon: what is given is stored, and edits do what they showed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.reading.document import changes, parsed, text_of, written
from kit.daemon import RealDaemon, real_daemon

PROGRAM = "from jobctl.cli.main import main; main()"
OPTIONS = (
    '--tz|Europe/Berlin|--jitter|30s|--dst-gap|skip|--env|A=b|--stdin|two\nlines """ \\ of it|--cwd|/|--umask|027'
    "|--nice|5|--timeout|90m|--grace|5s|--overlap|queue:3|--limit|2|--misfire|all|--late-after|1m|--queue|q"
    "|--priority|high|--log-max|4097|--retries|5|--backoff|1500ms|--backoff-max|2h|--no-retry-on|3,oom"
    "|--on-lost|ask:did it|--on-failure|record|--notify|exec:page me|--note|n|--tag|a"
)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("edit") / "home") as made:
        yield made


def jobctl(daemon: RealDaemon, *argv: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *argv],
        env=daemon.environ | {"TZ": "UTC"} | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def said(daemon: RealDaemon, *argv: str, **environ: str) -> Any:
    done = jobctl(daemon, "--json", *argv, **environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def fires(preview: dict[str, Any]) -> list[str]:
    return [fire["at"] for fire in preview["items"]]


def test_every_option_is_stored_as_it_was_given(daemon: RealDaemon) -> None:
    made = said(daemon, "add", "full", "--cron", "0 3 * * *", *OPTIONS.split("|"), "--", "/bin/true")
    assert made["schedule"]["jitter"] == 30
    assert made["retry"] == {"max": 5, "backoff": 1.5, "backoff_max": 7200, "no_retry_on": ["3", "oom"],
                             "on_lost": "ask:did it", "lost": 3}  # fmt: skip
    kept = {name: made[name] for name in ("overlap", "overlap_queue", "limit", "queue", "priority", "on_failure")}
    assert kept == {"overlap": "queue", "overlap_queue": 3, "limit": 2, "queue": "q", "priority": -5,
                    "on_failure": "record"}  # fmt: skip
    table = parsed(text_of(made))
    assert changes(table, parsed(text_of(made))) == {}
    whole = written(made)
    assert (table["stdin"], table["retry"]["backoff"], whole["log_max"]) == (made["stdin"], "1s500ms", 4097)
    # The text as it stands, sent whole, means the same job.
    assert daemon.client.preview_edit("full", table)["changes"] == []


def test_the_defaults_of_the_text_are_those_of_the_daemon(daemon: RealDaemon) -> None:
    made = said(daemon, "add", "plain", "--every", "1h", "--", "/bin/true")
    lines = [line.removeprefix("# ") for line in text_of(made).splitlines()]
    given = ("umask", "nice", "schedule.dst", "grace", "overlap ", "misfire", "late_after", "queue", "priority",
             "retry", "on_failure", "notify", "log_max")  # fmt: skip
    set_anew = parsed("\n".join(line for line in lines if line.startswith(given)))
    assert len(set_anew) > 10
    plan = made["schedule"]
    set_anew["schedule"] |= {"every": plan["every"], "timezone": plan["timezone"]}
    assert daemon.client.preview_edit("plain", set_anew)["changes"] == []


def test_an_edit_does_what_it_showed(daemon: RealDaemon) -> None:
    said(daemon, "add", "moved", "--cron", "0 3 * * *", "--tz", "Europe/Berlin", "--", "/bin/true")
    shown = said(daemon, "edit", "moved", "--cron", "30 2 * * 1", "--retries", "1", "--dry-run")
    assert {change["field"] for change in shown["changes"]} == {"schedule.cron", "retry.max"}
    assert fires(shown["before"])[:3] == fires(daemon.client.job_next("moved", 3))
    edited = said(daemon, "edit", "moved", "--cron", "30 2 * * 1", "--retries", "1")
    assert fires(shown["preview"])[:3] == fires(daemon.client.job_next("moved", 3))
    assert (edited["retry"]["max"], edited["schedule"]["timezone"]) == (1, "Europe/Berlin")
    back = said(daemon, "edit", "moved", "--clear", "retries,cron", "--name", "still")
    assert (back["retry"]["max"], back["schedule"], back["name"]) == (3, None, "still")


def test_an_edit_in_an_editor(daemon: RealDaemon, tmp_path: Path) -> None:
    said(daemon, "add", "hand made", "--env", "A.B=1", "--", "/bin/echo", "it's")
    script = tmp_path / "editor"
    script.write_text(
        '#!/bin/sh\nsed -i -e \'s/"it.s"/"it is"/\' -e \'/^env/d\' -e \'s/^# timeout.*/timeout = "1m"/\' "$1"\n'
    )
    script.chmod(0o755)
    edited = said(daemon, "edit", "hand made", "--yes", VISUAL=str(script))
    assert (edited["target"], edited["env"], edited["timeout"]) == ({"command": ["/bin/echo", "it is"]}, {}, 60)


def test_a_text_that_is_refused_is_kept(daemon: RealDaemon, tmp_path: Path) -> None:
    said(daemon, "add", "refused", "--", "/bin/true")
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\necho \'tiemout = "1m"\' >> "$1"\n')
    script.chmod(0o755)
    done = jobctl(daemon, "edit", "refused", "--yes", VISUAL=str(script), TMPDIR=str(tmp_path))
    assert (done.returncode, "did you mean timeout?" in done.stderr) == (2, True)
    assert [path.read_text().count("tiemout") for path in tmp_path.glob("jobctl-*.toml")] == [1]


def test_jobs_that_come_after_others_go_in_no_circle(daemon: RealDaemon) -> None:
    said(daemon, "add", "first", "--", "/bin/true")
    second = said(daemon, "add", "second", "--after", "first", "--", "/bin/true")
    assert (second["schedule"]["after"], second["next_run_at"]) == ("first:success", None)
    circle = jobctl(daemon, "edit", "first", "--after", "second:any")
    assert circle.returncode == 5, circle.stderr
    assert said(daemon, "edit", "second", "--after", "first:failure")["schedule"]["after"] == "first:failure"


def test_a_run_that_is_retried_is_waited_for(daemon: RealDaemon) -> None:
    line = "echo try $JOBCTL_ATTEMPT; test $JOBCTL_ATTEMPT = 3"
    works = jobctl(daemon, "run", "--retries", "2", "--backoff", "1ms", "-f", "--shell", line)
    assert (works.returncode, works.stdout) == (0, "try 1\ntry 2\ntry 3\n"), works.stderr
    line = "test $JOBCTL_ATTEMPT = 1 && exit 3; exit 4"
    dies = jobctl(
        daemon, "run", "--retries", "1", "--backoff", "1ms", "--on-failure", "dead", "--wait", "--shell", line
    )
    assert (dies.returncode, "dead: exit 4" in dies.stderr) == (4, True), dies.stderr
    hopeless = jobctl(daemon, "run", "--retries", "5", "--wait", "--shell", "exit 64")
    assert hopeless.returncode == os.EX_USAGE
