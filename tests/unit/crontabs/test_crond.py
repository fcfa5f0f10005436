"""Cron is found by its program and its tables, ended for good, and started again as it was."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jobctl.crontabs import crond
from jobctl.crontabs.host_cron import check_gone
from jobctl.errors import Conflict
from kit.own_host import OwnHost, needs_root, own_host

pytestmark = needs_root

#: Asks in the host's own namespace, where the processes are.
ASK = """
import json, os, sys
from jobctl.crontabs import crond, host_cron
from jobctl.errors import JobctlError
def told(cron):
    return {"processes": [one.name for one in cron.processes],
            "services": [[one.manager, one.name, one.enabled, one.active] for one in cron.services]}
before = crond.find(os.environ)
said = {"before": told(before)}
try:
    for step in sys.argv[1:]:
        said[step] = host_cron.stop(before, os.environ) if step == "stop" else host_cron.start(before, os.environ)
        said["after " + step] = told(crond.find(os.environ))
except JobctlError as error:
    said["error"] = [error.message, error.hint]
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnHost]:
    with own_host(tmp_path_factory.mktemp("own") / "host") as made:
        yield made


@pytest.fixture
def host(one_host: OwnHost) -> Iterator[OwnHost]:
    yield one_host
    one_host.without_cron()


def ask(host: OwnHost, *steps: str) -> Any:
    return json.loads(host.run(sys.executable, "-c", ASK, *steps).stdout)


def test_no_cron_at_all(host: OwnHost) -> None:
    assert ask(host, "stop") == {
        "before": {"processes": [], "services": []},
        "stop": [],
        "after stop": {"processes": [], "services": []},
    }


def test_a_cron_without_a_manager_is_ended_and_started_as_it_was_called(host: OwnHost) -> None:
    host.start_cron()
    said = ask(host, "stop", "start")
    assert said["before"]["processes"] == ["cron"]
    assert said["stop"][0].startswith("ended cron, pid ")
    assert said["after stop"]["processes"] == []
    assert said["start"] == [f"started {host.folder}/cron 100000"]
    assert said["after start"]["processes"] == ["cron"]
    assert len(host.crons()) == 1
    assert host.path("/run/crond.reboot").exists()  # this was no boot: @reboot lines have run


def test_a_cron_that_stands_still_is_ended_too(host: OwnHost) -> None:
    host.start_cron()
    host.run("sh", "-c", "kill -STOP $(cat /run/cron.stand-in)")
    assert ask(host, "stop")["after stop"]["processes"] == []


def test_under_systemd_the_unit_is_stopped_disabled_and_brought_back(host: OwnHost) -> None:
    host.with_systemd()
    said = ask(host, "stop", "start")
    assert said["before"] == {"processes": ["cron"], "services": [["systemd", "cron.service", True, True]]}
    assert said["stop"] == ["cron.service is stopped and will not start at boot"]
    assert said["after stop"] == {"processes": [], "services": [["systemd", "cron.service", False, False]]}
    assert said["start"] == ["cron.service starts at boot and runs again"]
    assert said["after start"] == said["before"]


def test_a_unit_that_will_not_go_is_told_with_the_words_of_systemctl(host: OwnHost) -> None:
    host.with_systemd()
    (host.folder / "broken").touch()
    said = ask(host, "stop")
    assert said["error"][0] == "systemctl disable --now cron.service did not work: Failed to disable unit"
    assert len(host.crons()) == 1


def test_a_unit_made_from_a_script_is_enabled_as_the_script_is(host: OwnHost) -> None:
    host.path("/run/systemd/system").mkdir(parents=True)
    shown = "Id=cron.service\nLoadState=loaded\nActiveState=inactive\nUnitFileState=generated"
    host.stand_in("systemctl", f"#!/bin/sh\ncat <<E\n{shown}\nE\n")
    assert ask(host)["before"]["services"] == [["systemd", "cron.service", False, False]]
    host.write("/etc/rc3.d/S05cron", "")
    assert ask(host)["before"]["services"] == [["systemd", "cron.service", True, False]]


def test_with_scripts_of_system_v(host: OwnHost) -> None:
    host.with_scripts()
    said = ask(host, "stop", "start")
    assert said["before"]["services"] == [["sysv", "cron", True, True]]
    assert said["after stop"] == {"processes": [], "services": [["sysv", "cron", False, False]]}
    assert said["start"] == ["cron starts at boot and runs again"]
    assert said["after start"] == said["before"]


def test_what_still_runs_or_would_come_back_is_told() -> None:
    with pytest.raises(Conflict, match="cron still runs: cron, pid 7") as caught:
        check_gone(crond.Cron((crond.CronProcess(7, "cron"),)))
    assert "something starts it again" in caught.value.hint
    with pytest.raises(Conflict, match=r"cron\.service is still started at boot"):
        check_gone(crond.Cron((), (crond.CronService("systemd", "cron.service", True, False),)))
    check_gone(crond.Cron((), (crond.CronService("systemd", "cron.service", False, False),)))


HOLDER = """
import fcntl, os
file = open("/run/crond.pid", "w")
fcntl.flock(file, fcntl.LOCK_EX)
os.set_inheritable(file.fileno(), True)
os.execv("/bin/cat", ["another-name"])
"""


def test_what_holds_the_lock_on_a_pid_file_is_cron_whatever_it_is_called(host: OwnHost) -> None:
    holder = subprocess.Popen(host.command(sys.executable, "-c", HOLDER), env=host.environ, stdin=subprocess.PIPE)
    host.until(lambda: ask(host)["before"]["processes"] == ["cat"])
    holder.communicate()
    assert ask(host)["before"]["processes"] == []


def test_jobs_of_cron_and_crons_of_other_hosts_are_none(host: OwnHost) -> None:
    host.start_cron()
    # A child that runs a job is called CRON, and lives on when its parent ends (do_command.c).
    host.run("bash", "-c", f"(exec -a /usr/sbin/CRON {host.cron_program()} 1000) </dev/null >/dev/null 2>&1 &")
    host.until(lambda: len(host.crons()) == 2)
    assert len(ask(host)["before"]["processes"]) == 1
    assert not {one.pid for one in crond.running()} & _outside(host)
    (one,) = crond.running(str(host.folder))
    assert one.pid in _outside(host)


def _outside(host: OwnHost) -> set[int]:
    """The processes of that host by their ids out here."""
    namespace = Path(f"/proc/{host.pid}/ns/pid").readlink()
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "ns/pid").readlink() == namespace:
                found.add(int(entry.name))
        except OSError:
            continue
    return found
