"""The hot statements use the indexes made for them: no scan of a big table, no sorting."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.store.sqlite import (
    admit,
    attempts,
    claim,
    counts,
    due,
    expand,
    find,
    job_lists,
    ledger,
    retire,
    run_lists,
    runs,
    tidy,
)
from jobctl_daemon.store.sqlite.migrate import migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_writer, create_private

FILTER = {
    "owner_id": 1,
    "states": None,
    "before_ms": None,
    "since_ms": None,
    "owner": None,
    "q": None,
    "limit": 10,
    "before": 9,
    "floor": 0,
    "job_id": 1,
}
NAMED = {
    "owner_id": 1,
    "name": "",
    "id": 0,
    "done": 1,
    "states": None,
    "queue": None,
    "source": None,
    "owner": None,
    "q": None,
    "tag": None,
    "limit": 10,
}
SPAN = {"job_id": 1, "from_ms": 0, "to_ms": 1, "limit": 5}
DUE = {"now_ms": 1, "after_ms": 0, "after_job": 0, "limit": 5}
NOW = {"now_ms": 1, "limit": 5, "owner_id": None}

#: statement, its parameters, the indexes that its plan must name
HOT = {
    "due": (due.SQL.due, DUE, ["cursors_due"]),
    "next cursor": (due.SQL.next_cursor, (1,), ["cursors_due"]),
    "next pending": (due.SQL.next_pending, (1,), ["runs_pending"]),
    "next ready": (due.SQL.next_ready, (1,), ["runs_ready"]),
    "next pause end": (due.SQL.next_pause_end, (1,), ["jobs_pause_end"]),
    "ended pauses": (due.SQL.ended_pauses, (1,), ["jobs_pause_end"]),
    "starts": (due.SQL.starts, ("boot",), ["jobs_starts"]),
    "pending": (admit.SQL.pending, (1, 5), ["runs_pending", "runs_gate"]),
    "too late, pending": (admit.SQL.too_late_pending, NOW, ["runs_pending", "runs_gate"]),
    "too late, ready": (admit.SQL.too_late_ready, NOW, ["runs_start_by", "runs_gate"]),
    "make ready": (admit.SQL.make_ready, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "claim": (claim.SQL.ready, NOW, ["runs_ready"]),
    "running": (attempts.SQL.running, (), ["runs_gate"]),
    "claimed": (attempts.SQL.claimed, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "guards": (expand.SQL.guards, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "unstarted": (retire.SQL.unstarted, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "blocking": (runs.SQL.blocking, {"job_id": 1, "now_ms": 1}, ["runs_gate", "runs_job"]),
    "runs": (run_lists.SQL.active_of_all, FILTER, ["INTEGER PRIMARY KEY"]),
    "runs of a job": (run_lists.SQL.active_of_job, FILTER, ["runs_job"]),
    "history": (run_lists.SQL.finished_of_all, FILTER, ["INTEGER PRIMARY KEY"]),
    "history of a job": (run_lists.SQL.finished_of_job, FILTER, ["history_job"]),
    "ledger": (ledger.SQL.span, SPAN, ["occurrences_job", "occurrences_range"]),
    "jobs of an owner": (job_lists.SQL.of_owner, NAMED, ["jobs_name"]),
    "jobs of all": (job_lists.SQL.of_all, NAMED, ["jobs_listed"]),
    "job by name": (find.SQL.job_by_name, (1, "a"), ["jobs_name"]),
    "done job by name": (find.SQL.done_by_name, (1, "a"), ["jobs_name"]),
    "jobs by name": (find.SQL.jobs_by_name, ("a",), ["jobs_listed"]),
    "done jobs by name": (find.SQL.done_by_name_of_all, ("a",), ["jobs_listed"]),
    "jobs by uid": (find.SQL.jobs_by_uid, ("a", "b"), ["sqlite_autoindex_jobs_1"]),
    "counts of runs": (counts.SQL.runs, NOW, ["runs_pending", "runs_held", "runs_ready", "runs_gate"]),
    "counts of jobs": (counts.SQL.jobs, (), ["jobs_live", "jobs_paused", "cursors_parked", "last_runs_failing"]),
    "oldest pending": (counts.SQL.oldest_pending, NOW, ["runs_pending"]),
    "oldest ready": (counts.SQL.oldest_ready, NOW, ["runs_ready"]),
    "logs": (tidy.SQL.finished_logs, (0, 5), ["attempts_log"]),
    "bytes of logs": (tidy.SQL.log_bytes, (), ["attempts_log"]),
    "old requests": (tidy.SQL.old_requests, (0, 5), ["requests_at"]),
    "old occurrences": (tidy.SQL.old_occurrences, (0, 5), ["PRIMARY KEY (from_ms<?)"]),
    "old asked": (tidy.SQL.old_asked, (0, 5), ["occurrences_by_hand"]),
    "surplus": (tidy.SQL.surplus, (1, 5, 5), ["history_job"]),
    "leaving": (tidy.SQL.leaving, ("[1]",), ["history_job", "runs_job", "requests_job"]),
}
#: What may be read from end to end: a list given as parameter, the few owners, and an index that holds just what is
#: wanted, in its order.
MAY_SCAN = ("ids VIRTUAL", "json_each", "priorities", "CONSTANT ROW", "SCAN owners")
PARTIAL = [
    "runs_pending",
    "runs_held",
    "runs_ready",
    "runs_start_by",
    "runs_gate",
    "jobs_listed",
    "jobs_live",
    "jobs_paused",
    "cursors_due",
    "cursors_parked",
    "last_runs_failing",
    "attempts_log",
]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("plans") / "jobctl.db"
    create_private(path)
    made = connect_writer(path)
    migrate(made, path, shipped())
    yield made
    made.close()


@pytest.mark.parametrize("name", HOT)
def test_a_hot_statement_uses_its_indexes(connection: sqlite3.Connection, name: str) -> None:
    statement, parameters, indexes = HOT[name]
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    text = "\n".join(plan)
    for index in indexes:
        assert index in text, text
    for step in plan:
        assert "AUTOMATIC" not in step, text
        scanned = step.startswith("SCAN") and not any(word in step for word in MAY_SCAN)
        assert not scanned or step.split()[-1] in PARTIAL, text
        assert "TEMP B-TREE" not in step or name in {"running", "unstarted", "ledger"}, text
