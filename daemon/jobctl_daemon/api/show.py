"""GET /v1/jobs/{id}, /v1/runs/{id}, its work and its attempts: one thing as it is now."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.model import Run, RunWork
from jobctl.states import ENDED
from jobctl_daemon.api import halted
from jobctl_daemon.api.answers import answer, answer_job, page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import WAIT_S_MAX
from jobctl_daemon.api.queries import NoQuery, Paged, Query
from jobctl_daemon.shown import shown_target


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
    found = await (_ended(call, wait_s) if wait_s else call.services.store.run(call.caller, call.run_id))
    (shown,) = await halted.told(call, [found])
    return answer(shown)


async def _ended(call: Call, wait_s: float) -> Run:
    """Woken by the run's own events; nothing is polled."""
    until_ms = call.services.clock.boot_ms() + int(wait_s * 1000)
    with call.feed.run(call.run_id) as watch:
        while True:
            run = await call.services.store.run(await call.again(), call.run_id)
            left_s = max(0, until_ms - call.services.clock.boot_ms()) / 1000
            if run.state in ENDED or call.feed.closing or not await watch.news(left_s):
                return run


async def work(call: Call) -> StreamResponse:
    """What the run executes: the definition of its version, or what a replay made of it."""
    call.query(NoQuery)
    store = call.services.store
    run, execution = await store.run(call.caller, call.run_id), await store.work(call.caller, call.run_id)
    return answer(
        RunWork(
            target=shown_target(execution),
            stdin=execution.stdin,
            payload_ref=execution.payload_ref,
            env=execution.env,
            env_file=execution.env_file,
            user=execution.user,
            cwd=execution.cwd,
            version=run.version,
            edited=run.edited,
        )
    )


async def attempts(call: Call) -> StreamResponse:
    """Every effort to execute the run, oldest first, on one page."""
    call.query(Paged)
    return page(await call.services.store.attempts(call.caller, call.run_id))
