"""What is left out on request is the next there is, and the cursor goes behind it."""

from typing import Any

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.states import SkipReason
from jobctl_daemon.decide.skip import Skipped, skip
from jobctl_daemon.rows import DueJob
from jobctl_daemon.schedules import schedule_of

START = 1_800_000_000_000
MINUTE = 60_000


def skipped(count: int, handled_ms: int = START, **schedule: Any) -> Skipped | None:
    spec = ScheduleSpec(timezone="UTC", **schedule)
    job = DueJob(
        job_id=7,
        job_uid="u",
        name="n",
        version=1,
        schedule=spec,
        policies=Policies(),
        next_ms=START + MINUTE,
        handled_ms=handled_ms,
        revision=1,
        created_ms=START,
    )
    return skip(job, schedule_of(spec), count, "skipped by ada", START + 1)


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


def test_a_one_shot_has_only_one_to_leave_out() -> None:
    left_out = skipped(5, at_ms=START + MINUTE)
    assert left_out is not None
    assert (left_out.row.count, left_out.next_ms) == (1, None)


@pytest.mark.parametrize("schedule", [{}, {"on_boot": True}, {"at_ms": START}, {"cron": "0 0 30 2 *"}])
def test_without_a_time_to_come_there_is_nothing_to_leave_out(schedule: dict[str, Any]) -> None:
    assert skipped(1, **schedule) is None
