"""Claims without leases: nothing is started twice because somebody was slow, and nothing is judged by silence."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kit.daemon import RealDaemon
from kit.gate import Gates
from kit.marks import Marks

READS = (
    ["ls"],
    ["ls", "--json"],
    ["show", "read"],
    ["runs"],
    ["log", "read"],
    ["why", "read"],
    ["status"],
    ["dlq", "ls"],
    ["next", "read"],
)


def grows(marks: Marks, by: int) -> None:
    """Returns when so many further lines are there."""
    before = len(marks.all())
    while len(marks.all()) < before + by:
        pass


@pytest.mark.long
@pytest.mark.case("F066")
def test_a_long_command_is_one_run_and_one_attempt_whatever_holds_its_daemon_up(own: RealDaemon, marks: Marks) -> None:
    own.add("long", f"for i in $(seq 600); do {marks.line('canary')}; sleep 0.02; [ -e $STOP ] && exit 0; done; exit 9",
            env={"STOP": str(own.home / "enough")}, overlap="queue", misfire="all", schedule={"every": 1})  # fmt: skip
    own.until(marks.all)
    assert own.process is not None
    own.process.send_signal(signal.SIGSTOP)
    grows(marks, 60)
    own.process.send_signal(signal.SIGCONT)
    with closing(sqlite3.connect(own.home / "state" / "jobctl.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        grows(marks, 60)
        other.execute("ROLLBACK")
    burst = [own.run(["/bin/true"]) for _ in range(200)]
    (first, *_) = own.runs_of("long")
    for run in burst:
        assert own.finished(run)["state"] == "succeeded"
    running = own.client.run(first["id"])
    own.client.pause_job("long")
    (own.home / "enough").touch()
    ended = own.finished(first)

    assert (running["state"], running["attempt"]) == ("running", 1)
    assert (ended["state"], ended["attempt"], ended["exit_code"]) == ("succeeded", 1, 0)
    assert len({(mark.key, mark.attempt, mark.pid) for mark in marks.all()}) == 1
    assert [attempt["attempt"] for attempt in own.client.attempts(first["id"])] == [1]


@pytest.mark.case("F070")
def test_reading_writes_nothing(own: RealDaemon, gates: Gates) -> None:
    own.add("read", gates.command("read"), overlap="skip")
    run = own.until_says(own.triggered("read"), b"begin")
    database = own.home / "state" / "jobctl.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as watcher:

        def facts() -> list[object]:
            version = watcher.execute("PRAGMA data_version").fetchone()[0]
            return [version, *(path.stat().st_mtime_ns for path in (database, Path(f"{database}-wal")))]

        before = facts()
        for words in READS:
            assert own.jobctl(*words).returncode == 0, words
        for _ in range(50):
            own.client.status()
            list(own.client.jobs())
            own.client.run(run["id"])
        after = facts()
    gates.open("read")

    assert after == before
    assert own.finished(run)["state"] == "succeeded"


@pytest.mark.case("F070")
def test_nobody_is_failed_because_the_daemon_or_its_runners_stood_still(own: RealDaemon, gates: Gates) -> None:
    names = [f"{number}" for number in range(20)]
    runs = [own.until_says(own.run(gates.command(name)), b"begin") for name in names]
    assert own.process is not None
    frozen = [own.process.pid, *own.runners()]
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    for name in names[:10]:
        gates.open(name)
    for pid in reversed(frozen):
        os.kill(pid, signal.SIGCONT)
    ended = [own.finished(run) for run in runs[:10]]
    for _ in range(3):
        own.client.status()
    for name in names[10:]:
        gates.open(name)
    ended += [own.finished(run) for run in runs[10:]]
    later = [own.client.run(run["id"]) for run in ended]

    assert {(run["state"], run["attempt"], run["exit_code"]) for run in ended} == {("succeeded", 1, 0)}
    assert later == ended
    assert sorted(gates.starts()) == sorted(names)


@pytest.mark.case("F072")
def test_a_removed_job_whose_run_is_active_ends_well_is_readable_and_stays_away(
    daemon: RealDaemon, gates: Gates
) -> None:
    daemon.add("removed", gates.command("removed", "echo done"), schedule={"every": 1}, overlap="skip")
    run = daemon.until(lambda: next(iter(daemon.runs_of("removed", state="running")), None))
    daemon.until_says(run, b"begin")
    daemon.client.delete_job("removed")
    gates.open("removed")
    ended = daemon.finished(run)
    daemon.restart()
    daemon.finished(daemon.run(["/bin/sleep", "1.2"]))

    assert (ended["state"], ended["exit_code"]) == ("succeeded", 0)
    assert daemon.output(run) == b"begin\nend\ndone\n"
    assert daemon.client.run(run["id"])["job"] == "removed"
    assert "removed" not in [job["name"] for job in daemon.client.jobs()]
    assert gates.starts() == ["removed"]
    assert [one["id"] for one in daemon.client.runs() if one["job"] == "removed" and one["attempt"]] == [run["id"]]
