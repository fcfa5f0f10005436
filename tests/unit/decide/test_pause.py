"""What a pause swallowed becomes one row, or runs after all as far as the misfire policy keeps it."""

from typing import Any

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.states import Misfire, SkipReason
from jobctl_daemon.decide.pause import COUNTED_MAX, from_its_rows, resumption
from jobctl_daemon.rows import DueJob, LedgerRow, Resumption
from jobctl_daemon.schedules import schedule_of

START = 1_800_000_000_000
MINUTE = 60_000


def missed(
    now_ms: int, handled_ms: int = START, skip_until_ms: int | None = None, **schedule: Any
) -> tuple[LedgerRow | None, int | None]:
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
        skip_until_ms=skip_until_ms,
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


# ── catching up ──────────────────────────────────────────────


def caught_up(now_ms: int, misfire: Misfire, handled_ms: int = START, **facts: Any) -> Resumption:
    """A minutely job whose pause is over, with `catch_up`. The grace of skip is half a minute."""
    spec = ScheduleSpec(timezone="UTC", every_ms=MINUTE, anchor_ms=START)
    within_ms = 30_000 if misfire is Misfire.SKIP else 86_400_000
    job = DueJob(
        job_id=7,
        job_uid="u",
        name="n",
        version=1,
        schedule=spec,
        policies=Policies(misfire=misfire, misfire_within_ms=within_ms),
        next_ms=None,
        handled_ms=handled_ms,
        revision=1,
        created_ms=START,
        suspended_since_ms=START,
        **facts,
    )
    return resumption(job, schedule_of(spec), now_ms, catch_up=True)


@pytest.mark.parametrize(
    ("misfire", "slots", "kept"),
    [
        (Misfire.ONCE, 5, [5]),
        (Misfire.ALL, 5, [1, 2, 3, 4, 5]),
        (Misfire.ALL, 14, [*range(5, 15)]),
        (Misfire.ALL, 1_000, [*range(991, 1_001)]),
        (Misfire.ONCE, 1_000, [1_000]),
        (Misfire.SKIP, 5, [5]),
    ],
)
def test_a_catch_up_runs_what_the_policy_keeps_and_has_one_row_for_the_rest(
    misfire: Misfire, slots: int, kept: list[int]
) -> None:
    decided = caught_up(START + slots * MINUTE + 10_000, misfire)
    assert [run.slot_ms for run in decided.runs] == [START + n * MINUTE for n in kept]
    assert [run.key for run in decided.runs] == [f"s:{START + n * MINUTE}" for n in kept]
    missed = slots - len(kept)
    rows = [(row.from_ms, row.to_ms, row.count, row.reason) for row in decided.rows]
    last_ms = START + (kept[0] - 1) * MINUTE
    assert rows == ([(START + MINUTE, last_ms, missed, SkipReason.PAUSED)] if missed else [])
    assert (decided.next_ms, decided.handled_ms) == (START + (slots + 1) * MINUTE, START + slots * MINUTE + 10_000)


def test_a_catch_up_over_the_grace_of_skip_runs_nothing() -> None:
    decided = caught_up(START + 5 * MINUTE + 40_000, Misfire.SKIP)
    assert decided.runs == ()
    assert [row.count for row in decided.rows] == [5]


def test_a_catch_up_says_who_paused_and_by_which_policy_the_rest_is_left_out() -> None:
    (row,) = caught_up(START + 5 * MINUTE, Misfire.ONCE, suspended_why="the job was paused by ada: noisy").rows
    assert row.detail == "the job was paused by ada: noisy; misfire once at its resumption"
    (row,) = caught_up(START + 5 * MINUTE, Misfire.ONCE, quarantined=True).rows
    assert row.reason is SkipReason.QUARANTINED


def test_a_catch_up_with_nothing_missed_is_a_resumption() -> None:
    decided = caught_up(START + MINUTE - 1, Misfire.ALL)
    assert (decided.runs, decided.rows, decided.next_ms) == ((), (), START + MINUTE)


def test_what_somebody_asked_to_skip_stays_skipped() -> None:
    decided = caught_up(START + 2 * MINUTE, Misfire.ALL, handled_ms=START + 5 * MINUTE)
    assert (decided.runs, decided.rows, decided.next_ms) == ((), (), START + 6 * MINUTE)


def test_every_occurrence_of_a_pause_has_one_run_or_one_row() -> None:
    for misfire in Misfire:
        for slots in (1, 2, 9, 10, 11, 15, 16, 17, 40):
            decided = caught_up(START + slots * MINUTE + 20_000, misfire)
            assert len(decided.runs) + sum(row.count for row in decided.rows) == slots


# ── what was left out meanwhile ──────────────────────────────────────────────


def minutes(*pairs: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple((START + first * MINUTE, START + last * MINUTE) for first, last in pairs)


def spans(decided: Resumption) -> list[tuple[int, int, int]]:
    return [((row.from_ms - START) // MINUTE, (row.to_ms - START) // MINUTE, row.count) for row in decided.rows]


@pytest.mark.parametrize(
    ("misfire", "kept", "missed"),
    [
        (Misfire.ONCE, [10], [(1, 2, 2), (5, 5, 1), (7, 9, 3)]),
        (Misfire.ALL, [1, 2, 5, 7, 8, 9, 10], []),
        (Misfire.SKIP, [10], [(1, 2, 2), (5, 5, 1), (7, 9, 3)]),
    ],
)
def test_what_was_left_out_while_it_was_held_is_neither_missed_nor_made_up(
    misfire: Misfire, kept: list[int], missed: list[tuple[int, int, int]]
) -> None:
    left_out = minutes((3, 4), (6, 6))
    decided = caught_up(START + 10 * MINUTE + 10_000, misfire, left_out=left_out, skip_until_ms=START + 6 * MINUTE)
    assert [(run.slot_ms - START) // MINUTE for run in decided.runs] == kept
    assert spans(decided) == missed
    assert (decided.next_ms, decided.handled_ms) == (START + 11 * MINUTE, START + 10 * MINUTE + 10_000)


def test_what_lies_before_a_skip_behind_which_the_clock_was_set_back_has_its_row() -> None:
    """It had passed while the job was held, and lies ahead again; the cursor goes behind the skip at once."""
    facts = {"left_out": minutes((6, 8)), "skip_until_ms": START + 8 * MINUTE, "generation": 1}
    decided = caught_up(START + 3 * MINUTE + 40_000, Misfire.SKIP, START + 2 * MINUTE, **facts)
    assert spans(decided) == [(3, 3, 1), (4, 5, 2)]
    assert [row.reason for row in decided.rows] == [SkipReason.PAUSED, SkipReason.CLOCK]
    assert decided.next_ms == START + 9 * MINUTE


def test_the_end_of_a_catch_up_may_be_left_out() -> None:
    decided = caught_up(START + 5 * MINUTE, Misfire.ONCE, left_out=minutes((4, 8)), skip_until_ms=START + 8 * MINUTE)
    assert [(run.slot_ms - START) // MINUTE for run in decided.runs] == [3]
    assert spans(decided) == [(1, 2, 2)]
    assert (decided.next_ms, decided.handled_ms) == (START + 9 * MINUTE, START + 8 * MINUTE)


def test_a_one_shot_whose_time_was_left_out_while_it_was_held_waits_for_nothing() -> None:
    assert missed(START + MINUTE, at_ms=START + 5 * MINUTE, skip_until_ms=START + 5 * MINUTE) == (None, None)


# ── a clock that was set back ──────────────────────────────────────────────


@pytest.mark.parametrize(
    ("handled", "covered", "begins"),
    [
        (-1_000, 0, 0),  # the cursor went back, and its rows ended where the pause began
        (-1_000, -3, -3),  # what was due before it and had no row yet is counted
        (-3, 0, 0),
        (-3, 5, 0),  # rows of the same time before the clock was set back say nothing of the pause
        (-3, -9, -3),  # the cursor knows more than the ledger
        (-3, None, -3),
        (4, -3, 4),
    ],
)
def test_a_pause_under_a_clock_that_was_set_back_counts_from_where_its_rows_ended(
    handled: int, covered: int | None, begins: int
) -> None:
    job = DueJob(
        job_id=7,
        job_uid="u",
        name="n",
        version=1,
        schedule=ScheduleSpec(timezone="UTC"),
        policies=Policies(),
        next_ms=None,
        handled_ms=START + handled * MINUTE,
        revision=1,
        created_ms=START,
        suspended_since_ms=START,
        generation=1,
    )
    counted = from_its_rows(job, None if covered is None else START + covered * MINUTE)
    assert counted.handled_ms == START + begins * MINUTE
