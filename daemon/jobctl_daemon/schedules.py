"""The schedule of a stored job; that of a checked spec is in `jobctl.drafts`."""

from jobctl.drafts.schedules import AfterJob, ByHand, after_words, schedule_of
from jobctl.errors import InvalidInput
from jobctl.model import ScheduleSpec
from jobctl.schedule import Schedule
from jobctl_daemon.rows import DueJob

__all__ = ["AfterJob", "ByHand", "after_words", "expandable", "schedule_of", "stored_schedule"]


def stored_schedule(job: DueJob) -> Schedule:
    """Its schedule; `InvalidInput` also when its definition cannot be read."""
    if job.unreadable is not None:
        raise InvalidInput(job.unreadable)
    return schedule_of(job.schedule)


def expandable(spec: ScheduleSpec) -> Schedule | None:
    """A schedule that this host does not understand any more can still be replaced, or be left alone."""
    try:
        return schedule_of(spec)
    except InvalidInput:
        return None
