"""Errands: questions in threads, answers on the loop, and of a group only the newest."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response
from jobctl.errors import InternalError, JobctlError, NotFound
from jobctl_tui.live.errands import THREADS_MAX, Errands
from kit.pump import Pump


def nobody(request: Request) -> Response:
    raise NotFound(request.path)


@pytest.fixture
def pump() -> Pump:
    return Pump()


@pytest.fixture
def errands(pump: Pump) -> Iterator[Errands]:
    made = Errands(lambda: Client(nobody), pump.post)
    yield made
    made.close()


def test_the_work_is_done_in_another_thread_and_its_answer_told_in_this_one(pump: Pump, errands: Errands) -> None:
    here, told = threading.get_ident(), list[tuple[int, int]]()
    errands.run(lambda client: threading.get_ident(), lambda there: told.append((there, threading.get_ident())))
    pump.until(lambda: told)
    assert told[0][0] != here
    assert told[0][1] == here


def test_a_failure_is_told_as_what_it_is(pump: Pump, errands: Errands) -> None:
    told: list[JobctlError] = []
    errands.run(lambda client: client.run(7), None, told.append)
    pump.until(lambda: told)
    assert isinstance(told[0], NotFound)


def test_a_mistake_of_ours_harms_one_errand_only_and_is_told(pump: Pump, errands: Errands) -> None:
    told: list[Any] = []
    errands.run(lambda client: [][1], told.append, told.append)
    pump.until(lambda: told)
    assert isinstance(told[0], InternalError)
    errands.run(lambda client: "well", told.append)
    pump.until(lambda: len(told) == 2)
    assert told[1] == "well"


def test_only_the_newest_answer_of_a_group_counts(pump: Pump, errands: Errands) -> None:
    told: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def slow(client: Client) -> str:
        begun.set()
        go.wait(10)
        return "old"

    errands.run(slow, told.append, group="window")
    assert begun.wait(10)
    errands.run(lambda client: "new", told.append, group="window")
    pump.until(lambda: told)
    go.set()
    errands.run(lambda client: "other", told.append)
    pump.until(lambda: len(told) == 2)
    while pump.turn(0.1):
        pass
    assert told == ["new", "other"]


def test_what_has_not_begun_is_not_begun_when_something_newer_of_its_group_comes(pump: Pump, errands: Errands) -> None:
    go, done = threading.Event(), list[int]()
    for _ in range(THREADS_MAX):
        errands.run(lambda client: go.wait(10))
    worked: list[int] = []
    for number in range(50):
        errands.run(lambda client, number=number: worked.append(number), lambda _: done.append(1), group="typed")
    go.set()
    pump.until(lambda: done)
    assert worked == [49]


def test_one_that_hangs_keeps_no_other_waiting(pump: Pump, errands: Errands) -> None:
    go, told = threading.Event(), list[str]()
    for _ in range(THREADS_MAX - 1):
        errands.run(lambda client: go.wait(10))
    errands.run(lambda client: "served", told.append)
    pump.until(lambda: told)
    go.set()


def test_never_more_threads_than_there_may_be(pump: Pump, errands: Errands) -> None:
    go, here = threading.Event(), threading.active_count()
    for _ in range(100):
        errands.run(lambda client: go.wait(10))
    assert threading.active_count() <= here + THREADS_MAX
    go.set()


def test_nothing_is_told_after_the_end(pump: Pump, errands: Errands) -> None:
    go, told, begun = threading.Event(), list[object](), threading.Event()

    def work(client: Client) -> object:
        begun.set()
        return go.wait(10)

    errands.run(work, told.append)
    assert begun.wait(10)
    errands.close()
    go.set()
    while pump.turn(0.2):
        pass
    assert told == []


def test_later_calls_on_the_loop(pump: Pump, errands: Errands) -> None:
    told: list[int] = []
    errands.later(10, lambda: told.append(threading.get_ident()))
    pump.until(lambda: told)
    assert told == [threading.get_ident()]
