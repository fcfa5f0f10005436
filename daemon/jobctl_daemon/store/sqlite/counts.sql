-- name: jobs
-- Live jobs, and how many of them are paused, parked or failing; each from its own small index.
SELECT
    (SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND done = 0),
    (SELECT count(*) FROM jobs WHERE deleted_ms IS NULL AND hidden = 0 AND paused = 1),
    (SELECT count(*) FROM cursors WHERE error IS NOT NULL),
    (SELECT count(*) FROM last_runs WHERE failing = 1);

-- name: jobs_of_owner
-- The same, of one owner.
SELECT
    (SELECT count(*) FROM jobs WHERE owner_id = ?1 AND deleted_ms IS NULL AND hidden = 0 AND done = 0),
    (SELECT count(*) FROM jobs WHERE owner_id = ?1 AND deleted_ms IS NULL AND hidden = 0 AND paused = 1),
    (SELECT count(*) FROM cursors c CROSS JOIN jobs j ON j.id = c.job_id
     WHERE c.error IS NOT NULL AND j.owner_id = ?1),
    (SELECT count(*) FROM last_runs l CROSS JOIN jobs j ON j.id = l.job_id WHERE l.failing = 1 AND j.owner_id = ?1);

-- name: runs
-- Scheduled, held, ready, and ready or running; each counted in its own index.
SELECT
    (SELECT count(*) FROM runs WHERE state = 'scheduled' AND held = 0 AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE held = 1 AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE state = 'ready' AND (:owner_id IS NULL OR owner_id = :owner_id)),
    (SELECT count(*) FROM runs WHERE gate IS NOT NULL AND (:owner_id IS NULL OR owner_id = :owner_id));

-- name: oldest_pending
-- The oldest run that is due and not admitted.
SELECT due_ms FROM runs
WHERE state = 'scheduled' AND held = 0 AND due_ms <= :now_ms AND (:owner_id IS NULL OR owner_id = :owner_id)
ORDER BY due_ms, id LIMIT 1;

-- name: oldest_ready
-- The oldest run that is admitted and not started; one probe for each priority there is.
WITH RECURSIVE priorities(value) AS (
    SELECT min(priority) FROM runs WHERE state = 'ready'
    UNION ALL
    SELECT (SELECT min(priority) FROM runs WHERE state = 'ready' AND priority > value)
    FROM priorities WHERE value IS NOT NULL
)
SELECT min((SELECT due_ms FROM runs
            WHERE state = 'ready' AND priority = value AND due_ms <= :now_ms
              AND (:owner_id IS NULL OR owner_id = :owner_id)
            ORDER BY due_ms, id LIMIT 1))
FROM priorities;

-- name: next_cursor
-- The next instant of any job.
SELECT next_nominal FROM cursors WHERE next_nominal IS NOT NULL ORDER BY next_nominal, job_id LIMIT 1;

-- name: next_cursor_of_owner
-- The next instant of an owner's jobs: the due index is walked until the first of them.
SELECT c.next_nominal FROM cursors c CROSS JOIN jobs j ON j.id = c.job_id
WHERE c.next_nominal IS NOT NULL AND j.owner_id = ? ORDER BY c.next_nominal, c.job_id LIMIT 1;
