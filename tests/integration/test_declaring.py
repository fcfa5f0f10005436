"""A file that is read again and again: what did not change is not touched, what did counts from now."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from jobctl.drafts import Checked
from jobctl.errors import Conflict
from jobctl.states import Misfire
from jobctl_daemon.rows import Caller
from jobctl_daemon.services.declaring import PIECE, Declared, Wanted, declare, declared_jobs
from kit.stores import ADA, BACKENDS, BOB, MINUTE, ROOT, T0, Rig, expansion, spec

PATH = "/var/spool/cron/crontabs/ada"
HOUR = 60 * MINUTE


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(BACKENDS["sqlite"](tmp_path))
    await made.begin()
    yield made
    await made.check()
    await made.store.close()


def line(number: int, command: str, cron: str = "0 * * * *", *, name: str | None = None) -> Wanted:
    """A crontab line, known by its schedule and command."""
    made = spec(name or command.split()[0], cron=cron, shell=command, misfire=Misfire.SKIP)
    digest = f"{abs(hash((cron, command))):x}"
    made = msgspec.structs.replace(made, source=f"crontab:{digest}:{number}:{PATH}")
    return Wanted(digest, Checked(made, T0 + HOUR, (), named=False))


def entry(name: str, shell: str = "true", **changes: object) -> Wanted:
    """An entry of a file of jobs, known by its name."""
    made = msgspec.structs.replace(spec(name, shell=shell), source=f"file:{name}:{PATH}", **changes)
    return Wanted(name, Checked(made, T0 + MINUTE, ()))


async def read(rig: Rig, *wanted: Wanted, owner: Caller = ADA, **how: object) -> Declared:
    return await declare(rig.store, owner, PATH, wanted, rig.now_ms, **how)  # type: ignore[arg-type]


async def ids(rig: Rig) -> dict[str, int]:
    return {job.spec.execution.shell or "": job.job_id for job in await declared_jobs(rig.store, PATH)}


async def test_what_did_not_change_is_not_touched(rig: Rig) -> None:
    lines = [line(1, "a"), line(2, "b"), line(3, "b")]
    assert await read(rig, *lines) == Declared(created=("a", "b", "b-2"))
    events = len(rig.events)
    rig.now_ms += HOUR // 2
    assert await read(rig, *lines) == Declared(unchanged=("a", "b", "b-2"))
    assert len(rig.events) == events


async def test_a_line_that_moved_keeps_its_job_and_says_where_it_stands(rig: Rig) -> None:
    await read(rig, line(1, "a"), line(2, "b"))
    before, events = await rig.store.job(ADA, "a"), len(rig.events)
    done = await read(rig, line(2, "b"), line(7, "a"))
    assert set(done.unchanged) == {"a", "b"}
    after = await rig.store.job(ADA, "a")
    assert after.source.split(":")[2] == "7"
    assert (after.id, after.rev, len(rig.events)) == (before.id, before.rev, events)


async def test_a_changed_time_keeps_the_job_and_counts_from_now(rig: Rig) -> None:
    await read(rig, line(1, "a x"), line(2, "b"))
    before = await ids(rig)
    rig.now_ms += 30 * MINUTE
    done = await read(rig, line(1, "a x", "*/15 * * * *"), line(2, "b"))
    assert (done.changed, done.unchanged) == (("a",), ("b",))
    assert await ids(rig) == before
    job = await rig.store.job(ADA, "a")
    assert (job.version, job.next_run_at) == (2, "2027-01-15T08:45:00Z")


async def test_changed_arguments_at_the_same_time_are_the_same_job(rig: Rig) -> None:
    await read(rig, line(1, "backup --full"), line(2, "backup --other", "5 * * * *"))
    before = await ids(rig)
    done = await read(rig, line(1, "backup --some"), line(2, "backup --other", "5 * * * *"))
    after = await ids(rig)
    assert (done.changed, done.created, done.removed) == (("backup",), (), ())
    assert after["backup --some"] == before["backup --full"]
    assert after["backup --other"] == before["backup --other"]


async def test_an_edit_of_the_command_leaves_the_schedule_alone(rig: Rig) -> None:
    await read(rig, line(1, "backup --full"))
    rig.now_ms = T0 + HOUR + 20_000  # due, and not looked at yet
    await read(rig, line(1, "backup --some"))
    (due,) = await rig.store.due(rig.now_ms, None, 10)
    assert (due.next_ms, due.version) == (T0 + HOUR, 2)


async def test_what_is_gone_goes_and_an_emptied_file_takes_all(rig: Rig) -> None:
    await read(rig, line(1, "a"), line(2, "b"))
    assert await read(rig, line(1, "a")) == Declared(removed=("b",), unchanged=("a",))
    assert (await read(rig, prune=False)).kept == ("a",)
    assert await read(rig) == Declared(removed=("a",))
    assert await ids(rig) == {}


async def test_names_of_a_file_of_jobs_are_what_its_jobs_are_known_by(rig: Rig) -> None:
    await read(rig, entry("a:b", "x"), entry("c", "y"))
    before = await ids(rig)
    done = await read(rig, entry("a:b", "z"), entry("d", "y"))
    assert done == Declared(created=("d",), changed=("a:b",), removed=("c",))
    assert (await ids(rig))["z"] == before["x"]
    await rig.add(spec("e"))
    with pytest.raises(Conflict, match="e already"):
        await read(rig, entry("a:b", "z"), entry("e"))
    assert (await ids(rig)).keys() == {"z", "y"}


async def test_an_interval_that_is_the_same_keeps_its_beat(rig: Rig) -> None:
    def every(anchor_ms: int) -> Wanted:
        base = entry("tick")
        schedule = msgspec.structs.replace(base.definition.spec.schedule, cron=None, every_ms=7_000)
        made = msgspec.structs.replace(
            base.definition.spec, schedule=msgspec.structs.replace(schedule, anchor_ms=anchor_ms)
        )
        return Wanted("tick", Checked(made, anchor_ms + 7_000, ()))

    await read(rig, every(T0))
    rig.now_ms += 3_000
    assert await read(rig, every(rig.now_ms)) == Declared(unchanged=("tick",))


async def test_a_pause_by_hand_outlives_an_edit_of_the_file(rig: Rig) -> None:
    await read(rig, line(1, "a"))
    await rig.pause((await ids(rig))["a"])
    rig.now_ms += MINUTE
    assert (await read(rig, line(1, "a", "5 * * * *"))).changed == ("a",)
    job = await rig.store.job(ADA, "a")
    assert (job.paused, job.next_run_at) == (True, None)


async def test_a_user_with_another_uid_gets_new_jobs(rig: Rig) -> None:
    await read(rig, line(1, "a"))
    done = await read(rig, line(1, "a"), owner=BOB)
    assert done == Declared(created=("a",), removed=("a",))
    assert (await rig.store.job(BOB, "a")).owner == "bob"


async def test_jobs_count_from_where_they_are_told(rig: Rig) -> None:
    await read(rig, line(1, "a", "* * * * *"), since_ms=T0 - 90_000)
    (due,) = await rig.store.due(T0, None, 10)
    assert (due.next_ms, due.handled_ms) == (T0 - MINUTE, T0 - 90_000)


async def test_asking_changes_nothing(rig: Rig) -> None:
    await read(rig, line(1, "a"), line(2, "b"))
    events = len(rig.events)
    done = await read(rig, line(1, "a"), line(2, "b", "1 1 * * *"), line(3, "c"), dry_run=True)
    assert done == Declared(created=("c",), changed=("b",), unchanged=("a",))
    assert len(rig.events) == events


async def test_a_job_that_becomes_due_meanwhile_is_decided_again(rig: Rig) -> None:
    await read(rig, line(1, "a", "* * * * *"))
    (job_id,) = (await ids(rig)).values()
    rig.now_ms += 2 * HOUR
    moved = asyncio.create_task(rig.expand(expansion(await rig.cursor(job_id), [T0 + HOUR], next_ms=T0 + 3 * HOUR)))
    done = await read(rig, line(1, "a", "7 * * * *"))
    await moved
    assert done.changed == ("a",)
    assert (await rig.store.job(ADA, "a")).next_run_at == "2027-01-15T10:07:00Z"


async def test_more_than_a_transaction_holds_is_written_in_pieces(rig: Rig) -> None:
    many = [line(number, f"run {number}") for number in range(PIECE + 5)]
    assert len((await read(rig, *many)).created) == PIECE + 5
    assert len((await read(rig, *many)).unchanged) == PIECE + 5
    assert len((await read(rig)).removed) == PIECE + 5
    assert await rig.store.declared_paths() == []
    assert await rig.store.job(ROOT, str((await rig.add()).id))
