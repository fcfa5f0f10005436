"""Who calls: what the kernel says of the connection, never what the request says.

This version serves the daemon's own user, and root, who then acts as that user.
"""

import asyncio
import pwd
import socket
import struct
from typing import Final

from jobctl.errors import Forbidden
from jobctl_daemon.rows import Caller

_UCRED: Final = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
ROOT: Final = 0


def peer_uid(transport: asyncio.BaseTransport | None) -> int | None:
    """The uid at the other end of a Unix socket as of its connect(); None when the connection is gone."""
    channel = transport.get_extra_info("socket") if transport is not None else None
    if channel is None:
        return None
    try:
        data = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return None
    return int(_UCRED.unpack(data)[1])


def user_name(uid: int) -> str:
    """The name of a uid, or the uid itself where it has none. May ask the network: call it once, at the start."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


class Callers:
    """Decides whom a daemon serves, and in whose name they act."""

    __slots__ = ("_own", "_owner")

    def __init__(self, uid: int, name: str) -> None:
        self._own = uid
        self._owner = Caller(uid=uid, name=name)

    def served(self, uid: int | None) -> bool:
        """Whether this uid is answered at all."""
        return uid is not None and uid in (self._own, ROOT)

    def caller(self, uid: int | None) -> Caller:
        """The owner in whose name a connection's user acts; `Forbidden` for anybody else."""
        if not self.served(uid):
            raise Forbidden(
                f"this daemon belongs to {self._owner.name} and does not serve uid {uid}",
                "start your own daemon: `jobctl daemon start`",
            )
        return self._owner


def must_operate(caller: Caller, daemon_uid: int) -> None:
    """Queues, and the daemon as a whole, are of whoever runs it: `Forbidden` for all but that user and root."""
    if caller.uid not in (daemon_uid, ROOT):
        raise Forbidden(
            "only root and the daemon's own user may change a queue or pause the daemon",
            "pause your own jobs: `jobctl pause JOB`",
        )
