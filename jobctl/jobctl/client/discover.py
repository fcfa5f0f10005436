"""Which daemon a caller talks to: the first socket that answers and serves this user."""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from jobctl.client.sync import Client
from jobctl.client.transport import Request, Response, Transport, UnixTransport, unreachable
from jobctl.errors import Unreachable
from jobctl.paths import client_sockets, daemon_places


class Places(NamedTuple):
    """The sockets to try, in order, and whether the caller named the only one."""

    sockets: list[str]
    named: bool


def places(environ: Mapping[str, str], uid: int, explicit: str | None) -> Places:
    """`--socket` and `JOBCTL_SOCKET` name one; `JOBCTL_HOME` and the usual places are looked up.

    The user's own socket may be reached through its link when the state folder was moved meanwhile.
    """
    sockets = client_sockets(environ, uid, explicit)
    named = bool(explicit or environ.get("JOBCTL_SOCKET"))
    if not named:
        link = daemon_places(environ, uid).socket_link
        if link and not os.path.lexists(sockets[0]) and os.path.exists(link):
            sockets = [link, *sockets]
    return Places(sockets, named)


class AnyDaemon:
    """A transport to the first daemon that answers. A system daemon that refuses this caller counts as none.

    A 403 may also be meant for one request ("not as that user"); whether the daemon serves the caller at all is asked
    with a plain listing, once, and only then.
    """

    def __init__(self, sockets: list[str], make: Callable[[str], Transport] = UnixTransport) -> None:
        self._sockets = sockets
        self._make = make
        self.socket: str | None = None

    def __call__(self, request: Request) -> Response:
        if self.socket is not None:
            return self._make(self.socket)(request)
        whys: list[str] = []
        silent: Unreachable | None = None
        for path in self._sockets:
            transport = self._make(path)
            try:
                response = transport(request)
            except Unreachable as error:
                if len(self._sockets) == 1:
                    raise
                whys.append(str(error.details.get("why", error.message)))
                silent = silent or (error if error.details.get("listening") else None)
                continue
            if response.status == 403 and len(self._sockets) > 1 and not _serves(transport):
                response.close()
                whys.append(f"{path}: this daemon does not serve this user")
                continue
            self.socket = path
            return response
        nobody = unreachable("; ".join(whys), listening=silent is not None)
        if silent is not None:
            nobody.hint = silent.hint
        raise nobody


def _serves(transport: Transport) -> bool:
    response = transport(Request("GET", "/v1/jobs?limit=1"))
    response.close()
    return response.status != 403


def client_for(sockets: list[str]) -> Client:
    return Client(AnyDaemon(sockets))
