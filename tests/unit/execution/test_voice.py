"""A log followed while it grows, is made small, emptied and removed; and standard output that takes nothing."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.execution import voice
from jobctl_daemon.execution.lines import SHAPES
from jobctl_daemon.execution.logs import LogFiles
from jobctl_daemon.execution.outlet import Outlet
from jobctl_daemon.execution.voice import Place, Voice
from jobctl_daemon.runner.output import Output

RUN, FENCE = 7, 1_700_000_000_000
T0 = 1_800_000_000_000
CAP = 40_960


@pytest.fixture
def files(tmp_path: Path) -> LogFiles:
    return LogFiles(str(tmp_path / "runs"))


def followed(files: LogFiles, offset: int = 0, inode: int = 0) -> Voice:
    return Voice(files, Place(RUN, FENCE, 1, "job", offset, inode), SHAPES["plain"])


def writes(files: LogFiles, data: bytes) -> str:
    path = files.create_dir(RUN, FENCE)
    with open(path, "ab") as file:
        file.write(data)
    return path


def everything(of: Voice) -> bytes:
    """Up to the end of what there is now."""
    said = b""
    while True:
        before = of.place
        said += of.read(T0)
        if of.place == before or of.over:
            return said


def ends(of: Voice, size: int | None) -> bytes:
    of.ended, of.size = True, size
    return everything(of)


def numbered(count: int) -> bytes:
    return b"".join(b"%09d\n" % number for number in range(count))


def test_a_log_is_followed_from_before_it_is_there_to_after_its_end(files: LogFiles) -> None:
    one = followed(files)
    assert everything(one) == b""
    writes(files, b"first\nsec")
    assert everything(one) == b"first\n"
    writes(files, b"ond\nlast")
    assert everything(one) == b"second\n"
    assert not one.over
    assert ends(one, 17) == b"last\n"
    assert one.over


def test_another_daemon_goes_on_at_the_first_byte_that_was_not_passed_on(files: LogFiles) -> None:
    writes(files, b"one\ntwo\nthr")
    before = followed(files)
    everything(before)
    writes(files, b"ee\n")
    after = Voice(files, before.place, SHAPES["plain"])
    assert everything(after) == b"three\n"


def test_a_log_that_is_made_small_at_its_end_is_read_on_when_its_size_is_known(files: LogFiles) -> None:
    data = numbered(20_000)
    path = writes(files, data[:30_000])
    one = followed(files)
    said = everything(one)
    writes(files, data[30_000:])
    output = Output(os.fsencode(path), CAP)
    size = output.finish(alone=True)
    assert everything(one) == b""  # it cannot be told from one that was emptied before its end is on record
    said += ends(one, size)
    assert said.startswith(data[: CAP // 2 - 4096])
    assert said.endswith(data[-10_000:])
    assert b"bytes were removed by the log limit" in said
    assert b"emptied" not in said


def test_a_log_with_a_hole_is_read_around_it(files: LogFiles) -> None:
    data = numbered(20_000)
    path = writes(files, data)
    output = Output(os.fsencode(path), CAP)
    output.look()
    said = everything(followed(files))
    assert said.endswith(data[-10_000:])
    assert said.count(b"[jobctl: ") == 1


@pytest.mark.parametrize("more", [b"", b"and more than there was before\n"])
def test_a_command_that_empties_its_log_is_told_of_and_followed(files: LogFiles, more: bytes) -> None:
    path = writes(files, b"before it was emptied\n")
    one = followed(files)
    everything(one)
    with open(path, "wb") as file:
        file.write(b"x\n" + more)
    assert everything(one) == b"[jobctl: the command has emptied its log]\nx\n" + more


def test_who_is_too_far_behind_leaves_something_out_and_says_how_much(
    files: LogFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voice, "BEHIND_MAX", 100_000)
    monkeypatch.setattr(voice, "KEPT", 1_000)
    data = numbered(20_000)
    writes(files, data)
    one = followed(files)
    assert everything(one) == (
        b"[jobctl: 199000 bytes are left out: standard output is too slow; see jobctl log 7]\n" + data[-1_000:]
    )
    assert one.left_out == 199_000


def test_a_log_that_is_gone_is_over_with_its_attempt(files: LogFiles) -> None:
    one = followed(files)
    path = writes(files, b"begun")
    everything(one)
    Path(path).unlink()
    assert everything(one) == b""
    assert ends(one, 5) == b"begun\n"
    assert one.over


def test_standard_output_that_takes_nothing_is_never_waited_for() -> None:
    reading, writing = os.pipe()
    try:
        out = Outlet(writing)
        assert out.write(b"a\n")
        line = b"x" * 9_999 + b"\n"
        while out.write(line):
            pass
        waiting = out.waiting
        assert 0 < waiting <= len(line)
        taken = os.read(reading, 1 << 20)
        assert out.flush()
        taken += os.read(reading, 1 << 20)
        assert taken == b"a\n" + line * (len(taken) // len(line))
        os.close(reading)
        reading = -1
        assert out.write(b"lost\n")
        assert out.closed
    finally:
        os.close(writing)
        if reading >= 0:
            os.close(reading)
