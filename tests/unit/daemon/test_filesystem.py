"""The daemon's folder: local, private, its own."""

import os
import subprocess
from pathlib import Path

import pytest

from jobctl.errors import Forbidden, InvalidInput
from jobctl_daemon import filesystem


def test_the_state_folder_is_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    filesystem.prepare(str(folder))

    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_network_filesystem_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filesystem, "network_kind", lambda _: "nfs4")

    with pytest.raises(InvalidInput, match="nfs4") as caught:
        filesystem.prepare(str(tmp_path / "state"))
    assert "state_dir" in caught.value.hint


@pytest.mark.parametrize("name", ["jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobd.lock", "jobd.log", "reserve"])
def test_a_file_that_its_owner_may_not_write_is_told_with_its_repair(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    filesystem.prepare(str(folder))
    file = folder / name
    file.write_bytes(b"")
    file.chmod(0o444)

    with pytest.raises(Forbidden) as caught:
        filesystem.prepare(str(folder))

    assert f"{file}" in caught.value.message
    assert "mode 0444" in caught.value.message
    subprocess.run(caught.value.hint.partition(": ")[2], shell=True, check=True)
    filesystem.prepare(str(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", ["", "jobctl.db", "jobctl.db-wal", "jobctl.db-shm", "jobd.lock", "runner"])
def test_what_belongs_to_somebody_else_is_told_with_its_repair(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    filesystem.prepare(str(folder))
    theirs = folder / name
    if name == "runner":
        theirs.mkdir()
    elif name:
        theirs.write_bytes(b"")
    os.chown(theirs, 65534, 65534)

    with pytest.raises(Forbidden, match=r"uid 65534.*mode 0") as caught:
        filesystem.prepare(str(folder))

    assert str(theirs).rstrip("/") in caught.value.message
    subprocess.run(caught.value.hint.partition(": ")[2], shell=True, check=True)
    filesystem.prepare(str(folder))


@pytest.mark.parametrize("name", ["jobctl.db", "runs"])
def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "state"
    filesystem.prepare(str(folder))
    (folder / name).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(Forbidden, match=f"{name} is no"):
        filesystem.prepare(str(folder))


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")

    with pytest.raises(InvalidInput, match="no folder"):
        filesystem.prepare(str(tmp_path / "state"))
