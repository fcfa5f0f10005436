-- name: old_history
-- The oldest finished runs, as far as they are over their time.
SELECT id, job_id FROM (SELECT id, job_id, finished_ms FROM history ORDER BY id LIMIT :limit)
WHERE finished_ms < :before_ms;

-- name: crowded
-- Jobs with more finished runs than are kept.
SELECT id FROM jobs WHERE kept_runs > 0 AND kept_runs > ? LIMIT ?;

-- name: last_kept
-- The newest finished run of a job that is one too many.
SELECT id FROM history WHERE job_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: surplus
-- A job's oldest finished runs, up to and with one.
SELECT id, job_id FROM history WHERE job_id = ? AND id <= ? ORDER BY id LIMIT ?;

-- name: recount
-- How many finished runs of a job there really are.
UPDATE jobs SET kept_runs = (SELECT count(*) FROM history WHERE job_id = jobs.id) WHERE id = ?;

-- name: logs_of
-- The attempts of a run, whose logs go with it.
SELECT run_id, fence FROM attempts WHERE run_id = ?;

-- name: drop_attempts
-- They go with their run.
DELETE FROM attempts WHERE run_id = ?;

-- name: drop_history
-- A finished run is forgotten.
DELETE FROM history WHERE id = ?;

-- name: fewer
-- So many finished runs of a job are gone.
UPDATE jobs SET kept_runs = max(0, kept_runs - ?) WHERE id = ?;

-- name: old_requests
-- Idempotency keys over their time.
DELETE FROM requests WHERE (owner_id, key, verb) IN (
    SELECT owner_id, key, verb FROM requests WHERE at_ms < ? ORDER BY at_ms LIMIT ?
);

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

-- name: leaving
-- Deleted jobs, and those of ad-hoc runs, to which nothing refers any more.
SELECT j.id FROM jobs j
WHERE j.kept_runs = 0 AND (j.deleted_ms IS NOT NULL OR (j.hidden = 1 AND j.done = 1))
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM history h WHERE h.job_id = j.id)
  AND NOT EXISTS (SELECT 1 FROM requests q WHERE q.job_id = j.id)
LIMIT ?;

-- name: finished_logs
-- Logs of ended attempts, oldest first.
SELECT run_id, fence, log_size FROM attempts
WHERE log_size > 0 AND log_gone = 0 AND run_id > ? ORDER BY run_id LIMIT ?;

-- name: log_bytes
-- The bytes of all logs that are still there.
SELECT coalesce(sum(log_size), 0) FROM attempts WHERE log_size > 0 AND log_gone = 0;

-- name: log_dropped
-- A log is gone from disk.
UPDATE attempts SET log_gone = 1 WHERE run_id = ? AND fence = ?;

-- name: drop_job
-- A job that nothing refers to.
DELETE FROM jobs WHERE id = ?;

-- name: drop_versions
-- Its versions.
DELETE FROM schedule_versions WHERE job_id = ?;

-- name: drop_cursor
-- Its cursor.
DELETE FROM cursors WHERE job_id = ?;
