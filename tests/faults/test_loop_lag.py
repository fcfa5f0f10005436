"""Nothing slow runs on the loop: with many jobs, many logs, hooks that hang and a directory service that is silent."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jobctl.errors import Unavailable
from kit.daemon import RealDaemon

JOBS = 10_000
DUE = 50
LOGS = 20_000
LAG_MS = 100
START_MS = 1_000

#: A daemon for which the user `ghost` is with a directory service that says nothing, and whose clock may be ahead.
SLOW = """
import os, sys, time
from jobctl import clock
from jobctl_daemon.__main__ import main
from jobctl_daemon.execution import identity

real, ahead_ms = identity.pwd.getpwnam, int(os.environ.get("AHEAD_MS", "0"))


def getpwnam(name):
    if name == "ghost" and os.path.exists(os.environ["JOBCTL_HOME"] + "/silent"): time.sleep(3600)
    return real("nobody" if name == "ghost" else name)


identity.pwd.getpwnam = getpwnam
now_ms = clock.SystemClock.now_ms
clock.SystemClock.now_ms = lambda self: now_ms(self) + ahead_ms
raise SystemExit(main(sys.argv[1:]))
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home")
    made.program = ["-c", SLOW]
    try:
        yield made.start()
    finally:
        made.environ.pop("AHEAD_MS", None)
        made.close()


def fill(daemon: RealDaemon) -> None:
    drafts = [
        {"name": f"job-{number}", "target": {"command": ["/bin/true"]}, "schedule": {"cron": "0 0 1 1 *"}}
        for number in range(JOBS - DUE)
    ]
    for first in range(0, len(drafts), 1_000):
        daemon.client.import_jobs(drafts[first : first + 1_000])
    logs = daemon.home / "state" / "runs" / "0"
    logs.mkdir(parents=True, exist_ok=True)
    for number in range(LOGS):
        (logs / f"999-{number}.log").touch()


@pytest.mark.case("F131")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root's daemon runs commands as other users")
@pytest.mark.long
def test_the_loop_is_free_and_starts_are_on_time_whatever_hangs_beside_them(
    daemon: RealDaemon, record_property: Callable[[str, object], None]
) -> None:
    fill(daemon)
    daemon.stop()
    daemon.start()  # what filled it is not measured, and it remembers no user
    target, every = {"command": ["/bin/true"]}, {"schedule": {"every": 2}, "misfire": "all", "overlap": "allow"}
    daemon.add("ghost", ["/bin/true"], user="ghost", **every)
    (daemon.home / "silent").touch()
    began = time.monotonic()
    with pytest.raises(Unavailable, match="nobody says whether there is a user 'ghost'"):
        daemon.add("late", ["/bin/true"], user="ghost", **every)
    assert time.monotonic() - began < 10
    daemon.add("told", "exit 3", notify=["exec:sleep 120"], retry={"max": 0}, **every)
    daemon.client.import_jobs([{"name": f"due-{number}", "target": target, **every} for number in range(DUE)])
    time.sleep(9)
    status = daemon.client.status()
    lag, starts = status["loop_lag"], status["start_lag"]
    words = f"p99 {lag['p99_ms']} ms, at most {lag['max_ms']} ms in {lag['count']} turns"
    words += f"; {starts['count']} starts, 99 % within {starts['p99_ms']} ms"
    record_property("counts", f"loop with {JOBS} jobs, {DUE} due every 2 s, {LOGS} logs, a silent directory: {words}")

    assert starts["count"] > 3 * DUE
    assert lag["p99_ms"] < LAG_MS
    assert starts["p99_ms"] < START_MS
    assert any("ghost" in warning for warning in status["warnings"])
    assert daemon.runs_of("ghost")[-1]["state"] in ("scheduled", "ready")
    daemon.client.pause_daemon()


@pytest.mark.case("F131")
@pytest.mark.long
def test_three_hours_of_ten_thousand_jobs_at_once_leave_the_loop_free(
    daemon: RealDaemon, record_property: Callable[[str, object], None]
) -> None:
    target = {"command": ["/bin/true"]}
    drafts = [
        {"name": f"job-{number}", "target": target, "schedule": {"cron": f"{number % 60} * * * *"}, "misfire": "skip"}
        for number in range(JOBS)
    ]
    for first in range(0, JOBS, 1_000):
        daemon.client.import_jobs(drafts[first : first + 1_000])
    daemon.stop()
    daemon.environ["AHEAD_MS"] = str(3 * 3_600_000)
    daemon.start()
    until = time.monotonic() + 60
    while (daemon.client.status()["next_run_at"] or "") < daemon.client.status()["now"]:
        assert time.monotonic() < until
        time.sleep(0.1)
    lag = daemon.client.status()["loop_lag"]
    words = f"p99 {lag['p99_ms']} ms, at most {lag['max_ms']} ms in {lag['count']} turns"
    record_property("counts", f"loop after 3 h without a daemon, {JOBS} jobs due at once: {words}")
    assert lag["p99_ms"] < LAG_MS
