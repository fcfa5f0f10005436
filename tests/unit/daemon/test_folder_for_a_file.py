"""A folder where a file is read again and again is passed over, and takes no descriptor of the daemon each time."""

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobctl.crontabs import live
from jobctl_daemon.execution.login_env import LoginEnv
from jobctl_daemon.jobsdir import Trust, read_file
from jobctl_daemon.tables import reading
from jobctl_daemon.tables.periodic import look
from jobctl_daemon.tables.places import TablePlaces
from kit.descriptors import held_open


def jobs(root: Path) -> Path:
    path = root / "etc" / "a.toml"
    path.mkdir(parents=True)
    assert "cannot be read: Is a directory" in str(read_file(str(path), Trust(os.getuid())).refused)
    return path


def environment(root: Path) -> Path:
    path = root / "etc" / "environment"
    path.mkdir(parents=True)
    assert LoginEnv(str(root)).variables() == {}
    return path


def anacrontab(root: Path) -> Path:
    path = root / "etc" / "anacrontab"
    path.mkdir(parents=True)
    assert look(TablePlaces(str(root / "spool"), root=str(root))).unreadable["/etc/anacrontab"] == "Is a directory"
    return path


def crontab_of_the_host(root: Path) -> Path:
    path = root / "etc" / "crontab"
    path.mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "ROOT", str(root))
        assert [table.path for table in live.host_tables({"PATH": ""}, "nobody", 1)] == []
    return path


def table_that_is_swapped(root: Path) -> Path:
    """Between the look at it and the opening it becomes a folder."""
    path = root / "cron.d" / "site"
    path.mkdir(parents=True)
    (root / "file").write_text("#\n")
    seen = os.stat(root / "file")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "os", SimpleNamespace(**{**vars(os), "lstat": lambda _: seen}))
        table = TablePlaces(str(root / "spool"), cron_d=str(root / "cron.d")).table(str(path))
        assert table is not None
        assert "cannot be read: Is a directory" in str(reading.read_table(table).refused)
    return path


@pytest.mark.parametrize("read", [jobs, environment, anacrontab, crontab_of_the_host, table_that_is_swapped])
def test_a_folder_where_a_file_should_be_takes_no_descriptor(tmp_path: Path, read: Callable[[Path], Path]) -> None:
    assert held_open(read(tmp_path)) == 0
