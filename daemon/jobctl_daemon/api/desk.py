"""From a request to the verb that answers it: path, caller, protocol; every error becomes a problem document."""

from typing import Final
from urllib.parse import unquote

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

import jobctl
from jobctl import wire
from jobctl.errors import InvalidInput, JobctlError, NotFound, VersionMismatch
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.callers import Callers, peer_uid
from jobctl_daemon.api.connection import head_too_large
from jobctl_daemon.api.context import Services
from jobctl_daemon.api.feed import Feed
from jobctl_daemon.api.lacking import lacking
from jobctl_daemon.api.problems import Refused, problem, surprise
from jobctl_daemon.api.routes import Route, find

_OURS: Final = str(wire.PROTOCOL)


class Desk:
    """Takes requests."""

    __slots__ = ("_callers", "_feed", "_services")

    def __init__(self, services: Services, feed: Feed, callers: Callers) -> None:
        self._services = services
        self._feed = feed
        self._callers = callers

    async def answer(self, request: BaseRequest) -> StreamResponse:
        """The answer; a caller's mistake and a bug of ours alike are documents, never tracebacks."""
        try:
            return await self._answer(request)
        except ConnectionError:
            raise
        except JobctlError as error:
            return _as_problem(request, error)
        except OverflowError:
            return _as_problem(request, InvalidInput("a number is out of range", "see docs/api.md for the limits"))
        except Exception as error:  # noqa: BLE001  the border: whatever escapes a verb is ours to answer for
            where = f"{request.method} {request.raw_path[:200]}"
            return _as_problem(request, lacking(error) or surprise(error, where))

    async def _answer(self, request: BaseRequest) -> StreamResponse:
        if getattr(request.protocol, "oversized", False):
            raise head_too_large()
        caller = self._callers.caller(peer_uid(request.transport))
        path, _, query = _target(request).partition("?")
        route, params = _route(request.method, path)
        _check_protocol(request, route)
        return await route.verb(Call(request, self._services, self._feed, caller, params, query))


def _target(request: BaseRequest) -> str:
    """Path and query. The absolute form, which proxies send, must be understood too (RFC 9112, 3.2.2)."""
    path = request.raw_path
    return path if path.startswith("/") else request.rel_url.raw_path_qs


def _route(method: str, path: str) -> tuple[Route, list[str]]:
    methods, params = find(path)
    if methods is None:
        raise NotFound(f"there is nothing at {path[:200]!r}", "the routes are in docs/api.md")
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


def _check_protocol(request: BaseRequest, route: Route) -> None:
    theirs = request.headers.get("Jobctl-Protocol")
    if theirs is None or theirs == _OURS or route.any_protocol:
        return
    raise VersionMismatch(
        f"the caller speaks protocol {theirs[:20]!a}, this daemon ({jobctl.__version__}) speaks {_OURS}",
        "restart the daemon when jobctl is newer, else upgrade jobctl; commands go on meanwhile",
    )


def _as_problem(request: BaseRequest, error: JobctlError) -> StreamResponse:
    if request.writer.output_size > 0:
        raise ConnectionResetError("the answer has begun; only breaking it off tells the reader") from error
    response = problem(error)
    if not request.content.is_eof() or getattr(request.protocol, "oversized", False):
        response.force_close()  # what is left of the body would be read as the next request's head
    return response
