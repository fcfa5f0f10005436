"""GET /v1/queues and PUT /v1/queues/{name}: the queues, and how many of their runs may run at once."""

from typing import Final

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.model import Queue, QueueDraft
from jobctl_daemon.api.answers import answer, page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import CONCURRENCY_MAX
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import must_operate, operates
from jobctl_daemon.rows import Counts

#: The name under which the daemon as a whole is paused.
DAEMON: Final = ""


async def queues(call: Call) -> StreamResponse:
    """Those that jobs of the caller are in, and for who operates the daemon those that somebody set; on one page."""
    call.query(NoQuery)
    known = operates(call.caller, call.services.host.uid)
    return page(await call.services.store.queues(call.caller, known=known))


async def put(call: Call) -> StreamResponse:
    """The queue as it is then; without a concurrency it is limited by the slots alone."""
    call.query(NoQuery)
    must_operate(call.caller, call.services.host.uid)
    name, draft = call.queue, await call.body(QueueDraft)
    if draft.concurrency is not None and not 1 <= draft.concurrency <= CONCURRENCY_MAX:
        raise InvalidInput(
            f"a concurrency of {str(draft.concurrency)[:20]} is not possible",
            f"give 1 to {CONCURRENCY_MAX}, or null for as many as there are slots; to stop a queue, pause it",
            field="concurrency",
        )
    await call.services.store.set_queue(name, draft.concurrency, call.now_ms)
    call.services.changed()
    return answer(await queue_named(call, name))


async def queue_named(call: Call, name: str) -> Queue:
    """A queue as it is now, or the daemon as a whole; one that nobody has set and that has no jobs is empty."""
    store = call.services.store
    if name == DAEMON:
        counts = await store.counts(call.caller, call.now_ms)
        return daemon_as_queue(await store.daemon_pause(), counts, call.services.settings.slots)
    return await store.queue(call.caller, name) or _untouched(name)


async def pauses_over(call: Call, queue: str) -> dict[str, Queue]:
    """The pauses that hold jobs of a queue and are not their own: that of the queue, that of the daemon."""
    own, daemon = await queue_named(call, queue), await call.services.store.daemon_pause()
    return ({"queue": own} if own.paused else {}) | ({"daemon": daemon} if daemon is not None else {})


def daemon_as_queue(pause: Queue | None, counts: Counts, slots: int) -> Queue:
    """The daemon as a whole, with the caller's work in it."""
    return msgspec.structs.replace(
        pause or _untouched(DAEMON), concurrency=slots, jobs=counts.jobs, ready=counts.ready, running=counts.running
    )


def _untouched(name: str) -> Queue:
    return Queue(
        name=name,
        concurrency=None,
        jobs=0,
        ready=0,
        running=0,
        paused=False,
        paused_by=None,
        paused_since=None,
        paused_until=None,
        paused_why=None,
    )
