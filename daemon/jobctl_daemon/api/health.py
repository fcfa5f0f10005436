"""GET /v1/health/live and /ready: for whoever watches the daemon."""

from aiohttp.web_response import StreamResponse

from jobctl.errors import Unavailable
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import operates
from jobctl_daemon.api.status import TROUBLE

_OK = {"status": "ok"}


async def live(call: Call) -> StreamResponse:
    """The loop turns: this answer is the proof."""
    call.query(NoQuery)
    return answer(_OK)


async def ready(call: Call) -> StreamResponse:
    """It can take work, as a write of its own shows; otherwise 503 with the reason, within two seconds."""
    call.query(NoQuery)
    health = call.services.health
    report = health.snapshot()
    reason = "the daemon is stopping" if report.stopping else report.unready or await health.tried()
    if reason is not None and not operates(call.caller, call.services.host.uid):
        reason = TROUBLE
    if reason is not None:
        raise Unavailable(reason, "see `jobctl status`", details={"why": reason})
    return answer(_OK)
