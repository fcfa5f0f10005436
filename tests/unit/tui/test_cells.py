"""Texts in columns."""

import pytest
from rich.cells import cell_len
from rich.style import Style

from jobctl_tui.widgets.cells import Cell, clean, cut, fitted, segments
from jobctl_tui.widgets.columns import Column, places


@pytest.mark.parametrize("text", ["abc", "漢字漢字", "a漢", "", "e\u0301x"])
@pytest.mark.parametrize("width", [0, 1, 2, 3, 5, 20])
@pytest.mark.parametrize("align", ["left", "right"])
def test_a_fitted_text_has_the_width_it_was_given(text: str, width: int, align: str) -> None:
    assert cell_len(fitted(clean(text), width, align)) == width  # type: ignore[arg-type]


def test_what_is_cut_off_is_marked() -> None:
    assert cut("backup-db", 9) == "backup-db"
    assert cut("backup-db", 6) == "backu…"
    assert cut("漢字漢字", 4) == "漢 …"
    assert cut("backup-db", 6, "~") == "backu~"


def test_a_selector_of_pictures_is_left_out_and_controls_are_written_out() -> None:
    assert clean("❤\ufe0f") == "❤"
    assert clean("a\x1b[31mb\n") == "a\\x1b[31mb\\n"


def test_a_cell_of_several_styles_is_cut_and_filled_as_one() -> None:
    cell = Cell("....", "", (Cell("xx", "-failed"), Cell("..")))
    looks = {"": Style(), "-failed": Style(bold=True)}
    for width in range(1, 12):
        parts = list(segments(cell, width, "left", looks.__getitem__))
        assert sum(part.cell_length for part in parts) == width
    right = list(segments(cell, 10, "right", looks.__getitem__))
    assert "".join(part.text for part in right) == "  ....xx.."
    assert [part.text for part in right if part.style == looks["-failed"]] == ["xx"]


COLUMNS = (Column("A", 5), Column("B", 10, flex=2), Column("C", 10, flex=1), Column("D", 4, min_screen=60))


def test_columns_take_what_is_left_over_by_their_shares() -> None:
    placed = places(COLUMNS, 62, 80)
    assert [(one.column, one.start, one.width) for one in placed] == [(0, 0, 5), (1, 6, 30), (2, 37, 20), (3, 58, 4)]
    assert placed[-1].start + placed[-1].width == 62


def test_columns_give_way_down_to_a_few_letters_and_are_then_cut() -> None:
    assert [one.width for one in places(COLUMNS, 20, 20)] == [5, 5, 8]
    assert [one.width for one in places(COLUMNS, 12, 20)] == [5, 4, 1]
    assert places(COLUMNS, 0, 20) == ()


def test_beside_something_columns_of_wide_screens_go_before_names_are_cut_to_nothing() -> None:
    columns = (Column("NAME", 14, flex=1), Column("SCHEDULE", 13, min_screen=72), Column("LAST 10", 10, min_screen=72))
    assert [one.column for one in places(columns, 100, 100)] == [0, 1, 2]
    assert [one.column for one in places(columns, 28, 100)] == [0, 1]
    assert [one.column for one in places(columns, 15, 100)] == [0]
    assert [one.width for one in places(columns, 10, 100)] == [10]
