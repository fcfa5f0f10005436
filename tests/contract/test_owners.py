"""Who owns jobs: an account as it was. A new one with an old number, or an old name, inherits nothing."""

import pytest

from jobctl.errors import Conflict, NotFound
from jobctl.model import Queue
from jobctl_daemon.rows import Caller, DeadFilter, Denial, JobFilter, Request, RunFilter
from kit.stores import ADA, BOB, ROOT, T0, Rig, spec

#: The number of an account that is gone, and the name of one, given to others.
HEIR = Caller(uid=ADA.uid, name="eve")
NAMESAKE = Caller(uid=4711, name=ADA.name)


@pytest.mark.case("F122")
async def test_a_new_account_with_an_old_number_or_an_old_name_sees_and_gets_nothing(rig: Rig) -> None:
    job = await rig.add()
    run_id = await rig.by_hand(job.id)
    request = Request(key="k", verb="run", body_hash="b")
    await rig.store.trigger(ADA, job.id, T0, T0, request)
    for other in (HEIR, NAMESAKE, BOB):
        assert await rig.store.jobs(other, JobFilter()) == ([], None)
        assert (await rig.store.runs(other, RunFilter()))[0] == []
        assert await rig.store.events(0, 100, other) == []
        assert (await rig.store.counts(other, T0)).jobs == 0
        assert not await rig.store.asked_before(other, request)
        assert (await rig.store.dead(other, DeadFilter()))[0] == []
        for ask in (rig.store.job(other, "backup"), rig.store.run(other, run_id), rig.store.owner_of(other, job.id)):
            with pytest.raises(NotFound):
                await ask
    mine = await rig.add(owner=HEIR)
    assert [one.id for one in (await rig.store.jobs(HEIR, JobFilter()))[0]] == [mine.id]
    assert [one.id for one in (await rig.store.jobs(ADA, JobFilter()))[0]] == [job.id]
    owners = [(one.uid, one.name, one.jobs) for one in await rig.store.owners() if one.jobs]
    assert owners == [(1000, "ada", 1), (1000, "eve", 1)]


async def test_the_account_of_the_daemon_keeps_its_jobs_when_it_is_renamed(rig: Rig) -> None:
    job = await rig.add()
    await rig.add(spec("bobs"), owner=BOB)
    renamed = Caller(uid=ADA.uid, name="ada.l")
    await rig.store.follow(renamed.uid, renamed.name)
    assert (await rig.store.job(renamed, "backup")).owner == "ada.l"
    assert await rig.store.owner_of(ROOT, job.id) == renamed
    assert (await rig.store.job(BOB, "bobs")).owner == "bob"


async def test_what_a_renamed_account_had_is_its_own_again_once_root_says_so(rig: Rig) -> None:
    job = await rig.add()
    run_id = await rig.by_hand(job.id)
    renamed = Caller(uid=ADA.uid, name="ada.l")
    new = await rig.add(spec("newer"), owner=renamed)
    request = Request(key="k", verb="run", body_hash="b")
    made = await rig.store.trigger(renamed, new.id, T0, T0, request)
    owner = await rig.store.rename_owner("ada", None, renamed, ROOT, T0)
    assert (owner.uid, owner.name, owner.jobs) == (ADA.uid, "ada.l", 2)
    assert [one.name for one in (await rig.store.jobs(renamed, JobFilter()))[0]] == ["backup", "newer"]
    assert {one.id for one in (await rig.store.runs(renamed, RunFilter()))[0]} == {run_id, made.run.id}
    again = await rig.store.trigger(renamed, new.id, T0, T0, request)
    assert (again.fresh, again.run.id) == (False, made.run.id)
    assert [one.name for one in await rig.store.owners() if one.uid] == ["ada.l"]
    assert await rig.store.jobs(ADA, JobFilter()) == ([], None)
    event = rig.events[-1]
    assert event.kind == "owner.renamed"
    assert (event.data["old"], event.data["name"], event.data["by_uid"]) == ("ada", "ada.l", 0)


async def test_a_rename_that_cannot_be_is_refused_and_changes_nothing(rig: Rig) -> None:
    await rig.add()
    await rig.add(owner=BOB)
    await rig.add(owner=NAMESAKE)
    before = await rig.store.owners()
    with pytest.raises(NotFound):
        await rig.store.rename_owner("nobody", None, BOB, ROOT, T0)
    with pytest.raises(Conflict, match="uid 1000, 4711"):
        await rig.store.rename_owner("ada", None, BOB, ROOT, T0)
    with pytest.raises(Conflict, match="same name already: backup"):
        await rig.store.rename_owner("ada", ADA.uid, BOB, ROOT, T0)
    with pytest.raises(Conflict, match="already"):
        await rig.store.rename_owner("ada", ADA.uid, ADA, ROOT, T0)
    assert await rig.store.owners() == before


async def test_who_sees_everything_means_his_own_job_by_a_name_that_others_have_too(rig: Rig) -> None:
    await rig.add()
    await rig.add(owner=BOB)
    with pytest.raises(Conflict):
        await rig.store.job(ROOT, "backup")
    mine = await rig.add(owner=ROOT)
    assert (await rig.store.job(ROOT, "backup")).id == mine.id


async def test_others_with_the_same_beginning_of_a_uid_are_in_nobody_s_way(rig: Rig) -> None:
    mine = await rig.add(owner=BOB)
    for number in range(20):
        await rig.add(spec(f"job-{number}"))
    assert (await rig.store.job(BOB, mine.uid[:12])).id == mine.id
    with pytest.raises(Conflict):
        await rig.store.job(ADA, mine.uid[:12])


async def test_queues_are_told_to_who_has_jobs_in_them_or_names_them(rig: Rig) -> None:
    await rig.store.set_queue("night", 1, T0)
    await rig.add(spec(queue="db"))
    names = {known: [queue.name for queue in await rig.store.queues(ADA, known=known)] for known in (True, False)}
    assert names == {True: ["db", "night"], False: ["db"]}
    assert await rig.store.queues(BOB, known=False) == []
    night = await rig.store.queue(BOB, "night")
    assert isinstance(night, Queue)
    assert night.concurrency == 1
    assert await rig.store.queue(BOB, "db") is None


async def test_what_was_refused_is_told_to_who_sees_everything_alone(rig: Rig) -> None:
    await rig.add()
    await rig.store.denied(Denial(uid=1000, name="ada", method="PATCH", path="/v1/jobs/7", why="not yours"), T0)
    assert rig.events[-1].kind == "access.denied"
    assert (await rig.store.events(0, 100, ROOT))[-1].data["uid"] == 1000
    assert [event.kind for event in await rig.store.events(0, 100, ADA)] == ["job.created"]
