"""The system's log, listened to in its place: a datagram socket as syslogd has one."""

import select
import socket
from pathlib import Path


class Syslog:
    """Bound to a path of the test's own. Who writes to it never waits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(str(path))

    def lines(self) -> list[str]:
        """What has come and was not read yet."""
        found = []
        while True:
            try:
                found.append(self._socket.recv(65_536).decode("ascii"))
            except BlockingIOError:
                return found

    def line(self, within_s: float = 10) -> str:
        """The next line."""
        assert select.select([self._socket], [], [], within_s)[0], "nothing was written"
        return self._socket.recv(65_536).decode("ascii")

    def close(self) -> None:
        self._socket.close()
        self.path.unlink(missing_ok=True)
