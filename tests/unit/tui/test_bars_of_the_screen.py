"""The first line and the last one: what they leave out on a narrow screen, and what never."""

from itertools import pairwise
from typing import Any

import pytest
from rich.cells import cell_len

from jobctl_tui.actions import Action, Scope
from jobctl_tui.keys import ACTIONS, Keymap
from jobctl_tui.screens.main import TABS, Tab
from jobctl_tui.theme import DARK, MONO
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.keybar import KeyBar, hints
from jobctl_tui.widgets.statusline import Status, StatusLine, status_cells
from jobctl_tui.words import heading
from jobctl_tui.words.glyphs import ASCII, UTF8
from kit.widgets import alone, lines, style_at

JOBS = tuple(action for action in ACTIONS if action.scope in (Scope.JOBS, Scope.LISTS, Scope.EVERYWHERE))
FULL = Status(
    "jobctl@prod-db1",
    Cell("● live", "-ok"),
    (Cell("2 FAILED", "-failed"), Cell("1 LATE", "-late"), Cell("3 running"), Cell("4 dead")),
    "03:12:41 CET",
)


def said(status: Status, width: int) -> str:
    return "".join(cell.text for cell in status_cells(status, width))


def test_help_and_quit_never_fall_off() -> None:
    bar = KeyBar(JOBS)
    for width in range(4, 200):
        text = "".join(cell.text for cell in bar.cells(width))
        assert cell_len(text) <= width
        assert text.endswith("? Help  q Quit") if width >= 16 else text == " ? q"


def test_what_falls_off_is_what_ranks_last() -> None:
    ranks = [[action.rank for action in hints(JOBS, width, UTF8)[0]] for width in range(14, 300)]
    for narrow, wide in pairwise(ranks):
        assert wide[: len(narrow)] == narrow
        assert wide == sorted(wide)
    assert ranks[-1]


ESSENTIAL = {
    "jobs": ("open", "job.log", "job.run", "job.pause", "job.edit", "filter"),
    "runs": ("open", "runs.log", "runs.kill", "filter"),
    "upcoming": ("open", "upcoming.skip", "upcoming.pause", "time.in", "time.out"),
    "dead": ("open", "dead.replay", "dead.discard", "dead.log"),
    "daemon": ("open", "queue.pause", "daemon.pause", "daemon.doctor", "daemon.log"),
}


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.id)
def test_on_80_columns_each_tab_has_the_keys_that_it_is_there_for(tab: Tab) -> None:
    left, right, labelled = hints(tuple(Keymap().reachable(tab.scopes)), 80, UTF8)
    assert labelled
    assert {action.id for action in right} == {"help", "quit"}
    assert set(ESSENTIAL[tab.id]) <= {action.id for action in left}


def test_movements_that_everybody_tries_are_left_to_the_help() -> None:
    assert "Down" not in "".join(cell.text for cell in KeyBar(JOBS).cells(400))


def test_keys_are_written_in_ascii_where_there_is_no_more() -> None:
    actions = Keymap(ascii_only=True).of((Scope.JOBS, Scope.LISTS, Scope.EVERYWHERE))
    assert "".join(cell.text for cell in KeyBar(actions, ASCII).cells(120)).isascii()


async def test_a_click_on_a_hint_is_its_key() -> None:
    action = Action("job.run", ("r",), "Run", Scope.JOBS, "run it now", 20)
    quits = next(one for one in ACTIONS if one.id == "quit")
    bar, pressed = KeyBar((action, quits)), []
    async with alone(bar, size=(40, 1)) as pilot:
        bar.post_message = lambda message, post=bar.post_message: (pressed.append(message), post(message))[1]  # type: ignore[method-assign]
        line = lines(pilot)[0]
        for word in ("Run", "Quit"):
            await pilot.click(bar, offset=(line.index(word), 0))
        await pilot.click(bar, offset=(20, 0))
        assert [one.action.id for one in pressed if isinstance(one, KeyBar.Pressed)] == ["job.run", "quit"]


def test_the_first_line_as_it_was_drawn() -> None:
    assert said(FULL, 80) == " jobctl@prod-db1  ● live  2 FAILED  1 LATE  3 running  4 dead      03:12:41 CET"[:79]


def test_the_place_of_a_trial_gives_way_first_and_that_it_is_one_does_not() -> None:
    trial = FULL._replace(place="/tmp/a-long-way/to-the-folder-of-a-trial")
    assert said(trial, 130).startswith(" jobctl@prod-db1 /tmp/a-long-way/to-the-folder-of-a-trial  ● live  2 FAILED")
    assert said(trial, 90) == said(FULL._replace(host="jobctl@prod-db1 trial"), 90)
    for width in range(36, 130):
        assert "trial" in said(trial, width)
        assert "2 FAIL" in said(trial, width)


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ({}, "1 running"),
        ({"returns_after_reboot": False}, "! no reboot"),
        ({"returns_after_reboot": False, "warnings": ["mail: nobody takes it", "the disk is full"]}, "! 2 warnings"),
        ({"returns_after_reboot": False, "jobs": {"total": 3, "failed": 1}}, "1 FAILED"),
        ({"returns_after_reboot": False, "dead": {"total": 2}}, "1 running"),
    ],
)
def test_a_warning_stands_on_the_first_line_unless_something_is_more_urgent(changed: Any, first: str) -> None:
    status = {"jobs": {"total": 3}, "running": 1, "returns_after_reboot": True, "warnings": [], **changed}
    assert heading.counters(status)[0][0] == first
    assert any("!" in words for words, _ in heading.counters(status)) == first.startswith("!")


def test_how_the_daemon_is_reached_is_said_at_any_width() -> None:
    down = FULL._replace(link=Cell("○ DOWN 34s", "-failed"), counters=(Cell("stale: as of 03:12:07"),))
    for width in range(20, 130):
        for status, link in ((FULL, "● live"), (down, "○ DOWN 34s")):
            text = said(status, width)
            assert cell_len(text) <= width
            assert link in text
        assert "2 FAIL" in said(FULL, width)


def test_less_is_said_of_what_matters_less() -> None:
    assert said(FULL, 72).endswith("4 dead  03:12:41")
    assert "1 LATE" in said(FULL, 50)
    assert "3 running" not in said(FULL, 50)
    assert said(FULL, 20) == " ● live  2 FAILED"
    assert said(FULL, 8) == " ● live"
    assert said(FULL, 4) == " ● …"
    assert said(FULL, 0) == ""


def test_what_was_said_stands_where_the_counters_are() -> None:
    text = said(FULL._replace(said=Cell("paused backup-db · u undoes")), 80)
    assert "paused backup-db" in text
    assert "FAILED" not in text


def test_a_host_of_any_name_is_cut_and_acts_on_nothing() -> None:
    hostile = FULL._replace(host="a\x1b]0;title\x07[bold]" + "漢" * 60)
    for width in range(20, 140):
        text = said(hostile, width)
        assert cell_len(text) <= width
        assert text.isprintable()


async def test_only_what_differs_is_painted_again() -> None:
    line = StatusLine(FULL)
    async with alone(line, size=(80, 1)) as pilot:
        painted: list[int] = []
        refresh = line.refresh
        line.refresh = lambda *regions, **how: (painted.extend(one.x for one in regions), refresh(*regions, **how))[1]  # type: ignore[method-assign]
        line.show(FULL._replace(clock="03:12:42 CET"))
        line.show(FULL._replace(clock="03:12:42 CET"))
        assert painted == [67]
        await pilot.pause()
        assert lines(pilot)[0].endswith("03:12:42 CET")


@pytest.mark.parametrize("theme", [DARK, MONO])
async def test_trouble_is_bold_also_without_colours(theme: str) -> None:
    async with alone(StatusLine(FULL), size=(80, 1), theme=theme) as pilot:
        assert style_at(pilot, lines(pilot)[0].index("FAILED"), 0).bold
