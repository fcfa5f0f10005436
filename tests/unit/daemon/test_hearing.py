"""What a commit wakes."""

from collections.abc import Sequence

from jobctl.model import Event
from jobctl_daemon.hearing import Hearing


def event(kind: str, job_id: int | None = 7, **data: object) -> Event:
    return Event(id=1, at="2027-01-15T08:00:00Z", kind=kind, job_id=job_id, run_id=None, data=data)


class Told:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.due = self.everybody = 0
        self.ends: list[tuple[int, list[int]]] = []
        self.fails = False
        self.hearing = Hearing(self._due, self._events, lambda *ends: self.ends.append(ends), self._everybody)

    def _due(self) -> None:
        self.due += 1

    def _events(self, events: Sequence[Event]) -> None:
        if self.fails:
            raise KeyError("on purpose")

    def _everybody(self) -> None:
        self.everybody += 1


def test_what_moves_the_next_instant_wakes_the_due_scan_and_ends_are_counted() -> None:
    told = Told()
    told.hearing([event("job.created"), event("run.succeeded"), event("run.dead", None)])
    told.hearing([event("run.ready")])
    assert (told.due, told.everybody) == (1, 0)
    told.hearing([event("run.ready", reason="given back")])
    assert told.due == 2
    assert told.ends == [(3, [7, 0]), (1, []), (1, [])]


def test_when_it_fails_everybody_looks_for_himself() -> None:
    told = Told()
    told.fails = True
    told.hearing([event("run.succeeded")])
    assert told.everybody == 1
