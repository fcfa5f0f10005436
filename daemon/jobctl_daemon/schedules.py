"""From a stored schedule to the value that tells its fires."""

from dataclasses import dataclass
from functools import lru_cache

from jobctl.model import ScheduleSpec
from jobctl.schedule import Schedule, build


@dataclass(frozen=True, slots=True)
class ByHand(Schedule):
    """No schedule: the job runs when somebody asks for it."""

    def next_after(self, t_ms: int) -> None:  # noqa: ARG002
        """Nothing is ever due by itself."""
        return

    def __str__(self) -> str:
        return "by hand"


@lru_cache(maxsize=16_384)
def schedule_of(spec: ScheduleSpec) -> Schedule:
    """The schedule of a checked spec, remembered: a burst is a few schedules many times.

    Raises `InvalidInput` for one that cannot be expanded here, such as a zone that this host does not know.
    """
    schedule = build(
        timezone=spec.timezone,
        anchor_ms=spec.anchor_ms,
        cron=spec.cron,
        every_ms=spec.every_ms,
        at_ms=spec.at_ms,
        on_boot=spec.on_boot,
        on_start=spec.on_start,
        dst_gap=spec.dst_gap,
        dst_overlap=spec.dst_overlap,
    )
    return schedule if schedule is not None else ByHand()
