"""From a request to the verb that answers it: path, caller, protocol; every error becomes a problem document."""

from functools import partial
from typing import Final
from urllib.parse import unquote

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

import jobctl
from jobctl import wire
from jobctl.errors import Forbidden, InvalidInput, JobctlError, NotFound, VersionMismatch
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.callers import Callers, peer_of, peer_uid
from jobctl_daemon.api.connection import head_too_large
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.denials import Denials
from jobctl_daemon.api.feed import Feed
from jobctl_daemon.api.lacking import lacking
from jobctl_daemon.api.problems import Refused, problem, surprise
from jobctl_daemon.api.routes import Route, find
from jobctl_daemon.rows import Caller, Denial

_OURS: Final = str(wire.PROTOCOL)
_READS: Final = frozenset({"GET", "HEAD"})
_PATH_SHOWN: Final = 200
_ID_CHARS: Final = 18


class Desk:
    """Takes requests."""

    __slots__ = ("_callers", "_denials", "_feed", "_services")

    def __init__(self, services: Services, feed: Feed, callers: Callers) -> None:
        self._services = services
        self._feed = feed
        self._callers = callers
        self._denials = Denials(services.store, services.clock)

    async def answer(self, request: BaseRequest) -> StreamResponse:
        """The answer; a caller's mistake and a bug of ours alike are documents, never tracebacks."""
        made: list[Call] = []
        try:
            return await self._answer(request, made)
        except ConnectionError:
            raise
        except JobctlError as error:
            self._note(request, error, made[0] if made else None)
            return _as_problem(request, error)
        except OverflowError:
            return _as_problem(request, InvalidInput("a number is out of range", "see docs/api.md for the limits"))
        except Exception as error:  # noqa: BLE001  the border: whatever escapes a verb is ours to answer for
            where = f"{request.method} {request.raw_path[:200]}"
            return _as_problem(request, lacking(error) or surprise(error, where))

    async def _answer(self, request: BaseRequest, made: list[Call]) -> StreamResponse:
        """`made` gets the call as soon as it is known who calls, and for what."""
        if getattr(request.protocol, "oversized", False):
            raise head_too_large()
        caller = await self._caller(request)
        path, _, query = _target(request).partition("?")
        route, params = _route_for(request, path)
        call = Call(request, self._services, self._feed, caller, params, query, partial(self._caller, request))
        made.append(call)
        return await route.verb(call)

    async def _caller(self, request: BaseRequest) -> Caller:
        """In whose name the connection's user acts just now."""
        return await self._callers.caller(peer_of(request.transport))

    def _note(self, request: BaseRequest, error: JobctlError, call: Call | None) -> None:
        """A change that was refused is written down, also where the answer was that there is nothing."""
        if request.method in _READS or not isinstance(error, Forbidden | NotFound):
            return
        uid = peer_uid(request.transport)
        if uid is None:
            return
        name = None if call is None else call.caller.name
        path = request.raw_path[:_PATH_SHOWN]
        denial = Denial(uid=uid, name=name, method=request.method[:20], path=path, why=error.message)
        if isinstance(error, Forbidden):
            self._denials.refused(denial)
        elif call is not None and call.params and not call.caller.all_owners and self._services.places.system:
            self._denials.not_there(denial, *_meant(path, call.params[0]))


def _meant(path: str, text: str) -> tuple[str | None, int | None]:
    """The job, or the run, of a path."""
    if path.startswith("/v1/runs/"):
        return None, int(text) if text.isascii() and text.isdigit() and len(text) <= _ID_CHARS else None
    return (text if path.startswith("/v1/jobs/") else None), None


def _target(request: BaseRequest) -> str:
    """Path and query. The absolute form, which proxies send, must be understood too (RFC 9112, 3.2.2)."""
    path = request.raw_path
    return path if path.startswith("/") else request.rel_url.raw_path_qs


def _route_for(request: BaseRequest, path: str) -> tuple[Route, list[str]]:
    """The route, for a caller that speaks as we do: what we do not know, another version may."""
    try:
        route, params = _route(request.method, path)
    except (NotFound, Refused):
        _check_protocol(request)
        raise
    if not route.any_protocol:
        _check_protocol(request)
    return route, params


def _route(method: str, path: str) -> tuple[Route, list[str]]:
    methods, params = find(path)
    if methods is None:
        raise NotFound(
            f"there is nothing at {path[:200]!r}", "the routes are in docs/api.md", details={"field": "path"}
        )
    route = methods.get(method)
    if route is None:
        allowed = ", ".join(sorted(methods))
        raise Refused(405, f"{method[:20]} is not possible there", f"possible: {allowed}", allow=allowed)
    return route, [_decoded(param) for param in params]


def _decoded(param: str) -> str:
    if "%" not in param:
        return param
    try:
        return unquote(param, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInput("the path is not UTF-8", "percent-encode UTF-8", field="id") from error


def _check_protocol(request: BaseRequest) -> None:
    """Who names no protocol is taken to speak ours: curl, and people."""
    others = [theirs for theirs in request.headers.getall("Jobctl-Protocol", ()) if theirs != _OURS]
    if not others:
        return
    raise VersionMismatch(
        f"the caller speaks protocol {others[0][:20]!a}, this daemon ({jobctl.__version__}) speaks {_OURS}",
        "restart the daemon when jobctl is newer, else upgrade jobctl; commands go on meanwhile",
    )


def _as_problem(request: BaseRequest, error: JobctlError) -> StreamResponse:
    if request.writer.output_size > 0:
        raise ConnectionResetError("the answer has begun; only breaking it off tells the reader") from error
    response = problem(error)
    if not request.content.is_eof() or getattr(request.protocol, "oversized", False):
        response.force_close()  # what is left of the body would be read as the next request's head
    return response
