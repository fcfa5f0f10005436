"""Who holds the daemon's lock, and who waits for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobctl.errors import Conflict
from jobctl_daemon import holder
from jobctl_daemon.holder import Holder

WAITS = "import sys; from jobctl_daemon import holder; holder.wait_for_lock(sys.argv[1]); print('mine', flush=True)"


def held(path: str, version: str = "1.2.3") -> int:
    descriptor = holder.lock(path)
    holder.name_holder(descriptor, path, Holder(os.getpid(), 1_800_000_000_000, version, "/run/jobd.sock"))
    return descriptor


def test_a_second_daemon_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "jobd.lock")
    descriptor = held(path)
    try:
        with pytest.raises(Conflict) as caught:
            holder.lock(path)
    finally:
        os.close(descriptor)
    said = f"pid {os.getpid()}, since 2027-01-15T08:00:00Z, version 1.2.3, socket /run/jobd.sock"
    assert caught.value.message == f"jobd is running already for {tmp_path}: {said}"
    os.close(holder.lock(path))


def test_what_an_earlier_daemon_has_left_is_not_said_of_this_one(tmp_path: Path) -> None:
    path = str(tmp_path / "jobd.lock")
    os.close(held(path))
    Path(path).write_text("4711\n")
    assert holder.words(path) == "pid 4711"
    Path(path).write_text("")
    assert holder.words(path) == "pid unknown"


def test_a_long_number_is_overwritten_whole(tmp_path: Path) -> None:
    path = tmp_path / "jobd.lock"
    path.write_text("123456789012345\n")
    os.close(held(str(path)))
    assert path.read_text() == f"{os.getpid()}\n"


def test_who_waits_is_seen_until_it_has_the_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "jobd.lock")
    descriptor = held(path)
    with subprocess.Popen([sys.executable, "-c", WAITS, path], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        try:
            while holder.waiting(path) != [other.pid]:
                assert other.poll() is None
        finally:
            os.close(descriptor)
        assert other.stdout.readline() == b"mine\n"
        assert holder.waiting(path) == []
        assert other.wait(10) == 0


def test_other_locks_and_their_waiters_are_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "jobd.lock"
    path.touch()
    found = path.stat()
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    locks = tmp_path / "locks"
    locks.write_text(
        f"1: FLOCK  ADVISORY  WRITE 10 {place}:{found.st_ino} 0 EOF\n"
        f"1: -> FLOCK  ADVISORY  WRITE 11 {place}:{found.st_ino} 0 EOF\n"
        f"1: -> POSIX  ADVISORY  WRITE 12 {place}:{found.st_ino} 0 EOF\n"
        f"2: -> FLOCK  ADVISORY  WRITE 13 {place}:{found.st_ino + 1} 0 EOF\n"
        "3: FLOCK\n"
    )
    assert holder.waiting(str(path), str(locks)) == [11]
    assert holder.waiting(str(path), str(tmp_path / "none")) == []
