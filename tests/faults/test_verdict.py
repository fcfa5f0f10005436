"""The count of the fault rig finds each kind of double and loss: a rig that finds nothing would pass everything."""

import dataclasses
from collections.abc import Mapping

import pytest

from kit.rig.commands import Said
from kit.rig.verdict import Blind, Done, Effort, Metronome, Recorded, Row, doubles, gaps, losses

RUN = Recorded(1, "job", "succeeded", 10)
OK = Effort(1, 1, 10, None, 0, None)
START = Said("start", 1, "job/s:1", 1, 10, 500, 100.0, "job", "-")
END = START._replace(what="end", at_s=101.0, more="0")


def lost(
    *said: Said,
    run: Recorded = RUN,
    effort: Effort = OK,
    done: Done | None = None,
    efforts: Mapping[tuple[int, int], Effort] | None = None,
) -> list[str]:
    kept = {(effort.run_id, effort.fence): effort} if efforts is None else efforts
    return list(losses(said, {run.run_id: run}, kept, done or Done()))


def test_what_went_well_is_no_finding() -> None:
    second = START._replace(attempt=2, fence=11)
    assert list(doubles([START, END, second])) == []
    assert lost(START, END, done=Done(asked={1: "submit"})) == []


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (START._replace(what="clash", more="run"), "two at once"),
        (START, "a fence that does not rise"),
        (START._replace(attempt=2, fence=9), "a fence that does not rise"),
        (START._replace(attempt=1, fence=11), "an attempt that does not rise"),
        (START._replace(run_id=2, attempt=1, fence=11), "two runs of one occurrence"),
    ],
)
def test_each_kind_of_double_is_found(second: Said, words: str) -> None:
    assert any(said.startswith(words) for said in doubles([START, second]))


def test_an_acknowledged_run_that_is_nowhere_is_lost() -> None:
    assert "acknowledged" in lost(START, END, done=Done(asked={7: "submit"}))[0]


@pytest.mark.parametrize("state", ["scheduled", "ready", "running"])
def test_a_run_without_an_end_is_found(state: str) -> None:
    assert "no end" in lost(START, END, run=dataclasses.replace(RUN, state=state))[0]


def test_a_success_without_the_commands_own_end_is_found() -> None:
    assert "succeeded" in lost(START)[0]
    assert "it never spoke" in lost()[0]
    assert "ended [9]" in lost(START, END._replace(fence=9))[0]


def test_a_command_that_was_started_and_is_in_no_record_is_found() -> None:
    assert "without a record" in lost(START, END, efforts={})[0]


@pytest.mark.parametrize("failure", ["exit_code", "timed_out", "cancelled", "lost", "signal", "policy", "spawn_error"])
def test_an_end_that_is_recorded_otherwise_is_found(failure: str) -> None:
    effort = dataclasses.replace(OK, failure_class=failure)
    assert "wrong record" in lost(START, END, effort=effort)[0]


@pytest.mark.parametrize(
    ("failure", "done"),
    [
        ("timed_out", Done(timeouts={"job": 1.0})),
        ("cancelled", Done(stopped={1})),
        ("cancelled", Done(replacing={"job"})),
        ("signal", Done(killed={(1, 10)})),
        ("lost", Done(blind=[Blind(100.5, 100.6)])),
        ("policy", Done(full=[Blind(100.5, 100.6)])),
    ],
)
def test_an_end_may_be_recorded_otherwise_for_what_was_done_to_it(failure: str, done: Done) -> None:
    effort = dataclasses.replace(OK, failure_class=failure, exit_code=None)
    assert lost(START, END, run=dataclasses.replace(RUN, state="failed"), effort=effort, done=done) == []


def test_a_loss_that_no_death_explains_is_found() -> None:
    effort = dataclasses.replace(OK, failure_class="lost", exit_code=None)
    failed = dataclasses.replace(RUN, state="failed")
    before = Done(blind=[Blind(90.0, 91.0)])
    after = Done(blind=[Blind(103.0, 104.0)])
    assert "recorded as lost" in lost(START, END, run=failed, effort=effort, done=before)[0]
    assert "recorded as lost" in lost(START, END, run=failed, effort=effort, done=after)[0]
    assert "nobody who watched it had died" in lost(START, run=failed, effort=effort, done=before)[0]
    assert lost(START, run=failed, effort=effort, done=after) == []


def test_a_code_of_a_command_that_never_ended_is_found() -> None:
    effort = dataclasses.replace(OK, failure_class="exit_code", exit_code=3)
    assert "never came to its end" in lost(START, run=dataclasses.replace(RUN, state="failed"), effort=effort)[0]


def test_a_due_instant_without_a_row_is_found() -> None:
    metronome = Metronome("job", 1_000, 1_000, 6_000)
    whole = [Row(1_000, 1_000, 1), Row(2_000, 4_000, None), Row(5_000, 5_000, 2)]
    runs = {1: RUN, 2: dataclasses.replace(RUN, run_id=2)}
    assert list(gaps(metronome, whole, runs)) == []
    assert "due at 5000" in next(gaps(metronome, whole[:2], runs))
    assert "due at 1000" in next(gaps(metronome, whole[1:], runs))
    assert len(list(gaps(metronome, [whole[0], whole[2]], runs))) == 3
    assert "the run 2 of job" in next(gaps(metronome, whole, {1: RUN}))
