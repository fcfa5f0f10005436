"""A lasting fault does not flood the log: ten minutes of each, by a clock that leaps."""

import asyncio
import errno
import json
import logging
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from jobctl.errors import InvalidInput, JobctlError, Unavailable
from jobctl_daemon import journal, settings
from jobctl_daemon.api.accept import Acceptor
from jobctl_daemon.api.problems import surprise
from jobctl_daemon.execution.again import StartAgain
from jobctl_daemon.health import Health
from jobctl_daemon.kept import Kept
from jobctl_daemon.loop import Pass, drive
from jobctl_daemon.repeats import Repeats
from jobctl_daemon.wake import Wake
from kit.clock import ManualClock
from kit.leaps import leaping

TEN_MINUTES_S = 600
LINES_MAX = 30
SERVICES = ("materialise", "dispatch", "collect", "rescue", "retain", "tell")


class Faulty:
    """A service that fails until it is mended, however often it is woken."""

    pace_ms = 0

    def __init__(self, name: str, fault: Callable[[], BaseException]) -> None:
        self.name = name
        self.wake = Wake()
        self.fault: Callable[[], BaseException] | None = fault
        self.passes = 0

    async def run_once(self) -> Pass:
        self.passes += 1
        self.wake.set()
        if self.fault is not None:
            raise self.fault()
        await self.wake.wait()
        return Pass()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def lines(clock: ManualClock, tmp_path: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The daemon's log, as it is on disk."""
    path = tmp_path / "jobd.log"
    before = logging.getLogger().handlers[:]
    journal.configure(clock, "info", str(path))
    yield lambda: [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    logging.getLogger().handlers[:] = before
    structlog.reset_defaults()


def _counted() -> Callable[[], BaseException]:
    """Every time in other words."""
    numbers = iter(range(1_000_000))
    words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    return lambda: RuntimeError(f"{words[next(numbers) % 8]} {next(numbers)}")


@pytest.mark.case("F150")
@pytest.mark.parametrize(
    ("name", "services", "fault"),
    [
        ("store locked", SERVICES, lambda: Unavailable("another program holds the database")),
        ("disk full", SERVICES, lambda: Unavailable("the disk of the state directory is full")),
        ("descriptors used up", ("rescue",), lambda: OSError(errno.EMFILE, "Too many open files", "runner/1.sock")),
        ("runner that cannot start", ("rescue",), lambda: Unavailable("the runner could not be started: no module")),
        ("a bug that never says the same", ("dispatch",), _counted()),
        ("a bug of no known kind", ("dispatch",), lambda: type("Odd", (BaseException,), {})("odd")),
    ],
)
def test_ten_minutes_of_a_fault_are_under_thirty_lines_with_a_first_a_count_and_a_recovery(
    name: str,
    services: tuple[str, ...],
    fault: Callable[[], BaseException],
    clock: ManualClock,
    lines: Callable[[], list[dict[str, Any]]],
    record_property: Callable[[str, object], None],
) -> None:
    faulty = [Faulty(service, fault) for service in services]

    async def fault_and_recovery() -> None:
        health = Health(clock)
        kept = Kept(clock, health)
        for service in faulty:
            kept.keep(service.name, lambda service=service: drive(service, clock, health, _nothing), _nothing)  # type: ignore[misc]
        await asyncio.sleep(TEN_MINUTES_S)
        passes = sum(service.passes for service in faulty)
        assert passes <= 130 * len(services)  # every 5 s, once the delay has grown
        for service in faulty:
            service.fault = None
        await asyncio.sleep(10)
        await kept.end()

    leaping(clock, fault_and_recovery())

    told = lines()
    record_property("counts", f"10 simulated minutes of {name}: {len(told)} lines of the log")
    assert len(told) < LINES_MAX
    for service in services:
        mine = [line for line in told if line["service"] == service]
        assert [mine[0]["event"], mine[-1]["event"]] == ["service.failed", "service.recovered"]
        assert sum(line.get("repeated", 0) for line in mine) > 50
        assert mine[-1]["failures"] > 100
        assert mine[-1]["after_s"] >= TEN_MINUTES_S - 5


class NoDescriptors:
    """A listening socket, for which the system has no descriptor any more."""

    def __init__(self, real: socket.socket) -> None:
        self._real = real
        self.asked = 0
        self.used_up = True

    def fileno(self) -> int:
        return self._real.fileno()

    def accept(self) -> Any:
        self.asked += 1
        if self.used_up:
            raise OSError(errno.EMFILE, "Too many open files")
        return self._real.accept()

    def close(self) -> None:
        self._real.close()


def test_ten_minutes_without_a_descriptor_for_connections_do_not_spin(
    clock: ManualClock, lines: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    class Greets(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.Transport)
            transport.write(b"hello")
            transport.close()

    path = str(tmp_path / "s")

    async def without_descriptors() -> tuple[list[str | None], int]:
        with socket.socket(socket.AF_UNIX) as real, socket.socket(socket.AF_UNIX) as caller:
            real.bind(path)
            real.listen()
            real.setblocking(False)
            channel = NoDescriptors(real)
            beats: list[str | None] = []
            acceptor = Acceptor(channel, Greets, beats.append)  # type: ignore[arg-type]
            caller.connect(path)
            await asyncio.sleep(TEN_MINUTES_S)
            asked, channel.used_up = channel.asked, False
            await asyncio.sleep(10)
            caller.setblocking(False)
            assert await asyncio.get_running_loop().sock_recv(caller, 99) == b"hello"
            acceptor.close()
            return beats, asked

    beats, asked = leaping(clock, without_descriptors())

    assert asked <= 130
    assert beats[:-1] == ["connections cannot be taken: Too many open files"] * asked
    assert beats[-1] is None
    told = lines()
    assert len(told) < 10
    assert [told[0]["event"], told[-1]["event"]] == ["service.failed", "service.recovered"]
    assert sum(line.get("repeated", 0) for line in told) > 50


def test_ten_minutes_of_a_broken_jobd_toml_that_is_read_every_second(
    clock: ManualClock, lines: Callable[[], list[dict[str, Any]]], tmp_path: Path
) -> None:
    broken = tmp_path / "jobd.toml"
    broken.write_text("slots = 'many'\n")
    for _ in range(TEN_MINUTES_S):
        with pytest.raises(InvalidInput) as caught:
            settings.read(str(broken))
        structlog.get_logger().error("daemon.reload_failed", error=caught.value.message)
        clock.tick(1_000)

    told = lines()
    assert len(told) < 10
    assert "slots" in told[0]["error"]


def test_ten_minutes_of_starts_that_are_refused(clock: ManualClock, lines: Callable[[], list[dict[str, Any]]]) -> None:
    again = StartAgain(Health(clock), clock)
    for _ in range(TEN_MINUTES_S * 10):
        again.refused(50, "EAGAIN: no process to be had")
        clock.tick(100)

    told = lines()
    assert 1 < len(told) < 10
    assert sum(line.get("repeated", 0) for line in told) > 5


def test_an_error_of_ours_keeps_its_number_however_often_it_comes(
    clock: ManualClock, lines: Callable[[], list[dict[str, Any]]]
) -> None:
    def fails(where: str) -> JobctlError:
        try:
            os.environ[where]
        except KeyError as error:
            return surprise(error, f"GET /{where}")
        raise AssertionError(where)

    said = {fails(f"path-{number}").message for number in range(500)}

    assert len(said) == 1
    told = lines()
    assert len(told) < 10
    assert told[0]["number"] in said.pop()
    assert "Traceback" in told[0]["exception"]


def test_what_libraries_say_goes_the_same_way(clock: ManualClock, lines: Callable[[], list[dict[str, Any]]]) -> None:
    for number in range(1_000):
        logging.getLogger("asyncio").error("socket.accept() out of system resource %d", number)
        clock.tick(600)

    told = lines()
    assert len(told) < 10
    assert told[0]["event"] == "socket.accept() out of system resource 0"
    assert "times before" in told[-1]["event"]


def test_lines_that_were_lost_are_counted_when_there_is_room_again(clock: ManualClock, tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    path = tmp_path / "none" / "jobd.log"
    journal.configure(clock, "info", str(path))
    try:
        for number in range(3):
            structlog.get_logger().info("something", number=number)
        path.parent.mkdir()
        structlog.get_logger().info("something.else", odd=object(), text="two\nlines")
    finally:
        logging.getLogger().handlers[:] = before
        structlog.reset_defaults()
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in told] == ["something.else", "log.lines_lost"]
    assert told[1]["count"] == 3


def test_an_event_that_stands_for_itself_is_shown_unless_it_comes_in_floods() -> None:
    repeats = Repeats()
    shown = [
        second for second in range(600) if repeats.take(("info", "daemon.ready"), None, second * 1_000) is not None
    ]
    assert shown[:5] == [0, 1, 2, 3, 4]
    assert len(shown) < 10
    seldom = [repeats.take(("info", "clock.set_back"), None, hour * 3_600_000) for hour in range(24)]
    assert seldom == [0] * 24


def test_what_was_quiet_is_new_again_and_says_what_was_held_back() -> None:
    repeats = Repeats()
    for second in range(100):
        repeats.take(("error", "x"), "boom 1", second * 1_000)
    assert repeats.take(("error", "x"), "boom 2", 100_000) is None
    assert repeats.take(("error", "x"), "boom 3", 2_000_000) == 100


def _nothing() -> None:
    return None
