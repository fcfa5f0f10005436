"""What a message says, how it is delivered, and that nothing a job says becomes more than text."""

import email
import subprocess
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.model import Event, Run
from jobctl.states import RunState, Trigger
from jobctl.wire import rfc3339
from jobctl_daemon.decide import letters, notices
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.notices import Address, Box, Happening, Kind

T0 = 1_800_000_000_000
HERE = Here("web1", "Europe/Berlin")
ADA = Address(to="mail", owner="ada", user="www-data", path="/usr/bin:/bin")

RUN = Run(
    id=4711, key="s:1", job_id=7, job="backup", queue="default", version=1, edited=False, trigger=Trigger.SCHEDULE,
    scheduled_at=rfc3339(T0), due_at=rfc3339(T0), started_at=None, finished_at=None, state=RunState.DEAD, outcome=None,
    failure_class=None, reason=None, attempt=4, uncounted=0, max_attempts=4, replays=0, put_back=None, retry_of=None,
    error=None, fingerprint=None, fence=1, node=None,
    lease_until=None, exit_code=3, signal=None, late=False, coalesced=0,
)  # fmt: skip


def event(kind: str = "run.dead", **data: Any) -> Event:
    facts = {
        "name": "backup", "key": "s:1", "class": "exit_code", "reason": "exit 3", "fingerprint": "f1", "attempt": 4,
        "error": "tar: /srv: no such file",
    } | data  # fmt: skip
    return Event(id=12, at=rfc3339(T0 + 60_000), kind=kind, job_id=7, run_id=4711, data=facts)


def happened(kind: str = "run.dead", **data: Any) -> Happening:
    what = notices.happening(event(kind, **data))
    assert what is not None
    return what


def box(*held: Happening, address: Address = ADA, more: int = 0) -> Box:
    return Box(address=address, held=held, more=more)


def parsed(text: str) -> EmailMessage:
    """As a receiver reads it."""
    message = email.message_from_string(text, policy=policy.default)
    assert isinstance(message, EmailMessage)
    assert not message.defects
    return message


def mailed(what: Happening, address: Address = ADA) -> EmailMessage:
    held = box(what, address=address)
    text = letters.execution(held, letters.letter(held, RUN, HERE), HERE, T0).stdin
    assert text is not None
    return parsed(text)


# ── words ──────────────────────────────────────────────


def test_a_failure_says_what_when_why_and_what_to_do() -> None:
    wanted = letters.letter(box(happened()), RUN, HERE)
    assert wanted.subject == "jobctl on web1: backup failed: exit 3"
    assert wanted.text == (
        "web1: backup failed: exit 3\n"
        "\n"
        "  job        backup\n"
        "  run        4711\n"
        "  due        2027-01-15 09:00:00+01:00\n"
        "  when       2027-01-15 09:01:00+01:00\n"
        "  attempts   4\n"
        "  class      exit_code\n"
        "  last line  tar: /srv: no such file\n"
        "\n"
        "  jobctl log 4711                    what it printed\n"
        "  jobctl show 4711 --run             its attempts, and why each failed\n"
        "  jobctl dlq replay 4711             run it again, under the same key\n"
        "\n"
        "While it fails in the same way, this is told once an hour; that it works again, once.\n"
    )


def test_a_run_that_is_gone_leaves_out_when_it_was_due() -> None:
    assert "due" not in letters.letter(box(happened()), None, HERE).text


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("run.failed", {}, "backup failed: exit 3"),
        ("run.failed", {"reason": None}, "backup failed: exit_code"),
        ("job.recovered", {}, "backup works again"),
        ("job.quarantined", {"reason": None, "why": "quarantined: five"}, "backup is paused: quarantined: five"),
        (
            "job.skipping",
            {"reason": "overlap", "detail": "run 3 was still active", "count": 3},
            "backup was skipped 3 times in a row: run 3 was still active",
        ),
    ],
)
def test_each_thing_has_its_line(kind: str, data: dict[str, Any], words: str) -> None:
    wanted = letters.letter(box(happened(kind, **data)), None, HERE)
    assert wanted.subject == f"jobctl on web1: {words}"
    assert wanted.text.splitlines()[0] == f"web1: {words}"
    assert "jobctl " in wanted.text


def test_a_reminder_says_how_often_it_failed_since() -> None:
    streak, _ = notices.judge(None, happened())
    again = notices.instant_ms(event().at) + notices.REMIND_MS
    what = notices.happening(Event(id=13, at=rfc3339(again), kind="run.dead", job_id=7, run_id=9, data=event().data))
    assert what is not None
    _, told = notices.judge(streak, what)
    assert told is not None
    assert letters.summary(told) == "backup still fails: exit 3 (1 more since the last message)"


def test_commands_can_be_pasted_whatever_the_job_is_called() -> None:
    text = letters.letter(box(happened("job.recovered", name="my job; rm -rf /")), None, HERE).text
    assert "jobctl runs 'my job; rm -rf /'" in text


def test_a_bundle_lists_what_there_is_and_how_much_more() -> None:
    held = [happened(name="alpha"), happened("job.recovered", name="beta"), happened(name="gamma")]
    wanted = letters.letter(box(*held), None, HERE)
    assert wanted.subject == "jobctl on web1: alpha failed: exit 3, and 2 more"
    assert wanted.text.splitlines()[:5] == [
        "3 messages from web1: 2 dead, 1 recovered",
        "",
        "  2027-01-15 09:01:00+01:00  alpha failed: exit 3 (run 4711)",
        "  2027-01-15 09:01:00+01:00  beta works again (run 4711)",
        "  2027-01-15 09:01:00+01:00  gamma failed: exit 3 (run 4711)",
    ]
    full = letters.letter(box(*held, more=79), None, HERE)
    assert full.text.startswith("82 messages from web1\n")
    assert "  and 79 more\n" in full.text


def test_a_bundle_says_how_each_quarantined_job_is_let_go_on() -> None:
    held = [happened("job.quarantined", name=name) for name in ("a", "my job", "a")]
    text = letters.letter(box(*held, happened(name="b")), None, HERE).text
    assert text.count("  jobctl resume a                    let it go on\n") == 1
    assert "  jobctl resume 'my job'             let it go on\n" in text
    assert "jobctl resume b" not in text


def test_a_bundle_is_called_by_the_gravest_thing_in_it() -> None:
    held = box(happened("job.recovered", name="a"), happened("job.skipping", name="b"), happened("run.dead", name="c"))
    wanted = letters.letter(held, None, HERE)
    assert wanted.variables["JOBCTL_EVENT"] == "dead"
    assert (wanted.variables["JOBCTL_ABOUT_JOB"], wanted.variables["JOBCTL_ABOUT_COUNT"]) == ("c", "3")


def test_what_may_have_been_missed_is_said_without_a_job() -> None:
    lost = Happening(event_id=99, kind=Kind.UNTOLD, at_ms=T0, job_id=7)
    wanted = letters.letter(box(lost), None, HERE)
    assert wanted.subject == "jobctl on web1: failures may not have been told"
    assert letters.name(box(lost)) == "notify jobd"


def test_deliveries_are_named_after_what_they_are_about() -> None:
    assert letters.name(box(happened(), happened("job.recovered"))) == "notify backup"
    assert letters.name(box(happened(), happened(name="b"))) == "notify several jobs"
    assert letters.name(box(happened(), more=1)) == "notify several jobs"


# ── mail ──────────────────────────────────────────────


def test_a_mail_is_a_message_that_every_transport_takes() -> None:
    what = happened(error="größer als 3 · ☃")
    assert (letters.execution(box(what), letters.letter(box(what), RUN, HERE), HERE, T0).stdin or "ü").isascii()
    message = mailed(what)
    assert message["To"] == "ada"
    assert message["Subject"] == "jobctl on web1: backup failed: exit 3"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"].datetime == datetime.fromtimestamp(T0 / 1000, UTC)
    assert message["Message-ID"] == f"<{T0}.n.12.{ADA.id}@web1>"
    assert "last line  größer als 3 · ☃\n" in message.get_content()


def test_a_subject_may_have_any_letters() -> None:
    assert mailed(happened(name="größe ☃" * 20))["Subject"].startswith("jobctl on web1: größe ☃größe")
    assert mailed(happened(reason="=?utf-8?q?=0ATo:_x?="))["Subject"].endswith("=?utf-8?q?=0ATo:_x?=")


def test_a_mail_goes_to_the_address_that_was_given() -> None:
    assert mailed(happened(), Address(to="mail:ops@example.org", owner="ada"))["To"] == "ops@example.org"


def test_mail_runs_as_the_jobs_user_with_its_path() -> None:
    held = box(happened())
    work = letters.execution(held, letters.letter(held, None, HERE), HERE, T0)
    assert (work.user, work.path, work.shell) == ("www-data", "/usr/bin:/bin", letters.SENDMAIL)
    here = HERE._replace(sendmail="/opt/a b/sendmail")
    work = letters.execution(held, letters.letter(held, None, here), here, T0)
    assert work.shell == "exec '/opt/a b/sendmail' -i -t"


@given(st.text(), st.text(), st.text(), st.text())
def test_nothing_that_a_job_says_becomes_a_header_or_a_command(name: str, reason: str, error: str, to: str) -> None:
    nasty = happened(name=f"x\nBcc: {name}", reason=f"\r\nBcc: {reason}", error=f"\n.\n{error}", key=f"\0{name}")
    message = mailed(nasty, Address(to=f"mail:a@b\nBcc: {to}", owner="ada"))
    assert sorted(message.keys()) == [
        "Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "MIME-Version", "Message-ID", "Subject",
        "To",
    ]  # fmt: skip
    held = box(nasty, address=Address(to="exec:page me", owner="ada"))
    work = letters.execution(held, letters.letter(held, None, HERE), HERE, T0)
    assert work.shell == "page me"
    assert all("\0" not in value and "\n" not in value for value in work.env.values())


def test_a_strange_host_name_makes_no_strange_message_id() -> None:
    held = box(happened())
    wanted = letters.letter(held, None, HERE)
    assert "@a-b-.c>" in letters.mail(held, wanted, Here("a b>.c", "UTC"), T0)
    assert "@localhost>" in letters.mail(held, wanted, Here("", "UTC"), T0)


# ── the commands themselves ──────────────────────────────────────────────


def test_sendmail_is_found_on_the_path_of_the_job(tmp_path: Path) -> None:
    program = tmp_path / "sendmail"
    program.write_text(f"#!/bin/sh\nprintf '%s ' \"$@\" >{tmp_path}/said; cat >>{tmp_path}/said\n")
    program.chmod(0o755)
    subprocess.run(
        ["/bin/sh", "-c", letters.SENDMAIL], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, input=b"To: ada\n", check=True
    )
    assert (tmp_path / "said").read_text() == "-i -t To: ada\n"


@pytest.mark.skipif(Path("/usr/sbin/sendmail").exists() or Path("/usr/lib/sendmail").exists(), reason="there is one")
def test_where_there_is_no_sendmail_it_says_so_and_ends_with_127() -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", letters.SENDMAIL], env={"PATH": "/usr/bin:/bin"}, capture_output=True, check=False
    )
    assert done.returncode == 127
    assert done.stderr == b"there is no sendmail here: install a mail transport, or use --notify exec:COMMAND\n"


def test_a_command_gets_the_text_on_its_input_and_the_facts_in_its_environment() -> None:
    held = box(happened(), address=Address(to="exec:page --me", owner="ada"))
    wanted = letters.letter(held, RUN, HERE)
    work = letters.execution(held, wanted, HERE, T0)
    assert (work.shell, work.stdin) == ("page --me", wanted.text)
    assert work.env == {
        "JOBCTL_EVENT": "dead",
        "JOBCTL_ABOUT_HOST": "web1",
        "JOBCTL_ABOUT_JOB": "backup",
        "JOBCTL_ABOUT_RUN": "4711",
        "JOBCTL_ABOUT_KEY": "s:1",
        "JOBCTL_ABOUT_CLASS": "exit_code",
        "JOBCTL_ABOUT_REASON": "exit 3",
        "JOBCTL_ABOUT_COUNT": "1",
    }
