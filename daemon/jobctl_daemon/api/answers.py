"""Answers that are not problems."""

from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from jobctl import wire
from jobctl.model import Job, Page
from jobctl_daemon.api.problems import HEADERS

_JSON: Final = (("Content-Type", "application/json"), *HEADERS)


def answer(value: object, status: int = 200) -> web.Response:
    """A value of the model as JSON."""
    return web.Response(body=wire.encode(value), status=status, headers=_JSON)


def answer_job(job: Job) -> web.Response:
    """A job with its revision as the entity tag, for an edit's If-Match."""
    response = answer(job)
    response.headers["ETag"] = f'"{job.rev}"'
    return response


def page(items: Sequence[object], cursor: str | None = None, status: int = 200) -> web.Response:
    """A list, and where it goes on."""
    return answer(Page(schema=wire.SCHEMA, items=list(items), next=cursor), status)


def nothing() -> web.Response:
    """Done, and there is nothing to say about it."""
    return web.Response(status=204, headers=HEADERS)


def stream(kind: str, headers: Mapping[str, str]) -> web.StreamResponse:
    """The beginning of an answer that is sent as it comes to be."""
    response = web.StreamResponse(headers=HEADERS)
    response.headers["Content-Type"] = kind
    response.headers["Cache-Control"] = "no-store"
    response.headers.update(headers)
    return response
