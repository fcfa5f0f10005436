"""From a stored schedule to the value that tells its fires."""

from dataclasses import dataclass
from functools import lru_cache

from jobctl.model import ScheduleSpec
from jobctl.schedule import Schedule, build
from jobctl.states import After


@dataclass(frozen=True, slots=True)
class ByHand(Schedule):
    """No schedule: the job runs when somebody asks for it."""

    def next_after(self, t_ms: int) -> None:  # noqa: ARG002
        """Nothing is ever due by itself."""
        return

    def __str__(self) -> str:
        return "by hand"


@dataclass(frozen=True, slots=True)
class AfterJob(Schedule):
    """With an end of another job's run, whenever that is."""

    words: str

    def next_after(self, t_ms: int) -> None:  # noqa: ARG002
        """No time is known beforehand."""
        return

    def __str__(self) -> str:
        return self.words


_ENDS = {After.SUCCESS: "succeeds", After.FAILURE: "fails", After.ANY: "ends"}


def after_words(job: str, on: After) -> str:
    """What a person reads: after backup succeeds."""
    return f"after {job} {_ENDS[on]}"


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
        after=spec.after_job is not None,
        on_boot=spec.on_boot,
        on_start=spec.on_start,
        dst_gap=spec.dst_gap,
        dst_overlap=spec.dst_overlap,
    )
    if schedule is not None:
        return schedule
    if spec.after_job is not None:
        return AfterJob(spec.words or after_words(f"job {spec.after_job}", spec.after_on))
    return ByHand()
