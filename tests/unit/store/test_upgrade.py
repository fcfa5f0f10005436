"""A database of the first schema opens under this program: everything is kept, numbers go on, and it behaves."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jobctl.errors import Conflict
from jobctl.states import OnFailure, Overlap, RunState, SkipReason
from jobctl_daemon.rows import Caller, DeadFilter, Request
from jobctl_daemon.store.sqlite import SqliteStore
from jobctl_daemon.store.sqlite.migrate import migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_writer, create_private
from kit.invariants import invariants
from kit.stores import ADA, BOB, MINUTE, ROOT, T0, Rig, expansion, spec
from kit.tables import everything

#: As the first program wrote them: without the fields that came later.
SCHEDULE = '{"timezone":"UTC","cron":"* * * * *","every_ms":null,"anchor_ms":0,"at_ms":null,"on_boot":false,"on_start":false,"jitter_ms":0,"dst_gap":"auto","dst_overlap":"auto","words":"every minute"}'  # noqa: E501
EXECUTION = '{"command":null,"shell":"true","stdin":null,"payload_ref":null,"env":{"A":"b"},"env_file":null,"user":null,"cwd":null,"umask":18,"nice":0,"path":null}'  # noqa: E501
POLICIES = '{"timeout_ms":null,"grace_ms":10000,"late_after_ms":10000,"overlap":"%s","misfire":"once","misfire_within_ms":86400000,"log_max":10000000,"tags":["db"],"note":null}'  # noqa: E501

MINUTELY, PAUSED, HIDDEN, GONE, PARKED = 1, 2, 3, 4, 5
SCHEDULED, HELD, READY, RUNNING, STOPPED, MANUAL, WAITING = 21, 22, 23, 24, 25, 26, 27
#: The newest run was finished and pruned: its number must not come again.
NEWEST_RUN = 40

RUN = (
    "INSERT INTO runs (id, job_id, owner_id, version, key, slot_ms, due_ms, start_by_ms, trigger, coalesced, note,"
    " priority, state, held, gate, fence, attempt, node, boot_id, runner, pid, pid_start, claimed_ms, started_ms,"
    " stop_wanted, stop_by) VALUES (:id, :job_id, 1, 1, :key, :slot_ms, :slot_ms, :start_by_ms, :trigger, :coalesced,"
    " :note, 0, :state, :held, :gate, :fence, :attempt, :node, :boot_id, :runner, :pid, :pid_start, :claimed_ms,"
    " :started_ms, :stop_wanted, :stop_by)"
)


class First:
    """A database of the first schema, in which everything that could be there is there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        create_private(path)
        self.connection = connect_writer(path)
        migrate(self.connection, path, shipped()[:1])

    def fill(self) -> None:
        self.put("owners", (1, ADA.uid, ADA.name), (2, BOB.uid, BOB.name))
        self.put("meta", ("epoch", "7"), ("watermark_ms", str(T0)), ("node", "n"), ("tidied_through", "19"))
        self._jobs()
        self._runs()
        self.put(
            "requests", (1, "key-1", "create", "body", MINUTELY, None, T0), (1, "key-2", "trigger", "b", 1, 20, T0)
        )
        self.put("events", *[(n, T0, kind, 1, job, run, '{"name":"backup"}') for n, (kind, job, run) in enumerate([
            ("job.created", MINUTELY, None), ("run.succeeded", MINUTELY, 20), ("run.running", MINUTELY, RUNNING),
        ], 100)])  # fmt: skip

    def _jobs(self) -> None:
        for number, name, owner, overlap, done, hidden, paused, until_ms, deleted_ms in (
            (MINUTELY, "backup", 1, "skip", 0, 0, 0, None, None),
            (PAUSED, "paused", 1, "allow", 0, 0, 1, T0 + MINUTE, None),
            (HIDDEN, "make", 1, "allow", 1, 1, 0, None, None),
            (GONE, "gone", 1, "allow", 0, 0, 0, None, T0 - 5),
            (PARKED, "parked", 2, "allow", 0, 0, 0, None, None),
        ):
            facts = (number, f"uid{number:013}", owner, name, "default", 0, 1, 3, "api", None, hidden, hidden, 1, done)
            pause = (
                paused,
                "ada" if paused else None,
                T0 - 9 if paused else None,
                until_ms,
                "noisy" if paused else None,
            )
            self.put("jobs", (*facts, *pause, POLICIES % overlap, T0 - 100, deleted_ms))
            self.put("schedule_versions", (number, 1, SCHEDULE, EXECUTION, "ada", T0 - 100))
        self.put(
            "cursors",
            (MINUTELY, T0 + MINUTE, T0, 4, None),
            (PAUSED, None, T0 - 9, 2, None),
            (PARKED, None, T0 - 9, 2, "no such zone"),
        )
        self.put(
            "last_runs",
            (MINUTELY, 20, 0, "succeeded", T0 - 1, "ok", 0, None),
            (PAUSED, 19, 1, "failed", T0 - 2, "exit_code", 3, None),
        )

    def _runs(self) -> None:
        claimed = {"fence": T0 - 3, "attempt": 1, "node": "n", "boot_id": "b", "runner": "r", "pid": 7, "pid_start": 8,
                   "claimed_ms": T0 - 3, "started_ms": T0 - 2}  # fmt: skip
        for number, job_id, state, changes in (
            (SCHEDULED, MINUTELY, "scheduled", {"start_by_ms": T0 + MINUTE, "coalesced": 2, "note": "catch-up"}),
            (HELD, PAUSED, "scheduled", {"held": 1}),
            (READY, PARKED, "ready", {"gate": PARKED, "fence": 9}),
            (RUNNING, MINUTELY, "running", {"gate": MINUTELY, **claimed}),
            (STOPPED, PARKED, "running", {"gate": PARKED, **claimed, "stop_wanted": "kill", "stop_by": "ada"}),
            (MANUAL, PAUSED, "ready", {"gate": PAUSED, "trigger": "manual", "key": "m:x"}),
            (WAITING, PAUSED, "scheduled", {"trigger": "manual", "key": "m:y", "slot_ms": T0 + MINUTE}),
        ):
            facts = dict.fromkeys(("start_by_ms", "note", "gate", "node", "boot_id", "runner", "pid", "pid_start",
                                   "claimed_ms", "started_ms", "stop_wanted", "stop_by"))  # fmt: skip
            slot_ms = T0 - number
            facts |= {"id": number, "job_id": job_id, "state": state, "key": f"s:{slot_ms}", "slot_ms": slot_ms,
                      "held": 0, "trigger": "schedule", "coalesced": 0, "fence": 0, "attempt": 0} | changes  # fmt: skip
            self.connection.execute(RUN, facts)
            self.put(
                "occurrences", (job_id, facts["key"], facts["slot_ms"], facts["slot_ms"], 1, number, None, None, T0)
            )
        for number, job_id, state in (
            (16, GONE, "skipped"), (17, HIDDEN, "succeeded"), (18, PARKED, "cancelled"),
            (19, PAUSED, "failed"), (20, MINUTELY, "succeeded"),
        ):  # fmt: skip
            key, slot_ms = f"s:{T0 - number}", T0 - number
            outcome = {"succeeded": "ok", "failed": "exit_code", "skipped": "overlap"}.get(state, state)
            ran = state != "skipped"
            run = (number, job_id, 1, 1, key, slot_ms, slot_ms, "schedule", 0, state, outcome, None, "why")
            effort = (5, 1, "n", slot_ms) if ran else (0, 0, None, None)
            self.put("history", (*run, *effort, T0 - 1, 0, None, 0))
            reason = "overlap" if state == "skipped" else None
            self.put("occurrences", (job_id, key, slot_ms, slot_ms, 1, number, reason, None, T0))
            if ran:
                self.put("attempts", (number, 1, 5, "n", "b", "r", 7, 8, slot_ms, slot_ms, T0 - 1, 0, None, None, None,
                                      10, 20, 30, None, None, 0, None, None))  # fmt: skip
        self.put("occurrences", (MINUTELY, "r:1:9", 1, 9, 9, None, "misfire", "while it was down", T0))
        self.connection.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'runs'", (NEWEST_RUN,))

    def put(self, table: str, *rows: tuple[Any, ...]) -> None:
        for row in rows:
            self.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def close(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table, by its columns."""
        found = everything(self.connection)
        self.connection.close()
        return found


@pytest.fixture
def first(tmp_path: Path) -> First:
    made = First(tmp_path / "jobctl.db")
    made.fill()
    return made


@pytest.fixture
async def rig(first: First) -> AsyncIterator[Rig]:
    """The same database under this program."""
    first.close()
    made = Rig(SqliteStore(first.path))
    await made.begin()
    try:
        yield made
        await made.check()
    finally:
        await made.store.close()


async def test_every_row_is_kept_with_all_that_it_said(first: First) -> None:
    before = first.close()
    assert all(before.values()), "a table of the first schema is empty"
    store = SqliteStore(first.path)
    await store.open()
    after = await store._read(everything)
    await store.close()
    for table, rows in before.items():
        left = [{column: row[column] for column in rows[0]} for row in after[table]]
        key: Callable[[dict[str, Any]], str] = lambda row: str(sorted(row.items(), key=str))  # noqa: E731
        assert sorted(left, key=key) == sorted(rows, key=key), table
    connection = sqlite3.connect(first.path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    invariants(connection)
    connection.close()


async def test_what_is_new_is_as_if_nobody_had_asked_for_it(rig: Rig) -> None:
    rows = await rig.rows("SELECT * FROM runs")
    assert {row["queue"] for row in rows} == {"default"}
    for name, value in (("waits", 0), ("failures", 0), ("losses", 0), ("returns", 0), ("replays", 0), ("probe", 0)):
        assert {row[name] for row in rows} == {value}
    assert {row["id"] for row in rows if row["by_hand"]} == {MANUAL, WAITING}
    shown = await rig.store.job(ADA, "backup")
    assert (shown.retry.max, shown.retry.lost, shown.on_failure, shown.limit) == (0, 0, OnFailure.RECORD, None)
    assert (shown.overlap, shown.overlap_queue, shown.notify, shown.dead) == (Overlap.SKIP, 1, [], 0)
    assert (shown.declared, await rig.store.declared_paths()) == (None, [])
    assert (await rig.store.counts(None, T0)).untold == 3
    assert await rig.store.dead(ROOT, DeadFilter()) == ([], None)
    assert [queue.name for queue in await rig.store.queues(ROOT)] == ["default"]


async def test_numbers_of_runs_and_jobs_go_on(rig: Rig) -> None:
    job = await rig.add(spec("new"))
    assert job.id == PARKED + 1
    run_id = await rig.by_hand(job.id)
    assert run_id == NEWEST_RUN + 1
    assert (await rig.store.events(0, 100, None))[0].id == 100
    assert rig.events[0].id == 103


async def test_numbers_begin_at_one_where_there_was_no_run(tmp_path: Path) -> None:
    First(tmp_path / "jobctl.db").close()
    rig = Rig(SqliteStore(tmp_path / "jobctl.db"))
    await rig.begin()
    job = await rig.add()
    assert (job.id, await rig.by_hand(job.id)) == (1, 1)
    await rig.store.close()


async def test_numbers_go_on_where_all_runs_have_ended(first: First) -> None:
    first.connection.execute("DELETE FROM runs")
    first.connection.execute("DELETE FROM occurrences")
    first.close()
    rig = Rig(SqliteStore(first.path))
    await rig.begin()
    assert await rig.by_hand(MINUTELY) == NEWEST_RUN + 1
    await rig.store.close()


async def test_what_was_running_is_found_and_ends(rig: Rig) -> None:
    found = {run.run_id: run for run in await rig.store.running()}
    assert found.keys() == {RUNNING, STOPPED}
    assert (found[RUNNING].pid, found[RUNNING].pid_start, found[RUNNING].boot_id) == (7, 8, "b")
    assert found[STOPPED].stop_wanted == "kill"
    efforts = await rig.store.efforts([RUNNING, STOPPED])
    assert [(effort.failures, effort.losses, effort.policies.retries) for effort in efforts] == [(0, 0, 0)] * 2
    assert await rig.store.unclaim([(RUNNING, T0 - 3)], T0, T0, "no runner") == 1
    assert await rig.store.returned([(STOPPED, T0 - 3)], 5, T0, "x") == []
    assert await rig.states(RUNNING, STOPPED) == ["ready", "cancelled"]


async def test_what_was_ready_is_claimed_with_a_fence_above_all_before(rig: Rig) -> None:
    claims = await rig.claim()
    assert [claim.run_id for claim in claims] == [MANUAL, READY]
    assert all(claim.fence >= T0 for claim in claims)
    assert claims[1].execution.env == {"A": "b"}
    assert [verdict.answer for verdict in await rig.finish(*claims)] == ["ok", "ok"]


async def test_what_was_due_meets_what_is_active(rig: Rig) -> None:
    await rig.look()
    run = await rig.store.run(ADA, SCHEDULED)
    assert (run.state, run.reason, run.coalesced) == ("skipped", f"run {RUNNING} was still active", 2)


async def test_a_pause_of_before_holds_and_ends_at_its_time(rig: Rig) -> None:
    shown = await rig.store.job(ADA, "paused")
    assert (shown.state, shown.paused_by, shown.paused_why, shown.suspended_by) == ("paused", "ada", "noisy", "job")
    assert (await rig.row(HELD))["held"] == 1
    assert await rig.store.next_wake(T0) == T0 + MINUTE
    rig.now_ms = T0 + MINUTE
    assert await rig.settle() == 1
    assert (await rig.row(HELD))["held"] == 0
    rows = await rig.store.ledger(ADA, PAUSED, T0 - 8, T0 + MINUTE, 10)
    assert [(row.count, row.reason, row.detail) for row in rows if row.run_id is None] == [
        (2, SkipReason.PAUSED, "the job was paused"),
    ]  # fmt: skip
    assert (await rig.store.job(ADA, "paused")).next_run_at == "2027-01-15T08:02:00Z"


async def test_a_cursor_of_before_goes_on(rig: Rig) -> None:
    (due,) = await rig.store.due(T0 + MINUTE, None, 10)
    assert (due.job_id, due.next_ms, due.handled_ms, due.revision, due.generation) == (MINUTELY, T0 + MINUTE, T0, 4, 0)
    assert await rig.expand(expansion(due, [T0 + MINUTE], next_ms=T0 + 2 * MINUTE)) == 1
    assert (await rig.store.job(BOB, "parked")).error == "no such zone"


async def test_an_occurrence_that_has_run_does_not_run_again(rig: Rig) -> None:
    assert await rig.scheduled(MINUTELY, T0 - 20) == []


async def test_finished_runs_are_shown_as_they_were(rig: Rig) -> None:
    found = {run.id: run.state for run in await rig.runs() if run.id <= 20}
    assert found == {16: "skipped", 17: "succeeded", 18: "cancelled", 19: "failed", 20: "succeeded"}
    run = await rig.store.run(ADA, 20)
    assert (run.reason, run.replays, run.retry_of, run.error, run.fingerprint) == ("why", 0, None, None, None)
    assert len(await rig.store.attempts(ADA, 20)) == 1
    assert (await rig.store.retry(ADA, 19, "ada", T0, None)).how == "again"


async def test_a_key_of_before_stands_for_what_it_made(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, Request(key="key-1", verb="create", body_hash="body"))
    assert (made.fresh, made.job.id) == (False, MINUTELY)
    again = await rig.store.trigger(ADA, 1, T0, T0, Request(key="key-2", verb="trigger", body_hash="b"))
    assert (again.fresh, again.run.id) == (False, 20)
    with pytest.raises(Conflict):
        await rig.store.create_job(ADA, spec(), T0, T0, Request(key="key-1", verb="create", body_hash="other"))


async def test_a_failure_of_a_job_of_before_is_only_recorded_until_it_is_edited(rig: Rig) -> None:
    for owner, count in ((ADA, 2), (Caller(uid=1002, name="eve"), 0)):
        assert (await rig.store.counts(owner, T0)).untold == count
    await rig.policies(MINUTELY, retries=3, on_failure=OnFailure.DEAD)
    (effort,) = await rig.store.efforts([RUNNING])
    assert (effort.policies.retries, effort.policies.on_failure) == (3, OnFailure.DEAD)
    assert await rig.state(RUNNING) == RunState.RUNNING
