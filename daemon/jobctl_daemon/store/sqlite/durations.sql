-- name: ended
-- The newest runs of a job that began and have ended, among its newest rows: one that skips a hundred thousand times
-- does not make this long.
SELECT id, state, coalesce(outcome, state), started_ms, finished_ms FROM (
    SELECT id, state, outcome, started_ms, finished_ms
    FROM (SELECT id, state, outcome, started_ms, finished_ms FROM history WHERE job_id = :job_id
          ORDER BY id DESC LIMIT :looked_at)
    UNION ALL
    SELECT id, state, outcome, started_ms, ended_ms FROM runs WHERE job_id = :job_id AND state = 'dead'
)
WHERE started_ms IS NOT NULL AND finished_ms IS NOT NULL ORDER BY id DESC LIMIT :limit;

-- name: succeeded
-- How long the newest runs of jobs took that succeeded, as a list for each job that has any.
SELECT wanted.value,
       (SELECT json_group_array(took) FROM (
           SELECT finished_ms - started_ms AS took
           FROM (SELECT state, started_ms, finished_ms FROM history WHERE job_id = wanted.value
                 ORDER BY id DESC LIMIT :looked_at)
           WHERE state = 'succeeded' AND started_ms IS NOT NULL LIMIT :limit)) AS found
FROM json_each(:job_ids) wanted;
