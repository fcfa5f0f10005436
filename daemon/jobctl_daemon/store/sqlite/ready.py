"""The ready queue: runs that may start, in groups of one queue, one priority and one owner, and whose turn it is."""

import heapq
import sqlite3
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from jobctl_daemon.store.sqlite.statements import load

SQL = load("ready")

_FIRST: Final = ("", -(1 << 62), -(1 << 62))
#: Of what is free, so many times as much may be one owner's.
_PORTION: Final = 4
_NORMAL: Final = 0


class Group(NamedTuple):
    """Ready runs of one queue, one priority and one owner."""

    queue: str
    priority: int
    owner_id: int


class Waiting(NamedTuple):
    """A run that could start now."""

    due_ms: int
    run_id: int


class Portions:
    """How much owners may have running, where many share the slots: never so much that others find none.

    One may start as long as it has fewer than `_PORTION` times what is free, and takes the last slot only when it has
    nothing running. So of 512 slots one has 410 at the most, two have 227 each, and some are always free for who comes.
    Root may have all. As with nice(2), nobody else goes before others by a priority that he gives himself: there one
    before the normal is the normal.
    """

    __slots__ = ("_free", "_roots", "_running")

    def __init__(self, free: int, running: Mapping[int, int], roots: Container[int]) -> None:
        self._free = free
        self._running = dict(running)
        self._roots = roots

    def may(self, owner_id: int) -> bool:
        """Whether the owner may start one more."""
        has = self._running.get(owner_id, 0)
        return owner_id in self._roots or has == 0 or (self._free > 1 and has < _PORTION * self._free)

    def take(self, owner_id: int) -> None:
        """It starts one."""
        self._running[owner_id] = self._running.get(owner_id, 0) + 1
        self._free -= 1

    def band(self, group: Group) -> int:
        """The priority that the group has among those of others."""
        return group.priority if group.owner_id in self._roots else max(_NORMAL, group.priority)


class Everything(Portions):
    """For a daemon that has one owner."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, {}, ())

    def may(self, owner_id: int) -> bool:  # noqa: ARG002 - whoever it is
        return True

    def band(self, group: Group) -> int:
        return group.priority


class Turns:
    """Whose turn it is: inside a priority the owners take turns, and go on where they were at the last look."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def pick(
        self, waiting: Mapping[Group, Sequence[Waiting]], rooms: Mapping[str, int], limit: int, portions: Portions
    ) -> list[int]:
        """Up to `limit` of the waiting runs: smaller priorities first, owners by turns, inside each queue's room.

        An owner's runs of one priority go by (due, id), whatever their queues. `rooms` says how many more may run in a
        queue; one that is not in it has no limit.
        """
        left = dict(rooms)
        picked: list[int] = []
        for priority in sorted({portions.band(group) for group in waiting}):
            band: dict[int, _Own] = {}
            for group, runs in waiting.items():
                if portions.band(group) == priority:
                    band.setdefault(group.owner_id, _Own()).add(group, runs)
            while band and len(picked) < limit:
                owner_id = self._next(band)
                run_id = band[owner_id].next(left) if portions.may(owner_id) else None
                if run_id is None:
                    del band[owner_id]
                    continue
                picked.append(run_id)
                portions.take(owner_id)
                self.last = owner_id
        return picked

    def alone(self, group: Group, runs: Sequence[Waiting], portions: Portions) -> list[int]:
        """As many of these runs as may be: nobody else has any."""
        picked = []
        for run in runs:
            if not portions.may(group.owner_id):
                break
            portions.take(group.owner_id)
            picked.append(run.run_id)
        if picked:
            self.last = group.owner_id
        return picked

    def _next(self, owners: Iterable[int]) -> int:
        return min(owners, key=lambda owner: (owner <= self.last, owner))


class _Own:
    """What an owner has waiting, by (priority, due, id), however many queues that is in."""

    __slots__ = ("_heads",)

    def __init__(self) -> None:
        self._heads: list[tuple[int, Waiting, Group, Iterator[Waiting]]] = []

    def add(self, group: Group, runs: Iterable[Waiting]) -> None:
        """No two runs are the same, so nothing behind them is ever compared."""
        rest = iter(runs)
        first = next(rest, None)
        if first is not None:
            heapq.heappush(self._heads, (group.priority, first, group, rest))

    def next(self, left: dict[str, int]) -> int | None:
        """The first run whose queue has room, which it takes; what is in a full queue is let go for this look."""
        while self._heads:
            priority, run, group, rest = self._heads[0]
            room = left.get(group.queue)
            if room is not None and room <= 0:
                heapq.heappop(self._heads)
                continue
            following = next(rest, None)
            if following is None:
                heapq.heappop(self._heads)
            else:
                heapq.heapreplace(self._heads, (priority, following, group, rest))
            if room is not None:
                left[group.queue] = room - 1
            return run.run_id
        return None


def groups(connection: sqlite3.Connection) -> Iterator[Group]:
    """All groups that have a ready run, whether it is due or not."""
    place: tuple[str, int, int] = _FIRST
    while (row := connection.execute(SQL.next_group, place).fetchone()) is not None:
        yield Group(*row)
        place = row


def due_now(
    connection: sqlite3.Connection, turns: Turns, now_ms: int, limit: int, free: int | None = None
) -> list[int]:
    """The ids of up to `limit` runs that are to start now, in the order of their turns. `free`: see `Store.claim`."""
    portions = Everything() if free is None else _portions(connection, free)
    rooms = {name: most - running for name, most, running in connection.execute(SQL.limits)}
    waiting: dict[Group, list[Waiting]] = {}
    for group in groups(connection):
        room = min(limit, rooms.get(group.queue, limit))
        if room > 0:
            found = connection.execute(SQL.waiting_in, {**group._asdict(), "now_ms": now_ms, "limit": room})
            waiting[group] = list(map(Waiting._make, found))
    if len(waiting) == 1:
        return turns.alone(*waiting.popitem(), portions)
    return turns.pick(waiting, rooms, limit, portions)


def _portions(connection: sqlite3.Connection, free: int) -> Portions:
    roots = {owner_id for (owner_id,) in connection.execute(SQL.roots)}
    return Portions(free, dict(connection.execute(SQL.at_work).fetchall()), roots)


def next_ms(connection: sqlite3.Connection, now_ms: int) -> int | None:
    """The next instant at which a run is to be tried later."""
    found = [connection.execute(SQL.next_of, (*group, now_ms)).fetchone() for group in groups(connection)]
    return min((row[0] for row in found if row), default=None)


def oldest_ms(connection: sqlite3.Connection, now_ms: int, owner_id: int | None) -> int | None:
    """Since when the oldest run waits that nothing but a lack of slots holds up: queues with a limit are left out."""
    limited = {row[0] for row in connection.execute(SQL.limits)}
    found = [
        connection.execute(SQL.oldest_of, (*group, now_ms)).fetchone()
        for group in groups(connection)
        if group.queue not in limited and owner_id in (None, group.owner_id)
    ]
    return min((row[0] for row in found if row), default=None)
