"""The output of runs by mail: which ends are looked at, what a mail is made of, and how many of them wait."""

from typing import Any

import msgspec
import pytest

from jobctl.errors import NotFound
from jobctl.filters import parse
from jobctl.model import Enclosed, Execution, Job, JobSpec, Mail
from jobctl.states import MailOn, RunState, Trigger
from jobctl_daemon.rows import Claim, JobFilter, Notice
from jobctl_daemon.store.sqlite import mails
from kit.stores import ADA, BOB, ROOT, T0, Rig, spec

TO_ADA = Mail(to="ada", on=MailOn.OUTPUT)
LETTER = Execution(
    command=["/usr/sbin/sendmail", "-i", "-t"], stdin="To: ada\n", sends=Enclosed(run_id=1, fence=1, size=5)
)


def mailed(name: str = "backup", mail: Mail | None = TO_ADA, **changes: Any) -> JobSpec:
    """A job whose output somebody gets."""
    wanted = spec(name, **changes)
    return msgspec.structs.replace(wanted, policies=msgspec.structs.replace(wanted.policies, mail=mail))


def letter(job_id: int, run_id: int) -> Notice:
    return Notice(key=f"mail:{run_id}", job_id=job_id, name="mail", execution=LETTER, mail=True)


async def deliveries(rig: Rig) -> list[Any]:
    return sorted(await rig.runs(q=parse("mail")), key=lambda run: run.id)


async def job_and_run(rig: Rig, **changes: Any) -> tuple[Job, Claim]:
    job = await rig.add(mailed(**changes))
    (claim,) = await rig.claimed(job.id, T0)
    await rig.finish(claim, log_size=5)
    return job, claim


async def _ended(rig: Rig) -> tuple[Job, int]:
    job, claim = await job_and_run(rig)
    return job, claim.run_id


async def test_ends_of_jobs_with_mail_are_seen_in_order_with_the_bytes_of_output(rig: Rig) -> None:
    job, quiet = await rig.add(mailed()), await rig.add(spec("quiet"))
    await rig.finished(quiet.id, T0)
    for state, size in ((RunState.SUCCEEDED, 7), (RunState.FAILED, None), (RunState.CANCELLED, 3), (RunState.DEAD, 1)):
        (claim,) = await rig.claimed(job.id, rig.now_ms)
        await rig.finish(claim, state=state, log_size=size, fingerprint="f")
        rig.now_ms += 1
    seen = await rig.store.mails(0, 100)
    assert [(event.kind, event.data["mail"]) for event in seen] == [
        ("run.succeeded", 7), ("run.failed", 0), ("run.cancelled", 3), ("run.dead", 1),
    ]  # fmt: skip
    assert await rig.store.mails(seen[0].id, 1) == seen[1:2]
    assert await rig.store.mails(seen[-1].id, 100) == []


async def test_a_retry_and_a_name_that_looks_like_it_are_no_ends(rig: Rig) -> None:
    job = await rig.add(mailed())
    (claim,) = await rig.claimed(job.id, T0)
    await rig.retrying(claim, log_size=5)
    odd = await rig.add(spec('x","mail":1,"y":"'))
    await rig.finished(odd.id, T0)
    assert await rig.store.mails(0, 100) == []


async def test_a_mail_is_made_of_the_run_as_it_ended_also_of_a_removed_job(rig: Rig) -> None:
    job, claim = await job_and_run(rig, source="crontab:d:1:/etc/crontab")
    await rig.store.delete_job(ADA, job.id, T0)
    found = await rig.store.mailing(claim.run_id, claim.fence)
    assert (found.run.id, found.attempt.log_size, found.owner, found.mail) == (claim.run_id, 5, ADA.name, TO_ADA)
    assert (found.source, found.execution.command) == ("crontab:d:1:/etc/crontab", spec().execution.command)
    with pytest.raises(NotFound):
        await rig.store.mailing(claim.run_id, claim.fence + 1)


async def test_a_mail_is_a_run_of_one_hidden_job_of_the_owner_that_only_its_name_lists(rig: Rig) -> None:
    ours, run_id = await _ended(rig)
    theirs = await rig.add(mailed("other"), owner=BOB)
    wanted = [letter(ours.id, run_id), letter(theirs.id, 998), letter(ours.id, run_id)]
    assert await rig.store.tell(wanted, {"mailed": "7"}, T0) == 2
    assert await rig.store.tell([letter(ours.id, run_id)], {}, T0) == 0
    first, second = await deliveries(rig)
    assert (first.job, first.trigger, first.queue, first.edited) == ("mail", Trigger.NOTICE, mails.QUEUE, False)
    assert first.job_id != second.job_id
    assert [run.id for run in await rig.runs()] == [run_id]
    assert [found.name for found in (await rig.store.jobs(ROOT, JobFilter()))[0]] == ["backup", "other"]
    await rig.admit(first.id)
    (claim,) = await rig.claim()
    assert (claim.key, claim.execution, claim.owner_uid) == (f"mail:{run_id}", LETTER, ADA.uid)
    await rig.finish(claim, state=RunState.FAILED)
    (end,) = (await rig.store.mails(0, 100))[1:]
    assert (end.kind, end.data["key"]) == ("run.failed", f"mail:{run_id}")


async def test_mails_go_after_everything_else_and_only_a_few_at_once(rig: Rig) -> None:
    job, _ = await job_and_run(rig)
    await rig.store.tell([letter(job.id, n) for n in range(900, 910)], {}, T0)
    later = await rig.ready(job.id, T0 - 1, T0 - 2)
    await rig.admit(*[run.id for run in await deliveries(rig)])
    claims = await rig.claim(3)
    assert {claim.run_id for claim in claims[:2]} == set(later)
    assert len(claims + await rig.claim(100)) == 2 + mails.AT_ONCE
    await rig.store.set_queue(mails.QUEUE, 6, T0)
    await rig.store.tell([letter(job.id, 950)], {}, T0)
    assert len(await rig.claim(100)) == 6 - mails.AT_ONCE


async def test_of_too_many_that_wait_the_oldest_go_and_nobody_elses(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mails, "WAITING_MOST", 3)
    job, _ = await job_and_run(rig)
    theirs = await rig.add(mailed("other"), owner=BOB)
    await rig.store.tell([letter(theirs.id, 800)], {}, T0)
    await rig.store.tell([letter(job.id, n) for n in range(900, 905)], {}, T0)
    found = {run.key.rpartition("/")[2]: (run.state, run.reason) for run in await deliveries(rig)}
    why = "over 3 mails wait: the oldest go"
    assert {key: state for key, state in found.items() if state[0] is RunState.SKIPPED} == {
        "mail:900": (RunState.SKIPPED, why), "mail:901": (RunState.SKIPPED, why),
    }  # fmt: skip
    assert found["mail:800"][0] is found["mail:904"][0] is RunState.SCHEDULED
    assert [event.kind for event in await rig.store.mails(0, 100)][1:] == ["run.skipped"] * 2
    await rig.check()


async def test_of_failures_of_a_job_whose_output_somebody_gets_somebody_is_told(rig: Rig) -> None:
    job = await rig.add(mailed())
    await rig.add(spec("quiet"))
    assert (await rig.store.counts(ADA, T0)).untold == 1
    await rig.policies(job.id, mail=None)
    assert (await rig.store.counts(ADA, T0)).untold == 2
