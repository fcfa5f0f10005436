"""GET /v1/daemon/log: the last lines that the daemon has said of itself."""

from typing import Annotated

import msgspec
from aiohttp.web_response import StreamResponse

from jobctl_daemon.api.answers import page
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import Query
from jobctl_daemon.api.rights import must_look_after_it
from jobctl_daemon.journal import KEPT


class Wanted(Query, frozen=True):
    """So many of the last lines."""

    lines: Annotated[int, msgspec.Meta(ge=1, le=KEPT)] = 50


async def log(call: Call) -> StreamResponse:
    """Oldest first, on one page; wherever the daemon logs to: its file, standard error or the system's journal."""
    wanted = call.query(Wanted)
    must_look_after_it(call.caller, call.services.host.uid)
    lines = call.services.journal()[-wanted.lines :]
    return page([{"at": line.at, "level": line.level, "text": line.text} for line in lines])
