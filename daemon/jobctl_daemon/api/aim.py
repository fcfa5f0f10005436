"""A job that nothing holds any more waits for its next instant again, before its caller is answered."""

from jobctl.errors import InvalidInput
from jobctl_daemon.api.call import Call
from jobctl_daemon.api.definitions import checked
from jobctl_daemon.decide.pause import resumption
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.services.resuming import counted_from_its_rows


async def aim(call: Call, job_id: int, now_ms: int) -> None:
    """As the due scan would. A job whose schedule cannot be expanded is left to it, to be parked."""
    cursor = await call.services.store.cursor(call.caller, job_id)
    if cursor.resuming is None:
        return
    try:
        schedule = await checked(schedule_of, cursor.schedule)
    except InvalidInput:
        return
    counted = await counted_from_its_rows(call.services.store, cursor, now_ms)
    decision = await checked(resumption, counted, schedule, now_ms, catch_up=cursor.resuming == "catch_up")
    await call.services.store.unsuspend([decision], now_ms, call.services.epoch)
