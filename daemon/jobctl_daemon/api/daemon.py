"""POST /v1/daemon/stop: jobd ends, its commands go on."""

from aiohttp.web_response import StreamResponse

from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.rights import must_run_it


async def stop(call: Call) -> StreamResponse:
    """Begins the stopping sequence; this answer is still delivered."""
    call.query(NoQuery)
    must_run_it(call.caller, call.services.host.uid)
    call.services.stop()
    return answer({"state": "stopping"}, 202)
