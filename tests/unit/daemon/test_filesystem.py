"""The daemon's folder: local, private, held by one."""

import os
from pathlib import Path

import pytest

from jobctl.errors import Conflict, InvalidInput
from jobctl_daemon import filesystem


def test_a_second_daemon_is_told_who_holds_the_folder(tmp_path: Path) -> None:
    path = str(tmp_path / "jobd.lock")
    held = filesystem.lock(path)
    filesystem.name_holder(held, 4711)
    try:
        with pytest.raises(Conflict, match="4711"):
            filesystem.lock(path)
    finally:
        os.close(held)
    os.close(filesystem.lock(path))


def test_the_state_folder_is_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    filesystem.prepare(str(folder))

    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_network_filesystem_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "filesystem_type", lambda _: "nfs4")

    with pytest.raises(InvalidInput, match="nfs4"):
        filesystem.prepare(str(tmp_path))


def test_the_type_is_that_of_the_deepest_mount_that_holds_the_path(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / /srv/my\\040data rw - nfs4 host:/x rw\n")

    assert filesystem.filesystem_type("/srv/my data/state", str(mounts)) == "nfs4"
    assert filesystem.filesystem_type("/srv/my", str(mounts)) == "ext4"
