"""A list whose rows lie at the daemon: only those around what is on the screen are here, whatever its length.

Rows are exchanged in place as they change. The order is another matter: it is taken over rarely, and never while
somebody is about to act on what he sees. A cursor belongs to an id: `index_of` says where that is now.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

from jobctl.client.sync import Client
from jobctl.clock import Clock
from jobctl.errors import CallerError, JobctlError
from jobctl_tui.live.changes import Changes
from jobctl_tui.live.held import Held

Json = dict[str, Any]
Query = dict[str, Any]

#: Rows that are read beyond each edge of the screen, at least: a page may be turned without waiting.
BESIDE: Final = 60
LIMIT_MAX: Final = 500
#: Rows on a screen of which it is not known yet how high it is: one reading is enough for most.
HEIGHT: Final = 40
#: Rows that have changed are read again at most so often, and the order of all at most so often. The feed tells every
#: 100 ms: a little less than that, and no reading has to wait for a timer.
ROWS_MS: Final = 75
ORDER_MS: Final = 2_000
#: A daemon that takes long for an answer is asked less often: it does so for this part of the time at most.
_SHARE: Final = 5


class Page(NamedTuple):
    """A part of a list as it was at event number `event`."""

    total: int
    offset: int
    event: int
    rows: Sequence[Json]
    more: Mapping[str, Any] = MappingProxyType({})
    """What else the answer says of the whole list."""


class Source(Protocol):
    """A list of the daemon."""

    def fetch(self, client: Client, query: Query, offset: int, limit: int, around: int | None) -> Page:
        """In a thread. With `around` the page that has this id, wherever it is; without such a row as without it."""
        ...

    def ids(self, changes: Changes) -> frozenset[int]:
        """Which rows have changed, of this list or of none."""
        ...


class Asks(Protocol):
    """What a window needs of `Errands`."""

    def run(
        self,
        work: Callable[[Client], Any],
        done: Callable[[Any], None] | None = None,
        failed: Callable[[JobctlError], None] | None = None,
        group: str | None = None,
    ) -> None: ...

    def later(self, after_ms: int, call: Callable[[], None]) -> None: ...


class Dirty(NamedTuple):
    """What of a window is to be painted again."""

    keys: frozenset[int] = frozenset()
    all: bool = False
    """Order, number of rows, or what is known of them."""


class _Asked(NamedTuple):
    """One reading. Readings are numbered: what has happened since the last was sent may be missing in its answer."""

    number: int
    version: int
    whole: bool
    """Whether it is of all that is kept here, so that the order may be taken over; else of the screen alone."""
    top: int
    keys: frozenset[int]
    """What was there when it was sent."""
    around: int | None
    line: int
    """Of the screen, where that row is to stay."""


class Window(Held):
    """Everything here is called on the loop of the screens."""

    def __init__(self, source: Source, errands: Asks, clock: Clock, changed: Callable[[Dirty], None]) -> None:
        super().__init__(clock)
        self.total = 0
        self.event = 0
        """The number of the newest event that the rows know of."""
        self.more: Mapping[str, Any] = {}
        """What else the daemon says of the list, as of the order that is here."""
        self.error: JobctlError | None = None
        """Why the last reading failed; what is here is what was read before."""
        self.known = False
        """Whether the list has been read at all."""
        self.query: Query = {}
        self.cursor: int | None = None
        """The id that the cursor is on: a new order is read around it."""
        self._source = source
        self._errands = errands
        self._changed = changed
        self._group = f"window {id(self)}"
        self._first = 0
        self._rows: list[Json | None] = []
        self._places: dict[int, int] = {}
        self._top, self._count = 0, HEIGHT
        self._sought: int | None = None
        self._version = 0
        self._version_here = -1
        self._sent = 0
        self._reading: _Asked | None = None
        self._stale: dict[int, int] = {}
        """Ids of rows that have changed, and the last reading that had been sent when they did."""
        self._order_stale: int | None = None
        self._resting = False
        self._timer_ms: int | None = None
        self._read_ms = self._ordered_ms = -ORDER_MS
        self._took_ms = 0
        self._missed = False
        """A row that has changed was not where it is shown: it is looked for farther away, while the order is held."""
        self._not_before_ms = 0

    # ── what is known ──────────────────────────────────────────────
    @property
    def loading(self) -> bool:
        """An answer is on its way that brings more than newer rows."""
        return self._reading is not None and (self._version_here != self._version or not self._covers(0))

    def row(self, index: int) -> Json | None:
        """None: there is no such row, or it is not here yet."""
        place = index - self._first
        return self._rows[place] if 0 <= place < len(self._rows) else None

    def find(self, key: int) -> Json | None:
        place = self._places.get(key)
        return None if place is None else self._rows[place]

    def index_of(self, key: int) -> int | None:
        """None: there is no such row, or it is far from what is shown."""
        place = self._places.get(key)
        return None if place is None else self._first + place

    # ── what is wanted ──────────────────────────────────────────────
    def show(self, first: int, count: int) -> None:
        """What is on the screen."""
        if (first, count) != (self._top, self._count) or not self.known:
            self._top, self._count = max(0, first), max(1, count)
            self._look()

    def ask(self, **query: object) -> None:
        """Another question; what is here is shown until the answer comes. A value of None is none."""
        asked = {name: value for name, value in query.items() if value is not None}
        if asked != self.query or not self.known:
            self.query = asked
            self._top = 0
            self._anew()

    def around(self, key: int) -> None:
        """The part of the list that has this id, wherever that is: `changed` tells when it is here."""
        if key in self._places:
            self._changed(Dirty(all=True))
            return
        self._sought = key
        self._anew()

    def exchange(self, rows: Sequence[Json]) -> None:
        """Rows as somebody has read them since: each where it is."""
        changed = self._put_in_place(rows)
        if changed:
            self._changed(Dirty(changed))

    def reorder(self) -> None:
        """Now, whatever is held."""
        self._anew()

    def touch(self, changes: Changes) -> None:
        """Things have happened."""
        if changes.reset:
            self._stale = dict.fromkeys(self._places, self._sent)
            self._order_stale = self._sent
            if changes.link:
                self._ordered_ms, self._not_before_ms = -ORDER_MS, 0
        elif ids := self._source.ids(changes):
            self._stale |= dict.fromkeys(ids & self._places.keys(), self._sent)
            self._order_stale = self._sent
        self._look()

    @property
    def resting(self) -> bool:
        """Nobody sees it: what has changed is remembered, and read when somebody does."""
        return self._resting

    @resting.setter
    def resting(self, resting: bool) -> None:
        if resting != self._resting:
            self._resting = resting
            self._look()

    # ── when something is read ──────────────────────────────────────────────
    def _look(self) -> None:
        """Reads what is due, or looks again when it is. One reading at a time: its answer looks again."""
        if self._reading is not None or (self._resting and self.known):
            return
        due_ms = self._due_ms()
        if due_ms is None:
            return
        now_ms = self._clock.awake_ms()
        due_ms = max(due_ms, self._not_before_ms)
        if due_ms <= now_ms:
            self._read(whole=self._wants_whole(now_ms))
        elif self._timer_ms is None or due_ms < self._timer_ms:
            self._timer_ms = due_ms
            self._errands.later(due_ms - now_ms, lambda: self._timed(due_ms))

    def _timed(self, due_ms: int) -> None:
        if self._timer_ms == due_ms:
            self._timer_ms = None
            self._look()

    def _due_ms(self) -> int | None:
        """When something is to be read, by `awake_ms`; None: nothing is."""
        if self._version_here != self._version or not self._covers(0):
            return 0
        if not self.hold and not self._covers(self._count):
            return 0
        dues = []
        if self._stale and any(self._key(row) in self._stale for row in self._visible()):
            dues.append(self._read_ms + max(ROWS_MS, _SHARE * self._took_ms))
        if self._order_stale is not None and not self._held:
            dues.append(max(self._ordered_ms + ORDER_MS, self._held_until_ms))
        return min(dues, default=None)

    def _wants_whole(self, now_ms: int) -> bool:
        if self._version_here != self._version or not self._covers(0 if self.hold else self._count):
            return True
        if self._missed:
            return True
        return self._order_stale is not None and not self.hold and now_ms >= self._ordered_ms + ORDER_MS

    def _covers(self, beside: int) -> bool:
        """Whether what is on the screen is here, and so many rows beside it."""
        if not self.known:
            return False
        first = max(0, min(self._top, self.total) - beside)
        last = min(self.total, self._top + self._count + beside)
        return first >= last or (self._first <= first and last <= self._first + len(self._rows))

    def _visible(self) -> list[Json]:
        first = max(0, self._top - self._first)
        return [row for row in self._rows[first : max(0, self._top + self._count - self._first)] if row is not None]

    # ── reading ──────────────────────────────────────────────
    def _anew(self) -> None:
        """Whatever is on its way is of no use any more."""
        self._version += 1
        self._reading = None
        self._not_before_ms = 0
        self._read(whole=True)

    def _read(self, *, whole: bool) -> None:
        self._sent += 1
        self._missed = False
        around = self._around() if whole else None
        first, limit = self._range_of_all() if whole else self._range_of_stale()
        rows = (self.row(index) for index in range(first, first + limit))
        keys = frozenset(self._key(row) for row in rows if row is not None)
        asked = _Asked(self._sent, self._version, whole, self._top, keys, around, self._line(around))
        self._reading, self._read_ms = asked, self._clock.awake_ms()
        query, source = self.query, self._source
        self._errands.run(
            lambda client: source.fetch(client, query, first, limit, around),
            lambda page: self._came(asked, page),
            lambda error: self._failed(asked, error),
            self._group,
        )

    def _range_of_all(self) -> tuple[int, int]:
        """What is on the screen, and the rows beside it."""
        beside = min(max(BESIDE, 2 * self._count), max(0, LIMIT_MAX - self._count) // 2)
        first = max(0, self._top - beside)
        return first, min(LIMIT_MAX, self._top + self._count + beside - first)

    def _range_of_stale(self) -> tuple[int, int]:
        """From the first row on the screen that has changed to the last."""
        places = [self._first + self._places[key] for row in self._visible() if (key := self._key(row)) in self._stale]
        return min(places), max(places) - min(places) + 1

    def _around(self) -> int | None:
        """A new order is read where the cursor will be when it is on the screen; what is scrolled to, there."""
        if self._sought is not None or self._version_here != self._version:
            return self._sought if self._sought is not None else self.cursor
        index = self.index_of(self.cursor) if self.cursor is not None else None
        on_screen = index is not None and self._top <= index < self._top + self._count
        return self.cursor if on_screen and self._covers(0) else None

    def _line(self, key: int | None) -> int:
        index = self.index_of(key) if key is not None else None
        line = self._count // 2 if index is None else index - self._top
        return line if 0 <= line < self._count else self._count // 2

    def _came(self, asked: _Asked, page: Page) -> None:
        if asked is not self._reading:
            return
        self._reading = None
        self.error = None
        self._took_ms = self._clock.awake_ms() - self._read_ms
        came = frozenset(map(self._key, page.rows))
        self._missed = self.hold and not asked.whole and not asked.keys <= came
        read = came if self._missed else asked.keys | came
        self._stale = {key: number for key, number in self._stale.items() if number >= asked.number or key not in read}
        first_of_version = self._version_here != asked.version
        if asked.whole and (first_of_version or not self.hold or not self._rows):
            dirty = self._take_over(asked, page)
        elif asked.whole:
            dirty = self._fill(page)
        else:
            dirty = self._exchange(page)
        self.event = page.event
        self.known, self._version_here = True, asked.version
        if self._top == asked.top and not self._covers(self._count):  # rows that should be there are not
            self._not_before_ms = self._clock.awake_ms() + ROWS_MS
        if first_of_version or dirty.all or dirty.keys:
            self._changed(dirty._replace(all=dirty.all or first_of_version))
        self._look()

    def _failed(self, asked: _Asked, error: JobctlError) -> None:
        if asked is not self._reading:
            return
        self._reading = None
        self.error = error
        self._not_before_ms = self._clock.awake_ms() + ORDER_MS
        self._changed(Dirty(all=True))
        if not isinstance(error, CallerError):  # who asked for what cannot be will ask for something else
            self._look()

    # ── what an answer does ──────────────────────────────────────────────
    def _take_over(self, asked: _Asked, page: Page) -> Dirty:
        """The order of the answer, and its rows."""
        self._ordered_ms = self._clock.awake_ms()
        if self._order_stale is not None and self._order_stale < asked.number:
            self._order_stale = None
        self._sought = None
        same = (
            page.total == self.total and self._first == page.offset and self._keys(page.rows) == self._keys(self._rows)
        )
        if same and self.more == page.more:
            return self._exchange(page)
        self.total, self.more = page.total, page.more
        self._put(page.offset, list(page.rows))
        if asked.around is not None and (index := self.index_of(asked.around)) is not None:
            self._top = max(0, index - asked.line)
        self._top = max(0, min(self._top, self.total - self._count))
        return Dirty(all=True)

    def _exchange(self, page: Page) -> Dirty:
        """Rows that are here, each where it is; what has moved is seen when the order is taken over."""
        changed = self._put_in_place(page.rows)
        moved = any(self.index_of(self._key(row)) != page.offset + at for at, row in enumerate(page.rows))
        if (moved or page.total != self.total) and self._order_stale is None:
            self._order_stale = self._sent
        return Dirty(changed)

    def _put_in_place(self, rows: Sequence[Json]) -> frozenset[int]:
        """Which of them say something else now."""
        changed = set()
        for row in rows:
            place = self._places.get(self._key(row))
            if place is not None and self._rows[place] != row:
                self._rows[place] = row
                changed.add(self._key(row))
        return frozenset(changed)

    def _fill(self, page: Page) -> Dirty:
        """Rows that are not here yet, around those that stay where they are. One that is elsewhere too leaves a gap
        until the order may be taken over."""
        self._exchange(page)
        self._order_stale = self._sent if self._order_stale is None else self._order_stale
        end, page_end = self._first + len(self._rows), page.offset + len(page.rows)
        if page_end < self._first or end < page.offset:
            self._put(page.offset, list(page.rows))
        else:
            new = [None if self._key(row) in self._places else row for row in page.rows]
            before = new[: max(0, self._first - page.offset)]
            after = new[max(0, end - page.offset) :] if page_end > end else []
            self._put(min(self._first, page.offset), [*before, *self._rows, *after])
        self.total, self.more = page.total, page.more
        return Dirty(all=True)

    def _put(self, first: int, rows: list[Json | None]) -> None:
        self._first, self._rows = first, rows
        self._places = {self._key(row): place for place, row in enumerate(rows) if row is not None}
        self._stale = {key: number for key, number in self._stale.items() if key in self._places}

    @staticmethod
    def _key(row: Json) -> int:
        key: int = row["id"]
        return key

    def _keys(self, rows: Sequence[Json | None]) -> list[int | None]:
        return [None if row is None else self._key(row) for row in rows]
