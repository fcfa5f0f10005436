"""What is said over the socket, and what becomes of those who say it wrongly."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.runner.harness import ENV, Client, Runner, ended, pidfd, the_marked


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    runner = Runner(tmp_path)
    yield runner
    runner.close()


@pytest.fixture
def client(runner: Runner) -> Client:
    return runner.start()


def test_hello(runner: Runner, client: Client) -> None:
    hello = client.ask("hello", "hello", protocol=1, version="9")
    assert (hello["protocol"], hello["version"], hello["instance"]) == (1, "0.1.0", "1")
    assert hello["kill_by"] in ("cgroup", "process group, session and environment marker")
    assert hello["draining"] is False
    assert client.ask("ping", "pong") == {}


def test_places_are_private(runner: Runner, client: Client) -> None:
    assert stat.S_IMODE(runner.directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((runner.directory / "1.sock").stat().st_mode) == 0o600
    runner.begin(client, ["/bin/sleep", "1000"])
    for path in (runner.directory / "records").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"PATH" not in path.read_bytes()


@pytest.mark.parametrize(
    "line", [b"nonsense\n", b"[]\n", b"{}\n", b'{"op":"fly"}\n', b'{"op":"ack"}\n', b"\xff\n", b"x" * (9 << 20)]
)
def test_a_bad_line_ends_its_own_connection_only(runner: Runner, client: Client, line: bytes) -> None:
    bad = runner.connect()
    bad.wait("list")
    with contextlib.suppress(ConnectionError):
        bad.socket.sendall(line)
    try:
        assert bad.wait("error")
        with pytest.raises(EOFError):
            bad.hear()
    except ConnectionError:
        # What was still on its way to the runner makes the close a reset.
        assert len(line) > 1 << 20
    assert client.ask("ping", "pong") == {}


@pytest.mark.parametrize(
    "values",
    [
        {"id": "1-2"},
        {"argv": []},
        {"argv": ["a\0b"]},
        {"cwd": "relative"},
        {"env": {"A=B": "c"}},
        {"umask": 4096},
        {"stdin": {"base64": "§"}},
        {"stdin": {"text": "a", "file": "/b"}},
        {"user": {"uid": -1, "gid": 0}},
        {"argv": ["\ud800"]},
    ],
)
def test_an_order_that_makes_no_sense_is_refused(runner: Runner, client: Client, values: dict[str, object]) -> None:
    client.say("start", **{**runner.order(["/bin/true"], run_id=1), **values})
    refused = client.wait("refused")
    assert refused["invalid"]
    assert runner.run(client, ["/bin/true"], run_id=2)["exit_code"] == 0


def test_a_duplicate_start_is_answered_and_starts_nothing(runner: Runner, client: Client) -> None:
    order = runner.order(["/bin/sleep", "1000"], env={**ENV, "MARK": str(runner.state)})
    client.socket.sendall(encoded("start", **order) * 2)
    client.wait("started", order["id"])
    assert client.wait("known", order["id"])["state"] == "starting"
    client.say("start", **order)
    assert client.wait("known", order["id"])["state"] == "running"
    the_marked(str(runner.state))
    client.say("kill", id=order["id"], mode="kill")
    client.wait("ended", order["id"])
    client.say("start", **order)
    assert client.wait("known", order["id"])["result"]["cause"] == "killed"


def test_one_attempt_of_a_run_at_a_time(runner: Runner, client: Client) -> None:
    runner.begin(client, ["/bin/sleep", "1000"], run_id=4)
    client.say("start", **runner.order(["/bin/true"], run_id=4, fence=2))
    refused = client.wait("refused", "4-2")
    assert (refused["invalid"], "alive" in refused["reason"]) == (False, True)


def test_a_queued_start_can_be_cancelled(runner: Runner, client: Client) -> None:
    orders = [runner.order(["/bin/true"]) for _ in range(40)]
    words = b"".join(encoded("start", **order) for order in orders)
    client.socket.sendall(words + encoded("kill", id=orders[-1]["id"], mode="cancel"))
    result = client.wait("ended", orders[-1]["id"])
    assert (result["cause"], result["pid"], result["exit_code"]) == ("cancelled", None, None)


def test_a_living_attempt_is_not_acknowledged_away(runner: Runner, client: Client) -> None:
    attempt_id = runner.begin(client, ["/bin/sleep", "1000"])
    assert client.ask("ack", "acked", ids=[attempt_id, "5-5", "../x"])["ids"] == ["5-5", "../x"]
    assert f"{attempt_id}.pid" in runner.records
    client.say("kill", id="99-1")
    assert client.wait("unknown")["id"] == "99-1"


def test_a_lost_connection_loses_nothing(runner: Runner, client: Client) -> None:
    order = runner.order(["/bin/sh", "-c", "read line <fifo; exit 9"], cwd=str(runner.state))
    os.mkfifo(runner.state / "fifo")
    client.say("start", **order)
    client.wait("started", order["id"])
    half = encoded("start", **runner.order(["/bin/true"]))
    client.socket.sendall(half[: len(half) // 2])
    client.close()
    (runner.state / "fifo").write_text("go\n")
    again = runner.connect()
    (item,) = again.wait("list")
    result = item["result"] or again.wait("ended", order["id"])
    assert (item["id"], result["exit_code"]) == (order["id"], 9)


def test_one_connection_too_many(runner: Runner, client: Client) -> None:
    for _ in range(7):
        runner.connect()
    extra = Client(runner.directory / "1.sock")
    assert extra.wait("error") == "too many connections"
    extra.close()
    assert client.ask("ping", "pong") == {}


def test_a_client_that_does_not_read_holds_up_nobody(runner: Runner, client: Client) -> None:
    deaf = runner.connect()
    attempt_id = runner.begin(client, ["/bin/sh", "-c", "exit 1"])
    client.wait("ended", attempt_id)
    deaf.socket.setblocking(False)
    try:
        for _ in range(20_000):
            deaf.socket.sendall(b'{"op":"list"}\n')
    except BlockingIOError:
        pass
    assert runner.run(client, ["/bin/sh", "-c", "exit 2"])["exit_code"] == 2


def test_a_second_runner_of_the_same_name_is_refused(runner: Runner, client: Client) -> None:
    second = runner.launch()
    assert (second.returncode, second.stderr) == (75, "runner: 1 is running already\n")
    assert client.ask("ping", "pong") == {}


@pytest.mark.parametrize(
    "more", [["--state", "relative"], ["--nonsense"], ["--instance", "../x"], ["--idle-exit", "x"]]
)
def test_wrong_usage(runner: Runner, more: list[str]) -> None:
    result = subprocess.run(runner.command(*more), capture_output=True, text=True, check=False)
    assert result.returncode == 64
    assert "usage" in result.stderr


def test_a_state_directory_of_any_length(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    runner = Runner(deep)
    client = runner.start()
    assert runner.run(client, ["/bin/true"])["exit_code"] == 0
    runner.close()


def test_idle_it_ends_and_leaves_nothing(tmp_path: Path) -> None:
    runner = Runner(tmp_path, idle_exit_s=0.2)
    client = runner.start()
    result = runner.run(client, ["/bin/true"])
    client.ask("ack", "acked", ids=[result["id"]])
    with pidfd(runner.pid) as descriptor:
        client.close()
        assert ended(descriptor)
    left = {path.name for path in runner.directory.iterdir()}
    assert left == {"records"}
    assert runner.records == set()


def test_an_unread_result_keeps_it_alive(tmp_path: Path) -> None:
    runner = Runner(tmp_path, idle_exit_s=0.1)
    client = runner.start()
    runner.run(client, ["/bin/true"])
    with pidfd(runner.pid) as descriptor:
        client.close()
        assert not ended(descriptor, patience_s=0.5)
    runner.close()


def test_drain_waits_for_the_command_and_for_the_ack(runner: Runner, client: Client) -> None:
    attempt_id = runner.begin(client, ["/bin/sleep", "0.2"])
    assert client.ask("drain", "draining") is True
    client.say("start", **runner.order(["/bin/true"]))
    assert client.wait("refused")["reason"] == "draining"
    assert client.wait("ended", attempt_id)["exit_code"] == 0
    with pidfd(runner.pid) as descriptor:
        client.ask("ack", "acked", ids=[attempt_id])
        assert ended(descriptor)


def test_term_waits_for_the_command_and_other_signals_for_nothing(runner: Runner, client: Client) -> None:
    attempt_id = runner.begin(client, ["/bin/sleep", "0.3"])
    with pidfd(runner.pid) as descriptor:
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGTERM):
            signal.pidfd_send_signal(descriptor, number)
        assert client.wait("ended", attempt_id)["exit_code"] == 0
        assert ended(descriptor)
    assert f"{attempt_id}.result" in runner.records


def test_readiness_is_told_and_not_passed_on(runner: Runner) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(runner.state / "notify"))
        manager.settimeout(10)
        runner.environment["NOTIFY_SOCKET"] = str(runner.state / "notify")
        client = runner.start()
        assert manager.recv(100) == b"READY=1"
    result = runner.run(client, ["/usr/bin/env"])
    assert b"NOTIFY_SOCKET" not in runner.log(result["id"])


def test_it_leaves_the_starters_session_and_stays_small(runner: Runner, client: Client) -> None:
    assert os.getsid(runner.pid) != os.getsid(0)
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{runner.pid}/status").read_text().splitlines())
    assert int(fields["VmRSS"].split()[0]) < 16_000
    assert fields["SigBlk"].strip() == "0" * 16


def encoded(op: str, **values: object) -> bytes:
    return json.dumps({"op": op, **values}).encode() + b"\n"
