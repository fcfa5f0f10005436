"""Another build takes over while commands run: theirs stay with the runner that started them, whatever it speaks."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.builds import another_build, replaced
from kit.carriers import until_gone
from kit.daemon import Json, RealDaemon, kill
from kit.gate import Gates

pytestmark = pytest.mark.long

TEN = [str(number) for number in range(10)]
ENDINGS = [
    "exit 0",
    "exit 3",
    "kill -9 $$",
    "exit 0",
    "kill -15 $$",
    "exit 7",
    "exit 0",
    "exit 1",
    "exit 0",
    "exit 255",
]
EXACT = [
    (0, None),
    (3, None),
    (None, 9),
    (0, None),
    (None, 15),
    (7, None),
    (0, None),
    (1, None),
    (0, None),
    (255, None),
]


class Installed(RealDaemon):
    """A daemon whose next start may be of another installation."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.python = sys.executable
        self.within = lambda command: [self.python, *command[1:]]

    def becomes(self, python: str) -> None:
        """As an installer does it: the old daemon stops, the new one starts."""
        self.stop()
        self.python = python
        self.start()

    def close(self) -> None:
        self.python = sys.executable
        super().close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Installed]:
    made = Installed(tmp_path / "home")
    try:
        yield made.start()  # type: ignore[misc]
    finally:
        made.close()


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


def newer(package: Path) -> None:
    """It has another runner, which tells something that nobody has heard of."""
    replaced(package / "runner" / "attempt.py", '"id": self.id,', '"id": self.id, "colour": "red",')
    replaced(package / "runner" / "attempt.py", '"id": attempt.id,', '"id": attempt.id, "colour": "red",')


def begun(daemon: RealDaemon, gates: Gates) -> list[Json]:
    runs = [daemon.run(gates.command(name, ending)) for name, ending in zip(TEN, ENDINGS, strict=True)]
    return [daemon.until_says(run, b"begin") for run in runs]


def by_version(daemon: RealDaemon) -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for runner in daemon.client.status()["runners"]:
        found.setdefault(runner["version"], []).append(runner)
    return found


@pytest.mark.case("F025")
def test_ten_commands_outlive_an_upgrade_and_the_way_back(daemon: Installed, gates: Gates, tmp_path: Path) -> None:
    old_pids = daemon.runners()
    (old,) = by_version(daemon)
    runs = begun(daemon, gates)
    pids = [gates.pid(name) for name in TEN]
    daemon.becomes(another_build(tmp_path / "newer", newer))
    during = by_version(daemon)
    (new,) = during.keys() - {old}
    states = [daemon.client.run(run["id"])["state"] for run in runs]
    fresh = daemon.finished(daemon.run("echo $PPID"))
    for name in TEN[:4]:
        gates.open(name)
    first = [daemon.finished(run) for run in runs[:4]]
    kept = daemon.until_says(daemon.run(gates.command("kept", "exit 9")), b"begin")
    daemon.becomes(sys.executable)
    again = {runner["pid"] for runner in by_version(daemon)[old] if not runner["draining"]}
    back = daemon.finished(daemon.run("echo $PPID"))
    for name in (*TEN[4:], "kept"):
        gates.open(name)
    rest = [daemon.finished(run) for run in runs[4:]]
    last = daemon.finished(kept)
    for runner in old_pids:
        until_gone(runner)

    assert states == ["running"] * 10
    assert all(runner["draining"] for runner in during[old])
    assert sum(runner["running"] for runner in during[old]) == 10
    assert not any(runner["draining"] for runner in during[new])
    assert int(daemon.output(fresh)) in {runner["pid"] for runner in during[new]}
    assert int(daemon.output(back)) in again
    assert [(run["exit_code"], run["signal"]) for run in (*first, *rest)] == EXACT
    assert [gates.pid(name) for name in TEN] == pids
    assert last["exit_code"] == 9
    assert sorted(gates.starts()) == sorted([*TEN, "kept"])


@pytest.mark.case("F027")
def test_a_runner_of_another_protocol_is_named_and_its_commands_are_left_alone(
    daemon: Installed, gates: Gates, tmp_path: Path
) -> None:
    """It is of a build that was installed for a while; what it started ends lost, for nobody here understands it."""
    here = set(daemon.runners())
    daemon.becomes(another_build(tmp_path / "other", newer))
    runs = {name: daemon.until_says(daemon.run(gates.command(name)), b"begin") for name in "abc"}
    strangers = [runner["pid"] for runner in daemon.client.status()["runners"] if runner["pid"] not in here]
    daemon.stop()
    daemon.python = another_build(tmp_path / "further", lambda package: speaks(package, 2))
    daemon.start()
    warnings = [words for words in daemon.client.status()["warnings"] if "speaks protocol 1, not 2" in words]
    versions = {runner["protocol"] for runner in daemon.client.status()["runners"]}
    fresh = daemon.finished(daemon.run(["/bin/echo", "new"]))
    during = [daemon.client.run(run["id"])["state"] for run in runs.values()]
    for pid in {*strangers}:
        kill(pid)
    for name in runs:
        gates.open(name)
    ended = [daemon.finished(run) for run in runs.values()]

    assert len(warnings) == len([pid for pid in strangers if f"(pid {pid}," in " ".join(warnings)]) > 0
    assert versions == {"1", "2"}
    assert fresh["state"] == "succeeded"
    assert during == ["running"] * 3
    assert {run["class"] for run in ended} == {"lost"}
    assert sorted(gates.starts()) == sorted(runs)


def speaks(package: Path, protocol: int) -> None:
    replaced(package / "runner" / "protocol.py", "PROTOCOL = 1", f"PROTOCOL = {protocol}")
    replaced(package / "execution" / "link.py", "RUNNER_PROTOCOL = 1", f"RUNNER_PROTOCOL = {protocol}")


def test_a_timeout_that_passes_while_no_daemon_runs_is_enforced_and_recorded(
    daemon: Installed, gates: Gates, tmp_path: Path
) -> None:
    run = daemon.until_says(daemon.run("echo begin; exec tail -f /dev/null", timeout=1, grace=1), b"begin")
    daemon.kill9()
    results = daemon.home / "state" / "runner" / "records"
    while not [*results.glob(f"{run['id']}-*.result")]:
        pass
    result = json.loads(next(results.glob(f"{run['id']}-*.result")).read_text())
    daemon.python = another_build(tmp_path / "newer", newer)
    daemon.start()
    ended = daemon.finished(run)

    assert (result["cause"], result["signal"]) == ("timed_out", 15)
    assert (ended["class"], ended["signal"]) == ("timed_out", 15)
    assert 900 <= result["duration_ms"] < 3000
