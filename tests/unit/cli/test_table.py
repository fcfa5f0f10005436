"""Tables: piped whole, on a terminal made to fit, and what matters is never cut."""

import pytest

from jobctl.cli.table import Cell, Column, lines
from jobctl.reading.width import cut, width

COLUMNS = (Column("STATE"), Column("NAME", shrinks=6), Column("EXTRA", drops=1), Column("LAST"))
ROWS = [
    ["ok", "a-rather-long-name", "extra", Cell("exit 1, 12m ago")],
    [None, "日本語の名前です", "", Cell("ok, 1m ago", "ok")],
]


def table(room: int | None) -> list[str]:
    return lines(COLUMNS, ROWS, room=room, mark="…", paint=lambda text, style: text)


def test_piped_nothing_is_cut_and_empty_cells_are_dashes() -> None:
    shown = "\n".join(table(None))
    assert "a-rather-long-name" in shown
    assert shown.splitlines()[2].startswith("-  ")


@pytest.mark.parametrize("room", [200, 60, 50, 40, 30])
def test_lines_fit_and_keep_the_result(room: int) -> None:
    shown = table(room)
    assert all(width(line.rstrip()) <= room for line in shown)
    assert "exit 1, 12m ago" in shown[1]


def test_columns_line_up_with_wide_characters() -> None:
    first, second = table(None)[1:]
    assert width(first[: first.index("exit 1")]) == width(second[: second.index("ok, 1m")])


def test_a_short_form_is_used_before_anything_is_cut() -> None:
    columns = (Column("NAME", shrinks=4), Column("NEXT"))
    rows = [["a-rather-long-name", Cell("in 5m, 03:00 CET", "in 5m")]]
    shown = lines(columns, rows, room=30, mark="…", paint=lambda text, style: text)
    assert shown[1] == "a-rather-long-name  in 5m"


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_cutting(text: str, columns: int, shown: str) -> None:
    assert cut(text, columns) == shown


def test_width_of_odd_characters() -> None:
    assert [width(text) for text in ("e\u0301", "\U0001f600", "ｱ", "Ａ")] == [1, 2, 1, 2]


def test_a_name_of_300_characters_leaves_room_for_the_rest() -> None:
    shown = lines(COLUMNS, [["ok", "x" * 300, "", "exit 1"]], room=80, mark="…", paint=lambda text, style: text)
    assert width(shown[1]) <= 80
    assert shown[1].endswith("exit 1")
