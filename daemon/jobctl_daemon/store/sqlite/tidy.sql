-- name: oldest
-- Finished runs by id, after one: when they were due, and when they ended.
SELECT id, due_ms, finished_ms FROM history WHERE id > ? ORDER BY id LIMIT ?;

-- name: next_job
-- The next job in order that has finished runs: a leap over the index, however many there are.
SELECT job_id FROM history WHERE job_id > ? ORDER BY job_id LIMIT 1;

-- name: last_kept
-- The newest finished run of a job that is one too many.
SELECT id FROM history WHERE job_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: surplus
-- A job's oldest finished runs, up to and with one.
SELECT id FROM history WHERE job_id = ? AND id <= ? ORDER BY id LIMIT ?;

-- name: adhoc_before
-- Jobs before one, from the newest back, and whether they are of an ad-hoc run that has ended.
SELECT id, hidden = 1 AND done = 1 FROM jobs WHERE id < ? ORDER BY id DESC LIMIT ?;

-- name: adhoc_jobs
-- Jobs after one and up to another, and whether they are of an ad-hoc run that has ended.
SELECT id, hidden = 1 AND done = 1 FROM jobs WHERE id > ? AND id <= ? ORDER BY id LIMIT ?;

-- name: of_job
-- The finished runs of a job.
SELECT id FROM history WHERE job_id = ? ORDER BY id LIMIT ?;

-- name: finished
-- Those of the runs that are finished, with their jobs.
SELECT h.id, h.job_id FROM json_each(?) ids CROSS JOIN history h ON h.id = ids.value;

-- name: logs_of
-- The attempts of a run, whose logs go with it.
SELECT run_id, fence FROM attempts WHERE run_id = ?;

-- name: drop_attempts
-- They go with their run.
DELETE FROM attempts WHERE run_id = ?;

-- name: drop_history
-- A finished run is forgotten.
DELETE FROM history WHERE id = ?;

-- name: old_requests
-- Idempotency keys over their time.
DELETE FROM requests WHERE (owner_id, key, verb) IN (
    SELECT owner_id, key, verb FROM requests WHERE at_ms < ? ORDER BY at_ms LIMIT ?
)
RETURNING job_id;

-- name: old_occurrences
-- Ledger rows over their time: those of schedules, and, kept shorter, those of what was asked for.
DELETE FROM occurrences WHERE (from_ms, job_id, key) IN (
    SELECT from_ms, job_id, key FROM occurrences WHERE from_ms < ? ORDER BY from_ms LIMIT ?
);

-- name: old_asked
-- Ledger rows of what was asked for by hand, which are kept as long as their request keys.
DELETE FROM occurrences WHERE (from_ms, job_id, key) IN (
    SELECT from_ms, job_id, key FROM occurrences
    WHERE substr(key, 1, 2) = 'm:' AND from_ms < ? ORDER BY from_ms LIMIT ?
);

-- name: old_replays
-- Replays are kept as long as their request keys.
DELETE FROM replays WHERE id IN (SELECT id FROM replays WHERE at_ms < ? ORDER BY id LIMIT ?);

-- name: leaving
-- Those of the jobs that are deleted, or belonged to an ad-hoc run, and to which nothing refers any more.
SELECT j.id FROM json_each(?) ids CROSS JOIN jobs j ON j.id = ids.value
WHERE (j.deleted_ms IS NOT NULL OR (j.hidden = 1 AND j.done = 1))
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM history h WHERE h.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM requests q WHERE q.job_id = j.id);

-- name: ledger_last_kept
-- The newest row of a job's ledger that is one too many.
SELECT from_ms FROM occurrences WHERE job_id = ? ORDER BY from_ms DESC LIMIT 1 OFFSET ?;

-- name: ledger_surplus
-- A job's oldest rows, up to and with an instant.
DELETE FROM occurrences WHERE (from_ms, job_id, key) IN (
    SELECT from_ms, job_id, key FROM occurrences WHERE job_id = ? AND from_ms <= ? ORDER BY from_ms LIMIT ?
);

-- name: drop_job
-- A job that nothing refers to.
DELETE FROM jobs WHERE id = ?;

-- name: drop_versions
-- Its versions.
DELETE FROM schedule_versions WHERE job_id = ?;

-- name: drop_last_run
-- What its list entry showed.
DELETE FROM last_runs WHERE job_id = ?;

-- name: drop_streak
-- What happened to it again and again.
DELETE FROM streaks WHERE job_id = ?;

-- name: drop_cursor
-- Where its schedule stood.
DELETE FROM cursors WHERE job_id = ?;

-- name: drop_dependent
-- After which job it came.
DELETE FROM dependents WHERE job_id = ?;
