"""Creating jobs, finding them again, and the keys that make it safe to ask twice."""

import pytest

from jobctl.errors import Conflict, Gone, NotFound
from jobctl.states import Misfire, Overlap
from kit.stores import ADA, BOB, ROOT, T0, Rig, request, spec


async def test_a_new_job_shows_its_definition(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(tags=["db"], overlap=Overlap.SKIP), T0, T0, None)
    job = made.job
    assert made.fresh
    assert (job.name, job.owner, job.state, job.version, job.rev) == ("backup", "ada", "ok", 1, 1)
    assert job.schedule is not None
    assert (job.schedule.cron, job.schedule.timezone, job.schedule.words) == ("* * * * *", "UTC", "every minute")
    assert (job.target, job.env, job.umask) == ({"shell": "true"}, {"A": "b"}, "022")
    assert (job.overlap, job.misfire, job.tags) == (Overlap.SKIP, Misfire.ONCE, ["db"])
    assert job.next_run_at == "2027-01-15T08:00:00Z"
    assert await rig.store.job(ADA, "backup") == job
    assert [event.kind for event in rig.events] == ["job.created"]


async def test_a_definition_comes_back_as_it_was_given(rig: Rig) -> None:
    wanted = spec("a", tags=["x", "y"], source="crontab")
    job = await rig.add(wanted)
    assert await rig.store.spec(ADA, job.id) == wanted


async def test_a_job_without_a_schedule_is_never_due(rig: Rig) -> None:
    job = await rig.add(spec(cron=None), next_ms=None)
    assert job.schedule is None
    assert await rig.store.due(T0 + 10**12, None, 10) == []
    assert await rig.store.next_wake(0) is None


async def test_a_job_may_begin_paused(rig: Rig) -> None:
    job = await rig.add(spec(paused=True))
    assert (job.state, job.paused_by, job.next_run_at) == ("paused", "ada", None)
    assert await rig.store.due(T0, None, 10) == []


async def test_a_name_is_taken_once_for_each_owner(rig: Rig) -> None:
    await rig.add()
    with pytest.raises(Conflict, match="backup"):
        await rig.add()
    assert (await rig.add(owner=BOB)).owner == "bob"


async def test_the_name_of_a_deleted_job_is_free_and_its_id_is_not(rig: Rig) -> None:
    first = await rig.add()
    await rig.store.delete_job(ADA, first.id, T0)
    second = await rig.add()
    assert second.id > first.id
    assert second.uid != first.uid


async def test_ids_are_not_used_again_after_the_newest_job_has_gone(rig: Rig) -> None:
    first = await rig.add()
    await rig.store.delete_job(ADA, first.id, T0)
    await rig.prune(T0 + 10**12)
    with pytest.raises(NotFound):
        await rig.store.job(ADA, str(first.id))
    assert (await rig.add()).id > first.id


async def test_the_same_key_gives_the_same_job_as_it_is_now(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, request())
    await rig.store.pause_job(ADA, made.job.id, "ada", None, None, T0 + 1)
    again = await rig.store.create_job(ADA, spec(), T0, T0 + 2, request())
    assert not again.fresh
    assert (again.job.id, again.job.state) == (made.job.id, "paused")
    assert rig.kinds().count("job.created") == 1


async def test_the_same_key_with_another_body_is_a_conflict(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, request(body="one"))
    with pytest.raises(Conflict) as caught:
        await rig.store.create_job(ADA, spec("other"), T0, T0, request(body="two"))
    assert caught.value.details["job_id"] == made.job.id


async def test_the_key_of_a_deleted_job_is_gone_and_says_which_job_it_was(rig: Rig) -> None:
    made = await rig.store.create_job(ADA, spec(), T0, T0, request())
    await rig.store.delete_job(ADA, made.job.id, T0)
    with pytest.raises(Gone) as caught:
        await rig.store.create_job(ADA, spec(), T0, T0, request())
    assert caught.value.details["job_id"] == made.job.id


async def test_keys_of_two_owners_are_two_keys(rig: Rig) -> None:
    first = await rig.store.create_job(ADA, spec(), T0, T0, request())
    second = await rig.store.create_job(BOB, spec(), T0, T0, request())
    assert second.fresh
    assert second.job.id != first.job.id


async def test_a_refused_creation_does_not_use_up_its_key(rig: Rig) -> None:
    await rig.add(spec("taken"))
    with pytest.raises(Conflict):
        await rig.store.create_job(ADA, spec("taken"), T0, T0, request())
    assert (await rig.store.create_job(ADA, spec("free"), T0, T0, request())).fresh


async def test_an_import_makes_all_jobs(rig: Rig) -> None:
    jobs = await rig.store.create_jobs(ADA, [(spec("a"), T0), (spec("b"), T0 + 5), (spec("c"), None)], T0)
    assert [job.name for job in jobs] == ["a", "b", "c"]
    assert [job.job_id for job in await rig.store.due(T0 + 5, None, 10)] == [jobs[0].id, jobs[1].id]


async def test_an_import_with_one_taken_name_makes_none(rig: Rig) -> None:
    await rig.add(spec("b"))
    with pytest.raises(Conflict, match="b"):
        await rig.store.create_jobs(ADA, [(spec("a"), T0), (spec("b"), T0)], T0)
    with pytest.raises(NotFound):
        await rig.store.job(ADA, "a")
    assert rig.kinds() == ["job.created"]


async def test_a_job_is_found_by_name_id_and_the_beginning_of_its_uid(rig: Rig) -> None:
    job = await rig.add()
    for selector in ("backup", str(job.id), job.uid, job.uid[:15] + job.uid[15]):
        assert (await rig.store.job(ADA, selector)).id == job.id


async def test_the_beginning_of_two_uids_is_ambiguous(rig: Rig) -> None:
    one, two = await rig.add(spec("one")), await rig.add(spec("two"))
    assert one.uid[:4] == two.uid[:4]
    with pytest.raises(Conflict, match="several"):
        await rig.store.job(ADA, one.uid[:4])
    with pytest.raises(NotFound):
        await rig.store.job(ADA, one.uid[:3])


async def test_a_name_made_of_digits_is_a_name_before_it_is_an_id(rig: Rig) -> None:
    first = await rig.add(spec("first"))
    named = await rig.add(spec(str(first.id)))
    assert (await rig.store.job(ADA, str(first.id))).id == named.id


async def test_an_unknown_name_suggests_the_nearest(rig: Rig) -> None:
    await rig.add(spec("nightly-backup"))
    await rig.add(spec("secret"), owner=BOB)
    with pytest.raises(NotFound) as caught:
        await rig.store.job(ADA, "nightly-bakup")
    assert "nightly-backup" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        await rig.store.job(ADA, "secre")
    assert "secret" not in caught.value.hint


async def test_jobs_of_others_do_not_exist(rig: Rig) -> None:
    job = await rig.add()
    claims = await rig.claimed(job.id)
    for ask in (
        lambda: rig.store.job(BOB, "backup"),
        lambda: rig.store.job(BOB, str(job.id)),
        lambda: rig.store.job(BOB, job.uid),
        lambda: rig.store.spec(BOB, job.id),
        lambda: rig.store.cursor(BOB, job.id),
        lambda: rig.store.delete_job(BOB, job.id, T0),
        lambda: rig.store.pause_job(BOB, job.id, "bob", None, None, T0),
        lambda: rig.store.resume_job(BOB, job.id, False, T0),
        lambda: rig.store.trigger(BOB, job.id, T0, T0, None),
        lambda: rig.store.ledger(BOB, job.id, 0, T0, 10),
        lambda: rig.store.run(BOB, claims[0].run_id),
        lambda: rig.store.attempts(BOB, claims[0].run_id),
        lambda: rig.store.cancel(BOB, claims[0].run_id, "bob", T0),
    ):
        with pytest.raises(NotFound):
            await ask()
    assert (await rig.store.job(ROOT, "backup")).owner == "ada"


async def test_root_must_say_which_of_two_jobs_with_one_name(rig: Rig) -> None:
    await rig.add()
    await rig.add(owner=BOB)
    with pytest.raises(Conflict, match="several owners"):
        await rig.store.job(ROOT, "backup")
