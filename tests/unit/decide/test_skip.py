"""What is left out on request is the next there is, and the cursor goes behind it; what is taken back comes."""

from typing import Any

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.states import SkipReason
from jobctl_daemon.decide.skip import Skipped, skip, unskip
from jobctl_daemon.rows import DueJob, LedgerRow, Unskip
from jobctl_daemon.schedules import schedule_of

START = 1_800_000_000_000
MINUTE = 60_000


def job(spec: ScheduleSpec, **changes: Any) -> DueJob:
    facts = {"next_ms": START + MINUTE, "handled_ms": START, "policies": Policies()} | changes
    return DueJob(job_id=7, job_uid="u", name="n", version=1, schedule=spec, revision=1, created_ms=START, **facts)


def skipped(count: int, handled_ms: int = START, skip_until_ms: int | None = None, **schedule: Any) -> Skipped | None:
    spec = ScheduleSpec(timezone="UTC", **schedule)
    cursor = job(spec, handled_ms=handled_ms, skip_until_ms=skip_until_ms)
    return skip(cursor, schedule_of(spec), count, "skipped by ada", START + 1)


def test_the_next_ones_are_one_row_and_the_cursor_is_behind_them() -> None:
    left_out = skipped(3, every_ms=MINUTE, anchor_ms=START)
    assert left_out is not None
    row = left_out.row
    assert (row.from_ms, row.to_ms, row.count) == (START + MINUTE, START + 3 * MINUTE, 3)
    assert (row.reason, row.detail, row.run_id) == (SkipReason.ASKED, "skipped by ada", None)
    assert left_out.next_ms == START + 4 * MINUTE


def test_a_second_skip_goes_on_where_the_first_ended() -> None:
    left_out = skipped(1, handled_ms=START + 3 * MINUTE, every_ms=MINUTE, anchor_ms=START)
    assert left_out is not None
    assert left_out.row.from_ms == START + 4 * MINUTE


def test_a_second_skip_of_a_job_that_is_held_goes_on_there_too() -> None:
    left_out = skipped(1, skip_until_ms=START + 3 * MINUTE, every_ms=MINUTE, anchor_ms=START)
    assert left_out is not None
    assert left_out.row.from_ms == START + 4 * MINUTE


def test_a_one_shot_has_only_one_to_leave_out() -> None:
    left_out = skipped(5, at_ms=START + MINUTE)
    assert left_out is not None
    assert (left_out.row.count, left_out.next_ms) == (1, None)


@pytest.mark.parametrize("schedule", [{}, {"on_boot": True}, {"at_ms": START}, {"cron": "0 0 30 2 *"}])
def test_without_a_time_to_come_there_is_nothing_to_leave_out(schedule: dict[str, Any]) -> None:
    assert skipped(1, **schedule) is None


# ── and taken back ──────────────────────────────────────────────

EVERY = ScheduleSpec(timezone="UTC", every_ms=MINUTE, anchor_ms=START)


def asked(first: int, last: int) -> LedgerRow:
    from_ms, to_ms = START + first * MINUTE, START + last * MINUTE
    return LedgerRow(
        job_id=7, key=f"r:{from_ms}:{to_ms}", from_ms=from_ms, to_ms=to_ms, count=last - first + 1, run_id=None,
        reason=SkipReason.ASKED, detail="skipped by ada", at_ms=START,
    )  # fmt: skip


def taken_back(
    now_ms: int, until: int, *rows: LedgerRow, after_ms: int | None = None, spec: ScheduleSpec = EVERY, **cursor: Any
) -> Unskip | None:
    until_ms = START + until * MINUTE
    facts = {"handled_ms": until_ms, "next_ms": until_ms + MINUTE, "skip_until_ms": until_ms} | cursor
    return unskip(job(spec, **facts), schedule_of(spec), rows, now_ms, after_ms)


def test_what_is_ahead_is_due_again_and_its_row_goes() -> None:
    back = taken_back(START + 1, 5, asked(1, 3), asked(4, 5))
    assert back is not None
    assert [change.count for change in back.amended] == [0, 0]
    assert (back.next_ms, back.handled_ms) == (START + MINUTE, START + 1)


@pytest.mark.parametrize(("now_ms", "passed"), [(START + 2 * MINUTE, 2), (START + 3 * MINUTE - 1, 2)])
def test_what_has_passed_stays_left_out(now_ms: int, passed: int) -> None:
    back = taken_back(now_ms, 5, asked(1, 3), asked(4, 5))
    assert back is not None
    assert [(change.to_ms, change.count) for change in back.amended] == [
        (START + passed * MINUTE, passed), (START + 5 * MINUTE, 0),
    ]  # fmt: skip
    assert back.next_ms == START + (passed + 1) * MINUTE


@pytest.mark.parametrize("cursor", [{"skip_until_ms": None}, {"skip_until_ms": START + MINUTE}])
def test_where_nothing_is_left_out_nothing_is_taken_back(cursor: dict[str, Any]) -> None:
    assert taken_back(START + MINUTE, 5, **cursor) is None


def test_a_job_that_is_held_waits_for_nothing_and_goes_on_counting() -> None:
    skipped_before = taken_back(START + 2 * MINUTE, 5, suspended_since_ms=START + MINUTE)
    skipped_meanwhile = taken_back(START + 2 * MINUTE, 5, suspended_since_ms=START, handled_ms=START)
    assert skipped_before is not None
    assert skipped_meanwhile is not None
    assert (skipped_before.next_ms, skipped_before.handled_ms) == (None, START + 2 * MINUTE)
    assert (skipped_meanwhile.next_ms, skipped_meanwhile.handled_ms) == (None, START)


def test_what_the_clock_has_shown_before_it_was_set_back_does_not_run_again() -> None:
    back = taken_back(START, 9, asked(1, 9), after_ms=START + 5 * MINUTE)
    assert back is not None
    assert (back.next_ms, back.handled_ms) == (START + 6 * MINUTE, START + 5 * MINUTE)


def test_a_one_shot_has_its_time_again() -> None:
    once = ScheduleSpec(timezone="UTC", at_ms=START + 5 * MINUTE)
    back = taken_back(START, 5, asked(5, 5), spec=once, next_ms=None)
    assert back is not None
    assert (back.next_ms, [change.count for change in back.amended]) == (START + 5 * MINUTE, [0])
