"""Lanes of jobs, and what they come to."""

from typing import Any

import pytest

from jobctl.model import ScheduleSpec
from jobctl_daemon.decide import upcoming
from jobctl_daemon.decide.upcoming import Lane, Lanes, Sum, Window, window
from jobctl_daemon.decide.usual import usual
from jobctl_daemon.rows import Foreseen
from jobctl_daemon.schedules import schedule_of

NOW_MS = 1_800_000_000_000  # 2027-01-15 08:00 UTC, a Friday
HOUR, MINUTE = 3_600_000, 60_000


def job(name: str = "job", number: int = 1, **facts: Any) -> Foreseen:
    schedule = {key: facts.pop(key) for key in list(facts) if key in ScheduleSpec.__struct_fields__}
    spec = ScheduleSpec(timezone=schedule.pop("timezone", "UTC"), **schedule)
    wanted = {"next_ms": None, "handled_ms": 0, "skip_until_ms": None, "held": False, "late_after_ms": 0} | facts
    return Foreseen(job_id=number, job_uid=f"{number:016x}", name=name, schedule=spec, **wanted)


def lane(of: Foreseen, over: Window) -> Lane:
    return Lanes(over).of(of)


@pytest.mark.parametrize(
    ("took", "p50", "p95"),
    [([7], 7, 7), ([1, 2], 1, 2), ([3, 1, 2], 2, 3), (range(1, 101), 50, 95), (range(1, 21), 10, 19)],
)
def test_the_usual_time_is_by_nearest_rank(took: Any, p50: int, p95: int) -> None:
    found = usual(took)
    assert found == (p50, p95)


def test_what_never_ran_has_no_usual_time() -> None:
    assert usual([]) is None


def test_the_first_cell_is_that_of_the_clock_and_holds_only_what_is_to_come() -> None:
    now_ms = NOW_MS + 17 * MINUTE
    over = window(now_ms, 24, 48)
    assert (over.from_ms, over.cell_ms, over.until_ms) == (NOW_MS, 30 * MINUTE, NOW_MS + 24 * HOUR)
    found = lane(job(cron="*/10 * * * *"), over)
    assert found.counts[:3] == (1, 3, 3)
    assert found.instants[0] == NOW_MS + 20 * MINUTE


@pytest.mark.parametrize("plan", [{"cron": "* * * * *"}, {"cron": "*/7 3-5 * * 1-5"}, {"cron": "0 0 1 1 *"},
                                  {"every_ms": 90_000}, {"every_ms": 3_700_000, "anchor_ms": 5}])  # fmt: skip
@pytest.mark.parametrize("cells", [1, 5, 48, 84])
def test_what_is_counted_cell_by_cell_is_what_is_counted_fire_by_fire(plan: dict[str, Any], cells: int) -> None:
    over = window(NOW_MS + 1, 48, cells)
    schedule = job(**plan)
    fires = [0] * cells
    at_ms = over.now_ms
    while (fire := schedule_of(schedule.schedule).next_after(at_ms)) is not None and fire.at_ms < over.until_ms:
        at_ms = fire.at_ms
        fires[(at_ms - over.from_ms) // over.cell_ms] += 1
    assert list(lane(schedule, over).counts) == fires


def test_a_job_of_every_second_is_counted_and_crowds_no_minute() -> None:
    over = window(NOW_MS, 192, 240)
    found = lane(job(every_ms=1000), over)
    assert found.fires == 192 * 3600 - 1
    assert found.instants == ()


def test_what_is_left_out_and_what_is_handled_is_not_to_come() -> None:
    over = window(NOW_MS, 24, 24)
    asked = job(cron="0 * * * *", skip_until_ms=NOW_MS + 3 * HOUR)
    assert lane(asked, over).counts[:5] == (0, 0, 0, 0, 1)
    assert lane(job(cron="0 * * * *", handled_ms=NOW_MS + 2 * HOUR), over).counts[:4] == (0, 0, 0, 1)


def test_jitter_moves_what_is_due_and_one_shots_fire_once() -> None:
    over = window(NOW_MS, 24, 24)
    (at_ms,) = lane(job(cron="0 12 * * *", jitter_ms=600_000), over).instants
    assert 0 <= at_ms - (NOW_MS + 4 * HOUR) <= 600_000
    assert lane(job(at_ms=NOW_MS + HOUR), over).fires == 1
    assert lane(job(at_ms=NOW_MS - HOUR), over).fires == 0
    assert lane(job(after_job=7), over).fires == 0


def test_a_schedule_that_this_host_cannot_read_has_nothing_to_come() -> None:
    assert lane(job(cron="0 * * * *", timezone="Nowhere/Else"), window(NOW_MS, 1, 4)).counts == (0, 0, 0, 0)


def summed(*jobs: Foreseen, usual_ms: int | None = None, hours: int = 24, cells: int = 24) -> Sum:
    total = Sum(window(NOW_MS, hours, cells))
    known = Lanes(total.over)
    for one in jobs:
        total.add(one, known.of(one), usual_ms)
    total.settle()
    return total


def test_sums_are_of_all_lanes() -> None:
    total = summed(job(cron="0 * * * *"), job(cron="30 12 * * *"), job(cron="0 0 1 6 *"))
    assert (total.jobs, total.fires, total.density[4]) == (2, 24, 2)


def test_lanes_that_are_one_are_summed_as_often_as_jobs_have_them(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(f"job-{number}", number, cron=f"{number % 3} 12 * * *") for number in range(30)]
    whole = summed(*jobs)
    monkeypatch.setattr(upcoming, "_ALIKE", 2)
    monkeypatch.setattr(upcoming, "_KNOWN", 2)
    pieces = summed(*jobs)
    assert whole.density == pieces.density
    assert (whole.jobs, whole.fires) == (pieces.jobs, pieces.fires) == (30, 30)
    assert [(crowd.at_ms, crowd.fires) for crowd in whole.crowded()] == [
        (crowd.at_ms, crowd.fires) for crowd in pieces.crowded()
    ]
    assert [crowd.fires for crowd in whole.crowded()] == [10, 10, 10]


def test_a_run_that_takes_long_occupies_the_next_cells() -> None:
    total = summed(job(cron="0 12 * * *"), usual_ms=90 * MINUTE)
    assert total.busy()[3:7] == [0.0, 1.0, 0.5, 0.0]


@pytest.mark.parametrize(("alone", "most"), [(True, 1.0), (False, 3.0)])
def test_runs_that_do_not_overlap_occupy_one_slot_at_most(alone: bool, most: float) -> None:
    assert max(summed(job(cron="* * * * *", alone=alone), usual_ms=3 * MINUTE, hours=2, cells=4).busy()) == most


def test_the_fullest_minutes_are_named_in_order_of_time() -> None:
    many = [job(f"job-{number}", number, cron="0 14 * * *") for number in range(7)]
    total = summed(*many, job("noon", 8, cron="0 12 * * *"), job("noon-too", 9, cron="0 12 * * *"))
    noon, two = total.crowded()
    assert (noon.at_ms, noon.fires, noon.jobs) == (NOW_MS + 4 * HOUR, 2, ("noon", "noon-too"))
    assert (two.fires, len(two.jobs)) == (7, 5)


def test_clock_changes_are_of_zones_that_jobs_keep() -> None:
    berlin = [job(number=number, cron="0 3 * * *", timezone="Europe/Berlin") for number in range(3)]
    within, later = summed(*berlin, job(number=9, cron="0 0 * * *")).changes()
    assert within == []
    assert later is not None
    assert (later.timezone, later.kind, later.jobs) == ("Europe/Berlin", "gap", 3)
    over = window(later.at_ms - HOUR, 24, 24)
    total = Sum(over)
    total.add(berlin[0], lane(berlin[0], over), None)
    (change,), following = total.changes()
    assert change.at_ms == later.at_ms
    assert following is not None
    assert following.kind == "overlap"
    assert summed(job(every_ms=60_000, timezone="Europe/Berlin")).changes() == ([], None)
