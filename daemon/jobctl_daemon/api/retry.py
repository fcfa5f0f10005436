"""POST /v1/runs/{id}/retry: once more, by hand."""

from aiohttp.web_response import StreamResponse

from jobctl_daemon.api.answers import answer
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.queries import NoQuery


async def retry(call: Call) -> StreamResponse:
    """A waiting retry is made due now, a dead letter replayed, of another ended run a new one made (201)."""
    call.query(NoQuery)
    request = call.idempotency(f"retry {call.run_id}", None)
    retried = await call.services.store.retry(call.caller, call.run_id, call.caller.name, call.now_ms, request)
    call.services.changed()
    return answer({"how": retried.how, "run": retried.run}, 201 if retried.how == "again" else 200)
