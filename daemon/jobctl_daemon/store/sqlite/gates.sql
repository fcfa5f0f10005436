-- name: freed
-- What waited for a run of these jobs to end is looked at again.
UPDATE runs SET waits = 0 WHERE job_id IN (SELECT value FROM json_each(?)) AND waits > 0 AND waits = 1
RETURNING id, job_id, owner_id, (SELECT name FROM jobs WHERE id = job_id);

-- name: freed_all
-- The same of every job.
UPDATE runs SET waits = 0 WHERE waits > 0 AND waits = 1;
