"""Room on the disk: sizes, the reserve, and what is judged to be short."""

import os
from pathlib import Path

import pytest

from jobctl.errors import Unavailable
from jobctl_daemon.disk import Reserve, Room, sizes
from jobctl_daemon.disk.left import bytes_left, files_left
from jobctl_daemon.disk.trouble import Look, judge

MIB = 1 << 20
LOW = 64_000_000
FINE = Look(free=10 * LOW, total=100 * LOW, free_files=10_000, read_only=False, there=True)


@pytest.mark.parametrize("total_mib", [8, 16, 50, 100, 1_000, 100_000])
def test_the_reserve_is_larger_than_the_log_and_both_leave_room_for_jobs(total_mib: int) -> None:
    found = sizes(total_mib * MIB, LOW)

    assert found.reserve > found.log
    assert found.log + found.reserve + found.low < total_mib * MIB / 2
    assert found.log <= 16 * MIB
    assert found.low < found.enough


def test_on_a_small_filesystem_a_large_wish_is_a_twentieth_of_it() -> None:
    assert sizes(50 * MIB, 10**12).low == 50 * MIB // 20
    assert sizes(10**13, LOW).low == LOW
    assert sizes(10**13, 0).low == 0


def test_the_reserve_is_really_allocated_and_given_up_in_pieces(tmp_path: Path) -> None:
    reserve = Reserve(str(tmp_path / "reserve"), 4 * MIB)
    assert (reserve.held(), reserve.whole(), reserve.give()) == (0, False, False)
    reserve.make()
    found = os.stat(reserve.path)
    assert found.st_blocks * 512 >= 4 * MIB
    assert found.st_mode & 0o777 == 0o600

    left = [reserve.held()]
    while reserve.give():
        left.append(reserve.held())

    assert left == sorted(left, reverse=True)
    assert len(left) == 9
    assert left[-1] == 0
    assert not os.path.exists(reserve.path)
    reserve.make()
    assert reserve.whole()


def test_a_reserve_that_a_sparse_file_only_pretends_to_be_is_made(tmp_path: Path) -> None:
    reserve = Reserve(str(tmp_path / "reserve"), MIB)
    with open(reserve.path, "wb") as file:
        file.truncate(MIB)

    assert not reserve.whole()
    reserve.make()
    assert reserve.whole()


def test_a_link_in_the_place_of_the_reserve_is_not_followed(tmp_path: Path) -> None:
    reserve = Reserve(str(tmp_path / "reserve"), MIB)
    (tmp_path / "precious").write_text("precious")
    os.symlink(tmp_path / "precious", reserve.path)

    with pytest.raises(OSError, match="symbolic"):
        reserve.make()
    assert (tmp_path / "precious").read_text() == "precious"


@pytest.mark.parametrize(
    ("seen", "kind"),
    [
        (FINE, None),
        (FINE._replace(free=LOW), None),
        (FINE._replace(free=LOW - 1), "full"),
        (FINE._replace(free_files=-1), None),
        (FINE._replace(free_files=3), "full"),
        (FINE._replace(refused=True), "full"),
        (FINE._replace(read_only=True), "read_only"),
        (FINE._replace(there=False), "gone"),
        (FINE._replace(there=False, read_only=True, free=0), "gone"),
    ],
)
def test_what_is_short_has_a_kind_words_and_a_hint(seen: Look, kind: str | None) -> None:
    trouble = judge(seen, "/state", LOW)

    assert (trouble and trouble.kind) == kind
    if trouble is not None:
        assert "/state" in trouble.message
        assert trouble.hint
        assert trouble.error().details == {"why": kind}


def test_the_words_of_one_trouble_are_the_same_whatever_the_numbers_are() -> None:
    one, other = judge(FINE._replace(free=1), "/state", LOW), judge(FINE._replace(free=2), "/state", LOW)

    assert one is not None
    assert other is not None
    assert one.message == other.message
    assert one.hint != other.hint


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "jobctl.db").write_bytes(b"x")
    made = Room(str(tmp_path), str(tmp_path / "jobctl.db"), 0)
    made.sizes = sizes(16 * MIB, 0)
    made.reserve = Reserve(made.reserve.path, made.sizes.reserve)
    made.opened()
    return made


def test_a_database_that_is_moved_away_is_noticed_and_so_is_its_return(room: Room, tmp_path: Path) -> None:
    changes: list[str] = []
    room.changed = lambda: changes.append("changed")
    room.must_have()
    (tmp_path / "jobctl.db").rename(tmp_path / "away")
    assert room.held()
    (tmp_path / "jobctl.db").write_bytes(b"another")
    with pytest.raises(Unavailable, match="replaced") as caught:
        room.must_have()
    assert "jobctl backup" in caught.value.hint
    (tmp_path / "away").rename(tmp_path / "jobctl.db")

    room.must_have()
    assert changes == ["changed"]


def test_what_the_disk_refused_holds_new_work_until_the_disk_takes_a_write(room: Room) -> None:
    assert room.mend()
    assert room.spend()
    assert room.held()
    assert not room.reserve.whole()

    assert room.mend()
    assert room.reserve.whole()
    room.must_have()


def test_new_work_goes_on_only_when_there_is_more_room_than_it_took_to_stop_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    low = room.sizes.low
    room.sizes = sizes(1000 * MIB, 10 * MIB)
    frees = iter([10 * MIB, 10 * MIB - 1, 10 * MIB, 12 * MIB, 13 * MIB, 10 * MIB])
    monkeypatch.setattr(room, "seen", lambda: FINE._replace(free=next(frees)))

    assert low == 0
    assert [room.held() for _ in range(6)] == [False, True, True, True, False, False]


def test_users_who_fill_a_disk_leave_root_what_is_kept_back_for_it() -> None:
    """bsize, frsize, blocks, bfree, bavail, files, ffree, favail, flag, namemax: statvfs(3)."""
    filled = os.statvfs_result((4096, 4096, 1000, 50, 0, 100, 7, 0, 0, 255))
    assert (bytes_left(filled, 1000), files_left(filled, 1000)) == (0, 0)
    assert (bytes_left(filled, 0), files_left(filled, 0)) == (50 * 4096, 7)
    assert files_left(os.statvfs_result((4096, 4096, 1000, 50, 0, 0, 0, 0, 0, 255)), 0) == -1


def test_looking_leaves_nothing_behind(room: Room, tmp_path: Path) -> None:
    room.look()
    assert room.refusal() == 0
    assert sorted(os.listdir(tmp_path)) == ["jobctl.db"]
