"""People are told: a real daemon, real commands, a receiver that answers, hangs or fails, and kill -9 in between."""

import email
import os
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from kit.daemon import Json, RealDaemon, real_daemon
from kit.gate import Gates

ENDED = ("succeeded", "failed", "cancelled", "dead")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


class Receiver:
    """A FIFO: who writes a message waits until the test reads it."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path
        self.command = f'exec:{{ cat; env | grep "^JOBCTL_[EA][VB]"; }} >{path}'

    def message(self) -> str:
        return self._path.read_text()


@pytest.fixture
def receiver(tmp_path: Path) -> Receiver:
    return Receiver(tmp_path / "receiver")


def dies(daemon: RealDaemon, name: str = "bad", command: str = "echo no space; exit 64", **fields: object) -> Json:
    """A run of a new job that ends dead at once."""
    daemon.add(name, command, **fields)
    run = daemon.client.run(daemon.client.trigger(name, {})["id"], wait_s=30)
    assert run["state"] == "dead", (run, daemon.log())
    return run


def deliveries(daemon: RealDaemon) -> list[Json]:
    return [run for run in daemon.client.runs() if run["trigger"] == "notice"]


def delivered(daemon: RealDaemon) -> Json:
    """The one delivery there is, when it has ended."""
    while not deliveries(daemon):
        pass
    (run,) = deliveries(daemon)
    ended = daemon.client.run(run["id"], wait_s=30)
    assert ended["state"] in ENDED, (ended, daemon.log())
    return ended


def test_a_command_is_told_of_a_dead_letter(daemon: RealDaemon, receiver: Receiver) -> None:
    run = dies(daemon, notify=[receiver.command])
    said = receiver.message()
    assert ": bad failed: exit 64" in said
    assert "last line  no space\n" in said
    assert f"jobctl dlq replay {run['id']} " in said
    assert "JOBCTL_EVENT=dead\n" in said
    assert f"JOBCTL_ABOUT_KEY={run['key']}\n" in said
    assert f"JOBCTL_ABOUT_RUN={run['id']}\n" in said
    assert delivered(daemon)["state"] == "succeeded"
    assert [job["name"] for job in daemon.client.jobs()] == ["bad"]


def test_mail_goes_to_the_login_name_by_the_sendmail_on_the_jobs_path(daemon: RealDaemon, tmp_path: Path) -> None:
    inbox = Receiver(tmp_path / "inbox")
    sendmail = tmp_path / "sendmail"
    sendmail.write_text(f'#!/bin/sh\n{{ echo "X-Arguments: $*"; cat; }} >{tmp_path}/inbox\n')
    sendmail.chmod(0o755)
    nasty = 'printf "x\\r\\nBcc: all@example.org\\n\\033[2J größe\\n"; exit 64'
    dies(daemon, command=nasty, notify=["mail"], env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    message = email.message_from_string(inbox.message(), policy=policy.default)
    assert isinstance(message, EmailMessage)
    assert message["X-Arguments"] == "-i -t"
    assert message["To"] == daemon.client.status()["user"]
    assert ": bad failed: exit 64" in message["Subject"]
    assert message["Bcc"] is None
    assert "größe\n" in message.get_content()
    assert "\x1b" not in message.get_content()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_delivery_runs_as_the_jobs_user(daemon: RealDaemon) -> None:
    dies(daemon, user="nobody", notify=["exec:id -un"])
    assert daemon.output(delivered(daemon)) == b"nobody\n"


@pytest.mark.long
@pytest.mark.case("F148")
def test_a_daemon_killed_after_the_failure_tells_of_it_once(daemon: RealDaemon, receiver: Receiver) -> None:
    dies(daemon, notify=[receiver.command])
    daemon.kill9()
    daemon.start()
    assert ": bad failed: exit 64" in receiver.message()
    assert delivered(daemon)["state"] == "succeeded"
    daemon.kill9()
    daemon.start()
    dies(daemon, "other", notify=["exec:true"])
    while len(deliveries(daemon)) < 2:
        pass
    assert sorted(run["job"] for run in deliveries(daemon)) == ["notify bad", "notify other"]


@pytest.mark.long
def test_a_failure_while_the_daemon_was_dead_is_told_when_it_is_back(
    daemon: RealDaemon, receiver: Receiver, tmp_path: Path
) -> None:
    gates = Gates(tmp_path / "gates")
    daemon.add("gated", gates.command("one", ending="exit 64"), notify=[receiver.command])
    run = daemon.until_says(daemon.client.trigger("gated", {}), b"begin")
    daemon.kill9()
    gates.open("one")
    daemon.start()
    assert ": gated failed: exit 64" in receiver.message()
    assert daemon.client.run(run["id"])["state"] == "dead"
    assert delivered(daemon)["state"] == "succeeded"


@pytest.mark.long
@pytest.mark.case("F148")
def test_a_receiver_that_hangs_holds_up_nothing_and_its_message_outlives_the_daemon(
    daemon: RealDaemon, receiver: Receiver
) -> None:
    dies(daemon, notify=[receiver.command])
    while [run["state"] for run in deliveries(daemon)] != ["running"]:
        pass
    others = [daemon.run(["/bin/echo", str(number)]) for number in range(20)]
    assert [daemon.output(daemon.finished(run)) for run in others] == [b"%d\n" % number for number in range(20)]
    assert [run["state"] for run in deliveries(daemon)] == ["running"]

    daemon.kill9()
    daemon.start()
    assert ": bad failed: exit 64" in receiver.message()
    ended = delivered(daemon)
    assert (ended["state"], ended["attempt"]) == ("succeeded", 1)


@pytest.mark.case("F148")
def test_a_delivery_that_fails_for_good_is_a_warning_and_no_dead_letter(daemon: RealDaemon) -> None:
    dies(daemon, notify=["exec:echo nobody listens; exit 64"])
    ended = delivered(daemon)
    assert (ended["state"], ended["job"]) == ("failed", "notify bad")
    assert daemon.output(ended) == b"nobody listens\n"
    words = "1 message could not be delivered: jobctl runs 'notify bad' --state failed"
    while words not in (status := daemon.client.status())["warnings"]:
        pass
    assert status["dead"]["total"] == 1
    assert status["jobs"]["failed"] == 1
    daemon.stop()
    daemon.start()
    while words not in daemon.client.status()["warnings"]:
        pass
