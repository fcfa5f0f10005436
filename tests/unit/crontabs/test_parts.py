"""Folders of scripts, as run-parts(8) takes them, and who runs them."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jobctl.crontabs import read
from jobctl.crontabs.jobs import Origin
from jobctl.crontabs.parts import FOLDERS, Entry, folders_run_by, planned_parts, queue_of, scripts
from jobctl.crontabs.parts_folder import anacron_of, entries_of
from jobctl.crontabs.periodic import Anacron, who_runs
from jobctl.model import JobDraft
from unit.crontabs.test_anacron import DEBIAN as ANACRONTAB
from unit.crontabs.test_anacron import stored

#: The lines of Debian's /etc/crontab.
CRONTAB = b"""17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly
25 6\t* * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
47 6\t* * 7\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }
52 6\t1 * *\troot\ttest -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }
"""
STARTS = b"30 7-23 * * * root [ -x /etc/init.d/anacron ] && /usr/sbin/invoke-rc.d anacron start >/dev/null\n"


def folder(path: Path) -> Path:
    """Of every kind of thing that run-parts takes or passes over."""
    path.mkdir()
    for name in ("logrotate", "0anacron", "Zebra", "man-db", "under_score", "a.b", "x.dpkg-old", "back~", "12"):
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(0o755)
    (path / "plain").write_text("#!/bin/sh\n")
    (path / "folder").mkdir()
    (path / "link").symlink_to("logrotate")
    (path / "nowhere").symlink_to("gone")
    (path / ".placeholder").touch()
    (path / "mine-only").write_text("#!/bin/sh\n")
    (path / "mine-only").chmod(0o700)
    return path


def test_the_scripts_are_those_of_run_parts_in_its_order(tmp_path: Path) -> None:
    made = folder(tmp_path / "parts")
    run, skipped = scripts(replace(entry, safe=True) for entry in entries_of(str(made)))
    assert run == ["0anacron", "12", "Zebra", "link", "logrotate", "man-db", "mine-only", "under_score"]
    assert {one.name: one.why for one in skipped} == {
        ".placeholder": "run-parts takes names of letters, digits, _ and - only",
        "a.b": "run-parts takes names of letters, digits, _ and - only",
        "back~": "run-parts takes names of letters, digits, _ and - only",
        "folder": "it is a folder",
        "nowhere": "its link leads nowhere",
        "plain": "it is not executable: chmod +x",
        "x.dpkg-old": "run-parts takes names of letters, digits, _ and - only",
    }


@pytest.mark.skipif(shutil.which("run-parts") is None, reason="there is no run-parts on this host")
@pytest.mark.parametrize("lsb", [False, True])
def test_run_parts_itself_says_the_same(tmp_path: Path, lsb: bool) -> None:
    made = folder(tmp_path / "parts")
    (made / "nowhere").unlink()
    names = scripts([replace(entry, safe=True) for entry in entries_of(str(made))], lsb=lsb)[0]
    said = subprocess.run(
        ["run-parts", "--test", *(["--lsbsysinit"] if lsb else []), str(made)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    assert said.stdout.split() == [f"{made}/{name}" for name in names]


def test_what_others_may_write_is_not_run_as_root() -> None:
    run, (skipped,) = scripts([Entry("mine", "file", True), Entry("theirs", "file", True, safe=False)])
    assert run == ["mine"]
    assert "others than root may write it" in skipped.why


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's files are safe")
def test_who_may_write_a_script(tmp_path: Path) -> None:
    for name, mode, uid in (("root", 0o755, 0), ("group", 0o775, 0), ("world", 0o757, 0), ("daemon", 0o755, 1)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
        os.chown(tmp_path / name, uid, uid)
    assert {entry.name: entry.safe for entry in entries_of(str(tmp_path))} == {
        "root": True, "group": False, "world": False, "daemon": False,
    }  # fmt: skip


def test_what_is_no_folder_has_nothing(tmp_path: Path) -> None:
    assert entries_of(str(tmp_path / "none")) == ()


@pytest.mark.parametrize("path", FOLDERS)
def test_each_script_is_a_job_of_its_own(path: str) -> None:
    found = planned_parts([Entry("b", "file", True), Entry("a", "file", True), Entry("7", "file", True)],
                          Origin(path, "root"), taken={"a"})  # fmt: skip
    assert [one.name for one in found] == ["script-7", "a-2", "b"]
    made: dict[str, Any] = found[1].draft or {}
    assert made["target"] == {"command": [f"{path}/a"]}
    assert made["schedule"] == {"cron": FOLDERS[path].schedule}
    assert (made["queue"], made["overlap"], made["cwd"]) == (queue_of(path), "skip", "/")
    assert made["misfire"] == ("skip" if path.endswith("hourly") else "once")
    msgspec.convert(made, JobDraft)
    stored(made)


def test_a_script_is_known_again_and_another_folders_is_another() -> None:
    def digest(path: str) -> str:
        return planned_parts([Entry("a", "file", True)], Origin(path, "root"))[0].digest

    assert digest("/etc/cron.daily") == digest("/etc/cron.daily") != digest("/etc/cron.weekly")


def test_files_under_another_root() -> None:
    origin = Origin("/trial/etc/cron.daily", "root")
    (one,) = planned_parts([Entry("a", "file", True)], origin, folder="/etc/cron.daily")
    assert one.draft is not None
    assert one.draft["target"] == {"command": ["/trial/etc/cron.daily/a"]}
    assert one.draft["queue"] == "cron.daily"


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("cd / && run-parts --report /etc/cron.hourly", {"/etc/cron.hourly"}),
        ("run-parts /etc/cron.daily/", {"/etc/cron.daily"}),
        ("test -x /usr/sbin/anacron || { run-parts --report /etc/cron.weekly; }", {"/etc/cron.weekly"}),
        ("run-parts /etc/cron.daily; run-parts /etc/cron.monthly", {"/etc/cron.daily", "/etc/cron.monthly"}),
        ("run-parts /etc/cron.daily.d", set()),
        ("run-parts /etc/cron.daily/sub", set()),
        ("ls /etc/cron.daily", set()),
        ("echo run-parts; ls /etc/cron.daily", set()),
    ],
)
def test_which_folders_a_command_runs(command: str, folders: set[str]) -> None:
    assert folders_run_by(command) == folders


def tables(*texts: bytes) -> list[tuple[str, Any]]:
    return [(f"/etc/table{number}", read(text, system=True)) for number, text in enumerate(texts)]


def test_debians_crontab_runs_the_folders_as_lines() -> None:
    found = who_runs(tables(CRONTAB), None, Anacron())
    assert found.folders == {
        "/etc/cron.hourly": "line 1 of /etc/table0",
        "/etc/cron.daily": "line 2 of /etc/table0",
        "/etc/cron.weekly": "line 3 of /etc/table0",
        "/etc/cron.monthly": "line 4 of /etc/table0",
    }
    assert found.warning is None


def test_without_a_line_and_without_anacron_the_scripts_are_jobs() -> None:
    assert who_runs(tables(b""), None, Anacron()).folders == dict.fromkeys(FOLDERS)


def test_anacron_that_is_there_keeps_its_file() -> None:
    found = who_runs(tables(CRONTAB, STARTS), ANACRONTAB, Anacron(installed=True))
    assert found.anacrontab == "anacron is installed and runs it"
    assert found.warning is None
    alone = who_runs(tables(), ANACRONTAB, Anacron(installed=True, timer=True))
    assert alone.folders["/etc/cron.daily"] == "anacron"
    assert alone.folders["/etc/cron.hourly"] is None
    assert alone.warning is None


def test_anacron_that_nothing_starts_is_told_of() -> None:
    warning = who_runs(tables(CRONTAB), ANACRONTAB, Anacron(installed=True)).warning
    assert warning == "anacron is installed, and nothing starts it: /etc/anacrontab is not run"


def test_a_file_that_a_removed_anacron_has_left_runs_nothing_twice() -> None:
    found = who_runs(tables(CRONTAB), ANACRONTAB, Anacron())
    assert found.anacrontab is None
    assert set(found.run_by_lines) == set(FOLDERS)
    without = who_runs(tables(), ANACRONTAB, Anacron())
    assert without.folders["/etc/cron.daily"] == "line 11 of /etc/anacrontab"
    assert without.run_by_lines == {}


def test_what_there_is_of_anacron(tmp_path: Path) -> None:
    assert anacron_of(str(tmp_path)) == Anacron()
    program = tmp_path / "usr" / "sbin" / "anacron"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    assert anacron_of(str(tmp_path)) == Anacron()
    program.chmod(0o755)
    assert anacron_of(str(tmp_path)) == Anacron(installed=True)
