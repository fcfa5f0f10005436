"""The socket, and what each message means."""

from __future__ import annotations

import os
import socket
import struct

from .adopt import adopt
from .attempt import ENDED
from .connection import Connection
from .loop import READ, Loop
from .order import Invalid, Order
from .protocol import PROTOCOL, message, wrap
from .starts import Refused
from .supervisor import Supervisor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_CONNECTIONS = 8
_CAUSES = {"cancel": "cancelled", "kill": "killed"}


class Server:
    """Listens at one path and speaks protocol 1."""

    def __init__(self, loop: Loop, directory: str, instance: str, version: str) -> None:
        self.connections: list[Connection] = []
        self.supervisor: Supervisor
        self._loop = loop
        self._directory = directory
        self._instance = instance
        self._version = version
        self._path = f"{directory}/{instance}.sock"
        self._socket = _listen(directory, f"{instance}.sock")
        self._answers = {
            "hello": self._hello,
            "watch": self._watch,
            "list": self._list,
            "start": self._start,
            "kill": self._kill,
            "ack": self._ack,
            "drain": self._drain,
            "interrupt": self._interrupt,
            "rescan": self._rescan,
            "ping": self._ping,
        }

    def serve(self) -> None:
        """Answer from now on."""
        self._loop.add(self._socket.fileno(), READ, self._accept)
        self._loop.turns.append(self._flush)

    def report(self, kind: str, payload: bytes) -> None:
        """Tell every client that watches."""
        line = None
        for connection in self.connections:
            if connection.watching:
                line = line or wrap(kind, payload)
                connection.say(line)

    def close(self) -> None:
        """Send what is to be sent, and listen no more."""
        self._flush()
        self._loop.remove(self._socket.fileno())
        os.unlink(self._path)
        self._socket.close()
        for connection in list(self.connections):
            connection.close()

    def _accept(self, _: int) -> None:
        try:
            sock, _address = self._socket.accept()
        except OSError:
            return
        connection = Connection(sock, self._loop, self._handle, self.connections.remove)
        self.connections.append(connection)
        if not _is_ours(sock):
            connection.hang_up("not yours")
        elif len(self.connections) > _MOST_CONNECTIONS:
            connection.hang_up("too many connections")

    def _flush(self) -> bool:
        for connection in list(self.connections):
            connection.flush()
        return False

    def _handle(self, connection: Connection, received: dict[str, Any]) -> None:
        answer = self._answers.get(received["op"])
        if answer is None:
            connection.hang_up("unknown op")
        else:
            answer(connection, received)

    def _hello(self, connection: Connection, _: dict[str, Any]) -> None:
        hello = {
            "protocol": PROTOCOL,
            "version": self._version,
            "pid": os.getpid(),
            "instance": self._instance,
            "boot_id": self.supervisor.boot_id,
            "kill_by": self.supervisor.groups.kill_by,
            "draining": self.supervisor.starts.draining,
        }
        connection.say(message("hello", hello))

    def _watch(self, connection: Connection, received: dict[str, Any]) -> None:
        connection.watching = True
        self._list(connection, received)

    def _list(self, connection: Connection, _: dict[str, Any]) -> None:
        connection.say(wrap("list", self.supervisor.attempts.summaries()))

    def _start(self, connection: Connection, received: dict[str, Any]) -> None:
        known = self.supervisor.attempts.known.get(str(received.get("id")))
        if known is not None:
            connection.say(wrap("known", known.summary()))
            return
        try:
            self.supervisor.starts.accept(Order(received))
        except (Invalid, Refused) as error:
            reason = {"id": received.get("id"), "reason": str(error), "invalid": isinstance(error, Invalid)}
            connection.say(message("refused", reason))

    def _kill(self, connection: Connection, received: dict[str, Any]) -> None:
        attempt_id, mode, grace_ms = received.get("id"), received.get("mode", "cancel"), received.get("grace_ms")
        if mode not in _CAUSES or not (grace_ms is None or (isinstance(grace_ms, int) and grace_ms >= 0)):
            connection.hang_up("kill: mode or grace_ms is wrong")
            return
        attempt = self.supervisor.attempts.known.get(str(attempt_id))
        if attempt is None:
            connection.say(message("unknown", {"id": attempt_id}))
        elif attempt.state == ENDED:
            connection.say(wrap("known", attempt.summary()))
        else:
            connection.say(message("killing", {"id": attempt.id, "mode": mode}))
            self.supervisor.ends.kill(attempt, _CAUSES[mode], mode, grace_ms)

    def _ack(self, connection: Connection, received: dict[str, Any]) -> None:
        ids = received.get("ids")
        if not isinstance(ids, list):
            connection.hang_up("ack: ids is not a list")
            return
        done = [one for one in ids if isinstance(one, str) and self.supervisor.attempts.acknowledge(one)]
        connection.say(message("acked", {"ids": done}))

    def _drain(self, connection: Connection, _: dict[str, Any]) -> None:
        self.supervisor.starts.draining = True
        connection.say(message("draining", True))

    def _interrupt(self, connection: Connection, received: dict[str, Any]) -> None:
        most_ms = received.get("grace_ms")
        if not (most_ms is None or (isinstance(most_ms, int) and most_ms >= 0)):
            connection.hang_up("interrupt: grace_ms is wrong")
            return
        self.supervisor.starts.draining = True
        connection.say(message("interrupting", len(self.supervisor.attempts.alive)))
        self.supervisor.interrupt(most_ms)

    def _rescan(self, connection: Connection, _: dict[str, Any]) -> None:
        count = adopt(self.supervisor, self._directory)
        connection.say(message("rescanned", {"adopted": count or 0, "busy": count is None}))

    def _ping(self, connection: Connection, _: dict[str, Any]) -> None:
        connection.say(message("pong", {}))


def _listen(directory: str, name: str) -> socket.socket:
    """Listen at a path of any length: the address has room for 107 bytes, a descriptor's path is short."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    folder = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        path = f"{directory}/{name}"
        if os.path.lexists(path):
            # Whoever made it is dead: we hold the lock.
            os.unlink(path)
        sock.bind(path if len(os.fsencode(path)) < 108 else f"/proc/self/fd/{folder}/{name}")
        os.chmod(path, 0o600)
        sock.listen(16)
        sock.setblocking(False)
    finally:
        os.close(folder)
    return sock


def _is_ours(sock: socket.socket) -> bool:
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    uid: int = struct.unpack("3i", credentials)[1]
    return uid in (0, os.getuid())
