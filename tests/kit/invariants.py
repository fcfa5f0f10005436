"""What holds in every database of jobctl at each commit (design/store.md, "Invariants"), asked of its tables alone."""

import sqlite3
from collections.abc import Iterator
from typing import Final

#: A sentence and the query that finds what breaks it. The first column of a row says where.
_ALWAYS: Final = {
    "a run is active or finished, never both (I1)": """
        SELECT r.id FROM runs r JOIN history h ON h.id = r.id""",
    "an occurrence has one run (I1)": """
        SELECT min(id), job_id, key, count(*) FROM
            (SELECT id, job_id, key FROM runs UNION ALL SELECT id, job_id, key FROM history)
        GROUP BY job_id, key HAVING count(*) > 1""",
    "the fences of a run rise from attempt to attempt (I2)": """
        SELECT a.run_id, a.attempt, a.fence, b.attempt, b.fence FROM attempts a
        JOIN attempts b ON b.run_id = a.run_id AND b.attempt > a.attempt AND b.fence <= a.fence""",
    "a run's fence is that of its newest attempt, or a later one (I2)": """
        SELECT r.id, r.fence, a.fence FROM (SELECT id, fence, attempt, state FROM runs
                                            UNION ALL SELECT id, fence, attempt, state FROM history) r
        JOIN attempts a ON a.run_id = r.id
        WHERE a.fence > r.fence OR (a.fence = r.fence AND a.attempt <> r.attempt)""",
    "an attempt that has ended has its row, and the one that runs has none": """
        SELECT r.id, r.state, r.attempt FROM runs r
        WHERE r.attempt - (r.state = 'running') <> (SELECT count(*) FROM attempts a WHERE a.run_id = r.id)""",
    "a finished run has all its attempts": """
        SELECT h.id, h.attempt FROM history h
        WHERE h.attempt <> (SELECT count(*) FROM attempts a WHERE a.run_id = h.id)
          AND NOT (h.state = 'cancelled' AND h.started_ms IS NULL)""",
    "a gate is that of the run's own job": """
        SELECT id, job_id, gate FROM runs WHERE gate <> job_id""",
    "what is ready or running holds its job's gate": """
        SELECT id, state FROM runs WHERE gate IS NULL AND (state = 'ready' OR state = 'running')""",
    "nobody waits for a gate that nobody holds": """
        SELECT r.id, r.job_id FROM runs r
        WHERE r.waits = 1 AND NOT EXISTS (SELECT 1 FROM runs g WHERE g.gate = r.job_id)""",
    "nobody waits for a turn in a replay in which it is nobody's": """
        SELECT r.id, r.batch FROM runs r
        WHERE r.waits = 2 AND NOT EXISTS (SELECT 1 FROM runs t
                                          WHERE t.batch = r.batch AND t.waits < 2 AND t.state <> 'dead')""",
    "a replay in turn has one turn": """
        SELECT min(r.id), r.batch, count(*) FROM runs r JOIN replays b ON b.id = r.batch
        WHERE b.stop_on_failure = 1 AND r.waits < 2 AND r.state <> 'dead' GROUP BY r.batch HAVING count(*) > 1""",
    "only what was not asked for by hand is held, while something holds its job": """
        SELECT r.id, r.by_hand, j.suspended FROM runs r JOIN jobs j ON j.id = r.job_id
        WHERE r.held = 1 AND (r.by_hand = 1 OR j.suspended = 0)""",
    "nothing starts of a job that is held but what was asked for by hand (I11)": """
        SELECT r.id, r.state FROM runs r JOIN jobs j ON j.id = r.job_id
        WHERE j.suspended = 1 AND r.by_hand = 0 AND r.held = 0 AND (r.state = 'ready' OR r.state = 'scheduled')""",
    "a job is held exactly while a pause holds it, or until it is aimed again": """
        SELECT j.id, j.suspended, j.paused, j.queue, j.resuming FROM jobs j
        WHERE j.deleted_ms IS NULL AND j.suspended <>
              (j.paused = 1 OR j.resuming IS NOT NULL
               OR EXISTS (SELECT 1 FROM queues q WHERE (q.name = j.queue OR q.name = '') AND q.paused = 1))""",
    "a job that a pause holds does not wait to be aimed": """
        SELECT j.id, j.paused, j.queue FROM jobs j
        WHERE j.resuming IS NOT NULL
          AND (j.deleted_ms IS NOT NULL OR j.paused = 1
               OR EXISTS (SELECT 1 FROM queues q WHERE (q.name = j.queue OR q.name = '') AND q.paused = 1))""",
    "a job that is held, done or deleted waits for no instant": """
        SELECT j.id, c.next_nominal FROM jobs j JOIN cursors c ON c.job_id = j.id
        WHERE c.next_nominal IS NOT NULL AND (j.suspended = 1 OR j.done = 1 OR j.deleted_ms IS NOT NULL)""",
    "a job that nothing holds waits for nothing that is left out": """
        SELECT j.id, c.next_nominal, c.handled_ms, c.skip_until FROM jobs j JOIN cursors c ON c.job_id = j.id
        WHERE j.suspended = 0 AND (c.skip_until > c.handled_ms OR c.skip_until >= c.next_nominal)""",
    "only a job that is paused is quarantined": """
        SELECT id FROM jobs WHERE deleted_ms IS NULL AND quarantined = 1 AND paused = 0 AND suspended = 0""",
    "a job has at most a hundred dead letters": """
        SELECT job_id, count(*) FROM runs WHERE state = 'dead' GROUP BY job_id HAVING count(*) > 100""",
    "a live job comes after a live one": """
        SELECT d.job_id, d.upstream_id FROM dependents d JOIN jobs j ON j.id = d.job_id
        LEFT JOIN jobs u ON u.id = d.upstream_id
        WHERE j.deleted_ms IS NULL AND (u.id IS NULL OR u.deleted_ms IS NOT NULL)""",
    "a run's version is one of its job": """
        SELECT r.id, r.version FROM (SELECT id, job_id, version FROM runs
                                     UNION ALL SELECT id, job_id, version FROM history) r
        LEFT JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version WHERE v.job_id IS NULL""",
}

#: What holds until limits are lowered under what runs.
_LIMITS: Final = {
    "a queue runs no more than its limit (I6)": """
        SELECT q.name, q.concurrency, count(*) FROM queues q JOIN runs r ON r.queue = q.name AND r.state = 'running'
        WHERE q.concurrency IS NOT NULL GROUP BY q.name HAVING count(*) > q.concurrency""",
    "no more runs of a job are active than may be (I6)": """
        SELECT j.id, count(*) FROM runs r JOIN jobs j ON j.id = r.gate
        WHERE json_extract(j.policies, '$.limit') IS NOT NULL OR json_extract(j.policies, '$.overlap') <> 'allow'
        GROUP BY j.id HAVING count(*) > coalesce(json_extract(j.policies, '$.limit'), 1)""",
}

#: What holds until old rows are pruned.
_UNPRUNED: Final = {
    "every run is the one of its occurrence (I8)": """
        SELECT r.id, r.key FROM (SELECT id, job_id, key, slot_ms FROM runs
                                 UNION ALL SELECT id, job_id, key, slot_ms FROM history) r
        LEFT JOIN occurrences o ON o.from_ms = r.slot_ms AND o.job_id = r.job_id AND o.key = r.key
        WHERE o.run_id IS NOT r.id""",
    "the run of an occurrence is there until it has ended and is pruned (I8)": """
        SELECT o.run_id, o.key FROM occurrences o
        WHERE o.run_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = o.run_id)
          AND NOT EXISTS (SELECT 1 FROM history h WHERE h.id = o.run_id)
          AND NOT EXISTS (SELECT 1 FROM events e WHERE e.run_id = o.run_id AND e.kind IN (
              'run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped', 'run.superseded', 'run.discarded'))""",
    "an occurrence without a run says why (I8)": """
        SELECT job_id, key FROM occurrences WHERE run_id IS NULL AND reason IS NULL""",
    "a run that never began says why in the ledger, or was cancelled by hand": """
        SELECT h.id, h.state FROM history h
        JOIN occurrences o ON o.from_ms = h.slot_ms AND o.job_id = h.job_id AND o.key = h.key
        WHERE (h.state = 'skipped' OR h.state = 'superseded') AND o.reason IS NULL""",
    "the last event of a run says what it is (I14)": """
        SELECT r.id, r.state, r.held, e.kind FROM (SELECT id, state, held FROM runs
                                                   UNION ALL SELECT id, state, 0 FROM history) r
        LEFT JOIN events e ON e.id = (SELECT max(id) FROM events
                                      WHERE run_id = r.id AND substr(kind, 1, 4) = 'run.')
        WHERE e.kind IS NULL OR NOT CASE
            WHEN r.held = 1 THEN e.kind = 'run.held'
            WHEN r.state = 'scheduled' THEN e.kind IN ('run.scheduled', 'run.waiting', 'run.replayed')
            WHEN r.state = 'ready' THEN e.kind IN ('run.ready', 'run.retrying')
            ELSE e.kind = 'run.' || r.state END""",
    "a run ends once (I14)": """
        SELECT run_id, count(*) FROM events
        WHERE kind IN ('run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped', 'run.superseded', 'run.discarded')
        GROUP BY run_id HAVING count(*) > 1""",
}


def invariants(connection: sqlite3.Connection, *, limits: bool = True) -> None:
    """Raises AssertionError with every sentence that does not hold. `limits`: none was lowered under what runs."""
    broken = list(_broken(connection, limits=limits))
    assert not broken, "\n".join(broken)


def _broken(connection: sqlite3.Connection, *, limits: bool) -> Iterator[str]:
    rules = _ALWAYS | (_LIMITS if limits else {}) | ({} if _pruned(connection) else _UNPRUNED)
    for sentence, query in rules.items():
        rows = connection.execute(query).fetchall()
        if rows:
            yield f"broken: {sentence}: {rows[:5]}"


def _pruned(connection: sqlite3.Connection) -> bool:
    """Whether retention has been at work: a note of it, or a first event that is not the first."""
    noted = connection.execute("SELECT 1 FROM meta WHERE key = 'tidied_through'").fetchone()
    first = connection.execute("SELECT min(id) FROM events").fetchone()[0]
    return noted is not None or first not in (None, 1)
