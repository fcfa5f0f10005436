"""Every error we raise: a code, a message and a hint.

    JobctlError
    ├── CallerError            you asked for something that cannot be
    │   ├── InvalidInput       a field, an option or a schedule is wrong
    │   ├── NotFound           no such job, run or log
    │   ├── Gone               it was there and was deleted
    │   ├── Conflict           exists already, changed meanwhile, or not in that state
    │   ├── Forbidden          it is not yours
    │   └── TooLarge           over a limit we set
    ├── DaemonError            the daemon cannot do it now
    │   ├── Unreachable        nobody answers on the socket
    │   ├── Unavailable        it is stopping, or its disk is full
    │   ├── VersionMismatch    client and daemon, or program and database, do not match
    │   └── Damaged            the database cannot be trusted any more
    └── InternalError          our bug

One table maps a code to an HTTP status and an exit code; nothing else does.
"""

from typing import ClassVar


class JobctlError(Exception):
    """Base of the tree. `code` is stable, `hint` says what to do, `details` are machine-readable."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, hint: str = "", *, details: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details = details or {}


class CallerError(JobctlError):
    """The request cannot be carried out as it stands; asking again will not help."""

    code = "bad_request"
    http_status = 400
    exit_code = 1


class InvalidInput(CallerError):
    """A value is wrong. `field` names it where there is one."""

    code = "invalid_input"
    http_status = 422
    exit_code = 2

    def __init__(self, message: str, hint: str = "", *, field: str | None = None) -> None:
        super().__init__(message, hint, details={"field": field} if field else None)
        self.field = field


class NotFound(CallerError):
    """There is no such job, run or log (or it is not the caller's to see)."""

    code = "not_found"
    http_status = 404
    exit_code = 3


class Gone(CallerError):
    """It existed under this key and was deleted."""

    code = "gone"
    http_status = 410
    exit_code = 3


class Conflict(CallerError):
    """It exists already, changed meanwhile, or is in a state that does not allow this."""

    code = "conflict"
    http_status = 409
    exit_code = 5


class Forbidden(CallerError):
    """The caller may not do this."""

    code = "forbidden"
    http_status = 403
    exit_code = 6


class TooLarge(CallerError):
    """The request is over a limit; the message names the limit."""

    code = "too_large"
    http_status = 413
    exit_code = 2


class DaemonError(JobctlError):
    """The daemon cannot do it now; later it may."""

    code = "daemon"
    http_status = 503
    exit_code = 4


class Unreachable(DaemonError):
    """Nobody answers on the socket."""

    code = "unreachable"


class Unavailable(DaemonError):
    """The daemon is stopping, starting, or out of room."""

    code = "unavailable"


class VersionMismatch(DaemonError):
    """Client and daemon, or program and database, speak different versions."""

    code = "version_mismatch"
    http_status = 400
    exit_code = 8


class Damaged(DaemonError):
    """The database's file is damaged, or a part of it is missing: nothing is done with it until it is mended."""

    code = "damaged"
    exit_code = 9


class InternalError(JobctlError):
    """A bug of ours."""

    code = "internal"


_LEAVES: tuple[type[JobctlError], ...] = (
    CallerError, InvalidInput, NotFound, Gone, Conflict, Forbidden, TooLarge,
    DaemonError, Unreachable, Unavailable, VersionMismatch, Damaged, InternalError,
)  # fmt: skip

BY_CODE: dict[str, type[JobctlError]] = {kind.code: kind for kind in _LEAVES}


def from_code(code: str, message: str, hint: str = "", details: dict[str, object] | None = None) -> JobctlError:
    """The error a problem document stands for; an unknown code is an `InternalError`."""
    kind = BY_CODE.get(code, InternalError)
    field = (details or {}).get("field")
    if issubclass(kind, InvalidInput):
        error = kind(message, hint, field=field if isinstance(field, str) else None)
        error.details |= details or {}
        return error
    return kind(message, hint, details=details)
