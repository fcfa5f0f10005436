"""What follows a failure: for every way in which an attempt can end, under every policy."""

from itertools import pairwise
from typing import Any

import pytest

from jobctl.model import Policies
from jobctl.states import FailureClass, OnFailure, RunState
from jobctl_daemon.decide.outcome import Result, judge, record
from jobctl_daemon.decide.retry import HOPELESS_EXITS, settle
from jobctl_daemon.rows import Effort, Finish

NOW = 1_800_000_000_000
#: One result of each class that fails by itself, by its class.
FAILURES: dict[str, dict[str, Any]] = {
    "exit_code": {"exit_code": 3},
    "signal": {"signal": 11},
    "oom": {"signal": 9, "oom": True},
    "timed_out": {"signal": 15, "cause": "timed_out"},
    "policy": {"signal": 15, "cause": "log_failed"},
}
LOST = {"cause": "lost"}


def result(**facts: Any) -> Result:
    return Result(**{"run_id": 7, "fence": 9, "ended_ms": NOW} | facts)


def effort(failures: int = 0, losses: int = 0, *, probe: bool = False, stop_by: str | None = None,
           **rules: Any) -> Effort:  # fmt: skip
    policies = Policies(**{"on_failure": OnFailure.DEAD, "backoff_ms": 1_000, "backoff_max_ms": 60_000} | rules)
    return Effort(
        run_id=7,
        fence=9,
        key="uid/s:1",
        attempt=1 + failures + losses,
        failures=failures,
        losses=losses,
        probe=probe,
        policies=policies,
        stop_by=stop_by,
    )


def settled(what: dict[str, Any], before: Effort, tail: bytes = b"", now_ms: int = NOW) -> Finish:
    return settle(result(**what), before, tail, now_ms)


# ── what has an end of its own ──────────────────────────────────────────────


@pytest.mark.parametrize("before", [effort(), effort(9, 9), effort(probe=True), None])
def test_a_success_is_a_success_whatever_was_before(before: Effort | None) -> None:
    done = settle(result(exit_code=0), before, b"said something", NOW)
    assert (done.state, done.outcome, done.error, done.fingerprint) == (RunState.SUCCEEDED, "ok", None, None)


@pytest.mark.parametrize("cause", ["cancelled", "killed"])
@pytest.mark.parametrize("probe", [True, False])
def test_what_was_stopped_is_cancelled_and_never_tried_again(cause: str, probe: bool) -> None:
    done = settled({"cause": cause, "signal": 15}, effort(probe=probe, stop_by="ada", retries=5))
    assert (done.state, done.retry_ms) == (RunState.CANCELLED, None)
    assert "by ada" in str(done.reason)


def test_a_result_of_which_the_store_knows_nothing_is_recorded_as_it_is() -> None:
    lost = result(**LOST)
    assert settle(lost, None, b"x", NOW) == record(lost, judge(lost))


# ── failures ──────────────────────────────────────────────


@pytest.mark.parametrize("word", FAILURES)
def test_a_failure_is_tried_again_as_often_as_its_job_says(word: str) -> None:
    for failures in range(3):
        done = settled(FAILURES[word], effort(failures, retries=3))
        assert (done.state, done.counted, done.probe) == (RunState.READY, "failed", False)
        assert done.failure_class == FailureClass(word)
    done = settled(FAILURES[word], effort(3, retries=3))
    assert (done.state, done.retry_ms) == (RunState.DEAD, None)
    assert "4 attempts have failed" in str(done.reason)


@pytest.mark.parametrize("word", FAILURES)
@pytest.mark.parametrize(("on_failure", "state"), [("dead", RunState.DEAD), ("record", RunState.FAILED)])
def test_a_failure_for_good_goes_where_its_job_says(word: str, on_failure: str, state: RunState) -> None:
    done = settled(FAILURES[word], effort(retries=0, on_failure=OnFailure(on_failure)), b"no space left\n")
    assert (done.state, done.outcome, done.retry_ms) == (state, word, None)
    assert (done.error, len(str(done.fingerprint))) == ("no space left", 12)


def test_delays_grow_from_failure_to_failure_and_are_instants() -> None:
    waits = [(settled(FAILURES["signal"], effort(n, retries=9)).retry_ms or 0) - NOW for n in range(6)]
    assert waits[0] >= 1_000
    assert all(one < two for one, two in pairwise(waits))
    for n, wait_ms in enumerate(waits):
        assert 1_000 * 2**n <= wait_ms <= 1_200 * 2**n


def test_a_delay_counts_from_the_end_also_when_that_is_heard_of_late() -> None:
    done = settled(FAILURES["signal"] | {"ended_ms": NOW - 60_000}, effort(retries=1))
    assert NOW - 59_000 <= (done.retry_ms or 0) < NOW
    early = settled(FAILURES["signal"] | {"ended_ms": NOW + 3_600_000}, effort(retries=1))
    assert NOW < (early.retry_ms or 0) <= NOW + 1_200


@pytest.mark.case("F077")
def test_a_thousand_retries_never_leave_the_cap() -> None:
    for n in range(0, 100_000, 997):
        done = settled(FAILURES["exit_code"], effort(n, retries=1_000_000))
        assert NOW < (done.retry_ms or 0) <= NOW + 60_000


def test_losses_are_not_taken_from_the_budget_of_failures() -> None:
    assert settled(FAILURES["signal"], effort(0, 50, retries=1)).state is RunState.READY


# ── what is hopeless ──────────────────────────────────────────────


@pytest.mark.parametrize("code", [64, 65, 66, 67, 68, 77, 78, 126, 127])
def test_exits_that_say_that_trying_again_will_not_help_are_not_tried_again(code: int) -> None:
    done = settled({"exit_code": code}, effort(retries=5))
    assert (done.state, done.exit_code) == (RunState.DEAD, code)
    assert f"exit {code} says that trying again will not help" in str(done.reason)


@pytest.mark.parametrize("code", sorted(set(range(1, 256)) - HOPELESS_EXITS))
def test_every_other_exit_is_tried_again(code: int) -> None:
    assert settled({"exit_code": code}, effort(retries=5)).state is RunState.READY


def test_a_hopeless_number_of_another_class_is_not_hopeless() -> None:
    assert settled({"exit_code": 77, "cause": "timed_out"}, effort(retries=1)).state is RunState.READY
    assert settled({"signal": 64}, effort(retries=1)).state is RunState.READY


def test_a_command_that_cannot_be_started_is_not_tried_again() -> None:
    done = settled({"cause": "spawn_error", "detail": "no such file: /x"}, effort(retries=5), b"")
    assert (done.state, done.failure_class) == (RunState.DEAD, FailureClass.SPAWN_ERROR)
    assert "would not start the next time either" in str(done.reason)


@pytest.mark.parametrize("word", FAILURES)
def test_a_class_that_the_job_names_is_not_tried_again(word: str) -> None:
    done = settled(FAILURES[word], effort(retries=5, no_retry_on=[word]))
    assert done.state is RunState.DEAD
    assert f"its job says so of {word}" in str(done.reason)
    others = [other for other in FAILURES if other != word]
    assert settled(FAILURES[word], effort(retries=5, no_retry_on=others)).state is RunState.READY


def test_an_exit_code_that_the_job_names_is_not_tried_again() -> None:
    assert settled({"exit_code": 3}, effort(retries=5, no_retry_on=["3"])).state is RunState.DEAD
    assert settled({"exit_code": 4}, effort(retries=5, no_retry_on=["3"])).state is RunState.READY
    assert settled({"signal": 3}, effort(retries=5, no_retry_on=["3"])).state is RunState.READY


def test_a_loss_that_the_job_names_is_not_tried_again() -> None:
    for rules in ({}, {"on_lost": "ask:test -e done"}):
        done = settled(LOST, effort(lost_retries=5, no_retry_on=["lost"], **rules))
        assert (done.state, done.probe) == (RunState.DEAD, False)
        assert "its job says so of lost" in str(done.reason)


# ── losses ──────────────────────────────────────────────


def test_a_loss_has_a_budget_of_its_own() -> None:
    for losses in range(2):
        done = settled(LOST, effort(9, losses, lost_retries=2))
        assert (done.state, done.counted, done.probe) == (RunState.READY, "lost", False)
        assert NOW < (done.retry_ms or 0) <= NOW + 60_000
    done = settled(LOST, effort(0, 2, retries=9, lost_retries=2))
    assert (done.state, done.counted) == (RunState.DEAD, "lost")
    assert "it was lost 3 times" in str(done.reason)


def test_a_loss_without_a_budget_is_the_end() -> None:
    done = settled(LOST, effort(retries=9, lost_retries=0, on_failure=OnFailure.RECORD))
    assert (done.state, done.failure_class) == (RunState.FAILED, FailureClass.LOST)


def test_on_lost_dead_does_not_try_again() -> None:
    done = settled(LOST, effort(retries=9, lost_retries=9, on_lost="dead"))
    assert done.state is RunState.DEAD
    assert "what is lost is not retried here" in str(done.reason)


def test_on_lost_ask_asks_at_once() -> None:
    done = settled(LOST, effort(lost_retries=1, on_lost="ask:test -e done"))
    assert (done.state, done.probe, done.retry_ms, done.counted) == (RunState.READY, True, NOW, "lost")


def test_an_answer_that_it_was_not_done_tries_again_at_once_and_costs_no_budget() -> None:
    done = settled({"exit_code": 1}, effort(0, 1, probe=True, retries=0, lost_retries=1, on_lost="ask:x"))
    assert (done.state, done.probe, done.retry_ms, done.counted) == (RunState.READY, False, NOW, "")
    assert "it was not done" in str(done.reason)


@pytest.mark.parametrize("answer", [*FAILURES.values(), {"exit_code": 2}, {"exit_code": 127}, {"cause": "spawn_error"}])
def test_any_other_answer_leaves_it_open_and_is_the_end(answer: dict[str, Any]) -> None:
    done = settled(answer, effort(0, 1, probe=True, retries=9, lost_retries=9, on_lost="ask:x"))
    assert (done.state, done.counted) == (RunState.DEAD, "")
    assert "could not tell" in str(done.reason)


def test_a_question_that_is_lost_itself_is_asked_again_until_the_budget_is_spent() -> None:
    asked = settled(LOST, effort(0, 1, probe=True, lost_retries=2, on_lost="ask:x"))
    assert (asked.state, asked.probe) == (RunState.READY, True)
    assert settled(LOST, effort(0, 2, probe=True, lost_retries=2, on_lost="ask:x")).state is RunState.DEAD


# ── what is kept of it ──────────────────────────────────────────────


def test_failures_of_one_cause_have_one_fingerprint_and_others_have_others() -> None:
    def of(what: dict[str, Any], tail: bytes = b"") -> str | None:
        return settled(what, effort(), tail).fingerprint

    assert of({"exit_code": 3}, b"17 files left\n") == of({"exit_code": 3}, b"18 files left\n")
    assert of({"exit_code": 3}, b"no space\n") != of({"exit_code": 4}, b"no space\n")
    assert of({"signal": 9}) != of({"signal": 9, "oom": True})
    assert of(LOST) != of({"cause": "timed_out", "signal": 15})
    missing = {"cause": "spawn_error", "detail": "no such file: /a"}
    assert of(missing) != of(missing | {"detail": "permission denied: /a"})


def test_a_retry_remembers_why() -> None:
    done = settled({"exit_code": 3}, effort(retries=1), b"busy\n")
    assert (done.state, done.reason, done.error, done.exit_code) == (RunState.READY, "exit 3", "busy", 3)


def test_the_first_failure_of_a_command_that_is_only_recorded_is_told_plainly() -> None:
    done = settled({"exit_code": 64}, effort(retries=0, on_failure=OnFailure.RECORD))
    assert (done.state, done.reason) == (RunState.FAILED, "exit 64")
