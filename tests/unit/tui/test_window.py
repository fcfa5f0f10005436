"""A window on a list that lies elsewhere: what is read when, and what stays under a cursor while the list changes."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from jobctl.client.sync import Client
from jobctl.errors import InvalidInput, JobctlError, Unreachable
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.sources import read
from jobctl_tui.live.window import ORDER_MS, ROWS_MS, Dirty, Page, Query, Window
from kit.clock import ManualClock

Json = dict[str, Any]


class Elsewhere:
    """A list at a daemon: as `GET /v1/jobs/window` answers, page by page of `limit`."""

    def __init__(self, count: int) -> None:
        self.rows: list[Json] = [{"id": number, "word": "ok"} for number in range(1000, 1000 + count)]
        self.asked: list[tuple[int, int, int | None]] = []
        self.event = 1
        self.refuses: JobctlError | None = None

    def fetch(self, client: Client, query: Query, offset: int, limit: int, around: int | None) -> Page:
        self.asked.append((offset, limit, around))
        if self.refuses is not None:
            raise self.refuses
        return read(self._answer, query, offset, limit, around)

    def _answer(self, offset: int, limit: int, *, around: int | None = None, q: str | None = None) -> Json:
        rows = [row for row in self.rows if q is None or q in row["word"]]
        place = next((place for place, row in enumerate(rows) if row["id"] == around), None)
        first = offset if place is None else place // limit * limit
        items = [dict(row) for row in rows[first : first + limit]]
        return {"total": len(rows), "offset": first, "event": self.event, "items": items}

    def ids(self, changes: Changes) -> frozenset[int]:
        return changes.jobs

    def change(self, key: int, word: str) -> Changes:
        next(row for row in self.rows if row["id"] == key)["word"] = word
        self.event += 1
        return Changes(jobs=frozenset({key}))

    def move(self, key: int, place: int) -> Changes:
        row = next(row for row in self.rows if row["id"] == key)
        self.rows.remove(row)
        self.rows.insert(place, row)
        return Changes(jobs=frozenset({key}))


class Slowly:
    """Errands whose answers come when the test says so."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.open: list[tuple[Any, ...]] = []
        self.timers: list[tuple[int, Callable[[], None]]] = []

    def run(self, work: Any, done: Any = None, failed: Any = None, group: str | None = None) -> None:
        self.open = [one for one in self.open if group is None or one[3] != group]
        self.open.append((work, done, failed, group))

    def later(self, after_ms: int, call: Callable[[], None]) -> None:
        self.timers.append((self.clock.awake_ms() + after_ms, call))

    def answer(self) -> None:
        work, done, failed, _ = self.open.pop(0)
        try:
            page = work(None)
        except JobctlError as error:
            failed(error)
        else:
            done(page)

    def all(self) -> None:
        """Until nothing is asked any more."""
        for _ in range(20):
            if not self.open:
                return
            self.answer()
        raise AssertionError("it asks again and again")

    def pass_ms(self, ms: int) -> None:
        """Time passes; timers that are due call, and what they ask is answered."""
        end_ms = self.clock.awake_ms() + ms
        while due := [timer for timer in self.timers if timer[0] <= end_ms]:
            first = min(due, key=lambda timer: timer[0])
            self.timers.remove(first)
            self.clock.tick(max(0, first[0] - self.clock.awake_ms()))
            first[1]()
            self.all()
        self.clock.tick(end_ms - self.clock.awake_ms())


class Sight:
    """A window with everything around it; 10 rows are on the screen."""

    def __init__(self, count: int) -> None:
        self.clock = ManualClock()
        self.list = Elsewhere(count)
        self.errands = Slowly(self.clock)
        self.dirty: list[Dirty] = []
        self.window = Window(self.list, self.errands, self.clock, self.dirty.append)
        self.window.show(0, 10)
        self.errands.all()
        self.list.asked.clear()
        self.dirty.clear()

    def seen(self, first: int = 0, count: int = 10) -> list[int | None]:
        rows = [self.window.row(index) for index in range(first, first + count)]
        return [None if row is None else row["id"] for row in rows]

    def touch(self, changes: Changes) -> None:
        self.window.touch(changes)
        self.errands.all()


@pytest.fixture
def sight() -> Sight:
    return Sight(1000)


# ── what is read ──────────────────────────────────────────────


def test_only_what_is_around_the_screen_is_read_of_a_million_rows() -> None:
    sight = Sight(0)
    sight.list.rows = [{"id": number, "word": ""} for number in range(1_000_000)]
    sight.window.show(500_000, 10)
    sight.window.reorder()
    sight.errands.all()
    assert sight.window.total == 1_000_000
    assert sight.seen(500_000, 3) == [500_000, 500_001, 500_002]
    assert len(sight.window._rows) < 200


def test_turning_a_page_waits_for_nothing_and_the_next_ones_are_read_meanwhile(sight: Sight) -> None:
    for first in range(0, 400, 10):
        sight.window.show(first, 10)
        assert sight.seen(first) == list(range(1000 + first, 1010 + first))
        sight.errands.all()
    assert len(sight.list.asked) < 15


def test_rows_that_are_far_away_are_let_go(sight: Sight) -> None:
    for first in range(0, 900, 10):
        sight.window.show(first, 10)
        sight.errands.all()
    assert len(sight.window._rows) < 200
    assert sight.window.row(0) is None


def test_what_is_not_here_yet_is_known_as_that(sight: Sight) -> None:
    sight.window.show(700, 10)
    assert sight.window.loading
    assert sight.seen(700) == [None] * 10
    sight.errands.all()
    assert not sight.window.loading
    assert sight.seen(700, 1) == [1700]
    assert sight.dirty[-1].all


def test_one_reading_at_a_time_however_fast_somebody_scrolls(sight: Sight) -> None:
    for first in range(200, 900, 10):
        sight.window.show(first, 10)
    assert len(sight.errands.open) == 1
    sight.errands.all()
    assert sight.seen(890) == list(range(1890, 1900))
    assert len(sight.list.asked) <= 2


def test_another_question_forgets_the_one_that_is_on_its_way(sight: Sight) -> None:
    for row in sight.list.rows[500:520]:
        row["word"] = "failed"
    sight.window.ask(q="nothing has this word")
    sight.window.ask(q="fail")
    assert len(sight.errands.open) == 1
    assert sight.seen(0, 2) == [1000, 1001], "what is here is shown until then"
    sight.errands.all()
    assert sight.window.total == 20
    assert sight.seen(0, 2) == [1500, 1501]


def test_the_same_question_is_not_asked_twice(sight: Sight) -> None:
    sight.window.ask()
    assert not sight.errands.open


def test_a_filter_that_cannot_be_is_told_and_not_asked_again(sight: Sight) -> None:
    sight.list.refuses = InvalidInput("no such key: stat; did you mean state?")
    sight.window.ask(q="stat:x")
    sight.errands.all()
    assert isinstance(sight.window.error, InvalidInput)
    assert sight.seen(0, 1) == [1000]
    sight.errands.pass_ms(60_000)
    assert len(sight.list.asked) == 1


def test_a_daemon_that_does_not_answer_is_asked_again_and_what_was_here_stays(sight: Sight) -> None:
    sight.errands.pass_ms(ROWS_MS)
    sight.list.refuses = Unreachable("gone")
    sight.touch(sight.list.change(1003, "failed"))
    assert isinstance(sight.window.error, Unreachable)
    assert sight.seen(0, 2) == [1000, 1001]
    sight.list.refuses = None
    sight.errands.pass_ms(3 * ORDER_MS)
    assert sight.window.error is None
    assert sight.window.find(1003) == {"id": 1003, "word": "failed"}


# ── what changes ──────────────────────────────────────────────


def test_a_changed_row_alone_is_painted_again(sight: Sight) -> None:
    sight.errands.pass_ms(ROWS_MS)
    sight.touch(sight.list.change(1003, "failed"))
    assert sight.dirty == [Dirty(frozenset({1003}))]
    assert sight.window.find(1003) == {"id": 1003, "word": "failed"}


def test_a_list_that_nobody_sees_is_read_when_somebody_does(sight: Sight) -> None:
    sight.errands.pass_ms(ORDER_MS)
    sight.window.resting = True
    sight.touch(sight.list.change(1003, "failed"))
    sight.touch(sight.list.move(1009, 0))
    sight.touch(Changes(reset=True, link=True))
    sight.errands.pass_ms(60_000)
    assert sight.list.asked == []
    sight.window.resting = False
    sight.errands.all()
    assert sight.seen(0, 2) == [1009, 1000]
    assert sight.window.find(1003) == {"id": 1003, "word": "failed"}


def test_what_changes_off_the_screen_is_read_with_the_order_only(sight: Sight) -> None:
    sight.touch(sight.list.change(1999, "failed"))
    assert sight.list.asked == []
    sight.errands.pass_ms(ORDER_MS)
    assert len(sight.list.asked) == 1


def test_a_storm_of_changes_is_read_some_ten_times_a_second_at_most(sight: Sight) -> None:
    for number in range(1000):
        sight.window.touch(sight.list.change(1000 + number % 10, f"word {number}"))
        sight.errands.all()
        sight.errands.pass_ms(10)
    assert len(sight.list.asked) <= 10_000 / ROWS_MS + 5
    sight.errands.pass_ms(ORDER_MS)
    assert [sight.window.row(place) for place in range(10)] == sight.list.rows[:10]


def test_a_row_that_changed_off_the_screen_is_true_by_the_time_it_is_seen(sight: Sight) -> None:
    sight.window.hold = True
    sight.touch(sight.list.change(1030, "failed"))
    sight.errands.pass_ms(10 * ORDER_MS)
    sight.window.show(25, 10)
    sight.errands.all()
    sight.errands.pass_ms(ROWS_MS)
    assert sight.window.find(1030) == {"id": 1030, "word": "failed"}


def test_what_happens_while_an_answer_is_on_its_way_is_read_again(sight: Sight) -> None:
    sight.errands.pass_ms(ROWS_MS)
    sight.window.touch(sight.list.change(1003, "running"))
    work, done, _, _ = sight.errands.open.pop()
    page = work(None)
    sight.window.touch(sight.list.change(1003, "failed"))
    done(page)
    sight.errands.pass_ms(ROWS_MS)
    assert sight.window.find(1003) == {"id": 1003, "word": "failed"}


def test_the_order_is_taken_over_every_two_seconds(sight: Sight) -> None:
    sight.errands.pass_ms(ROWS_MS)
    sight.touch(sight.list.move(1009, 0))
    assert sight.seen(0, 2) == [1000, 1001]
    sight.errands.pass_ms(ORDER_MS)
    assert sight.seen(0, 2) == [1009, 1000]


def test_the_order_is_held_while_somebody_chooses(sight: Sight) -> None:
    sight.window.hold = True
    sight.touch(sight.list.move(1009, 0))
    sight.touch(sight.list.change(1009, "failed"))
    sight.errands.pass_ms(10 * ORDER_MS)
    assert sight.seen() == list(range(1000, 1010))
    assert sight.window.find(1009) == {"id": 1009, "word": "failed"}, "what a row says is true all the same"
    sight.window.hold = False
    sight.errands.all()
    assert sight.seen(0, 2) == [1009, 1000]


def test_the_order_is_held_for_a_moment_after_a_key(sight: Sight) -> None:
    sight.errands.pass_ms(ORDER_MS)
    sight.window.hold_for(2000)
    sight.touch(sight.list.move(1009, 0))
    sight.errands.pass_ms(1999)
    assert sight.seen(0, 2) == [1000, 1001]
    sight.errands.pass_ms(1)
    assert sight.seen(0, 2) == [1009, 1000]


def test_a_row_is_never_in_two_places_while_the_order_is_held_and_somebody_scrolls(sight: Sight) -> None:
    sight.window.hold = True
    sight.touch(sight.list.move(1002, 90))
    sight.touch(sight.list.move(1003, 500))
    for first in range(0, 300, 7):
        sight.window.show(first, 10)
        sight.errands.all()
        known = [key for key in sight.seen(0, 400) if key is not None]
        assert len(known) == len(set(known))
    sight.window.hold = False
    sight.errands.pass_ms(ORDER_MS)
    assert None not in sight.seen(294, 10)


def test_a_list_that_becomes_shorter_than_what_is_shown_is_not_asked_for_ever(sight: Sight) -> None:
    sight.window.show(900, 10)
    sight.errands.all()
    del sight.list.rows[5:]
    sight.touch(Changes(reset=True, link=True))
    sight.errands.pass_ms(60_000)
    assert sight.window.total == 5
    assert len(sight.list.asked) < 5


# ── the cursor ──────────────────────────────────────────────


def test_a_row_is_found_by_its_id_wherever_it_is(sight: Sight) -> None:
    assert sight.window.index_of(1950) is None
    sight.window.around(1950)
    sight.errands.all()
    assert sight.window.index_of(1950) == 950
    assert sight.window.row(950) == {"id": 1950, "word": "ok"}


def test_a_new_order_is_read_around_the_cursor_wherever_its_row_went(sight: Sight) -> None:
    sight.window.cursor = 1004
    sight.errands.pass_ms(ORDER_MS)
    sight.touch(sight.list.move(1004, 800))
    index = sight.window.index_of(1004)
    assert index == 800
    first = index - 4  # the line on which the cursor was
    before = len(sight.list.asked)
    sight.window.show(first, 10)
    assert None not in sight.seen(first)
    sight.errands.all()
    assert len(sight.list.asked) - before <= 1


def test_whoever_has_scrolled_away_from_the_cursor_is_not_pulled_back(sight: Sight) -> None:
    sight.window.cursor = 1004
    sight.window.show(300, 10)
    sight.errands.all()
    sight.touch(Changes(reset=True, link=True))
    assert sight.seen(300, 1) == [1300]


def test_a_row_that_is_gone_is_nowhere(sight: Sight) -> None:
    sight.window.cursor = 1004
    sight.errands.pass_ms(ORDER_MS)
    sight.list.rows = [row for row in sight.list.rows if row["id"] != 1004]
    sight.touch(Changes(jobs=frozenset({1004})))
    assert sight.window.index_of(1004) is None
    assert sight.seen(0, 6) == [1000, 1001, 1002, 1003, 1005, 1006]


def test_after_the_link_was_lost_everything_is_read_at_once(sight: Sight) -> None:
    sight.list.rows = [{"id": 1, "word": "of another daemon"}]
    sight.touch(Changes(reset=True, link=True))
    assert sight.window.total == 1
    assert sight.seen(0, 1) == [1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.case("F144")
def test_whatever_happens_a_row_has_one_place_and_the_list_is_true_in_the_end(seed: int) -> None:
    chance = random.Random(seed)
    sight = Sight(chance.choice([5, 80, 400]))
    for _ in range(200):
        act = chance.randrange(9)
        key = chance.choice(sight.list.rows)["id"] if sight.list.rows else 0
        if act == 0 and sight.list.rows:
            sight.window.touch(sight.list.move(key, chance.randrange(len(sight.list.rows))))
        elif act == 1 and sight.list.rows:
            sight.window.touch(sight.list.change(key, f"word {chance.random()}"))
        elif act == 2 and len(sight.list.rows) > 1:
            sight.list.rows = [row for row in sight.list.rows if row["id"] != key]
            sight.window.touch(Changes(jobs=frozenset({key})))
        elif act == 3:
            sight.list.rows.insert(0, {"id": 5000 + len(sight.list.asked) * 1000 + sight.list.event, "word": "new"})
            sight.list.event += 1
            sight.window.touch(Changes(jobs=frozenset({sight.list.rows[0]["id"]})))
        elif act == 4:
            sight.window.show(chance.randrange(max(1, sight.window.total)), 10)
        elif act == 5:
            sight.window.hold = chance.random() < 0.5
        elif act == 6:
            sight.window.cursor = key
        elif act == 7 and sight.errands.open:
            sight.errands.answer()
        else:
            sight.errands.all()
            sight.errands.pass_ms(chance.choice([10, 100, 2500]))
        known = [row["id"] for row in sight.window._rows if row is not None]
        assert len(known) == len(set(known))
        for one in known:
            index = sight.window.index_of(one)
            assert index is not None
            assert (sight.window.row(index) or {})["id"] == one
    sight.window.hold = False
    sight.errands.all()
    sight.errands.pass_ms(3 * ORDER_MS)
    sight.window.show(0, 10)
    sight.errands.all()
    sight.errands.pass_ms(3 * ORDER_MS)
    assert sight.window.total == len(sight.list.rows)
    assert [sight.window.row(place) for place in range(min(10, len(sight.list.rows)))] == sight.list.rows[:10]
