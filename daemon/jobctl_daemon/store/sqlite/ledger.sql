-- name: put_run
-- An occurrence that becomes a run; nothing when it is covered already.
INSERT INTO occurrences (job_id, key, from_ms, to_ms, count, run_id, at_ms) VALUES (?, ?, ?, ?, 1, ?, ?)
ON CONFLICT DO NOTHING;

-- name: run_of
-- The run that an occurrence became.
SELECT run_id FROM occurrences WHERE from_ms = ? AND job_id = ? AND key = ?;

-- name: put_skip
-- Occurrences that become no run, and why; nothing when they are covered already.
INSERT INTO occurrences (job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING;

-- name: left_out
-- What somebody asked to leave out and has not passed.
SELECT job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms FROM occurrences INDEXED BY occurrences_job
WHERE job_id = :job_id AND from_ms > :now_ms AND reason = 'asked'
UNION ALL
SELECT job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms FROM occurrences INDEXED BY occurrences_range
WHERE job_id = :job_id AND to_ms > :now_ms AND count > 1 AND from_ms <= :now_ms AND reason = 'asked'
ORDER BY 3, 2;

-- name: shorten
-- Some of what was left out is not, after all.
UPDATE occurrences SET to_ms = :to_ms, count = :count
WHERE from_ms = :from_ms AND job_id = :job_id AND key = :key AND reason = 'asked';

-- name: retract
-- All of it is not.
DELETE FROM occurrences WHERE from_ms = :from_ms AND job_id = :job_id AND key = :key AND reason = 'asked';

-- name: note
-- Why the run of an occurrence never started.
UPDATE occurrences SET reason = ?, detail = ? WHERE from_ms = ? AND job_id = ? AND key = ?;

-- name: span
-- Rows of a job that begin in the span, and ranges that reach into it from before, oldest first.
SELECT job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms FROM occurrences
WHERE job_id = :job_id AND from_ms >= :from_ms AND from_ms <= :to_ms
UNION ALL
SELECT job_id, key, from_ms, to_ms, count, run_id, reason, detail, at_ms FROM occurrences INDEXED BY occurrences_range
WHERE job_id = :job_id AND to_ms >= :from_ms AND count > 1 AND from_ms < :from_ms
ORDER BY 3, 2 LIMIT :limit;
