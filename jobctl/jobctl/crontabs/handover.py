"""A whole host from cron to jobd and back, so that nothing runs twice, no minute is lost, and a crash can be mended.

    wait for the middle of a minute ─► write down `since` ─► stop cron ─► tables live from `since` on ─► check
    undo: wait for the middle of a minute ─► tables let go ─► cron starts at boot and runs again, as it was

Cron starts what a minute has due at its beginning, and jobd what is due after `since`. With the stop in the middle of a
minute no line is due between the two. Each step is written down before it is done and can be done again.
"""

import select
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Protocol

from jobctl.clock import Clock
from jobctl.errors import Conflict, JobctlError

from .crond import Cron, CronProcess, CronService
from .host_cron import check_gone
from .record import Record, Records, TakenHost

Json = dict[str, Any]

_MINUTE_MS: Final = 60_000
#: Cron has started everything by then, and there is time enough to stop it.
_FROM_MS: Final = 5_000
_UNTIL_MS: Final = 50_000


class Tables(Protocol):
    """What a handover needs of the daemon."""

    def crontabs(self) -> Json: ...
    def set_crontabs_live(self, *, on: bool, since: str | None = None) -> Json: ...


class AnyCron(Protocol):
    """Cron, as `host_cron.HostCron` has it."""

    def find(self) -> Cron: ...
    def stop(self, cron: Cron) -> list[str]: ...
    def start(self, cron: Cron) -> list[str]: ...


@dataclass
class Handed:
    """What was done, a sentence each, and what the daemon says of the tables."""

    steps: list[str] = field(default_factory=list)
    tables: Json = field(default_factory=dict)


class Handover:
    """One host. `say` hears of each step as it is done; `wait` passes so many seconds."""

    def __init__(
        self,
        daemon: Tables,
        records: Records,
        cron: AnyCron,
        clock: Clock,
        say: Callable[[str], None],
        wait: Callable[[float], object] = lambda seconds: select.select([], [], [], seconds),
    ) -> None:
        self._daemon = daemon
        self._records = records
        self._cron = cron
        self._clock = clock
        self._say = say
        self._wait = wait

    def unfinished(self) -> list[Record]:
        """Handovers that a crash cut short. One that was being undone is undone to its end."""
        cut = [record for record in self._records.all() if record.host is not None and record.unfinished]
        undoing = [record for record in cut if record.state == "undoing"]
        if undoing:
            self.undo()
        return [record for record in cut if record not in undoing]

    def begin(self, record: Record) -> Handed:
        """Carry it out. When a step fails, everything is put back as it was before the error goes on."""
        record.host = _written(self._cron.find())
        self._records.begin(record, [])
        return self.finish(record)

    def finish(self, record: Record) -> Handed:
        """The steps that are left, also of one that was cut short."""
        handed = Handed()
        try:
            self._stop(record, handed)
            if record.state != "live":
                self._daemon.set_crontabs_live(on=True, since=_taken(record).since)
                self._reach(record, "live")
                self._did(handed, "the crontabs of this host are run by jobd")
            check_gone(self._cron.find())
        except JobctlError as error:
            self._put_back(record, error)
            raise
        handed.tables = self._daemon.crontabs()
        self._reach(record, "done")
        return handed

    def undo(self) -> Handed:
        """Everything back, of all handovers that are not undone: what the first of them found is how it was."""
        records = [one for one in self._records.all() if one.host is not None and one.state != "rolled back"]
        for record in records:
            self._reach(record, "undoing")
        handed = Handed()
        self._middle_of_a_minute()
        self._let_go()
        self._did(handed, "jobd has let go of the crontabs: their jobs are gone, their history stays")
        self._start(records, handed)
        for record in records:
            self._reach(record, "rolled back")
        return handed

    def cron_again(self) -> Handed:
        """Only cron, for when jobd does not answer. The undoing is not at its end."""
        handed = Handed()
        records = [one for one in self._records.all() if one.host is not None and one.state != "rolled back"]
        for record in records:
            self._reach(record, "undoing")
        self._start(records, handed)
        return handed

    def _stop(self, record: Record, handed: Handed) -> None:
        """Cron is gone after it, and `since` is an instant from which on nothing was started by it."""
        cron, taken = self._cron.find(), _taken(record)
        if cron.processes or taken.since is None:
            if cron.processes:
                self._middle_of_a_minute()
            taken.since = _rfc3339(self._clock.now_ms())
        self._reach(record, record.state if record.state == "live" else "stopping")
        before_ms = self._clock.now_ms()
        for step in self._cron.stop(cron):
            self._did(handed, step)
        after_ms = self._clock.now_ms()
        if cron.processes and before_ms // _MINUTE_MS != after_ms // _MINUTE_MS:
            taken.since = _rfc3339(after_ms)
            self._did(handed, "cron took until the next minute to stop: what was due in between it may have started, "
                              "and jobd does not start it again")  # fmt: skip
        if record.state != "live":
            self._reach(record, "stopped")

    def _put_back(self, record: Record, error: JobctlError) -> None:
        """After a step that failed: the tables are let go, and cron runs again."""
        self._say(f"this failed, everything is put back: {error.message}")
        self._reach(record, "undoing")
        try:
            self._let_go()
        except Conflict as also:  # it runs the tables: a cron beside it would run them again
            error.details["also"] = also.message
            return
        except JobctlError as also:
            error.details["also"] = f"the crontabs were not let go: {also.message}"
        self._start([record], Handed())
        if "also" not in error.details:
            self._reach(record, "rolled back")

    def _let_go(self) -> None:
        if self._daemon.set_crontabs_live(on=False)["live"]:
            raise Conflict(
                'jobd goes on running the crontabs: jobd.toml says `crontabs = "on"`',
                "take that out, have the daemon read it (kill -HUP), then again",
            )

    def _start(self, records: list[Record], handed: Handed) -> None:
        cron = _as_it_was(records)
        for step in self._cron.start(cron):
            self._did(handed, step)
        if not cron.found:
            self._did(handed, "no cron ran before, so none was started")

    def _middle_of_a_minute(self) -> None:
        within_ms = self._clock.now_ms() % _MINUTE_MS
        if _FROM_MS <= within_ms < _UNTIL_MS:
            return
        wait_s = ((_FROM_MS - within_ms) % _MINUTE_MS) / 1000
        self._say(f"waiting {wait_s:.0f} s for the middle of a minute, in which nothing is due")
        while wait_s > 0:
            self._wait(wait_s)
            within_ms = self._clock.now_ms() % _MINUTE_MS
            wait_s = 0 if _FROM_MS <= within_ms < _UNTIL_MS else ((_FROM_MS - within_ms) % _MINUTE_MS) / 1000

    def _did(self, handed: Handed, step: str) -> None:
        handed.steps.append(step)
        self._say(step)

    def _reach(self, record: Record, state: str) -> None:
        record.state = state
        self._records.save(record)


def _taken(record: Record) -> TakenHost:
    if record.host is None:
        raise Conflict(f"import {record.id} took lines over, not a host", "see `jobctl import crontab --rollback`")
    return record.host


def _written(cron: Cron) -> TakenHost:
    return TakenHost([asdict(one) for one in cron.processes], [asdict(one) for one in cron.services])


def _as_it_was(records: list[Record]) -> Cron:
    """Oldest first: a service that an earlier handover had stopped was running before it."""
    processes: dict[str, CronProcess] = {}
    services: dict[str, CronService] = {}
    for record in records:
        taken = _taken(record)
        for one in taken.processes:
            processes.setdefault(one["name"], CronProcess(one["pid"], one["name"], tuple(one["argv"])))
        for one in taken.services:
            services.setdefault(one["name"], CronService(**one))
    return Cron(tuple(processes.values()), tuple(services.values()))


def _rfc3339(at_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
