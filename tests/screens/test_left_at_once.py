"""Screens that are left before what they asked for has come: what comes then is told to nobody, and nothing ends."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from jobctl.client.sync import Client
from jobctl_tui.screens.main import MainScreen
from kit.daemon import AnyonesTransport, RealDaemon, real_daemon
from kit.screens import Shown, screens
from kit.scripted import Held

#: Which keys lead there, from the tab of jobs with the cursor on a job that failed.
WAYS: Final[dict[str, tuple[str, ...]]] = {
    "jobs": ("1",),
    "runs": ("2",),
    "upcoming": ("3",),
    "dead letters": ("4",),
    "daemon": ("5",),
    "a run": ("2", "enter"),
    "times": ("3", "enter"),
    "the editor": ("e",),
    "a new job": ("n",),
    "commands": ("colon", *"works"),
    "help": ("question_mark",),
    "views": ("v",),
    "a filter": ("slash", *"works"),
    "what is found": ("5", "d"),
}
#: The others differ in what they show, not in what becomes of them.
_USUAL: Final = ("commands", "a run", "the editor", "times")
#: They end the screens, or give the terminal to another program.
_ELSEWHERE: Final = {"quit", "suspend", "run.pager", "run.editor", "editor.text", "down.start"}
#: So many questions stand above each other at most.
_STACKED: Final = 8


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path_factory.mktemp("left")) as daemon:
        for name, command in (("breaks", "echo no good; exit 5"), ("works", "seq 1 50000")):
            daemon.add(name, command, schedule={"every": "1h"}, retry={"max": 0})
            daemon.finished(daemon.triggered(name))
        yield daemon


@asynccontextmanager
async def slow(daemon: RealDaemon) -> AsyncIterator[tuple[Shown, Held]]:
    """The screens, and the way to the daemon in which answers can be kept."""
    way = Held(AnyonesTransport(daemon.socket))
    async with screens(lambda: Client(way), (100, 30)) as ui:
        await ui.until(lambda: "breaks" in ui.text())
        try:
            yield ui, way
        finally:
            way.let_go()


def ways(*names: str) -> list[Any]:
    return [pytest.param(name, marks=() if name in _USUAL else pytest.mark.long) for name in names]


async def leave(ui: Shown) -> None:
    """By as many keys as it takes."""
    for _ in range(_STACKED):
        if isinstance(ui.app.screen, MainScreen):
            break
        await ui.press("escape")
        if not isinstance(ui.app.screen, MainScreen):
            await ui.press("l")  # what was typed is given up
    assert isinstance(ui.app.screen, MainScreen), ui.text()


async def goes_on(ui: Shown, way: Held) -> None:
    """All answers have come, and keys do what they do."""
    way.let_go()
    errands = ui.app.errands  # some look about on this host besides, as doctor does, and take their time
    await ui.until(lambda: way.waiting == 0 and not errands._waiting and errands._idle == errands._threads)
    await leave(ui)  # who asked on a tab gets what was asked for
    await ui.press("escape", "escape", "5")
    await ui.shows("[5 Daemon")
    await ui.press("1")
    await ui.until(lambda: ui.app.pane.id == "jobs" and "breaks" in ui.text())
    assert ui.app.crash is None


@pytest.mark.parametrize("where", ways(*WAYS))
async def test_keys_that_are_quicker_than_the_daemon_find_nothing_that_ends_the_screens(
    daemon: RealDaemon, where: str
) -> None:
    async with slow(daemon) as (ui, way):
        way.hold()
        await ui.press_at_once(*WAYS[where], "escape")
        await ui.press_at_once(*WAYS[where])
        await leave(ui)
        await goes_on(ui, way)


async def test_keys_behind_escape_are_for_what_lies_below(daemon: RealDaemon) -> None:
    async with slow(daemon) as (ui, way):
        await ui.press("y")
        await ui.shows("its name")
        await ui.press_at_once("escape", "n")  # which is a letter of that question
        await ui.shows("new job")
        await ui.press_at_once("escape", "colon", *"theme")
        await ui.shows("another look")
        await ui.press_at_once("escape", "5", "colon", *"go.runs", "enter")
        await ui.shows("[2 Runs")
        await ui.press_at_once("1", "slash", *"work", "escape", "slash", *"brea", "enter", "j", "question_mark")
        await ui.shows("Help: Jobs")
        await ui.press("escape")
        await ui.until(lambda: "1 of 2 · brea" in ui.text())
        await goes_on(ui, way)


async def test_a_key_that_answered_a_question_is_not_meant_for_what_lies_below_when_it_comes_again(
    daemon: RealDaemon,
) -> None:
    async with slow(daemon) as (ui, way):
        await ui.press("y")
        await ui.shows("its name")
        await ui.press_at_once("n", "n", "n")
        await ui.shows("copied")
        assert isinstance(ui.app.screen, MainScreen), ui.text()  # and no new job was begun
        await ui.press("slash")
        await ui.press_at_once("escape", "escape", "escape")
        await ui.shows("q Quit")
        await goes_on(ui, way)


@pytest.mark.long
@pytest.mark.parametrize("where", sorted(WAYS.keys() - {"runs", "upcoming", "a filter"}))
async def test_what_the_keys_of_a_screen_asked_for_is_nobodys_when_it_has_gone(daemon: RealDaemon, where: str) -> None:
    async with slow(daemon) as (ui, way):
        await ui.press(*WAYS[where])
        way.hold()
        here = ui.app.screen
        keys = [action.keys[0] for action in ui.app.actions_here() if action.keys and action.id not in _ELSEWHERE]
        for key in keys:
            if ui.app.screen is not here:
                break
            await ui.press(key)
            for _ in range(_STACKED):  # a question about it, or what it leads to
                if ui.app.screen in (here, ui.app.screen_stack[0]):
                    break
                await ui.press("escape")
        await leave(ui)
        await goes_on(ui, way)
