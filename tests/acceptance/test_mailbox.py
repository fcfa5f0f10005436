"""Mail arrives in real mailboxes of real users, through a real sendmail: that of Debian's dma."""

import contextlib
import email
import fcntl
import mailbox
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from kit.accounts import Account, Accounts, needs_root
from kit.daemon import Json, RealDaemon
from kit.mta import mail_transport
from kit.mta import mailbox as place_of

pytestmark = needs_root


@pytest.fixture(scope="module")
def users() -> Iterator[list[Account]]:
    accounts = Accounts()
    try:
        yield [accounts.user() for _ in range(5)]
    finally:
        accounts.close()


@pytest.fixture(scope="module")
def daemon(users: list[Account], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    """One for the file: a view of the file system takes its time. The users are made before: it is as of then."""
    folder = tmp_path_factory.mktemp("mailbox")
    made = RealDaemon(folder / "home")
    mail_transport(folder / "mta").around(made)
    try:
        yield made.start()
    finally:
        made.close()


def mails(daemon: RealDaemon, user: Account, count: int) -> list[EmailMessage]:
    """What is in the user's mailbox, once there are so many. The transport delivers in a process of its own."""
    path = place_of(daemon, user.name)
    while True:
        found = list(_read(path)) if path.exists() else []
        if len(found) >= count:
            return found


def _read(path: Path) -> Iterator[EmailMessage]:
    """Not while the transport writes there: it holds the file's lock meanwhile."""
    with path.open("rb") as locked, contextlib.closing(mailbox.mbox(str(path), create=False)) as box:
        fcntl.flock(locked, fcntl.LOCK_SH)
        for text in box:
            found = email.message_from_bytes(text.as_bytes(), policy=policy.default)
            assert isinstance(found, EmailMessage)
            yield found


def imported(daemon: RealDaemon, table: str, owner: Account, command: str) -> Json:
    """A line of a table, as `jobctl import crontab` makes it of a file with a user column; its run, to the end."""
    text = f"{table}0 0 1 1 * {owner.name} {command}\n"
    path = daemon.home / "table"
    path.write_text(text)
    done = daemon.jobctl("import", "crontab", str(path), "--system", "--apply", "--yes")
    assert done.returncode == 0, done.stderr + done.stdout
    job = max(daemon.client.jobs(), key=lambda job: int(job["id"]))
    return daemon.finished(daemon.triggered(str(job["id"])))


def test_the_output_of_a_crontab_line_is_in_the_mailbox_of_its_user(daemon: RealDaemon, users: list[Account]) -> None:
    ada, other = users[:2]
    imported(daemon, "", ada, r"printf 'caf\303\251 \351\n.\nbye\n'; exit 3")
    (mail,) = mails(daemon, ada, 1)
    host = daemon.client.status()["host"].partition(".")[0]
    assert (mail["To"], mail["From"]) == (ada.name, "root")
    assert mail["Subject"] == rf"Cron <{ada.name}@{host}> printf 'caf\303\251 \351\n.\nbye\n'; exit 3 (failed)"
    assert mail["Content-Type"] == 'text/plain; charset="UTF-8"'
    assert f"from {ada.name} (uid {ada.uid})" in mail["Received"]
    assert f"<LOGNAME={ada.name}>" in mail.get_all("X-Cron-Env", [])
    assert mail.get_payload(decode=True) == b"caf\xc3\xa9 \xe9\n.\nbye\n"
    assert not place_of(daemon, other.name).exists()


def test_mailto_names_others_or_nobody(daemon: RealDaemon, users: list[Account]) -> None:
    ada, bob = users[2:4]
    before = len(mails(daemon, ada, 0))
    imported(daemon, 'MAILTO=""\n', ada, "echo to nobody")
    imported(daemon, "MAILTO=-oQ/tmp\n", ada, "echo to an option")
    imported(daemon, f"MAILTO={bob.name},{ada.name}\n", ada, "echo to both")
    (to_bob,), to_ada = mails(daemon, bob, 1), mails(daemon, ada, before + 1)
    assert (to_bob["To"], to_bob.get_content().strip()) == (f"{bob.name}, {ada.name}", "to both")
    assert [mail.get_content().strip() for mail in to_ada[before:]] == ["to both"]


def test_a_mail_of_nearly_ten_megabytes_arrives_whole(daemon: RealDaemon, users: list[Account]) -> None:
    dan = users[4]
    line, count = "-".join(map(str, range(1, 241))), 11_000
    imported(daemon, "", dan, f"yes $(seq -s- 1 240) | head -n {count}; echo the end")
    mails(daemon, dan, 1)
    path = place_of(daemon, dan.name)
    while path.stat().st_size < (len(line) + 1) * count or not path.read_bytes().endswith(b"the end\n"):
        pass
    (mail,) = mails(daemon, dan, 1)
    assert mail.get_payload(decode=True) == f"{line}\n".encode() * count + b"the end\n"
