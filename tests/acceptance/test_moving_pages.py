"""What "Moving from cron" and "Moving from systemd timers" tell people to type works, and does what they say."""

import io
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl.cli.main import run
from jobctl.cli.world import World
from jobctl.clock import SystemClock
from kit import pages
from kit.daemon import RealDaemon
from kit.own_host import needs_root, own_host

pytestmark = [needs_root, pytest.mark.long]

CRON, TIMERS = "docs/moving-from-cron.md", "docs/moving-from-systemd-timers.md"
TABLE = b"MAILTO=me\n0 3 * * * /usr/local/bin/backup --full\n"
#: Stands in for crontab(1) of Debian, and keeps the table in a file.
PROGRAM = '#!/bin/sh\ncase "$1" in -l) cat {table};; -) cat >{table}.new && mv {table}.new {table};; esac\n'


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home")
    made.settings(f'crontabs = "on"\nhost_root = "{tmp_path}/host"\n')
    (tmp_path / "host/var/spool/cron/crontabs").mkdir(parents=True)
    try:
        yield made.start()
    finally:
        made.close()


def typed(daemon: RealDaemon, folder: Path, page: str) -> None:
    """All that is typed into a shell beside the daemon."""
    pages.install_jobctl(folder / "bin", daemon.home)
    told = [block for block in pages.blocks(page) if block.how == "daemon"]
    environ = pages.environ(folder / "bin", folder)
    pages.typed([], told, environ, folder).must_be_as_told(told, {})


def test_a_user_moves_and_goes_back_and_a_crontab_is_installed_and_removed(daemon: RealDaemon, tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_bytes(TABLE)
    (tmp_path / "backup.crontab").write_bytes(TABLE)
    pages.stand_in(tmp_path / "bin", "crontab", PROGRAM.format(table=table))
    typed(daemon, tmp_path, CRON)
    assert table.read_bytes() == TABLE
    assert list(daemon.client.jobs()) == []


def test_a_host_moves_and_goes_back(tmp_path: Path) -> None:
    with own_host(tmp_path / "host") as host:
        host.with_systemd()
        host.write("/etc/crontab", b"0 3 1 1 * root true\n", 0o644)
        host.start_jobd()
        pages.install_jobctl(host.bin, None)
        told = [block for block in pages.blocks(CRON) if block.how == "root"]
        pages.typed(host.command(), told, pages.environ(host.bin, tmp_path), tmp_path).must_be_as_told(told, {})
        assert len(host.crons()) == 1
        assert host.path("/etc/crontab").read_bytes() == b"0 3 1 1 * root true\n"


def test_timers_become_jobs(daemon: RealDaemon, tmp_path: Path) -> None:
    typed(daemon, tmp_path, TIMERS)
    names = {job["name"] for job in daemon.client.jobs()}
    assert {"poll", "warm-up", "party", "often", "last-day", "unit", "report", "publish", "clean", "limited"} == names
    assert [run["state"] for run in daemon.client.job_runs("report")] == ["succeeded"]


def rows() -> list[tuple[str, str]]:
    section = pages.text_of(TIMERS).partition("## OnCalendar")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", section, re.MULTILINE)


@pytest.mark.parametrize(("calendar", "options"), rows())
def test_a_row_of_oncalendar_means_the_same(calendar: str, options: str) -> None:
    match = re.fullmatch(r'--cron "([^"]+)"(?: --tz (\S+))?', options)
    assert match is not None
    zone = match[2] or "Europe/Berlin"
    begin, count = "2026-12-03 10:20:30 UTC", 8
    words = ["next", match[1], "-n", str(count), "--from", "2026-12-03T10:20:30Z", "--tz", zone, "--json"]
    ours = [item["at"] for item in json.loads(said(*words))["items"]]
    assert len(ours) == count
    if shutil.which("systemd-analyze") is None:
        return
    asked = calendar if match[2] else f"{_spelt(calendar)} {zone}"
    told = subprocess.run(
        ["systemd-analyze", "calendar", f"--iterations={count}", f"--base-time={begin}", asked],
        capture_output=True, text=True, check=True, env={**os.environ, "TZ": "UTC", "LC_ALL": "C"},
    )  # fmt: skip
    theirs = re.findall(r"(?:Next elapse|\(in UTC\)|Iter\. #\d+): \w{3} (\S+ \S+) UTC$", told.stdout, re.MULTILINE)
    assert ours == [f"{at.replace(' ', 'T')}Z" for at in theirs]


def said(*words: str) -> str:
    """What a verb that needs no daemon prints, without a process for it."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(3)]
    assert run(words, World({"PATH": "/usr/bin:/bin"}, *streams, SystemClock(), os.getuid())) == 0
    return str(streams[1].buffer.getvalue(), "utf-8")  # type: ignore[attr-defined]


def _spelt(calendar: str) -> str:
    """A word such as `daily` takes no zone behind it: what systemd says that it means."""
    done = subprocess.run(["systemd-analyze", "calendar", calendar], capture_output=True, text=True, check=True)
    found = re.search(r"Normalized form: (.+)", done.stdout)
    assert found is not None
    return found[1]
