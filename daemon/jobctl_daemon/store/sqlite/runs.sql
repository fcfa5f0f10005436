-- name: blocking
-- What of a job is active, or will be in a moment.
SELECT id FROM runs WHERE gate = :job_id AND gate IS NOT NULL
UNION ALL
SELECT id FROM runs WHERE job_id = :job_id AND state = 'scheduled' AND held = 0 AND due_ms <= :now_ms
LIMIT 1;

-- name: active
-- A run that has not ended.
SELECT state, fence FROM runs WHERE id = ?;

-- name: want_stop
-- The running attempt is to be stopped; a kill is not taken back by a cancel.
UPDATE runs SET stop_wanted = CASE WHEN stop_wanted = 'kill' THEN 'kill' ELSE ? END, stop_by = ? WHERE id = ?;
