"""Expansion, admission, outcome and adoption: what goes in, what comes out."""

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.schedule import Cron, Every
from jobctl.states import FailureClass, Misfire, Overlap, RunState, SkipReason, Trigger
from jobctl_daemon.decide import adoption, due
from jobctl_daemon.decide.admission import admit
from jobctl_daemon.decide.outcome import Result, judge, record
from jobctl_daemon.rows import Admission, DueJob, Pending, Running

MINUTE = 60_000


def _job(next_ms: int, policies: Policies | None = None, jitter_ms: int = 0) -> DueJob:
    return DueJob(
        job_id=7,
        job_uid="abc",
        name="backup",
        version=3,
        schedule=ScheduleSpec(timezone="UTC", every_ms=MINUTE, jitter_ms=jitter_ms),
        policies=policies or Policies(),
        next_ms=next_ms,
        handled_ms=next_ms - MINUTE,
        revision=11,
        created_ms=0,
    )


def test_a_due_cursor_becomes_one_run_and_moves_on() -> None:
    expansion = due.expand(_job(MINUTE), Every(interval_ms=MINUTE, anchor_ms=0), MINUTE + 4)

    (run,) = expansion.runs
    assert (run.key, run.slot_ms, run.trigger) == (f"s:{MINUTE}", MINUTE, Trigger.SCHEDULE)
    assert (expansion.next_ms, expansion.handled_ms, expansion.revision) == (2 * MINUTE, MINUTE + 4, 11)
    assert expansion.skips == ()


def test_a_late_occurrence_is_a_catch_up_and_the_missed_ones_are_one_row() -> None:
    job = _job(MINUTE, Policies(misfire=Misfire.ONCE))
    expansion = due.expand(job, Every(interval_ms=MINUTE, anchor_ms=0), 10 * MINUTE + 30_000)

    assert [run.slot_ms for run in expansion.runs] == [10 * MINUTE]
    (row,) = expansion.skips
    assert (row.reason, row.count, row.from_ms, row.to_ms) == (SkipReason.MISFIRE, 9, MINUTE, 9 * MINUTE)


def test_jitter_moves_the_start_and_never_the_identity() -> None:
    runs = [
        due.expand(_job(at, jitter_ms=30_000), Every(interval_ms=MINUTE, anchor_ms=0), at).runs[0]
        for at in (MINUTE, 2 * MINUTE)
    ]

    offsets = {run.due_ms - run.slot_ms for run in runs}
    assert len(offsets) == 1
    assert 0 <= offsets.pop() <= 30_000
    assert [run.key for run in runs] == [f"s:{MINUTE}", f"s:{2 * MINUTE}"]


def test_several_times_in_one_gap_are_one_run_and_a_row_that_says_coalesced() -> None:
    gap_end = 1_774_746_000_000  # 2026-03-29T01:00Z, Berlin goes 02:00 → 03:00
    schedule = Cron(text="0,20,40 2 * * *", tz="Europe/Berlin")
    expansion = due.expand(_job(gap_end), schedule, gap_end)

    assert [run.slot_ms for run in expansion.runs] == [gap_end]
    assert [(row.reason, row.count) for row in expansion.skips] == [(SkipReason.COALESCED, 2)]


def _pending(run_id: int, overlap: Overlap, *active: int, start_by: int | None = None) -> Pending:
    return Pending(
        run_id=run_id,
        job_id=1,
        slot_ms=0,
        due_ms=0,
        start_by_ms=start_by,
        trigger=Trigger.SCHEDULE,
        policies=Policies(overlap=overlap),
        active=active,
    )


def test_of_two_due_runs_of_one_job_under_skip_the_earlier_goes() -> None:
    answers = admit([_pending(1, Overlap.SKIP), _pending(2, Overlap.SKIP)], 5)

    assert answers[0] == Admission(run_id=1)
    assert (answers[1].reason, answers[1].detail) == (SkipReason.OVERLAP, "run 1 was still active")


def test_under_allow_all_go() -> None:
    answers = admit([_pending(1, Overlap.ALLOW, 9), _pending(2, Overlap.ALLOW, 9)], 5)

    assert [answer.reason for answer in answers] == [None, None]


def test_a_run_past_its_last_instant_is_a_misfire() -> None:
    (answer,) = admit([_pending(1, Overlap.ALLOW, start_by=4)], 5)

    assert answer.reason is SkipReason.MISFIRE


@pytest.mark.parametrize(
    ("facts", "state", "failure"),
    [
        ({"exit_code": 0}, RunState.SUCCEEDED, None),
        ({"exit_code": 3}, RunState.FAILED, FailureClass.EXIT_CODE),
        ({"exit_code": 137}, RunState.FAILED, FailureClass.EXIT_CODE),
        ({"signal": 9}, RunState.FAILED, FailureClass.SIGNAL),
        ({"signal": 9, "oom": True}, RunState.FAILED, FailureClass.OOM),
        ({"exit_code": 0, "cause": "timed_out"}, RunState.FAILED, FailureClass.TIMED_OUT),
        ({"exit_code": 0, "cause": "cancelled"}, RunState.CANCELLED, FailureClass.CANCELLED),
        ({"signal": 9, "cause": "killed"}, RunState.CANCELLED, FailureClass.CANCELLED),
        ({"cause": "lost"}, RunState.FAILED, FailureClass.LOST),
        ({"cause": "spawn_error"}, RunState.FAILED, FailureClass.SPAWN_ERROR),
        ({"cause": "log_failed"}, RunState.FAILED, FailureClass.POLICY),
    ],
)
def test_each_end_has_its_state_and_class(
    facts: dict[str, object], state: RunState, failure: FailureClass | None
) -> None:
    result = Result(run_id=1, fence=2, ended_ms=3, **facts)  # type: ignore[arg-type]

    outcome = judge(result)
    assert (outcome.state, outcome.failure_class) == (state, failure)
    row = record(result, outcome)
    assert (row.state, row.failure_class, row.outcome) == (state, failure, outcome.word)
    assert (row.exit_code, row.signal, row.ended_ms) == (result.exit_code, result.signal, result.ended_ms)


def _running(run_id: int, boot: str = "b", stop: str | None = None) -> Running:
    return Running(
        run_id=run_id,
        fence=5,
        attempt=1,
        job_id=1,
        boot_id=boot,
        pid=None,
        pid_start=None,
        claimed_ms=0,
        started_ms=None,
        stop_wanted=stop,
    )


def test_after_a_start_each_claim_is_held_given_back_or_lost() -> None:
    claimed = [_running(1), _running(2), _running(3, boot="a"), _running(4, stop="cancel")]
    plan = adoption.plan(claimed, {"1-5": "running", "4-5": "running"}, "b")

    assert [run.run_id for run in plan.unclaimed] == [2]
    assert [run.run_id for run in plan.lost] == [3]
    assert [run.run_id for run in plan.stops] == [4]
