"""GET /v1/jobs/window and /v1/runs/window: a part of a list as a screen shows it, by place and not by cursor."""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl.filters import parse
from jobctl.schedule import find_zone
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.limits import OFFSET_MAX, PAGE_DEFAULT, WINDOW_MAX
from jobctl_daemon.api.queries import Query
from jobctl_daemon.windows import JobWindow, RunWindow

#: As in `jobctl.windows.JOB_SORTS`.
JobSort = Literal["attention", "name", "next", "last", "state", "duration"]
_ID_MAX: Final = (1 << 63) - 1


class Which(Query, frozen=True):
    """What is common to the windows."""

    q: str | None = None
    offset: Annotated[int, msgspec.Meta(ge=0, le=OFFSET_MAX)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=WINDOW_MAX)] = PAGE_DEFAULT
    around: Annotated[int, msgspec.Meta(ge=1, le=_ID_MAX)] | None = None


class WhichJobs(Which, frozen=True):
    """In which order."""

    sort: JobSort = "attention"
    reverse: bool = False


async def jobs(call: Call) -> StreamResponse:
    """Jobs as rows of a screen."""
    which = call.query(WhichJobs)
    wanted = JobWindow(
        sort=which.sort,
        reverse=which.reverse,
        q=parse(which.q or ""),
        offset=which.offset,
        limit=which.limit,
        around=which.around,
    )
    return answer(await call.services.store.job_window(call.caller, wanted, call.now_ms))


async def runs(call: Call) -> StreamResponse:
    """Runs as rows of a screen."""
    which = call.query(Which)
    wanted = RunWindow(
        midnight_ms=_midnight_ms(call),
        q=parse(which.q or ""),
        offset=which.offset,
        limit=which.limit,
        around=which.around,
    )
    return answer(await call.services.store.run_window(call.caller, wanted, call.now_ms))


def _midnight_ms(call: Call) -> int:
    """When the day began where the host is."""
    now = datetime.fromtimestamp(call.now_ms / 1000, find_zone(call.services.host.timezone))
    return int(now.replace(hour=0, minute=0, second=0, microsecond=0, fold=0).timestamp() * 1000)
