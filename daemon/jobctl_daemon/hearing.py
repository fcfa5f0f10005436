"""Which committed changes wake which service: they may move what is due, or be the end of a run."""

from collections.abc import Callable, Sequence
from typing import Final

import structlog

from jobctl.model import Event

#: After these something may be due earlier than the materialiser's alarm.
_MOVES_WHAT_IS_DUE: Final = frozenset(
    {
        "job.created",
        "job.edited",
        "job.resumed",
        "job.paused",
        "job.deleted",
        "run.scheduled",
        "run.replayed",
        "run.retrying",
        "queue.set",
        "queue.paused",
        "queue.resumed",
        "daemon.paused",
        "daemon.resumed",
    }
)
_ENDS: Final = frozenset(
    {"run.succeeded", "run.failed", "run.cancelled", "run.skipped", "run.superseded", "run.discarded", "run.dead"}
)


class Hearing:
    """Hears every commit. `on_ends` gets how many events there were, and the job of each run that ended.

    When it fails itself, everybody is woken: a wake too many costs a look, one too few a run.
    """

    def __init__(
        self,
        on_due: Callable[[], None],
        on_events: Callable[[Sequence[Event]], None],
        on_ends: Callable[[int, list[int]], None],
        everybody: Callable[[], None],
    ) -> None:
        self._on_due = on_due
        self._on_events = on_events
        self._on_ends = on_ends
        self._everybody = everybody

    def __call__(self, events: Sequence[Event]) -> None:
        try:
            self._hear(events)
        except Exception as error:  # noqa: BLE001 - said above
            structlog.get_logger().exception("hearing.failed", error=f"{type(error).__name__}: {error}")
            self._everybody()

    def _hear(self, events: Sequence[Event]) -> None:
        if any(_moves(event) for event in events):
            self._on_due()
        self._on_events(events)
        self._on_ends(len(events), [event.job_id or 0 for event in events if event.kind in _ENDS])


def _moves(event: Event) -> bool:
    given_back = event.kind == "run.ready" and "reason" in event.data
    return event.kind in _MOVES_WHAT_IS_DUE or given_back
