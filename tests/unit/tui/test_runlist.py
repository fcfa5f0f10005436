"""Runs below their two headings: every run has one place, and every place one run or one heading."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl_tui.screens.runlist import RunRows
from jobctl_tui.widgets.cells import Rule
from jobctl_tui.words.glyphs import UTF8
from jobctl_tui.words.when import When

AT = "2026-11-29T02:12:41Z"
RUN: dict[str, Any] = {
    "job": "backup", "started_at": AT, "finished_at": None, "scheduled_at": AT, "due_at": AT, "attempt": 1,
    "max_attempts": 1, "trigger": "schedule", "queue": "default",
}  # fmt: skip


class Here:
    """A window of which everything is here, or nothing beyond `known`."""

    def __init__(self, total: int, active: int, known: int | None = None) -> None:
        self.total = total
        self.more: dict[str, Any] = {"active": active, "today": {}}
        self.known = total if known is None else known
        self.shown: tuple[int, int] | None = None

    def row(self, index: int) -> dict[str, Any] | None:
        if not 0 <= index < self.known:
            return None
        return RUN | {"id": 1000 + index, "state": "running" if index < self.more["active"] else "succeeded"}

    def index_of(self, key: int) -> int | None:
        return key - 1000 if 0 <= key - 1000 < self.known else None

    def show(self, first: int, count: int) -> None:
        self.shown = (first, count)


def rows(window: Here) -> RunRows:
    host = SimpleNamespace(
        feed=SimpleNamespace(status=None, now_ms=lambda: 1_796_000_000_000), glyphs=UTF8, when=When()
    )
    return RunRows(window, host)  # type: ignore[arg-type]


@given(st.integers(0, 40), st.integers(0, 40))
def test_places_and_runs_belong_together(ended: int, active: int) -> None:
    made = rows(Here(ended + active, active))
    keys = [made.key(index) for index in range(made.count)]
    assert [key for key in keys if key is not None] == [1000 + index for index in range(ended + active)]
    assert all(made.index_of(key) == index for index, key in enumerate(keys) if key is not None)
    headings = [index for index in range(made.count) if isinstance(made.cells(index), Rule)]
    assert headings == ([0] if active else []) + ([active + (1 if active else 0)] if ended else [])


@pytest.mark.parametrize(("first", "count"), [(0, 10), (1, 5), (30, 20)])
def test_all_runs_that_are_on_the_screen_are_asked_for(first: int, count: int) -> None:
    window = Here(100, 20)
    made = rows(window)
    made.show(first, count)
    assert window.shown is not None
    begin, many = window.shown
    for index in range(first, first + count):
        key = made.key(index)
        assert key is None or begin <= key - 1000 < begin + many


def test_rows_that_have_not_come_are_no_headings() -> None:
    made = rows(Here(50, 0, known=10))
    assert made.cells(40) is None
    assert made.key(40) is None


def test_a_tick_names_the_places_that_say_something_else() -> None:
    window = Here(3, 1)
    made = rows(window)
    made.show(0, 5)
    for index in range(made.count):
        made.cells(index)
    assert list(made.differing()) == []
    made._host.feed.now_ms = lambda: 1_796_000_061_000  # type: ignore[method-assign]
    assert 1 in list(made.differing())
