"""What the wall clock did, and what becomes of cursors, backlogs and ages because of it."""

from typing import Any

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.schedule import Cron, Every, OnBoot, Once, Schedule
from jobctl.states import Misfire, SkipReason, Trigger
from jobctl_daemon.decide import due
from jobctl_daemon.decide.clock import (
    Gap,
    Reading,
    age_judged_at_ms,
    cause,
    down,
    expected_ms,
    set_back,
    set_forward,
    slept,
)
from jobctl_daemon.decide.set_back import aim, held_until, is_fixed
from jobctl_daemon.decide.storm import APART_MS, AT_ONCE, catch_ups, paced
from jobctl_daemon.rows import ClockStep, DueJob, NewRun
from jobctl_daemon.schedules import ByHand

SECOND = 1_000
MINUTE = 60_000
HOUR = 3_600_000
DAY = 86_400_000
#: 2027-01-16T00:00:00Z
T0 = 1_800_057_600_000
START = Reading(T0, 5 * MINUTE, 4 * MINUTE)
MINUTELY = Cron("* * * * *", "UTC")
DAILY = Cron("0 3 * * *", "UTC")


def later(ms: int, *, step: int = 0, asleep: int = 0) -> Reading:
    """So much time after START, with a clock that was set and a machine that slept for a part of it."""
    return Reading(T0 + ms + step, START.boot_ms + ms, START.awake_ms + ms - asleep)


def job(handled_ms: int, next_ms: int | None = None, **facts: Any) -> DueJob:
    given = {"policies": Policies(), "schedule": ScheduleSpec(timezone="UTC")} | facts
    return DueJob(
        job_id=7,
        job_uid="abc",
        name="backup",
        version=3,
        next_ms=next_ms,
        handled_ms=handled_ms,
        revision=11,
        created_ms=0,
        **given,
    )


# ── what the clock did ──────────────────────────────────────────────


def test_time_that_passes_is_no_gap() -> None:
    now = later(DAY)
    assert expected_ms(START, now) == now.now_ms
    assert (slept(START, now), set_forward(START, now)) == (None, None)


@pytest.mark.parametrize("wobble", [-1_500, 1_500])
def test_a_small_difference_between_the_clocks_is_no_step(wobble: int) -> None:
    now = later(HOUR, step=wobble)
    assert set_forward(START, now) is None
    assert set_back(expected_ms(START, now), now.now_ms, None, ()) is None


def test_a_step_forward_leaves_out_what_lies_between_the_expected_time_and_the_shown_one() -> None:
    gap = set_forward(START, later(MINUTE, step=HOUR))
    assert gap is not None
    assert (gap.from_ms, gap.to_ms, gap.reason) == (T0 + MINUTE, T0 + MINUTE + HOUR, SkipReason.CLOCK)
    assert gap.words == "the clock was set forward from 2027-01-16T00:01:00Z to 2027-01-16T01:01:00Z"


def test_a_sleep_ends_where_it_is_noticed() -> None:
    now = later(2 * HOUR, asleep=HOUR)
    gap = slept(START, now)
    assert gap is not None
    assert (gap.from_ms, gap.to_ms, gap.reason) == (T0 + HOUR, T0 + 2 * HOUR, SkipReason.CLOCK)
    assert "slept" in gap.words
    assert set_forward(START, now) is None


def test_a_clock_that_is_set_at_the_end_of_a_sleep_is_both() -> None:
    now = later(2 * HOUR, asleep=HOUR, step=DAY)
    gaps = [slept(START, now), set_forward(START, now)]
    assert [gap and gap.length_ms for gap in gaps] == [HOUR, DAY]


def test_the_time_without_a_daemon_begins_with_the_last_sign_of_life() -> None:
    gap = down(T0, T0 + HOUR)
    assert gap is not None
    assert (gap.from_ms, gap.to_ms, gap.reason) == (T0, T0 + HOUR, SkipReason.DOWN)
    assert down(None, T0) is None
    assert down(T0 + 1, T0) is None


@pytest.mark.parametrize(
    ("behind", "correction"), [(MINUTE + 1, False), (2 * HOUR, False), (3 * HOUR, False), (3 * HOUR + 1, True)]
)
def test_a_clock_behind_by_over_a_minute_was_set_back_and_by_over_three_hours_corrected(
    behind: int, correction: bool
) -> None:
    step = set_back(T0, T0 - behind, None, ())
    assert step is not None
    assert (step.from_ms, step.to_ms, step.correction) == (T0, T0 - behind, correction)
    assert step.held_ms == (step.to_ms if correction else T0)


def test_a_minute_behind_is_no_step() -> None:
    assert set_back(T0, T0 - MINUTE, None, ()) is None


def test_steps_back_that_follow_each_other_count_together() -> None:
    first = set_back(T0, T0 - 2 * HOUR, None, ())
    second = set_back(T0 - 2 * HOUR, T0 - 3 * HOUR, first, ())
    third = set_back(T0 - 3 * HOUR, T0 - 4 * HOUR, second, ())
    assert [step and step.correction for step in (first, second, third)] == [False, False, True]
    assert second is not None
    assert second.held_ms == T0
    afterwards = set_back(T0 + HOUR, T0 - HOUR, first, ())
    assert afterwards is not None
    assert (afterwards.correction, afterwards.held_ms) == (False, T0 + HOUR)


def test_a_step_that_takes_a_leap_back_is_told_from_one_into_the_unknown() -> None:
    leap = Gap(T0, T0 + 3650 * DAY, SkipReason.CLOCK, "forward")
    undone = set_back(leap.to_ms + MINUTE, T0 + MINUTE, None, [leap])
    too_far = set_back(leap.to_ms + MINUTE, 20_000, None, [leap])
    assert undone is not None
    assert too_far is not None
    assert (undone.undoes, too_far.undoes) == (True, False)


# ── why occurrences were missed ──────────────────────────────────────────────


def test_what_was_missed_outside_of_every_gap_is_a_misfire() -> None:
    gap = Gap(T0, T0 + HOUR, SkipReason.DOWN, "down")
    assert cause([], T0, T0)[0] is SkipReason.MISFIRE
    assert cause([gap], T0 + HOUR + 1, T0 + 2 * HOUR)[0] is SkipReason.MISFIRE
    assert cause([gap], T0 + 1, T0 + 1) == (SkipReason.DOWN, "down")


def test_the_gap_with_the_most_of_it_says_why() -> None:
    asleep = Gap(T0, T0 + HOUR, SkipReason.CLOCK, "slept")
    off = Gap(T0 + HOUR, T0 + 9 * HOUR, SkipReason.DOWN, "down")
    assert cause([asleep, off], T0 + MINUTE, T0 + 8 * HOUR) == (SkipReason.DOWN, "down")
    assert cause([asleep, off], T0 + MINUTE, T0 + HOUR + MINUTE) == (SkipReason.CLOCK, "slept")


def test_the_row_of_a_backlog_says_why_and_how_many() -> None:
    asleep = Gap(T0, T0 + 10 * MINUTE, SkipReason.CLOCK, "the machine slept")
    late = job(T0, T0 + MINUTE, policies=Policies(misfire=Misfire.ONCE))
    (row,) = due.expand(late, MINUTELY, T0 + 10 * MINUTE, [asleep]).skips
    assert (row.reason, row.count) == (SkipReason.CLOCK, 9)
    assert row.detail == "the machine slept; misfire once, 9 missed"


# ── generations ──────────────────────────────────────────────


def test_keys_carry_the_generation_when_the_clock_was_ever_set_back() -> None:
    young, old = job(T0, T0 + MINUTE), job(T0, T0 + MINUTE, generation=2)
    now_ms = T0 + 5 * MINUTE
    plain, marked = due.expand(young, MINUTELY, now_ms), due.expand(old, MINUTELY, now_ms)
    assert [run.key for run in plain.runs] == [f"s:{now_ms}"]
    assert [run.key for run in marked.runs] == [f"s:{now_ms}:2"]
    assert [row.key for row in plain.skips] == [f"r:{T0 + MINUTE}:{T0 + 4 * MINUTE}"]
    assert [row.key for row in marked.skips] == [f"r:{T0 + MINUTE}:{T0 + 4 * MINUTE}:2"]


@pytest.mark.parametrize(
    ("generation", "late", "once_ever"), [(0, HOUR, False), (1, 30 * SECOND, False), (1, 2 * MINUTE, True)]
)
def test_only_a_catch_up_under_a_clock_that_was_set_back_looks_for_a_run_of_the_same_instant(
    generation: int, late: int, once_ever: bool
) -> None:
    at_ms = T0 + 3 * HOUR
    (run,) = due.expand(job(T0, at_ms, generation=generation), DAILY, at_ms + late).runs
    assert run.once_ever is once_ever


def test_a_leap_over_time_that_was_lived_before_starts_where_its_rows_end() -> None:
    born_again = job(20_000, 3 * HOUR, generation=1)
    expansion = due.expand(born_again, DAILY, T0 + 9 * HOUR, covered_ms=T0 - 21 * HOUR)
    assert [run.slot_ms for run in expansion.runs] == [T0 + 3 * HOUR]
    assert expansion.skips == ()
    nothing_new = due.expand(born_again, DAILY, T0 + 9 * HOUR, covered_ms=T0 + 3 * HOUR)
    assert (nothing_new.runs, nothing_new.skips, nothing_new.next_ms) == ((), (), T0 + 27 * HOUR)


def test_what_somebody_asked_to_skip_stays_skipped_when_the_clock_leaps_back() -> None:
    expansion = due.expand(job(20_000, 3 * HOUR, generation=1), DAILY, T0 + 9 * HOUR, covered_ms=T0 + 27 * HOUR)
    assert (expansion.runs, expansion.next_ms, expansion.handled_ms) == ((), T0 + 51 * HOUR, T0 + 27 * HOUR)


def test_a_missed_single_instant_runs_whatever_has_rows() -> None:
    expansion = due.expand(job(T0, T0 - HOUR), Once(T0 - HOUR), T0 + HOUR, covered_ms=T0)
    assert [run.slot_ms for run in expansion.runs] == [T0 - HOUR]


# ── cursors after a step back ──────────────────────────────────────────────

TWO_HOURS = ClockStep(from_ms=T0 + 4 * HOUR, to_ms=T0 + 2 * HOUR, held_ms=T0 + 4 * HOUR)
A_DAY = ClockStep(from_ms=T0 + 4 * HOUR, to_ms=T0 - 20 * HOUR, held_ms=T0 - 20 * HOUR, correction=True)


@pytest.mark.parametrize(
    ("schedule", "fixed"),
    [
        (DAILY, True),
        (Cron("30 0-23 * * *", "UTC"), True),
        (Cron("@daily", "UTC"), True),
        (MINUTELY, False),
        (Cron("5 */2 * * *", "UTC"), False),
        (Cron("@hourly", "UTC"), False),
        (Every(interval_ms=MINUTE, anchor_ms=0), False),
    ],
)
def test_fixed_are_the_times_that_cron_would_call_so(schedule: Schedule, fixed: bool) -> None:
    assert is_fixed(schedule) is fixed


@pytest.mark.parametrize("schedule", [MINUTELY, Every(interval_ms=7 * MINUTE, anchor_ms=T0 + DAY)])
def test_what_follows_the_minutes_goes_on_within_its_period(schedule: Schedule) -> None:
    now_ms = TWO_HOURS.to_ms + 500
    moved = aim(job(T0 + 4 * HOUR, T0 + 5 * HOUR), schedule, TWO_HOURS, now_ms)
    assert moved is not None
    assert moved.next_ms is not None
    assert now_ms < moved.next_ms <= now_ms + 7 * MINUTE
    assert (moved.handled_ms, moved.runs, moved.skips, moved.revision) == (now_ms, (), (), 11)


def test_a_fixed_time_that_has_run_does_not_come_again_and_a_row_says_so() -> None:
    stays = aim(job(T0 + 3 * HOUR, T0 + 27 * HOUR, generation=1), DAILY, TWO_HOURS, TWO_HOURS.to_ms)
    assert stays is not None
    assert (stays.next_ms, stays.handled_ms) == (T0 + 27 * HOUR, T0 + 3 * HOUR)
    (row,) = stays.skips
    assert (row.from_ms, row.to_ms, row.count) == (T0 + 3 * HOUR, T0 + 3 * HOUR, 1)
    assert (row.reason, row.run_id) == (SkipReason.CLOCK, None)
    assert "2027-01-16T04:00:00Z to 2027-01-16T02:00:00Z" in (row.detail or "")


def test_the_second_look_writes_the_same_row_again() -> None:
    once = aim(job(T0 + 3 * HOUR, T0 + 27 * HOUR, generation=1), DAILY, TWO_HOURS, TWO_HOURS.to_ms)
    again = aim(job(T0 + 3 * HOUR, T0 + 27 * HOUR, generation=1), DAILY, TWO_HOURS, TWO_HOURS.to_ms + 10_000)
    assert once is not None
    assert again is not None
    assert once.skips[0].key == again.skips[0].key


def test_a_fixed_time_outside_of_the_stretch_needs_no_row() -> None:
    early = Cron("0 1 * * *", "UTC")
    assert aim(job(T0 + 4 * HOUR, T0 + 25 * HOUR), early, TWO_HOURS, TWO_HOURS.to_ms) is None


@pytest.mark.parametrize("schedule", [MINUTELY, DAILY, Every(interval_ms=HOUR, anchor_ms=0)])
def test_the_correction_of_a_clock_aims_everything_at_now(schedule: Schedule) -> None:
    moved = aim(job(T0 + 3650 * DAY, T0 + 3651 * DAY), schedule, A_DAY, A_DAY.to_ms)
    expected = schedule.next_after(A_DAY.to_ms)
    assert moved is not None
    assert expected is not None
    assert (moved.next_ms, moved.handled_ms, moved.skips) == (expected.at_ms, A_DAY.to_ms, ())


@pytest.mark.parametrize("step", [TWO_HOURS, A_DAY])
@pytest.mark.parametrize("schedule", [Once(T0 + 5 * HOUR), Once(T0 + 3 * HOUR), OnBoot(), ByHand()])
def test_a_single_instant_and_what_waits_for_no_time_stay(schedule: Schedule, step: ClockStep) -> None:
    assert aim(job(T0 + 4 * HOUR, None), schedule, step, step.to_ms) is None


def test_a_cursor_that_does_not_stand_beyond_now_stays() -> None:
    assert aim(job(TWO_HOURS.to_ms, T0 + 5 * HOUR), MINUTELY, TWO_HOURS, TWO_HOURS.to_ms) is None


def test_what_somebody_asked_to_skip_stays_skipped_over_a_small_step() -> None:
    until = {"skip_until_ms": T0 + 6 * HOUR}
    assert aim(job(T0 + 6 * HOUR, T0 + 6 * HOUR + MINUTE, **until), MINUTELY, TWO_HOURS, TWO_HOURS.to_ms) is None
    daily = aim(job(T0 + 27 * HOUR, T0 + 51 * HOUR, **until), DAILY, TWO_HOURS, TWO_HOURS.to_ms)
    assert daily is not None
    assert (daily.handled_ms, daily.skip_until_ms) == (T0 + 27 * HOUR, T0 + 6 * HOUR)


def test_what_was_skipped_after_a_small_step_stays_skipped_at_the_second_look() -> None:
    until_ms = TWO_HOURS.to_ms + 5 * MINUTE
    skipped = job(until_ms, until_ms + MINUTE, skip_until_ms=until_ms)
    assert aim(skipped, MINUTELY, TWO_HOURS, TWO_HOURS.to_ms + 10_000) is None


def test_the_correction_of_a_clock_ends_what_was_skipped_by_the_wrong_one() -> None:
    moved = aim(job(T0 + 6 * HOUR, T0 + 7 * HOUR, skip_until_ms=T0 + 6 * HOUR), MINUTELY, A_DAY, A_DAY.to_ms)
    assert moved is not None
    assert (moved.handled_ms, moved.skip_until_ms) == (A_DAY.to_ms, None)


@pytest.mark.parametrize(
    ("schedule", "last", "until_ms"),
    [
        (DAILY, TWO_HOURS, TWO_HOURS.held_ms),
        (MINUTELY, TWO_HOURS, TWO_HOURS.to_ms),
        (DAILY, A_DAY, TWO_HOURS.to_ms),
        (DAILY, None, TWO_HOURS.to_ms),
    ],
)
def test_fixed_times_are_held_until_the_clock_shows_again_what_it_has_shown(
    schedule: Schedule, last: ClockStep | None, until_ms: int
) -> None:
    assert held_until(schedule, last, TWO_HOURS.to_ms) == until_ms


def test_a_paused_job_counts_from_the_corrected_time() -> None:
    paused = job(T0 + 4 * HOUR, None, suspended_since_ms=T0)
    moved = aim(paused, MINUTELY, A_DAY, A_DAY.to_ms)
    assert moved is not None
    assert (moved.next_ms, moved.handled_ms) == (None, A_DAY.to_ms)


def test_a_paused_job_stays_out_of_the_due_index_after_a_small_step_too() -> None:
    paused = job(T0 + 4 * HOUR, None, suspended_since_ms=T0)
    moved = aim(paused, MINUTELY, TWO_HOURS, TWO_HOURS.to_ms)
    assert moved is not None
    assert (moved.next_ms, moved.handled_ms) == (None, TWO_HOURS.to_ms)
    stays = aim(paused, DAILY, TWO_HOURS, TWO_HOURS.to_ms)
    assert stays is not None
    assert (stays.next_ms, stays.handled_ms, len(stays.skips)) == (None, T0 + 4 * HOUR, 1)


# ── a storm of catch-ups ──────────────────────────────────────────────


def catch_up(number: int, trigger: Trigger = Trigger.CATCH_UP) -> NewRun:
    at_ms = T0 - HOUR + number
    return NewRun(key=f"s:{at_ms}", slot_ms=at_ms, due_ms=at_ms, start_by_ms=T0 + MINUTE, trigger=trigger)


def test_the_first_catch_ups_start_at_once_and_the_others_one_after_another() -> None:
    runs = paced([catch_up(number) for number in range(AT_ONCE + 3)], 0, T0)
    assert all(run.due_ms < T0 for run in runs[:AT_ONCE])
    assert [run.due_ms for run in runs[AT_ONCE:]] == [T0 + APART_MS, T0 + 2 * APART_MS, T0 + 3 * APART_MS]
    assert [run.start_by_ms for run in runs[AT_ONCE:]] == [
        T0 + MINUTE + APART_MS,
        T0 + MINUTE + 2 * APART_MS,
        T0 + MINUTE + 3 * APART_MS,
    ]


def test_the_next_transaction_of_the_same_backlog_goes_on_where_the_last_one_ended() -> None:
    first = [catch_up(number) for number in range(100)]
    assert catch_ups(first) == 100
    (run,) = paced([catch_up(100)], 100, T0)
    assert run.due_ms == T0 + 85 * APART_MS
    assert 10_000 * APART_MS // SECOND == 200


def test_what_is_on_time_is_not_delayed_by_a_storm() -> None:
    on_time = catch_up(0, Trigger.SCHEDULE)
    assert paced([on_time], 5_000, T0) == (on_time,)
    assert catch_ups([on_time]) == 0


# ── age ──────────────────────────────────────────────


def test_age_is_judged_by_the_time_before_a_great_leap_until_it_has_stood_for_an_hour() -> None:
    leap = Gap(T0, T0 + 3650 * DAY, SkipReason.CLOCK, "forward")
    now = later(59 * MINUTE, step=3650 * DAY)
    assert age_judged_at_ms(now, leap, START.boot_ms) == T0 + 59 * MINUTE
    now = later(HOUR, step=3650 * DAY)
    assert age_judged_at_ms(now, leap, START.boot_ms) == now.now_ms


def test_a_small_leap_or_one_that_was_taken_back_doubts_nothing() -> None:
    leap = Gap(T0, T0 + DAY, SkipReason.CLOCK, "forward")
    assert age_judged_at_ms(later(MINUTE, step=DAY), leap, START.boot_ms) == T0 + MINUTE + DAY
    assert age_judged_at_ms(later(MINUTE), None, 0) == T0 + MINUTE
    great = Gap(T0, T0 + 9 * DAY, SkipReason.CLOCK, "forward")
    assert age_judged_at_ms(later(MINUTE, step=-HOUR), great, START.boot_ms) == T0 + MINUTE - HOUR
