"""A new file is there whole or not at all, on filesystems that know files without a name and on others."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.cli.newfile import new_file
from jobctl.errors import CallerError, Conflict, Forbidden, InvalidInput


@pytest.fixture(params=["nameless", "named"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if request.param == "named":
        whole = os.open

        def without_tmpfile(path: Any, flags: int, *args: Any, **options: Any) -> int:
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "not here")
            return whole(path, flags, *args, **options)

        monkeypatch.setattr(os, "open", without_tmpfile)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_gets_its_name_when_it_is_whole_and_is_closed_to_others(folder: Path) -> None:
    with new_file(str(folder / "out")) as file:
        file.write(b"half")
        assert not (folder / "out").exists()
        file.write(b" and half")
    assert names(folder) == ["out"]
    assert (folder / "out").read_bytes() == b"half and half"
    assert (folder / "out").stat().st_mode & 0o777 == 0o600


def test_one_that_is_not_finished_leaves_nothing(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_file(str(folder / "out")) as file:
        file.write(b"%d" % (1 // 0))
    assert names(folder) == []


def test_a_name_that_is_taken_meanwhile_is_left_to_who_took_it(folder: Path) -> None:
    with pytest.raises(Conflict, match="exists already"), new_file(str(folder / "out")):
        (folder / "out").write_bytes(b"theirs")
    assert (folder / "out").read_bytes() == b"theirs"
    assert names(folder) == ["out"]


def test_with_force_what_is_there_is_replaced_and_a_link_is_not_followed(folder: Path) -> None:
    (folder / "theirs").write_bytes(b"theirs")
    (folder / "out").symlink_to(folder / "theirs")
    with pytest.raises(Conflict), new_file(str(folder / "out")):
        pass
    with new_file(str(folder / "out"), force=True) as file:
        file.write(b"mine")
    assert (folder / "theirs").read_bytes() == b"theirs"
    assert not (folder / "out").is_symlink()
    assert (folder / "out").read_bytes() == b"mine"
    assert names(folder) == ["out", "theirs"]


def test_what_cannot_be_is_said(folder: Path) -> None:
    with pytest.raises(CallerError, match="cannot be written: No such file"), new_file(str(folder / "no" / "out")):
        pass
    with pytest.raises((CallerError, Forbidden)), new_file("/proc/out"):
        pass


def test_not_even_with_force_is_a_device_a_pipe_or_a_folder_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "inner").mkdir()
    for name in ("pipe", "inner"):
        with pytest.raises(InvalidInput, match="is no plain file"), new_file(str(folder / name), force=True):
            pass
    assert (folder / "pipe").is_fifo()
    assert names(folder) == ["inner", "pipe"]
