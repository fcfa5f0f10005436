"""People are told of each kind of end, once, and nothing waits for whoever is told."""

from pathlib import Path

import pytest

from jobctl.reading.times import milliseconds
from kit.daemon import Json, RealDaemon


@pytest.fixture
def told(tmp_path: Path) -> "Told":
    return Told(tmp_path / "told")


class Told:
    """A receiver that writes down what it is told of whom."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()
        self.command = f'exec:echo "$JOBCTL_EVENT $JOBCTL_ABOUT_JOB $JOBCTL_ABOUT_CLASS $JOBCTL_ABOUT_COUNT" >>{path}'

    def lines(self) -> list[str]:
        return self._path.read_text().splitlines()


def deliveries(daemon: RealDaemon) -> list[Json]:
    return [run for run in daemon.client.runs() if run["trigger"] == "notice"]


@pytest.mark.case("F148")
def test_a_command_that_cannot_be_started_is_told_of_at_once_and_not_again_each_time(
    own: RealDaemon, told: Told, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    own.add("unstartable", [str(program)], notify=[told.command])
    for _ in range(3):  # the second and third are no news
        assert own.finished(own.triggered("unstartable"))["class"] == "spawn_error"
    own.until(lambda: len(told.lines()) == 1)
    first = told.lines()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    assert own.finished(own.triggered("unstartable"))["state"] == "succeeded"

    assert first == ["dead unstartable spawn_error 1"]
    assert told.lines() == first  # what follows within a minute is sent as one, at the end of it
    assert len(deliveries(own)) == 1


@pytest.mark.case("F148")
def test_a_receiver_that_hangs_holds_up_no_start(own: RealDaemon) -> None:
    own.add("bad", "exit 64", notify=["exec:sleep 300"])
    own.finished(own.triggered("bad"))
    own.until(lambda: [run for run in deliveries(own) if run["state"] == "running"])
    runs = [own.finished(own.run(["/bin/true"])) for _ in range(20)]
    lag = own.client.status()["start_lag"]

    assert {run["state"] for run in runs} == {"succeeded"}
    for run in runs:
        assert milliseconds(run["started_at"]) - milliseconds(run["due_at"]) < 1000
    assert lag["p50_ms"] < 1000
