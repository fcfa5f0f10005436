"""The hot statements use the indexes made for them: no scan of a big table, no sorting."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobctl_daemon.store.sqlite import (
    admit,
    attempts,
    claim,
    clock,
    counts,
    dead,
    declared,
    dependents,
    due,
    edits,
    expand,
    find,
    finish,
    gates,
    history,
    job_lists,
    job_order,
    jobs,
    ledger,
    logs,
    one_shots,
    pauses,
    ready,
    replays,
    retire,
    run_lists,
    run_windows,
    runs,
    streaks,
    tell,
    tidy,
    work,
)
from jobctl_daemon.store.sqlite.migrate import migrate, shipped
from jobctl_daemon.store.sqlite.opening import connect_writer, create_private

FILTER = {
    "owner_id": 1,
    "states": None,
    "before_ms": None,
    "since_ms": None,
    "owner": None,
    "mails": 0,
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
    "failed": 1,
    "paused": 1,
    "running": 1,
    "parked": 1,
    "states": "[]",
    "queue": None,
    "source": None,
    "declared": None,
    "owner": None,
    "tag": None,
    "limit": 10,
}
WINDOW = {
    "owner_id": 1,
    "now_ms": 1,
    "done": 0,
    "limit": 10,
    "offset": 0,
    "but": "[]",
    "run_id": 1,
    "ended_ms": 1,
    "midnight_ms": 1,
    "job_ids": "[1]",
    "looked_at": 9,
}
SPAN = {"job_id": 1, "from_ms": 0, "to_ms": 1, "limit": 5}
DUE = {"now_ms": 1, "after_ms": 0, "after_job": 0, "limit": 5}
NOW = {"now_ms": 1, "limit": 5, "owner_id": None}
GROUP = ("default", 0, 1)
IDS = {"ids": "[1]", "now_ms": 1, "words": "x", "holder": "job", "how": "plain"}
RUN = {"run_id": 1, "now_ms": 1, "by": "x", "fence": 1}
DEAD = {
    "ids": None,
    "owner_id": None,
    "job_id": None,
    "failure_class": None,
    "fingerprint": None,
    "since_ms": None,
    "until_ms": None,
    "q": None,
    "before_ms": 1 << 60,
    "before_id": 0,
    "limit": 5,
}
PRIMARY = ["INTEGER PRIMARY KEY"]

#: statement, its parameters, the indexes that its plan must name
HOT = {
    "due": (due.SQL.due, DUE, ["cursors_due"]),
    "next cursor": (due.SQL.next_cursor, (1,), ["cursors_due"]),
    "next pending": (due.SQL.next_pending, (1,), ["runs_pending"]),
    "next ready": (ready.SQL.next_of, (*GROUP, 1), ["runs_ready"]),
    "next pause end": (due.SQL.next_pause_end, (1,), ["jobs_pause_end"]),
    "ended pauses": (pauses.SQL.ended_jobs, (1,), ["jobs_pause_end"]),
    "starts": (due.SQL.starts, ("boot",), ["jobs_starts"]),
    "pending": (admit.SQL.pending, (1, 5), ["runs_pending"]),
    "next owner": (admit.SQL.next_owner, (1,), ["runs_due_of"]),
    "pending of an owner": (admit.SQL.due_of, (1, 1, 5), ["runs_due_of"]),
    "pending, chosen": (admit.SQL.chosen, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "at work": (ready.SQL.at_work, (), ["runs_at_work"]),
    "too late, pending": (admit.SQL.too_late_pending, NOW, ["runs_pending"]),
    "too late, waiting": (admit.SQL.too_late_waiting, NOW, ["runs_waits"]),
    "too late, ready": (admit.SQL.too_late_ready, NOW, ["runs_start_by"]),
    "make ready": (admit.SQL.make_ready, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "active of a job": (admit.SQL.active_of, (1, 5), ["runs_gate"]),
    "waiting of a job": (admit.SQL.waiting_of, (1, 5), ["runs_waits"]),
    "make wait": (admit.SQL.make_wait, ("[1]",), ["INTEGER PRIMARY KEY", "runs_gate"]),
    "replaced": (admit.SQL.replace_running, RUN, PRIMARY),
    "groups": (ready.SQL.next_group, GROUP, ["runs_ready"]),
    "ready of a group": (
        ready.SQL.waiting_in,
        {"queue": "default", "priority": 0, "owner_id": 1, "now_ms": 1, "limit": 5},
        ["runs_ready"],
    ),
    "limits": (ready.SQL.limits, (), ["runs_gate", "runs_running"]),
    "chosen": (claim.SQL.chosen, ("[1]",), ["INTEGER PRIMARY KEY", "schedule_versions"]),
    "take": (claim.SQL.take, (1, 1, "n", "b", 1, 1), PRIMARY),
    "efforts": (attempts.SQL.efforts, ("[1]",), PRIMARY),
    "give back": (attempts.SQL.give_back, RUN | {"held": 0, "due_ms": 1, "counted": 0}, PRIMARY),
    "freed": (gates.SQL.freed, ("[1]",), ["runs_waits"]),
    "freed, all": (gates.SQL.freed_all, (), ["runs_waits"]),
    "failing": (finish.SQL.failing, ("[1]",), PRIMARY),
    "moved to history": (history.SQL.move, (None,) * 11 + (1,), PRIMARY),
    "dropped from the active": (history.SQL.drop_active, ("[1]",), PRIMARY),
    "done": (one_shots.SQL.retire, ("[1]",), ["INTEGER PRIMARY KEY", "runs_job"]),
    "streaks": (streaks.SQL.ended, ("[1]",), PRIMARY),
    "streaks that end": (streaks.SQL.clean, ("[1]",), PRIMARY),
    "habits that stay": (streaks.SQL.succeeded, ("[1]",), PRIMARY),
    "jobs after": (dependents.SQL.after, ("[1]",), ["dependents_upstream"]),
    "names after": (dependents.SQL.names_after, (1,), ["dependents_upstream"]),
    "the job before": (dependents.SQL.upstream_of, (1,), PRIMARY),
    "reword": (pauses.SQL.reword, IDS, PRIMARY),
    "suspend": (pauses.SQL.suspend, IDS, PRIMARY),
    "stop cursors": (pauses.SQL.stop_cursors, ("[1]",), PRIMARY),
    "hold": (pauses.SQL.hold, ("[1]",), ["runs_job"]),
    "let go": (pauses.SQL.let_go, IDS, PRIMARY),
    "release": (due.SQL.release, (1,), ["runs_held"]),
    "resuming": (pauses.SQL.resuming, ("[1]",), PRIMARY),
    "resumable": (pauses.SQL.resumable, (5,), ["jobs_resuming"]),
    "jobs of a queue": (pauses.SQL.jobs_in_queue, ("default",), ["jobs_queue"]),
    "queue paused": (pauses.SQL.queue_paused, ("default",), ["PRIMARY KEY"]),
    "surplus dead letters": (dead.SQL.surplus, (1, 100), ["runs_dead"]),
    "expired dead letters": (dead.SQL.expired, (1, 5), ["runs_died"]),
    "dead letters": (dead.SQL.page.format(asked=1), DEAD, ["runs_died"]),
    "dead letters to replay": (dead.SQL.matching.format(asked=1), DEAD, ["runs_died"]),
    "dead letters by id": (dead.SQL.facts, ("[1]",), PRIMARY),
    "replay": (
        replays.SQL.replay,
        RUN | {"due_ms": 1, "waits": 0, "batch": 1, "version": None, "execution": None, "queue": "q", "priority": 0},
        PRIMARY,
    ),
    "next of a replay": (replays.SQL.next_of_batch, (1,), ["runs_waits"]),
    "put back": (replays.SQL.put_back, {"batch": 1, "run_id": 1, "now_ms": 1}, ["runs_waits"]),
    "failing again": (replays.SQL.failing_again, {"owner_id": None, "ids": "[1]"}, ["runs_dead"]),
    "retry now": (runs.SQL.retry_now, RUN, PRIMARY),
    "work of a run": (work.SQL.of_run, RUN, PRIMARY),
    "superseded by an edit": (edits.SQL.unstarted, (1,), ["runs_job"]),
    "take version": (edits.SQL.take_version, {"job_id": 1, "version": 2}, ["runs_job"]),
    "take policies": (
        edits.SQL.take_policies,
        {"job_id": 1, "queue": "q", "priority": 0, "within_ms": 1},
        ["runs_job"],
    ),
    "cancelled with their job": (jobs.SQL.unstarted, (1,), ["runs_job"]),
    "ran before": (expand.SQL.ran_before, (1, 1), ["PRIMARY KEY (from_ms=? AND job_id=?)"]),
    "began": (clock.SQL.began, (1,), ["INTEGER PRIMARY KEY", "schedule_versions"]),
    "covered": (
        clock.SQL.covered,
        {"job_id": 1, "now_ms": 1, "after_ms": 1, "began_ms": 1, "generation": 1},
        ["occurrences_job", "occurrences_range"],
    ),
    "notices": (tell.SQL.notices, {"after": 1, "limit": 5, "source": "notice"}, PRIMARY),
    "running": (attempts.SQL.running, (), ["runs_gate"]),
    "claimed": (attempts.SQL.claimed, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "guards": (expand.SQL.guards, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "unstarted": (retire.SQL.unstarted, ("[1]",), ["INTEGER PRIMARY KEY"]),
    "blocking": (runs.SQL.blocking, {"job_id": 1, "now_ms": 1, "limit": 1}, ["runs_gate", "runs_job"]),
    "runs": (run_lists.SQL.active_of_all.format(asked=1), FILTER, ["INTEGER PRIMARY KEY"]),
    "runs of a job": (run_lists.SQL.active_of_job.format(asked=1), FILTER, ["runs_job"]),
    "history": (run_lists.SQL.finished_of_all.format(asked=1), FILTER, ["INTEGER PRIMARY KEY"]),
    "history of a job": (run_lists.SQL.finished_of_job.format(asked=1), FILTER, ["history_job"]),
    "ledger": (ledger.SQL.span, SPAN, ["occurrences_job", "occurrences_range"]),
    "jobs of a file": (declared.SQL.of_path, {"path": "/f", "after": 0, "limit": 5}, ["jobs_declared"]),
    "a move in a file": (declared.SQL.move, ("x", 1, "/f"), ["INTEGER PRIMARY KEY"]),
    "jobs of an owner": (job_lists.SQL.of_owner.format(asked=1), NAMED, ["jobs_name"]),
    "jobs of all": (job_lists.SQL.of_all.format(asked=1), NAMED, ["jobs_listed"]),
    "job by name": (find.SQL.job_by_name, (1, "a"), ["jobs_name"]),
    "done job by name": (find.SQL.done_by_name, (1, "a"), ["jobs_name"]),
    "jobs by name": (find.SQL.jobs_by_name, ("a",), ["jobs_shown"]),
    "done jobs by name": (find.SQL.done_by_name_of_all, ("a",), ["jobs_listed"]),
    "jobs by uid": (find.SQL.jobs_by_uid, {"first": "a", "beyond": "b", "owner_id": 1}, ["sqlite_autoindex_jobs_1"]),
    "counts of runs": (
        counts.SQL.runs,
        NOW,
        ["runs_pending", "runs_held", "runs_waits", "runs_ready", "runs_gate", "runs_dead", "runs_died"],
    ),
    "counts of jobs": (
        counts.SQL.jobs,
        {"skips": 3},
        ["jobs_live", "jobs_suspended", "cursors_parked", "last_runs_failing", "jobs_untold"],
    ),
    "oldest pending": (counts.SQL.oldest_pending, NOW, ["runs_pending"]),
    "oldest ready": (ready.SQL.oldest_of, (*GROUP, 1), ["runs_ready"]),
    "logs": (logs.SQL.finished, (0, 0, 5), ["attempts_log"]),
    "bytes of logs": (logs.SQL.kept, {"run_id": 0, "fence": 0, "limit": 5}, ["attempts_log"]),
    "last of these": (logs.SQL.last_of, {"run_id": 0, "fence": 0, "limit": 5, "last": 1}, ["attempts_log"]),
    "unknown logs": (logs.SQL.unknown, ("[[1, 2]]",), ["PRIMARY KEY (run_id=?)"]),
    "active among these": (logs.SQL.busy, {"first": 1, "last": 9}, ["USING INTEGER PRIMARY KEY"]),
    "jobs with history": (tidy.SQL.next_job, (0,), ["history_job"]),
    "unended of a job": (admit.SQL.unended, (1, 5), ["COVERING INDEX runs_job"]),
    "ad-hoc jobs": (tidy.SQL.adhoc_before, (9, 5), ["USING INTEGER PRIMARY KEY"]),
    "ad-hoc jobs forward": (tidy.SQL.adhoc_jobs, (0, 9, 5), ["USING INTEGER PRIMARY KEY"]),
    "finished runs of a job": (tidy.SQL.of_job, (1, 5), ["COVERING INDEX history_job"]),
    "length of a ledger": (tidy.SQL.ledger_last_kept, (1, 5), ["COVERING INDEX occurrences_job"]),
    "surplus of a ledger": (tidy.SQL.ledger_surplus, (1, 5, 5), ["occurrences_job"]),
    "old requests": (tidy.SQL.old_requests, (0, 5), ["requests_at"]),
    "old occurrences": (tidy.SQL.old_occurrences, (0, 5), ["PRIMARY KEY (from_ms<?)"]),
    "old asked": (tidy.SQL.old_asked, (0, 5), ["occurrences_by_hand"]),
    "surplus": (tidy.SQL.surplus, (1, 5, 5), ["history_job"]),
    "leaving": (tidy.SQL.leaving, ("[1]",), ["history_job", "runs_job", "requests_job"]),
    "window of jobs by name": (job_order.SQL.by_name, WINDOW, ["USING INDEX jobs_shown"]),
    "window of jobs by time": (job_order.SQL.by_next, WINDOW, ["COVERING INDEX cursors_due"]),
    "all jobs by name": (job_order.SQL.matching.format(live="j.done = 0", conditions="1"), WINDOW, ["jobs_shown"]),
    "jobs in a window": (job_order.SQL.count, (), ["jobs_live"]),
    "window of ended runs": (run_windows.SQL.page, WINDOW, ["COVERING INDEX history_ended", "runs_died"]),
    "ended runs in a window": (run_windows.SQL.count_all, (), ["COVERING INDEX", "history_mails", "runs_died"]),
    "an owner's ended runs": (run_windows.SQL.count, WINDOW, ["COVERING INDEX history_ended", "runs_died"]),
    "runs before one": (run_windows.SQL.before, WINDOW, ["COVERING INDEX history_ended", "runs_died"]),
    "runs of today": (run_windows.SQL.today, WINDOW, ["COVERING INDEX history_ended", "runs_died"]),
    "runs of jobs": (run_windows.SQL.of_jobs, WINDOW, ["COVERING INDEX history_job"]),
}
#: What may be read from end to end: a list given as parameter, the few owners and queues, jobs something happens to
#: again and again, an index that holds just what is wanted, in its order, and what a screen's list is counted in.
MAY_SCAN = (
    "ids VIRTUAL",
    "wanted VIRTUAL",
    "json_each",
    "CONSTANT ROW",
    "SCAN (subquery",
    "SCAN sqlite_sequence",
    "SCAN owners",
    "SCAN q",
    "SCAN streaks",
    "USING INDEX runs_died",
    "USING INDEX history_mails",
    "COVERING INDEX history_",
    "SCAN j USING INDEX jobs_shown",
)
#: What is sorted is bounded by a list given as parameter, by what one job, one replay or one node has active, or is the
#: few states.
MAY_SORT = {
    "running",
    "unstarted",
    "ledger",
    "active of a job",
    "waiting of a job",
    "too late, waiting",
    "jobs after",
    "names after",
    "dead letters by id",
    "next of a replay",
    "surplus dead letters",
    "failing again",
    "runs of today",
}
PARTIAL = [
    "runs_pending",
    "runs_due_of",
    "runs_at_work",
    "runs_held",
    "runs_ready",
    "runs_start_by",
    "runs_gate",
    "jobs_listed",
    "jobs_shown",
    "jobs_live",
    "jobs_suspended",
    "jobs_resuming",
    "jobs_untold",
    "runs_waits",
    "runs_dead",
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
        assert "TEMP B-TREE" not in step or name in MAY_SORT, text
