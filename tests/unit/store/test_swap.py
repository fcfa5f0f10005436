"""A database in the place of another: the old set or the new one, wherever the swap is stopped."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobctl_daemon.store.sqlite import swap

OLD = {"jobctl.db": b"old", "jobctl.db-wal": b"old log", "jobctl.db-shm": b"old index", "jobctl.db-open": b""}
BESIDE = {"jobd.lock": b"1", "jobctl-schema-0001.db": b"older"}


class Killed(BaseException):
    """The process ends here."""


class Fuse:
    """Lets so many steps through, each of them a change of the disk, and ends the process at the next one."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def of(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def fused(*args: Any, **options: Any) -> Any:
            if self.left == 0:
                raise Killed
            self.left -= 1
            return step(*args, **options)

        return fused

    def put_in(self, patch: pytest.MonkeyPatch) -> None:
        for place, name in ((os, "rename"), (os, "unlink"), (Path, "mkdir"), (Path, "write_text"), (shutil, "rmtree")):
            patch.setattr(place, name, self.of(getattr(place, name)))


def filled(folder: Path) -> Path:
    folder.mkdir()
    for name, content in (OLD | BESIDE).items():
        (folder / name).write_bytes(content)
    return folder / "jobctl.db"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def swapped(database: Path) -> None:
    """What a restore does."""
    swap.finish(database)
    swap.prepare(database).write_bytes(b"new")
    swap.order(database, "then")
    swap.finish(database)


def next_start(database: Path) -> None:
    """What every start does before it opens anything."""
    swap.finish(database)
    swap.discard(database)


def test_a_swap_that_is_stopped_anywhere_leaves_the_old_set_or_the_new_one(tmp_path: Path) -> None:
    seen = set()
    for steps in range(100):
        folder = tmp_path / str(steps)
        database = filled(folder)
        with pytest.MonkeyPatch.context() as patch:
            Fuse(steps).put_in(patch)
            try:
                swapped(database)
                ended = True
            except Killed:
                ended = False
        next_start(database)
        found = contents(folder)
        assert not (folder / swap.STAGING).exists()
        if found == OLD | BESIDE:
            assert not (folder / swap.KEPT).exists()
            seen.add("old")
        else:
            assert found == {"jobctl.db": b"new"} | BESIDE, steps
            assert contents(folder / swap.KEPT / "then") == OLD, steps
            seen.add("new")
        if ended:
            break
    assert steps > 8, "the fuse is in the wrong places"
    assert seen == {"old", "new"}


def test_a_swap_that_is_stopped_twice_is_finished_all_the_same(tmp_path: Path) -> None:
    for first in range(4, 12):
        for second in range(6):
            folder = tmp_path / f"{first}-{second}"
            database = filled(folder)
            for steps, act in ((first, swapped), (second, next_start)):
                with pytest.MonkeyPatch.context() as patch:
                    Fuse(steps).put_in(patch)
                    with contextlib.suppress(Killed):
                        act(database)
            next_start(database)
            kept = folder / swap.KEPT / "then"
            assert database.read_bytes() == (b"new" if kept.exists() else b"old")
            assert (contents(kept) if kept.exists() else OLD) == OLD


def test_where_there_was_nothing_nothing_is_kept(tmp_path: Path) -> None:
    database = tmp_path / "jobctl.db"
    swap.prepare(database).write_bytes(b"new")
    assert swap.order(database, "then") is None
    assert swap.finish(database)
    assert contents(tmp_path) == {"jobctl.db": b"new"}
    assert not (tmp_path / swap.KEPT).exists()
    assert not swap.finish(database)


def test_what_replaced_once_is_replaced_again_and_both_are_kept(tmp_path: Path) -> None:
    database = filled(tmp_path / "state")
    for stamp, content in (("1", b"second"), ("2", b"third")):
        swap.prepare(database).write_bytes(content)
        assert swap.order(database, stamp) == database.parent / swap.KEPT / stamp
        swap.finish(database)
    assert database.read_bytes() == b"third"
    assert contents(database.parent / swap.KEPT / "1") == OLD
    assert contents(database.parent / swap.KEPT / "2") == {"jobctl.db": b"second"}


@pytest.mark.parametrize("spoilt", [b"", b"garbage", b"\xff\xfe", b"{}", b"[1]", b'{"kept": ""}', b'{"kept": ".."}'])
def test_an_order_that_cannot_be_read_is_carried_out_all_the_same(tmp_path: Path, spoilt: bytes) -> None:
    database = filled(tmp_path / "state")
    swap.prepare(database).write_bytes(b"new")
    swap.order(database, "then")
    (database.parent / "restore.json").write_bytes(spoilt)
    next_start(database)
    assert contents(database.parent) == BESIDE | {"jobctl.db": b"new"}
    kept = [folder for folder in (database.parent / swap.KEPT).iterdir() if contents(folder)]
    assert [contents(folder) for folder in kept] == [OLD]


def test_nothing_is_ordered_where_the_old_set_could_not_be_put_aside(tmp_path: Path) -> None:
    database = filled(tmp_path / "state")
    (database.parent / swap.KEPT).write_bytes(b"in the way")
    swap.prepare(database).write_bytes(b"new")
    with pytest.raises(NotADirectoryError):
        swap.order(database, "then")
    next_start(database)
    assert contents(database.parent) == OLD | BESIDE | {swap.KEPT: b"in the way"}
