"""What the screens follow when their daemon is killed, stopped, or comes back: nothing is lost, nothing told twice, and
nobody waits for it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response, UnixTransport, unreachable
from kit.daemon import RealDaemon, real_daemon
from kit.followed import Followed, followed


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("screens") / "home") as made:
        yield made


@pytest.fixture
def daemon(home: RealDaemon) -> RealDaemon:
    return home.up()


def all_events(daemon: RealDaemon) -> list[int]:
    return [json.loads(message.data)["id"] for message in daemon.client.events(after=0)]


class Gated(UnixTransport):
    """A way to the daemon that the test closes."""

    closed = False

    def __call__(self, request: Request) -> Response:
        if self.closed:
            raise unreachable("the test lets nobody through")
        return super().__call__(request)


def test_a_killed_daemon_is_told_at_once_and_its_return_by_itself(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        daemon.kill9()
        lost = ears.until("down")
        assert lost.as_of_ms is not None
        assert abs(lost.as_of_ms - ears.feed.now_ms()) < 3000
        assert lost.why
        ears.pump.until(lambda: ears.feed.link.tries >= 3)
        assert "connection refused" in ears.feed.link.why
        assert (ears.feed.link.since_ms, ears.feed.link.as_of_ms) == (lost.since_ms, lost.as_of_ms)
        told = len(ears.told)
        daemon.start()
        ears.until("live")
        assert ears.feed.link.error is None
        assert any(changes.reset and changes.back is not None for changes in ears.told[told:])


@pytest.mark.long
def test_what_ended_while_nobody_heard_it_is_counted_in_the_words_of_the_return(daemon: RealDaemon) -> None:
    way = Gated(daemon.socket)
    ears = Followed(lambda: Client(way))
    ears.feed.start()
    try:
        ears.until("live")
        way.closed = True
        daemon.restart()
        ears.until("down")
        daemon.finished(daemon.run(["/bin/true"]))
        daemon.finished(daemon.run(["/bin/true"]))
        daemon.finished(daemon.run(["/bin/false"]))
        way.closed = False
        ears.feed.retry_now()
        ears.until("live")
        back = next(changes.back for changes in ears.told if changes.back is not None)
        assert (back.ended, back.failed) == (3, 1)
        assert back.words.endswith("s: 3 runs ended, 1 failed")
        assert not ears.events, "what is read anew is not told once more as news"
    finally:
        ears.feed.close()


@pytest.mark.long
def test_no_event_is_lost_or_told_twice_over_three_kills(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        began = ears.feed.event
        for kill in range(3):
            daemon.add(f"before-{kill}", ["/bin/true"])
            daemon.restart()
            daemon.add(f"after-{kill}", ["/bin/true"])
            ears.pump.until(lambda: ears.feed.event >= daemon.client.status()["last_event"])
        numbers = [event["id"] for event in ears.feed.recent]
        assert numbers == sorted(set(numbers))
        assert [number for number in numbers if number > began] == [n for n in all_events(daemon) if n > began]


@pytest.mark.long
def test_a_daemon_with_another_database_is_read_anew_and_nothing_of_the_first_is_left(
    tmp_path: Path, daemon: RealDaemon
) -> None:
    daemon.add("of-the-first", ["/bin/true"])
    where = [daemon.socket]
    ears = Followed(lambda: Client(lambda request: UnixTransport(where[0])(request)))
    ears.feed.start()
    try:
        ears.until("live")
        assert any(event["data"].get("name") == "of-the-first" for event in ears.feed.recent)
        with real_daemon(tmp_path / "second") as second:
            second.add("of-the-second", ["/bin/true"])
            where[0] = second.socket
            told = len(ears.told)
            daemon.kill9()
            ears.pump.until(lambda: any(changes.reset for changes in ears.told[told:]))
            assert [event["data"].get("name") for event in ears.feed.recent] == ["of-the-second"]
            assert ears.feed.event == second.client.status()["last_event"]
    finally:
        ears.feed.close()


@pytest.mark.long
def test_a_stopped_daemon_is_slow_then_down_and_live_again_by_itself(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    with followed(daemon.socket) as ears:
        ears.until("live")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            slow = ears.until("slow", "down")
            assert slow.state == "slow"
            assert slow.as_of_ms is not None
            down = ears.until("down")
            assert f"pid {daemon.process.pid}, is stopped by a signal" in down.why
            assert down.error is not None
            assert f"kill -CONT {daemon.process.pid}" in down.error.hint
            assert down.as_of_ms == down.since_ms == slow.as_of_ms
        finally:
            daemon.process.send_signal(signal.SIGCONT)
        ears.until("live")
        before = len(ears.links)
        ears.pump.during(3)
        assert len(ears.links) == before, "it stays live"


def test_closing_waits_for_no_stopped_daemon(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    with followed(daemon.socket) as ears:
        ears.until("live")
        daemon.process.send_signal(signal.SIGSTOP)
        try:
            began_s = time.monotonic()
            ears.feed.close()
            assert time.monotonic() - began_s < 0.5
        finally:
            daemon.process.send_signal(signal.SIGCONT)


_ENDS = """
import queue, sys
from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response, UnixTransport, unreachable
from jobctl.clock import SystemClock
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.feed import Feed
calls = queue.SimpleQueue()
connect = lambda: Client(UnixTransport(sys.argv[1]))
feed = Feed(connect, SystemClock(), calls.put, lambda changes: None)
errands = Errands(connect, calls.put)
feed.start()
for _ in range(12):
    errands.run(lambda client: client.run(1, wait_s=60))
print("asked", flush=True)
sys.stdin.read()
feed.close()
errands.close()
"""


@pytest.mark.case("F142")
def test_a_program_with_questions_to_a_stopped_daemon_ends_at_once(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    paths = os.pathsep.join(sys.path)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        program = subprocess.Popen(
            [sys.executable, "-c", _ENDS, daemon.socket],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert program.stdout is not None
        assert program.stdin is not None
        assert program.stdout.readline() == b"asked\n"
        began_s = time.monotonic()
        program.stdin.close()
        assert program.wait(10) == 0
        assert time.monotonic() - began_s < 2
        program.stdout.close()
    finally:
        daemon.process.send_signal(signal.SIGCONT)


def test_a_log_that_is_followed_by_its_offset_goes_on_after_a_kill_without_a_gap_or_a_repeat(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    """As the log view does it: whenever the link is live again, from the byte it has."""
    go = tmp_path / "go"
    os.mkfifo(go)
    daemon.add("talker", f"seq 1 2000; read x < {go}; seq 2001 4000")
    run = daemon.state(daemon.triggered("talker"), "running")
    client = Client(UnixTransport(daemon.socket))
    got = b""
    for piece in client.log(run["id"], follow=True).pieces():
        got += piece
        if got.endswith(b"\n2000\n"):
            break
    with followed(daemon.socket) as ears:
        live_again(ears, daemon)
        with go.open("w") as pipe:
            pipe.write("go\n")
        got += client.log(run["id"], offset=len(got), follow=True).read()
    assert got == b"".join(b"%d\n" % number for number in range(1, 4001))


def live_again(ears: Followed, daemon: RealDaemon) -> None:
    ears.until("live")
    daemon.kill9()
    ears.until("down")
    daemon.start()
    ears.until("live")
