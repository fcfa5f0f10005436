"""GET /v1/jobs/{id}, /v1/runs/{id} and its attempts: one thing as it is now."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.model import Run
from jobctl.states import ENDED
from jobctl_daemon.api.answers import answer, answer_job, page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import WAIT_S_MAX
from jobctl_daemon.api.queries import NoQuery, Paged, Query


class Wait(Query, frozen=True):
    """`wait` in seconds: answer as soon as the run has ended, or after so long."""

    wait: Annotated[float, msgspec.Meta(ge=0, le=WAIT_S_MAX)] = 0.0


async def job(call: Call) -> StreamResponse:
    """The job, and its revision as the entity tag."""
    call.query(NoQuery)
    return answer_job(await call.services.store.job(call.caller, call.selector))


async def run(call: Call) -> StreamResponse:
    """The run; with `wait` when it has ended."""
    wait_s = call.query(Wait).wait
    return answer(await (_ended(call, wait_s) if wait_s else call.services.store.run(call.caller, call.run_id)))


async def _ended(call: Call, wait_s: float) -> Run:
    """Woken by the run's own events; nothing is polled."""
    until_ms = call.services.clock.boot_ms() + int(wait_s * 1000)
    with call.feed.run(call.run_id) as watch:
        while True:
            run = await call.services.store.run(call.caller, call.run_id)
            left_s = max(0, until_ms - call.services.clock.boot_ms()) / 1000
            if run.state in ENDED or call.feed.closing or not await watch.news(left_s):
                return run


async def attempts(call: Call) -> StreamResponse:
    """Every effort to execute the run, oldest first, on one page."""
    call.query(Paged)
    return page(await call.services.store.attempts(call.caller, call.run_id))
