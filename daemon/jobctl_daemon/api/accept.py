"""Taking connections. asyncio's own way tries 512 times a second, with a line each, where no descriptor is left."""

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Final

import structlog

from jobctl_daemon.kept import Errands

#: Taken in one turn of the loop: what came with them is answered before the next ones are taken.
_AT_ONCE: Final = 64
_REST_S_MIN: Final = 0.1
_REST_S_MAX: Final = 5.0
#: Of the connection that was about to be taken, or of nothing at all: the next one may do.
_PASSING: Final = frozenset({errno.EAGAIN, errno.EINTR, errno.ECONNABORTED, errno.EPROTO})


class Acceptor:
    """Hands every connection of a listening socket to a new protocol. What cannot be taken waits in the kernel.

    `beat` is told of each: None, or what is in the way.
    """

    def __init__(
        self,
        channel: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        beat: Callable[[str | None], None],
    ) -> None:
        self._channel = channel
        self._protocol = protocol
        self._beat = beat
        self._loop = asyncio.get_running_loop()
        self._errands = Errands()
        self._resting: asyncio.TimerHandle | None = None
        self._rest_s = 0.0
        self._loop.add_reader(channel, self._ready)

    def close(self) -> None:
        """Takes no more, and gives up the socket."""
        if self._resting is not None:
            self._resting.cancel()
        self._loop.remove_reader(self._channel)
        self._channel.close()

    def _ready(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._channel.accept()
            except OSError as error:
                if error.errno not in _PASSING:
                    self._rest(error)
                elif self._rest_s:
                    self._well()  # accept(2) takes a descriptor before it looks whether anybody waits
                return
            connection.setblocking(False)
            self._errands.start("connection", self._take(connection))
            self._well()

    def _well(self) -> None:
        self._beat(None)
        if self._rest_s:
            self._rest_s = 0.0
            structlog.get_logger().info("service.recovered", service="api")

    async def _take(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except BaseException:
            connection.close()
            raise

    def _rest(self, error: OSError) -> None:
        """No descriptor, no memory: that takes others to end, and asking all the time does not help them."""
        self._loop.remove_reader(self._channel)
        self._rest_s = min(max(self._rest_s * 2, _REST_S_MIN), _REST_S_MAX)
        words = f"connections cannot be taken: {error.strerror or error}"
        self._beat(words)
        structlog.get_logger().warning("service.failed", service="api", error=words)
        self._resting = self._loop.call_later(self._rest_s, self._go_on)

    def _go_on(self) -> None:
        """Also when nobody waits: that connections can be taken again is known before the next one comes."""
        self._resting = None
        self._loop.add_reader(self._channel, self._ready)
        self._ready()
