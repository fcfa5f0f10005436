"""An edit fires nothing by surprise, and leaves no occurrence without a row."""

from typing import Any

import msgspec
import pytest

from jobctl.errors import InvalidInput
from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl.states import SkipReason
from jobctl_daemon.decide.edit import edit
from jobctl_daemon.rows import DueJob, Edit
from jobctl_daemon.schedules import schedule_of

START = 1_800_000_000_000
MINUTE = 60_000
EVERY = {"every_ms": MINUTE, "anchor_ms": START}


def definition(**schedule: Any) -> JobSpec:
    return JobSpec(
        name="n",
        schedule=ScheduleSpec(timezone="UTC", **schedule),
        execution=Execution(command=["true"]),
        policies=Policies(),
    )


def edited(old: JobSpec, new: JobSpec, now_ms: int, *, broken: bool = False, **cursor: Any) -> Edit:
    job = DueJob(
        job_id=7,
        job_uid="u",
        name="n",
        version=1,
        schedule=old.schedule,
        policies=old.policies,
        revision=1,
        created_ms=START,
        **{"next_ms": None, "handled_ms": START, **cursor},
    )
    was = None if broken else schedule_of(old.schedule)
    return edit(job, old, new, 3, was, schedule_of(new.schedule), now_ms)


def test_a_new_schedule_counts_from_the_moment_of_the_edit() -> None:
    new = definition(cron="* * * * *")
    decision = edited(definition(**EVERY), new, START + 10 * MINUTE)
    assert (decision.schedule_changed, decision.execution_changed) == (True, False)
    assert decision.next_ms == START + 11 * MINUTE
    assert decision.rev == 3


def test_what_the_old_schedule_had_due_and_nobody_handled_is_one_row() -> None:
    row = edited(definition(**EVERY), definition(), START + 10 * MINUTE, handled_ms=START + 7 * MINUTE).missed
    assert row is not None
    assert (row.from_ms, row.to_ms, row.count) == (START + 8 * MINUTE, START + 10 * MINUTE, 3)
    assert (row.reason, row.run_id, row.job_id) == (SkipReason.EDITED, None, 7)


@pytest.mark.parametrize(("held", "reason"), [({}, SkipReason.PAUSED), ({"quarantined": True}, SkipReason.QUARANTINED)])
def test_a_held_job_waits_for_nothing_and_its_row_names_the_pause(held: dict[str, Any], reason: SkipReason) -> None:
    decision = edited(
        definition(**EVERY), definition(cron="* * * * *"), START + MINUTE, suspended_since_ms=START, **held
    )
    assert decision.missed is not None
    assert (decision.missed.reason, decision.next_ms) == (reason, None)


def test_an_unchanged_schedule_is_not_touched_whatever_its_words() -> None:
    old = definition(**EVERY, words="every minute")
    new = msgspec.structs.replace(definition(**EVERY, words="each minute"), queue="q", priority=-5)
    decision = edited(old, new, START + 10 * MINUTE)
    assert (decision.schedule_changed, decision.missed, decision.next_ms) == (False, None, None)
    assert (decision.queue, decision.priority) == ("q", -5)


def test_another_command_makes_a_version_and_another_policy_does_not() -> None:
    old = definition(**EVERY)
    command = msgspec.structs.replace(old, execution=Execution(shell="date"))
    policy = msgspec.structs.replace(old, policies=Policies(retries=3))
    assert edited(old, command, START).execution_changed
    assert not edited(old, policy, START).execution_changed


@pytest.mark.parametrize("at_ms", [START - 1, START])
def test_a_single_instant_that_has_passed_is_refused(at_ms: int) -> None:
    with pytest.raises(InvalidInput) as refused:
        edited(definition(**EVERY), definition(at_ms=at_ms), START)
    assert refused.value.field == "schedule.at"


def test_a_one_shot_that_has_passed_may_change_anything_but_its_time() -> None:
    old = definition(at_ms=START - MINUTE)
    assert not edited(old, msgspec.structs.replace(old, queue="q"), START).schedule_changed


def test_a_single_instant_ahead_is_waited_for() -> None:
    assert edited(definition(**EVERY), definition(at_ms=START + 5), START).next_ms == START + 5


@pytest.mark.parametrize("at_ms", [START - MINUTE, START, START + MINUTE])
def test_a_one_shot_that_was_due_and_has_not_run_gets_its_row(at_ms: int) -> None:
    row = edited(definition(at_ms=at_ms), definition(**EVERY), START + MINUTE).missed
    assert row is not None
    assert (row.from_ms, row.to_ms, row.count) == (at_ms, at_ms, 1)


def test_a_one_shot_that_ran_or_is_ahead_has_nothing_to_write_down() -> None:
    ran = edited(definition(at_ms=START + 5), definition(**EVERY), START + MINUTE, handled_ms=START + 10)
    ahead = edited(definition(at_ms=START + 2 * MINUTE), definition(**EVERY), START + MINUTE)
    assert (ran.missed, ahead.missed) == (None, None)


@pytest.mark.parametrize("schedule", [{}, {"on_boot": True}, {"on_start": True}, {"cron": "0 0 30 2 *"}])
def test_a_schedule_without_a_time_waits_for_none(schedule: dict[str, Any]) -> None:
    decision = edited(definition(**EVERY), definition(**schedule), START)
    assert (decision.schedule_changed, decision.next_ms) == (True, None)


def test_a_schedule_that_cannot_be_expanded_any_more_can_be_replaced() -> None:
    decision = edited(definition(**EVERY), definition(cron="* * * * *"), START + 5 * MINUTE, broken=True)
    assert (decision.missed, decision.next_ms) == (None, START + 6 * MINUTE)
