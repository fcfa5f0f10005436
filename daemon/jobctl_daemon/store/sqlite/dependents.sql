-- name: put
-- A job starts with the end of another's run.
INSERT INTO dependents (upstream_id, job_id, after_on) VALUES (?, ?, ?)
ON CONFLICT (job_id) DO UPDATE SET upstream_id = excluded.upstream_id, after_on = excluded.after_on;

-- name: drop
-- It does so no more.
DELETE FROM dependents WHERE job_id = ?;

-- name: upstream_of
-- The job that a job comes after.
SELECT upstream_id FROM dependents WHERE job_id = ?;

-- name: names_after
-- The live jobs that come after one.
SELECT j.name FROM dependents d JOIN jobs j ON j.id = d.job_id
WHERE d.upstream_id = ? AND j.deleted_ms IS NULL ORDER BY j.name LIMIT 10;

-- name: has_after
-- Whether a live job comes after one.
SELECT 1 FROM dependents d JOIN jobs j ON j.id = d.job_id WHERE d.upstream_id = ? AND j.deleted_ms IS NULL LIMIT 1;

-- name: after
-- Live jobs that come after these, with what a run of them needs.
SELECT d.upstream_id, d.after_on, j.id, j.version, j.owner_id, j.name, j.queue, j.priority, j.suspended,
       j.suspended_why, j.quarantined
FROM json_each(?) ids CROSS JOIN dependents d ON d.upstream_id = ids.value JOIN jobs j ON j.id = d.job_id
WHERE j.deleted_ms IS NULL ORDER BY j.id;
