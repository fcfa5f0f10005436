"""When a log grew, beside the log."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.runner.times import MOST, Times, path_of


class Wall:
    """A wall clock that the test sets."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def wall() -> Wall:
    return Wall()


@pytest.fixture
def logs(tmp_path: Path) -> LogFiles:
    made = LogFiles(str(tmp_path / "runs"))
    Path(made.create_dir(7, 1)).touch()
    return made


def times(logs: LogFiles, wall: Wall) -> Times:
    return Times(os.fsencode(logs.path(7, 1)), wall)


def test_a_command_that_is_over_within_a_second_leaves_no_file(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    noted.note(10)
    wall.now_ms += 900
    noted.note(20)
    assert not os.path.exists(logs.times_path(7, 1))
    assert logs.times(7, 1) == []


def test_a_log_that_grows_is_noted_once_a_second_and_one_that_does_not_never(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    for size in (0, 10, 20, 30, 30, 30, 40):
        noted.note(size)
        wall.now_ms += 600
    assert logs.times(7, 1) == [(30, 1_001_800), (40, 1_003_600)]
    assert os.fsencode(logs.times_path(7, 1)) == path_of(os.fsencode(logs.path(7, 1)))
    assert os.stat(logs.times_path(7, 1)).st_mode & 0o777 == 0o600


def test_what_comes_after_a_long_silence_is_noted_at_once(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    noted.note(10)
    wall.now_ms += 1_000
    noted.note(10)
    wall.now_ms += 3_600_000
    noted.note(20)
    assert logs.times(7, 1) == [(10, 1_001_000), (20, 4_601_000)]


def test_a_log_that_grows_for_days_keeps_its_file_small_and_its_first_and_last_times(
    logs: LogFiles, wall: Wall
) -> None:
    noted = times(logs, wall)
    for second in range(20_000):
        noted.note(second * 10)
        wall.now_ms += 1_000
    found = logs.times(7, 1)
    assert MOST // 2 <= len(found) <= MOST
    assert os.stat(logs.times_path(7, 1)).st_size <= 16 << 10
    assert found == sorted(found)
    assert found[0][0] < 1_000
    assert found[-1][0] > 199_000
    assert max(after - before for (before, _), (after, _) in pairwise(found)) <= 640


def test_a_runner_that_takes_over_goes_on_where_the_other_stopped(logs: LogFiles, wall: Wall) -> None:
    first = times(logs, wall)
    first.note(10)
    wall.now_ms += 1_500
    first.note(20)
    second = times(logs, wall)
    second.recall()
    second.note(20)
    wall.now_ms += 1_000
    second.note(30)
    assert logs.times(7, 1) == [(20, 1_001_500), (30, 1_002_500)]


def test_a_log_that_its_command_made_shorter_begins_again(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    noted.note(100)
    wall.now_ms += 1_500
    noted.note(200)
    noted.note(5)
    assert logs.times(7, 1) == [(5, 1_001_500)]


def test_a_clock_that_was_set_back_stops_nothing_and_times_never_go_back(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    noted.note(10)
    wall.now_ms += 2_000
    noted.note(20)
    wall.now_ms -= 3_600_000
    noted.note(30)
    assert logs.times(7, 1) == [(20, 1_002_000), (30, 1_002_000)]


def test_what_cannot_be_written_harms_nobody(logs: LogFiles, wall: Wall) -> None:
    os.mkdir(logs.times_path(7, 1))
    noted = times(logs, wall)
    noted.recall()
    noted.note(10)
    wall.now_ms += 2_000
    noted.note(20)
    assert logs.times(7, 1) == []


def test_a_link_in_its_place_is_not_followed(logs: LogFiles, wall: Wall, tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"x" * 32)
    os.symlink(tmp_path / "target", logs.times_path(7, 1))
    noted = times(logs, wall)
    noted.note(10)
    wall.now_ms += 2_000
    noted.note(20)
    assert (tmp_path / "target").read_bytes() == b"x" * 32
    assert logs.times(7, 1) == []


@pytest.mark.parametrize("data", [b"", b"x" * 15, b"\xff" * 64])
def test_a_file_of_something_else_gives_no_more_than_it_can(logs: LogFiles, data: bytes) -> None:
    Path(logs.times_path(7, 1)).write_bytes(data)
    assert len(logs.times(7, 1)) <= 1


def test_the_times_of_a_log_go_with_it(logs: LogFiles, wall: Wall) -> None:
    noted = times(logs, wall)
    noted.note(10)
    wall.now_ms += 2_000
    noted.note(20)
    logs.remove(7, 1)
    assert os.listdir(os.path.dirname(logs.path(7, 1))) == []
    logs.remove(7, 1)
