"""From the version before to this one and back with ten commands running: none of them notices.

A release and an environment built from a checkout take the same way, each as an ordinary user installs it.
"""

import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from jobctl.client.sync import Client
from kit import releases
from kit.daemon import AnyonesTransport, Json
from kit.gate import Gates
from kit.host import IS_ROOT, ORDINARY, Host, a_host

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

OLD, NEW = "99.0.0", "99.1.0"
#: How each of seven ends when its gate opens, and how that is recorded.
GATED = {
    "zero": ("exit 0", 0, None),
    "three": ("exit 3", 3, None),
    "most": ("exit 255", 255, None),
    "killed": ("kill -9 $$", None, 9),
    "ended": ("kill -15 $$", None, 15),
    "kept": ("exit 9", 9, None),
    "last": ("exit 1", 1, None),
}
#: Prints all the time, until it is told to end.
PRINTS = "echo I am $$; i=0; until [ -e {stop} ]; do i=$((i+1)); echo line $i; sleep 0.02; done; echo $i lines; exit 4"
TIMEOUT_S = 8


@pytest.fixture
def host() -> Iterator[Host]:
    with a_host() as made:
        yield made


class Ten:
    """The commands, seen through the daemon's socket and from outside."""

    def __init__(self, host: Host) -> None:
        self.client = Client(AnyonesTransport(str(host.home / ".local/state/jobctl/jobd.sock")))
        self._folder = host.home / "ten"
        self._folder.mkdir()
        self._gates = Gates(self._folder / "gates")
        self._stop = self._folder / "stop"
        commands = {name: self._gates.command(name, ending) for name, (ending, _, _) in GATED.items()}
        if IS_ROOT:
            for path in (self._folder, *self._folder.rglob("*")):
                os.chown(path, ORDINARY, ORDINARY)
        self.runs = {name: self._run(name, {"command": command}) for name, command in commands.items()}
        self.runs["prints"] = self._run("prints", {"shell": PRINTS.format(stop=self._stop)})
        self.runs["times out"] = self._run("times out", {"shell": "exec tail -f /dev/null"}, timeout=TIMEOUT_S, grace=5)
        flag = self._folder / "tried"
        self.runs["retries"] = self._run(
            "retries", {"shell": f"test -e {flag} || {{ touch {flag}; exit 5; }}"}, retry={"max": 1, "backoff": "5s"}
        )
        self.first = {name: self._seen(name) for name in (*GATED, "prints")}

    def _run(self, name: str, target: Json, **fields: object) -> int:
        self.client.create_job({"name": name, "target": target, "retry": {"max": 0}, **fields})
        run: int = self.client.trigger(name, {})["id"]
        return run

    def _seen(self, name: str) -> tuple[int, str, Json]:
        """Process, when that began, and the run as it is told."""
        run = self.runs[name]
        self.until(lambda: "\n" in self.log(run))
        pid = int(self.log(run).split()[2]) if name == "prints" else self._gates.pid(name)
        # A command may print before the daemon has written down that it began.
        self.until(lambda: self.client.run(run)["started_at"])
        return pid, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19], self.client.run(run)

    def until(self, holds: Callable[[], object]) -> None:
        """Looks again with each event."""
        while not holds():
            self.client.run(self.runs["zero"], wait_s=1)

    def log(self, run: int) -> str:
        return b"".join(self.client.log(run).pieces()).decode()

    def untouched(self, names: list[str]) -> None:
        """They are the same processes, in the same attempt of the same run, for the daemon of now too."""
        assert {name: self._seen(name) for name in names} == {name: self.first[name] for name in names}

    def end(self, names: list[str]) -> None:
        for name in names:
            self._gates.open(name)
        for name in names:
            run = self.client.run(self.runs[name], wait_s=30)
            assert (run["exit_code"], run["signal"]) == GATED[name][1:], name
            assert self.log(self.runs[name]) == "begin\nend\n", name

    def end_the_others(self) -> None:
        self._stop.touch()
        printed = self.client.run(self.runs["prints"], wait_s=30)
        _, *lines, last = self.log(self.runs["prints"]).splitlines()
        assert printed["exit_code"] == 4
        assert lines == [f"line {number}" for number in range(1, len(lines) + 1)]
        assert last == f"{len(lines)} lines"
        retried = self.client.run(self.runs["retries"], wait_s=30)
        assert (retried["state"], retried["attempt"]) == ("succeeded", 2)
        timed_out = self.client.run(self.runs["times out"], wait_s=30)
        assert (timed_out["class"], timed_out["signal"]) == ("timed_out", 15)
        began, ended = (datetime.fromisoformat(timed_out[name]) for name in ("started_at", "finished_at"))
        assert TIMEOUT_S <= (ended - began).total_seconds() < TIMEOUT_S + 5
        assert sorted(self._gates.starts()) == sorted(GATED)


def _release(host: Host, version: str) -> None:
    done = host.take(releases.kept(version), "--no-first-job")
    assert done.returncode == 0, done.stdout + done.stderr


def _environment(host: Host, version: str) -> None:
    file = host.checkout / "jobctl/jobctl/__init__.py"
    file.write_text(re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', file.read_text()))
    done = host.quick("--no-first-job")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("install", [_release, _environment], ids=["a release", "an environment"])
def test_ten_commands_outlive_an_upgrade_the_way_back_and_the_way_forward_again(
    host: Host, install: Callable[[Host, str], None]
) -> None:
    install(host, OLD)
    ten = Ten(host)
    running = [*GATED, "prints"]
    install(host, NEW)
    assert ten.client.status()["version"] == NEW
    ten.untouched(running)
    ten.end(running[:2])

    back = host.installed("--back")
    assert back.returncode == 0, back.stderr
    assert "commands that go on: " in back.stdout
    assert ten.client.status()["version"] == OLD
    ten.untouched(running[2:])
    ten.end(running[2:4])

    forward = host.installed("--back")
    assert forward.returncode == 0, forward.stderr
    assert ten.client.status()["version"] == NEW
    ten.untouched(running[4:])
    ten.end(running[4:7])
    ten.end_the_others()
