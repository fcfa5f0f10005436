"""What the service manager hears from the daemon."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.notify import Supervisor


@pytest.fixture(params=["a file", "an abstract name"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A manager's socket, and how NOTIFY_SOCKET names it."""
    name = str(tmp_path / "notify") if request.param == "a file" else f"@jobctl-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind("\0" + name[1:] if name.startswith("@") else name)
        listener.settimeout(5)
        yield listener, name


def test_each_word_arrives_as_one_datagram(manager: tuple[socket.socket, str]) -> None:
    listener, name = manager
    supervisor = Supervisor.of({"NOTIFY_SOCKET": name}, pid=1)
    heard = []
    for said in (
        supervisor.ready("12 jobs"),
        supervisor.alive(),
        supervisor.status("two\nlines"),
        supervisor.stopping(),
    ):
        assert said
        heard.append(listener.recv(4096))
    assert heard == [b"READY=1\nSTATUS=12 jobs", b"WATCHDOG=1", b"STATUS=two lines", b"STOPPING=1"]


def test_a_reload_carries_its_moment(manager: tuple[socket.socket, str]) -> None:
    listener, name = manager
    assert Supervisor.of({"NOTIFY_SOCKET": name}, pid=1).reloading()
    word, moment = listener.recv(4096).split(b"\n")
    assert word == b"RELOADING=1"
    assert moment.startswith(b"MONOTONIC_USEC=")
    assert int(moment.removeprefix(b"MONOTONIC_USEC=")) > 0


@pytest.mark.parametrize(
    "environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "vsock:2:1234"}, {"NOTIFY_SOCKET": "relative/path"}]
)
def test_without_a_manager_nothing_is_said_and_nothing_fails(environ: dict[str, str]) -> None:
    supervisor = Supervisor.of(environ, pid=1)
    assert supervisor.alive_every_s is None
    assert not supervisor.ready("up")
    assert not supervisor.alive()


def test_a_manager_that_has_gone_is_no_error(tmp_path: Path) -> None:
    assert not Supervisor.of({"NOTIFY_SOCKET": str(tmp_path / "gone")}, pid=1).ready()


def test_a_manager_that_does_not_read_never_blocks_the_daemon(tmp_path: Path) -> None:
    name = str(tmp_path / "full")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name)
        supervisor = Supervisor.of({"NOTIFY_SOCKET": name}, pid=1)
        assert not all(supervisor.alive() for _ in range(10_000))  # the queue is bounded: refused, not waited for


@pytest.mark.parametrize(
    ("environ", "every_s"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_at_half_its_time(environ: dict[str, str], every_s: float | None) -> None:
    assert Supervisor.of({"NOTIFY_SOCKET": "/run/n", **environ}, pid=7).alive_every_s == every_s
