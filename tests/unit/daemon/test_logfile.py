"""Where lines go: capped, without waiting, without raising."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.logfile import CappedFile, Descriptor

LINE = b"x" * 99 + b"\n"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[CappedFile]:
    made = CappedFile(str(tmp_path / "log"), 1_000)
    yield made
    made.close()


def test_two_files_never_hold_more_than_twice_the_cap(file: CappedFile, tmp_path: Path) -> None:
    for _ in range(95):
        assert file.write(LINE)
    assert [entry.name for entry in sorted(tmp_path.iterdir())] == ["log", "log.1"]
    assert (tmp_path / "log").stat().st_size == 500
    assert (tmp_path / "log.1").read_bytes() == LINE * 10
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600


def test_one_that_somebody_moved_or_removed_is_begun_anew(file: CappedFile, tmp_path: Path) -> None:
    assert file.write(b"one\n")
    (tmp_path / "log").rename(tmp_path / "elsewhere")
    assert file.write(b"two\n")
    (tmp_path / "log").unlink()
    assert file.write(b"three\n")
    assert (tmp_path / "elsewhere").read_bytes() == b"one\n"
    assert (tmp_path / "log").read_bytes() == b"three\n"


def test_the_cap_holds_where_the_old_file_cannot_be_moved_away(tmp_path: Path) -> None:
    file = CappedFile(str(tmp_path / "log"), 1_000)
    (tmp_path / "log.1").mkdir()  # nothing can be renamed to it
    for _ in range(25):
        assert file.write(LINE)
    file.close()
    assert (tmp_path / "log").stat().st_size <= 1_000


def test_without_room_a_line_is_lost_and_nothing_else() -> None:
    file = CappedFile("/dev/full", 1 << 40)
    assert [file.write(LINE) for _ in range(3)] == [False] * 3
    file.close()
    with open("/dev/full", "wb", buffering=0) as full:
        assert not Descriptor(full.fileno()).write(LINE)


def test_without_a_folder_a_line_is_lost_until_there_is_one(tmp_path: Path) -> None:
    file = CappedFile(str(tmp_path / "none" / "log"), 1_000)
    assert not file.write(LINE)
    (tmp_path / "none").mkdir()
    assert file.write(LINE)
    file.close()


def _both_ends(kind: str) -> tuple[int, int]:
    if kind == "pipe":
        return os.pipe()
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_reader_who_does_not_read_holds_nobody_up(kind: str) -> None:
    reader, writer = _both_ends(kind)
    try:
        out = Descriptor(writer)
        took = 0
        while out.write(b"%07d\n" % took * 1_000):
            took += 1
        assert took > 0
        assert not out.write(LINE)
        os.set_blocking(reader, False)
        said = b""
        while chunk := _read(reader):
            said += chunk
        assert out.write(b"it goes on\n")
        said = said[-8_000:] + _read(reader)
        assert said.endswith(b"\nit goes on\n")  # on a line of its own, whatever was cut before
    finally:
        os.close(reader)
        os.close(writer)


def _read(reader: int) -> bytes:
    try:
        return os.read(reader, 1 << 20)
    except BlockingIOError:
        return b""


def test_a_reader_who_is_gone_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert not Descriptor(writer).write(LINE)
    os.close(writer)
