"""An edit fires nothing by surprise, and leaves no occurrence without a row."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from jobctl.errors import InvalidInput
from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl.states import SkipReason
from jobctl_daemon.decide.edit import edit
from jobctl_daemon.rows import Amendment, DueJob, Edit, LedgerRow
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


def edited(
    old: JobSpec, new: JobSpec, now_ms: int, *, broken: bool = False, asked: Sequence[LedgerRow] = (), **cursor: Any
) -> Edit:
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
    return edit(job, old, new, 3, was, schedule_of(new.schedule), now_ms, asked)


def test_a_new_schedule_counts_from_the_moment_of_the_edit() -> None:
    new = definition(cron="* * * * *")
    decision = edited(definition(**EVERY), new, START + 10 * MINUTE)
    assert (decision.schedule_changed, decision.execution_changed) == (True, False)
    assert decision.next_ms == START + 11 * MINUTE
    assert decision.rev == 3


def test_what_the_old_schedule_had_due_and_nobody_handled_is_one_row() -> None:
    (row,) = edited(definition(**EVERY), definition(), START + 10 * MINUTE, handled_ms=START + 7 * MINUTE).rows
    assert (row.from_ms, row.to_ms, row.count) == (START + 8 * MINUTE, START + 10 * MINUTE, 3)
    assert (row.reason, row.run_id, row.job_id) == (SkipReason.EDITED, None, 7)


@pytest.mark.parametrize(("held", "reason"), [({}, SkipReason.PAUSED), ({"quarantined": True}, SkipReason.QUARANTINED)])
def test_a_held_job_waits_for_nothing_and_its_row_names_the_pause(held: dict[str, Any], reason: SkipReason) -> None:
    decision = edited(
        definition(**EVERY), definition(cron="* * * * *"), START + MINUTE, suspended_since_ms=START, **held
    )
    (row,) = decision.rows
    assert (row.reason, decision.next_ms) == (reason, None)


def test_an_unchanged_schedule_is_not_touched_whatever_its_words() -> None:
    old = definition(**EVERY, words="every minute")
    new = msgspec.structs.replace(definition(**EVERY, words="each minute"), queue="q", priority=-5)
    decision = edited(old, new, START + 10 * MINUTE)
    assert (decision.schedule_changed, decision.rows, decision.next_ms) == (False, (), None)
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
    (row,) = edited(definition(at_ms=at_ms), definition(**EVERY), START + MINUTE).rows
    assert (row.from_ms, row.to_ms, row.count) == (at_ms, at_ms, 1)


def test_a_one_shot_that_ran_or_is_ahead_has_nothing_to_write_down() -> None:
    ran = edited(definition(at_ms=START + 5), definition(**EVERY), START + MINUTE, handled_ms=START + 10)
    ahead = edited(definition(at_ms=START + 2 * MINUTE), definition(**EVERY), START + MINUTE)
    assert (ran.rows, ahead.rows) == ((), ())


@pytest.mark.parametrize("schedule", [{}, {"on_boot": True}, {"on_start": True}, {"cron": "0 0 30 2 *"}])
def test_a_schedule_without_a_time_waits_for_none(schedule: dict[str, Any]) -> None:
    decision = edited(definition(**EVERY), definition(**schedule), START)
    assert (decision.schedule_changed, decision.next_ms) == (True, None)


def test_a_schedule_that_cannot_be_expanded_any_more_can_be_replaced() -> None:
    decision = edited(definition(**EVERY), definition(cron="* * * * *"), START + 5 * MINUTE, broken=True)
    assert (decision.rows, decision.next_ms) == ((), START + 6 * MINUTE)


# ── what was left out ──────────────────────────────────────────────


def left_out(*minutes: int, detail: str = "skipped by ada") -> LedgerRow:
    """The row of the occurrences from the first to the last of these minutes."""
    from_ms, to_ms = START + minutes[0] * MINUTE, START + minutes[-1] * MINUTE
    return LedgerRow(
        job_id=7, key=f"r:{from_ms}:{to_ms}", from_ms=from_ms, to_ms=to_ms, count=minutes[-1] - minutes[0] + 1,
        run_id=None, reason=SkipReason.ASKED, detail=detail, at_ms=START,
    )  # fmt: skip


def told(rows: Sequence[LedgerRow]) -> list[tuple[int, int, int, str | None]]:
    """First and last minute, number and words."""
    return [((row.from_ms - START) // MINUTE, (row.to_ms - START) // MINUTE, row.count, row.detail) for row in rows]


def after_skip(new: JobSpec, until: int, *asked: LedgerRow, now_ms: int = START, **cursor: Any) -> Edit:
    """An edit of a minutely job that leaves out what is due up to a minute."""
    until_ms = START + until * MINUTE
    handled = {"handled_ms": until_ms, "next_ms": until_ms + MINUTE} | cursor
    return edited(definition(**EVERY), new, now_ms, asked=asked, skip_until_ms=until_ms, **handled)


def test_a_skip_holds_through_an_edit_and_keeps_its_row() -> None:
    decision = after_skip(definition(**EVERY, jitter_ms=1000), 2, left_out(1, 2))
    assert decision.schedule_changed
    assert (decision.next_ms, decision.handled_ms, decision.skip_until_ms) == (
        START + 3 * MINUTE, START + 2 * MINUTE, START + 2 * MINUTE,
    )  # fmt: skip
    assert (decision.rows, decision.amended) == ((), ())


def test_other_times_are_left_out_up_to_the_same_instant() -> None:
    asked = left_out(1, 6)
    decision = after_skip(definition(every_ms=2 * MINUTE, anchor_ms=START), 6, asked)
    assert decision.next_ms == START + 8 * MINUTE
    assert told(decision.rows) == [(2, 6, 3, "skipped by ada")]
    assert [(change.key, change.count) for change in decision.amended] == [(asked.key, 0)]


def test_each_of_several_skips_goes_on_up_to_its_end() -> None:
    asked = [left_out(1, 3, detail="ada"), left_out(4, 6, detail="bob")]
    decision = after_skip(definition(every_ms=2 * MINUTE, anchor_ms=START), 6, *asked)
    assert told(decision.rows) == [(2, 2, 1, "ada"), (4, 6, 2, "bob")]
    assert [change.count for change in decision.amended] == [0, 0]


def test_what_has_passed_of_a_skip_stays_as_it_was() -> None:
    asked = left_out(1, 6)
    now_ms = START + 3 * MINUTE + 1
    decision = after_skip(definition(every_ms=2 * MINUTE, anchor_ms=START), 6, asked, now_ms=now_ms)
    assert decision.amended == (
        Amendment(from_ms=asked.from_ms, key=asked.key, to_ms=START + 3 * MINUTE, count=3),
    )  # fmt: skip
    assert told(decision.rows) == [(4, 6, 2, "skipped by ada")]


def test_a_schedule_with_no_time_before_the_end_of_a_skip_has_no_row_and_the_next_one_has() -> None:
    away = after_skip(definition(), 6, left_out(1, 6))
    assert (away.rows, away.next_ms, away.skip_until_ms) == ((), None, START + 6 * MINUTE)
    back = edited(
        definition(), definition(**EVERY), START, skip_until_ms=away.skip_until_ms, handled_ms=away.handled_ms
    )
    assert told(back.rows) == [(1, 6, 6, "left out before its schedule was edited")]
    assert back.next_ms == START + 7 * MINUTE


def test_a_skip_that_has_passed_is_nothing() -> None:
    decision = after_skip(definition(cron="* * * * *"), 2, now_ms=START + 3 * MINUTE)
    assert (decision.handled_ms, decision.skip_until_ms) == (START + 3 * MINUTE, None)
    assert told(decision.rows) == [(3, 3, 1, "its schedule was edited")]


def test_a_single_instant_is_asked_for_itself_and_not_left_out() -> None:
    decision = after_skip(definition(at_ms=START + 4 * MINUTE), 6, left_out(1, 6))
    assert (decision.next_ms, decision.skip_until_ms, decision.rows) == (START + 4 * MINUTE, None, ())
    assert [change.count for change in decision.amended] == [0]


def test_of_a_held_job_what_was_left_out_meanwhile_is_not_missed_as_well() -> None:
    new = definition(every_ms=2 * MINUTE, anchor_ms=START)
    held = {"suspended_since_ms": START, "suspended_why": "the job was paused by ada", "handled_ms": START,
            "next_ms": None, "left_out": ((START + 3 * MINUTE, START + 6 * MINUTE),)}  # fmt: skip
    decision = after_skip(new, 6, left_out(3, 6), now_ms=START + 4 * MINUTE, **held)
    assert told(decision.rows) == [(1, 2, 2, "the job was paused by ada"), (6, 6, 1, "skipped by ada")]
    assert (decision.next_ms, decision.handled_ms) == (None, START + 6 * MINUTE)
    assert [(change.to_ms, change.count) for change in decision.amended] == [(START + 4 * MINUTE, 2)]
