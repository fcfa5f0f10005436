-- name: put
-- What a job runs and when, from now on, in the present generation of the clock.
INSERT INTO schedule_versions (job_id, version, schedule, execution, author, from_ms, generation)
VALUES (?, ?, ?, ?, ?, ?, coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'generation'), 0));

-- name: definition
-- A job's definition as it is stored.
SELECT v.schedule, v.execution, j.policies FROM jobs j
JOIN schedule_versions v ON v.job_id = j.id AND v.version = j.version WHERE j.id = ?;

-- name: drop_old
-- Old versions of a job that no run of it has. A job with very many finished runs is not looked through.
DELETE FROM schedule_versions WHERE job_id = :job_id AND version <= :before
  AND (SELECT count(*) FROM (SELECT 1 FROM history WHERE job_id = :job_id LIMIT :looked_at)) < :looked_at
  AND version NOT IN (SELECT version FROM runs WHERE job_id = :job_id)
  AND version NOT IN (SELECT version FROM history WHERE job_id = :job_id);
