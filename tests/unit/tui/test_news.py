"""What the feed keeps between two tellings."""

from typing import Any

from jobctl_tui.live.changes import Back
from jobctl_tui.live.news import EVENTS_MAX, IDS_MAX, News


def event(number: int, kind: str = "run.succeeded", job: int | None = 1, run: int | None = None) -> dict[str, Any]:
    return {"id": number, "at": "2026-11-30T02:00:00Z", "kind": kind, "job_id": job, "run_id": run, "data": {}}


def test_only_the_first_event_wakes_who_tells() -> None:
    news = News()
    assert not news
    assert news.add(event(1))
    assert not news.add(event(2))
    assert news


def test_ids_of_jobs_and_runs_are_told_once() -> None:
    news = News()
    for number in range(1, 6):
        news.add(event(number, job=7, run=40 + number % 2))
    changes = news.changes()
    assert (changes.jobs, changes.runs) == ({7}, {40, 41})
    assert [one["id"] for one in changes.events] == [1, 2, 3, 4, 5]
    assert not changes.reset


def test_a_burst_is_told_as_if_anything_may_have_changed() -> None:
    news = News()
    for number in range(1, IDS_MAX + 2):
        news.add(event(number, job=number))
    changes = news.changes()
    assert changes.reset
    assert changes.jobs == frozenset()


def test_what_is_kept_is_bounded_whatever_happens() -> None:
    news = News()
    for number in range(1, 100_001):
        news.add(event(number, job=number, run=number))
    assert len(news.events) == EVENTS_MAX
    assert len(news._jobs) <= IDS_MAX + 1
    assert len(news._runs) <= IDS_MAX + 1
    assert news.newest == 100_000


def test_a_restored_database_is_read_anew() -> None:
    news = News()
    news.add(event(1, "daemon.restored", job=None))
    assert news.changes().reset


def test_a_return_is_told_in_one_sentence() -> None:
    assert Back(41_000, 3, 1).words == "back after 41 s: 3 runs ended, 1 failed"
    assert Back(41_000, 1).words == "back after 41 s: 1 run ended"
    assert Back(300).words == "back after 1 s: no run ended meanwhile"
