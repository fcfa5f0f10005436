"""What a result says of how a command ended, read in this boot or in a later one."""

import json
from typing import Any

import pytest

from jobctl.states import FailureClass
from jobctl_daemon.decide.outcome import Result, judge
from jobctl_daemon.execution.identity import boot_id
from jobctl_daemon.execution.reports import Ended, Held, Rescanned, Underway, may_be_the_shutdown, parse


def result(**facts: Any) -> Result:
    """As a runner of this boot tells it, unless said otherwise."""
    message = {"id": "7-3", "ended_at": 1000, "boot_id": boot_id(), **facts}
    (report,) = parse(json.dumps({"ended": message}).encode(), 2000)
    assert isinstance(report, Ended)
    return report.result


@pytest.mark.parametrize("facts", [{"signal": 15}, {"signal": 9}, {"signal": 1}, {"exit_code": 143}])
def test_what_died_as_everything_does_in_a_boot_that_is_over_was_interrupted(facts: dict[str, int]) -> None:
    assert judge(result(**facts, boot_id="before")).failure_class is FailureClass.INTERRUPTED
    assert judge(result(**facts)).failure_class in (FailureClass.SIGNAL, FailureClass.EXIT_CODE)


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"exit_code": 0}, "ok"),
        ({"exit_code": 1}, "exit_code"),
        ({"signal": 11}, "signal"),
        ({"signal": 15, "cause": "cancelled"}, "cancelled"),
        ({"signal": 9, "cause": "timed_out"}, "timed_out"),
        ({"cause": "lost"}, "lost"),
    ],
)
def test_any_other_end_is_what_it_was_also_in_a_later_boot(facts: dict[str, Any], word: str) -> None:
    assert judge(result(**facts, boot_id="before")).word == word


def test_what_a_runner_ended_because_the_machine_went_down_was_interrupted() -> None:
    ended = result(cause="lost", interrupted=True, exit_code=0)
    assert judge(ended).failure_class is FailureClass.INTERRUPTED
    assert ended.exit_code == 0


def test_only_an_end_that_nobody_here_caused_may_be_the_shutdown() -> None:
    assert may_be_the_shutdown(result(signal=15))
    assert not may_be_the_shutdown(result(signal=15, cause="cancelled"))
    assert not may_be_the_shutdown(result(signal=9, oom=True))
    assert not may_be_the_shutdown(result(exit_code=1))


def test_a_cause_of_a_later_version_is_as_good_as_not_seen() -> None:
    outcome = judge(result(cause="eaten"))
    assert outcome.failure_class is FailureClass.LOST
    assert "eaten" in (outcome.reason or "")


@pytest.mark.parametrize(("line", "busy"), [({"adopted": 0}, False), ({"adopted": 0, "busy": True}, True)])
def test_a_look_that_another_runner_prevented_is_told_from_one_that_was_made(line: dict[str, Any], busy: bool) -> None:
    assert parse(json.dumps({"rescanned": line}).encode(), 0) == [Rescanned(busy)]


def test_an_attempt_that_emptied_its_log_says_so_unless_there_is_more_to_say() -> None:
    emptied = {"exit_code": 3, "log_truncated": True}
    assert result(**emptied).detail == "the command emptied its own log"
    assert judge(result(**emptied)).reason == "exit 3"
    assert result(**emptied, detail="no room", errno="ENOSPC").detail == "ENOSPC: no room"
    assert result(**emptied | {"signal": 9, "cause": "timed_out"}).detail is None


def test_a_start_that_a_child_makes_is_under_way_and_no_end_of_anything() -> None:
    assert parse(b'{"starting":{"id":"5-7","pid":9}}', 0) == [Underway(5, 7)]
    listed = b'{"list":[{"id":"5-7","state":"starting","pid":9,"pid_start":1,"started_at":2,"result":null}]}'
    assert parse(listed, 0) == [Held({"5-7": "starting"})]
