"""Places of root's daemon that others can change."""

import os
from pathlib import Path

import pytest

from jobctl_daemon.trusted import warning

MINE = (0, os.geteuid())
GROUPS = (0, os.getegid())


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir(mode=0o755)
    file = folder / "jobd.toml"
    file.write_text("")
    file.chmod(0o644)
    return file


def test_what_is_root_s_alone_is_no_trouble(settings: Path) -> None:
    assert warning([str(settings)], MINE, GROUPS) is None
    assert warning([str(settings.parent / "none")], MINE, GROUPS) is None


def test_a_file_or_a_folder_that_others_can_write_is_named(settings: Path) -> None:
    settings.chmod(0o666)
    assert f"{settings} can be written by everybody" in (warning([str(settings)], MINE, GROUPS) or "")
    settings.chmod(0o644)
    settings.parent.chmod(0o777)
    assert f"{settings.parent} can be written by everybody" in (warning([str(settings)], MINE, GROUPS) or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a folder away")
def test_a_folder_of_somebody_else_s_is_named(settings: Path) -> None:
    os.chown(settings.parent, 12_345, 0)
    assert f"{settings.parent} belongs to uid 12345" in (warning([str(settings)], MINE, GROUPS) or "")
