"""POST /v1/dead/discard: dead letters that nobody will replay go into history."""

from aiohttp.web_response import StreamResponse

from jobctl.model import DiscardDraft
from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.dead import meant
from jobctl_daemon.api.queries import NoQuery
from jobctl_daemon.api.values import checked_why


async def discard(call: Call) -> StreamResponse:
    """The ids of those that were discarded; again, there is nothing left to discard."""
    call.query(NoQuery)
    draft = await call.body(DiscardDraft)
    why = checked_why(draft.why)
    wanted = await meant(call, draft)
    discarded = await call.services.store.discard(call.caller, wanted, call.caller.name, why, call.now_ms)
    return answer({"discarded": discarded})
