"""A large clean-up beside the daemon's work: nothing waits for it, and a kill in its middle is harmless (F102)."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from jobctl.model import Execution, JobSpec, Policies, ScheduleSpec
from jobctl.reading.times import milliseconds
from jobctl_daemon.rows import Caller
from jobctl_daemon.store.sqlite import SqliteStore
from kit.daemon import RealDaemon
from kit.marks import Marks

RUNS, LOGS, JOBS = 60_000, 3_000, 50
DAY_MS = 86_400_000
OLD = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :runs)
INSERT INTO {} SELECT {} FROM n
"""
HISTORY = OLD.format(
    "history (id, job_id, owner_id, version, key, slot_ms, due_ms, trigger, coalesced, state, outcome, fence, attempt, "
    "finished_ms, late)",
    "i, 1 + i % :jobs, 1, 1, 's:' || (:from_ms + i), :from_ms + i, :from_ms + i, 'schedule', 0, 'succeeded', 'ok', i, "
    "1, :from_ms + i, 0",
)
ATTEMPTS = OLD.format(
    "attempts (run_id, attempt, fence, node, boot_id, claimed_ms, ended_ms, log_size)",
    "i, 1, i, 'n', 'b', :from_ms + i, :from_ms + i, CASE WHEN i > :runs - :logs THEN 9 ELSE 0 END",
)
OCCURRENCES = OLD.format(
    "occurrences (job_id, key, from_ms, to_ms, count, run_id, at_ms)",
    "1 + i % :jobs, 's:' || (:from_ms + i), :from_ms + i, :from_ms + i, 1, i, :from_ms + i",
)


async def old_jobs(path: Path, now_ms: int) -> None:
    store = SqliteStore(path)
    await store.open()
    specs = [
        JobSpec(
            name=f"old-{number}",
            schedule=ScheduleSpec(timezone="UTC", words="by hand"),
            execution=Execution(command=["true"]),
            policies=Policies(),
        )
        for number in range(JOBS)
    ]
    await store.create_jobs(Caller(0, "root"), [(spec, None) for spec in specs], now_ms)
    await store.close()


def fill(state: Path) -> None:
    """Runs of two years ago, the newest of them with their logs."""
    now_ms = int(time.time() * 1000)
    state.mkdir(parents=True, mode=0o700)
    asyncio.run(old_jobs(state / "jobctl.db", now_ms))
    facts = {"runs": RUNS, "logs": LOGS, "jobs": JOBS, "from_ms": now_ms - 730 * DAY_MS}
    with closing(sqlite3.connect(state / "jobctl.db")) as database, database:
        for statement in (HISTORY, ATTEMPTS, OCCURRENCES):
            database.execute(statement, facts)
        database.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('runs', ?)", (RUNS,))
    for run in range(RUNS - LOGS + 1, RUNS + 1):
        folder = state / "runs" / str(run // 1000)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"{run}-{run}.log").write_bytes(b"some text")


class Old:
    """What is left of it, seen from beside."""

    def __init__(self, state: Path) -> None:
        self._state = state

    def count(self, table: str, column: str) -> int:
        with closing(sqlite3.connect(f"file:{self._state / 'jobctl.db'}?mode=ro", uri=True)) as database:
            found: int = database.execute(f"SELECT count(*) FROM {table} WHERE {column} <= ?", (RUNS,)).fetchone()[0]
            return found

    def rows(self) -> int:
        return self.count("history", "id") + self.count("attempts", "run_id") + self.count("occurrences", "run_id")

    def logs(self) -> int:
        return sum(int(file.name.split("-")[0]) <= RUNS for file in (self._state / "runs").glob("*/*.log"))


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[RealDaemon]:
    made = RealDaemon(tmp_path / "home")
    fill(tmp_path / "home" / "state")
    try:
        yield made.start()
    finally:
        made.close()


@pytest.mark.case("F102")
@pytest.mark.long
def test_old_runs_and_logs_go_while_others_run_on_time_and_a_kill_in_between_loses_sight_of_none(
    daemon: RealDaemon, tmp_path: Path
) -> None:
    old, marks = Old(tmp_path / "home" / "state"), Marks(tmp_path / "marks")
    for number in range(5):
        daemon.add(f"tick-{number}", marks.line(f"{number}"), schedule={"every": 1}, misfire="all")
    whole = old.rows()
    daemon.until(lambda: len(marks.all()) >= 5)
    daemon.reload()
    daemon.until(lambda: old.rows() < whole - 5_000)
    daemon.restart()
    left = old.rows()
    slowest_s = 0.0
    daemon.reload()

    def gone() -> bool:
        nonlocal slowest_s
        began_s = time.monotonic()
        daemon.client.status()
        slowest_s = max(slowest_s, time.monotonic() - began_s)
        return old.rows() == 0

    daemon.until(gone)
    runs = [run for number in range(5) for run in daemon.runs_of(f"tick-{number}", state="succeeded,failed,dead")]
    waited = [
        milliseconds(run["started_at"]) - milliseconds(run["due_at"]) for run in runs if run["trigger"] != "catch_up"
    ]

    assert 0 < left < whole
    assert old.logs() == 0
    assert {run["state"] for run in runs} == {"succeeded"}
    assert {run["class"] for run in runs} == {None}
    assert sorted(waited)[len(waited) * 9 // 10] < 3_000
    assert slowest_s < 3
    assert "service.failed" not in daemon.log()


@pytest.mark.long
def test_logs_over_the_budget_go_oldest_first_and_who_asks_for_one_is_told(tmp_path: Path) -> None:
    daemon = RealDaemon(tmp_path / "home").settings("retention_log_bytes = 1_000_000\n")
    try:
        daemon.start()
        printed = "head -c 600000 /dev/zero | tr '\\0' x"
        runs = [daemon.finished(daemon.run(printed)) for _ in range(3)]
        writing = daemon.run(f"{printed}; echo; echo there; exec sleep 600")
        daemon.until_says(writing, b"there")
        daemon.add("tick", ["/bin/true"], schedule={"every": 1})  # so that there is news
        daemon.reload()
        logs = tmp_path / "home" / "state" / "runs"
        daemon.until(lambda: sum(file.stat().st_size > 0 for file in logs.glob("*/*.log")) == 1)
        shown = [daemon.jobctl("log", str(run["id"])) for run in (*runs, writing)]
        states = [daemon.client.run(run["id"])["state"] for run in runs]
    finally:
        daemon.close()

    assert [answer.returncode for answer in shown] == [3, 3, 3, 0]
    assert all("no longer kept" in answer.stderr for answer in shown[:3])
    assert states == ["succeeded"] * 3
