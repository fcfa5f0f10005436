"""Who is connected, how many may be, and the one timer that looks after slow ones while anybody is there."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from jobctl.errors import Unavailable
from jobctl_daemon.api.callers import Callers, Welcome
from jobctl_daemon.api.connection import Connection
from jobctl_daemon.api.limits import SWEEP_S


class Door:
    """Admits connections. Nobody but the daemon's own user and root has more than `most_of_one`; when all are taken,
    strangers make room first, then who has most: so nobody can keep the others out."""

    def __init__(self, callers: Callers, connections: int, most_of_one: int) -> None:
        self._callers = callers
        self._most = connections
        self._most_of_one = most_of_one
        self._inside: dict[Connection, None] = {}
        self._loop = asyncio.get_running_loop()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._inside)

    def enter(self, connection: Connection) -> None:
        """Counts the connection until it leaves; without room it is told so, and in a flood not even that."""
        admitted = self._room_for(connection.uid)
        flooded = len(self._inside) >= 2 * self._most
        self._inside[connection] = None
        if flooded and not admitted and connection.wire is not None:
            connection.wire.abort()
        elif not admitted:
            connection.refuse(Unavailable("too many connections", "close some, or try again"))
        if self._sweep is None:
            self._sweep = self._loop.call_later(SWEEP_S, self._look)

    def leave(self, connection: Connection) -> None:
        self._inside.pop(connection, None)

    def close(self) -> None:
        """No more looking; what is still open is broken off."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for connection in list(self._inside):
            if connection.wire is not None:
                connection.wire.abort()

    def _room_for(self, uid: int | None) -> bool:
        welcome = self._callers.welcome(uid)
        inside = [other for other in self._inside if not other.refused]
        own = [other for other in inside if other.uid == uid]
        if welcome is not Welcome.OWN and len(own) >= self._most_of_one:
            return welcome is Welcome.KNOWN and self._dismiss(other for other in own if other.idle)
        return len(inside) < self._most or self._make_room(inside, welcome, len(own))

    def _make_room(self, inside: list[Connection], welcome: Welcome, has: int) -> bool:
        """What idles goes before what is at work; strangers' before others', then of who has most, the oldest first.

        It gives way only to a better claim: to who is known where it is a stranger's, else to who has less by two at
        least, so that two never take turns. Root and the daemon's own user have the best, over all that idles.
        """
        counts = Counter(other.uid for other in inside)
        ranks = {uid: self._callers.welcome(uid) for uid in counts}

        def gives_way(other: Connection) -> bool:
            rank = ranks[other.uid]
            return rank > welcome or (rank is not Welcome.OWN and counts[other.uid] > has + 1)

        ranked = sorted(inside, key=lambda other: (-ranks[other.uid], -counts[other.uid]))
        idle = [other for other in ranked if other.idle and (welcome is Welcome.OWN or gives_way(other))]
        return self._dismiss(idle) or self._dismiss(filter(gives_way, ranked))

    def _dismiss(self, candidates: Iterable[Connection]) -> bool:
        """Closes the first of them, if there is one."""
        for connection in candidates:
            self.leave(connection)
            if connection.idle:
                connection.force_close()
            elif connection.wire is not None:
                connection.wire.abort()
            return True
        return False

    def _look(self) -> None:
        now_s = self._loop.time()
        for connection in list(self._inside):
            connection.overdue(now_s)
        self._sweep = self._loop.call_later(SWEEP_S, self._look) if self._inside else None
