"""Who is told what, and when: first failures, reminders, recoveries, bundles, and what survives a restart."""

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobctl.model import Event
from jobctl.wire import rfc3339
from jobctl_daemon.decide import notices, told
from jobctl_daemon.decide.notices import (
    BUNDLE_MS,
    REMIND_MS,
    SKIPPING_MS,
    TOLD_MOST,
    Address,
    Box,
    Happening,
    Kind,
    Streak,
)
from jobctl_daemon.decide.told import BEHIND_MOST, TOLD, WARN_MS, Memory

T0 = 1_800_000_000_000
MINUTE = 60_000
ADA = Address(to="mail", owner="ada")
PAGER = Address(to="exec:pager", owner="ada")


def event(kind: str = "run.dead", *, number: int = 1, at_ms: int = T0, job_id: int | None = 7, **data: Any) -> Event:
    facts = {"name": "backup", "key": "s:1", "class": "exit_code", "reason": "exit 3", "fingerprint": "f1"} | data
    return Event(id=number, at=rfc3339(at_ms), kind=kind, job_id=job_id, run_id=4711, data=facts)


def happened(kind: str = "run.dead", **changes: Any) -> Happening:
    what = notices.happening(event(kind, **changes))
    assert what is not None
    return what


def played(events: Iterable[Happening]) -> list[Happening]:
    """What one job's events lead to."""
    streak: Streak | None = None
    said = []
    for what in events:
        streak, words = notices.judge(streak, what)
        said += [words] if words else []
    return said


# ── reading events ──────────────────────────────────────────────


def test_an_event_says_what_happened_to_whom() -> None:
    what = happened(number=9, at_ms=T0 + 5, attempt=4, error="no such file")
    assert (what.event_id, what.kind, what.at_ms, what.job_id, what.run_id) == (9, Kind.DEAD, T0 + 5, 7, 4711)
    assert (what.job, what.key, what.failure_class, what.reason) == ("backup", "s:1", "exit_code", "exit 3")
    assert (what.error, what.fingerprint, what.attempt) == ("no such file", "f1", 4)


@pytest.mark.parametrize("kind", ["run.succeeded", "run.cancelled", "run.skipped", "job.paused", "run.retrying"])
def test_other_events_are_nothing_to_tell(kind: str) -> None:
    assert notices.happening(event(kind)) is None
    assert not notices.concerns(event(kind))


def test_a_dead_letter_that_was_put_back_is_nothing_to_tell() -> None:
    assert notices.happening(event(put_back="run 3 failed again")) is None


def test_an_event_without_a_job_is_nothing_to_tell() -> None:
    assert notices.happening(event(job_id=None)) is None


def test_bare_facts_are_enough() -> None:
    what = notices.happening(Event(id=1, at=rfc3339(T0), kind="job.skipping", job_id=7, run_id=None, data={}))
    assert what == Happening(event_id=1, kind=Kind.SKIPPING, at_ms=T0, job_id=7)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_texts_of_jobs_are_printable_short_and_can_be_stored(text: str) -> None:
    words = notices.plain(text, 50)
    assert len(words) <= 50
    assert words == "" or words.isprintable()
    words.encode()


def test_the_end_of_a_delivery_is_known_by_its_key() -> None:
    failed = event("run.failed", key="n:12:abcdef", name="notify backup")
    end = notices.delivery(failed)
    assert end is not None
    assert (end.address_id, end.good, end.name) == ("abcdef", False, "notify backup")
    assert notices.delivery(event("run.succeeded", key="n:12:abcdef")) is not None
    for other in (event("run.running", key="n:12:abcdef"), event("run.failed", key="s:12"), event("run.failed", key=3)):
        assert notices.delivery(other) is None
    assert notices.concerns(failed)
    assert not notices.concerns(event("run.succeeded", key="s:12"))


# ── what is told ──────────────────────────────────────────────


@pytest.mark.case("F148")
def test_a_job_that_fails_each_ten_seconds_for_ten_minutes_is_told_once_and_its_recovery_once() -> None:
    failures = [happened(at_ms=T0 + n * 10_000) for n in range(60)]
    said = played([*failures, happened("job.recovered", at_ms=T0 + 600_000)])
    assert [(words.kind, words.again) for words in said] == [(Kind.DEAD, False), (Kind.RECOVERED, False)]


@pytest.mark.case("F148")
def test_a_reminder_comes_each_hour_with_the_number_of_failures_since() -> None:
    failures = [happened(at_ms=T0 + n * MINUTE) for n in range(121)]
    said = played(failures)
    assert [(words.at_ms, words.count, words.again) for words in said] == [
        (T0, 1, False),
        (T0 + REMIND_MS, 60, True),
        (T0 + 2 * REMIND_MS, 60, True),
    ]


def test_another_failure_is_told_at_once_and_two_that_take_turns_are_one_reminder_each() -> None:
    ways = ["f1", "f2", "f1", "f2", "f1"]
    said = played(happened(at_ms=T0 + n, fingerprint=way) for n, way in enumerate(ways))
    assert [words.fingerprint for words in said] == ["f1", "f2"]


def test_a_recovery_is_told_only_to_those_who_heard_of_the_failure() -> None:
    assert played([happened("job.recovered"), happened("job.recovered")]) == []


def test_after_a_recovery_the_same_failure_is_a_first_one_again() -> None:
    said = played([happened(), happened("job.recovered", at_ms=T0 + 1), happened(at_ms=T0 + 2)])
    assert [(words.kind, words.again) for words in said] == [
        (Kind.DEAD, False), (Kind.RECOVERED, False), (Kind.DEAD, False),
    ]  # fmt: skip


def test_a_job_that_is_longer_than_its_interval_is_told_of_once_a_day() -> None:
    skips = (happened("job.skipping", count=3, at_ms=T0 + n * MINUTE, again=n > 0) for n in range(2 * 24 * 60 + 1))
    assert [words.at_ms for words in played(skips)] == [T0, T0 + SKIPPING_MS, T0 + 2 * SKIPPING_MS]


def test_after_a_run_that_skipped_nothing_skipping_is_told_at_once() -> None:
    said = played(happened("job.skipping", at_ms=T0 + n, again=again) for n, again in enumerate([False, True, False]))
    assert [(words.at_ms, words.again) for words in said] == [(T0, False), (T0 + 2, False)]


@pytest.mark.parametrize("between", ["run.dead", "job.recovered"])
def test_neither_a_failure_nor_a_recovery_makes_skipping_news(between: str) -> None:
    skips = [happened("job.skipping"), happened(), happened(between, at_ms=T0 + 1)]
    said = played([*skips, happened("job.skipping", at_ms=T0 + 2, again=True)])
    assert Kind.SKIPPING not in [words.kind for words in said[1:]]


def test_skipping_makes_no_failure_news() -> None:
    said = played([happened(), happened("job.skipping"), happened(at_ms=T0 + 1)])
    assert [words.kind for words in said] == [Kind.DEAD, Kind.SKIPPING]


def test_each_quarantine_is_told() -> None:
    said = played([happened("job.quarantined"), happened("job.quarantined")])
    assert [words.kind for words in said] == [Kind.QUARANTINED] * 2


def test_a_time_told_by_a_wrong_clock_silences_nothing() -> None:
    future = happened(at_ms=T0 + 10 * 365 * 86_400_000)
    assert [words.at_ms for words in played([future, happened(at_ms=T0)])] == [future.at_ms, T0]


def test_of_a_job_that_fails_in_ever_new_ways_a_few_are_remembered() -> None:
    streak: Streak | None = None
    for n in range(100):
        streak, words = notices.judge(streak, happened(at_ms=T0 + n, fingerprint=f"f{n}"))
        assert words is not None
    assert streak is not None
    assert list(streak.ways)[-1] == "f99"
    assert len(streak.ways) <= 10


_ENDS = st.sampled_from(["run.dead", "run.failed", "job.recovered"])
_STORY = st.lists(st.tuples(_ENDS, st.integers(0, 2), st.integers(0, 2 * MINUTE)), max_size=200)


@given(_STORY)
def test_whatever_happens_nothing_is_repeated_within_the_hour_and_no_failure_is_uncounted(
    story: list[tuple[str, int, int]],
) -> None:
    at_ms, streak = T0, None
    told_ms: dict[str, int] = {}
    uncounted = 0
    for kind, way, wait_ms in story:
        at_ms += wait_ms
        what = happened(kind, at_ms=at_ms, fingerprint=f"f{way}")
        streak, words = notices.judge(streak, what)
        if kind == "job.recovered":
            assert (words is not None) == bool(told_ms)
            told_ms, uncounted = {}, 0
        elif words is None:
            assert at_ms - told_ms[what.fingerprint] < REMIND_MS
            uncounted += 1
        else:
            assert what.fingerprint not in told_ms or at_ms - told_ms[what.fingerprint] >= REMIND_MS
            assert words.count == (uncounted + 1 if words.again else 1)
            told_ms[what.fingerprint], uncounted = at_ms, 0


# ── when it is told ──────────────────────────────────────────────


def test_the_first_message_goes_at_once_and_what_follows_within_a_minute_is_one() -> None:
    memory = Memory({}, 1)
    memory.take(happened(), [ADA])
    (first,) = memory.due(T0)
    memory.sent(first, T0)
    for n in range(99):
        memory.take(happened(number=n + 2, job_id=n + 100), [ADA])
    assert memory.due(T0 + BUNDLE_MS - 1) == []
    assert memory.next_ms(T0 + 1) == T0 + BUNDLE_MS
    (bundle,) = memory.due(T0 + BUNDLE_MS)
    assert (len(bundle.held), bundle.more) == (TOLD_MOST, 99 - TOLD_MOST)
    memory.sent(bundle, T0 + BUNDLE_MS)
    assert memory.due(T0 + 10 * BUNDLE_MS) == []


def test_destinations_do_not_wait_for_each_other() -> None:
    memory = Memory({}, 1)
    memory.take(happened(), [ADA])
    memory.sent(memory.due(T0)[0], T0)
    memory.take(happened(number=2, job_id=8), [ADA, PAGER])
    assert [box.address for box in memory.due(T0 + 1)] == [PAGER]


def test_a_message_sent_by_a_wrong_clock_holds_nothing_up() -> None:
    box = Box(address=ADA, sent_ms=T0 + WARN_MS, held=(happened(),))
    assert notices.due_ms(box, T0) == T0


def test_the_same_destination_of_another_user_or_path_is_another_one() -> None:
    changes: list[dict[str, str]] = [{"user": "bob"}, {"path": "/opt/bin"}, {"owner": "bob"}, {"to": "mail:x@y"}]
    others = [msgspec.structs.replace(ADA, **change) for change in changes]
    assert len({address.id for address in [ADA, *others]}) == 5


def test_the_key_names_the_first_event_and_the_destination() -> None:
    box = notices.put(notices.put(Box(address=ADA), happened(number=12)), happened(number=13))
    assert notices.key_of(box) == f"n:12:{ADA.id}"


# ── what is remembered ──────────────────────────────────────────────


def stored(memory: Memory, notes: dict[str, str], now_ms: int) -> Memory:
    """The memory after a restart."""
    for note, text in memory.changes(now_ms).items():
        if text is None:
            notes.pop(note, None)
        else:
            notes[note] = text
    notes[TOLD] = str(memory.looked)
    memory.written()
    return Memory(notes, 1)


def test_streaks_boxes_and_troubles_survive_a_restart() -> None:
    notes: dict[str, str] = {}
    memory = Memory(notes, 1)
    memory.take(happened(), [ADA])
    memory.sent(memory.due(T0)[0], T0)
    memory.take(happened(number=2, job_id=8), [ADA])
    failed = notices.delivery(event("run.failed", key="n:1:abc", name="notify x", at_ms=T0))
    assert failed is not None
    memory.delivered(failed)
    memory.looked = 3

    again = stored(memory, notes, T0)
    again.take(happened(number=4), [ADA])
    assert again.looked == 3
    assert again.due(T0 + 1) == []
    assert [what.event_id for what in again.due(T0 + BUNDLE_MS)[0].held] == [2]
    assert again.warning(T0) == "1 message could not be delivered: jobctl runs 'notify x' --state failed"


@given(_STORY, st.integers(0, 200))
def test_what_was_not_stored_is_judged_again_and_comes_out_the_same(
    story: list[tuple[str, int, int]], crash_at: int
) -> None:
    """A crash between any two events, with the last message's notes stored, changes nothing that is told."""

    def tell(crash: int | None) -> list[str]:
        notes: dict[str, str] = {TOLD: "0"}
        memory, said, at_ms = Memory(notes, 1), [], T0
        times = []
        for _, _, wait_ms in story:
            at_ms += wait_ms
            times.append(at_ms)
        number = 0
        while number < len(story):
            if number == crash:
                memory, crash = Memory(notes, 1), None
                number = memory.looked
                continue
            kind, way, _ = story[number]
            now_ms = times[number]
            memory.take(happened(kind, number=number + 1, at_ms=now_ms, fingerprint=f"f{way}"), [ADA])
            number += 1
            memory.looked = number
            for box in memory.due(now_ms):
                said.append(notices.key_of(box))
                memory.sent(box, now_ms)
                stored(memory, notes, now_ms)
        return said

    assert tell(crash_at) == tell(None)


def test_boxes_that_wait_for_nothing_are_forgotten() -> None:
    notes: dict[str, str] = {}
    memory = Memory(notes, 1)
    memory.take(happened(), [ADA, PAGER])
    for box in memory.due(T0):
        memory.sent(box, T0)
    memory = stored(memory, notes, T0)
    assert sum(note.startswith("told:box:") for note in notes) == 2
    stored(memory, notes, T0 + BUNDLE_MS)
    assert not any(note.startswith("told:box:") for note in notes)


def test_a_recovered_job_leaves_no_note() -> None:
    notes: dict[str, str] = {}
    memory = Memory(notes, 1)
    memory.take(happened(), [ADA])
    memory = stored(memory, notes, T0)
    memory.take(happened("job.recovered", at_ms=T0 + 1), [ADA])
    stored(memory, notes, T0 + 1)
    assert not any(note.startswith("told:job:") for note in notes)


def test_that_a_job_skips_is_remembered_for_a_day() -> None:
    notes: dict[str, str] = {}
    memory = Memory(notes, 1)
    memory.take(happened("job.skipping"), [ADA])
    memory = stored(memory, notes, T0 + SKIPPING_MS - 1)
    assert "told:job:7" in notes
    memory.take(happened("job.skipping", at_ms=T0 + SKIPPING_MS - 1, again=True), [ADA])
    assert [len(box.held) for box in memory.due(T0 + SKIPPING_MS)] == [1]
    stored(memory, notes, T0 + SKIPPING_MS)
    assert "told:job:7" not in notes


def test_a_job_that_nobody_is_told_of_any_more_is_forgotten() -> None:
    memory = Memory({}, 1)
    memory.take(happened(), [ADA])
    memory.forget(7)
    memory.forget(8)
    assert memory.changes(T0)["told:job:7"] is None
    assert "told:job:8" not in memory.changes(T0)


def test_jobs_in_trouble_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "STREAKS_MOST", 3)
    memory = Memory({}, 1)
    for job_id in (1, 2, 3, 1, 4):
        memory.take(happened(job_id=job_id), [ADA])
    changes = memory.changes(T0)
    assert [job_id for job_id in (1, 2, 3, 4) if changes[f"told:job:{job_id}"]] == [1, 3, 4]


def test_a_note_that_cannot_be_read_is_as_none() -> None:
    notes = {TOLD: "5", "told:job:7": "{", "told:box:abc": "[]", "told:undelivered:abc": '{"count": "x"}'}
    memory = Memory(notes, 1)
    assert (memory.looked, memory.due(T0), memory.warning(T0)) == (5, [], None)


def test_a_store_that_was_never_looked_at_is_looked_at_from_its_beginning() -> None:
    memory = Memory({}, 41)
    assert memory.looked == 40
    assert not memory.lost(41)


def test_events_that_went_unseen_are_noticed() -> None:
    memory = Memory({TOLD: "10"}, 1)
    assert not memory.lost(11)
    assert memory.lost(12)
    assert memory.looked == 11


def test_the_place_is_written_only_with_messages_or_far_behind() -> None:
    memory = Memory({}, 1)
    memory.looked = BEHIND_MOST - 1
    assert not memory.behind
    memory.looked += 1
    assert memory.behind
    memory.written()
    assert not memory.behind


# ── deliveries that fail ──────────────────────────────────────────────


def ended(memory: Memory, kind: str, address_id: str, at_ms: int = T0) -> None:
    end = notices.delivery(event(kind, key=f"n:1:{address_id}", name=f"notify {address_id}", at_ms=at_ms))
    assert end is not None
    memory.delivered(end)


def test_what_could_not_be_delivered_is_a_warning_until_something_can() -> None:
    memory = Memory({}, 1)
    ended(memory, "run.failed", "a")
    ended(memory, "run.failed", "a")
    ended(memory, "run.failed", "b", T0 + 1)
    assert memory.warning(T0 + 1) == "3 messages could not be delivered: jobctl runs 'notify b' --state failed"
    ended(memory, "run.succeeded", "b")
    assert memory.warning(T0 + 1) == "2 messages could not be delivered: jobctl runs 'notify a' --state failed"
    ended(memory, "run.succeeded", "a")
    assert memory.warning(T0 + 1) is None


def test_a_delivery_that_a_person_has_done_again_mends_those_of_its_name() -> None:
    memory = Memory({}, 1)
    ended(memory, "run.failed", "a")
    ended(memory, "run.failed", "b")
    again = notices.delivery(event("run.succeeded", key="m:1", name="notify a"))
    assert again is not None
    memory.delivered(again)
    assert memory.warning(T0) == "1 message could not be delivered: jobctl runs 'notify b' --state failed"


def test_a_warning_ends_after_a_day() -> None:
    memory = Memory({}, 1)
    ended(memory, "run.failed", "a")
    assert memory.next_ms(T0) == T0 + WARN_MS
    assert memory.warning(T0 + WARN_MS - 1) is not None
    assert memory.warning(T0 + WARN_MS) is None
    assert memory.next_ms(T0 + WARN_MS) is None


def test_a_delivery_that_succeeds_is_nothing_to_write_down() -> None:
    memory = Memory({}, 1)
    ended(memory, "run.succeeded", "a")
    assert memory.changes(T0) == {}
