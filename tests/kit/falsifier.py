"""Somebody between a client and a daemon who exchanges words of answers, so that they say what no daemon ever says.

What is exchanged has the same number of bytes, so that nothing else of an answer changes.
"""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path


def same_length(wanted: bytes, length: int) -> bytes:
    assert len(wanted) <= length, (len(wanted), length)
    return wanted + b"z" * (length - len(wanted))


@contextlib.contextmanager
def falsified(daemon: str, at: Path, words: Mapping[bytes, bytes]) -> Iterator[str]:
    """The socket to talk to."""
    assert all(len(old) == len(new) for old, new in words.items())
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(at))
    os.chmod(at, 0o600)
    server.listen(64)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = server.accept()
                threading.Thread(target=_join, args=(client, daemon, words), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield str(at)
    finally:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


def _join(client: socket.socket, daemon: str, words: Mapping[bytes, bytes]) -> None:
    with client, socket.socket(socket.AF_UNIX) as theirs, contextlib.suppress(OSError):
        theirs.connect(daemon)
        threading.Thread(target=_pass, args=(client, theirs, {}), daemon=True).start()
        _pass(theirs, client, words)


def _pass(source: socket.socket, target: socket.socket, words: Mapping[bytes, bytes]) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(1 << 20):
            for old, new in words.items():
                piece = piece.replace(old, new)
            target.sendall(piece)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
