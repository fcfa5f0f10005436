"""The system's log tells of each started command as cron does: a real daemon, and a socket in the place of /dev/log."""

import os
import pwd
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.crontab_host import CrontabHost
from kit.daemon import RealDaemon
from kit.syslog import Syslog

pytestmark = pytest.mark.long

ME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RealDaemon, Syslog]]:
    folder = tmp_path_factory.mktemp("syslog")
    listening, made = Syslog(folder / "log"), RealDaemon(folder / "home")
    made.settings(f'syslog = "on"\nsyslog_socket = "{listening.path}"\n')
    try:
        yield made.start(), listening
    finally:
        made.close()
        listening.close()


@pytest.fixture
def daemon(shared: tuple[RealDaemon, Syslog]) -> RealDaemon:
    return shared[0]


@pytest.fixture
def syslog(shared: tuple[RealDaemon, Syslog]) -> Syslog:
    shared[1].lines()
    return shared[1]


def test_each_start_is_a_line_with_process_user_and_command(daemon: RealDaemon, syslog: Syslog) -> None:
    run = daemon.run("echo $$\nexit 1", notify=["exec:true"])
    line = syslog.line()
    said = daemon.output(daemon.finished(run)).decode().strip()
    assert re.fullmatch(rf"<78>\w{{3}} [ \d]\d [\d:]{{8}} CRON\[{said}\]: \({ME}\) CMD \(echo \$\$\^Jexit 1\)", line)
    daemon.finished(daemon.run(["/bin/echo", "a b"]))
    assert syslog.line().endswith(f": ({ME}) CMD (/bin/echo 'a b')")
    told = daemon.client.status()["syslog"]
    assert (told["path"], told["dropped"], told["why"]) == (str(syslog.path), 0, None)
    assert f"{told['lines']} lines to {syslog.path}" in daemon.jobctl("status").stdout


def test_a_start_that_comes_to_nothing_is_a_line_too(daemon: RealDaemon, syslog: Syslog) -> None:
    daemon.finished(daemon.run(["/opt/none"]))
    assert re.search(
        rf"CRON\[\d+\]: \({ME}\) FAILED \(ENOENT: program /opt/none: No such file or directory\)$", syslog.line()
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has tables with a user column")
def test_a_table_that_has_changed_is_a_line_when_it_is_read_again(tmp_path: Path, syslog: Syslog) -> None:
    host = CrontabHost(tmp_path / "host")
    table = host.site("x", "0 0 1 1 * root first\n")
    made = RealDaemon(tmp_path / "home").settings(host.settings(syslog="on", syslog_socket=str(syslog.path)))
    try:
        made.start()
        made.until(lambda: list(made.client.jobs()))
        host.save(table, "0 0 1 1 * root second\n")
        assert re.search(rf" cron\[\d+\]: \(\*system\*\) RELOAD \({table}\)$", syslog.line(30))
    finally:
        made.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_the_user_is_the_one_whom_it_runs_as(daemon: RealDaemon, syslog: Syslog) -> None:
    daemon.finished(daemon.run("true", user="nobody"))
    assert syslog.line().endswith(": (nobody) CMD (true)")


def test_without_anybody_who_listens_everything_runs_and_status_says_so(tmp_path: Path) -> None:
    made = RealDaemon(tmp_path / "home").settings(f'syslog = "on"\nsyslog_socket = "{tmp_path}/log"\n')
    try:
        made.start()
        assert made.finished(made.run("true"))["state"] == "succeeded"
        assert made.client.status()["syslog"]["dropped"] == 1
        assert "1 left out: No such file or directory" in made.jobctl("status").stdout
        made.settings('syslog = "off"\n').reload()
        while made.client.status()["syslog"] is not None:
            pass
    finally:
        made.close()
