-- name: blocking
-- What of a job is active, or will be in a moment.
SELECT id FROM runs WHERE gate = :job_id AND gate IS NOT NULL
UNION ALL
SELECT id FROM runs WHERE job_id = :job_id AND state = 'scheduled' AND held = 0 AND waits = 0 AND due_ms <= :now_ms
LIMIT :limit;

-- name: unended
-- Runs of a job that have not ended, dead letters among them; counted as far as it matters.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE job_id = ? LIMIT ?);

-- name: active
-- A run that has not ended.
SELECT state, fence FROM runs WHERE id = ?;

-- name: want_stop
-- The running attempt is to be stopped; a kill is not taken back by a cancel.
UPDATE runs SET stop_wanted = CASE WHEN stop_wanted = 'kill' THEN 'kill' ELSE ? END, stop_by = ? WHERE id = ?;

-- name: retry_now
-- A retry that waits is due at once; asked for by hand, no pause holds it any more.
UPDATE runs SET due_ms = :now_ms, held = 0, by_hand = 1, state = CASE WHEN gate IS NULL THEN 'scheduled' ELSE 'ready' END
WHERE id = :run_id AND attempt > 0 AND ((state = 'ready' AND due_ms > :now_ms) OR held = 1)
RETURNING owner_id, job_id, state;

-- name: again
-- The time that a finished run was for, and what it ran when that was its own.
SELECT slot_ms, execution FROM history WHERE id = ?;
