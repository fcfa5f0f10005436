"""Lines of words are painted one by one, and look as Textual's own painting of the same content."""

from collections.abc import Iterator

import pytest
from rich.style import Style
from textual.strip import Strip
from textual.widget import Widget

from jobctl_tui.screens.lines import Lines
from jobctl_tui.theme import ANSI, DARK, LIGHT, MONO
from kit.widgets import alone, lines

WORDS = [
    [("plain ", ""), ("failed", "-failed"), (" bold", "-bold"), (" title", "-title")],
    [("dim ", "-dim"), ("漢字漢字漢字", "-late"), ("ok", "-ok")],
    [],
    [("x" * 100, "-running"), ("never seen", "-key")],
]


def painted(strip: Strip) -> Iterator[tuple[str, object, object, bool]]:
    for segment in strip:
        style = segment.style or Style.null()
        for char in segment.text:
            yield char, style.color, style.bgcolor, bool(style.bold)


@pytest.mark.parametrize("theme", [DARK, LIGHT, ANSI, MONO])
async def test_they_look_as_the_same_content_does(theme: str) -> None:
    widget = Lines()
    async with alone(widget, size=(30, 6), theme=theme) as pilot:
        widget.show(WORDS)
        await pilot.pause()
        widget._set_dirty()
        for y in range(len(WORDS)):
            ours, theirs = list(painted(widget.render_line(y))), list(painted(Widget.render_line(widget, y)))
            assert ours[: len(theirs)] == theirs
            assert len(ours) + sum(char == "漢" or char == "字" for char, *_ in ours) == 30
            assert {char for char, *_ in ours[len(theirs) :]} <= {" "}


async def test_only_lines_that_differ_are_painted_again() -> None:
    widget = Lines()
    async with alone(widget, size=(30, 6)) as pilot:
        widget.show(WORDS)
        await pilot.pause()
        seen: list[int] = []
        refresh = widget.refresh
        widget.refresh = lambda *regions, **how: (seen.extend(one.y for one in regions), refresh(*regions, **how))[1]  # type: ignore[method-assign]
        widget.show([*WORDS[:2], [("new", "")], WORDS[3]])
        await pilot.pause()
        assert seen == [2]
        assert lines(pilot)[2] == "new"
