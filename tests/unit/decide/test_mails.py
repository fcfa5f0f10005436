"""The mail of a run: when there is one, its headers, whatever a job is made of, and what is said when it cannot be."""

import email
from email import policy
from email.message import EmailMessage
from typing import Any

import msgspec
import pytest

from jobctl.model import Attempt, Enclosed, Event, Execution, Mail, Run
from jobctl.states import MailOn, RunState, Trigger
from jobctl_daemon.decide import mails, unsent
from jobctl_daemon.decide.letters import Here
from jobctl_daemon.decide.mails import Delivered, End, Office
from jobctl_daemon.decide.unsent import Troubles
from jobctl_daemon.rows import Mailing

OFFICE = Office(Here("web1.example.org", "Europe/Berlin"), "/usr/sbin/sendmail", "root")
TO_ADA = Mail(to="ada")
END = End(run_id=7, fence=1_800_000_000_000, size=12, failed=False, at_ms=1_772_690_828_000, why="")
RUN = Run(
    id=7, key="u/s:1", job_id=3, job="backup", queue="default", version=1, edited=False, trigger=Trigger.SCHEDULE,
    scheduled_at="2026-03-05T06:07:00Z", due_at="2026-03-05T06:07:00Z", started_at=None, finished_at=None,
    state=RunState.SUCCEEDED, outcome="ok", failure_class=None, reason=None, attempt=1, uncounted=0, max_attempts=1,
    replays=0, put_back=None, retry_of=None, error=None, fingerprint=None, fence=1, node=None, lease_until=None,
    exit_code=0, signal=None, late=False, coalesced=0,
)  # fmt: skip
ATTEMPT = Attempt(
    run_id=7, attempt=1, fence=1, node="n", pid=1, claimed_at="2026-03-05T06:07:00Z", started_at=None, ended_at=None,
    exit_code=0, signal=None, failure_class=None, detail=None, cpu=None, max_rss=None, log_size=12, log_dropped=0,
    signals=[], left_behind=[],
)  # fmt: skip


def mailing(detail: str | None = None, mail: Mail | None = TO_ADA, source: str = "cli", **work: Any) -> Mailing:
    """Of a run of ada's."""
    execution = Execution(**{"shell": "backup --all", **work})
    attempt = msgspec.structs.replace(ATTEMPT, detail=detail)
    return Mailing(run=RUN, attempt=attempt, owner="ada", source=source, execution=execution, mail=mail)


def message(end: End = END, **changes: Any) -> EmailMessage:
    made = email.message_from_string(mails.head(end, mailing(**changes), OFFICE), policy=policy.default)
    assert isinstance(made, EmailMessage)
    return made


def event(kind: str = "run.succeeded", **data: Any) -> Event:
    return Event(id=1, at="2026-03-05T06:07:08Z", kind=kind, job_id=3, run_id=7, data=data)


# ── when ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("on", "source", "of_crontabs", "said"),
    [
        (None, "cli", "never", "output"),
        (None, "crontab:d:1:/x", "output", "output"),
        (None, "crontab:d:1:/x", "failure", "failure"),
        (None, "crontab:d:1:/x", "never", "never"),
        (MailOn.FAILURE, "crontab:d:1:/x", "never", "failure"),
        (MailOn.ALWAYS, "cli", "never", "always"),
    ],
)
def test_whether_there_is_a_mail(on: MailOn | None, source: str, of_crontabs: str, said: str) -> None:
    of = mailing(mail=Mail(to="ada", on=on), source=source)
    got = [
        mails.wanted(END._replace(size=size, failed=failed), of, of_crontabs)
        for size, failed in ((0, False), (0, True), (9, False), (9, True))
    ]
    assert got == {
        "output": [False, False, True, True], "failure": [False, True, False, True],
        "always": [True] * 4, "never": [False] * 4,
    }[said]  # fmt: skip
    assert not mails.wanted(END, mailing(mail=None), "output")


@pytest.mark.parametrize(
    ("kind", "data", "read"),
    [
        ("run.failed", {"mail": 3, "fence": 9, "reason": "exit 3"}, End(7, 9, 3, True, 1_772_690_828_000, "exit 3")),
        ("run.dead", {"mail": 0, "fence": 9}, End(7, 9, 0, True, 1_772_690_828_000, "")),
        ("run.cancelled", {"mail": 5, "fence": 9}, End(7, 9, 5, False, 1_772_690_828_000, "")),
        ("run.succeeded", {"fence": 9, "key": "m:1", "name": "mail"}, Delivered("sent")),
        ("run.succeeded", {"mail": "x", "fence": 9}, None),
        ("run.succeeded", {"mail": 5}, None),
        ("run.failed", {"fence": 9}, None),
        ("run.succeeded", {"key": "mail:7:9", "fence": 1}, Delivered("sent", 7, 9)),
        ("run.failed", {"key": "mail:7:9", "exit_code": 75}, Delivered("failed", 7, 9, 75)),
        ("run.skipped", {"key": "mail:7:9"}, Delivered("dropped", 7, 9)),
        ("run.cancelled", {"key": "mail:7:9"}, None),
        ("run.failed", {"key": "mail:x"}, None),
    ],
)
def test_what_an_event_is(kind: str, data: dict[str, Any], read: object) -> None:
    assert mails.read(event(kind, **data)) == read
    assert mails.concerns(event(kind, **data)) == ("mail" in data or str(data.get("key")).startswith("mail:"))


# ── the message ──────────────────────────────────────────────


def test_the_headers_are_those_of_cron() -> None:
    head = mails.head(END, mailing(source="crontab:d:1:/x", env={"PATH": "/bin", "MAILTO": "ada"}), OFFICE)
    assert head.splitlines() == [
        "From: root (Cron Daemon)",
        "To: ada",
        "Subject: Cron <ada@web1> backup --all",
        "Date: Thu, 05 Mar 2026 07:07:08 +0100",
        "Message-ID: <1772690828000.mail.7.1800000000000@web1.example.org>",
        "Auto-Submitted: auto-generated",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
        "X-Cron-Env: <SHELL=/bin/sh>",
        "X-Cron-Env: <PATH=/bin>",
        "X-Cron-Env: <MAILTO=ada>",
        "X-Cron-Env: <LOGNAME=ada>",
        "X-Jobctl-Run: 7",
        "",
    ]


def test_the_delivery_is_done_by_the_mail_program_as_whom_the_run_ran_as() -> None:
    made = mails.notice(END, mailing(user="www-data"), OFFICE)
    assert (made.key, made.job_id, made.name, made.mail) == ("mail:7:1800000000000", 3, "mail", True)
    assert made.execution.command == ["/usr/sbin/sendmail", "-i", "-t"]
    assert (made.execution.user, made.execution.env) == ("www-data", {})
    assert made.execution.sends == Enclosed(run_id=7, fence=1_800_000_000_000, size=12)
    assert "Cron <www-data@web1>" in (made.execution.stdin or "")


def test_a_run_that_failed_says_so_as_debians_cron_does() -> None:
    made = message(END._replace(failed=True, why="exit 3"))
    assert (made["Subject"], made["X-Jobctl-Run"]) == ("Cron <ada@web1> backup --all (failed)", "7 exit 3")


@pytest.mark.parametrize(
    ("work", "words"),
    [
        ({"shell": None, "command": ["/bin/bash", "-c", "a | b"]}, "a | b"),
        ({"shell": None, "command": ["/opt/x", "a b"]}, "/opt/x 'a b'"),
        ({"shell": "größe"}, "größe"),
        ({"shell": "a\nBcc: all@example.org\n\nbody"}, "a Bcc: all@example.org  body"),
        ({"shell": "\x1b[2J\0\u2028x"}, "[2J  x"),
        ({"shell": "=?utf-8?q?x?="}, "=?utf-8?q?x?="),
    ],
)
def test_whatever_a_command_is_its_words_are_one_subject(work: dict[str, Any], words: str) -> None:
    made = message(**work)
    assert " ".join(str(made["Subject"]).split()) == " ".join(f"Cron <ada@web1> {words}".split())
    assert made["Bcc"] is None
    assert made.get_payload() == ""


def test_a_long_command_is_cut_so_that_no_transport_refuses_its_line() -> None:
    head = mails.head(END._replace(failed=True), mailing(shell="x" * 5_000), OFFICE)
    assert max(map(len, head.splitlines())) < 998


@pytest.mark.parametrize(
    ("env", "header", "value"),
    [
        ({"CONTENT_TYPE": "text/html; charset=latin1"}, "Content-Type", 'text/html; charset="latin1"'),
        ({"CONTENT_TYPE": "text/html\nBcc: x@y"}, "Content-Type", 'text/plain; charset="UTF-8"'),
        ({"CONTENT_TYPE": "x" * 300}, "Content-Type", 'text/plain; charset="UTF-8"'),
        ({"CONTENT_TRANSFER_ENCODING": "quoted-printable"}, "Content-Transfer-Encoding", "quoted-printable"),
        ({"CONTENT_TRANSFER_ENCODING": "8bit\rX: y"}, "Content-Transfer-Encoding", "8bit"),
        ({"MAILFROM": "backup@example.org"}, "From", "backup@example.org"),
        ({"MAILFROM": "x\nBcc: y@z"}, "From", "root"),
        ({"MAILFROM": "-f"}, "From", "root"),
    ],
)
def test_what_a_crontab_says_of_headers_holds_where_it_can_be_one(env: dict[str, str], header: str, value: str) -> None:
    made = message(env=env, source="crontab:d:1:/x")
    assert made[header] == value
    assert made["Bcc"] is made["X"] is None


def test_the_environment_of_other_jobs_stays_at_home_and_a_long_one_is_cut() -> None:
    secret = {"TOKEN": "s3cret"}
    assert "s3cret" not in mails.head(END, mailing(env=secret), OFFICE)
    many = {f"V{n}": "x\n" * 1_000 for n in range(200)}
    lines = message(env=many, source="crontab:d:1:/x").get_all("X-Cron-Env", [])
    assert len(lines) == 50
    assert all(len(line) < 600 for line in lines)


@pytest.mark.parametrize(
    ("size", "why", "detail", "said"),
    [
        (5, "", None, None),
        (0, "", None, "it printed nothing"),
        (0, "exit 3", None, "it printed nothing; exit 3"),
        (5, "", "log_incomplete(ENOSPC)", "a part of the output is missing: there was no room to keep it"),
    ],
)
def test_what_is_said_beside_the_output(size: int, why: str, detail: str | None, said: str | None) -> None:
    assert mails.note(END._replace(size=size, why=why), mailing(detail=detail)) == said


# ── what could not be sent ──────────────────────────────────────────────


def test_what_could_not_be_sent_is_counted_kept_and_over_when_mail_goes_again() -> None:
    troubles = Troubles({})
    assert (troubles.warning(1_000), troubles.next_ms(), troubles.changes()) == (None, None, {})
    troubles.one_more("unsent", 1_000)
    troubles.one_more("unsent", 2_000)
    troubles.one_more("failed", 2_000)
    notes = {key: text for key, text in troubles.changes().items() if text is not None}
    assert notes.keys() == {"mailed:failed", "mailed:unsent"}
    again = Troubles(notes | {"mailed:dropped": "{"})
    said = again.warning(3_000) or ""
    assert said == troubles.warning(3_000)
    assert said.startswith("mail of 2 runs was not sent: there is no sendmail here; install a mail transport")
    assert "; mail of 1 run could not be delivered: jobctl runs mail --state failed" in said
    assert again.next_ms() == 2_000 + unsent.WARN_MS
    again.over("unsent")
    again.over("failed")
    assert (again.warning(3_000), again.changes()) == (None, {"mailed:failed": None, "mailed:unsent": None})
    again.written()
    assert again.changes() == {}


def test_a_trouble_is_told_for_a_day_and_none_of_a_clock_that_was_wrong() -> None:
    troubles = Troubles({})
    troubles.one_more("missed", 1_000)
    assert troubles.warning(1_000 + unsent.WARN_MS - 1) is not None
    assert troubles.warning(1_000 + unsent.WARN_MS) is None
    troubles.one_more("dropped", 9_000)
    assert troubles.warning(8_000) is None
