"""Whatever ends a long-lived task, it is begun again, and somebody can see that it was."""

import ast
import asyncio
import gc
import itertools
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jobctl
import jobctl_daemon
from jobctl_daemon.health import Health
from jobctl_daemon.kept import Errands, Kept
from jobctl_daemon.loop import Pass, drive
from jobctl_daemon.wake import Wake
from kit.clock import ManualClock
from kit.leaps import leaping


class Odd(BaseException):
    """Neither an Exception nor anything that asyncio knows."""


def _deep() -> None:
    _deep()


def _raises(error: type[BaseException]) -> Callable[[], Any]:
    def fault() -> Any:
        raise error("on purpose")

    return fault


#: What may go wrong inside a pass, and what `status` says of it.
FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "an error": (_raises(RuntimeError), "RuntimeError: on purpose"),
    "a cancellation that nobody asked for": (_raises(asyncio.CancelledError), "CancelledError: on purpose"),
    "an exception of no known kind": (_raises(Odd), "Odd: on purpose"),
    "a recursion without an end": (_deep, "RecursionError: "),
    "an exit": (_raises(SystemExit), "SystemExit: on purpose"),
    "a keyboard interrupt": (_raises(KeyboardInterrupt), "KeyboardInterrupt: on purpose"),
    "no answer": (lambda: None, "TypeError: a pass returned None"),
}


class Once:
    """A service that fails in its second pass."""

    name = "once"
    pace_ms = 0

    def __init__(self, fault: Callable[[], Any]) -> None:
        self.wake = Wake()
        self.passes = 0
        self._fault = fault

    async def run_once(self) -> Pass:
        self.passes += 1
        return self._fault() if self.passes == 2 else Pass()  # type: ignore[no-any-return]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_service_goes_on_after(fault: str) -> None:
    clock = ManualClock()
    service = Once(FAULTS[fault][0])
    looks: list[str] = []

    async def live() -> Health:
        health = Health(clock)
        kept = Kept(clock, health)
        kept.keep("once", lambda: drive(service, clock, health, lambda: looks.append("")), lambda: looks.append("died"))
        await asyncio.sleep(0.01)
        service.wake.set()
        await asyncio.sleep(0.01)
        assert str(health.services["once"].error).startswith(FAULTS[fault][1])
        await asyncio.sleep(5)
        assert service.passes == 3
        assert health.services["once"].error is None
        await kept.end()
        return health

    health = leaping(clock, live())
    assert looks == [""]  # what it may have dropped is looked for
    assert health.services["once"].beats == 3


@pytest.mark.parametrize("end", ["returns", "is cancelled", "fails", "is an odd one"])
def test_a_task_that(end: str) -> None:
    clock = ManualClock()
    begun: list[int] = []

    async def short() -> None:
        begun.append(clock.boot_ms())
        await asyncio.sleep(0.001)
        if end == "fails":
            raise RuntimeError(end)
        if end == "is an odd one":
            raise Odd(end)
        if end == "is cancelled":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)

    async def live() -> None:
        health = Health(clock)
        kept = Kept(clock, health)
        kept.keep("short", short, lambda: None)
        await asyncio.sleep(60)
        assert str(health.services["short"].error).startswith("it died: ")
        await kept.end()
        ended = len(begun)
        await asyncio.sleep(60)
        assert len(begun) == ended

    leaping(clock, live())
    gaps = [later - sooner for sooner, later in itertools.pairwise(begun)]
    assert max(gaps) <= 5_100  # within five seconds, always
    assert gaps[0] < 200  # and at once, at first
    assert len(begun) < 25  # but it does not spin


def test_a_task_is_not_collected_while_it_waits() -> None:
    """For something that nobody else holds: the loop knows its tasks by weak references alone."""
    clock = ManualClock()
    awaited: list[weakref.ref[asyncio.Future[None]]] = []
    done: list[str] = []

    async def waits(name: str) -> None:
        future = asyncio.get_running_loop().create_future()
        awaited.append(weakref.ref(future))
        await future
        done.append(name)

    async def live() -> None:
        kept, errands = Kept(clock, Health(clock)), Errands()
        kept.keep("waits", lambda: waits("kept"), lambda: None)
        errands.start("waits", waits("errand"))
        await asyncio.sleep(0.01)
        gc.collect()
        for future in [found() for found in awaited]:
            assert future is not None, "it was collected"
            future.set_result(None)
        await asyncio.sleep(0.01)
        assert sorted(done) == ["errand", "kept"]
        await kept.end()

    leaping(clock, live())


@pytest.mark.parametrize("state", ["inside a pass", "woken", "due"])
def test_a_service_that_hangs_is_named_with_what_it_has_not_done(state: str) -> None:
    clock = ManualClock()
    health = Health(clock)
    beat = health.register("dispatch")
    health.begin(beat)
    if state != "inside a pass":
        health.end(beat)
    if state == "woken":
        health.woken(beat)
    if state == "due":
        beat.due_ms = clock.now_ms()
    clock.tick(30_000)
    assert health.stalled() == {}
    clock.tick(15_000)
    words = {
        "inside a pass": "has been inside one pass for 45 s",
        "woken": "was woken and has not begun for 45 s",
        "due": "was due and has not begun for 45 s",
    }
    assert health.stalled() == {"dispatch": words[state]}


def test_one_that_has_nothing_to_do_is_well_however_long() -> None:
    clock = ManualClock()
    health = Health(clock)
    beat = health.register("retain")
    health.begin(beat)
    health.end(beat)
    clock.tick(365 * 86_400_000)
    assert health.stalled() == {}


def test_a_service_that_wants_another_pass_and_does_nothing_does_not_spin() -> None:
    clock = ManualClock()

    class Eager(Once):
        async def run_once(self) -> Pass:
            self.passes += 1
            return Pass(again=True)

    service = Eager(lambda: None)

    async def live() -> None:
        health = Health(clock)
        kept = Kept(clock, health)
        kept.keep("once", lambda: drive(service, clock, health, lambda: None), lambda: None)
        await asyncio.sleep(60)
        await kept.end()

    leaping(clock, live())
    assert 1_000 < service.passes < 1_300  # twenty a second


MAKERS = {"create_task", "ensure_future"}


def _makes_tasks(source: Path) -> list[str]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = [(call.lineno, getattr(call.func, "attr", getattr(call.func, "id", ""))) for call in calls]
    groups = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "TaskGroup"]
    return [f"{source.name}:{line}" for line, name in names if name in MAKERS] + [
        f"{source.name}:{line}" for line in groups
    ]


@pytest.mark.case("F146")
def test_tasks_are_made_in_one_place_which_keeps_them_and_hears_of_their_end() -> None:
    packages = [Path(package.__path__[0]) for package in (jobctl, jobctl_daemon)]
    found = [place for package in packages for source in package.rglob("*.py") for place in _makes_tasks(source)]
    assert [place.partition(":")[0] for place in found] == ["kept.py", "kept.py"], found

    kept = ast.parse((packages[1] / "kept.py").read_text(encoding="utf-8"))
    for method in (node for node in ast.walk(kept) if isinstance(node, ast.FunctionDef)):
        calls = {ast.unparse(call.func) for call in ast.walk(method) if isinstance(call, ast.Call)}
        stored = {
            ast.unparse(target) for node in ast.walk(method) if isinstance(node, ast.Assign) for target in node.targets
        }
        if any(name.endswith("create_task") for name in calls):
            assert "task.add_done_callback" in calls, method.name
            assert "self._tasks.add" in calls or "self._tasks[name]" in stored, method.name
