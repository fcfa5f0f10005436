"""What each overlap policy does with a due run, by what of its job is active and waits."""

from typing import Any

import pytest

from jobctl.defaults import JOB_RUNS_MAX
from jobctl.model import Policies
from jobctl.states import Misfire, Overlap, SkipReason, Trigger
from jobctl_daemon.decide.admission import admit, too_late
from jobctl_daemon.rows import Admission, Pending

NOW = 1_000
READY, WAITS, SKIPPED, TOO_MANY, REPLACES = "ready", "waits", "overlap", "limit", "replaces"


def pending(run_id: int = 9, overlap: str = "skip", *, job_id: int = 1, active: tuple[int, ...] = (),
            waiting: tuple[int, ...] = (), start_by_ms: int | None = None, by_hand: bool = False, begun: bool = False,
            unended: int = 0, trigger: Trigger = Trigger.SCHEDULE, **rules: Any) -> Pending:  # fmt: skip
    return Pending(
        run_id=run_id,
        job_id=job_id,
        slot_ms=0,
        due_ms=0,
        start_by_ms=start_by_ms,
        trigger=trigger,
        policies=Policies(overlap=Overlap(overlap), **rules),
        active=active,
        waiting=waiting,
        by_hand=by_hand,
        begun=begun,
        unended=unended,
    )


def word(answer: Admission) -> str:
    if answer.reason is not None:
        assert not answer.waits
        return answer.reason.value
    return REPLACES if answer.replaces else WAITS if answer.waits else READY


#: overlap, limit, active, waiting → what becomes of an occurrence, of a run by hand, and of one that has begun before.
TABLE = [
    ("skip", None, 0, 0, READY, READY, READY),
    ("skip", None, 1, 0, SKIPPED, SKIPPED, WAITS),
    ("skip", 2, 1, 0, READY, READY, READY),
    ("skip", 2, 2, 0, SKIPPED, SKIPPED, WAITS),
    ("allow", None, 0, 0, READY, READY, READY),
    ("allow", None, 50, 0, READY, READY, READY),
    ("allow", 3, 2, 0, READY, READY, READY),
    ("allow", 3, 3, 0, TOO_MANY, TOO_MANY, WAITS),
    ("queue", None, 0, 0, READY, READY, READY),
    ("queue", None, 1, 0, WAITS, WAITS, WAITS),
    ("queue", None, 1, 1, SKIPPED, WAITS, WAITS),
    ("queue", 2, 1, 0, READY, READY, READY),
    ("queue", 2, 2, 1, SKIPPED, WAITS, WAITS),
    ("replace", None, 0, 0, READY, READY, READY),
    ("replace", None, 1, 0, REPLACES, REPLACES, WAITS),
    ("replace", None, 1, 1, REPLACES, REPLACES, WAITS),
    ("replace", 2, 1, 0, READY, READY, READY),
    ("replace", 2, 2, 0, REPLACES, REPLACES, WAITS),
]  # fmt: skip


@pytest.mark.parametrize(("overlap", "limit", "active", "waiting", "due", "by_hand", "begun"), TABLE)
def test_the_table_of_overlaps(
    overlap: str, limit: int | None, active: int, waiting: int, due: str, by_hand: str, begun: str
) -> None:
    facts: dict[str, Any] = {
        "limit": limit,
        "active": tuple(range(100, 100 + active)),
        "waiting": tuple(range(200, 200 + waiting)),
    }
    assert word(*admit([pending(overlap=overlap, **facts)], NOW)) == due
    assert word(*admit([pending(overlap=overlap, by_hand=True, **facts)], NOW)) == by_hand
    assert word(*admit([pending(overlap=overlap, begun=True, **facts)], NOW)) == begun


@pytest.mark.parametrize(
    ("overlap", "rules", "word_of_it"),
    [
        ("skip", {}, WAITS),
        ("queue", {"overlap_queue": 0}, WAITS),
        ("allow", {"limit": 1}, TOO_MANY),
        ("replace", {}, REPLACES),
    ],
)
def test_a_backlog_of_which_every_one_is_to_run_is_made_up_one_by_one(
    overlap: str, rules: dict[str, Any], word_of_it: str
) -> None:
    facts: dict[str, Any] = {"overlap": overlap, "active": (100,), **rules}
    late = [pending(trigger=Trigger.CATCH_UP, misfire=misfire, **facts) for misfire in (Misfire.ALL, Misfire.ONCE)]
    assert word(*admit(late[:1], NOW)) == word_of_it
    ordinary = pending(misfire=Misfire.ALL, **facts)
    assert (
        word(*admit(late[1:], NOW)) == word(*admit([ordinary], NOW)) == (SKIPPED if word_of_it == WAITS else word_of_it)
    )


def test_what_is_skipped_names_what_was_active() -> None:
    (one,) = admit([pending(active=(7,))], NOW)
    assert one.detail == "run 7 was still active"
    (several,) = admit([pending(overlap="allow", limit=2, active=(7, 8))], NOW)
    assert several.detail == "2 runs were still active, the oldest is 7"
    (queued,) = admit([pending(overlap="queue", active=(7,), waiting=(8,))], NOW)
    assert queued.detail == "run 7 was still active, and 1 run waits for it already"
    (more,) = admit([pending(overlap="queue", overlap_queue=2, active=(7,), waiting=(8, 9))], NOW)
    assert more.detail == "run 7 was still active, and 2 runs wait for it already"


@pytest.mark.parametrize("most", [0, 1, 3])
def test_so_many_wait_as_the_queue_holds(most: int) -> None:
    runs = [pending(n, "queue", overlap_queue=most, active=(100,)) for n in range(5)]
    assert [word(answer) for answer in admit(runs, NOW)] == [WAITS] * most + [SKIPPED] * (5 - most)


def test_of_several_due_runs_of_one_job_the_first_goes_and_the_others_meet_it() -> None:
    for overlap, others in (("skip", SKIPPED), ("allow", READY), ("queue", WAITS)):
        answers = admit([pending(n, overlap) for n in (1, 2)], NOW)
        assert [word(answer) for answer in answers] == [READY, others]
    answers = admit([pending(n, "skip", limit=2) for n in (1, 2, 3)], NOW)
    assert [word(answer) for answer in answers] == [READY, READY, SKIPPED]


def test_of_several_due_runs_under_replace_the_newest_is_left() -> None:
    answers = admit([pending(n, "replace") for n in (1, 2, 3)], NOW)
    assert [word(answer) for answer in answers] == [READY, REPLACES, REPLACES]
    assert (answers[1].replaces, answers[2].replaces) == ((1,), (1, 2))
    assert answers[1].waits
    assert answers[2].waits


def test_a_run_that_replaces_takes_the_place_of_all_that_are_active_or_wait() -> None:
    (answer,) = admit([pending(overlap="replace", active=(3, 4), waiting=(5,), limit=2)], NOW)
    assert (answer.waits, answer.replaces) == (True, (3, 4, 5))


def test_jobs_do_not_meet_each_other() -> None:
    answers = admit([pending(1, job_id=1), pending(2, job_id=2), pending(3, job_id=1)], NOW)
    assert [word(answer) for answer in answers] == [READY, READY, SKIPPED]


def test_what_waits_in_this_look_counts_for_those_after_it() -> None:
    runs = [pending(1, "queue", active=(9,), begun=True), pending(2, "queue", active=(9,))]
    assert [word(answer) for answer in admit(runs, NOW)] == [WAITS, SKIPPED]


def test_a_run_after_its_last_instant_is_a_misfire_and_takes_no_place() -> None:
    late, other = pending(1, start_by_ms=NOW - 1), pending(2, start_by_ms=NOW)
    answers = admit([late, other], NOW)
    assert (answers[0].reason, answers[1].reason) == (SkipReason.MISFIRE, None)
    assert answers[0] == too_late(late)
    assert "it could not start in time; misfire once" in str(answers[0].detail)


def test_an_answer_stands_for_each_run_in_its_place() -> None:
    runs = [pending(n, "allow") for n in (5, 3, 4)]
    assert [answer.run_id for answer in admit(runs, NOW)] == [5, 3, 4]


def test_a_job_without_a_limit_has_so_many_runs_that_have_not_ended_and_what_is_due_beyond_is_skipped() -> None:
    runs = [pending(number, "allow", unended=JOB_RUNS_MAX + 2) for number in range(3)]
    answers = admit(runs, NOW)
    assert [word(answer) for answer in answers] == [TOO_MANY, TOO_MANY, READY]
    assert answers[0].detail == f"{JOB_RUNS_MAX + 1} runs of its job have not ended"
    asked = [pending(1, "allow", unended=JOB_RUNS_MAX + 9, **{how: True}) for how in ("by_hand", "begun")]
    assert [word(answer) for answer in admit(asked, NOW)] == [READY, READY]
