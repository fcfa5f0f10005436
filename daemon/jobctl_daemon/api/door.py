"""Who is connected, how many may be, and the one timer that looks after slow ones while anybody is there."""

import asyncio

from jobctl.errors import Unavailable
from jobctl_daemon.api.callers import Callers
from jobctl_daemon.api.connection import Connection
from jobctl_daemon.api.limits import SWEEP_S


class Door:
    """Admits connections. One that idles makes room for a served caller's new one, strangers' first."""

    def __init__(self, callers: Callers, connections: int, strangers: int) -> None:
        self._callers = callers
        self._most = connections
        self._most_of_a_stranger = strangers
        self._inside: dict[Connection, None] = {}
        self._loop = asyncio.get_running_loop()
        self._sweep: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._inside)

    def enter(self, connection: Connection) -> None:
        """Counts the connection until it leaves; without room it is told so, and in a flood not even that."""
        welcome = self._room_for(connection.uid)
        flooded = len(self._inside) >= 2 * self._most
        self._inside[connection] = None
        if flooded and not welcome and connection.wire is not None:
            connection.wire.abort()
        elif not welcome:
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
        served = self._callers.served(uid)
        if not served and sum(other.uid == uid for other in self._inside) >= self._most_of_a_stranger:
            return False
        if len(self._inside) < self._most:
            return True
        return served and self._make_room()

    def _make_room(self) -> bool:
        """Closes the connection that has been here longest of those that idle."""
        idle = [connection for connection in self._inside if connection.idle]
        strangers = [connection for connection in idle if not self._callers.served(connection.uid)]
        if not idle:
            return False
        oldest = (strangers or idle)[0]
        self.leave(oldest)
        oldest.force_close()
        return True

    def _look(self) -> None:
        now_s = self._loop.time()
        for connection in list(self._inside):
            connection.overdue(now_s)
        self._sweep = self._loop.call_later(SWEEP_S, self._look) if self._inside else None
