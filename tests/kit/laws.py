"""What must hold of a host after every step: its tables are what the model says, and keep the invariants of the design.

See design/store.md for their numbers; `kit.invariants` has those that can be asked of the tables alone.
"""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from jobctl.schedule import Cron, Every
from jobctl.states import ACTIVE, FINAL, RunState
from jobctl_daemon.schedules import schedule_of
from kit.invariants import invariants
from kit.machine import Host
from kit.model import Job, Run
from kit.moves import Moves

_RUNS: Final = """
    SELECT id, job_id, key, state, held, waits, by_hand, gate, fence, attempt, failures, losses, returns, replays,
        probe,
           version, queue, priority, due_ms, start_by_ms, stop_wanted, slot_ms, retry_of FROM runs"""
_HISTORY: Final = "SELECT id, job_id, key, state, fence, attempt, replays, version, slot_ms, retry_of FROM history"
_JOBS: Final = """
    SELECT j.id, j.name, j.version, j.queue, j.priority, j.paused, j.suspended, j.resuming, j.quarantined, j.done,
           j.deleted_ms IS NOT NULL, c.next_nominal, c.handled_ms, c.skip_until
    FROM jobs j LEFT JOIN cursors c ON c.job_id = j.id"""
_EVENTS: Final = "SELECT id, kind, job_id, run_id, data FROM events WHERE id > ? ORDER BY id"
_LEDGER: Final = "SELECT key, from_ms, to_ms FROM occurrences WHERE job_id = ?"
_TOUCHED: Final = "SELECT DISTINCT job_id FROM occurrences WHERE at_ms >= ?"


class Laws:
    """Looks at a host after each step."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._heard = 0
        self._moves = Moves()
        self._most: dict[int, int] = {}
        self._looked_ms = 0

    def check(self) -> None:
        """After a step."""
        host = self._host
        assert not host.runner.twice, f"started beside a living attempt of the same run: {host.runner.twice}"
        self._the_model_is_right()
        self._every_change_has_its_event()
        invariants(host.look, limits=False)
        self._nobody_waits_beside_a_free_place()
        self._budgets_are_kept()
        self._every_instant_has_one_row()

    # ── the model ──────────────────────────────────────────────
    def _the_model_is_right(self) -> None:
        model = self._host.model
        active = {run.id: run for run in model.runs.values() if run.state not in FINAL}
        rows = {row[0]: row for row in self._host.look.execute(_RUNS)}
        assert rows.keys() == active.keys(), f"active: {sorted(rows)}, and the model has {sorted(active)}"
        for number, run in active.items():
            if rows[number][5] == 0:
                model.look_again(run)
            _same(f"run {number}", rows[number], _active(run), _RUNS)
        ended = {run.id: run for run in model.runs.values() if run.state in FINAL}
        for row in self._host.look.execute(_HISTORY):
            _same(f"run {row[0]}", row, _ended(ended.pop(row[0])), _HISTORY)
        assert not ended
        jobs = {row[0]: row for row in self._host.look.execute(_JOBS)}
        for number, job in model.jobs.items():
            if not job.deleted:
                _same(f"job {number}", jobs[number], _job(job), _JOBS)
        running = sum(run.state is RunState.RUNNING for run in active.values())
        assert running <= self._host.slots, "more is running than there are slots"

    # ── the events ──────────────────────────────────────────────
    def _every_change_has_its_event(self) -> None:
        """The log tells each move once and in order (I14), only moves that may be, and fences that rise (I2)."""
        for number, kind, _, run_id, data in self._host.look.execute(_EVENTS, (self._heard,)):
            self._heard = number
            assert kind != "job.parked", data
            if run_id is not None and kind.startswith("run."):
                self._moves.hear(run_id, kind, json.loads(data))
        now = {run.id: run.state for run in self._host.model.runs.values()}
        assert self._moves.states == now, _difference(self._moves.states, now)

    # ── gates and budgets ──────────────────────────────────────────────
    def _nobody_waits_beside_a_free_place(self) -> None:
        model = self._host.model
        holders = Counter(run.job for run in model.runs.values() if run.gate)
        for run in model.runs.values():
            room = model.jobs[run.job].room
            if run.waits == 1:
                assert room is not None, f"run {run.id} waits, and its job has no limit"
                assert holders[run.job] >= room, f"run {run.id} waits, and its job has a free place"
            if run.state is RunState.READY and run.attempt:
                assert run.gate, f"the retry {run.id} waits without its gate"

    def _budgets_are_kept(self) -> None:
        """Attempts since a run began or was replayed: one, the retries, and for each loss one and an answer."""
        model = self._host.model
        for job in model.jobs.values():
            rules = job.policies
            self._most[job.id] = max(self._most.get(job.id, 0), 1 + rules.retries + 2 * rules.lost_retries)
        for run in model.runs.values():
            assert run.efforts <= self._most[run.job], f"run {run.id} has had {run.efforts} attempts"

    # ── the ledger ──────────────────────────────────────────────
    def _every_instant_has_one_row(self) -> None:
        """Of every schedule, up to where its cursor stands (I8)."""
        look = self._host.look
        touched = [job_id for (job_id,) in look.execute(_TOUCHED, (self._looked_ms,))]
        self._looked_ms = self._host.clock.now_ms()
        for job_id in touched:
            job = self._host.model.jobs[job_id]
            rows = look.execute(_LEDGER, (job_id,)).fetchall()
            for spec, from_ms, until_ms in job.spans:
                schedule = schedule_of(spec)
                if isinstance(schedule, Cron | Every):
                    end_ms = job.handled if until_ms is None else until_ms
                    for fire in schedule.fires(from_ms, end_ms):
                        found = [row for row in rows if covers(row, fire.at_ms)]
                        assert len(found) == 1, f"job {job_id} at {fire.at_ms}: {found}"


def _same(what: str, row: tuple[Any, ...], wanted: tuple[Any, ...], query: str) -> None:
    names = query.partition("SELECT")[2].partition("FROM")[0].split(",")
    found = zip(names, row, wanted, strict=True)
    wrong = [f"{name.strip()} is {is_}, not {should}" for name, is_, should in found if is_ != should]
    assert not wrong, f"{what}: {'; '.join(wrong)}"


def covers(row: tuple[str, int, int], at_ms: int) -> bool:
    """Whether a row of the ledger (key, from, to) stands for this instant."""
    key, from_ms, to_ms = row
    return key == f"s:{at_ms}" or (key.startswith("r:") and from_ms <= at_ms <= to_ms)


def _active(run: Run) -> tuple[Any, ...]:
    """In the order of `_RUNS`."""
    return (
        run.id, run.job, run.key, run.state, run.held, run.waits, run.by_hand, run.job if run.gate else None, run.fence,
        run.attempt, run.failures, run.losses, run.returns, run.replays, run.probe, run.version, run.queue,
        run.priority,
        run.due, run.start_by, run.stop, run.slot, run.retry_of,
    )  # fmt: skip


def _ended(run: Run) -> tuple[Any, ...]:
    """In the order of `_HISTORY`."""
    return (
        run.id, run.job, run.key, run.state, run.fence, run.attempt, run.replays, run.version, run.slot, run.retry_of
    )  # fmt: skip


def _job(job: Job) -> tuple[Any, ...]:
    """In the order of `_JOBS`."""
    return (
        job.id, job.name, job.version, job.queue, job.priority, job.paused, job.suspended, job.resuming,
        job.quarantined, job.done, job.deleted, job.next, job.handled if job.aimed else None, job.skip_until,
    )  # fmt: skip


def _difference(left: dict[int, RunState], right: dict[int, RunState]) -> str:
    keys: Iterable[int] = sorted(left.keys() | right.keys())
    return str({key: (left.get(key), right.get(key)) for key in keys if left.get(key) != right.get(key)})


def active(host: Host) -> list[Run]:
    """The runs that have not ended."""
    return [run for run in host.model.runs.values() if run.state in ACTIVE]
