"""GET /v1/upcoming: the next hours, a lane of cells for each job, and what all jobs come to."""

from typing import Annotated, Any

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.filters import Filter, parse
from jobctl.schedule import local_time
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import (
    PAGE_DEFAULT,
    UPCOMING_CELLS_MAX,
    UPCOMING_HOURS_MAX,
    UPCOMING_PAGE_MAX,
)
from jobctl_daemon.api.overviews import Overview, lanes, usual_of
from jobctl_daemon.api.queries import Query
from jobctl_daemon.decide.skips import skips
from jobctl_daemon.decide.upcoming import Change, Lane, window
from jobctl_daemon.rows import Foreseen, ForeseenFilter


class Wanted(Query, frozen=True):
    """`cells` over so many `hours`, from now on or from `since`; `q` is a filter of jobs; a page of the lanes. `job`:
    that one alone, by its id."""

    hours: Annotated[int, msgspec.Meta(ge=1, le=UPCOMING_HOURS_MAX)] = 24
    cells: Annotated[int, msgspec.Meta(ge=1, le=UPCOMING_CELLS_MAX)] = 48
    since: str | None = None
    q: str | None = None
    job: Annotated[int, msgspec.Meta(ge=1, le=1 << 62)] | None = None
    offset: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)] = 0
    limit: Annotated[int, msgspec.Meta(ge=0, le=UPCOMING_PAGE_MAX)] = PAGE_DEFAULT


async def upcoming(call: Call) -> StreamResponse:
    """The overview, and the lanes of a page: late jobs, then by their next fire, then those that a pause holds."""
    wanted = call.query(Wanted)
    services, event = call.services, call.feed.newest
    over = window(call.now_ms, wanted.hours, wanted.cells, call.instant(wanted.since, "since"))
    q = parse(wanted.q or "")
    if wanted.job is None:
        found = await services.overviews.of(call.caller, q, over, event)
    else:
        job = await services.store.job(call.caller, str(wanted.job))
        found = await services.overviews.of_one(call.caller, q, over, job.id)
    return answer({
        "schema": wire.SCHEMA,
        "event": event,
        **_shown(found, services.host.timezone),
        "slots": services.settings.slots,
        "offset": wanted.offset,
        "items": await _items(call, found, list(found.order[wanted.offset : wanted.offset + wanted.limit])),
    })  # fmt: skip


def _shown(found: Overview, timezone: str) -> dict[str, Any]:
    over = found.over
    return {
        "from": wire.rfc3339(over.from_ms),
        "until": wire.rfc3339(over.until_ms),
        "timezone": timezone,
        "cells": over.cells,
        "total": len(found.order),
        "jobs": found.jobs,
        "fires": found.fires,
        "density": found.density,
        "busy": found.busy,
        "crowded": [
            {"at": wire.rfc3339(crowd.at_ms), "count": crowd.fires, "jobs": list(crowd.jobs)} for crowd in found.crowded
        ],
        "transitions": [_change(change) for change in found.within],
        "next_transition": None if found.later is None else _change(found.later),
        "left_out": {"jobs": found.uncounted, "busy": found.untimed},
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "at": wire.rfc3339(change.at_ms),
        "local": local_time(change.at_ms, change.timezone),
        "timezone": change.timezone,
        "kind": change.kind,
        "offset_before": wire.seconds(change.before_ms),
        "offset_after": wire.seconds(change.after_ms),
        "jobs": change.jobs,
    }


async def _items(call: Call, found: Overview, ids: list[int]) -> list[dict[str, Any]]:
    store = call.services.store
    jobs = await store.foreseen_of(call.caller, ids, ForeseenFilter(q=Filter(), now_ms=call.now_ms))
    states = await store.job_states(call.caller, [job.job_id for job in jobs])
    usual_ms = await usual_of(store, call.caller, [job.job_id for job in jobs])
    return [
        _item(job, of, states.get(job.job_id, "ok"), found, usual_ms.get(job.job_id), call.now_ms)
        for job, of in zip(jobs, await lanes(jobs, found.over), strict=True)
    ]


def _item(job: Foreseen, of: Lane, state: str, found: Overview, usual_ms: int | None, now_ms: int) -> dict[str, Any]:
    late_ms = found.late.get(job.job_id)
    return {
        "id": job.job_id,
        "name": job.name,
        "state": state,
        "paused": job.held,
        "late_since": None if late_ms is None else wire.rfc3339(late_ms),
        "next_run_at": None if job.next_ms is None or job.held else wire.rfc3339(job.next_ms),
        "skips": skips(job.schedule, job.skip_until_ms, now_ms),
        "fires": of.fires,
        "lane": of.counts,
        "p50": None if usual_ms is None else wire.seconds(usual_ms),
    }
