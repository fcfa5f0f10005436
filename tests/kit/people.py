"""What people ask of a host: each thing as the API does it, with what it decides from what it reads.

Where a decision is made first and written then, both can be had apart: the answer is the writing.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from jobctl.errors import CallerError
from jobctl.model import JobSpec
from jobctl_daemon.decide import skip
from jobctl_daemon.decide.due import expand
from jobctl_daemon.decide.edit import edit as edited
from jobctl_daemon.decide.pause import resumption
from jobctl_daemon.rows import Caller, DeadFilter, Pause, Replay, Request
from jobctl_daemon.schedules import schedule_of
from kit.machine import Host
from kit.model import Job, Run

Write = Callable[[], Any]

ADA, BOB = Caller(uid=1000, name="ada"), Caller(uid=1001, name="bob")
ROOT = Caller(uid=0, name="root", all_owners=True)


class People:
    """Everything they do is done at the host's present moment."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.asked: list[tuple[Any, ...]] = []
        """What was asked under a key."""

    @property
    def now_ms(self) -> int:
        return self._host.clock.now_ms()

    def ask(self, name: str, *args: Any) -> Any:
        """None when it is refused, as the model wanted."""
        if isinstance(args[-1], Request):
            self.asked.append((name, *args))
        try:
            return self._host.call(name, *args)
        except CallerError:
            return None

    def caller(self, job: Job, who: str) -> Caller:
        """Its owner, root, or (mostly) somebody else."""
        owner = ADA if job.owner == ADA.uid else BOB
        return {"owner": owner, "root": ROOT, "other": BOB}[who]

    # ── definitions ──────────────────────────────────────────────
    def add(self, owner: Caller, spec: JobSpec, key: str | None = None) -> None:
        first = schedule_of(spec.schedule).next_after(self.now_ms)
        request = _request(key, "create", spec)
        self.ask("create_job", owner, spec, first.at_ms if first else None, self.now_ms, request)

    def edit(self, job: Job, who: str, changed: Callable[[JobSpec], JobSpec]) -> Write:
        caller, now_ms, call = self.caller(job, who), self.now_ms, self._host.call
        shown = self.ask("cursor", caller, job.id) and call("job", caller, str(job.id))
        if shown is None:
            return _nothing
        self._host.model.saw(shown)
        old, cursor = call("spec", caller, job.id), call("cursor", caller, job.id)
        new = changed(old)
        asked = call("left_out", caller, job.id, now_ms) if cursor.skips_after(now_ms) else []
        was, becomes = schedule_of(old.schedule), schedule_of(new.schedule)
        change = edited(cursor, old, new, shown.rev, was, becomes, now_ms, asked)
        return lambda: self.ask("edit_job", caller, change, now_ms)

    def remove(self, job: Job, who: str) -> None:
        self.ask("delete_job", self.caller(job, who), job.id, self.now_ms)

    def leave_out(self, job: Job, who: str, count: int) -> Write:
        """Its next occurrences. What is due already becomes a run first."""
        caller, now_ms = self.caller(job, who), self.now_ms
        cursor = self.ask("cursor", caller, job.id)
        if cursor is None or (cursor.next_ms is None and cursor.suspended_since_ms is None):
            return _nothing
        schedule = schedule_of(cursor.schedule)
        if cursor.next_ms is not None and cursor.next_ms <= now_ms:
            self._host.call("expand", [expand(cursor, schedule, now_ms)], now_ms, self._host.epoch)
            cursor = self._host.call("cursor", caller, job.id)
        found = skip.skip(cursor, schedule, count, "asked", now_ms)
        if found is None:
            return _nothing
        return lambda: self.ask("skip_next", caller, job.id, found.row, cursor.revision, found.next_ms, now_ms)

    def leave_out_no_more(self, job: Job, who: str) -> Write:
        caller, now_ms = self.caller(job, who), self.now_ms
        cursor = self.ask("cursor", caller, job.id)
        if cursor is None:
            return _nothing
        asked = self._host.call("left_out", caller, job.id, now_ms)
        back = skip.unskip(cursor, schedule_of(cursor.schedule), asked, now_ms)
        return _nothing if back is None else lambda: self.ask("unskip", caller, back, now_ms)

    # ── pauses and queues ──────────────────────────────────────────────
    def pause(self, job: Job, who: str, until_ms: int | None = None) -> None:
        self.ask("pause_job", self.caller(job, who), job.id, "ada", until_ms, None, self.now_ms)

    def resume(self, job: Job, who: str, *, catch_up: bool) -> Write:
        """The aim is the API's, or that of the due scan: who comes first."""
        caller, now_ms = self.caller(job, who), self.now_ms
        if not self.ask("resume_job", caller, job.id, catch_up, now_ms):
            return _nothing
        cursor = self._host.call("cursor", caller, job.id)
        aim = resumption(cursor, schedule_of(cursor.schedule), now_ms, catch_up=catch_up)
        return lambda: self.ask("unsuspend", [aim], now_ms, self._host.epoch)

    def pause_queue(self, name: str, until_ms: int | None = None) -> None:
        """With no name: the daemon."""
        self.ask("pause_queue", name, Pause(by="root", until_ms=until_ms), self.now_ms)

    def resume_queue(self, name: str, *, catch_up: bool) -> None:
        self.ask("resume_queue", name, catch_up, self.now_ms)

    def set_queue(self, name: str, concurrency: int | None) -> None:
        self.ask("set_queue", name, concurrency, self.now_ms)

    # ── runs ──────────────────────────────────────────────
    def run(self, job: Job, who: str, key: str | None = None, delay_ms: int = 0) -> None:
        request = _request(key, "run", job.id)
        self.ask("trigger", self.caller(job, who), job.id, self.now_ms + delay_ms, self.now_ms, request)

    def run_command(self, owner: Caller, spec: JobSpec, delay_ms: int = 0) -> None:
        self.ask("run_adhoc", owner, spec, self.now_ms + delay_ms, self.now_ms, None)

    def stop(self, run: Run, who: str, how: str) -> None:
        """Recorded first, then asked of the runner."""
        caller = self.caller(self._host.model.jobs[run.job], who)
        stopped = self.ask("cancel", caller, run.id, caller.name, self.now_ms, how)
        if stopped is not None and stopped.fence is not None:
            self._host.happens(self._host.pool.stop, f"{run.id}-{stopped.fence}", how, None)

    def retry(self, run: Run, who: str, key: str | None) -> None:
        caller = self.caller(self._host.model.jobs[run.job], who)
        self.ask("retry", caller, run.id, caller.name, self.now_ms, _request(key, "retry", run.id))

    # ── dead letters ──────────────────────────────────────────────
    def replay(self, run: Run, who: str, wanted: DeadFilter, key: str | None, **how: Any) -> None:
        caller = self.caller(self._host.model.jobs[run.job], who)
        asked = Replay(by=caller.name, **how)
        self.ask("replay", caller, wanted, asked, self.now_ms, _request(key, "replay", (wanted, asked)))

    def discard(self, run: Run, who: str, wanted: DeadFilter) -> None:
        caller = self.caller(self._host.model.jobs[run.job], who)
        self.ask("discard", caller, wanted, caller.name, None, self.now_ms)


def changed(spec: JobSpec, drawn: dict[str, Any], rules: Iterable[str], places: Iterable[str]) -> JobSpec:
    """The definition with what of its policies and of its place was drawn."""
    policies = msgspec.structs.replace(spec.policies, **some(rules, drawn))
    return msgspec.structs.replace(spec, policies=policies, **some(places, drawn))


def some(fields: Iterable[str], drawn: dict[str, Any]) -> dict[str, Any]:
    """Those of the fields that were drawn."""
    return {field: drawn[field] for field in fields if field in drawn}


def _request(key: str | None, verb: str, body: Any) -> Request | None:
    return None if key is None else Request(key=key, verb=verb, body_hash=repr(body))


def _nothing() -> None:
    """There was nothing to decide."""
