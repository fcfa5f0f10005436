"""Jobs that a file owns: what a change of the file means is one transaction."""

import msgspec
import pytest

from jobctl.errors import Conflict
from jobctl.model import Execution, ScheduleSpec
from jobctl_daemon.rows import Caller, Declaration, JobFilter, NewDeclared
from kit.stores import ADA, BOB, MINUTE, ROOT, T0, Rig, spec

FILE, OTHER = "/etc/cron.d/site", "/etc/cron.d/other"
HOURLY = ScheduleSpec(timezone="UTC", cron="0 * * * *", words="every hour")


def new(name: str, path: str = FILE, *, named: bool = True, **changes: object) -> NewDeclared:
    declared = msgspec.structs.replace(spec(name), declared=path, source=f"file:{name}:{path}")
    facts = {"next_ms": T0 + MINUTE, "handled_ms": T0, **changes}
    return NewDeclared(spec=declared, named=named, **facts)  # type: ignore[arg-type]


async def declare(rig: Rig, owner: Caller = ROOT, path: str = FILE, **parts: object) -> list[str]:
    return await rig.store.declare(owner, Declaration(path=path, **parts), rig.now_ms)  # type: ignore[arg-type]


async def owned(rig: Rig, path: str = FILE) -> dict[str, int]:
    return {job.spec.name: job.job_id for job in await rig.store.declared(path, 0, 100)}


async def test_new_jobs_belong_to_their_file(rig: Rig) -> None:
    assert await declare(rig, created=(new("a"), new("b"))) == ["a", "b"]
    assert await declare(rig, path=OTHER, created=(new("c", OTHER),)) == ["c"]
    await rig.add(spec("by-hand"), owner=ROOT)
    assert (await owned(rig)).keys() == {"a", "b"}
    assert await rig.store.declared_paths() == [OTHER, FILE]
    shown = await rig.store.job(ROOT, "a")
    assert (shown.declared, shown.source, shown.owner) == (FILE, f"file:a:{FILE}", "root")
    assert shown.next_run_at == "2027-01-15T08:01:00Z"
    listed, _ = await rig.store.jobs(ROOT, JobFilter(declared=FILE))
    assert [job.name for job in listed] == ["a", "b"]
    assert (await rig.store.job(ROOT, "by-hand")).declared is None
    assert rig.kinds().count("job.created") == 4


async def test_jobs_of_a_file_come_in_pages_by_id_with_their_definition_and_cursor(rig: Rig) -> None:
    await declare(rig, ADA, created=tuple(new(f"n{number}") for number in range(5)))
    first = await rig.store.declared(FILE, 0, 3)
    rest = await rig.store.declared(FILE, first[-1].job_id, 3)
    assert [job.spec.name for job in (*first, *rest)] == [f"n{number}" for number in range(5)]
    assert (first[0].owner_uid, first[0].rev, first[0].cursor.next_ms) == (ADA.uid, 1, T0 + MINUTE)
    assert first[0].spec == new("n0").spec


async def test_a_new_job_counts_from_where_it_is_told(rig: Rig) -> None:
    await declare(rig, created=(new("a", next_ms=T0 - MINUTE, handled_ms=T0 - 2 * MINUTE),))
    (due,) = await rig.store.due(T0, None, 10)
    assert (due.next_ms, due.handled_ms) == (T0 - MINUTE, T0 - 2 * MINUTE)


async def test_a_made_up_name_gets_a_number_and_a_given_one_must_be_free(rig: Rig) -> None:
    await rig.add(spec("run"), owner=ROOT)
    await rig.add(spec("run"), owner=BOB)
    made = await declare(rig, created=tuple(new("run", named=False) for _ in range(3)))
    assert made == ["run-2", "run-3", "run-4"]
    with pytest.raises(Conflict, match="run already") as refused:
        await declare(rig, created=(new("fresh"), new("run")))
    assert "`jobctl edit run …`" in refused.value.hint
    assert "fresh" not in await owned(rig)


async def test_edits_removals_moves_and_new_jobs_are_one_transaction(rig: Rig) -> None:
    await declare(rig, created=(new("stays"), new("changes"), new("goes")))
    ids = await owned(rig)
    before = await rig.store.job(ROOT, "stays")
    change = await rig.edited(ids["changes"], schedule=HOURLY)
    change = msgspec.structs.replace(change, source=f"file:changes2:{FILE}")
    made = await declare(
        rig,
        edits=(change,),
        removed=(ids["goes"],),
        moved=((ids["stays"], f"file:moved:{FILE}"),),
        created=(new("goes", named=False),),
    )
    assert made == ["goes"]
    after = await owned(rig)
    assert after.keys() == {"stays", "changes", "goes"}
    assert after["goes"] != ids["goes"]
    changed, moved = await rig.store.job(ROOT, "changes"), await rig.store.job(ROOT, "stays")
    assert (changed.next_run_at, changed.source) == ("2027-01-15T09:00:00Z", f"file:changes2:{FILE}")
    assert (moved.source, moved.rev, moved.version) == (f"file:moved:{FILE}", before.rev, before.version)
    assert rig.kinds().count("job.edited") == 1


async def test_one_that_does_not_fit_undoes_all_of_it(rig: Rig) -> None:
    await declare(rig, created=(new("a"), new("b")))
    ids = await owned(rig)
    stale = await rig.edited(ids["a"], execution=Execution(shell="other"))
    await rig.pause(ids["a"])
    with pytest.raises(Conflict, match="changed meanwhile"):
        await declare(rig, edits=(stale,), removed=(ids["b"],), created=(new("c"),))
    assert (await owned(rig)).keys() == {"a", "b"}


async def test_a_file_touches_no_job_but_its_own(rig: Rig) -> None:
    await declare(rig, created=(new("a"),))
    mine = await rig.add(spec("mine"), owner=ROOT)
    change = await rig.edited(mine.id, execution=Execution(shell="other"))
    with pytest.raises(Conflict, match="removed meanwhile"):
        await declare(rig, edits=(change,))
    await declare(rig, removed=(mine.id,), moved=((mine.id, "file:x:/y"),))
    assert (await rig.store.job(ROOT, "mine")).source == "api"


async def test_a_removed_job_leaves_its_history_and_its_name(rig: Rig) -> None:
    await declare(rig, created=(new("a"),))
    ids = await owned(rig)
    (run_id,) = await rig.ready(ids["a"])
    (claim,) = await rig.claim()
    await rig.finish(claim)
    await declare(rig, removed=(ids["a"],))
    assert await owned(rig) == {}
    assert (await rig.store.run(ROOT, run_id)).state == "succeeded"
    assert await declare(rig, created=(new("a"),)) == ["a"]


async def test_a_declaration_that_wants_nothing_changes_nothing(rig: Rig) -> None:
    await declare(rig, created=(new("a"),))
    events = len(rig.events)
    assert await declare(rig) == []
    assert len(rig.events) == events
