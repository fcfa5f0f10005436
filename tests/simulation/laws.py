"""What must hold after every step of a history, from the world's own records where they know better than the tables.

The numbers are those of docs/invariants.md. What can be asked of the tables alone is in `kit.invariants`, the moves of
runs in `kit.moves`.
"""

import json
from collections.abc import Callable
from datetime import datetime
from itertools import groupby
from typing import Any, Final

import msgspec

from jobctl.model import ScheduleSpec
from jobctl.schedule import Cron, Every
from jobctl.states import ACTIVE, FINAL, RunState
from jobctl_daemon.schedules import schedule_of
from kit.invariants import invariants
from kit.moves import Moves
from simulation.process import Process
from simulation.runner import Command
from simulation.world import Asked, Violation, World

_EVENTS: Final = "SELECT id, at_ms, kind, job_id, run_id, data FROM events WHERE id > ? ORDER BY id"
_STATES: Final = "SELECT id, state FROM runs UNION ALL SELECT id, state FROM history"
_FENCES: Final = "SELECT id, fence FROM runs WHERE state = 'running'"
#: Of jobs and queues: how many runs may hold a place, and how many do.
_ROOM: Final = """
    SELECT id, coalesce(json_extract(policies, '$.limit'),
                        iif(json_extract(policies, '$.overlap') = 'allow', NULL, 1)) FROM jobs
    UNION ALL SELECT name, concurrency FROM queues"""
_USED: Final = """
    SELECT gate, count(*) FROM runs WHERE gate IS NOT NULL GROUP BY gate
    UNION ALL SELECT queue, count(*) FROM runs WHERE state = 'running' GROUP BY queue"""
_ORPHANS: Final = """
    SELECT r.id FROM runs r JOIN jobs j ON j.id = r.job_id
    WHERE j.deleted_ms IS NOT NULL AND r.replays = 0 AND (r.state = 'scheduled' OR r.state = 'ready')"""
_MISFIRES: Final = """
    SELECT id, version, json_extract(policies, '$.misfire'), json_extract(policies, '$.misfire_within_ms') FROM jobs"""
_VERSIONS: Final = """
    SELECT v.job_id, v.schedule, v.from_ms, lead(v.from_ms) OVER (PARTITION BY v.job_id ORDER BY v.version),
           c.handled_ms
    FROM schedule_versions v JOIN cursors c ON c.job_id = v.job_id JOIN jobs j ON j.id = v.job_id
    WHERE j.deleted_ms IS NULL AND j.hidden = 0 ORDER BY v.job_id, v.version"""
_LEDGER: Final = "SELECT key, from_ms, to_ms FROM occurrences WHERE job_id = ?"
_ATTEMPTS: Final = "SELECT run_id, attempt, fence, exit_code, signal, failure_class FROM attempts"
_TWICE: Final = """
    SELECT t.job_id, t.slot_ms, count(*), v.schedule FROM
        (SELECT r.job_id, r.slot_ms, r.key, r.version FROM runs r
         UNION ALL SELECT h.job_id, h.slot_ms, h.key, h.version FROM history h) t
    JOIN schedule_versions v ON v.job_id = t.job_id AND v.version = t.version
    WHERE substr(t.key, 1, 2) = 's:' GROUP BY t.job_id, t.slot_ms, v.schedule HAVING count(*) > 1"""
_SCHEDULE: Final = "SELECT schedule FROM schedule_versions WHERE job_id = ? ORDER BY version DESC LIMIT 1"
_MEANT: Final = """
    SELECT v.job_id, v.schedule FROM (SELECT id, job_id, version FROM runs
                                      UNION ALL SELECT id, job_id, version FROM history) r
    JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version WHERE r.id = :run_id"""
#: Of an attempt that runs, or was the last; in between a retry has another one.
_DUE: Final = """
    SELECT due_ms FROM runs WHERE id = :run_id AND fence = :fence AND state = 'running'
    UNION ALL
    SELECT due_ms FROM history WHERE id = :run_id AND fence = :fence AND (state = 'succeeded' OR state = 'failed')"""
_FINISHED: Final = "SELECT id, state, fence, attempt, exit_code FROM history"
#: Kinds of occurrences that an expansion makes.
_EXPANDED: Final = ("s:", "r:", "g:", "boot:", "start:")


class Laws:
    """Looks at a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._look = world.look
        self._moves = Moves()
        self._heard = 0
        self._version = -1
        self._fences: dict[int, int] = {}
        self._keys: dict[int, str] = {}
        self._answers: dict[tuple[str, str], int] = {}
        self._accepted: dict[int, str] = {}
        self._rooms: tuple[dict[Any, int], dict[Any, int | None]] = ({}, {})
        self._misfires: dict[int, tuple[Any, ...]] = {}
        world.on_begin = self._begins
        world.on_answer = self._answered
        world.on_old_write = self._wrote_under_an_old_epoch

    def check(self) -> None:
        """After a step."""
        version = self._look.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            self._tables()
        self._every_command_has_its_claim()

    def _tables(self) -> None:
        pruned = self.world.given.retention_runs < 1_000
        self._hear()
        _say(invariants, self._look, limits=False)
        states = dict(self._look.execute(_STATES))
        told = self._moves.states
        for run_id, state in states.items():
            if told.get(run_id) != state:
                raise Violation(f"run {run_id} is {state}, and the events say {told.get(run_id)} (I14)")
        missing = [run_id for run_id in told if run_id not in states and not (pruned and told[run_id] in FINAL)]
        if missing:
            raise Violation(f"runs are gone: {missing} (I1)")
        if found := self._look.execute(_ORPHANS).fetchall():
            raise Violation(f"the job of a run that waits was removed: {found}")
        self._limits_hold(states)

    # ── the events ──────────────────────────────────────────────
    def _hear(self) -> None:
        rows = self._look.execute(_EVENTS, (self._heard,)).fetchall()
        batches: dict[tuple[int, int], tuple[list[int], list[tuple[int, int]]]] = {}
        for number, at_ms, kind, job_id, run_id, data in rows:
            if number != self._heard + 1:
                raise Violation(f"the events {self._heard + 1} to {number - 1} are gone (I14)")
            self._heard = number
            facts = json.loads(data)
            if run_id is not None and kind.startswith("run."):
                _say(self._moves.hear, run_id, kind, facts)
                if kind == "run.running" and not self.world.back_ms:
                    self._is_due(run_id, facts["fence"], at_ms)
                self.world.count(kind, kind in ("run.scheduled", "run.running", "run.dead"))
            if kind in ("run.scheduled", "occurrence.skipped") and "key" in facts:
                runs, missed = batches.setdefault((job_id, at_ms), ([], []))
                parts = facts["key"].split(":")
                if parts[0] == "s":
                    runs.append(int(parts[1]))
                    self._is_a_time_of_its_schedule(run_id, int(parts[1]))
                elif parts[0] == "r" and facts["reason"] in ("misfire", "down", "clock"):
                    missed.append((int(parts[1]), int(parts[2])))
            if kind == "job.parked":
                raise Violation(f"job {job_id} was parked: {facts} (I10)")
        if (newest := self.world.newest_event()) != self._heard:
            raise Violation(f"events after {self._heard} are gone, there were {newest} (I14)")
        now = {row[0]: row[1:] for row in self._look.execute(_MISFIRES)}
        for (job_id, at_ms), (runs, missed) in batches.items():
            if runs and job_id in now:
                rules = [found for found in (self._misfires.get(job_id), now[job_id]) if found is not None]
                self._misfire_is_right(job_id, at_ms, runs, missed, rules)
        self._misfires = now

    def _is_due(self, run_id: int, fence: int, at_ms: int) -> None:
        """Nothing starts before its time, be it an occurrence or a retry."""
        for (due_ms,) in self._look.execute(_DUE, {"run_id": run_id, "fence": fence}):
            if due_ms > at_ms:
                raise Violation(f"{run_id}-{fence} was claimed {due_ms - at_ms} ms before its time")

    def _is_a_time_of_its_schedule(self, run_id: int, slot_ms: int) -> None:
        """Whoever decided it, the run is of the definition that it has (I8)."""
        for job_id, text in self._look.execute(_MEANT, {"run_id": run_id}):
            fire = schedule_of(msgspec.json.decode(text, type=ScheduleSpec)).next_after(slot_ms - 1)
            if fire is None or fire.at_ms != slot_ms:
                raise Violation(f"run {run_id} of job {job_id} is for {slot_ms}, which is no time of its schedule (I8)")

    def _misfire_is_right(
        self, job_id: int, at_ms: int, runs: list[int], missed: list[tuple[int, int]], rules: list[tuple[Any, ...]]
    ) -> None:
        """Of what fell due at one instant (I9). `rules`: the job's policy before the step and after it."""
        schedule = schedule_of(self._schedule(job_id))
        if not isinstance(schedule, Cron | Every):
            return
        last_missed = max((to_ms for _, to_ms in missed), default=0)

        def allowed(version: int, misfire: str, within_ms: int) -> bool:
            if misfire == "once":
                return len(runs) == 1 and max(runs) > last_missed
            if misfire == "all":
                return len(runs) <= 10 and min(runs) > last_missed
            return all(slot_ms >= at_ms - within_ms for slot_ms in runs)

        if not any(allowed(*rule) for rule in rules):
            raise Violation(f"job {job_id} at {at_ms}: runs for {runs}, missed {missed}, under {rules} (I9)")

    def _schedule(self, job_id: int) -> ScheduleSpec:
        text = self._look.execute(_SCHEDULE, (job_id,)).fetchone()[0]
        return msgspec.json.decode(text, type=ScheduleSpec)

    # ── commands ──────────────────────────────────────────────
    def _begins(self, command: Command) -> None:
        """A process is about to be started."""
        world = self.world
        if world.most_daemons > 1:  # the lock keeps two daemons apart: without it only I5 is promised
            return
        other = world.living.get(command.run_id)
        if other is not None:
            raise Violation(f"{command.id} begins while {other.id} of the same run is alive (I4)")
        if world.commands.get(command.id):
            raise Violation(f"{command.id} begins a second time (I2)")
        if command.fence <= self._fences.get(command.run_id, 0):
            raise Violation(f"{command.id} begins after {self._fences[command.run_id]} (I2)")
        self._fences[command.run_id] = command.fence
        if self._keys.setdefault(command.run_id, command.key) != command.key:
            raise Violation(f"run {command.run_id} has two keys: {self._keys[command.run_id]}, {command.key} (I1)")
        slot_ms = round(datetime.fromisoformat(command.slot).timestamp() * 1000)
        if slot_ms > command.began_ms + world.back_ms + 1_000 and not self._retries_another(command.run_id):
            raise Violation(f"{command.id} begins {slot_ms - command.began_ms} ms before its time")
        if len(world.living) >= world.slots:
            raise Violation(f"{command.id} begins, and as many commands as may be are alive: {list(world.living)} (I6)")

    def _retries_another(self, run_id: int) -> bool:
        """Whoever retries a run that was cancelled before its time wants it now, under the same logical time."""
        row = self._look.execute("SELECT retry_of FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row is not None and row[0] is not None

    def _every_command_has_its_claim(self) -> None:
        if not self.world.living or self.world.most_alive > 1:
            return
        running = dict(self._look.execute(_FENCES))
        for run_id, command in self.world.living.items():
            if running.get(run_id) != command.fence:
                raise Violation(f"{command.id} is alive, and the store knows {running.get(run_id)} (I4)")

    # ── what people were told ──────────────────────────────────────────────
    def _answered(self, asked: Asked) -> None:
        if asked.status is None or asked.status >= 300 or not isinstance(asked.body, dict):
            return
        body = asked.body.get("run", asked.body)
        number = body.get("id")
        if number is None or asked.again[1] != "POST":
            return
        if asked.key is not None and not asked.again[2].endswith(("/pause", "/resume", "/skip")):
            known = self._answers.setdefault((asked.verb, asked.key), number)
            if known != number:
                raise Violation(f"{asked.words} with the key {asked.key} made {number}, and before {known} (I1)")
        if "attempt" in body and "job_id" in body:
            self._accepted[number] = asked.words

    # ── limits and epochs ──────────────────────────────────────────────
    def _limits_hold(self, states: dict[int, RunState]) -> None:
        """Nothing goes above a limit; what was above when it was lowered does not rise (I6)."""
        running = sum(state == RunState.RUNNING for state in states.values())
        if running > self.world.slots:
            raise Violation(f"{running} runs are running, and there are {self.world.slots} slots (I6)")
        rooms, (used, most) = dict(self._look.execute(_ROOM)), self._rooms
        now = dict(self._look.execute(_USED))
        for name, number in now.items():
            room = rooms.get(name)
            if room is not None and number > room and most.get(name) == room and number > used.get(name, 0):
                raise Violation(f"{number} runs hold a place in {name}, and {room} may (I6)")
        self._rooms = (now, rooms)

    def _wrote_under_an_old_epoch(self, process: Process, after: int) -> None:
        for _, _, kind, job_id, _, data in self._look.execute(_EVENTS, (after,)):
            facts = json.loads(data)
            key = facts.get("key") or ""
            if kind in ("run.scheduled", "occurrence.skipped") and (
                key.startswith(_EXPANDED) and facts.get("reason") not in ("asked", "edited")
            ):
                raise Violation(f"daemon {process.number} has expanded job {job_id} under an old epoch: {key} (I5)")

    # ── coverage ──────────────────────────────────────────────
    def every_instant_has_its_row(self) -> None:
        """Of every schedule, up to where its cursor stands (I8): one row, or at least one when the clock was set back.

        Nobody can tell then which of the times that bear the same name a row was made for, so this does not ask for a
        row of each of them, nor that a row beyond an edit is of the schedule that was edited, nor for what lies before
        the beginning of a schedule that was made in times to come. tests/properties/test_clock.py knows some of that.
        """
        again = self.world.back_ms > 0
        ledgers: dict[int, list[Any]] = {}
        begun = self._look.execute(_VERSIONS).fetchall()
        for (job_id, text), group in groupby(begun, lambda version: version[:2]):
            versions = list(group)  # an edit of something else does not touch the cursor
            from_ms, (*_, until_ms, handled_ms) = versions[0][2], versions[-1]
            schedule = schedule_of(msgspec.json.decode(text, type=ScheduleSpec))
            if not isinstance(schedule, Cron | Every):
                continue
            rows = ledgers.setdefault(job_id, self._look.execute(_LEDGER, (job_id,)).fetchall())
            for fire in schedule.fires(from_ms, handled_ms if until_ms is None else until_ms):
                found = [row for row in rows if _covers(row, fire.at_ms)]
                if not found or (len(found) > 1 and not again):
                    raise Violation(f"the instant {fire.at_ms} of job {job_id} has the rows {found} (I8)")

    # ── the end ──────────────────────────────────────────────
    def at_rest(self) -> None:
        """Faults have stopped, and nothing is to be done any more."""
        world = self.world
        self.check()
        self.every_instant_has_its_row()
        active = [run_id for run_id, state in self._moves.states.items() if state in ACTIVE]
        if active:
            raise Violation(f"these runs never end: {active} (I7)")
        gates = self._look.execute("SELECT id, gate FROM runs WHERE gate IS NOT NULL OR waits > 0").fetchall()
        if gates:
            raise Violation(f"gates are held by nobody: {gates} (I6)")
        if world.living or world.records:
            raise Violation(f"still there: {list(world.living)}, {list(world.records)} (I7)")
        for number, words in self._accepted.items():
            if number not in self._moves.states:
                raise Violation(f"{words} was accepted as run {number}, and there is none (I1)")
        late = self._look.execute(
            "SELECT job_id, next_nominal FROM cursors WHERE next_nominal <= ?", (world.clock.now_ms(),)
        ).fetchall()
        if late:
            raise Violation(f"these are due, and nobody looks: {late} (I8)")
        self._the_truth_was_recorded()
        self._nothing_ran_twice()

    def _the_truth_was_recorded(self) -> None:
        """What the world saw of commands is what the tables say of attempts, and the other way round."""
        world = self.world
        pruned = world.given.retention_runs < 1_000
        if world.most_daemons > 1:
            return
        rows = {f"{run_id}-{fence}": rest for run_id, _, fence, *rest in self._look.execute(_ATTEMPTS)}
        for name, (command, *_) in world.commands.items():
            if name not in rows:
                if pruned:
                    continue
                raise Violation(f"{name} was started, and no attempt of it is known (I3)")
            exit_code, signal, failure = rows[name]
            if failure == "lost" and not command.orphaned:
                raise Violation(f"{name} ended with {command.facts} before a living runner, and is told lost (I3)")
            real = (command.facts.get("exit_code"), command.facts.get("signal"))
            if (exit_code, signal) not in ((None, None), real):
                raise Violation(f"{name} ended with {real}, and {(exit_code, signal)} was recorded (I3)")
            if (exit_code, signal) == (None, None) and not command.orphaned:
                raise Violation(f"{name} ended with {real}, and nothing of it was recorded (I3)")
        for name, (exit_code, _, failure) in rows.items():
            if name not in world.commands and (exit_code is not None or failure is None):
                raise Violation(f"{name} never ran, and its exit code {exit_code} was recorded (I3)")
        for run_id, state, fence, _, exit_code in self._look.execute(_FINISHED):
            if state == RunState.SUCCEEDED:
                commands = world.commands.get(f"{run_id}-{fence}")
                if not commands or commands[0].facts.get("exit_code") != 0 or exit_code != 0:
                    raise Violation(f"run {run_id} succeeded, and its command did not (I3)")

    def _nothing_ran_twice(self) -> None:
        """A fixed time, although the clock went back (I13); unless that was a correction of hours."""
        if self.world.corrected:
            return
        for job_id, slot_ms, count, text in self._look.execute(_TWICE):
            schedule = schedule_of(msgspec.json.decode(text, type=ScheduleSpec))
            if isinstance(schedule, Cron) and not schedule.fields.wildcard:
                raise Violation(f"the fixed time {slot_ms} of job {job_id} has {count} runs (I13)")


def _covers(row: tuple[str, int, int], at_ms: int) -> bool:
    """Whether a row stands for this instant, in whatever generation of the clock."""
    key, from_ms, to_ms = row
    return f"{key}:".startswith(f"s:{at_ms}:") or (key.startswith("r:") and from_ms <= at_ms <= to_ms)


def _say(law: Callable[..., None], *args: Any, **more: Any) -> None:
    try:
        law(*args, **more)
    except AssertionError as error:
        raise Violation(f"{error}") from None
