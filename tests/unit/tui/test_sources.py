"""Reading a part of a list at the daemon: as few requests as it takes, and the row that is meant well inside."""

from typing import Any

import pytest

from jobctl_tui.live.sources import read

Json = dict[str, Any]


class Told:
    """A list of so many rows, told by pages as the daemon does; `asked` are the requests."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[tuple[int, int | None]] = []

    def __call__(self, offset: int, limit: int, *, around: int | None = None, q: str | None = None) -> Json:
        self.asked.append((offset, around))
        first = around // limit * limit if around is not None and around < self.count else offset
        items = [{"id": number} for number in range(first, min(self.count, first + limit))]
        return {"schema": 1, "event": 7, "total": self.count, "offset": first, "items": items, "active": 3}


def test_a_part_is_one_request_and_keeps_what_else_was_said() -> None:
    told = Told(1000)
    page = read(told, {"q": "x"}, 100, 50, None)
    assert (page.total, page.offset, page.event, len(page.rows), page.more) == (1000, 100, 7, 50, {"active": 3})
    assert told.asked == [(100, None)]


def test_a_row_that_is_where_it_was_costs_no_second_request() -> None:
    told = Told(1000)
    assert read(told, {}, 100, 50, 120).offset == 100
    assert told.asked == [(100, None)]


@pytest.mark.parametrize("row", [0, 1, 49, 50, 51, 99, 100, 500, 777, 998, 999])
def test_a_row_has_others_on_both_sides_wherever_it_is(row: int) -> None:
    told = Told(1000)
    page = read(told, {}, 300, 50, row)
    place = [one["id"] for one in page.rows].index(row)
    assert place >= 12 or page.offset == 0
    assert len(page.rows) - place > 12 or page.offset + len(page.rows) == 1000
    assert len(told.asked) <= 3


def test_a_row_that_is_gone_leaves_the_part_where_it_was() -> None:
    told = Told(1000)
    assert read(told, {}, 300, 50, 5000).offset == 300
    assert len(told.asked) == 2


def test_a_short_list_is_read_at_once() -> None:
    told = Told(20)
    assert len(read(told, {}, 0, 50, 19).rows) == 20
    assert len(told.asked) == 1
