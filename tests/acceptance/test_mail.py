"""Mail as cron sends it: real daemons, a mail program that answers, hangs, fails or is not there, and kill -9."""

import email
import os
import pwd
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from kit.crontab_host import soon
from kit.daemon import Json, RealDaemon
from kit.gate import Gates
from kit.syslog import Syslog

pytestmark = pytest.mark.long

ME = pwd.getpwuid(os.geteuid()).pw_name
TO_ADA = {"to": "ada", "on": "output"}


class Program:
    """A mail program of the test's own: what it was called with and what it read is kept, a file for each call."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "sendmail"
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        self.install()

    def install(self, first: str = "") -> None:
        """It is there from now on; `first` is what it does before it takes anything."""
        draft = self.path.with_suffix(".draft")
        draft.write_text(
            f'#!/bin/sh\n{first}\nout=$(mktemp {self.inbox}/.XXXXXX)\n{{ echo "X-Arguments: $*"; cat; }} >"$out"\n'
            f'mv "$out" "{self.inbox}/$JOBCTL_RUN_ID"\n'
        )
        draft.chmod(0o755)
        draft.rename(self.path)

    def raw(self) -> list[bytes]:
        return [file.read_bytes() for file in sorted(self.inbox.glob("[0-9]*"), key=lambda file: int(file.name))]

    def mails(self) -> list[EmailMessage]:
        found = [email.message_from_bytes(text, policy=policy.default) for text in self.raw()]
        assert all(isinstance(mail, EmailMessage) for mail in found)
        return found


class Desk:
    """A daemon and its mail program, for all tests of the file: each looks at what came after it began."""

    def __init__(self, daemon: RealDaemon, program: Program) -> None:
        self.daemon = daemon
        self.program = program
        self._after = 0

    def settings(self, more: str = 'syslog = "off"') -> RealDaemon:
        return self.daemon.settings(f'sendmail = "{self.program.path}"\n{more}\n')

    def begin(self) -> None:
        """Nothing of the tests before is left to be seen, nor is on its way."""
        self.daemon.until(lambda: not list(self.daemon.client.runs(q="mail", state="scheduled,ready,running")))
        self._after = max([int(run["id"]) for run in self.daemon.client.runs(q="mail")], default=0)
        for file in self.program.inbox.iterdir():
            file.unlink()
        self.program.install()

    def ran(self, command: str, **fields: object) -> Json:
        """A run of a new job whose output is mailed, to its end."""
        name = f"backup-{len(list(self.daemon.client.jobs()))}"
        self.daemon.add(name, command, **{"mail": TO_ADA, "retry": {"max": 0}, "on_failure": "record", **fields})
        return self.daemon.finished(self.daemon.triggered(name))

    def deliveries(self) -> list[Json]:
        found = [run for run in self.daemon.client.runs(q="mail") if run["id"] > self._after]
        return sorted(found, key=lambda run: int(run["id"]))

    def delivered(self, count: int = 1) -> list[Json]:
        """The deliveries there are, when so many have ended."""

        def ended() -> list[Json] | None:
            over = [run for run in self.deliveries() if run["state"] in ("succeeded", "failed", "skipped")]
            return self.deliveries() if len(over) >= count else None

        return self.daemon.until(ended)

    def left(self) -> list[str]:
        """Messages that no start needs any more."""
        return os.listdir(self.daemon.home / "state" / "mail")

    def warned(self, words: str) -> None:
        """Waits for a warning, or with nothing for their end."""
        while not (words and any(words in text for text in self._warnings())) and (words or self._warnings()):
            pass

    def _warnings(self) -> list[str]:
        return [str(text) for text in self.daemon.client.status()["warnings"]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("mail")
    desk = Desk(RealDaemon(folder / "home"), Program(folder))
    try:
        desk.settings().start()
        yield desk
    finally:
        desk.daemon.close()


@pytest.fixture
def desk(shared: Desk) -> Desk:
    shared.begin()
    return shared


def test_what_a_run_prints_is_mailed_with_the_headers_of_cron(desk: Desk) -> None:
    env = {"PATH": "/usr/bin:/bin", "MAILTO": "ada"}
    run = desk.ran(r"printf 'caf\351\n.\nFrom x\n'; exit 3", source="crontab:d:1:/etc/crontab", env=env)
    (delivery,) = desk.delivered()
    (mail,) = desk.program.mails()
    host = desk.daemon.client.status()["host"].partition(".")[0]
    assert (mail["X-Arguments"], mail["To"]) == ("-i -t", "ada")
    assert f"\nFrom: {ME} (Cron Daemon)\n".encode() in desk.program.raw()[0]
    assert mail["Subject"] == rf"Cron <{ME}@{host}> printf 'caf\351\n.\nFrom x\n'; exit 3 (failed)"
    assert (mail["MIME-Version"], mail["Content-Transfer-Encoding"]) == ("1.0", "8bit")
    assert mail["Content-Type"] == 'text/plain; charset="UTF-8"'
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_all("X-Cron-Env") == [
        "<SHELL=/bin/sh>", "<PATH=/usr/bin:/bin>", "<MAILTO=ada>", f"<LOGNAME={ME}>",
    ]  # fmt: skip
    assert mail["X-Jobctl-Run"] == f"{run['id']} exit 3"
    assert desk.program.raw()[0].endswith(b"\n\ncaf\xe9\n.\nFrom x\n")
    assert (delivery["job"], delivery["queue"], delivery["state"]) == ("mail", "jobd-mail", "succeeded")
    assert "mail" not in [job["name"] for job in desk.daemon.client.jobs()]
    assert next(iter(desk.daemon.client.runs()))["id"] == run["id"]
    assert desk.left() == []


def test_only_what_is_wanted_is_mailed(desk: Desk) -> None:
    desk.ran("true")
    desk.ran("false")
    desk.ran("echo x", mail={"to": "ada", "on": "failure"})
    desk.ran("echo x", mail=None)
    desk.ran("exit 4", mail={"to": "ada", "on": "failure"})
    desk.ran("true", mail={"to": "ada,bob@example.org", "on": "always"})
    desk.delivered(2)
    bad, always = desk.program.mails()
    assert (bad["X-Jobctl-Run"].partition(" ")[2], bad.get_content()) == (
        "exit 4", "[jobctl: it printed nothing; exit 4]\n",
    )  # fmt: skip
    assert (always["To"], always.get_content()) == ("ada, bob@example.org", "[jobctl: it printed nothing]\n")


def test_nothing_that_a_job_is_made_of_becomes_a_header_or_an_argument(desk: Desk) -> None:
    evil = "x\r\nBcc: all@example.org\r\n\r\nbody -oQ/tmp"
    desk.ran(f"echo {evil!r} '\x1b[2J größe'", source="crontab:d:1:/x", env={
        "MAILFROM": "-fevil", "CONTENT_TYPE": "text/html\nBcc: b@example.org", "CONTENT_TRANSFER_ENCODING": "\u2028",
        "EVIL": "1>\nBcc: c@example.org\n\n",
    })  # fmt: skip
    desk.delivered()
    (mail,) = desk.program.mails()
    assert (mail["X-Arguments"], mail["From"], mail["Bcc"]) == ("-i -t", ME, None)
    assert (mail["Content-Type"], mail["Content-Transfer-Encoding"]) == ('text/plain; charset="UTF-8"', "8bit")
    assert "größe" in mail["Subject"]
    assert "<EVIL=1> Bcc: c@example.org>" in mail.get_all("X-Cron-Env", [])
    assert desk.daemon.jobctl("add", "y", "--mail", "-oQ/tmp/x", "--", "true").returncode == 2


def test_a_daemon_killed_between_the_end_and_the_mail_sends_one(desk: Desk, tmp_path: Path) -> None:
    gates = Gates(tmp_path / "gates")
    desk.daemon.add("gated", gates.command("one"), mail=TO_ADA)
    desk.daemon.until_says(desk.daemon.triggered("gated"), b"begin")
    desk.daemon.kill9()
    gates.open("one")
    desk.daemon.start()
    desk.delivered()
    desk.daemon.restart()
    desk.ran("echo x")
    desk.delivered(2)
    assert len(desk.program.raw()) == len(desk.deliveries()) == 2


def test_a_program_that_hangs_holds_up_nothing_and_its_mail_outlives_the_daemon(desk: Desk, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "door")
    desk.program.install(f"read -r x <{tmp_path}/door")
    desk.ran("echo first")
    desk.daemon.until(lambda: [run["state"] for run in desk.deliveries()] == ["running"])
    assert desk.daemon.output(desk.daemon.finished(desk.daemon.run("echo other"))) == b"other\n"
    soon(desk.daemon, lambda: desk.left() == [], 5.0)
    desk.daemon.restart()
    (tmp_path / "door").write_text("open\n")
    (delivery,) = desk.delivered()
    assert (delivery["state"], delivery["attempt"], len(desk.program.raw())) == ("succeeded", 1, 1)


def test_a_program_that_fails_twice_gets_the_same_mail_again(desk: Desk) -> None:
    calls = f"{desk.program.path}.calls"
    desk.program.install(f"echo >>{calls}; [ $(wc -l <{calls}) -gt 2 ] || exit 75")
    desk.ran("echo first")
    for attempt in (1, 2):

        def waits(attempt: int = attempt) -> Json | None:
            return next(
                (run for run in desk.deliveries() if run["attempt"] == attempt and run["state"] == "ready"), None
            )

        desk.daemon.client.retry_run(desk.daemon.until(waits)["id"])
    (delivery,) = desk.delivered()
    assert (delivery["state"], delivery["attempt"], len(desk.program.raw())) == ("succeeded", 3, 1)
    assert desk.program.mails()[0].get_content() == "first\n"


def test_where_there_is_no_program_there_is_one_warning_and_one_installed_later_is_used(
    desk: Desk, tmp_path: Path
) -> None:
    syslog = Syslog(tmp_path / "log")
    desk.settings(f'syslog = "on"\nsyslog_socket = "{syslog.path}"').restart()
    desk.program.path.unlink()
    desk.ran("echo one")
    desk.ran("echo two")
    said = "mail of 2 runs was not sent: there is no sendmail here"
    desk.warned(said)
    assert desk.deliveries() == []
    assert sum("info (No MTA installed, discarding output)" in line for line in syslog.lines()) == 2
    desk.settings().restart()
    desk.warned(said)
    desk.program.install()
    desk.ran("echo three")
    desk.delivered()
    assert [mail.get_content() for mail in desk.program.mails()] == ["three\n"]
    desk.warned("")
    syslog.close()


def test_a_mail_that_cannot_be_delivered_is_a_warning_and_no_dead_letter(desk: Desk) -> None:
    desk.program.install("echo the mail queue is full >&2; exit 64")
    desk.ran("echo one")
    (delivery,) = desk.delivered()
    assert (delivery["state"], desk.daemon.output(delivery)) == ("failed", b"the mail queue is full\n")
    desk.warned("mail of 1 run could not be delivered: jobctl runs mail --state failed")
    assert "exit 64" in desk.daemon.jobctl("runs", "mail", "--state", "failed").stdout
    assert desk.daemon.client.status()["dead"]["total"] == 0


def test_long_and_shortened_output_and_output_that_is_gone(desk: Desk) -> None:
    desk.ran("seq 1 1500000", log_max=20_000_000)
    desk.ran("seq 1 20000", log_max=8192)
    desk.daemon.client.pause_queue("jobd-mail")
    gone = desk.ran("echo gone")
    desk.daemon.until(lambda: len(desk.deliveries()) == 3)
    (log,) = (desk.daemon.home / "state" / "runs").glob(f"*/{gone['id']}-*.log")
    log.unlink()
    desk.daemon.client.resume_queue("jobd-mail")
    desk.delivered(3)
    long, short, lost = (text.partition(b"\n\n")[2] for text in desk.program.raw())
    assert long.startswith(b"1\n2\n")
    assert long.endswith(b"1499999\n1500000\n")
    assert b"bytes are left out here, a mail has 10000000 at the most: jobctl log]\n" in long
    assert len(long) < 10_000_200
    assert (short.startswith(b"1\n2\n"), short.endswith(b"\n20000\n")) == (True, True)
    assert b"were removed by the log limit]\n" in short
    assert b"[jobctl: its output of 5 bytes was removed before this mail could be sent]\n" in lost
