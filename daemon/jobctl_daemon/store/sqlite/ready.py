"""The ready queue: runs that may start, in groups of one queue, one priority and one owner, and whose turn it is."""

import sqlite3
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from jobctl_daemon.store.sqlite.statements import load

SQL = load("ready")

_FIRST: Final = ("", -(1 << 62), -(1 << 62))


class Group(NamedTuple):
    """Ready runs of one queue, one priority and one owner."""

    queue: str
    priority: int
    owner_id: int


class Waiting(NamedTuple):
    """A run that could start now."""

    due_ms: int
    run_id: int


class Turns:
    """Whose turn it is: inside a priority the owners take turns, and go on where they were at the last look."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0

    def pick(self, waiting: Mapping[Group, Iterable[Waiting]], rooms: Mapping[str, int], limit: int) -> list[int]:
        """Up to `limit` of the waiting runs: smaller priorities first, owners by turns, inside each queue's room.

        An owner's runs go by (due, id), whatever their queues. `rooms` says how many more may run in a queue; one that
        is not in it has no limit.
        """
        left = dict(rooms)
        picked: list[int] = []
        for priority in sorted({group.priority for group in waiting}):
            band = {group: deque(runs) for group, runs in waiting.items() if group.priority == priority}
            while len(picked) < limit and (owner_id := self._next_owner(band, left)) is not None:
                own = [group for group in band if group.owner_id == owner_id and _may(group, band, left)]
                group = min(own, key=lambda own_group: band[own_group][0])
                picked.append(band[group].popleft().run_id)
                left[group.queue] = left.get(group.queue, limit) - 1
                self.last = owner_id
        return picked

    def alone(self, group: Group, runs: Sequence[Waiting]) -> list[int]:
        """All of these runs: nobody else has any."""
        if runs:
            self.last = group.owner_id
        return [run.run_id for run in runs]

    def _next_owner(self, band: Mapping[Group, deque[Waiting]], left: Mapping[str, int]) -> int | None:
        owners = sorted({group.owner_id for group in band if _may(group, band, left)})
        return next((owner for owner in owners if owner > self.last), owners[0] if owners else None)


def _may(group: Group, band: Mapping[Group, deque[Waiting]], left: Mapping[str, int]) -> bool:
    return bool(band[group]) and left.get(group.queue, 1) > 0


def groups(connection: sqlite3.Connection) -> Iterator[Group]:
    """All groups that have a ready run, whether it is due or not."""
    place: tuple[str, int, int] = _FIRST
    while (row := connection.execute(SQL.next_group, place).fetchone()) is not None:
        yield Group(*row)
        place = row


def due_now(connection: sqlite3.Connection, turns: Turns, now_ms: int, limit: int) -> list[int]:
    """The ids of up to `limit` runs that are to start now, in the order of their turns."""
    rooms = {name: most - running for name, most, running in connection.execute(SQL.limits)}
    waiting: dict[Group, list[Waiting]] = {}
    for group in groups(connection):
        room = min(limit, rooms.get(group.queue, limit))
        if room > 0:
            found = connection.execute(SQL.waiting_in, {**group._asdict(), "now_ms": now_ms, "limit": room})
            waiting[group] = list(map(Waiting._make, found))
    if len(waiting) == 1:
        return turns.alone(*waiting.popitem())
    return turns.pick(waiting, rooms, limit)


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
