"""One request over the daemon's socket. The seam: tests and the screens may put another callable in its place."""

import contextlib
import errno
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import jobctl
from jobctl.client.http1 import Broken, Reader, request_bytes
from jobctl.errors import Forbidden, InvalidInput, JobctlError, Unreachable, VersionMismatch, from_code
from jobctl.paths import checked_socket_path

#: The same number as `jobctl.wire.PROTOCOL`, without importing msgspec (a test compares them).
PROTOCOL: Final = "1"
CONNECT_S: Final = 2.0
ANSWER_S: Final = 30.0
#: An answer that does not begin within so long may be slow; a daemon that does not even say that it lives is stopped.
FIRST_S: Final = 1.5
ALIVE_S: Final = 1.0
_ROOT: Final = 0

Json = dict[str, Any]


class Request(NamedTuple):
    """What is asked. `body` is JSON-able; `timeout_s` bounds each wait for bytes, `None` waits for ever."""

    method: str
    path: str
    body: object = None
    headers: Mapping[str, str] = MappingProxyType({})
    timeout_s: float | None = ANSWER_S


class Response:
    """Status, headers (lower-case names) and a body that is read once: whole, or piece by piece."""

    def __init__(
        self, status: int, headers: Mapping[str, str], pieces: Iterator[bytes], sock: socket.socket | None = None
    ) -> None:
        self.status = status
        self.headers = headers
        self._pieces = pieces
        self._socket = sock

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes; `Unreachable` when the connection breaks before its end."""
        try:
            yield from self._pieces
        except (Broken, OSError, ValueError) as error:
            raise _broken(error) from error
        finally:
            self.close()

    def read(self) -> bytes:
        return b"".join(self.pieces())

    def json(self) -> Any:
        try:
            return json.loads(self.read())
        except ValueError as error:
            raise Unreachable("the daemon's answer is not JSON", "see its log: jobd.log in its state folder") from error

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def hang_up(self) -> None:
        """From another thread: who waits for a piece gets an error at once instead. Closing would not wake it."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class Transport(Protocol):
    """From a request to its answer. Raises `Unreachable` when there is none, whatever the status otherwise."""

    def __call__(self, request: Request) -> Response: ...


class UnixTransport:
    """A transport to the daemon that listens on `path`, where that is this user's or root's."""

    def __init__(self, path: str, *, timeout_s: float = CONNECT_S) -> None:
        self.path = checked_socket_path(path)
        self._timeout_s = timeout_s

    def __call__(self, request: Request) -> Response:
        sock = self._connected()
        try:
            sock.settimeout(request.timeout_s)
            sock.sendall(_to_bytes(request))
            reader = Reader(sock)
            status, headers = self._head(sock, reader, request.timeout_s)
        except (Broken, OSError) as error:
            sock.close()
            raise _broken(error, self.path) from error
        except BaseException:
            sock.close()
            raise
        return Response(status, headers, reader.body(status, headers), sock)

    def _head(self, sock: socket.socket, reader: Reader, timeout_s: float | None) -> tuple[int, dict[str, str]]:
        """Waits for as long as the request allows, but not for a daemon that is stopped or hangs."""
        if timeout_s is None or timeout_s > FIRST_S:
            sock.settimeout(FIRST_S)
            try:
                return reader.head()
            except TimeoutError:
                self._must_live(sock)
            finally:
                sock.settimeout(timeout_s)
        return reader.head()

    def _must_live(self, waiting: socket.socket) -> None:
        """Another connection is answered at once by any daemon whose loop turns."""
        sock = self._connected()
        try:
            sock.settimeout(ALIVE_S)
            sock.sendall(_to_bytes(Request("GET", "/v1/health/live")))
            Reader(sock).head()
        except TimeoutError as error:
            raise stopped(waiting, self.path) from error
        finally:
            sock.close()

    def _connected(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(self._timeout_s)
        try:
            sock.connect(self.path)
        except OSError as error:
            sock.close()
            busy = isinstance(error, TimeoutError) or error.errno == errno.EAGAIN
            raise unreachable(_why(error, self.path), listening=busy) from error
        try:
            self.must_be_trusted(sock)
        except BaseException:
            sock.close()
            raise
        return sock

    def must_be_trusted(self, sock: socket.socket) -> None:
        """`Forbidden` unless this user or root listens there, as the kernel says: anybody else would be told whatever
        is asked and sent, and could answer what he likes. Nothing has been sent yet."""
        uid = _listeners_uid(sock)
        if uid in (os.geteuid(), _ROOT):
            return
        who = "somebody unknown" if uid is None else f"uid {uid}"
        raise Forbidden(
            f"{self.path}: whoever listens there is {who}, neither you nor root; nothing was sent",
            "see JOBCTL_HOME, JOBCTL_SOCKET and --socket; what is another user's is asked as that user",
        )


def checked(response: Response, *, any_protocol: bool = False) -> Response:
    """The answer, or the error it stands for; another protocol is refused before anything is believed.

    `any_protocol`: of the few requests by which a daemon of another version is recognised and stopped.
    """
    protocol = response.headers.get("jobctl-protocol")
    good = response.status < 400
    # A refusal may come from below the API, where nobody names a protocol.
    if protocol != PROTOCOL and not any_protocol and (good or protocol is not None):
        response.close()
        raise mismatch(protocol)
    if good:
        return response
    raise _problem(response)


def spoken(status: Json) -> str | None:
    """The protocol that a daemon says of itself, in the one answer that is taken from every daemon."""
    protocol = status.get("protocol")
    return None if protocol is None else str(protocol)


def mismatch(protocol: str | None) -> VersionMismatch:
    """The daemon speaks this protocol and not ours: which side to restart. None: it names none."""
    if protocol is None:
        return VersionMismatch(
            "whoever answers there names no protocol: it is no daemon that this jobctl knows",
            "see which program listens on the socket; a jobd that is too old: stop it, then: jobctl daemon start",
        )
    older = protocol.isdigit() and int(protocol) < int(PROTOCOL)
    return VersionMismatch(
        f"the daemon speaks protocol {protocol}, this jobctl speaks {PROTOCOL}",
        "restart the daemon, which is older: `jobctl daemon stop`, `jobctl daemon start`; running commands go on"
        if older
        else "this jobctl is older: call the one that was installed with the daemon; `jobctl daemon stop` works",
    )


def unreachable(why: str, *, listening: bool = False) -> Unreachable:
    """Nobody answers: why, and what to do. `listening`: there is a daemon, so that another cannot be started."""
    hint = "start one: jobctl daemon start"
    if listening:
        hint = "end it and start another: jobctl daemon stop, or kill; then jobctl daemon start; running commands go on"
    if "permission denied" in why and "no daemon runs there" not in why and "is gone" not in why:
        hint = "JOBCTL_HOME and XDG_STATE_HOME must be folders of your own; or ask as their owner"
    details: dict[str, object] = {"why": why, "listening": True} if listening else {"why": why}
    return Unreachable("cannot reach the daemon", hint, details=details)


def stopped(sock: socket.socket, path: str) -> Unreachable:
    """It takes connections and does not answer: which process that is, and how to get it back."""
    pid = _listener(sock)
    if pid and _is_stopped(pid):
        error = unreachable(f"{path}: the daemon, pid {pid}, is stopped by a signal", listening=True)
        error.hint = f"let it go on: kill -CONT {pid}; or kill -9 {pid}, then: jobctl daemon start; commands go on"
        return error
    error = unreachable(f"{path}: no answer in time; the daemon{f', pid {pid},' if pid else ''} hangs", listening=True)
    if pid:
        error.hint = f"kill -9 {pid}, then: jobctl daemon start; running commands go on, and are recorded"
    return error


def _listener(sock: socket.socket) -> int:
    """The process at the other end; 0 when it is not known."""
    try:
        return int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], sys.byteorder)
    except OSError:
        return 0


def _listeners_uid(sock: socket.socket) -> int | None:
    """Whose process has called listen(2) at the other end: unix(7), SO_PEERCRED."""
    try:
        data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    except OSError:
        return None
    return int.from_bytes(data[4:8], sys.byteorder)


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in "Tt"
    except (OSError, IndexError):
        return False


def _to_bytes(request: Request) -> bytes:
    headers = {"Jobctl-Protocol": PROTOCOL, "Accept": "application/json", **request.headers}
    if any(not value.isascii() or "\n" in value or "\r" in value for value in headers.values()):
        raise InvalidInput("a key may hold printable ASCII only", "choose another --idempotency-key")
    body: bytes | None = None
    if request.body is not None:
        headers["Content-Type"] = "application/json"
        try:
            body = json.dumps(request.body, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("an argument is not UTF-8", "the API carries UTF-8 text only") from error
    elif request.method != "GET":
        body = b""
    return request_bytes(request.method, request.path, headers, body)


def _problem(response: Response) -> JobctlError:
    try:
        document = json.loads(response.read())
        code, title = str(document["code"]), str(document.get("detail") or document["title"])
    except (ValueError, KeyError, TypeError):
        return Unreachable(f"the daemon answered {response.status} without saying why", "see jobd.log")
    details = {name: document[name] for name in ("field", "why", "problems") if document.get(name)}
    error = from_code(code, title, str(document.get("hint") or ""), details)
    theirs = response.headers.get("jobctl-version")
    if _may_be_unknown(error) and theirs not in (None, jobctl.__version__):
        both = f"the daemon is {theirs}, this jobctl is {jobctl.__version__}"
        error.details.setdefault("why", f"{both}: one may know what the other does not; start the older one anew")
    return error


def _may_be_unknown(error: JobctlError) -> bool:
    """Whether it is about what was sent, or where to: another version may take it."""
    return isinstance(error, InvalidInput) or error.details.get("field") == "path"


def _why(error: OSError, path: str) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path}: there is no socket, so no daemon runs there"
    if isinstance(error, ConnectionRefusedError):
        return f"{path}: connection refused; the socket is stale, its daemon is gone"
    if isinstance(error, PermissionError):
        return f"{path}: permission denied; this user may not enter the socket's folder"
    if isinstance(error, TimeoutError) or error.errno == errno.EAGAIN:
        return f"{path}: the daemon does not take connections; it is overloaded or stopped"
    return f"{path}: {error.strerror or error}"


def _broken(error: Exception, path: str = "") -> Unreachable:
    where = f"{path}: " if path else ""
    if isinstance(error, TimeoutError):
        return unreachable(f"{where}no answer in time; the daemon is overloaded or stopped", listening=True)
    text = str(error) if isinstance(error, Broken) else "the connection broke"
    return Unreachable(
        "the daemon went away in the middle",
        "see `jobctl status`; commands go on without it",
        details={"why": f"{where}{text}"},
    )
