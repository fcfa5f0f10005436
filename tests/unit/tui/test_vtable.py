"""The table: what it asks for, what it paints, and whose row a key acts on."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from textual.binding import Binding

from jobctl_tui.theme import ANSI, DARK, LIGHT, MONO
from jobctl_tui.widgets.cells import Cell, Rule
from jobctl_tui.widgets.columns import Column
from jobctl_tui.widgets.vtable import VTable
from kit.widgets import alone, lines, style_at

COLUMNS = (
    Column("STATE", 10),
    Column("NAME", 12, flex=1),
    Column("NEXT", 8, align="right", min_screen=60),
    Column("LAST", 8),
)


class Listed:
    """Rows by their ids, in an order that may change; a negative id is a rule."""

    def __init__(self, ids: Sequence[int], names: dict[int, str] | None = None) -> None:
        self.ids = list(ids)
        self.names = names or {}
        self.shown: list[tuple[int, int]] = []
        self.asked: list[int] = []
        self.here = range(1 << 60)

    @property
    def count(self) -> int:
        return len(self.ids)

    def cells(self, index: int) -> list[Cell] | Rule | None:
        self.asked.append(index)
        key = self.ids[index]
        if key < 0:
            return Rule(f"group {-key}")
        if index not in self.here:
            return None
        name = self.names.get(key, f"job-{key}")
        return [Cell("✗ FAILED", "-failed"), Cell(name), Cell("2m19s"), Cell("exit 1", "", (Cell(" x", "-failed"),))]

    def key(self, index: int) -> int | None:
        key = self.ids[index]
        return key if key >= 0 and index in self.here else None

    def index_of(self, key: int) -> int | None:
        try:
            index = self.ids.index(key)
        except ValueError:
            return None
        return index if index in self.here else None

    def show(self, first: int, count: int) -> None:
        self.shown.append((first, count))


def cursor_line(screen: list[str]) -> int:
    return next(y for y, line in enumerate(screen) if line.startswith(("▌", "●")))


async def test_only_what_is_on_the_screen_is_asked_for() -> None:
    rows = Listed(range(100_000))
    async with alone(VTable(rows, COLUMNS), size=(80, 24)):
        assert max(rows.asked) <= 24
        assert rows.shown[-1] == (0, 23)


async def test_a_changed_row_is_the_only_one_that_is_painted_again() -> None:
    rows = Listed(range(500))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 24)) as pilot:
        rows.asked.clear()
        rows.names[7] = "another"
        table.refresh_keys({7, 400})
        await pilot.pause()
        assert set(rows.asked) == {7}
        assert "another" in lines(pilot)[8]


async def test_columns_are_dropped_shared_and_aligned_by_the_width() -> None:
    table = VTable(Listed([1]), COLUMNS)
    async with alone(table, size=(60, 4)) as pilot:
        assert lines(pilot)[0] == " STATE      NAME                               NEXT LAST"
        assert lines(pilot)[1] == "▌✗ FAILED   job-1                             2m19s exit 1 x"
        await pilot.resize_terminal(50, 4)
        await pilot.pause()
        assert lines(pilot)[0] == " STATE      NAME                          LAST"
        await pilot.resize_terminal(24, 4)
        await pilot.pause()
        assert lines(pilot)[1] == "▌✗ FAILED   job… exit 1…"


HOSTILE = (
    "[/x]", "[bold]b[/]", "\x1b]52;c;QQ==\x07", "\x9b31mred", "漢字" * 40, "👩\u200d👩\u200d👧", "❤\ufe0f ❤\ufe0f",
    "a\u202eb", "e\u0301" * 30, "\x00\n\t", "", "x" * 300, "\ud800",
)  # fmt: skip


@pytest.mark.parametrize("size", [(80, 20), (33, 16), (9, 16), (1, 16)])
async def test_any_name_takes_the_width_of_its_column_and_acts_on_nothing(size: tuple[int, int]) -> None:
    rows = Listed(range(len(HOSTILE)), dict(enumerate(HOSTILE)))
    async with alone(VTable(rows, COLUMNS), size=size) as pilot:
        for strip in pilot.app.screen._compositor.render_strips():
            assert strip.cell_length == size[0]
            assert cell_len(strip.text) == size[0]
            assert all(char.isprintable() for char in strip.text)
        if size[0] == 80:
            assert "[/x]" in lines(pilot)[1]
            assert "[bold]b[/]" in lines(pilot)[2]


async def test_the_cursor_goes_by_rows_pages_and_ends() -> None:
    table = VTable(Listed(range(100)), COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.move(3)
        assert table.cursor_key == 3
        table.page(1)
        assert (table.cursor_key, table.top) == (13, 10)
        table.page(-0.5)
        assert table.cursor_key == 8
        table.to_last()
        assert (table.cursor_key, table.top) == (99, 90)
        table.move(1)
        assert table.cursor_key == 99
        table.to_first()
        assert (table.cursor_key, table.top) == (0, 0)
        table.move(-1)
        assert table.cursor_key == 0
        await pilot.pause()
        assert cursor_line(lines(pilot)) == 1


async def test_rules_are_drawn_and_jumped_over() -> None:
    table = VTable(Listed([-1, 1, 2, -2, 3]), COLUMNS)
    async with alone(table, size=(80, 8)) as pilot:
        assert lines(pilot)[1] == "── group 1 " + "─" * 69
        assert table.cursor_key == 1
        table.move(2)
        assert table.cursor_key == 3
        table.move(-1)
        assert table.cursor_key == 2
        table.to_first()
        assert table.cursor_key == 1


async def test_the_cursor_stays_with_its_row_wherever_that_goes() -> None:
    rows = Listed(range(100))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.go_to(50)
        table.scroll_rows(5)
        await pilot.pause()
        line = cursor_line(lines(pilot))
        rows.ids = [*range(1000, 1007), *reversed(range(100))]
        table.refresh_all()
        await pilot.pause()
        assert table.cursor_key == 50
        assert cursor_line(lines(pilot)) == line
        assert "job-50" in lines(pilot)[line]


async def test_what_comes_above_the_first_screen_is_seen() -> None:
    rows = Listed(range(20))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.move(2)
        rows.ids.insert(0, 99)
        table.refresh_all()
        await pilot.pause()
        assert "job-99" in lines(pilot)[1]
        assert table.cursor_key == 2


async def test_from_a_row_that_is_gone_no_key_acts_and_the_next_move_goes_beside_it() -> None:
    rows = Listed(range(10))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.move(4)
        rows.ids.remove(4)
        table.refresh_all()
        await pilot.pause()
        assert table.cursor_key is None
        assert not any(line.startswith("▌") for line in lines(pilot))
        table.move(1)
        assert table.cursor_key == 5
        rows.ids.remove(5)
        table.refresh_all()
        table.move(-1)
        assert table.cursor_key == 3


async def test_a_row_that_comes_back_has_its_cursor_again() -> None:
    rows = Listed(range(10))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)):
        table.move(4)
        rows.ids.remove(4)
        table.refresh_all()
        rows.ids.append(4)
        table.refresh_all()
        assert (table.cursor_key, table.cursor_index) == (4, 9)


async def test_rows_that_are_not_here_yet_are_shown_as_such_and_adopted_when_they_come() -> None:
    rows = Listed(range(1000))
    rows.here = range(100)
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.to_last()
        await pilot.pause()
        assert table.cursor_key is None
        assert "…" in lines(pilot)[-1]
        rows.here = range(900, 1000)
        table.refresh_rows(900, 100)
        await pilot.pause()
        assert table.cursor_key == 999
        assert "job-999" in lines(pilot)[-1]


async def test_a_list_that_gets_shorter_leaves_no_hole() -> None:
    rows = Listed(range(100))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.to_last()
        rows.ids = list(range(95, 100))
        table.refresh_all()
        await pilot.pause()
        assert (table.top, table.cursor_key) == (0, 99)
        rows.ids = []
        table.refresh_all()
        await pilot.pause()
        assert table.cursor_key is None
        assert [line for line in lines(pilot)[1:] if line] == []
        table.move(1)
        table.to_last()
        table.page(-1)
        rows.ids = [7]
        table.refresh_all()
        assert table.cursor_key == 7 or table.cursor_key is None


async def test_scrolling_with_the_wheel_moves_no_cursor() -> None:
    rows = Listed(range(100))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)):
        table.scroll_rows(40)
        assert (table.top, table.cursor_key) == (40, 0)
        rows.ids = [200, 201, *rows.ids]
        table.refresh_all()
        assert (table.top, table.cursor_key) == (42, 0)


async def test_marks_belong_to_keys_and_survive_any_order() -> None:
    rows = Listed(range(30))
    table = VTable(rows, COLUMNS)
    async with alone(table, size=(80, 11)) as pilot:
        table.toggle_mark()
        table.move(3)
        table.mark_range()
        assert table.marks == {0, 1, 2, 3, 4}
        rows.ids.reverse()
        table.refresh_all()
        assert table.marks == {0, 1, 2, 3, 4}
        table.to_last()
        await pilot.pause()
        assert lines(pilot)[-1].startswith("●")
        table.clear_marks([0])
        assert table.marks == {1, 2, 3, 4}
        table.clear_marks()
        assert table.marks == frozenset()


async def test_a_click_moves_the_cursor_and_two_open() -> None:
    table = VTable(Listed(range(100)), COLUMNS)
    opened = []
    async with alone(table, size=(80, 11)) as pilot:
        table.post_message = lambda message, post=table.post_message: (opened.append(message), post(message))[1]  # type: ignore[method-assign]
        await pilot.click(table, offset=(5, 4))
        assert table.cursor_key == 3
        await pilot.click(table, offset=(5, 0))
        assert table.cursor_key == 3
        await pilot.click(table, offset=(5, 6), times=2)
        assert [message.key for message in opened if isinstance(message, VTable.Opened)] == [5]


@pytest.mark.parametrize("theme", [DARK, LIGHT, ANSI, MONO])
async def test_the_row_under_the_cursor_differs_in_every_theme(theme: str) -> None:
    table = VTable(Listed(range(10)), COLUMNS)
    async with alone(table, size=(80, 11), theme=theme) as pilot:
        here, there = style_at(pilot, 20, 1), style_at(pilot, 20, 2)
        assert (here.bgcolor, here.reverse) != (there.bgcolor, there.reverse)
        assert style_at(pilot, 3, 2).bold


async def test_a_smaller_screen_keeps_the_cursor_in_sight() -> None:
    table = VTable(Listed(range(100)), COLUMNS)
    async with alone(table, size=(80, 24)) as pilot:
        table.move(20)
        for size in [(80, 8), (20, 3), (200, 60), (40, 10)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            assert table.cursor_key == 20
            assert "job" in lines(pilot)[cursor_line(lines(pilot))]


class Armed(VTable):
    """A table with a key that kills what is highlighted."""

    BINDINGS = (Binding("k", "kill"), Binding("j", "down"))

    def __init__(self, rows: Listed) -> None:
        super().__init__(rows, COLUMNS)
        self.killed: list[int | None] = []

    def action_kill(self) -> None:
        self.killed.append(self.cursor_key)

    def action_down(self) -> None:
        self.move(1)


def clamped(table: VTable) -> bool:
    """Whether the window lies at an end of the list, so that it cannot be moved with a row."""
    return table.top == 0 or table.top + table.body_height >= table.rows.count


def disturb(rows: Listed, draw: random.Random, new: int) -> None:
    """A row comes, one goes, or all change places; row 200 stays."""
    kind = draw.random()
    if kind < 0.4:
        rows.ids.insert(draw.randrange(len(rows.ids)), new)
    elif kind < 0.8:
        victim = draw.randrange(len(rows.ids))
        if rows.ids[victim] != 200:
            del rows.ids[victim]
    else:
        draw.shuffle(rows.ids)


@pytest.mark.case("F144")
async def test_five_hundred_keys_act_on_the_highlighted_row_while_rows_come_go_and_change_places() -> None:
    draw = random.Random(144)
    rows = Listed(range(400))
    table = Armed(rows)
    async with alone(table, size=(80, 24)) as pilot:
        table.go_to(200)
        table.scroll_rows(8)
        kept = 0
        for number in range(500):
            for _ in range(draw.randrange(1, 4)):
                line, was_clamped = table.cursor_index - table.top, clamped(table)
                disturb(rows, draw, 1000 + number)
                table.refresh_all()
                if not was_clamped and not clamped(table):
                    assert table.cursor_index - table.top == line
                    kept += 1
                if draw.random() < 0.3:
                    table.set_columns(COLUMNS[: draw.randrange(2, 5)])
            if number % 25 == 0:
                await pilot.pause()
                screen = lines(pilot)
                assert "job-200" in screen[cursor_line(screen)]
            pilot.app.simulate_key("k")
            if draw.random() < 0.5:  # else it is handled only after the next disturbance
                await asyncio.sleep(0)
        await pilot.pause()
        assert table.killed == [200] * 500
        assert kept > 100
        rows.ids.remove(200)
        table.refresh_all()
        await pilot.press("k")
        assert table.killed[-1] is None


async def test_a_key_moves_from_the_highlighted_row_also_when_the_order_changed_unseen() -> None:
    rows = Listed(range(50))
    table = Armed(rows)
    async with alone(table, size=(80, 24)) as pilot:
        table.go_to(10)
        rows.ids.reverse()  # the table has not been told yet
        await pilot.press("j")
        assert table.cursor_key == 9


async def test_columns_that_are_set_while_it_is_hidden_are_there_when_it_is_shown() -> None:
    table = VTable(Listed([1]), COLUMNS)
    async with alone(table, size=(80, 4)) as pilot:
        assert "NAME" in lines(pilot)[0]
        table.display = False
        await pilot.pause()
        table.set_columns(COLUMNS[:2])
        table.display = True
        await pilot.pause()
        assert "NAME" in lines(pilot)[0]
        assert "LAST" not in lines(pilot)[0]
