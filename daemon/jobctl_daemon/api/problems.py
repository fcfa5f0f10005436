"""Errors as `application/problem+json` (RFC 9457). One place turns an exception into an answer."""

import hashlib
import traceback
from typing import Any, Final

import structlog
from aiohttp import web

import jobctl
from jobctl import wire
from jobctl.errors import CallerError, InternalError, JobctlError

log = structlog.get_logger("jobctl.api")

HEADERS: Final = (("Jobctl-Protocol", str(wire.PROTOCOL)), ("Jobctl-Version", jobctl.__version__), ("Server", "jobd"))
_PROBLEM: Final = (("Content-Type", "application/problem+json"), *HEADERS)


class Refused(CallerError):
    """What HTTP itself has a status for, before any verb is asked."""

    def __init__(self, status: int, message: str, hint: str = "", *, allow: str = "") -> None:
        super().__init__(message, hint)
        self.status = status
        self.allow = allow


def problem(error: JobctlError) -> web.Response:
    """The answer that says what is wrong."""
    status = error.status if isinstance(error, Refused) else error.http_status
    response = web.Response(body=document(error, status), status=status, headers=_PROBLEM)
    if isinstance(error, Refused) and error.allow:
        response.headers["Allow"] = error.allow
    return response


def document(error: JobctlError, status: int) -> bytes:
    """The problem as JSON: title and detail say the same, for readers that know either."""
    field = error.details.get("field")
    body: dict[str, Any] = {
        "type": "about:blank",
        "status": status,
        "code": error.code,
        "title": error.message,
        "detail": error.message,
        "hint": error.hint,
        "field": field,
    }
    further = {name: value for name, value in error.details.items() if name not in body}
    return wire.encode({**body, **further})


def surprise(error: BaseException, where: str) -> InternalError:
    """A bug of ours: its traceback goes to the log under a number, and only the number to the caller.

    It is the number of the bug, not of the occasion: it stands in the log also when the log holds back what it repeats.
    """
    frames = traceback.extract_tb(error.__traceback__)
    places = "|".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
    number = hashlib.sha256(f"{type(error).__name__}|{places}".encode()).hexdigest()[:8]
    log.error("api.error", number=number, where=where, error=f"{type(error).__name__} {number}", exc_info=error)
    return InternalError(f"an error of ours, number {number}", "the daemon's log has the details under this number")
