-- name: oldest
-- Finished runs by id, after one: when they were due, and when they ended.
SELECT id, job_id, due_ms, finished_ms FROM history WHERE id > ? ORDER BY id LIMIT ?;

-- name: recent
-- Runs that finished after the last look, by id: their jobs may have too many now.
SELECT id, job_id FROM history WHERE id > ? ORDER BY id LIMIT ?;

-- name: last_kept
-- The newest finished run of a job that is one too many.
SELECT id FROM history WHERE job_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?;

-- name: surplus
-- A job's oldest finished runs, up to and with one.
SELECT id, job_id FROM history WHERE job_id = ? AND id <= ? ORDER BY id LIMIT ?;

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

-- name: finished_logs
-- Logs of ended attempts with their bytes on disk, oldest first.
SELECT run_id, fence, log_size - coalesce(log_dropped_to - log_dropped_from, 0) FROM attempts
WHERE log_size > 0 AND log_gone = 0 AND run_id > ? ORDER BY run_id LIMIT ?;

-- name: log_bytes
-- The bytes on disk of all logs that are still there.
SELECT coalesce(sum(log_size - coalesce(log_dropped_to - log_dropped_from, 0)), 0) FROM attempts WHERE log_size > 0 AND log_gone = 0;

-- name: log_dropped
-- A log is gone from disk.
UPDATE attempts SET log_gone = 1 WHERE run_id = ? AND fence = ?;

-- name: drop_job
-- A job that nothing refers to.
DELETE FROM jobs WHERE id = ?;

-- name: drop_versions
-- Its versions.
DELETE FROM schedule_versions WHERE job_id = ?;

-- name: drop_last_run
-- What its list entry showed.
DELETE FROM last_runs WHERE job_id = ?;
