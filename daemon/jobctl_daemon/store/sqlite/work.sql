-- name: of_run
-- What a run executes, and whose it is.
SELECT coalesce(r.execution, v.execution), r.owner_id
FROM runs r JOIN schedule_versions v ON v.job_id = r.job_id AND v.version = r.version WHERE r.id = :run_id
UNION ALL
SELECT coalesce(h.execution, v.execution), h.owner_id
FROM history h JOIN schedule_versions v ON v.job_id = h.job_id AND v.version = h.version WHERE h.id = :run_id LIMIT 1;
