"""The feed of the screens at a real daemon: what it tells, how often, and of whom it does not want to hear."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.errors import Forbidden, VersionMismatch
from jobctl_tui.live.feed import RECENT
from kit.daemon import RealDaemon, real_daemon
from kit.followed import followed


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("feed") / "home") as made:
        yield made


def test_the_first_telling_has_the_status_and_says_that_everything_is_to_be_read(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        assert ears.feed.link.state == "connecting"
        ears.until("live")
        assert ears.told[0].reset
        assert ears.told[0].back is None
        assert ears.feed.status is not None
        assert ears.feed.status["pid"] == daemon.client.status()["pid"]
        assert ears.feed.event == daemon.client.status()["last_event"]


def test_what_happens_is_told_with_the_ids_of_jobs_and_runs(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        job = daemon.add("told", ["/bin/true"])
        run = daemon.finished(daemon.triggered("told"))
        ears.pump.until(lambda: ears.feed.event >= daemon.client.status()["last_event"])
        assert job["id"] in frozenset().union(*(changes.jobs for changes in ears.told))
        assert run["id"] in frozenset().union(*(changes.runs for changes in ears.told))
        assert ears.events == sorted(set(ears.events))


def test_events_of_before_are_kept_for_who_looks_and_are_no_news(daemon: RealDaemon) -> None:
    daemon.finished(daemon.run(["/bin/true"]))
    with followed(daemon.socket) as ears:
        ears.until("live")
        known = [json.loads(message.data)["id"] for message in daemon.client.events(after=0)][-RECENT:]
        assert [event["id"] for event in ears.feed.recent] == known
        assert ears.events == []


def test_what_was_trouble_outlasts_what_was_not(daemon: RealDaemon) -> None:
    failed = daemon.finished(daemon.run(["/bin/false"]))
    with followed(daemon.socket) as ears:
        ears.until("live")
        for number in range(RECENT + 10):
            daemon.add(f"quiet-{number}", ["/bin/true"], paused=True)
        last = daemon.client.status()["last_event"]
        ears.pump.until(lambda: ears.feed.event >= last)
        assert failed["id"] not in {event["run_id"] for event in ears.feed.recent}
        assert failed["id"] in {event["run_id"] for event in ears.feed.troubles}


def test_hundreds_of_events_are_told_at_most_every_tenth_of_a_second(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        before, began_s = len(ears.told), time.monotonic()
        for number in range(250):
            daemon.add(f"many-{number}", ["/bin/true"], paused=True)
        last = daemon.client.status()["last_event"]
        ears.pump.until(lambda: ears.feed.event >= last)
        tenths = (time.monotonic() - began_s) / 0.1
        assert len(ears.told) - before <= tenths + 2


def test_a_loop_that_is_busy_finds_one_call_waiting_and_not_thousands(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        while ears.pump.turn():
            pass
        for number in range(60):
            daemon.add(f"busy-{number}", ["/bin/true"])
        last = daemon.client.status()["last_event"]
        assert ears.pump.waiting <= 1
        ears.pump.until(lambda: ears.feed.event >= last)


def test_nobody_is_told_anything_once_it_is_closed(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        ears.feed.close()
        told = len(ears.told)
        daemon.finished(daemon.run(["/bin/true"]))
        while ears.pump.turn(0.3):
            pass
        assert len(ears.told) == told


def test_its_clock_is_the_daemons(daemon: RealDaemon) -> None:
    with followed(daemon.socket) as ears:
        ears.until("live")
        assert abs(ears.feed.now_ms() - time.time() * 1000) < 5000


# ── daemons that answer, and will not serve ──────────────────────────────────────────────


@contextlib.contextmanager
def answering(path: Path, answer: bytes) -> Iterator[list[bytes]]:
    """Somebody on a socket who says the same to whoever comes; what was asked."""
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        door.listen(8)

        def serve() -> None:
            while True:
                try:
                    guest, _ = door.accept()
                except OSError:
                    return
                with guest:
                    asked.append(guest.recv(65_536))
                    guest.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            door.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def http(status: str, body: dict[str, object], kind: str = "application/json") -> bytes:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nJobctl-Protocol: 9\r\n\r\n"
    return head.encode() + data


def test_a_daemon_of_another_version_is_told_as_that_and_not_as_one_that_is_down(tmp_path: Path) -> None:
    newer = http("200 OK", {"protocol": 9, "words": "in a newer form"})
    with answering(tmp_path / "s", newer) as asked, followed(str(tmp_path / "s")) as ears:
        link = ears.until("refused", "down")
        assert link.state == "refused"
        assert isinstance(link.error, VersionMismatch)
        assert "protocol 9" in link.why
        assert link.retry_at_ms is not None
        assert link.retry_at_ms - ears.feed.now_ms() > 20_000
        assert len(asked) == 1


def test_a_daemon_that_does_not_serve_this_user_is_told_as_that(tmp_path: Path) -> None:
    problem = {"code": "forbidden", "title": "this daemon serves ada", "hint": "ask ada", "status": 403}
    with answering(tmp_path / "s", http("403 Forbidden", problem)), followed(str(tmp_path / "s")) as ears:
        link = ears.until("refused", "down")
        assert link.state == "refused"
        assert isinstance(link.error, Forbidden)
        assert link.why == "this daemon serves ada"


def test_whatever_is_no_answer_of_ours_is_told_and_tried_again(tmp_path: Path) -> None:
    with answering(tmp_path / "s", b"220 mail.example.org ESMTP\r\n\r\n"), followed(str(tmp_path / "s")) as ears:
        ears.pump.until(lambda: ears.feed.link.tries >= 2)
        assert ears.feed.link.state == "down"
        assert "not HTTP" in ears.feed.link.why


def test_a_socket_that_is_not_there_is_tried_for_until_somebody_cannot_wait(tmp_path: Path) -> None:
    with followed(str(tmp_path / "none")) as ears:
        ears.pump.until(lambda: ears.feed.link.tries >= 3)
        assert "there is no socket" in ears.feed.link.why
        tries = ears.feed.link.tries
        ears.feed.retry_now()
        ears.pump.until(lambda: ears.feed.link.tries > tries, within_s=5)
