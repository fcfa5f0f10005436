"""What of a job's times to come is left out because somebody asked for it."""

from itertools import islice, takewhile
from typing import Final

from jobctl.errors import InvalidInput
from jobctl.model import ScheduleSpec
from jobctl.windows import Skips
from jobctl.wire import rfc3339
from jobctl_daemon.schedules import schedule_of

#: As many as are counted: one request leaves out a hundred at most, and who asks often gets a round number.
_COUNTED: Final = 1_000


def skips(spec: ScheduleSpec, until_ms: int | None, now_ms: int) -> Skips | None:
    """Of the instants up to `until_ms` those that have not passed; None when there are none."""
    if until_ms is None or until_ms <= now_ms:
        return None
    try:
        schedule = schedule_of(spec)
    except InvalidInput:
        return None
    coming = takewhile(lambda at_ms: at_ms <= until_ms, (fire.at_ms for fire in schedule.fires(now_ms)))
    found = list(islice(coming, _COUNTED))
    return Skips(len(found), rfc3339(found[0]), rfc3339(found[-1])) if found else None
