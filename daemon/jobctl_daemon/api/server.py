"""The server: from the listening socket to the verbs, and its stopping sequence."""

import asyncio
import os
from collections.abc import Callable
from functools import partial

from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_server import Server as HttpServer

from jobctl_daemon.api.accept import Acceptor
from jobctl_daemon.api.admission import Lists
from jobctl_daemon.api.callers import Callers, Everybody, OneUser
from jobctl_daemon.api.connection import Connection
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.desk import Desk
from jobctl_daemon.api.door import Door
from jobctl_daemon.api.feed import Feed
from jobctl_daemon.api.limits import BODY_BYTES_MAX
from jobctl_daemon.api.listen import listen, remove
from jobctl_daemon.api.people import People


class _Connections(HttpServer):
    """aiohttp's server with our connections."""

    def __init__(self, desk: Desk, door: Door, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(desk.answer, request_factory=self._request, loop=loop)
        self._door = door

    def __call__(self) -> RequestHandler:
        return Connection(self, self._door, self._loop)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> BaseRequest:
        return BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=BODY_BYTES_MAX)


def callers_of(services: Services) -> Callers:
    """A daemon of root's serves everybody, wherever its files are; any other its own user."""
    host, settings = services.host, services.settings
    if host.uid != 0:
        return OneUser(host.uid, host.user)
    etc = os.path.join(settings.host_root, "etc")
    places = ((services.places.config_dir, "allow", "deny"), (etc, "cron.allow", "cron.deny"))
    lists = Lists([(os.path.join(folder, allow), os.path.join(folder, deny)) for folder, allow, deny in places])
    return Everybody(host.user, People(services.clock, lambda: settings.admin_group), lists)


class Server:
    """The API on the daemon's Unix socket. `start` once, `stop` once."""

    def __init__(self, services: Services, callers: Callable[[Services], Callers] = callers_of) -> None:
        self._services = services
        self._callers_of = callers
        self._listening: Acceptor | None = None
        self._inode = 0

    async def start(self) -> None:
        """Binds, and answers from here on. Raises `InvalidInput` or `Unavailable` when the socket cannot be had."""
        services = self._services
        callers = self._callers_of(services)
        self._feed = Feed(services.store, partial(services.health.beat, "events"))
        await self._feed.open()
        self.door = Door(callers, services.settings.connections, services.settings.of_one_user)
        loop = asyncio.get_running_loop()
        self._http = _Connections(Desk(services, self._feed, callers), self.door, loop)
        channel = listen(services.places)
        self._inode = os.lstat(services.places.socket).st_ino
        self._listening = Acceptor(channel, self._http, partial(services.health.beat, "api"))

    async def stop(self, within_s: float = 5.0) -> None:
        """Takes no more connections, ends streams and waits, lets answers finish, then breaks off the rest."""
        if self._listening is None:
            return
        self._listening.close()
        remove(self._services.places, self._inode)
        self._feed.close()
        self._http.pre_shutdown()
        await self._http.shutdown(within_s)
        self.door.close()
        self._listening = None
