"""Whatever statement of an operation fails, nothing of the operation is left, and nobody hears of it."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl.errors import InternalError
from jobctl.model import Execution, ScheduleSpec
from jobctl.states import After, OnFailure, Overlap, RunState, SkipReason
from jobctl_daemon.decide import admission
from jobctl_daemon.decide.skip import skip, unskip
from jobctl_daemon.rows import DeadFilter, Keep, Pause, Replay, Resumption
from jobctl_daemon.schedules import schedule_of
from jobctl_daemon.store.sqlite import SqliteStore
from kit.stores import ADA, DAY, MINUTE, ROOT, T0, Rig, ended, expansion, new_run, request, skip_row, spec
from kit.tables import everything

Operation = Callable[[], Awaitable[object]]
#: More statements than any operation here has.
MOST = 400


class Failing:
    """A connection of which one statement fails, as on a bad disk."""

    def __init__(self, connection: sqlite3.Connection, at: int) -> None:
        self._connection = connection
        self._left = at

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return self._connection.execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._count()
        return self._connection.executemany(*arguments)

    def _count(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(SqliteStore(tmp_path / "jobctl.db"))
    await made.begin()
    try:
        yield made
        await made.check()
    finally:
        await made.store.close()


async def fails_at_each(rig: Rig, monkeypatch: pytest.MonkeyPatch, operation: Operation) -> int:
    """Runs the operation until it succeeds, with one statement more each time; returns how many it has."""
    store = rig.store
    assert isinstance(store, SqliteStore)
    submit = store._writer.submit
    before, heard = await store._read(everything), len(rig.events)
    for at in range(1, MOST):

        async def submit_failing(work: Callable[[Any], Any], at: int = at) -> Any:
            return await submit(lambda connection: work(Failing(connection, at)))

        with monkeypatch.context() as patched:
            patched.setattr(store._writer, "submit", submit_failing)
            try:
                await operation()
            except InternalError:
                assert await store._read(everything) == before, f"something is left of statement {at}"
                assert len(rig.events) == heard
            else:
                assert await store._read(everything) != before, "the operation does nothing"
                return at
    raise AssertionError("the operation does not end")


# ── what is done, and where it begins ──────────────────────────────────────────────


async def _create(rig: Rig) -> Operation:
    upstream = await rig.add(spec("upstream"))
    await rig.store.pause_queue("db", Pause(by="root"), T0)
    wanted = spec(after=upstream.id, queue="db")
    return lambda: rig.store.create_job(ADA, wanted, None, T0, request())


async def _delete(rig: Rig) -> Operation:
    job = await rig.add(spec(overlap=Overlap.QUEUE, limit=2))
    upstream = await rig.add(spec("upstream"))
    await rig.edit(job.id, schedule=ScheduleSpec(timezone="UTC", after_job=upstream.id))
    (claim,) = await rig.claimed(job.id, T0 - 9)
    await rig.retrying(claim)
    for _ in range(3):
        await rig.by_hand(job.id)
    await rig.look()
    return lambda: rig.store.delete_job(ADA, job.id, T0)


async def _pause(rig: Rig) -> Operation:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    await rig.ready(job.id, T0 - 2)
    await rig.scheduled(job.id, T0 - 1)
    await rig.by_hand(job.id)
    await rig.look()
    return lambda: rig.store.pause_job(ADA, job.id, "ada", T0 + MINUTE, "noisy", T0)


async def _resume(rig: Rig) -> Operation:
    job = await rig.add()
    await rig.ready(job.id, T0 - 2)
    await rig.pause(job.id)
    return lambda: rig.store.resume_job(ADA, job.id, True, T0)


async def _unsuspend(rig: Rig) -> Operation:
    job, other = await rig.add(next_ms=T0 + MINUTE), await rig.add(spec("other", at_ms=T0))
    (claim,) = await rig.claimed(job.id, T0 - 2)
    await rig.retrying(claim)
    await rig.ready(job.id, T0 - 1)
    await rig.hold("daemon", job.id)
    await rig.store.resume_queue("", True, T0)
    decided = [
        Resumption(
            job_id=job_id,
            revision=(await rig.cursor(job_id)).revision,
            runs=(new_run(T0 + 2 * MINUTE),),
            rows=(skip_row(job_id, T0 + 3 * MINUTE, T0 + 4 * MINUTE, 2),),
            next_ms=T0 + DAY,
            handled_ms=T0 + 4 * MINUTE,
        )
        for job_id in (job.id, other.id)
    ]
    return lambda: rig.store.unsuspend(decided, T0, rig.epoch)


async def _edit(rig: Rig) -> Operation:
    job = await rig.add(spec(overlap=Overlap.QUEUE), next_ms=T0 + MINUTE)
    upstream = await rig.add(spec("upstream"))
    await rig.store.pause_queue("db", Pause(by="root"), T0)
    await rig.ready(job.id, T0 - 1, next_ms=T0 + MINUTE)
    await rig.by_hand(job.id)
    await rig.look()
    rig.now_ms = T0 + 3 * MINUTE
    after = ScheduleSpec(timezone="UTC", after_job=upstream.id, after_on=After.ANY)
    decided = await rig.edited(job.id, name="new", schedule=after, execution=Execution(shell="new"), queue="db")
    return lambda: rig.store.edit_job(ADA, decided, rig.now_ms)


async def _skip_next(rig: Rig) -> Operation:
    job = await rig.add(spec(at_ms=T0 + DAY), next_ms=T0 + DAY)
    cursor = await rig.cursor(job.id)
    decided = skip(cursor, schedule_of(cursor.schedule), 1, "asked", T0)
    assert decided is not None
    return lambda: rig.store.skip_next(ADA, job.id, decided.row, cursor.revision, decided.next_ms, T0)


async def _skipped(rig: Rig) -> int:
    """A one-shot that is done, because its time is left out."""
    job = await rig.add(spec(at_ms=T0 + DAY), next_ms=T0 + DAY)
    cursor = await rig.cursor(job.id)
    decided = skip(cursor, schedule_of(cursor.schedule), 1, "asked", T0)
    assert decided is not None
    await rig.store.skip_next(ADA, job.id, decided.row, cursor.revision, decided.next_ms, T0)
    return job.id


async def _unskip(rig: Rig) -> Operation:
    job_id = await _skipped(rig)
    cursor = await rig.cursor(job_id)
    decided = unskip(cursor, schedule_of(cursor.schedule), await rig.store.left_out(ADA, job_id, T0), T0)
    assert decided is not None
    return lambda: rig.store.unskip(ADA, decided, T0)


async def _edit_of_what_is_left_out(rig: Rig) -> Operation:
    job = await rig.add(next_ms=T0 + MINUTE)
    cursor = await rig.cursor(job.id)
    decided = skip(cursor, schedule_of(cursor.schedule), 9, "asked", T0)
    assert decided is not None
    await rig.store.skip_next(ADA, job.id, decided.row, cursor.revision, decided.next_ms, T0)
    rig.now_ms = T0 + 3 * MINUTE
    edit = await rig.edited(job.id, schedule=ScheduleSpec(timezone="UTC", cron="*/2 * * * *"))
    return lambda: rig.store.edit_job(ADA, edit, rig.now_ms)


async def _set_queue(rig: Rig) -> Operation:
    return lambda: rig.store.set_queue("db", 3, T0)


async def _pause_daemon(rig: Rig) -> Operation:
    for name in ("a", "b"):
        job = await rig.add(spec(name, overlap=Overlap.QUEUE))
        await rig.ready(job.id, T0 - 2)
        await rig.by_hand(job.id)
        await rig.look()
    return lambda: rig.store.pause_queue("", Pause(by="root"), T0)


async def _resume_queue(rig: Rig) -> Operation:
    await rig.hold("queue", (await rig.add()).id)
    return lambda: rig.store.resume_queue("default", True, T0)


async def _end_pauses(rig: Rig) -> Operation:
    job, other = await rig.add(), await rig.add(spec("other", queue="db"))
    await rig.hold("job", job.id, T0 + 1)
    await rig.hold("queue", other.id, T0 + 1)
    await rig.hold("daemon", job.id, T0 + 1)
    return lambda: rig.store.end_pauses(T0 + 1)


async def _expand(rig: Rig) -> Operation:
    job, other = await rig.add(), await rig.add(spec("other"))
    decided = []
    for job_id in (job.id, other.id):
        missed = skip_row(job_id, T0 - 9, T0 - 1, 3)
        decided.append(expansion(await rig.cursor(job_id), [T0, T0 + 1], next_ms=T0 + MINUTE, skips=[missed]))
    return lambda: rig.store.expand(decided, T0, rig.epoch)


async def _admit(rig: Rig) -> Operation:
    for overlap in (Overlap.SKIP, Overlap.QUEUE, Overlap.REPLACE):
        job = await rig.add(spec(f"job-{overlap}", overlap=overlap))
        (claim,) = await rig.claimed(job.id, T0 - 9)
        if overlap is Overlap.REPLACE:
            await rig.retrying(claim)
        await rig.scheduled(job.id, T0 - 2, T0 - 1)
    await rig.scheduled((await rig.add(spec("free"))).id, T0 - 1)
    answers = admission.admit(await rig.store.pending(T0, 100), T0)
    assert {(bool(one.reason), one.waits, bool(one.replaces)) for one in answers} == {
        (False, False, False), (True, False, False), (False, True, False), (False, True, True),
    }  # fmt: skip
    return lambda: rig.store.admit(answers, T0)


async def _claim(rig: Rig) -> Operation:
    await rig.store.set_queue("db", 1, T0)
    for name, queue in (("a", "db"), ("b", "default")):
        await rig.ready((await rig.add(spec(name, queue=queue))).id, T0 - 2, T0 - 1)
    return rig.claim


async def _give_back(rig: Rig) -> Operation:
    return await _claims_that_come_back(rig, lambda pairs: rig.store.unclaim(pairs, T0, T0, "no runner"))


async def _returned(rig: Rig) -> Operation:
    return await _claims_that_come_back(rig, lambda pairs: rig.store.returned(pairs, 5, T0, "it died"))


async def _claims_that_come_back(rig: Rig, back: Callable[[list[tuple[int, int]]], Awaitable[object]]) -> Operation:
    """One that goes on, one that is held, and one of a replay in turn that was cancelled."""
    job, paused = await rig.add(), await rig.add(spec("paused", overlap=Overlap.QUEUE))
    one, two = await rig.dead(job.id, T0 - 9, T0 - 8)
    await rig.replay(one, two, stop_on_failure=True)
    await rig.look()
    claims = [*await rig.claim(), *await rig.claimed(job.id, T0 - 7), *await rig.claimed(paused.id, T0 - 6)]
    await rig.by_hand(paused.id)
    await rig.look()
    await rig.pause(paused.id)
    await rig.store.cancel(ADA, one, "ada", T0)
    return lambda: back([(claim.run_id, claim.fence) for claim in claims])


async def _finish(rig: Rig) -> Operation:
    """Every kind of end at once, with all that follows from them."""
    job = await rig.add(spec(overlap=Overlap.ALLOW, limit=9, on_failure=OnFailure.DEAD))
    await rig.add(spec("after", after=job.id, after_on=After.ANY), next_ms=None)
    held = await rig.add(spec("held", after=job.id, after_on=After.ANY), next_ms=None)
    await rig.pause(held.id)
    await rig.finished(job.id, T0 - 100, state=RunState.FAILED)
    one, two = await rig.dead(job.id, T0 - 99, T0 - 98)
    await rig.replay(one, two, stop_on_failure=True)
    await rig.look()
    turn = await rig.claim()
    waiting = await rig.add(spec("waiting", overlap=Overlap.QUEUE, at_ms=T0 - 50), next_ms=None)
    (good,) = await rig.claimed(waiting.id, T0 - 50)
    await rig.by_hand(waiting.id)
    await rig.look()
    dying = await rig.claimed(job.id, *range(T0 - 40, T0 - 35))
    failing, trying = await rig.claimed(job.id, T0 - 30, T0 - 29)
    results = [ended(claim, T0, RunState.DEAD, fingerprint="f00d") for claim in (*turn, *dying)]
    results += [
        ended(good, T0),
        ended(failing, T0, RunState.FAILED),
        ended(trying, T0, RunState.READY, retry_ms=T0 + 9),
    ]
    return lambda: rig.store.finish(results, T0)


async def _cancel(rig: Rig) -> Operation:
    job = await rig.add(spec(overlap=Overlap.QUEUE))
    one, two = await rig.dead(job.id, T0 - 9, T0 - 8)
    await rig.replay(one, two, stop_on_failure=True)
    await rig.by_hand(job.id)
    await rig.look()
    return lambda: rig.store.cancel(ADA, one, "ada", T0)


async def _replay(rig: Rig) -> Operation:
    job = await rig.add()
    await rig.dead(job.id, T0 - 9, T0 - 8, T0 - 7)
    how = Replay(by="ada", stop_on_failure=True, current=True)
    return lambda: rig.store.replay(ADA, DeadFilter(), how, T0, request(verb="replay"))


async def _discard(rig: Rig) -> Operation:
    job = await rig.add(spec(at_ms=T0 - 9))
    await rig.dead(job.id, T0 - 9, T0 - 8)
    return lambda: rig.store.discard(ADA, DeadFilter(), "ada", "known", T0)


async def _retry_now(rig: Rig) -> Operation:
    job = await rig.add()
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim)
    await rig.pause(job.id)
    return lambda: rig.store.retry(ADA, claim.run_id, "ada", T0, request(verb="retry"))


async def _retry_dead(rig: Rig) -> Operation:
    (run_id,) = await rig.dead((await rig.add()).id)
    return lambda: rig.store.retry(ADA, run_id, "ada", T0, request(verb="retry"))


async def _retry_again(rig: Rig) -> Operation:
    (run_id,) = await rig.finished((await rig.add()).id)
    return lambda: rig.store.retry(ADA, run_id, "ada", T0, request(verb="retry"))


async def _run_adhoc(rig: Rig) -> Operation:
    wanted = spec("make", cron=None, hidden=True)
    return lambda: rig.store.run_adhoc(ADA, wanted, T0, T0, request(verb="run"))


async def _park(rig: Rig) -> Operation:
    job = await rig.add()
    await rig.ready(job.id, T0 - 1)
    await rig.pause(job.id)
    await rig.store.resume_job(ADA, job.id, False, T0)
    cursor = await rig.cursor(job.id)
    return lambda: rig.store.park(job.id, cursor.revision, "no such zone", T0)


async def _skip_again(rig: Rig) -> Operation:
    """The third in a row, of which somebody is told."""
    job = await rig.add()
    ids = await rig.scheduled(job.id, T0 - 3, T0 - 2, T0 - 1)
    await rig.admit(*ids[:2], reason=SkipReason.LIMIT)
    return lambda: rig.admit(ids[2], reason=SkipReason.LIMIT)


OPERATIONS = [
    _create, _delete, _pause, _resume, _unsuspend, _edit, _skip_next, _unskip,
    _edit_of_what_is_left_out, _set_queue, _pause_daemon, _resume_queue,
    _end_pauses, _expand, _admit, _claim, _give_back, _returned, _finish, _cancel, _replay, _discard, _retry_now,
    _retry_dead, _retry_again, _run_adhoc, _park, _skip_again,
]  # fmt: skip


@pytest.mark.parametrize("begin", OPERATIONS)
async def test_an_operation_is_done_whole_or_not_at_all(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, begin: Callable[[Rig], Awaitable[Operation]]
) -> None:
    operation = await begin(rig)
    await rig.check()
    assert await fails_at_each(rig, monkeypatch, operation) > 1


async def test_retention_is_done_whole_or_not_at_all(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    job, gone = await rig.add(), await rig.add(spec("gone"))
    await rig.dead(job.id, T0 - 9)
    await rig.finished(job.id, *range(T0 - 8, T0))
    await rig.finished(gone.id, T0)
    await rig.replay(request=request(verb="replay"))
    await rig.look()
    await rig.died(*await rig.claim())
    await rig.store.delete_job(ADA, gone.id, T0)
    old = await rig.store.aged(T0 + 500 * DAY, 0, 100)
    assert len(old.runs) == 9
    assert await fails_at_each(rig, monkeypatch, lambda: rig.store.forget(old.runs)) > 5
    assert await fails_at_each(rig, monkeypatch, lambda: rig.store.prune(T0 + 500 * DAY, 100, Keep())) > 5
    assert {run.state for run in await rig.runs()} == {"discarded"}


async def test_a_row_that_the_database_refuses_leaves_nothing_of_itself(rig: Rig) -> None:
    """A result is refused after its attempt and its history were written: by the event that nobody can encode."""
    job = await rig.add()
    one, two = await rig.claimed(job.id, T0 - 1, T0)
    bad = msgspec.structs.replace(ended(two, T0, RunState.FAILED), error="\ud800")
    assert [verdict.answer for verdict in await rig.store.finish([ended(one, T0), bad], T0)] == ["ok", "refused"]
    assert await rig.rows("SELECT run_id FROM attempts") == [{"run_id": one.run_id}]
    assert await rig.states(one.run_id, two.run_id) == ["succeeded", "running"]
    assert (await rig.store.job(ROOT, "backup")).state == "running"
