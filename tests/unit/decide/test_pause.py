"""What a pause swallowed becomes one row."""

from typing import Any

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.states import SkipReason
from jobctl_daemon.decide.pause import COUNTED_MAX, resumption
from jobctl_daemon.rows import DueJob, LedgerRow
from jobctl_daemon.schedules import schedule_of

START = 1_800_000_000_000
MINUTE = 60_000


def missed(now_ms: int, handled_ms: int = START, **schedule: Any) -> tuple[LedgerRow | None, int | None]:
    spec = ScheduleSpec(timezone="UTC", **schedule)
    job = DueJob(
        job_id=7,
        job_uid="u",
        name="n",
        version=1,
        schedule=spec,
        policies=Policies(),
        next_ms=None,
        handled_ms=handled_ms,
        revision=1,
        created_ms=START,
        suspended_since_ms=START,
    )
    decided = resumption(job, schedule_of(spec), now_ms, catch_up=False)
    assert (decided.job_id, decided.revision, decided.runs) == (7, 1, ())
    assert len(decided.rows) <= 1
    return (decided.rows[0] if decided.rows else None), decided.next_ms


def test_all_of_them_are_one_row_and_the_next_is_after_now() -> None:
    row, next_ms = missed(START + 10 * MINUTE + 1, every_ms=MINUTE, anchor_ms=START)
    assert row is not None
    assert (row.from_ms, row.to_ms, row.count) == (START + MINUTE, START + 10 * MINUTE, 10)
    assert (row.reason, row.run_id, row.job_id) == (SkipReason.PAUSED, None, 7)
    assert next_ms == START + 11 * MINUTE


def test_an_occurrence_at_the_very_end_is_missed_and_not_run_as_well() -> None:
    row, next_ms = missed(START + MINUTE, every_ms=MINUTE, anchor_ms=START)
    assert (row and row.count, next_ms) == (1, START + 2 * MINUTE)


def test_a_pause_between_two_occurrences_misses_nothing() -> None:
    assert missed(START + MINUTE - 1, every_ms=MINUTE, anchor_ms=START) == (None, START + MINUTE)


@pytest.mark.parametrize("schedule", [{}, {"on_boot": True}, {"on_start": True}, {"cron": "0 0 30 2 *"}])
def test_what_waits_for_no_time_misses_nothing(schedule: dict[str, Any]) -> None:
    assert missed(START + 10**9, **schedule) == (None, None)


def test_a_one_shot_is_not_missed_but_late() -> None:
    assert missed(START + MINUTE, at_ms=START + 5) == (None, START + 5)
    assert missed(START + MINUTE, at_ms=START - 5) == (None, START - 5)
    assert missed(START + MINUTE, handled_ms=START + 10, at_ms=START + 5) == (None, None)


def test_years_are_counted_up_to_a_bound_and_say_so() -> None:
    row, _ = missed(START + 10**11, every_ms=1000, anchor_ms=START)
    assert row is not None
    assert row.count == COUNTED_MAX
    assert "at least" in (row.detail or "")
