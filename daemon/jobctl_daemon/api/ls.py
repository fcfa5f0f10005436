"""GET /v1/jobs: a page of jobs by name."""

from aiohttp.web_response import StreamResponse

from jobctl.filters import parse
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import Paged, listed
from jobctl_daemon.rows import JobFilter


class Which(Paged, frozen=True):
    """Every set field must match."""

    state: str | None = None
    queue: str | None = None
    owner: str | None = None
    q: str | None = None
    tag: str | None = None
    source: str | None = None
    declared: str | None = None
    done: bool = False


async def ls(call: Call) -> StreamResponse:
    """Jobs that match."""
    which = call.query(Which)
    wanted = JobFilter(
        states=listed(which.state),
        queue=which.queue,
        owner=which.owner,
        q=parse(which.q or ""),
        now_ms=call.now_ms,
        tag=which.tag,
        source=which.source,
        declared=which.declared,
        done=which.done,
        limit=which.limit,
        cursor=which.cursor,
    )
    return page(*await call.services.store.jobs(call.caller, wanted))
