"""A log on the screen: what is seen of it while it grows, is scrolled, searched, wrapped, cut short."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from jobctl.errors import InvalidInput
from jobctl_tui.live.errands import Errands
from jobctl_tui.live.log import LogPages
from jobctl_tui.theme import MONO
from jobctl_tui.widgets.cells import Cell
from jobctl_tui.widgets.logview import Gutter, LogView
from jobctl_tui.words.glyphs import ASCII, UTF8
from kit.logs import LogServer
from kit.widgets import Alone, alone, lines, style_at

#: Waits end when what is waited for is there; this many looks are for a machine that is very busy.
LOOKS = 1500


class Seen:
    """A view of a served log, and what is on its screen."""

    def __init__(self, pilot: Pilot[None], view: LogView, pages: LogPages) -> None:
        self.pilot = pilot
        self.view = view
        self.pages = pages

    @property
    def lines(self) -> list[str]:
        return lines(self.pilot)

    async def until(self, holds: Callable[[], Any]) -> None:
        for _ in range(LOOKS):
            if holds():
                await self.pilot.pause()
                return
            await self.pilot.pause(0.01)
        raise AssertionError((self.view.facts, self.lines))

    async def counted(self, count: int) -> None:
        await self.until(lambda: self.view.facts.lines == count)


@asynccontextmanager
async def seen(server: LogServer, size: tuple[int, int] = (60, 10), **how: Any) -> AsyncIterator[Seen]:
    theme = how.pop("theme", None)
    posts: list[Alone] = []
    errands = Errands(server.client, lambda call: posts[0].post(call))
    view = LogView(errands, **how)
    try:
        async with alone(view, size=size, **({"theme": theme} if theme else {})) as pilot:
            assert isinstance(pilot.app, Alone)
            posts.append(pilot.app)
            pages = LogPages(1, None, server.client, errands, pilot.app.post, lambda: None)
            view.show(pages)
            pages.start()
            try:
                yield Seen(pilot, view, pages)
            finally:
                pages.close()
                server.go_away()
    finally:
        errands.close()


def numbered(count: int, first: int = 1, more: str = "") -> bytes:
    return b"".join(b"line %d%s\n" % (number, more.encode()) for number in range(first, first + count))


async def test_the_end_is_what_is_seen_first() -> None:
    async with seen(LogServer(numbered(5000))) as log:
        await log.counted(5000)
        assert log.lines == [f" line {number}" for number in range(4991, 5001)]
        assert log.view.facts.newer == 0


async def test_a_followed_log_shows_what_comes() -> None:
    server = LogServer(numbered(100), over=False)
    async with seen(server) as log:
        await log.counted(100)
        server.grow(numbered(5, 101))
        await log.counted(105)
        assert log.lines[-1] == " line 105"


async def test_a_followed_log_that_is_held_still_shows_what_came_once_it_is_let_go() -> None:
    server = LogServer(numbered(100), over=False)
    async with seen(server) as log:
        await log.counted(100)
        log.view.hold(True)
        server.grow(numbered(5, 101))
        await log.until(lambda: log.pages.count == 105)
        await log.pilot.pause()
        assert log.lines[-1] == " line 100"
        log.view.hold(False)
        await log.until(lambda: log.lines[-1] == " line 105")


async def test_scrolled_up_nothing_moves_and_newer_lines_are_counted() -> None:
    server = LogServer(numbered(100), over=False)
    async with seen(server) as log:
        await log.counted(100)
        log.view.scroll_rows(-20)
        await log.pilot.pause()
        before = log.lines
        assert before[0] == " line 71"
        assert before[-1] == " ‖ scrolled up — 21 newer lines below. f follows"
        server.grow(numbered(400, 101))
        await log.counted(500)
        assert log.lines[:-1] == before[:-1]
        assert "421 newer lines" in log.lines[-1]
        log.view.toggle_follow()
        await log.pilot.pause()
        assert log.lines[-1] == " line 500"


async def test_scrolling_down_to_the_end_follows_again() -> None:
    async with seen(LogServer(numbered(100))) as log:
        await log.counted(100)
        log.view.scroll_rows(-3)
        assert not log.view.facts.follow
        log.view.scroll_rows(2)
        assert not log.view.facts.follow
        log.view.scroll_rows(1)
        assert log.view.facts.follow
        log.view.page(-1)
        log.view.page(5)
        assert log.view.facts.follow


async def test_top_bottom_and_pages_also_where_the_log_is_not_here_yet() -> None:
    async with seen(LogServer(numbered(400_000))) as log:
        await log.until(lambda: log.lines[-1] == " line 400000")
        log.view.to_first()
        await log.until(lambda: log.lines[0] == " line 1")
        log.view.page(1)
        await log.until(lambda: log.lines[0] == " line 10")
        log.view.to_last()
        await log.pilot.pause()
        assert log.lines[-1] == " line 400000"
        log.view.scroll_rows(-40_000)
        await log.until(lambda: log.lines[0] == " line 359991")
        await log.counted(400_000)
        assert log.view.facts.line == 360_000


async def test_blocks_that_are_looked_at_are_few_however_long_the_log_is() -> None:
    server = LogServer(numbered(400_000))
    async with seen(server) as log:
        await log.until(lambda: log.lines[-1] == " line 400000")
        await log.counted(400_000)
        assert sum(len(data) for _, data in log.pages.lines._blocks.values()) < 1 << 20


async def test_long_lines_are_wrapped_and_moved_sideways() -> None:
    data = b"short\n" + b"words and more words " * 10 + b"\n" + "漢字".encode() * 60 + b"\n"
    async with seen(LogServer(data), size=(40, 20)) as log:
        await log.counted(3)
        assert log.lines[1].endswith("…")
        log.view.pan(8)
        await log.pilot.pause()
        assert log.lines[1].startswith(" d more words")
        log.view.toggle_wrap()
        await log.pilot.pause()
        screen = log.lines
        assert screen[1] == " words and more words words and more"
        assert screen[2].startswith("↳words words and more words")
        wide = next(at for at, line in enumerate(screen) if "漢" in line)
        assert screen[wide] == " " + "漢字" * 9 + "漢"
        assert sum(line.count("漢") for line in screen) == 60
        assert all(cell_len(line) <= 40 for line in screen)


async def test_rows_of_a_wrapped_line_are_scrolled_one_by_one() -> None:
    data = numbered(3) + b"x" * 390 + b"\n" + numbered(3, 4)
    async with seen(LogServer(data), size=(40, 5), wrap=True) as log:
        await log.counted(7)
        tops = []
        for _ in range(20):
            log.view.scroll_rows(-1)
            await log.pilot.pause()
            tops.append(log.lines[0])
        assert tops[-1] == " line 1"
        assert sum(top.startswith(("↳xxx", " xxx")) for top in tops) >= 8
        for _ in range(20):
            log.view.scroll_rows(1)
        await log.pilot.pause()
        assert log.lines[-1] == " line 6"


async def test_progress_bars_show_what_they_came_to_and_colours_are_left_out() -> None:
    data = b"".join(b"\r%d%% done" % share for share in range(101)) + b"\n\x1b[31mred\x1b[0m plain\ttab\r\n"
    async with seen(LogServer(data)) as log:
        await log.counted(2)
        assert log.lines[0] == " 100% done  (100 written over)"
        assert log.lines[1] == " red plain       tab"


HOSTILE = (
    b"\x1b]52;c;QUFB\x07clip", b"\x1b]0;title\x07t", b"\x1b[2J\x1b[H\x1b[10Aup", b"\x9b31m", b"\x1bP1$r\x1b\\dcs",
    b"[/x][bold]b", b"\x00\x01\x02\x7f", b"\xff\xfe\xfd", "a\u202eb\u200b".encode(), "❤\ufe0f 👩\u200d👩".encode(),
    b"\x1b[", b"e" + "\u0301".encode() * 40, b"\x1b(0lqqk", b"\x0e\x0f", "\u2028\u2029".encode(),
)  # fmt: skip


@pytest.mark.parametrize("wrap", [False, True])
async def test_nothing_that_a_command_prints_acts_on_the_terminal_or_breaks_a_line(wrap: bool) -> None:
    data = b"\n".join(HOSTILE) + b"\n"
    for size in ((60, 20), (7, 20)):
        async with seen(LogServer(data), size=size, wrap=wrap) as log:
            await log.counted(len(HOSTILE))
            for strip in log.pilot.app.screen._compositor.render_strips():
                assert cell_len(strip.text) == size[0]
                assert all(char.isprintable() for char in strip.text)
            if size[0] == 60:
                assert " [/x][bold]b" in log.lines


async def test_a_pattern_is_found_shown_and_gone_to() -> None:
    async with seen(LogServer(numbered(3000))) as log:
        await log.counted(3000)
        log.view.find("LINE 1[0-9]07$".lower())
        await log.until(lambda: log.view.facts.match == 1)
        assert log.view.facts.matches == 10
        y = log.lines.index(" line 1007")
        await log.until(lambda: style_at(log.pilot, 3, y).reverse)
        assert style_at(log.pilot, 3, y + 1).reverse is not True
        log.view.next_match()
        await log.until(lambda: " line 1107" in log.lines)
        log.view.previous_match()
        log.view.previous_match()
        await log.until(lambda: " line 1907" in log.lines)
        assert log.view.facts.match == 10
        log.view.next_match()
        await log.until(lambda: " line 1007" in log.lines)


async def test_only_matching_lines_are_shown_and_then_all_again_at_the_same_place() -> None:
    server = LogServer(numbered(3000), over=False)
    async with seen(server) as log:
        await log.counted(3000)
        log.view.find("7$")
        await log.until(lambda: log.view.facts.match == 1)
        log.view.toggle_only()
        await log.pilot.pause()
        assert log.lines[:3] == [" line 7", " line 17", " line 27"]
        log.view.scroll_rows(100)
        await log.pilot.pause()
        assert log.lines[0] == " line 1007"
        log.view.to_last()
        server.grow(numbered(10, 3001))
        await log.until(lambda: log.lines[-1] == " line 3007")
        assert log.lines[-2] == " line 2997"
        log.view.scroll_rows(-3)
        log.view.toggle_only()
        await log.pilot.pause()
        assert log.lines[1].startswith(" line 28")


async def test_a_pattern_without_end_is_given_up_and_the_keys_go_on() -> None:
    async with seen(LogServer(b"a" * 4000 + b"!\n" + numbered(100))) as log:
        await log.counted(101)
        log.view.find("(a+)+$")
        log.view.scroll_rows(-2)
        await log.pilot.pause()
        assert log.lines[0] == " line 89"
        await log.until(lambda: log.view.facts.gave_up)
        log.view.find("line 5")
        await log.until(lambda: log.view.facts.match == 1)
        assert not log.view.facts.gave_up


async def test_what_is_no_pattern_says_why() -> None:
    async with seen(LogServer(b"x\n")) as log:
        await log.counted(1)
        with pytest.raises(InvalidInput, match="not a pattern"):
            log.view.find("(")
        with pytest.raises(InvalidInput, match="500"):
            log.view.find("x" * 501)


async def test_without_a_match_only_says_so() -> None:
    async with seen(LogServer(numbered(10))) as log:
        await log.counted(10)
        log.view.find("nowhere")
        await log.until(lambda: log.view.facts.looked == 1.0)
        log.view.toggle_only()
        await log.pilot.pause()
        assert log.lines[0] == "no line has nowhere"


async def test_a_log_that_was_found_in_is_followed_without_losing_its_matches() -> None:
    server = LogServer(numbered(100), over=False)
    async with seen(server) as log:
        await log.counted(100)
        log.view.find("0$")
        await log.until(lambda: log.view.facts.matches == 10)
        server.grow(b"half of a line that ends in 0")
        server.grow(b"\n")
        await log.until(lambda: log.view.facts.matches == 11)


async def test_times_stand_beside_the_lines_as_far_as_they_are_known() -> None:
    async with seen(LogServer(b"one\ntwo\nthree\nfour\n"), size=(30, 6)) as log:
        await log.counted(4)
        log.view.set_gutter(Gutter([(4, 1000), (14, 2000)], lambda ms: f"03:00:{ms // 1000:02d}"))
        await log.pilot.pause()
        assert log.lines[:4] == [" 03:00:01 │ one", " 03:00:02 │ two", " 03:00:02 │ three", "          │ four"]


async def test_what_is_said_below_the_end_and_of_an_empty_log() -> None:
    async with seen(LogServer(b"one\n")) as log:
        await log.counted(1)
        log.view.set_ending(Cell("■ exit 1 after 9.6s", "-failed"))
        await log.until(lambda: log.view.facts.state.state == "done")
        assert log.lines[:2] == [" one", "■ exit 1 after 9.6s"]
    async with seen(LogServer(b"")) as log:
        await log.until(lambda: log.view.facts.state.state == "done")
        assert log.lines[0] == "it printed nothing"


async def test_while_the_daemon_is_away_the_lines_stay_and_then_it_goes_on() -> None:
    server = LogServer(numbered(50), over=False)
    async with seen(server) as log:
        await log.counted(50)
        server.go_away()
        await log.until(lambda: log.view.facts.state.state == "lost")
        assert log.lines[-1] == " line 50"
        server.come_back()
        server.grow(numbered(3, 51))
        await log.counted(53)
        assert log.lines[-4:] == [" line 50", " line 51", " line 52", " line 53"]


async def test_a_resize_keeps_the_place() -> None:
    async with seen(LogServer(numbered(1000, more=" and more words" * 5)), size=(100, 20), wrap=True) as log:
        await log.counted(1000)
        log.view.to_first()
        log.view.scroll_rows(500)
        await log.until(lambda: log.view.facts.line is not None and not log.view.facts.follow)
        top = log.view._top
        for size in ((30, 8), (200, 50), (8, 3), (100, 20)):
            await log.pilot.resize_terminal(*size)
            await log.pilot.pause()
            assert log.view._top == top


async def test_only_the_lines_of_the_screen_that_differ_are_painted() -> None:
    server = LogServer(numbered(3), over=False)
    async with seen(server) as log:
        await log.counted(3)
        painted: list[int] = []
        refresh = log.view.refresh
        log.view.refresh = lambda *regions, **how: (painted.extend(one.y for one in regions), refresh(*regions, **how))[
            1
        ]  # type: ignore[method-assign]
        server.grow(b"line 4\n")
        await log.counted(4)
        assert painted == [3]


async def test_signs_are_ascii_and_matches_stand_out_without_colour() -> None:
    async with seen(LogServer(b"x" * 200 + b"\nfind me\n"), glyphs=ASCII, wrap=True, theme=MONO) as log:
        await log.counted(2)
        log.view.find("me")
        await log.until(lambda: log.view.facts.match == 1)
        y = log.lines.index(" find me")
        await log.until(lambda: style_at(log.pilot, 6, y).reverse)
        assert all(line.isascii() for line in log.lines)
        log.view.set_glyphs(UTF8)


async def test_another_log_is_shown_at_its_end_with_the_same_pattern() -> None:
    server, other = LogServer(numbered(100)), LogServer(numbered(50, 201))
    async with seen(server) as log:
        await log.counted(100)
        log.view.find("3$")
        await log.until(lambda: log.view.facts.matches == 10)
        app = log.pilot.app
        assert isinstance(app, Alone)
        errands = Errands(other.client, app.post)
        pages = LogPages(2, None, other.client, errands, app.post, lambda: None)
        log.view._errands = errands
        log.view.show(pages)
        pages.start()
        await log.until(lambda: log.view.facts.matches == 5)
        assert " line 203" in log.lines or " line 250" in log.lines
        pages.close()
        errands.close()
