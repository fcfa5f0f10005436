"""A process of a user that asks a socket for him: over one connection after the other, or keeping some of them."""

import base64
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

#: The real one: that of an environment may lie where others cannot go.
PYTHON = os.path.realpath(sys.executable)
_ASKING = """
import base64, http.client, json, socket, sys

kept = {}

class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("jobd", timeout=20)
        self.place = path
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.place)

def ask(path, method, target, body, headers):
    connection = Unix(path)
    try:
        connection.request(method, target, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return {"status": answer.status, "headers": dict(answer.getheaders()),
                "body": base64.b64encode(answer.read()).decode()}
    finally:
        connection.close()

def raw(path, data):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(path)
        client.sendall(base64.b64decode(data))
        said = b""
        while piece := client.recv(65536):
            said += piece
        return base64.b64encode(said).decode()

def keep(name, path, data):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(path)
    client.sendall(base64.b64decode(data))
    kept[name] = (client, bytearray())

def until(name, words):
    # What came up to these words; all that came when the other side closes before.
    client, said = kept[name]
    wanted = base64.b64decode(words)
    while not wanted or wanted not in said:
        piece = client.recv(65536)
        if not piece:
            return {"closed": True, "said": base64.b64encode(said).decode()}
        said += piece
    return {"closed": False, "said": base64.b64encode(said).decode()}

def drop(name):
    kept.pop(name)[0].close()

verbs = {"ask": ask, "raw": raw, "keep": keep, "until": until, "drop": drop}
print("ready", flush=True)
for line in sys.stdin:
    verb, *arguments = json.loads(line)
    try:
        print(json.dumps({"said": verbs[verb](*arguments)}), flush=True)
    except OSError as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
"""


@dataclass(frozen=True)
class Said:
    """An answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Voice:
    """`command` is what begins a process of the user: `Account.command`."""

    def __init__(self, process: "subprocess.Popen[str]", socket: str) -> None:
        self._process = process
        self._socket = socket

    def ask(self, method: str, target: str, body: Any = None, **headers: str) -> Said:
        """A request on a connection of its own."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        said = self._do("ask", self._socket, method, target, body, named)
        return Said(said["status"], said["headers"], base64.b64decode(said["body"]))

    def raw(self, data: bytes) -> bytes:
        """Bytes out, all bytes back until the other side closes."""
        return base64.b64decode(self._do("raw", self._socket, _text(data)))

    def keep(self, name: str, data: bytes = b"") -> None:
        """A connection that stays."""
        self._do("keep", name, self._socket, _text(data))

    def until(self, name: str, words: bytes) -> tuple[bytes, bool]:
        """All that a kept connection has said once it says the words; or that it was closed before."""
        said = self._do("until", name, _text(words))
        return base64.b64decode(said["said"]), said["closed"]

    def drop(self, name: str) -> None:
        """Closes a kept connection."""
        self._do("drop", name)

    def _do(self, *words: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise ConnectionError(answer["error"])
        return answer["said"]


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@contextlib.contextmanager
def speaking(begin: Sequence[str], socket: str) -> Iterator[Voice]:
    """`begin`: the words that come before a command of the user, such as those of setpriv(1)."""
    command = [*begin, PYTHON, "-I", "-S", "-c", _ASKING]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", env={"PATH": "/usr/bin:/bin"}
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield Voice(process, socket)
        finally:
            process.stdin.close()
