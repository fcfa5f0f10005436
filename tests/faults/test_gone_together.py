"""Daemon, runners and commands die together, or the whole machine does: nothing is left running for ever."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.daemon import Json, RealDaemon, kill, real_daemon
from kit.gate import Gates

RETRY = {"retry": {"max": 0, "lost": 1, "backoff": 0.1}}


@pytest.fixture
def gates(tmp_path: Path) -> Gates:
    return Gates(tmp_path / "gates")


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    with real_daemon(tmp_path / "home") as made:
        yield made


def begun(daemon: RealDaemon, gates: Gates, count: int) -> list[Json]:
    """So many commands at work, half of them of jobs that are retried when they are lost."""
    runs = []
    for number in range(count):
        name = f"job-{number}"
        fields = RETRY if number % 2 else {"retry": {"max": 0, "lost": 0}}
        command = gates.command(name)
        daemon.add(name, [*command[:2], f"test $JOBCTL_ATTEMPT = 1 || exit 0; {command[2]}"], **fields)
        runs.append(daemon.triggered(name))
    return [daemon.until_says(run, b"begin") for run in runs]


def strike(daemon: RealDaemon, gates: Gates, count: int) -> None:
    """kill -9 of everything."""
    runners = daemon.runners()
    daemon.kill9()
    for pid in (*runners, *(gates.pid(f"job-{number}") for number in range(count))):
        kill(pid)


def settled(daemon: RealDaemon, runs: list[Json]) -> None:
    """Each is lost: retried by the job's rule, or dead."""
    ended = [daemon.finished(run) for run in runs]
    classes = [[attempt["class"] for attempt in daemon.client.attempts(run["id"])] for run in runs]
    status = daemon.client.status()

    assert [run["state"] for run in ended] == ["dead", "succeeded"] * (len(runs) // 2)
    assert {run["class"] for run in ended[::2]} == {"lost"}
    assert classes == [["lost"], ["lost", None]] * (len(runs) // 2)
    assert (status["running"], status["ready"]) == (0, 0)


@pytest.mark.long
@pytest.mark.case("F065", "F057")
def test_when_everything_is_killed_at_once_each_run_is_lost_and_treated_so(daemon: RealDaemon, gates: Gates) -> None:
    runs = begun(daemon, gates, 10)
    strike(daemon, gates, 10)
    daemon.start()
    settled(daemon, runs)


@pytest.mark.long
@pytest.mark.case("F065")
def test_after_a_reboot_nothing_of_before_runs_and_who_has_its_number_is_left_alone(
    daemon: RealDaemon, gates: Gates
) -> None:
    runs = begun(daemon, gates, 4)
    strike(daemon, gates, 4)
    with sqlite3.connect(daemon.home / "state" / "jobctl.db") as database:
        # As another boot would have written it, with the number of a process of today.
        changed = database.execute(
            "UPDATE runs SET boot_id = 'before', pid = ? WHERE state = 'running'", (os.getpid(),)
        )
        assert changed.rowcount == 4
    database.close()
    records = list((daemon.home / "state" / "runner" / "records").glob("*-*.pid"))
    assert len(records) == 4
    for record in records:
        facts = json.loads(record.read_text())
        record.write_text(json.dumps(facts | {"boot_id": "before", "pid": os.getpid()}))
    daemon.start()
    settled(daemon, runs)


@pytest.mark.case("F065")
def test_after_a_power_cut_that_took_the_records_each_run_is_lost(daemon: RealDaemon, gates: Gates) -> None:
    runs = begun(daemon, gates, 4)
    strike(daemon, gates, 4)
    with sqlite3.connect(daemon.home / "state" / "jobctl.db") as database:
        database.execute("UPDATE runs SET boot_id = 'before' WHERE state = 'running'")
    database.close()
    for record in (daemon.home / "state" / "runner" / "records").iterdir():
        record.unlink()
    daemon.start()
    settled(daemon, runs)
