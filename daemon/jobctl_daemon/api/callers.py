"""Who calls: what the kernel says of the connection, never what the request says.

A daemon that root runs serves every account as itself: root and the members of the admin group see and operate
everything, anybody else what is his. A daemon of any other user serves that user alone, and root, who then acts as him.
"""

import asyncio
import ctypes
import errno
import pwd
import socket
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, Protocol

from jobctl.errors import Forbidden
from jobctl_daemon.api.admission import Lists
from jobctl_daemon.api.people import People
from jobctl_daemon.rows import Caller

_UCRED: Final = struct.Struct("3i")  # pid, uid, gid: unix(7), SO_PEERCRED
#: unix(7), since Linux 4.13; the module socket has no name for it.
_SO_PEERGROUPS: Final = 59
#: What getsockopt of Python takes at the most, in bytes of gid_t.
_SHORT: Final = 1024
_GROUPS_MAX: Final = 65_536
ROOT: Final = 0
_OVERFLOW: Final = "/proc/sys/kernel/overflowuid"
_START_OWN: Final = "start your own daemon: `jobctl daemon start`"


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as of its connect(); its groups are those it had then."""

    uid: int
    gid: int
    groups: frozenset[int]


class Welcome(IntEnum):
    """How sure it is that a uid is served: whose connections make room for others' first has the highest."""

    OWN = 0
    KNOWN = 1
    STRANGER = 2


class Callers(Protocol):
    """Decides whom a daemon serves, and in whose name they act."""

    def welcome(self, uid: int | None) -> Welcome:
        """What is known without asking anybody: this is for whoever only has connected."""
        ...

    async def caller(self, peer: Peer | None) -> Caller:
        """In whose name a peer acts just now; `Forbidden` for whom is not served."""
        ...


def peer_uid(transport: asyncio.BaseTransport | None) -> int | None:
    """The uid at the other end of a Unix socket as of its connect(); None when the connection is gone."""
    ids = _ids(_channel(transport))
    return None if ids is None else ids[0]


def peer_of(transport: asyncio.BaseTransport | None) -> Peer | None:
    """The same, with its groups."""
    channel = _channel(transport)
    ids = _ids(channel)
    return None if channel is None or ids is None else Peer(*ids, frozenset((ids[1], *peer_groups(channel))))


def peer_groups(channel: socket.socket) -> tuple[int, ...]:
    """The supplementary groups of the peer; none where the kernel does not tell."""
    try:
        data = channel.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _SHORT)
    except OSError as error:
        if error.errno != errno.ERANGE:
            return ()
        data = _many_groups(channel)
    return struct.unpack(f"{len(data) // 4}I", data[: len(data) // 4 * 4])


def _many_groups(channel: socket.socket) -> bytes:
    """Python's own call takes 256 of them, Linux 65,536."""
    room = ctypes.create_string_buffer(4 * _GROUPS_MAX)
    size = ctypes.c_uint32(len(room))
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.getsockopt(channel.fileno(), socket.SOL_SOCKET, _SO_PEERGROUPS, room, ctypes.byref(size))
    return b"" if failed else room.raw[: size.value]


def _channel(transport: asyncio.BaseTransport | None) -> socket.socket | None:
    return transport.get_extra_info("socket") if transport is not None else None


def _ids(channel: socket.socket | None) -> tuple[int, int] | None:
    if channel is None:
        return None
    try:
        data = channel.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return None
    _, uid, gid = _UCRED.unpack(data)
    return int(uid) & 0xFFFFFFFF, int(gid) & 0xFFFFFFFF


def user_name(uid: int) -> str:
    """The name of a uid, or the uid itself where it has none. May ask the network: call it once, at the start."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def overflow_uid() -> int:
    """What the kernel calls every user that this namespace has no number for (user_namespaces(7))."""
    try:
        with open(_OVERFLOW, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 65534


class OneUser:
    """Of a daemon that belongs to one user."""

    __slots__ = ("_owner",)

    def __init__(self, uid: int, name: str) -> None:
        self._owner = Caller(uid=uid, name=name)

    def welcome(self, uid: int | None) -> Welcome:
        return Welcome.OWN if uid in (self._owner.uid, ROOT) else Welcome.STRANGER

    async def caller(self, peer: Peer | None) -> Caller:
        if peer is None or self.welcome(peer.uid) is not Welcome.OWN:
            uid = "?" if peer is None else peer.uid
            raise Forbidden(f"this daemon belongs to {self._owner.name} and does not serve uid {uid}", _START_OWN)
        return self._owner


class Everybody:
    """Of the system's daemon. An account is asked for with each request, so a role ends when it is taken away."""

    __slots__ = ("_lists", "_overflow", "_people", "_root")

    def __init__(self, root: str, people: People, lists: Lists, overflow: int | None = None) -> None:
        self._root = Caller(uid=ROOT, name=root, all_owners=True)
        self._people = people
        self._lists = lists
        self._overflow = overflow_uid() if overflow is None else overflow

    def welcome(self, uid: int | None) -> Welcome:
        if uid == ROOT:
            return Welcome.OWN
        person = None if uid is None or uid == self._overflow else self._people.known(uid)
        served = person is not None and self._lists.refusal(person.name) is None
        return Welcome.KNOWN if served else Welcome.STRANGER

    async def caller(self, peer: Peer | None) -> Caller:
        if peer is not None and peer.uid == ROOT:
            return self._root
        if peer is None or peer.uid == self._overflow:
            raise Forbidden("the system's daemon does not serve users of another namespace", _START_OWN)
        person = await self._people.ask(peer.uid)
        if person is None:
            raise Forbidden(f"there is no account with uid {peer.uid} on this host", "see getent passwd")
        refusal = self._lists.refusal(person.name)
        if refusal is not None:
            raise Forbidden(f"{person.name} may not use the system's daemon: {refusal}", _START_OWN)
        # Both: a process keeps its groups when its user is taken out of one, and may have been given one for a while.
        admin = person.admin_gid is not None and person.admin_gid in peer.groups
        return Caller(uid=peer.uid, name=person.name, all_owners=admin)
