"""GET /v1/jobs/{id}/durations: how long a job's last runs took, and how long they usually take."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl import wire
from jobctl.states import RunState
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import DURATIONS_MAX
from jobctl_daemon.api.queries import Query
from jobctl_daemon.decide.usual import LOOKED_AT, usual
from jobctl_daemon.rows import Took


class Wanted(Query, frozen=True):
    """So many of the newest runs."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=DURATIONS_MAX)] = LOOKED_AT


async def durations(call: Call) -> StreamResponse:
    """The newest runs that began and ended, newest first; p50 and p95 are of those among them that succeeded."""
    wanted = call.query(Wanted)
    job = await call.services.store.job(call.caller, call.selector)
    runs = await call.services.store.durations(call.caller, job.id, wanted.limit)
    took = [_took_ms(run) for run in runs if run.state is RunState.SUCCEEDED]
    found = usual(took)
    return answer({
        "schema": wire.SCHEMA,
        "count": len(took),
        "p50": wire.seconds(found.p50_ms) if found else None,
        "p95": wire.seconds(found.p95_ms) if found else None,
        "items": [_item(run) for run in runs],
    })  # fmt: skip


def _took_ms(run: Took) -> int:
    return max(0, run.finished_ms - run.started_ms)


def _item(run: Took) -> dict[str, object]:
    return {
        "run_id": run.run_id,
        "state": run.state,
        "outcome": run.outcome,
        "started_at": wire.rfc3339(run.started_ms),
        "duration": wire.seconds(_took_ms(run)),
    }
