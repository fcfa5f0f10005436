"""GET /v1/dead and /v1/dead/groups: what failed for good and waits for somebody; and which of it is meant."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.errors import InvalidInput
from jobctl.filters import TEXT_CHARS_MAX, parse
from jobctl.model import DeadDraft
from jobctl.states import FailureClass
from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import DEAD_MAX, PAGE_DEFAULT, PAGE_MAX, QUERY_CHARS_MAX
from jobctl_daemon.api.queries import Query
from jobctl_daemon.api.values import checked_ids
from jobctl_daemon.rows import DeadFilter


class Which(Query, frozen=True):
    """Every set field must hold."""

    job: str | None = None
    failure_class: FailureClass | None = msgspec.field(name="class", default=None)
    fingerprint: str | None = None
    q: str | None = None
    since: str | None = None
    until: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=PAGE_MAX)] = PAGE_DEFAULT


class OnPage(Which, frozen=True):
    """A page of them."""

    cursor: str | None = None


async def dead(call: Call) -> StreamResponse:
    """Dead letters that match, newest death first."""
    which = call.query(OnPage)
    wanted = msgspec.structs.replace(await _of(call, which), limit=which.limit, cursor=which.cursor)
    return page(*await call.services.store.dead(call.caller, wanted))


async def groups(call: Call) -> StreamResponse:
    """The same by what they have in common, the largest group first, on one page."""
    which = call.query(Which)
    wanted = msgspec.structs.replace(await _of(call, which), limit=which.limit)
    return page(await call.services.store.dead_groups(call.caller, wanted))


async def meant(call: Call, draft: DeadDraft, most: int | None = None) -> DeadFilter:
    """The dead letters that a body names. One that would be every one of them must say so."""
    most = DEAD_MAX if most is None else most
    if not 1 <= most <= DEAD_MAX:
        raise InvalidInput(f"a limit of {str(most)[:20]} is not possible", f"give 1 to {DEAD_MAX}", field="limit")
    wanted = msgspec.structs.replace(await _of(call, draft), ids=checked_ids(draft.ids, DEAD_MAX), limit=most)
    if wanted == DeadFilter(limit=most) and not draft.all:
        raise InvalidInput("nothing says which dead letters", "give ids or a filter, or all", field="ids")
    return wanted


async def _of(call: Call, which: Which | DeadDraft) -> DeadFilter:
    """The filter of a query or a body. Local times are of the job's zone, where there is one job."""
    for field in ("job", "fingerprint", "q", "since", "until"):
        text = getattr(which, field)
        most = TEXT_CHARS_MAX if field == "q" else QUERY_CHARS_MAX
        if text is not None and not (text.strip() and len(text) <= most):
            raise InvalidInput(f"{field} is empty or over {most} characters", "leave it out", field=field)
    job = None if which.job is None else await call.services.store.job(call.caller, call.selected(which.job, "job"))
    zone = job.schedule.timezone if job and job.schedule else None
    return DeadFilter(
        job_id=None if job is None else job.id,
        failure_class=which.failure_class,
        fingerprint=which.fingerprint,
        q=parse(which.q or ""),
        now_ms=call.now_ms if which.q else 0,
        since_ms=call.instant(which.since, "since", zone),
        until_ms=call.instant(which.until, "until", zone),
    )
