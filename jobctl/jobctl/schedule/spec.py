"""From the options of a request or a command line to one schedule."""

from jobctl.errors import InvalidInput

from .base import Schedule
from .boot import OnBoot, OnStart
from .clock_change import check_gap, check_overlap
from .cron import Cron
from .cron_text import parse_cron
from .interval import Every
from .once import Once
from .zone import find_zone


def build(
    *,
    timezone: str,
    anchor_ms: int,
    cron: str | None = None,
    every_ms: int | None = None,
    at_ms: int | None = None,
    after: bool = False,
    on_boot: bool = False,
    on_start: bool = False,
    dst_gap: str = "auto",
    dst_overlap: str = "auto",
) -> Schedule | None:
    """The schedule that the options ask for; None when they ask for no time: a job started by hand, or by another.

    `anchor_ms` is the moment of the edit, from which an interval counts; `after` says that there is another job
    whose end starts this one. Raises `InvalidInput` for more than one
    kind of schedule and for a bad text, interval (under one second), zone or policy.
    """
    asked = {
        "--cron": cron is not None,
        "--every": every_ms is not None,
        "--at": at_ms is not None,
        "--after": after,
        "--on-boot": on_boot,
        "--on-start": on_start,
    }
    names = [name for name, given in asked.items() if given]
    if len(names) > 1:
        hint = "Make a job of each, or keep one."
        raise InvalidInput(f"a job has one schedule, not {' and '.join(names)}", hint, field="schedule")
    find_zone(timezone)
    gap, overlap = check_gap(dst_gap), check_overlap(dst_overlap)
    if cron is not None:
        return OnBoot() if parse_cron(cron).reboot else Cron(cron, timezone, gap, overlap)
    if every_ms is not None:
        return Every(every_ms, anchor_ms)
    if at_ms is not None:
        return Once(at_ms)
    if on_boot:
        return OnBoot()
    return OnStart() if on_start else None
