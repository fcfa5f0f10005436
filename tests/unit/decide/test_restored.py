"""What is past in a restored database: pure decisions."""

import pytest

from jobctl.model import Policies, ScheduleSpec
from jobctl.states import Misfire, SkipReason, Trigger
from jobctl_daemon.decide.restored import Fate, fate, move
from jobctl_daemon.rows import DueJob, Unfinished
from jobctl_daemon.schedules import schedule_of

T0 = 1_800_000_000_000  # 2027-01-15 08:00 UTC
MINUTE = 60_000
HOURLY = ScheduleSpec(timezone="UTC", cron="0 * * * *")
NOW = T0 + 310 * MINUTE


def job(schedule: ScheduleSpec = HOURLY, next_ms: int | None = T0 + 60 * MINUTE, **changes: object) -> DueJob:
    facts: dict[str, object] = {
        "job_id": 1, "job_uid": "u", "name": "n", "version": 1, "schedule": schedule, "policies": Policies(),
        "next_ms": next_ms, "handled_ms": T0, "revision": 4, "created_ms": T0 - 1,
    }  # fmt: skip
    return DueJob(**(facts | changes))  # type: ignore[arg-type]


def moved(wanted: DueJob, *, catch_up: bool = False):  # type: ignore[no-untyped-def]
    return move(wanted, schedule_of(wanted.schedule), T0, NOW, catch_up=catch_up)


def run(state: str = "ready", attempt: int = 0, due_ms: int = T0, waits: int = 0, *, letter: bool = True) -> Unfinished:
    return Unfinished(
        run_id=7, job_id=1, state=state, attempt=attempt, fence=9, due_ms=due_ms, waits=waits, letter=letter
    )


def test_a_cursor_goes_to_now_and_one_row_says_what_is_unknown() -> None:
    found = moved(job())
    (row,) = found.rows
    assert (row.from_ms, row.to_ms, row.count) == (T0 + 60 * MINUTE, T0 + 5 * 60 * MINUTE, 5)
    assert (row.reason, row.key[:2]) == (SkipReason.RESTORED, "u:")
    assert "restored from a copy of 2027-01-15T08:00:00Z" in row.detail
    assert "until 2027-01-15T13:10:00Z is unknown" in row.detail
    assert (found.runs, found.next_ms, found.handled_ms) == ((), T0 + 6 * 60 * MINUTE, NOW)


def test_nothing_is_past_of_a_cursor_beyond_now() -> None:
    assert moved(job(next_ms=NOW + 1, handled_ms=NOW)) is None
    assert moved(job(ScheduleSpec(timezone="UTC"), None)) is None
    assert moved(job(ScheduleSpec(timezone="UTC", cron="0 0 1 1 *"), T0 + 351 * 86_400_000 - 8 * 3_600_000)) is None


def test_catching_up_asks_the_misfire_policy() -> None:
    once = moved(job(), catch_up=True)
    assert [(each.slot_ms, each.trigger) for each in once.runs] == [(T0 + 300 * MINUTE, Trigger.CATCH_UP)]
    assert [(row.count, row.reason) for row in once.rows] == [(4, SkipReason.RESTORED)]
    everyone = moved(job(policies=Policies(misfire=Misfire.ALL)), catch_up=True)
    assert (len(everyone.runs), everyone.rows) == (5, ())
    none = moved(job(policies=Policies(misfire=Misfire.SKIP, misfire_within_ms=0)), catch_up=True)
    assert (none.runs, [row.count for row in none.rows]) == ((), [5])


def test_a_paused_job_waits_on_and_its_past_is_unknown_too() -> None:
    held = job(next_ms=None, suspended_since_ms=T0 - 1)
    found = moved(held)
    assert (found.next_ms, found.handled_ms, [row.count for row in found.rows]) == (None, NOW, [5])
    assert moved(held, catch_up=True) is None


def test_a_single_instant_that_is_past_may_have_run() -> None:
    at = ScheduleSpec(timezone="UTC", at_ms=T0 + MINUTE)
    found = moved(job(at, T0 + MINUTE))
    assert [(row.from_ms, row.count, row.reason) for row in found.rows] == [(T0 + MINUTE, 1, SkipReason.RESTORED)]
    assert (found.next_ms, found.runs) == (None, ())
    assert moved(job(at, T0 + MINUTE), catch_up=True) is None
    assert moved(job(at, None, handled_ms=T0 + MINUTE)) is None
    assert moved(job(at, None, suspended_since_ms=T0)).rows
    later = ScheduleSpec(timezone="UTC", at_ms=NOW + 1)
    assert moved(job(later, NOW + 1)) is None


@pytest.mark.parametrize(("wanted", "plain", "catching_up"), [
    (run("running", attempt=1), Fate.LOST, Fate.LOST),
    (run("ready", attempt=0), Fate.SKIPPED, Fate.KEPT),
    (run("ready", attempt=2), Fate.BURIED, Fate.KEPT),
        (run("ready", attempt=2, letter=False), Fate.DROPPED, Fate.KEPT),
    (run("scheduled", attempt=0), Fate.SKIPPED, Fate.KEPT),
    (run("scheduled", attempt=3, due_ms=NOW + 1, waits=2), Fate.BURIED, Fate.KEPT),
    (run("ready", attempt=1, due_ms=NOW + 1), Fate.KEPT, Fate.KEPT),
    (run("scheduled", due_ms=NOW + 1), Fate.KEPT, Fate.KEPT),
])  # fmt: skip
def test_what_was_due_is_past_and_what_is_to_come_stays(wanted: Unfinished, plain: Fate, catching_up: Fate) -> None:
    assert fate(wanted, (), NOW, catch_up=False) is plain
    assert fate(wanted, (), NOW, catch_up=True) is catching_up


def test_what_a_runner_holds_is_left_to_be_adopted() -> None:
    running = run("running", attempt=1)
    for catch_up in (False, True):
        assert fate(running, {"7-9"}, NOW, catch_up=catch_up) is Fate.KEPT
        assert fate(running, {"7-8", "8-9"}, NOW, catch_up=catch_up) is Fate.LOST
