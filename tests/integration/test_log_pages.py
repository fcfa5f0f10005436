"""The log of a run as the screens read it: from a real daemon, over its restarts and over the cap."""

import queue
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.client.sync import Client
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.log import LogPages
from kit.daemon import AnyonesTransport, RealDaemon, real_daemon

WITHIN_S = 20


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("log")) as running:
        yield running


class Loop:
    """What the loop of the screens does with what is posted to it, and the pages of one log."""

    def __init__(self, daemon: RealDaemon, run: int, attempt: int | None = None) -> None:
        self._calls: queue.Queue[Callable[[], None]] = queue.Queue()

        def connect() -> Client:
            return Client(AnyonesTransport(daemon.socket))

        self.errands = Errands(connect, self._calls.put)
        self.told = 0
        self.states: list[str] = []
        self.pages = LogPages(run, attempt, connect, self.errands, self._calls.put, self._changed)
        self.pages.start()

    def _changed(self) -> None:
        self.told += 1
        if self.pages.state.state not in self.states[-1:]:
            self.states.append(self.pages.state.state)

    def until(self, holds: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + WITHIN_S
        while not (found := holds()):
            assert time.monotonic() < deadline, f"calls without end: {self.pages.state}, {self.states}"
            try:
                self._calls.get(timeout=max(0.0, deadline - time.monotonic()))()
            except queue.Empty:
                raise AssertionError(f"nothing came any more: {self.pages.state}, {self.states}") from None
        return found

    def done(self) -> "Loop":
        self.until(lambda: self.pages.state.state in ("done", "missing"))
        return self

    def texts(self) -> list[bytes]:
        """All lines, read forward; a removed middle by how much it was."""

        def all_of_them() -> list[bytes] | None:
            lines, complete = self.pages.forward(0, 10_000_000)
            if not complete:
                return None
            return [b"<%d removed>" % line.dropped if line.dropped else line.data for line in lines]

        found: list[bytes] = self.until(lambda: (texts := all_of_them()) is not None and (texts,))[0]
        return found

    def close(self) -> None:
        self.pages.close()
        self.errands.close()


@pytest.fixture
def watch(daemon: RealDaemon) -> Iterator[Callable[..., Loop]]:
    loops: list[Loop] = []

    def watched(run: dict[str, Any], attempt: int | None = None) -> Loop:
        loops.append(Loop(daemon, run["id"], attempt))
        return loops[-1]

    yield watched
    for loop in loops:
        loop.close()


Watch = Callable[..., Loop]


def test_a_finished_log_is_read_and_counted(daemon: RealDaemon, watch: Watch) -> None:
    run = daemon.finished(daemon.run("seq 1 50000"))
    loop = watch(run).done()
    assert loop.until(lambda: loop.pages.count) == 50_000
    last, _ = loop.pages.backward(loop.pages.size, 2)
    assert [line.data for line in last] == [b"50000", b"49999"]
    assert loop.texts() == [b"%d" % number for number in range(1, 50_001)]
    assert loop.until(lambda: loop.pages.number(loop.pages.forward(0, 3)[0][2].start)) == 3


def test_the_end_is_there_before_the_whole_was_read(daemon: RealDaemon, watch: Watch) -> None:
    run = daemon.finished(daemon.run("seq 1 400000"))
    loop = watch(run)
    loop.until(lambda: loop.pages.backward(loop.pages.size, 30)[0][29:])
    assert loop.pages.count is None
    assert loop.until(lambda: loop.pages.count) == 400_000


def test_what_a_command_writes_is_there_while_it_runs(daemon: RealDaemon, watch: Watch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run = daemon.run(f"echo before; while [ ! -e {gate} ]; do sleep 0.05; done; echo after")
    loop = watch(run)
    loop.until(lambda: loop.pages.size == 7)
    assert loop.pages.state.state == "live"
    gate.touch()
    assert loop.done().texts() == [b"before", b"after"]


def test_a_run_that_has_not_begun_is_waited_for(daemon: RealDaemon, watch: Watch) -> None:
    daemon.add("later", "echo begun", schedule={"every": "1h"})
    run = daemon.client.trigger("later", {})
    loop = watch(run).done()
    assert loop.texts() == [b"begun"]


def test_a_run_without_a_log_says_so(daemon: RealDaemon, watch: Watch) -> None:
    job = daemon.add("skipped", "sleep 30", paused=True, schedule={"every": "1h"})
    assert job["paused"]
    loop = Loop(daemon, 999_999)
    loop.done()
    loop.close()
    assert loop.pages.state.state == "missing"
    assert loop.pages.state.error is not None


def test_a_daemon_that_is_killed_costs_no_line_and_repeats_none(
    daemon: RealDaemon, watch: Watch, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    run = daemon.run(f"seq 1 3000; while [ ! -e {gate} ]; do sleep 0.05; done; seq 3001 9000")
    loop = watch(run)
    loop.until(lambda: loop.pages.count == 3000)
    daemon.kill9()
    loop.until(lambda: loop.pages.state.state == "lost")
    assert loop.pages.forward(0, 5)[0][4].data == b"5"
    gate.touch()
    daemon.start()
    assert loop.done().texts() == [b"%d" % number for number in range(1, 9001)]
    assert "lost" in loop.states
    assert loop.states[-1] == "done"


def test_the_middle_that_the_cap_removed_is_one_line(daemon: RealDaemon, watch: Watch) -> None:
    run = daemon.finished(daemon.run("seq 1 100000", log_max=65_536))
    loop = watch(run).done()
    texts = loop.texts()
    kept = daemon.output(run).split(b"\n")
    gap = next(at for at, text in enumerate(texts) if text.endswith(b"removed>"))
    assert texts[:3] == [b"1", b"2", b"3"]
    assert texts[-1] == b"100000"
    assert texts[:gap] == kept[:gap]
    assert texts[gap + 1 :] == kept[-1 - len(texts[gap + 1 :]) : -1]
    assert loop.until(lambda: loop.pages.count) == len(texts)


def test_a_cap_that_passes_a_follower_is_seen_as_a_gap(daemon: RealDaemon, watch: Watch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run = daemon.run(f"seq 1 1000; while [ ! -e {gate} ]; do sleep 0.05; done; seq 1001 400000", log_max=65_536)
    loop = watch(run)
    loop.until(lambda: loop.pages.size > 3000)
    gate.touch()
    texts = loop.done().texts()
    gap = next(at for at, text in enumerate(texts) if text.endswith(b"removed>"))
    numbers = [int(text) for text in texts[: gap - 1] + texts[gap + 2 :]]  # beside the gap stand parts of numbers
    assert numbers == sorted(numbers)
    assert numbers[-1] == 400_000
    assert numbers[0] == 1
    assert loop.until(lambda: loop.pages.count) == len(texts)


def test_words_of_a_command_that_look_like_a_marker_are_its_words(
    daemon: RealDaemon, watch: Watch, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    words = "[jobctl: 999991 bytes, from 1 to 999992, were removed by the log limit]"
    run = daemon.run(
        f"echo one; while [ ! -e {gate} ]; do sleep 0.05; done; printf '\\n{words}\\n'; sleep 0.4; echo two"
    )
    loop = watch(run)
    loop.until(lambda: loop.pages.size == 4)
    gate.touch()
    assert loop.done().texts() == [b"one", b"", words.encode(), b"two"]


def test_a_log_that_its_command_cuts_short_begins_anew(daemon: RealDaemon, watch: Watch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    run = daemon.run(
        f"seq 1 5000; while [ ! -e {gate} ]; do sleep 0.05; done; : > /proc/self/fd/1; sleep 1.5; echo anew"
    )
    loop = watch(run)
    loop.until(lambda: loop.pages.count == 5000)
    gate.touch()
    loop.until(lambda: loop.pages.state.resets)
    texts = loop.done().texts()
    assert texts[-1].endswith(b"anew")
    assert len(texts) <= 2


def test_a_closed_log_tells_nothing_and_its_thread_ends(daemon: RealDaemon, watch: Watch) -> None:
    import threading

    run = daemon.run("echo here; sleep 30")
    loop = watch(run)
    loop.until(lambda: loop.pages.size)
    thread = next(one for one in threading.enumerate() if one.name == f"log {run['id']}")
    told = loop.told
    loop.close()
    thread.join(5)
    assert not thread.is_alive()
    assert loop.told == told
    daemon.client.kill_run(run["id"])
